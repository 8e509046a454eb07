//! The sizes of flips (`FORMAT-COLLECTIVE.md` (2)): a flip that is in no set of fewer than `k` flips that breaks the
//! node has the size `1/k`.

use super::ONE;
use crate::statement::Budget;

/// The sizes of the flips of one share line.
pub(super) struct FlipSizes {
    /// The weight from which on a flip has the first size.
    pub(super) least: u32,
    /// `⌈ONE/k*⌉`.
    pub(super) first: u32,
    /// `⌈ONE/(k*+1)⌉`, or 0 if so many flips are not admissible.
    pub(super) others: u32,
}

/// Weights of flips, the largest that may be made together among them.
pub(super) struct LargestWeights {
    /// By node.
    pub(super) rows: Vec<(u32, Vec<u32>)>,
    /// Other flips have no larger weight, but where their row has no budget left beside those above.
    pub(super) floor: u32,
    /// Flips that all rows together have a budget for.
    pub(super) room: usize,
}

/// The flips that rows have a budget for.
pub(super) fn room(nodes: impl Iterator<Item = u32>, budget: &Budget) -> usize {
    nodes.fold(0, |sum, node| sum.saturating_add(budget.local(node).min(budget.global)))
}

/// The weights that count in `T`, falling, and what limits them.
struct CountedWeights {
    weights: Vec<u32>,
    /// `K`.
    most: usize,
    /// By node: the last weight of its row that counts, if the row has more.
    last: Vec<(u32, u32)>,
}

impl CountedWeights {
    fn new(LargestWeights { rows, floor, room }: LargestWeights, budget: &Budget) -> CountedWeights {
        let (mut kept, mut last): (Vec<u32>, Vec<(u32, u32)>) = Default::default();
        for (node, mut own) in rows {
            let (left, all) = (budget.local(node).min(budget.global), own.len());
            keep_largest(&mut own, left);
            if own.len() < all {
                last.push((node, own.iter().copied().min().unwrap_or(0)));
            }
            kept.append(&mut own);
        }
        let most = room.min(budget.global);
        keep_largest(&mut kept, most);
        kept.sort_unstable_by(|a, b| b.cmp(a));
        if floor > 0 {
            // What is not listed counts as the floor wherever that is more.
            kept.iter_mut().for_each(|weight| *weight = floor.max(*weight));
            kept.resize(most, floor);
        }
        CountedWeights { weights: kept, most, last }
    }

    /// `k*` and `ONE − T` of one flip less, if there is one.
    fn first(&self) -> Option<(usize, u32)> {
        let mut missing = ONE;
        for (at, &weight) in self.weights.iter().enumerate() {
            if weight >= missing {
                return Some((at + 1, missing));
            }
            missing -= weight;
        }
        None
    }
}

impl FlipSizes {
    pub(super) fn new(weights: LargestWeights, budget: &Budget) -> FlipSizes {
        let kept = CountedWeights::new(weights, budget);
        let Some((flips, least)) = kept.first() else { return FlipSizes { least: ONE, first: 0, others: 0 } };
        let size = |flips: usize| u32::try_from(flips).map_or(1, |flips| ONE.div_ceil(flips));
        let others = if flips < kept.most { size(flips + 1) } else { 0 };
        FlipSizes { least, first: size(flips), others }
    }

    /// The size of a flip of this weight: it rises with the weight.
    pub(super) fn of(&self, weight: u32) -> u32 {
        match weight {
            0 => 0,
            weight if weight >= self.least => self.first,
            _ => self.others,
        }
    }
}

/// Prices by which no `flips − 1` flips have weights of [`ONE`] together, in its units: what the verified checker takes
/// instead of looking for `k*` itself.
pub(crate) struct SizePrices {
    /// `k*`, or `K + 1` if there is none.
    pub(crate) flips: usize,
    /// Of every flip.
    pub(crate) price: u32,
    /// Of the flips of a node besides, ascending by node.
    pub(crate) prices: Vec<(u32, u32)>,
}

impl SizePrices {
    /// With these prices `T` is reached.
    pub(super) fn new(weights: LargestWeights, budget: &Budget) -> SizePrices {
        let kept = CountedWeights::new(weights, budget);
        let flips = kept.first().map_or(kept.most + 1, |(flips, _)| flips);
        let price = flips.checked_sub(2).and_then(|at| kept.weights.get(at)).copied().unwrap_or(0);
        let own = kept.last.iter().map(|&(node, last)| (node, last.saturating_sub(price)));
        SizePrices { flips, price, prices: own.filter(|(_, own)| *own > 0).collect() }
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
