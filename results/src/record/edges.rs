//! Rows and descriptions of runs about removed edges.

use gcnproof::edges::{Candidates, Edge, EdgeBudget, Edges};
use serde::{Deserialize, Serialize};

use super::node::{Empty, Record, Tabled};
use super::node_set::NodeSet;
use super::radius::RadiusRow;
use super::settings::{Class, EffortRecord, Identity, LocalRecord};

/// What `certify --edges` says of a node.
pub type EdgeRecord = Record<Edges>;

/// What `radius --edges` says of a node.
pub type EdgeRadiusRecord = RadiusRow<Edges>;

impl Tabled for Edges {
    type Own = Empty;
}

/// What an attacker may do to edges.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EdgeBudgetRecord {
    /// `remove`, `insert` or `change`.
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
    /// Is each direction of an edge an edge of its own?
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub directed: bool,
    /// Only edges between nodes at most so many edges apart may be inserted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within: Option<u64>,
    /// Only these edges may be inserted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub candidates: Option<Vec<Edge>>,
}

impl EdgeBudgetRecord {
    /// A budget; its `E` is left out where the run is about all.
    pub fn new(budget: &EdgeBudget, global: bool) -> EdgeBudgetRecord {
        EdgeBudgetRecord {
            attack: budget.changes().name().into(),
            global: global.then_some(budget.global() as u64),
            local: LocalRecord::new(budget.locals()),
            keep_one: budget.keeps_one(),
            frozen: budget.frozen().iter().copied().collect(),
            directed: budget.is_directed(),
            within: match budget.candidates() {
                Candidates::Within(hops) => Some(*hops as u64),
                _ => None,
            },
            candidates: match budget.candidates() {
                Candidates::Listed(edges) => Some(edges.iter().copied().collect()),
                _ => None,
            },
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
