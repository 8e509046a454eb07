//! Which flips need a closer look: those that may be worth more than their price, by Cauchy and Schwarz.

use super::line::{CollectiveClaim, Share};
use super::worth::{Worth, covered};
use crate::number::{Down, Stored, Up};

/// A share line whose weights are computed once the prices are known.
pub(super) struct Deferred {
    pub(super) share: Share,
    /// By node: a weight of a flip is at most this times the norm of the weights of its attribute, in units of 1. 0 for
    /// nodes that are left out.
    pub(super) norms: Vec<(u32, Up)>,
    /// What its covers leave.
    pub(super) rests: Vec<u32>,
}

impl Deferred {
    /// Not below what a flip is worth by the line, given its weight.
    fn worth(&self, weight: u32) -> u64 {
        let Share { weight: alpha, covers, .. } = &self.share;
        let of_covers = covers.iter().zip(&self.rests);
        let worth = of_covers.map(|(cover, &rest)| u64::from(cover.weight) * u64::from(covered(weight, rest)));
        worth.fold(u64::from(*alpha) * u64::from(weight), u64::saturating_add)
    }
}

/// For every node, how many attributes by falling norm may be worth more than the price of a flip, with what other
/// share lines add up to so far.
pub(super) fn limits(
    deferred: &[Deferred],
    others: [&Worth; 2],
    claim: &CollectiveClaim,
    with_prices_of_nodes: bool,
    by_norm: &[(u32, Up)],
) -> Vec<usize> {
    let mut of_nodes: Vec<Vec<(&Deferred, Up)>> = vec![Vec::new(); others[0].len()];
    for line in deferred {
        line.norms.iter().for_each(|(node, norm)| of_nodes[*node as usize].push((line, *norm)));
    }
    let one = Down::from(Stored::ONE);
    let limit = |(node, list): (usize, Vec<(&Deferred, Up)>)| {
        if list.is_empty() {
            return 0;
        }
        let known = others.iter().fold(0u64, |sum, worth| sum.saturating_add(worth.largest(node)));
        let own = if with_prices_of_nodes { claim.price_of(node as u32) } else { 0 };
        let price = claim.price.saturating_add(own);
        let worth = |norm: Up| {
            let weight = |of: Up| of.times_up(norm).share_of(one);
            list.iter().fold(known, |sum, (line, of)| sum.saturating_add(line.worth(weight(*of))))
        };
        by_norm.partition_point(|&(_, norm)| worth(norm) > price)
    };
    of_nodes.into_iter().enumerate().map(limit).collect()
}
