//! What the command line says of an attacker: summaries and tables at the end of a run.

use std::collections::BTreeSet;

use gcnproof::Flips;
use gcnproof::edges::Edges;
use gcnproof_results::record::description::Description;
use gcnproof_run::question::{Answered, Found};
use serde::Serialize;

use super::edge_tables::{self, EdgeSummary};
use super::minima;
use super::summary::Summary;

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

    /// The summary for people.
    fn table(summary: &Self::Summary, run: &Description) -> String;

    /// The table of `--minimize`.
    fn minima(found: &Found<Self>) -> String;
}

impl Told for Flips {
    type Summary = Summary;
    const NUMBERS_ARE: &'static str = "all shares and means are";
    const EASY_FIRST: &'static str = ", since easy nodes are done first";

    fn summary(found: &Found<Flips>, labelled: &BTreeSet<u64>) -> Summary {
        Summary::new(&found.rows, labelled, found.seconds, found.computed)
    }

    fn table(summary: &Summary, run: &Description) -> String {
        run.budget().map_or_else(String::new, |budget| summary.table(budget, run.effort()))
    }

    fn minima(found: &Found<Flips>) -> String {
        minima::table(&found.rows, &found.minima)
    }
}

impl Told for Edges {
    type Summary = EdgeSummary;
    const NUMBERS_ARE: &'static str = "all numbers are";
    const EASY_FIRST: &'static str = "";

    fn summary(found: &Found<Edges>, _: &BTreeSet<u64>) -> EdgeSummary {
        EdgeSummary::new(&found.rows, found.seconds)
    }

    fn table(summary: &EdgeSummary, run: &Description) -> String {
        run.edges().map_or_else(String::new, |run| summary.table(&run.edges, run.effort))
    }

    fn minima(found: &Found<Edges>) -> String {
        edge_tables::minima(&found.rows, &found.minima)
    }
}
