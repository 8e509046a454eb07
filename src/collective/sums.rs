//! What every flip has in the rows of all nodes together, beyond the defaults: which flips are worth a column of their own (docs/math.md (20.8)).

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::collective::weights::Weights;

/// Sums are kept in multiples of so many units, rounded up: tens of thousands of nodes fit.
const COARSE: u32 = 256;

/// Sums of shares by source node and attribute.
pub(super) struct Sums {
    sources: Vec<u32>,
    attributes: usize,
    sums: Vec<AtomicU32>,
}

impl Sums {
    /// Of no node yet; `sources` rise.
    pub(super) fn new(sources: Vec<u32>, attributes: usize) -> Sums {
        let mut sums = Vec::new();
        sums.resize_with(sources.len() * attributes, AtomicU32::default);
        Sums { sources, attributes, sums }
    }

    /// Adds what the flips of a node have beyond its defaults.
    pub(super) fn add(&self, weights: &Weights) {
        let mut defaults = weights.defaults.iter().copied().peekable();
        let mut of_source = (u32::MAX, 0, 0);
        for &(flip, share) in &weights.entries {
            if flip.node != of_source.0 {
                // Both are in the order of the sources.
                while defaults.peek().is_some_and(|default| default.0 < flip.node) {
                    defaults.next();
                }
                let default = defaults.peek().filter(|default| default.0 == flip.node).map_or(0, |default| default.1);
                let Ok(place) = self.sources.binary_search(&flip.node) else { continue };
                of_source = (flip.node, default, place);
            }
            let beyond = share.saturating_sub(of_source.1).div_ceil(COARSE);
            let sum = &self.sums[of_source.2 * self.attributes + flip.attribute as usize];
            // A sum that does not fit stays at the largest number, which is named before all others.
            let _ = sum.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |sum| Some(sum.saturating_add(beyond)));
        }
    }

    /// The attributes of each source node with the largest sums, about so many, and what the others have at most, in units of shares.
    pub(super) fn best(self, count: usize) -> (u64, BTreeMap<u32, Vec<u32>>) {
        let sums: Vec<u32> = self.sums.into_iter().map(AtomicU32::into_inner).collect();
        let mut ranked: Vec<u32> = sums.iter().copied().filter(|&sum| sum > 0).collect();
        let cap = match ranked.len() > count {
            true => *ranked.select_nth_unstable_by(count, |x, y| y.cmp(x)).1,
            false => 0,
        };
        // A sum that did not fit is more than it says: such flips are always named.
        let cap = cap.min(u32::MAX - 1);
        let mut best: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for (&source, sums) in self.sources.iter().zip(sums.chunks_exact(self.attributes.max(1))) {
            let of = sums.iter().zip(0u32..).filter(|(sum, _)| **sum > cap).map(|(_, attribute)| attribute).collect();
            best.insert(source, of);
        }
        (u64::from(cap) * u64::from(COARSE), best)
    }
}
