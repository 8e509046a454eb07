//! Activation bounds of the whole graph under the whole budget, computed once for all targets (math §3).
//!
//! Above representation 2 the bound of a unit is itself a problem of the kind that leaves are about, with that unit as the
//! target: the better of that and of interval propagation is kept.

use std::cmp::Ordering;
use std::sync::{Arc, OnceLock};

use crate::budget::{Budget, Decided};
use crate::layer2::Layer2;
use crate::line::{Multipliers, Undecided, sign};
use crate::network::Network;
use crate::number::Number;
use crate::replay::Replay;
use crate::slice::Slice;

/// `R` and `S` of the units of one node.
pub(crate) type Bounds<N> = Vec<(N, N)>;

/// The bounds of one node, once they were asked for; `None` where a case could not be decided in this kind of numbers.
type Lazy<N> = OnceLock<Option<Arc<Bounds<N>>>>;

/// The bounds of all hidden units, in one kind of numbers. Shared by all threads.
pub struct Activations<'a, N> {
    /// The network.
    pub network: &'a Network<'a>,
    /// The budget.
    pub budget: &'a Budget<'a>,
    /// Representation 2.
    pub layer2: Layer2<'a, N>,
    /// Evaluate the loss of every flip rather than of those that floats do not rule out.
    pub all: bool,
    /// Representations `3 … L − 1`.
    above: Vec<Vec<Lazy<N>>>,
}

impl<'a, N: Number> Activations<'a, N> {
    /// Nothing is computed before it is asked for.
    pub fn new(network: &'a Network<'a>, budget: &'a Budget<'a>, all: bool) -> Activations<'a, N> {
        let nodes = network.graph.attributes.rows;
        let layer = |_| (0..nodes).map(|_| OnceLock::new()).collect();
        let above = (3..network.depth()).map(layer).collect();
        Activations { network, budget, layer2: Layer2::new(network, budget), all, above }
    }

    /// The bounds of a node in representation `l`.
    pub(crate) fn row(&self, l: usize, node: u32) -> Result<Arc<Bounds<N>>, Undecided> {
        if l == 2 {
            let row = self.layer2.row(node, &Decided::default());
            return Ok(Arc::new(row.bounds()));
        }
        let known = self.above[l - 3][node as usize].get_or_init(|| self.compute(l, node).ok().map(Arc::new));
        known.clone().ok_or(Undecided)
    }

    fn compute(&self, l: usize, node: u32) -> Result<Bounds<N>, Undecided> {
        let slice = Slice::new(self.network, l, node);
        let replay = Replay::new(self, &slice);
        let below: Result<Vec<Bounds<N>>, Undecided> =
            slice.nodes(l - 1).iter().map(|&n| self.row(l - 1, n).map(|row| row.to_vec())).collect();
        let mut bounds = replay.propagate(l, &below?).swap_remove(0);
        for (unit, (lower, upper)) in bounds.iter_mut().enumerate() {
            if sign(lower)? != Ordering::Less || sign(upper)? != Ordering::Greater {
                continue;
            }
            // The dual bound and the capped bound, both with the dual's defaults above representation 2.
            for (dual, cap) in [(2, false), (3, true)] {
                let multipliers = Multipliers { dual: Some(dual), cap, ..Multipliers::default() };
                *lower = lower.most(&replay.value(&[(unit, 1.0)], &multipliers)?);
                *upper = upper.least(&replay.value(&[(unit, -1.0)], &multipliers)?.negated());
            }
        }
        Ok(bounds)
    }
}
