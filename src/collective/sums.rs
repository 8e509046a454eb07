//! What every flip of the graph is worth in the rows of all nodes together (docs/math.md (20.8)).

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::collective::named::Named;
use crate::collective::row::ONE;

/// Sums of shares by source node and place of the attribute, from above.
pub(crate) struct ShareSums {
    rows: Vec<Mutex<SourceSums>>,
    /// A sum counts multiples of `2^shift` units of shares, so that those of all nodes fit.
    shift: u32,
}

/// The sums of one source node.
#[derive(Clone, Debug, Default)]
struct SourceSums {
    /// By place; empty if no row reaches the node.
    of: Vec<u32>,
    /// How many rows reach it.
    rows: usize,
}

/// Sums are put into classes of so many to find the largest: `1/256` of a node.
const CLASS: u32 = 256;

/// No sum is left half added.
fn locked(sum: &Mutex<SourceSums>) -> MutexGuard<'_, SourceSums> {
    sum.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Clone for ShareSums {
    fn clone(&self) -> ShareSums {
        let of = |sum: &Mutex<SourceSums>| Mutex::new(locked(sum).clone());
        ShareSums { rows: self.rows.iter().map(of).collect(), shift: self.shift }
    }
}

impl ShareSums {
    /// For so many source nodes, and at most so many rows.
    pub(crate) fn new(sources: usize, rows: usize) -> ShareSums {
        // A share counts less than one more than its part of ONE: 2^25 rows of it stay below 2^32 with a shift of 17.
        let mut shift = 8;
        while (rows as u64).saturating_mul((u64::from(ONE) >> shift) + 1) > u64::from(u32::MAX) && shift < 24 {
            shift += 1;
        }
        ShareSums { rows: (0..sources).map(|_| Mutex::default()).collect(), shift }
    }

    /// Adds the shares of the flips of a source node in some row.
    pub(crate) fn add(&self, source: u32, shares: impl ExactSizeIterator<Item = u32>) {
        let round = (1u32 << self.shift) - 1;
        let mut sums = locked(&self.rows[source as usize]);
        sums.rows += 1;
        let length = shares.len().max(sums.of.len());
        sums.of.resize(length, 0);
        for (sum, share) in sums.of.iter_mut().zip(shares) {
            *sum = sum.saturating_add((share + round) >> self.shift);
        }
    }

    /// Puts other shares in the place of those that were added.
    pub(crate) fn change(&self, source: u32, shares: impl ExactSizeIterator<Item = (u32, u32)>) {
        let (shift, round) = (self.shift, (1u32 << self.shift) - 1);
        let mut sums = locked(&self.rows[source as usize]);
        for (sum, (before, now)) in sums.of.iter_mut().zip(shares) {
            // A sum that did not fit stays as it is.
            if *sum < u32::MAX {
                let others = *sum - ((before + round) >> shift);
                *sum = others.saturating_add((now + round) >> shift);
            }
        }
    }

    /// The source nodes that some row reaches.
    pub(crate) fn sources(&self) -> impl Iterator<Item = u32> {
        (0u32..).zip(&self.rows).filter(|(_, sum)| locked(sum).rows > 0).map(|(source, _)| source)
    }

    /// Names the flips with sums above a limit, in units of shares. Returns how many are new.
    pub(crate) fn name_above(&self, limit: u64, named: &mut Named) -> usize {
        let limit = limit >> self.shift;
        let mut new = 0;
        for (source, sums) in (0..).zip(&self.rows) {
            let sums = locked(sums);
            let above = sums.of.iter().zip(0u32..).filter(|(sum, _)| u64::from(**sum) > limit).map(|(_, slot)| slot);
            new += named.add(source, above.collect());
        }
        new
    }

    /// The smallest sum, in units of shares, above which the flips have at most so many entries in all rows together.
    pub(crate) fn exceeded_by(&self, entries: usize) -> u64 {
        let mut classes = vec![0usize; 1 << 16];
        let last = classes.len() - 1;
        for sums in &self.rows {
            let sums = locked(sums);
            for &sum in sums.of.iter().filter(|sum| **sum > 0) {
                classes[((sum / CLASS) as usize).min(last)] += sums.rows;
            }
        }
        let mut above = 0;
        for (class, &of) in classes.iter().enumerate().rev() {
            above += of;
            if above > entries {
                // All sums of this class are below the next one.
                return ((class as u64 + 1) * u64::from(CLASS)) << self.shift;
            }
        }
        0
    }

    /// What the flips of each source node that are not named are worth at most, in units of shares; source nodes
    /// without such flips are left out.
    pub(crate) fn unnamed(&self, named: &Named) -> BTreeMap<u32, u64> {
        let mut most = BTreeMap::new();
        for (source, sums) in (0..).zip(&self.rows) {
            let sums = locked(sums);
            let mut slots = named.of(source).iter().copied().peekable();
            let mut largest = 0;
            for (&sum, slot) in sums.of.iter().zip(0u32..) {
                if slots.next_if_eq(&slot).is_none() {
                    largest = largest.max(sum);
                }
            }
            if largest > 0 {
                // A sum that did not fit is more than it says.
                most.insert(
                    source,
                    if largest == u32::MAX { u64::MAX >> 24 } else { u64::from(largest) << self.shift },
                );
            }
        }
        most
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_rounded_up_and_the_largest_are_named() {
        let sums = ShareSums::new(2, 3);
        for _ in 0..3 {
            sums.add(1, [1, ONE, ONE / 2].into_iter());
        }
        let mut named = Named::default();
        assert_eq!(sums.unnamed(&named), [(1, 3 * u64::from(ONE))].into());
        let limit = sums.exceeded_by(3);
        assert!(limit >= 3 * u64::from(ONE) / 2 && limit < 3 * u64::from(ONE));
        assert_eq!(sums.name_above(limit, &mut named), 1);
        assert_eq!(named.of(1), [1]);
        assert_eq!(sums.unnamed(&named), [(1, 3 * u64::from(ONE) / 2)].into());
        // Less than a unit of a sum counts as one.
        assert_eq!(sums.name_above(0, &mut named), 2);
        assert!(sums.unnamed(&named).is_empty() && named.of(0).is_empty());
    }
}
