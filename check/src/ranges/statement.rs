//! What header, graph and model mean together, and the bounds of units that all lines share.

use std::sync::{Arc, OnceLock};

use gcnproof_files::{GraphFile, ModelFile, SparseMatrix};

use super::budget::{RangeBudget, row};
use super::network::RangeNetwork;
use crate::format::{Convention, Deployed, Header, VERSION};
use crate::number::{Interval, Stored};
use crate::statement::{Network, require_deployed, require_digests};
use crate::verdict::Reason;
use crate::work::{Meter, Work};

/// Bounds of the pre-activations of a node.
pub(super) type Units = Arc<Vec<Interval>>;

/// The network, the budget and the ranges that a header speaks of.
pub struct RangeStatement<'a> {
    pub(super) graph: &'a GraphFile,
    pub(super) network: RangeNetwork,
    pub(super) budget: RangeBudget,
    pub(super) classes: Convention,
    /// The network as it runs, if the header is about that, and how it does.
    pub(super) executed: Option<(Network<'a>, Deployed)>,
    /// Bounds of units by representation from 2 on, then by node.
    pub(super) units: Vec<Vec<OnceLock<Units>>>,
    sent: Vec<OnceLock<Units>>,
}

impl<'a> RangeStatement<'a> {
    /// Checks that header, graph and model belong together. `matrices` are those that a `matrix:` rule may name.
    ///
    /// # Errors
    /// If they do not, or the header states no ranges.
    pub fn new(
        graph: &'a GraphFile,
        model: &'a ModelFile,
        header: &Header,
        matrices: &[Arc<SparseMatrix>],
    ) -> Result<RangeStatement<'a>, Reason> {
        RangeStatement::within(graph, model, header, matrices, &Work::lines().line())
    }

    /// The same within other limits.
    pub(crate) fn within(
        graph: &'a GraphFile,
        model: &'a ModelFile,
        header: &Header,
        matrices: &[Arc<SparseMatrix>],
        meter: &Meter,
    ) -> Result<RangeStatement<'a>, Reason> {
        let Some(ranges) = &header.ranges else { return Err(Reason::Header("no ranges are stated".into())) };
        if header.version != VERSION {
            let known = format!("proofs about ranges have version {VERSION}");
            return Err(Reason::Header(format!("version {}, but {known}", header.version)));
        }
        require_digests(graph, model, &header.graph, &header.model)?;
        let network = RangeNetwork::new(graph, model, &header.message_passing, matrices, meter)?;
        let budget = RangeBudget::new(&header.budget, ranges, graph)?;
        let executed = match &header.deployed {
            None => None,
            Some(deployed) => {
                let network = Network::on_own_attributes(graph, model, header, matrices, meter)?;
                require_deployed(&network, deployed)?;
                Some((network, deployed.clone()))
            }
        };
        let empty = || (0..graph.attributes.rows).map(|_| OnceLock::new()).collect();
        let units = (2..network.depth()).map(|_| empty()).collect();
        Ok(RangeStatement { graph, network, budget, classes: header.classes, executed, units, sent: empty() })
    }

    /// What the attacker may do.
    pub(crate) fn budget(&self) -> &RangeBudget {
        &self.budget
    }

    /// What a node sends in the first layer before any change, for all terms.
    pub(super) fn sent(&self, node: u32, meter: &Meter) -> Result<Units, Reason> {
        let kept = &self.sent[node as usize];
        if let Some(sent) = kept.get() {
            return Ok(sent.clone());
        }
        let (first, row) = (self.network.layer(1), row(self.graph, node));
        meter.spend((row.len() as u64 + 1) * first.width() as u64 * 4)?;
        let of = |at: usize| {
            let products =
                row.iter().map(|&(attribute, x)| -> (Stored, Stored) { (x, first.row(attribute as usize)[at]) });
            Interval::inner(products)
        };
        let sent = Arc::new((0..first.width()).map(of).collect());
        meter.keep(16 * first.width() as u64 + 64)?;
        Ok(kept.get_or_init(|| sent).clone())
    }
}
