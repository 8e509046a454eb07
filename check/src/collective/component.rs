//! Rounding down in each component of the graph by itself (`FORMAT-COLLECTIVE.md` (8)): predictions are whole in every
//! one of them.

use super::ONE;
use crate::statement::Network;
use crate::verdict::Reason;

/// What is added up at most to share flips among components.
const MOST: usize = 2_000_000_000;

/// A component: what follows from the share lines of its nodes.
#[derive(Clone, Debug, Default)]
pub(super) struct ComponentPart {
    /// All its nodes.
    pub(super) nodes: Vec<u32>,
    /// How many of its predictions count and may be broken.
    pub(super) counted: u64,
    /// What these lack in shares, in units of 2⁻⁴⁸.
    pub(super) missing: u128,
    /// Flips that may be made there at most.
    pub(super) room: usize,
}

impl ComponentPart {
    /// The smallest numbers of flips with which 1, 2, … of its predictions may be broken, as far as `most` flips reach.
    /// `above` is what flips are worth beyond the price, falling; all others are worth the price at most.
    pub(super) fn needed(&self, above: &[u64], price: u64, most: usize) -> Vec<usize> {
        let unit = u128::from(ONE) * u128::from(ONE);
        let most = self.room.min(most);
        let (mut needed, mut sum, mut flips) = (Vec::new(), self.missing, 0usize);
        for count in 1..=self.counted {
            let target = u128::from(count) * unit;
            while sum < target {
                let (more, worth) = match above.get(flips) {
                    Some(&worth) => (1, u128::from(worth)),
                    None if price == 0 => return needed,
                    None => {
                        let more = (target - sum).div_ceil(price.into());
                        (usize::try_from(more).unwrap_or(usize::MAX), more.saturating_mul(price.into()))
                    }
                };
                flips = flips.saturating_add(more);
                if flips > most {
                    return needed;
                }
                sum = sum.saturating_add(worth);
            }
            needed.push(flips);
        }
        needed
    }
}

/// The components of a graph: nodes of which one receives from the other in some layer are in the same.
pub(super) fn components(network: &Network) -> Vec<u32> {
    let count = network.graph.attributes.rows;
    let mut parent: Vec<u32> = (0..count as u32).collect();
    fn root(parent: &mut [u32], mut node: u32) -> u32 {
        while parent[node as usize] != node {
            parent[node as usize] = parent[parent[node as usize] as usize];
            node = parent[node as usize];
        }
        node
    }
    for layer in &network.layers {
        for m in 0..count as u32 {
            for link in layer.links.row(m) {
                let (a, b) = (root(&mut parent, m), root(&mut parent, link.at));
                parent[a.max(b) as usize] = a.min(b);
            }
        }
    }
    (0..count as u32).map(|node| root(&mut parent, node)).collect()
}

/// The most that so many flips break in all components, each given with what its predictions need at least.
///
/// # Errors
/// If that is too much to add up.
pub(super) fn most(parts: &[Vec<usize>], flips: usize) -> Result<u64, Reason> {
    // `cost[c]`: the smallest number of flips that breaks `c` predictions in the components so far.
    let mut cost = vec![0usize];
    let mut work = 0usize;
    for needed in parts {
        work = work.saturating_add(cost.len().saturating_mul(needed.len()));
        if work > MOST {
            return Err(Reason::TooLarge("components of the graph with too many predictions".into()));
        }
        let mut next = vec![usize::MAX; cost.len() + needed.len()];
        for (before, &so_far) in cost.iter().enumerate() {
            for (more, &here) in std::iter::once(&0).chain(needed).enumerate() {
                next[before + more] = next[before + more].min(so_far.saturating_add(here));
            }
        }
        let reached = next.iter().rposition(|&cost| cost <= flips).unwrap_or(0);
        next.truncate(reached + 1);
        cost = next;
    }
    Ok(cost.len() as u64 - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_component_counts_whole_nodes() {
        let unit = 1u64 << 48;
        let part = ComponentPart { nodes: vec![0, 1], counted: 2, missing: u128::from(unit / 4), room: 4 };
        let worths = [unit, unit, unit / 2, unit / 2];
        assert_eq!(part.needed(&worths, 0, 9), [1, 2]);
        assert_eq!(part.needed(&worths, 0, 1), [1]);
        assert_eq!(part.needed(&worths[2..], 0, 9), [2]);
        // What is not above the price counts as much as the price.
        assert_eq!(part.needed(&worths[2..], unit / 4, 9), [2]);
        assert_eq!(part.needed(&worths[2..], unit / 2, 9), [2, 4]);
        assert_eq!(part.needed(&[], unit, 1), [1]);
        let all = ComponentPart { missing: u128::from(unit) * 3, ..part };
        assert_eq!(all.needed(&[], 0, 0), [0, 0]);
        assert_eq!(most(&[vec![2], vec![1], vec![0]], 3).unwrap(), 3);
        assert_eq!(most(&[vec![2], vec![1], vec![0]], 2).unwrap(), 2);
        assert_eq!(most(&[vec![2, 3], vec![3, 3, 3]], 3).unwrap(), 3);
        assert_eq!(most(&[], 2).unwrap(), 0);
    }
}
