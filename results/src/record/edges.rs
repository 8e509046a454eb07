//! Rows and descriptions of runs about removed edges.

use gcnproof::edges::{Edge, EdgeBudget, EdgeMinimum, EdgeRadius, EdgeReason, EdgeResult};
use gcnproof::internals::certify::verdict::Verdict;
use gcnproof::internals::problem::graph::Graph;
use serde::{Deserialize, Serialize};

use super::MarginRecord;
use super::description::{Class, EffortRecord, Identity, LocalRecord, NodeSet};
use crate::{Column, Kind};

/// What `certify --edges` says of a node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EdgeRecord {
    /// The node, from 0.
    pub node: u64,
    /// Its label, if the graph has one for it.
    pub label: Option<u64>,
    /// The class predicted on the graph as it is.
    pub predicted: u64,
    /// The class that is certified: the predicted one, or the label.
    pub reference: u64,
    /// Neighbours, itself not counted.
    pub degree: u64,
    /// Edges whose removal can change something about it.
    pub relevant_edges: u64,
    /// The verdict.
    pub verdict: Verdict,
    /// What the verdict rests on.
    pub reason: EdgeReason,
    /// Branches that searches have looked at.
    pub search_nodes: u64,
    /// Was a limit of the search hit, so that some margin may not be exact?
    pub limit_hit: bool,
    /// One entry per other class.
    pub margins: Vec<MarginRecord>,
    /// The edges of a witness.
    pub witness_edges: Vec<Edge>,
    /// Time spent on it.
    pub seconds: f64,
    /// The exact minima as fractions, in the order of the margins, with spaces between; `?` where one is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exact_margins: Option<String>,
}

impl EdgeRecord {
    /// The columns of a file of such rows, without exact margins.
    pub const SCHEMA: &'static [Column] = Self::COLUMNS.split_at(Self::COLUMNS.len() - 1).0;

    /// The columns of a file of such rows, with exact margins.
    pub const EXACT_SCHEMA: &'static [Column] = Self::COLUMNS;

    const COLUMNS: &'static [Column] = &[
        Column { name: "node", kind: Kind::Integer },
        Column { name: "label", kind: Kind::OptionalInteger },
        Column { name: "predicted", kind: Kind::Integer },
        Column { name: "reference", kind: Kind::Integer },
        Column { name: "degree", kind: Kind::Integer },
        Column { name: "relevant_edges", kind: Kind::Integer },
        Column { name: "verdict", kind: Kind::Text },
        Column { name: "reason", kind: Kind::Text },
        Column { name: "search_nodes", kind: Kind::Integer },
        Column { name: "limit_hit", kind: Kind::Boolean },
        Column { name: "margins", kind: Kind::Margins },
        Column { name: "witness_edges", kind: Kind::Flips },
        Column { name: "seconds", kind: Kind::Float },
        Column { name: "exact_margins", kind: Kind::OptionalText },
    ];

    /// The row of a result.
    pub fn new(graph: &Graph, result: EdgeResult, seconds: f64) -> EdgeRecord {
        EdgeRecord {
            node: result.node as u64,
            label: graph.label(result.node).map(u64::from),
            predicted: result.predicted as u64,
            reference: result.reference as u64,
            degree: graph.degree(result.node) as u64,
            relevant_edges: result.relevant_edges as u64,
            verdict: result.verdict,
            reason: result.reason,
            search_nodes: result.search_nodes as u64,
            limit_hit: result.limit_hit,
            margins: result.margins.into_iter().map(MarginRecord::from).collect(),
            witness_edges: result.witness,
            seconds,
            exact_margins: None,
        }
    }

    /// The same row with the exact margins of a result.
    pub fn with_exact_margins(mut self, minima: &[Option<EdgeMinimum>]) -> EdgeRecord {
        let fraction =
            |minimum: &Option<EdgeMinimum>| minimum.as_ref().map_or("?".into(), |known| known.margin.to_string());
        self.exact_margins = Some(minima.iter().map(fraction).collect::<Vec<String>>().join(" "));
        self
    }
}

