//! What all share lines add up to for every flip, and what an admissible set of flips adds up to at most
//! (`FORMAT-COLLECTIVE.md` (3), (4)).

use std::sync::Mutex;

use rayon::prelude::*;

use super::component::ComponentPart;
use super::line::{CollectiveClaim, Share};
use super::size::FlipSizes;
use super::weights::Weights;
use super::{ONE, locked};
use crate::statement::Budget;
use crate::verdict::Reason;

/// `v` of every flip in units of 2⁻⁴⁸, by node and attribute; empty for a node of which no share line depends. Shared
/// by all threads.
pub(super) struct Worth {
    rows: Vec<Mutex<Vec<u64>>>,
}

impl Worth {
    /// Nothing so far.
    pub(super) fn new(nodes: usize) -> Worth {
        Worth { rows: (0..nodes).map(|_| Mutex::default()).collect() }
    }

    /// Nodes of the graph, whether anything is known of them or not.
    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    /// The largest `v` of a node.
    pub(super) fn largest(&self, node: usize) -> u64 {
        self.row(node).iter().copied().max().unwrap_or(0)
    }

    /// Adds a share line; `rests` are what its covers leave. There are at most [`super::line::MOST_SHARES`], so that no
    /// sum is too large.
    pub(super) fn add(&self, share: &Share, weights: &Weights, rests: &[u32], sizes: Option<&FlipSizes>) {
        for (node, row) in &weights.rows {
            let mut worth = self.row(*node as usize);
            worth.resize(row.len(), 0);
            for (worth, &weight) in worth.iter_mut().zip(row) {
                let size = sizes.map_or(0, |sizes| sizes.of(weight));
                *worth += u64::from(share.weight) * u64::from(weight) + u64::from(share.size) * u64::from(size);
            }
            for (cover, &rest) in share.covers.iter().zip(rests) {
                let first = cover.made.partition_point(|flip| flip.0 < *node);
                let mut made = cover.made[first..].iter().take_while(|flip| flip.0 == *node).peekable();
                for (attribute, (worth, &weight)) in (0u32..).zip(worth.iter_mut().zip(row)) {
                    if made.next_if(|flip| flip.1 == attribute).is_none() {
                        *worth += u64::from(cover.weight) * u64::from(covered(weight, rest));
                    }
                }
            }
        }
    }

    /// Not below what any admissible set of flips adds up to, in units of 2⁻⁴⁸: the sums of both lists together. The
    /// prices of the claim must ascend.
    pub(super) fn most(
        &self,
        other: &Worth,
        claim: &CollectiveClaim,
        budget: &Budget,
        attacked_nodes: Option<usize>,
    ) -> u128 {
        let every = (budget.global as u128).saturating_mul(claim.price.into());
        let of_rows = (0..self.rows.len()).into_par_iter().map(|node| {
            let (row, other) = (self.row(node), other.row(node));
            let left = budget.local(node as u32).min(budget.global);
            let length = row.len().max(other.len());
            let at = |list: &[u64], d: usize| list.get(d).copied().unwrap_or(0);
            // Each is below 2⁶⁴ even with those of both lists.
            let worth = (0..length).map(|d| at(&row, d).saturating_add(at(&other, d)));
            if attacked_nodes.is_some() {
                let mut above: Vec<u64> = worth.map(|v| v.saturating_sub(claim.price)).filter(|&v| v > 0).collect();
                above.sort_unstable_by(|a, b| b.cmp(a));
                return sum(above.into_iter().take(left).map(u128::from));
            }
            let own = claim.price_of(node as u32);
            let paid = (left as u128).saturating_mul(own.into());
            let above = worth.map(|v| u128::from(v.saturating_sub(claim.price).saturating_sub(own)));
            paid.saturating_add(sum(above))
        });
        let mut of_rows: Vec<u128> = of_rows.collect();
        if let Some(most) = attacked_nodes {
            of_rows.sort_unstable_by(|a, b| b.cmp(a));
            of_rows.truncate(most);
        }
        every.saturating_add(sum(of_rows.into_iter()))
    }

    /// Not below the number of predictions that any admissible set of flips breaks: rounded down in each component by
    /// itself. Both lists together say what flips above the price are worth.
    pub(super) fn most_in_components(
        &self,
        other: &Worth,
        price: u64,
        budget: &Budget,
        parts: Vec<ComponentPart>,
    ) -> Result<u64, Reason> {
        let limited = |mut part: ComponentPart| {
            let mut above = Vec::new();
            for &node in &part.nodes {
                let (row, other) = (self.row(node as usize), other.row(node as usize));
                let left = budget.local(node).min(budget.global);
                let at = |list: &[u64], d: usize| list.get(d).copied().unwrap_or(0);
                let worth = (0..row.len().max(other.len())).map(|d| at(&row, d).saturating_add(at(&other, d)));
                let mut own: Vec<u64> = worth.filter(|&v| v > price).collect();
                own.sort_unstable_by(|a, b| b.cmp(a));
                own.truncate(left);
                part.room = part.room.saturating_add(left);
                above.append(&mut own);
            }
            above.sort_unstable_by(|a, b| b.cmp(a));
            part.needed(&above, price, budget.global)
        };
        let parts: Vec<Vec<usize>> = parts.into_par_iter().map(limited).collect();
        super::component::most(&parts, budget.global)
    }

    fn row(&self, node: usize) -> std::sync::MutexGuard<'_, Vec<u64>> {
        locked(&self.rows[node])
    }
}

/// What a weight is once flips are taken as made that leave so much of one.
pub(super) fn covered(weight: u32, rest: u32) -> u32 {
    let share = (u64::from(weight) * u64::from(ONE)).div_ceil(u64::from(rest.max(1)));
    u32::try_from(share).unwrap_or(ONE).min(ONE)
}

/// A sum that stays at the largest number where it is too large: nothing follows from that.
fn sum(mut numbers: impl Iterator<Item = u128>) -> u128 {
    numbers.try_fold(0u128, u128::checked_add).unwrap_or(u128::MAX)
}
