//! What header, graph and model mean together, and the bounds of units that all lines share.

use std::sync::{Arc, OnceLock};

use gcnproof_files::{GraphFile, ModelFile, SparseMatrix};

use super::budget::{RangeBudget, row};
use super::network::RangeNetwork;
use crate::format::{Convention, Header, VERSION};
use crate::number::{Interval, Stored};
use crate::statement::require_digests;
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
        model: &ModelFile,
        header: &Header,
        matrices: &[Arc<SparseMatrix>],
    ) -> Result<RangeStatement<'a>, Reason> {
        RangeStatement::within(graph, model, header, matrices, &Work::lines().line())
    }

    /// The same within other limits.
    pub(crate) fn within(
        graph: &'a GraphFile,
        model: &ModelFile,
        header: &Header,
        matrices: &[Arc<SparseMatrix>],
        meter: &Meter,
    ) -> Result<RangeStatement<'a>, Reason> {
        let Some(ranges) = &header.ranges else { return Err(Reason::Header("no ranges are stated".into())) };
        if header.version != VERSION {
            let known = format!("proofs about ranges have version {VERSION}");
            return Err(Reason::Header(format!("version {}, but {known}", header.version)));
        }
        if header.deployed.is_some() {
            return Err(Reason::Header("proofs about ranges are about the exact network".into()));
        }
        require_digests(graph, model, &header.graph, &header.model)?;
        let network = RangeNetwork::new(graph, model, &header.message_passing, matrices, meter)?;
        let budget = RangeBudget::new(&header.budget, ranges, graph)?;
        let empty = || (0..graph.attributes.rows).map(|_| OnceLock::new()).collect();
        let units = (2..network.depth()).map(|_| empty()).collect();
        Ok(RangeStatement { graph, network, budget, classes: header.classes, units, sent: empty() })
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
