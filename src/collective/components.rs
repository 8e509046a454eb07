//! The bound rounded down in each component of the graph by itself: predictions are whole in every one of them
//! (docs/math.md (20.10)).

use std::collections::BTreeMap;

use crate::collective::dual::{Worths, worths};
use crate::collective::program::Program;
use crate::collective::row::ONE;
use crate::problem::network::Network;

/// What is added up at most to share flips among components.
const MOST: usize = 100_000_000;

/// Flips that may be made at most, all nodes together: each takes 16 bytes.
const MANY: usize = 20_000_000;

/// Components by node: nodes of which one receives from the other in some layer are in the same.
pub(crate) fn components(network: &Network, nodes: usize) -> Vec<usize> {
    let mut parent: Vec<usize> = (0..nodes).collect();
    fn root(parent: &mut [usize], mut node: usize) -> usize {
        while parent[node] != node {
            parent[node] = parent[parent[node]];
            node = parent[node];
        }
        node
    }
    for layer in network.layers() {
        for m in 0..nodes {
            for (n, _) in layer.passing.row(m) {
                let (a, b) = (root(&mut parent, m), root(&mut parent, n));
                parent[a.max(b)] = a.min(b);
            }
        }
    }
    (0..nodes).map(|node| root(&mut parent, node)).collect()
}

/// How many predictions of a component so many flips there break at most, rounded down: from no flip to the number
/// after which it does not rise.
#[derive(Debug, Default)]
struct Component {
    nodes: u128,
    /// `Σ (1 − Σ_i μ_ni)`, in multiples of `1/ONE²`.
    constant: u128,
    /// What flips are worth there, falling.
    worths: Vec<u128>,
}

impl Component {
    /// No flip counts less than `price`.
    fn broken(&self, most: usize, price: u128) -> Vec<usize> {
        let unit = u128::from(ONE) * u128::from(ONE);
        let mut sum = self.constant;
        let mut broken = vec![(sum / unit).min(self.nodes) as usize];
        let above = self.worths.iter().copied().take_while(|&worth| worth > price);
        for worth in above.chain(std::iter::repeat(price)).take(most) {
            if worth == 0 {
                break;
            }
            sum += worth;
            broken.push((sum / unit).min(self.nodes) as usize);
            if sum / unit >= self.nodes {
                break;
            }
        }
        broken
    }
}

/// The bound at some multipliers, each component rounded down by itself; no flip counts less than `price`. `nodes` are
/// those of the program. `None` if the graph is one component, if only some nodes may be attacked, or if there is too
/// much to add up.
pub(crate) fn rounded(
    program: &Program,
    multipliers: &[u32],
    nodes: &[usize],
    component: &[usize],
    price: u64,
) -> Option<usize> {
    let flips: usize =
        program.sources.iter().map(|source| source.local.min(source.end - source.first + source.others)).sum();
    let first = component.first()?;
    if flips > MANY || component.iter().all(|other| other == first) {
        return None;
    }
    let Worths { constants, by_source } = worths(program, multipliers)?;
    let mut parts: BTreeMap<usize, Component> = BTreeMap::new();
    for (&node, constant) in nodes.iter().zip(constants) {
        let part = parts.entry(component[node]).or_default();
        part.nodes += 1;
        part.constant += constant;
    }
    for (source, worths) in program.sources.iter().zip(by_source) {
        parts.entry(component[source.node as usize]).or_default().worths.extend(worths);
    }
    // `best[j]`: what `j` flips break at most in the components so far, (20.10).
    let mut best = vec![0usize];
    let mut work = 0usize;
    for part in parts.values_mut() {
        part.worths.sort_unstable_by(|x, y| y.cmp(x));
        let broken = part.broken(program.global, price.into());
        work = work.saturating_add(best.len().saturating_mul(broken.len()));
        if work > MOST {
            return None;
        }
        // The most that so many flips break in this component and those before.
        let length = (best.len() + broken.len() - 1).min(program.global.saturating_add(1));
        let mut next = vec![0usize; length];
        for (before, &so_far) in best.iter().enumerate() {
            for (here, &more) in broken.iter().enumerate().take(length.saturating_sub(before)) {
                next[before + here] = next[before + here].max(so_far + more);
            }
        }
        best = next;
    }
    best.into_iter().max()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_component_counts_whole_nodes() {
        let unit = u128::from(ONE) * u128::from(ONE);
        let part = Component { nodes: 2, constant: unit / 4, worths: vec![unit / 2, unit / 2, unit, unit] };
        assert_eq!(part.broken(9, 0), [0, 0, 1, 2]);
        assert_eq!(part.broken(1, 0), [0, 0]);
        assert_eq!(part.broken(9, unit / 2), [0, 0, 1, 1, 2]);
        assert_eq!(Component { nodes: 1, constant: unit, worths: vec![unit] }.broken(9, 0), [1, 1]);
    }
}
