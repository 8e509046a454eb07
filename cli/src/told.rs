//! What the command line says of an attacker: summaries and tables at the end of a run.

use std::collections::BTreeSet;

use gcnproof::edges::{Edges, Joint};
use gcnproof::{Flips, Graph};
use gcnproof_results::record::description::Description;
use gcnproof_run::question::{Answered, Found};
use serde::Serialize;

use super::edge_tables::{self, EdgeSummary};
use super::minima::{self, Wording};
use super::summary::{Summary, budget_words};

/// An attacker that the command line speaks of.
pub trait Told: Answered {
    /// Counts of a run.
    type Summary: Serialize;

    /// What an interrupted run of `certify` warns of.
    const NUMBERS_ARE: &'static str;

    /// Why an interrupted run of `radius` has no summary, if that needs saying.
    const EASY_FIRST: &'static str;

    /// Counts the rows; some nodes count as labelled.
    fn summary(found: &Found<Self>, labelled: &BTreeSet<u64>) -> Self::Summary;

    /// The summary for people, of a run on this graph.
    fn table(summary: &Self::Summary, run: &Description, graph: &Graph) -> String;

    /// The table of `--minimize`.
    fn minima(found: &Found<Self>) -> String;
}

impl Told for Flips {
    type Summary = Summary;
    const NUMBERS_ARE: &'static str = "all shares and means are";
    const EASY_FIRST: &'static str = ", since easy nodes are done first";

    fn summary(found: &Found<Flips>, labelled: &BTreeSet<u64>) -> Summary {
        Summary::new(found.rows.iter(), labelled, found.seconds, found.computed)
    }

    fn table(summary: &Summary, run: &Description, graph: &Graph) -> String {
        let categories = graph.categories().is_some();
        run.budget().map_or_else(String::new, |budget| summary.table(budget, categories, run.effort()))
    }

    fn minima(found: &Found<Flips>) -> String {
        let changes = "flips (node, attribute)";
        let shown = Wording { changes, width: 32, value: minima::fraction, list: minima::flips };
        minima::table(&found.rows.iter().collect::<Vec<_>>(), &found.minima, shown)
    }
}

impl Told for Edges {
    type Summary = EdgeSummary;
    const NUMBERS_ARE: &'static str = "all numbers are";
    const EASY_FIRST: &'static str = "";

    fn summary(found: &Found<Edges>, _: &BTreeSet<u64>) -> EdgeSummary {
        EdgeSummary::new(&found.rows.iter().collect::<Vec<_>>(), found.seconds)
    }

    fn table(summary: &EdgeSummary, run: &Description, _graph: &Graph) -> String {
        run.edges().map_or_else(String::new, |run| summary.table(&run.edges, run.effort))
    }

    fn minima(found: &Found<Edges>) -> String {
        let shown = Wording { changes: "edges", width: 44, value: minima::interval, list: edge_tables::edges };
        minima::table(&found.rows.iter().collect::<Vec<_>>(), &found.minima, shown)
    }
}

impl Told for Joint {
    type Summary = EdgeSummary;
    const NUMBERS_ARE: &'static str = "all numbers are";
    const EASY_FIRST: &'static str = "";

    fn summary(found: &Found<Joint>, _: &BTreeSet<u64>) -> EdgeSummary {
        EdgeSummary::new(&found.rows.iter().collect::<Vec<_>>(), found.seconds)
    }

    fn table(summary: &EdgeSummary, run: &Description, _graph: &Graph) -> String {
        let Description::CertifyJoint(run) = run else { return String::new() };
        summary.table_of(
            &format!("{}\nand {}", budget_words(&run.budget, false), edge_tables::words(&run.edges)),
            "changes",
            run.effort,
        )
    }

    /// There are none.
    fn minima(_: &Found<Joint>) -> String {
        String::new()
    }
}
