//! Radii of a list of nodes, each row as soon as it is done.

use gcnproof::{Decide, radii};
use gcnproof_results::record::node::Tabled;
use gcnproof_results::record::radius::RadiusRow;

/// Nodes searched together: large enough to share activation bounds, small enough that an interruption loses little.
const BATCH: usize = 4096;

/// Searches the radii of the open nodes in batches, and hands each row on as soon as it is done.
pub fn search<A: Tabled, D: Decide<A>>(decider: &D, open: &[u64], limit: usize, done: &(dyn Fn(RadiusRow<A>) + Sync)) {
    for batch in open.chunks(BATCH) {
        let batch: Vec<usize> = batch.iter().map(|&n| n as usize).collect();
        let row = |node, radius: &_| done(RadiusRow::new(decider.graph(), node, radius));
        let found = radii(decider, &batch, limit, || decider.is_stopped(), row);
        debug_assert!(found.is_ok(), "nodes are read with the graph");
        if decider.is_stopped() {
            break;
        }
    }
}
