//! Which flips need a closer look: those that may be worth more than their price. Cauchy and Schwarz rule out most, and
//! slopes that are summed over all lines most of the rest.

use std::collections::BTreeMap;
use std::sync::Mutex;

use rayon::prelude::*;

use super::line::{CollectiveClaim, Share};
use super::size::FlipSizes;
use super::worth::{Worth, covered};
use super::{ONE, locked};
use crate::fast::{FastWeights, RowBound};
use crate::number::{Down, Stored, Up};
use crate::statement::Network;
use crate::work::Work;

/// A share line whose weights are computed once the prices are known.
pub(super) struct Deferred {
    pub(super) share: Share,
    /// What its covers leave.
    pub(super) rests: Vec<u32>,
    /// If it has a size.
    pub(super) sizes: Option<FlipSizes>,
    /// By node: a weight of a flip is at most this times the norm of the weights of its attribute, in units of 1. 0 for
    /// nodes that are left out.
    norms: Vec<(u32, Up)>,
}

impl Deferred {
    pub(super) fn new(share: Share, rests: Vec<u32>, sizes: Option<FlipSizes>) -> Deferred {
        Deferred { share, rests, sizes, norms: Vec::new() }
    }

    /// Not below what a flip is worth by the line, given its weight.
    fn worth(&self, weight: u32) -> u64 {
        let Share { weight: alpha, size, covers, .. } = &self.share;
        let of_size = self.sizes.as_ref().map_or(0, |sizes| u64::from(*size) * u64::from(sizes.of(weight)));
        let of_covers = covers.iter().zip(&self.rests);
        let worth = of_covers.map(|(cover, &rest)| u64::from(cover.weight) * u64::from(covered(weight, rest)));
        worth.fold((u64::from(*alpha) * u64::from(weight)).saturating_add(of_size), u64::saturating_add)
    }

    /// `a` and `r` such that a flip of weight `w`, in units of 1, is worth at most `2⁴⁸·a·w + r` by the line. In units of
    /// 2⁻²⁴ its weight is at most `2²⁴·w + 1`, a cover makes at most `2²⁴/rest` times that and 1 of it, and its size is
    /// at most that of others and `(first − others)/least` times its weight.
    fn factor(&self) -> (Up, u64) {
        let count = |count: u32| Stored::count(count as usize);
        let part = |of: u32, whole: u32| Up::from(count(of)).over(Down::from(count(whole)));
        let mut factor = part(self.share.weight, ONE);
        let mut rounding = u64::from(self.share.weight);
        for (cover, &rest) in self.share.covers.iter().zip(&self.rests) {
            factor = factor.plus(part(cover.weight, rest));
            rounding = rounding.saturating_add(u64::from(cover.weight) * (u64::from(covered(1, rest)) + 1));
        }
        if let Some(FlipSizes { least, first, others }) = self.sizes {
            let (beta, more) = (self.share.size, first.saturating_sub(others));
            factor = factor.plus(part(beta, ONE).times_up(part(more, least)));
            let of_one = (u64::from(beta) * u64::from(more)).div_ceil(u64::from(least.max(1)));
            rounding = rounding.saturating_add(u64::from(beta) * u64::from(others)).saturating_add(of_one);
        }
        (factor, rounding)
    }
}

/// What flips of a row are worth at most by the lines that wait: in units of 1, and what rounding adds, in units of
/// 2⁻⁴⁸.
struct RowWorth {
    bound: RowBound,
    rounding: u64,
}

/// Share lines that wait for the prices. Shared by all threads.
pub(super) struct Waiting {
    lines: Mutex<Vec<Deferred>>,
    /// By node.
    rows: Vec<Mutex<Option<RowWorth>>>,
}

impl Waiting {
    pub(super) fn new(nodes: usize) -> Waiting {
        Waiting { lines: Mutex::default(), rows: (0..nodes).map(|_| Mutex::default()).collect() }
    }

    /// Bytes that a line with these bounds and so many covers takes.
    pub(super) fn bytes(&self, bounds: &BTreeMap<u32, RowBound>, covers: usize) -> u64 {
        let first = bounds.iter().filter(|(node, _)| locked(&self.rows[**node as usize]).is_none());
        let of_rows: usize = first.map(|(_, bound)| bound.bytes()).sum();
        (of_rows + bounds.len() * size_of::<(u32, Up)>() + covers * size_of::<u32>()) as u64
    }

    /// Adds a line with what its weights are at most.
    pub(super) fn push(&self, mut line: Deferred, bounds: BTreeMap<u32, RowBound>) {
        let (factor, rounding) = line.factor();
        for (node, bound) in bounds {
            line.norms.push((node, bound.norm));
            let mut row = locked(&self.rows[node as usize]);
            let row = row.get_or_insert_with(|| RowWorth { bound: bound.of_none(), rounding: 0 });
            row.bound.add(&bound, factor);
            row.rounding = row.rounding.saturating_add(rounding);
        }
        locked(&self.lines).push(line);
    }

    pub(super) fn take(&self) -> Vec<Deferred> {
        std::mem::take(&mut *locked(&self.lines))
    }

    /// For every node, the places among the falling norms of those attributes whose flips may be worth more than their
    /// price by these lines and what others add up to so far.
    pub(super) fn exceeding(
        &self,
        lines: &[Deferred],
        others: [&Worth; 2],
        claim: &CollectiveClaim,
        with_prices_of_nodes: bool,
        (network, weights): (&Network, &FastWeights),
        work: &Work,
    ) -> Vec<Vec<u32>> {
        let mut of_nodes: Vec<Vec<(&Deferred, Up)>> = vec![Vec::new(); others[0].len()];
        for line in lines {
            line.norms.iter().for_each(|(node, norm)| of_nodes[*node as usize].push((line, *norm)));
        }
        let one = Down::from(Stored::ONE);
        let exceeding = |(node, list): (usize, Vec<(&Deferred, Up)>)| {
            // What is looked at here counts as a line of its own.
            let _meter = work.line();
            let row = locked(&self.rows[node]);
            let Some(row) = row.as_ref().filter(|_| !list.is_empty()) else { return Vec::new() };
            let known = others.iter().fold(0u64, |sum, worth| sum.saturating_add(worth.largest(node)));
            let own = if with_prices_of_nodes { claim.price_of(node as u32) } else { 0 };
            let price = claim.price.saturating_add(own);
            let worth = |norm: Up| {
                let weight = |of: Up| of.times_up(norm).share_of(one);
                list.iter().fold(known, |sum, (line, of)| sum.saturating_add(line.worth(weight(*of))))
            };
            let count = weights.by_norm.partition_point(|&(_, norm)| worth(norm) > price);
            // `2⁴⁸·Σ a·w ≤ price − known − rounding`, of which the last eleven bits do not matter.
            match price.checked_sub(known.saturating_add(row.rounding)) {
                Some(rest) if count > 0 => {
                    let rest = Stored::scaled((rest >> 11) as i64, 11 - 48).unwrap_or(Stored::ZERO);
                    weights.exceeding(&row.bound, network.graph.attributes.row(node), count, rest.into())
                }
                _ => (0..count as u32).collect(),
            }
        };
        of_nodes.into_par_iter().enumerate().map(exceeding).collect()
    }
}
