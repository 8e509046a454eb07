//! The sizes of flips (`FORMAT-COLLECTIVE.md` (2)): a flip that is in no set of fewer than `k` flips that breaks the
//! node has the size `1/k`.

use super::ONE;
use super::weights::Weights;
use crate::statement::Budget;

/// The sizes of the flips of one share line.
pub(super) struct Sizes {
    /// The weight from which on a flip has the first size.
    least: u32,
    /// `⌈ONE/k*⌉`.
    first: u32,
    /// `⌈ONE/(k*+1)⌉`, or 0 if so many flips are not admissible.
    others: u32,
}

impl Sizes {
    /// From all weights.
    pub(super) fn new(weights: &Weights, budget: &Budget) -> Sizes {
        let (mut kept, mut room): (Vec<u32>, usize) = (Vec::new(), 0);
        for (node, row) in &weights.rows {
            let left = budget.local(*node).min(budget.global);
            room = room.saturating_add(left);
            let mut own: Vec<u32> = row.iter().copied().filter(|&weight| weight > 0).collect();
            keep_largest(&mut own, left);
            kept.append(&mut own);
        }
        let most = room.min(budget.global);
        keep_largest(&mut kept, most);
        kept.sort_unstable_by(|a, b| b.cmp(a));
        // `T` of one flip after the other.
        let mut sum = 0;
        for (at, weight) in kept.iter().enumerate() {
            let missing = ONE - sum;
            sum = (sum + weight).min(ONE);
            if sum == ONE {
                let size = |flips: usize| u32::try_from(flips).map_or(1, |flips| ONE.div_ceil(flips));
                let others = if at + 2 <= most { size(at + 2) } else { 0 };
                return Sizes { least: missing, first: size(at + 1), others };
            }
        }
        Sizes { least: ONE, first: 0, others: 0 }
    }

    /// The size of a flip of this weight.
    pub(super) fn of(&self, weight: u32) -> u32 {
        match weight {
            0 => 0,
            weight if weight >= self.least => self.first,
            _ => self.others,
        }
    }
}

/// Drops all but the largest.
fn keep_largest(list: &mut Vec<u32>, count: usize) {
    if count == 0 {
        list.clear();
    } else if list.len() > count {
        list.select_nth_unstable_by(count - 1, |a, b| b.cmp(a));
        list.truncate(count);
    }
}
