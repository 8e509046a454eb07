//! What `certify` says of a node, whatever the attacker.

use std::fmt::Debug;

use gcnproof::internals::certify::contradiction::Contradiction;
use gcnproof::internals::certify::verdict::Verdict;
use gcnproof::internals::problem::graph::Graph;
use gcnproof::{Attacker, Minimum, NodeResult};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::MarginRecord;
use super::fields::{of_graph, of_node, row};
use crate::{Column, Kind};

/// An attacker whose results are rows of tables.
pub trait Tabled: Attacker {
    /// Columns that only its rows have, as a group of their own; those that are not asked for are left out.
    type Own: Clone + Debug + Default + PartialEq + Serialize + DeserializeOwned + Send + Sync;

    /// The columns of a file of rows, with exact margins or without, and with verdicts for the network as it runs or
    /// without.
    fn schema(exact: bool, deployed: bool) -> &'static [Column] {
        let _ = deployed;
        let (exact_margins, plain) = (Record::<Self>::PLAIN, Record::<Self>::PLAIN.len() - 1);
        if exact { exact_margins } else { &exact_margins[..plain] }
    }

    /// Its own columns.
    fn own(_: &NodeResult<Self>) -> Self::Own {
        Self::Own::default()
    }

    /// Changes of a witness that stand in its own columns.
    fn more_changes(_: &Self::Own) -> usize {
        0
    }

    /// Do its own columns agree with the others?
    ///
    /// # Errors
    /// If they do not.
    fn check(_: &Record<Self>) -> Result<(), Contradiction> {
        Ok(())
    }
}

/// A group without columns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Empty {}

/// What `certify` says of a node.
#[derive(Clone, Debug, PartialEq)]
pub struct Record<A: Tabled> {
    /// The node, from 0; or the graph, where graphs are classified.
    pub node: u64,
    /// Is it about a graph? Then `node` and `degree` are called otherwise.
    pub graphs: bool,
    /// Its label, if the graph has one for it.
    pub label: Option<u64>,
    /// The class predicted on the unperturbed graph.
    pub predicted: u64,
    /// The class that is certified: the predicted one, or the label.
    pub reference: u64,
    /// Neighbours, itself not counted; of a graph its edges.
    pub degree: u64,
    /// How much of the graph matters to it: nodes whose attributes its logits depend on, edges whose removal can change
    /// something.
    pub relevant: u64,
    /// The verdict.
    pub verdict: Verdict,
    /// What the verdict rests on.
    pub reason: A::Reason,
    /// Tree nodes that a search has examined.
    pub search_nodes: u64,
    /// Was a limit of the search hit, so that some margin may not be exact?
    pub limit_hit: bool,
    /// The class pairs.
    pub margins: Vec<MarginRecord>,
    /// The changes that break it; empty unless non-robust (and then, if it already ties or fails without any).
    pub witness: Vec<A::Change>,
    /// Time spent on it.
    pub seconds: f64,
    /// On request the exact worst-case margins as fractions, in the order of the class pairs and separated by spaces;
    /// `?` where one is not known.
    pub exact_margins: Option<String>,
    /// Columns that only rows about this attacker have.
    pub own: A::Own,
    /// Two steps that contradict each other, if some did: such a row is not written.
    pub contradiction: Option<Contradiction>,
}

row! {
    Record, A::schema(true, true),
    needed {
        node: "node", predicted: "predicted", reference: "reference", degree: "degree", relevant: A::WORDS.relevant,
        verdict: "verdict", reason: "reason", search_nodes: "search_nodes", limit_hit: "limit_hit", margins: "margins",
        witness: A::WORDS.witness, seconds: "seconds",
    },
    optional { label: "label", exact_margins: "exact_margins" },
    derived {
        worst_lower: "worst_lower", worst_upper: "worst_upper", worst_class: "worst_class", witness_size: "witness_size",
    },
    group own
}

