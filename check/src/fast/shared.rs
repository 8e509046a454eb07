//! What all targets share: the network as the fast path reads it, and what is remembered of its layers.

use std::sync::{Arc, OnceLock};

use super::nested_loss::NestedRow;
use super::network::FastNetwork;
use super::row::Rows;
use crate::number::{Down, Up};
use crate::statement::{Budget, Network};
use crate::work::Work;

/// `R` from below and `S` from above, of the units of one node.
pub(crate) type Bounds = Vec<(Down, Up)>;

/// What all targets share. Shared by all threads.
pub(crate) struct Fast<'a> {
    pub(crate) network: Arc<FastNetwork<'a>>,
    pub(crate) budget: &'a Budget<'a>,
    /// Rows of layer 2, of all nodes of the graph.
    pub(crate) rows: Rows<'a>,
    /// What default bounds may cost. Beyond it they are what propagation gives, and no line is accepted by them.
    pub(crate) work: Arc<Work>,
    /// Layers `3 … L − 1`.
    pub(super) above: Vec<Vec<OnceLock<Arc<Bounds>>>>,
    /// Levels of layer 3, if there is a layer above.
    pub(super) nested: Vec<OnceLock<Arc<NestedRow>>>,
}

impl<'a> Fast<'a> {
    /// Nothing is computed before it is asked for.
    pub(crate) fn new(exact: &'a Network<'a>, budget: &'a Budget<'a>, work: Arc<Work>) -> Fast<'a> {
        Fast::of(Arc::new(FastNetwork::new(exact)), budget, work)
    }

    /// The same on a graph with other edges.
    pub(crate) fn on<'b>(&self, exact: &'b Network<'b>, budget: &'b Budget<'b>) -> Fast<'b> {
        Fast::of(Arc::new(self.network.on(exact)), budget, self.work.clone())
    }

    fn of(network: Arc<FastNetwork<'a>>, budget: &'a Budget<'a>, work: Arc<Work>) -> Fast<'a> {
        let exact = network.exact;
        let nodes = exact.graph.attributes.rows;
        let layer = |_| (0..nodes).map(|_| OnceLock::new()).collect();
        let above = (3..exact.depth()).map(layer).collect();
        let deep = if exact.depth() > 3 { nodes } else { 0 };
        let nested = (0..deep).map(|_| OnceLock::new()).collect();
        Fast { rows: Rows::new(network.clone(), budget), network, budget, work, above, nested }
    }
}
