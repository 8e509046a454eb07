//! Rows of results: one per node, the same fields in every output format.

pub mod attackers;
pub mod chain;
pub mod collective;
pub mod consistent;
pub mod description;
pub mod edges;
mod node_set;
pub mod pair;
pub mod study;

use gcnproof::internals::certify::contradiction::Contradiction;
use gcnproof::internals::certify::deployment::DeployedVerdict;
use gcnproof::internals::certify::verdict::{Margin, Minimum, NodeResult, Reason, Verdict};
use serde::{Deserialize, Serialize};

use crate::{Column, Kind};
pub use gcnproof::internals::certify::verdict::MarginRecord;
use gcnproof::internals::problem::flip::Flip;
use gcnproof::internals::problem::graph::Graph;

/// What `certify` says of a node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NodeRecord {
    /// The node, from 0.
    pub node: u64,
    /// Its label, if the graph has one for it.
    pub label: Option<u64>,
    /// The class predicted on the unperturbed graph.
    pub predicted: u64,
    /// The class that is certified: the predicted one, or the label.
    pub reference: u64,
    /// Neighbours, itself not counted.
    pub degree: u64,
    /// Nodes whose attributes its logits depend on.
    pub neighbourhood: u64,
    /// The verdict.
    pub verdict: Verdict,
    /// What the verdict rests on.
    pub reason: Reason,
    /// Did the paper's bound alone certify it? Null if it was not evaluated.
    pub paper_certifies: Option<bool>,
    /// Did the anchored bound alone certify it? Null if it was not evaluated.
    pub anchored_certifies: Option<bool>,
    /// Tree nodes that a search has examined.
    pub search_nodes: u64,
    /// Masters that a search has solved.
    pub masters: u64,
    /// Was a limit of the search hit, so that some margin may not be exact?
    pub limit_hit: bool,
    /// The class pairs.
    pub margins: Vec<MarginRecord>,
    /// The flips that break it; empty unless non-robust (and then, if it already ties or fails without flips).
    pub witness: Vec<Flip>,
    /// Time spent on it.
    pub seconds: f64,
    /// On request the exact worst-case margins as fractions, in the order of the class pairs and separated by spaces; `?` where
    /// one is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exact_margins: Option<String>,
    /// On request the verdict for the network as it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deployed: Option<DeployedVerdict>,
    /// With it, between which numbers the difference of computed and exact margin lies, class pair by class pair; null where nothing
    /// is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rounding: Option<Vec<MarginRecord>>,
    /// With it: may the class computed without any flip depend on rounding?
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prediction_depends: Option<bool>,
    /// Two steps that contradict each other, if some did: such a row is not written.
    #[serde(skip)]
    pub contradiction: Option<Contradiction>,
}

impl NodeRecord {
    /// The columns of a file of such rows, without exact margins.
    pub const SCHEMA: &'static [Column] = &Self::COLUMNS;

    /// The columns of a file of such rows, with exact margins.
    pub const EXACT_SCHEMA: &'static [Column] = &joined::<17>(&Self::COLUMNS, &Self::EXACT);

    /// Those of a run with exact margins or without, and with verdicts for the network as it runs or without.
    pub fn schema(exact: bool, deployed: bool) -> &'static [Column] {
        const DEPLOYED: &[Column] = &joined::<19>(NodeRecord::SCHEMA, &NodeRecord::DEPLOYED);
        const ALL: &[Column] = &joined::<20>(NodeRecord::EXACT_SCHEMA, &NodeRecord::DEPLOYED);
        match (exact, deployed) {
            (false, false) => Self::SCHEMA,
            (true, false) => Self::EXACT_SCHEMA,
            (false, true) => DEPLOYED,
            (true, true) => ALL,
        }
    }

    const COLUMNS: [Column; 16] = [
        Column { name: "node", kind: Kind::Integer },
        Column { name: "label", kind: Kind::OptionalInteger },
        Column { name: "predicted", kind: Kind::Integer },
        Column { name: "reference", kind: Kind::Integer },
        Column { name: "degree", kind: Kind::Integer },
        Column { name: "neighbourhood", kind: Kind::Integer },
        Column { name: "verdict", kind: Kind::Text },
        Column { name: "reason", kind: Kind::Text },
        Column { name: "paper_certifies", kind: Kind::OptionalBoolean },
        Column { name: "anchored_certifies", kind: Kind::OptionalBoolean },
        Column { name: "search_nodes", kind: Kind::Integer },
        Column { name: "masters", kind: Kind::Integer },
        Column { name: "limit_hit", kind: Kind::Boolean },
        Column { name: "margins", kind: Kind::Margins },
        Column { name: "witness", kind: Kind::Flips },
        Column { name: "seconds", kind: Kind::Float },
    ];

    const EXACT: [Column; 1] = [Column { name: "exact_margins", kind: Kind::OptionalText }];

    const DEPLOYED: [Column; 3] = [
        Column { name: "deployed", kind: Kind::OptionalText },
        Column { name: "rounding", kind: Kind::Margins },
        Column { name: "prediction_depends", kind: Kind::OptionalBoolean },
    ];

    /// The same row with the exact margins of a result.
    pub fn with_exact_margins(mut self, minima: &[Option<Minimum>]) -> NodeRecord {
        let fraction =
            |minimum: &Option<Minimum>| minimum.as_ref().map_or("?".into(), |known| known.margin.to_string());
        self.exact_margins = Some(minima.iter().map(fraction).collect::<Vec<String>>().join(" "));
        self
    }

    /// The row of a result.
    pub fn new(graph: &Graph, result: NodeResult, seconds: f64) -> NodeRecord {
        let rounding = result.deployed.as_ref().map(|deployed| {
            let around = |(margin, &error): (&Margin, &f64)| Margin { lower: -error, upper: error, ..*margin };
            result.margins.iter().zip(&deployed.errors).map(around).map(MarginRecord::from).collect()
        });
        NodeRecord {
            node: result.node as u64,
            label: graph.label(result.node).map(u64::from),
            predicted: result.predicted as u64,
            reference: result.reference as u64,
            degree: graph.degree(result.node) as u64,
            neighbourhood: result.neighbourhood as u64,
            verdict: result.verdict,
            reason: result.reason,
            paper_certifies: result.paper_certifies,
            anchored_certifies: result.anchored_certifies,
            search_nodes: result.search_nodes as u64,
            masters: result.masters as u64,
            limit_hit: result.limit_hit,
            margins: result.margins.into_iter().map(MarginRecord::from).collect(),
            witness: result.witness,
            seconds,
            exact_margins: None,
            deployed: result.deployed.as_ref().map(|deployed| deployed.verdict),
            rounding,
            prediction_depends: result.deployed.as_ref().map(|deployed| deployed.prediction_depends),
            contradiction: result.contradiction,
        }
    }

    /// The smallest lower bound over the classes: how far the node is known to be from changing.
    pub fn worst_lower(&self) -> Option<f64> {
        self.margins.iter().map(|m| m.lower).reduce(|x, y| Some(x?.min(y?))).flatten()
    }
}

