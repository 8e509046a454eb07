//! A row: an inequality that holds for every perturbation that breaks a node (docs/math.md (20.1)).

use crate::problem::flip::Flip;

/// Shares and multipliers are multiples of `1/ONE`, so that everything that a bound sums is an integer.
pub const ONE: u32 = 1 << 24;

/// `Σ π_f δ_f ≥ 1` for every perturbation `δ` that breaks a node: a share `π_f` for every flip of the nodes that it
/// depends on, in multiples of `1/ONE`, rounded up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShareRow {
    /// The share of every flip of a source node that is not named below, by source node.
    pub defaults: Vec<(u32, u32)>,
    /// Flips with a larger share than their source node's default, in their order.
    pub entries: Vec<(Flip, u32)>,
}

impl ShareRow {
    /// The same share for all flips of these nodes: `1/count`, rounded up.
    pub fn count(sources: impl Iterator<Item = u32>, count: usize) -> ShareRow {
        let share = reciprocal(count);
        ShareRow { defaults: sources.map(|source| (source, share)).collect(), entries: Vec::new() }
    }

    /// The default of a source node.
    pub fn default_of(&self, source: u32) -> u32 {
        self.defaults.binary_search_by_key(&source, |default| default.0).map_or(0, |at| self.defaults[at].1)
    }

    /// What the shares of some flips leave of one, at least a unit.
    pub fn rest(&self, flips: &[Flip]) -> u32 {
        let sum: u64 = flips.iter().map(|&flip| u64::from(self.share(flip))).sum();
        u64::from(ONE).saturating_sub(sum).max(1) as u32
    }

    /// The row of what remains once some flips, whose shares sum to less than one, are taken as made (docs/math.md
    /// (20.7)). Where a source has a default, its flips among them keep it, which is more than they need.
    pub fn without(&self, flips: &[Flip]) -> ShareRow {
        let rest = u64::from(self.rest(flips));
        let scaled = |share: u32| (u64::from(share) * u64::from(ONE)).div_ceil(rest).min(u64::from(ONE)) as u32;
        let others = self.entries.iter().filter(|entry| !flips.contains(&entry.0));
        ShareRow {
            defaults: self.defaults.iter().map(|&(source, share)| (source, scaled(share))).collect(),
            entries: others.map(|&(flip, share)| (flip, scaled(share))).collect(),
        }
    }

    /// `π_f` of a flip, in multiples of `1/ONE`.
    pub fn share(&self, flip: Flip) -> u32 {
        match self.entries.binary_search_by_key(&flip, |entry| entry.0) {
            Ok(at) => self.entries[at].1,
            Err(_) => self.default_of(flip.node),
        }
    }
}

/// `1/count` in multiples of `1/ONE`, rounded up.
pub fn reciprocal(count: usize) -> u32 {
    let count = u32::try_from(count).unwrap_or(u32::MAX).max(1);
    ONE.div_ceil(count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_rounded_up() {
        assert_eq!([1, 2, 3].map(reciprocal), [ONE, ONE / 2, ONE / 3 + 1]);
    }
}
