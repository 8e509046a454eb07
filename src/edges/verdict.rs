//! Verdicts about removed edges: what is said of a node, and what it rests on.

use serde::{Deserialize, Serialize};

use crate::certify::verdict::{Margin, Verdict};
use crate::edges::budget::Edge;
use crate::edges::minimum::EdgeMinimum;
use crate::edges::search::Step;

/// Why a verdict about removed edges is what it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum EdgeReason {
    /// The bound by prices is positive for every class.
    PricedBound,
    /// Every class is settled, the last by listing all sets of at most one edge.
    Listed,
    /// Every class is settled, the last by branch and bound.
    BranchAndBound,
    /// A witness makes the margin negative.
    Witness,
    /// A witness makes the margin exactly zero: a tie.
    Tie,
    /// Some class has no positive bound, and no witness was found.
    BoundNotPositive,
    /// A limit of the search was hit before it was over.
    Limit,
}

impl EdgeReason {
    /// The name used in every output format.
    pub fn name(self) -> &'static str {
        match self {
            EdgeReason::PricedBound => "priced_bound",
            EdgeReason::Listed => "listed",
            EdgeReason::BranchAndBound => "branch_and_bound",
            EdgeReason::Witness => "witness",
            EdgeReason::Tie => "tie",
            EdgeReason::BoundNotPositive => "bound_not_positive",
            EdgeReason::Limit => "limit",
        }
    }
}

/// What a verdict about removed edges rests on, as proofs state it.
#[derive(Clone, Debug, PartialEq)]
pub enum EdgeClaim {
    /// A tree for every other class, ascending.
    Robust(Vec<(usize, Vec<Step>)>),
    /// After these removals this class is as large or larger.
    NonRobust(usize, Vec<Edge>),
}

/// Everything said of one node about removed edges.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct EdgeResult {
    /// The node.
    pub node: usize,
    /// The class that is to be kept: the predicted one, or the label.
    pub reference: usize,
    /// The class predicted on the graph as it is.
    pub predicted: usize,
    /// Edges whose removal can change something about it.
    pub relevant_edges: usize,
    /// The verdict.
    pub verdict: Verdict,
    /// What it rests on.
    pub reason: EdgeReason,
    /// One entry per other class.
    pub margins: Vec<Margin>,
    /// The exact minimum of each of these pairs, where it was asked for and found.
    pub minima: Vec<Option<EdgeMinimum>>,
    /// Branches that searches have looked at.
    pub search_nodes: usize,
    /// Was a limit of the search hit, so that some margin may not be exact?
    pub limit_hit: bool,
    /// The edges whose removal changes the class of a non-robust node.
    pub witness: Vec<Edge>,
    /// What the verdict rests on, if the certifier was told to keep it and there is one.
    pub claim: Option<EdgeClaim>,
}
