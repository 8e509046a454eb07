//! Verdicts about removed edges: what is said of a node, and what it rests on.

use serde::{Deserialize, Serialize};

use crate::certify::attacker::{Attacker, Grounded, Grounds, Words};
use crate::certify::verdict::NodeResult;
use crate::edges::budget::{Edge, EdgeBudget};
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

impl Grounded for EdgeReason {
    fn name(self) -> &'static str {
        EdgeReason::name(self)
    }

    fn grounds(self) -> Grounds {
        match self {
            EdgeReason::PricedBound | EdgeReason::Listed | EdgeReason::BranchAndBound => Grounds::Bounds,
            EdgeReason::Witness => Grounds::Witness,
            EdgeReason::Tie => Grounds::Tie,
            EdgeReason::Limit => Grounds::Limit,
            EdgeReason::BoundNotPositive => Grounds::Open,
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

/// The attacker that removes edges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edges;

impl Attacker for Edges {
    type Budget = EdgeBudget;
    type Change = Edge;
    type Reason = EdgeReason;
    type Evidence = EdgeClaim;
    type Details = ();
    const WORDS: Words = Words {
        change: "removed edge",
        changes: "removed edges",
        things: "edges",
        global: "E",
        local: "e",
        relevant: "relevant_edges",
        witness: "witness",
        certified: "certified",
        attacked: "attacked",
    };
}

/// Everything said of one node about removed edges.
pub type EdgeResult = NodeResult<Edges>;
