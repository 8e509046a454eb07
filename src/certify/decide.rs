//! Whoever decides nodes against an attacker, as radii and runs see it.

use std::time::Instant;

use rayon::prelude::*;

use crate::certify::attacker::Attacker;
use crate::certify::verdict::NodeResult;
use crate::problem::graph::Graph;
use crate::problem::{ProblemError, check_targets};

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
        check_targets(self.graph(), nodes)
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

    /// Is every question decided, but for limits? Then radii are searched from above: see [`Decide::attack`].
    fn is_complete(&self) -> bool {
        false
    }

    /// A witness of at most `limit` changes for the predicted class, of few: what an attack finds without any bound.
    /// Attacks are often the smallest that there are, so that one proof for one change less shows the radius.
    fn attack(&self, node: usize, limit: usize, buffers: &mut Self::Buffers) -> Option<Vec<A::Change>> {
        let _ = (node, limit, buffers);
        None
    }

    /// How much work a node is likely to be, compared with others.
    fn size(&self, node: usize) -> usize {
        self.graph().links(node)
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

    /// Decides many nodes, each for the class that `reference` names, and hands every result with its seconds to
    /// `done`, from any thread and in any order. What is cut short has no result.
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