/// What `radius --edges` says of a node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EdgeRadiusRecord {
    /// The node, from 0.
    pub node: u64,
    /// Its label, if the graph has one for it.
    pub label: Option<u64>,
    /// The class predicted on the graph as it is.
    pub predicted: u64,
    /// Neighbours, itself not counted.
    pub degree: u64,
    /// Edges whose removal can change something about it.
    pub relevant_edges: u64,
    /// The largest `E` that is certified; null if not even `E = 0` is (a tie).
    pub certified_edges: Option<u64>,
    /// The smallest `E` with a witness; null if none was found up to the limit of the search.
    pub attacked_edges: Option<u64>,
    /// The witness for that `E`.
    pub witness_edges: Vec<Edge>,
    /// Time spent on it.
    pub seconds: f64,
}

impl EdgeRadiusRecord {
    /// The columns of a file of such rows.
    pub const SCHEMA: &'static [Column] = &[
        Column { name: "node", kind: Kind::Integer },
        Column { name: "label", kind: Kind::OptionalInteger },
        Column { name: "predicted", kind: Kind::Integer },
        Column { name: "degree", kind: Kind::Integer },
        Column { name: "relevant_edges", kind: Kind::Integer },
        Column { name: "certified_edges", kind: Kind::OptionalInteger },
        Column { name: "attacked_edges", kind: Kind::OptionalInteger },
        Column { name: "witness_edges", kind: Kind::Flips },
        Column { name: "seconds", kind: Kind::Float },
    ];

    /// The row of a node.
    pub fn new(graph: &Graph, node: usize, radius: EdgeRadius, seconds: f64) -> EdgeRadiusRecord {
        EdgeRadiusRecord {
            node: node as u64,
            label: graph.label(node).map(u64::from),
            predicted: radius.predicted as u64,
            degree: graph.degree(node) as u64,
            relevant_edges: radius.relevant_edges as u64,
            certified_edges: radius.certified.map(|e| e as u64),
            attacked_edges: radius.attacked.map(|e| e as u64),
            witness_edges: radius.witness,
            seconds,
        }
    }
}

/// What an attacker may do to edges.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EdgeBudgetRecord {
    /// `remove`: edges are removed, none is added.
    pub attack: String,
    /// `E`, where the run is about one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub global: Option<u64>,
    /// `e`.
    pub local: LocalRecord,
    /// Does every node that has edges keep one?
    pub keep_one: bool,
    /// Edges that cannot be removed.
    pub frozen: Vec<Edge>,
}

impl EdgeBudgetRecord {
    /// A budget; its `E` is left out where the run is about all.
    pub fn new(budget: &EdgeBudget, global: bool) -> EdgeBudgetRecord {
        let locals = budget.locals();
        let local = match locals.first() {
            Some(&e) if locals.iter().all(|&other| other == e) => LocalRecord::Uniform(u64::from(e)),
            _ => LocalRecord::PerNode(locals.iter().map(|&e| u64::from(e)).collect()),
        };
        EdgeBudgetRecord {
            attack: "remove".into(),
            global: global.then_some(budget.global() as u64),
            local,
            keep_one: budget.keeps_one(),
            frozen: budget.frozen().iter().copied().collect(),
        }
    }
}

/// A run of `certify --edges` or of `radius --edges`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EdgeRun {
    /// Graph and model.
    pub input: Identity,
    /// The attacker's means.
    pub edges: EdgeBudgetRecord,
    /// Nothing above this `E` is tried, where the run is about radii.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_global: Option<u64>,
    /// How far the run goes.
    pub effort: EffortRecord,
    /// The class that is to be kept.
    pub class: Class,
    /// How many nodes.
    pub nodes: usize,
    /// Which nodes, if not all of the graph.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_set: Option<NodeSet>,
}
