//! Attackers: what may be changed, and the words for it. Results, radii, rows, runs and reports are written once over
//! [`Attacker`] and [`Decide`]; the mathematics of each attacker stands in rooms of its own.

use std::fmt::Debug;
use std::time::Instant;

use rayon::prelude::*;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::certify::verdict::{FlipDetails, NodeResult, Reason};
use crate::problem::ProblemError;
use crate::problem::budget::Budget;
use crate::problem::flip::Flip;
use crate::problem::graph::Graph;
use crate::proof::Evidence;

/// What may be changed about a graph. Implemented by a type without values for each attacker.
pub trait Attacker: Copy + Debug + PartialEq + Send + Sync + 'static {
    /// How much may be changed, in all and at a node.
    type Budget: Clone + Debug + Send + Sync;
    /// One change of a witness; files hold it as a pair of integers.
    type Change: Copy + Debug + PartialEq + Serialize + DeserializeOwned + Send + Sync;
    /// Why a verdict is what it is.
    type Reason: Grounded;
    /// What a verdict rests on, as proofs state it.
    type Evidence: Clone + Debug + PartialEq + Send + Sync;
    /// What only results about this attacker say.
    type Details: Clone + Debug + Default + PartialEq + Send + Sync;
    /// What its parts are called.
    const WORDS: Words;
}

/// What the parts of an attacker are called, in texts and as columns of files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Words {
    /// One change.
    pub change: &'static str,
    /// Several changes.
    pub changes: &'static str,
    /// Several of what is changed, where the kind of change goes without saying.
    pub things: &'static str,
    /// The letter of the global budget.
    pub global: &'static str,
    /// The letter of the local budget.
    pub local: &'static str,
    /// The column of [`NodeResult::relevant`].
    pub relevant: &'static str,
    /// The column of witnesses.
    pub witness: &'static str,
    /// The column of the largest certified global budget.
    pub certified: &'static str,
    /// The column of the smallest attacked global budget.
    pub attacked: &'static str,
}

/// What a verdict rests on, as far as that says which verdict it can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grounds {
    /// Lower bounds: robust.
    Bounds,
    /// A perturbation with a negative margin: non-robust.
    Witness,
    /// A perturbation whose margin is exactly zero: non-robust.
    Tie,
    /// A limit of the search was hit: undecided.
    Limit,
    /// Nothing: undecided.
    Open,
}

/// A reason of a verdict.
pub trait Grounded: Copy + Debug + PartialEq + Serialize + DeserializeOwned + Send + Sync + 'static {
    /// The name used in every output format.
    fn name(self) -> &'static str;

    /// What it rests on.
    fn grounds(self) -> Grounds;
}

/// The attacker that flips entries of the attribute matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flips;

impl Attacker for Flips {
    type Budget = Budget;
    type Change = Flip;
    type Reason = Reason;
    type Evidence = Evidence;
    type Details = FlipDetails;
    const WORDS: Words = Words {
        change: "flip",
        changes: "flips",
        things: "flips",
        global: "Q",
        local: "q",
        relevant: "neighbourhood",
        witness: "witness",
        certified: "certified_q_global",
        attacked: "attacked_q_global",
    };
}

/// Decides nodes against one attacker under one budget. Radii and runs are written over it.
pub trait Decide<A: Attacker>: Clone + Sync {
    /// The buffers of a thread.
    type Buffers: Default;

    /// Do nodes that ask for the same budget share work? Else each is asked by itself.
    const SHARES: bool = false;

    /// Is an attack that needs more than an undecided budget worth looking for?
    const SEEKS_ABOVE: bool = true;

    /// Are these nodes of the graph?
    ///
    /// # Errors
    /// With the first that is not.
    fn check_nodes(&self, nodes: &[usize]) -> Result<(), ProblemError> {
        let count = self.graph().node_count();
        match nodes.iter().find(|&&node| node >= count) {
            Some(&node) => Err(ProblemError::Node { node, nodes: count }),
            None => Ok(()),
        }
    }

    /// The graph.
    fn graph(&self) -> &Graph;

    /// The global budget.
    fn global(&self) -> usize;

    /// The same decider under another global budget, to be asked about these nodes.
    fn at_global(&self, global: usize, nodes: &[usize]) -> Self;

    /// Cheaper deciders, which are asked first: the cheaper the questions, the more of them.
    fn cheaper(&self) -> Vec<Self> {
        Vec::new()
    }

    /// The same decider for all questions about one node.
    fn for_questions(&self) -> Self {
        self.clone()
    }

    /// Has somebody asked to stop?
    fn is_stopped(&self) -> bool;

    /// Decides a node for a class, or for its predicted one. Once the decider is stopped, the result may be cut short.
    fn decide(&self, node: usize, reference: Option<usize>, buffers: &mut Self::Buffers) -> NodeResult<A>;

    /// The largest global budget up to `limit` that a robust result holds for.
    fn holds_up_to(&self, result: &NodeResult<A>, limit: usize) -> usize {
        let _ = (result, limit);
        self.global()
    }

    /// Decides many nodes, each for the class that `reference` names, and hands every result with its seconds to `done`, from any
    /// thread and in any order. What is cut short has no result.
    fn each(
        &self,
        nodes: &[usize],
        reference: impl Fn(usize) -> Option<usize> + Sync,
        done: impl Fn(NodeResult<A>, f64) + Sync,
    ) {
        nodes.par_iter().with_max_len(1).for_each_init(Self::Buffers::default, |buffers, &node| {
            if self.is_stopped() {
                return;
            }
            let start = Instant::now();
            let result = self.decide(node, reference(node), buffers);
            if !(self.is_stopped() && result.limit_hit) {
                done(result, start.elapsed().as_secs_f64());
            }
        });
    }
}