impl<A: Tabled> Record<A> {
    /// The columns of a row that has none of its own, exact margins last.
    pub const PLAIN: &'static [Column] = &[
        Column { name: "node", kind: Kind::Integer },
        Column { name: "label", kind: Kind::OptionalInteger },
        Column { name: "predicted", kind: Kind::Integer },
        Column { name: "reference", kind: Kind::Integer },
        Column { name: "degree", kind: Kind::Integer },
        Column { name: A::WORDS.relevant, kind: Kind::Integer },
        Column { name: "verdict", kind: Kind::Text },
        Column { name: "reason", kind: Kind::Text },
        Column { name: "search_nodes", kind: Kind::Integer },
        Column { name: "limit_hit", kind: Kind::Boolean },
        Column { name: "margins", kind: Kind::Margins },
        Column { name: "worst_lower", kind: Kind::OptionalFloat },
        Column { name: "worst_upper", kind: Kind::OptionalFloat },
        Column { name: "worst_class", kind: Kind::OptionalInteger },
        Column { name: A::WORDS.witness, kind: Kind::Flips },
        Column { name: "witness_size", kind: Kind::OptionalInteger },
        Column { name: "seconds", kind: Kind::Float },
        Column { name: "exact_margins", kind: Kind::OptionalText },
    ];

    /// The columns of a file of rows ([`Tabled::schema`]).
    pub fn schema(exact: bool, deployed: bool) -> &'static [Column] {
        A::schema(exact, deployed)
    }

    /// The row of a result.
    pub fn new(graph: &Graph, result: NodeResult<A>, seconds: f64) -> Record<A> {
        Record {
            own: A::own(&result),
            node: result.node as u64,
            graphs: graph.batch().is_some(),
            label: graph.label(result.node).map(u64::from),
            predicted: result.predicted as u64,
            reference: result.reference as u64,
            degree: graph.links(result.node) as u64,
            relevant: result.relevant as u64,
            verdict: result.verdict,
            reason: result.reason,
            search_nodes: result.search_nodes as u64,
            limit_hit: result.limit_hit,
            margins: result.margins.into_iter().map(MarginRecord::from).collect(),
            witness: result.witness,
            seconds,
            exact_margins: None,
            contradiction: result.contradiction,
        }
    }

    /// The same row with the exact margins of a result.
    pub fn with_exact_margins(mut self, minima: &[Option<Minimum<A>>]) -> Record<A> {
        let fraction =
            |minimum: &Option<Minimum<A>>| minimum.as_ref().map_or("?".into(), |known| known.margin.to_string());
        self.exact_margins = Some(minima.iter().map(fraction).collect::<Vec<String>>().join(" "));
        self
    }

    /// The smallest lower bound over the classes: how far the node is known to be from changing. Null if that of some
    /// class is not known.
    pub fn worst_lower(&self) -> Option<f64> {
        self.margins.iter().map(|m| m.lower).reduce(|x, y| Some(x?.min(y?))).flatten()
    }

    /// The smallest margin that an admissible perturbation is known to leave over some class.
    pub fn worst_upper(&self) -> Option<f64> {
        self.margins.iter().filter_map(|margin| margin.upper).min_by(f64::total_cmp)
    }

    /// The class of that margin if the node is non-robust; else the one with the smallest lower bound, where no bound
    /// counts as the smallest.
    pub fn worst_class(&self) -> Option<u64> {
        let number = |margin: &MarginRecord| match self.verdict {
            Verdict::NonRobust => margin.upper.unwrap_or(f64::INFINITY),
            _ => margin.lower.unwrap_or(f64::NEG_INFINITY),
        };
        self.margins.iter().min_by(|x, y| number(x).total_cmp(&number(y))).map(|margin| margin.class)
    }

    /// How many changes break it; null unless it is non-robust.
    pub fn witness_size(&self) -> Option<u64> {
        let changes = self.witness.len() + A::more_changes(&self.own);
        (self.verdict == Verdict::NonRobust).then_some(changes as u64)
    }
}