/// Columns after columns.
const fn joined<const N: usize>(first: &[Column], second: &[Column]) -> [Column; N] {
    let mut all = [first[0]; N];
    let mut at = 0;
    while at < N {
        all[at] = if at < first.len() { first[at] } else { second[at - first.len()] };
        at += 1;
    }
    all
}

/// What `radius` says of a node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RadiusRecord {
    /// The node, from 0.
    pub node: u64,
    /// Its label, if the graph has one for it.
    pub label: Option<u64>,
    /// The class predicted on the unperturbed graph.
    pub predicted: u64,
    /// Neighbours, itself not counted.
    pub degree: u64,
    /// Nodes whose attributes its logits depend on.
    pub neighbourhood: u64,
    /// The largest `Q` that is certified; null if not even `Q = 0` is (a tie).
    pub certified_q_global: Option<u64>,
    /// The smallest `Q` with a witness; null if none was found up to the limit of the search.
    pub attacked_q_global: Option<u64>,
    /// The witness for that `Q`.
    pub witness: Vec<Flip>,
    /// Time spent on it.
    pub seconds: f64,
    /// Two steps that contradict each other, if some did: such a row is not written.
    #[serde(skip)]
    pub contradiction: Option<Contradiction>,
}

impl RadiusRecord {
    /// The columns of a file of such rows.
    pub const SCHEMA: &'static [Column] = &[
        Column { name: "node", kind: Kind::Integer },
        Column { name: "label", kind: Kind::OptionalInteger },
        Column { name: "predicted", kind: Kind::Integer },
        Column { name: "degree", kind: Kind::Integer },
        Column { name: "neighbourhood", kind: Kind::Integer },
        Column { name: "certified_q_global", kind: Kind::OptionalInteger },
        Column { name: "attacked_q_global", kind: Kind::OptionalInteger },
        Column { name: "witness", kind: Kind::Flips },
        Column { name: "seconds", kind: Kind::Float },
    ];
}

/// One trained model of a published table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TableRecord {
    /// Number of the cell, from 0: split by split, graph by graph, loss by loss.
    pub cell: u64,
    /// Name of the graph.
    pub graph: String,
    /// Name of the loss.
    pub loss: String,
    /// Seed of the split and of everything else.
    pub seed: u64,
    /// Largest `Q` that the paper's bound certifies, averaged over all nodes.
    pub mean_largest_global: f64,
    /// Share of nodes that it certifies at the budget trained for.
    pub certified: f64,
    /// Accuracy on labelled nodes.
    pub accuracy_labelled: f64,
    /// Accuracy on unlabelled nodes.
    pub accuracy_unlabelled: Option<f64>,
    /// As `mean_largest_global`, by the better of the paper's and the anchored bound.
    pub our_mean_largest_global: f64,
    /// As `certified`, by the better of both.
    pub our_certified: f64,
    /// Iterations of training.
    pub iterations: u64,
    /// Time of training.
    pub seconds: f64,
}

impl TableRecord {
    /// The columns of a file of such rows.
    pub const SCHEMA: &'static [Column] = &[
        Column { name: "cell", kind: Kind::Integer },
        Column { name: "graph", kind: Kind::Text },
        Column { name: "loss", kind: Kind::Text },
        Column { name: "seed", kind: Kind::Integer },
        Column { name: "mean_largest_global", kind: Kind::Float },
        Column { name: "certified", kind: Kind::Float },
        Column { name: "accuracy_labelled", kind: Kind::Float },
        Column { name: "accuracy_unlabelled", kind: Kind::OptionalFloat },
        Column { name: "our_mean_largest_global", kind: Kind::Float },
        Column { name: "our_certified", kind: Kind::Float },
        Column { name: "iterations", kind: Kind::Integer },
        Column { name: "seconds", kind: Kind::Float },
    ];
}
