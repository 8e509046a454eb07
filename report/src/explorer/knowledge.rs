//! What is known of each node at every `Q`: up to which it is safe, from which on it is broken.
//!
//! A certificate for `Q` holds for every smaller one, and a witness of `k` flips for every `Q ≥ k`: two numbers say it
//! all.

use std::collections::BTreeMap;

use gcnproof::internals::certify::verdict::Verdict;

use crate::group::Group;

/// What is known of a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Known {
    /// The largest `Q` that is certified, if any is.
    pub certified: Option<u64>,
    /// The size of the smallest attack known.
    pub attacked: Option<u64>,
}

/// What is known of all nodes of a group.
#[derive(Clone, Debug, Default)]
pub struct Knowledge {
    nodes: BTreeMap<u64, Known>,
    /// Nothing above this `Q` was asked; `None` if no run says its `Q`.
    pub limit: Option<u64>,
    /// The `Q` of the verdicts, where a page begins.
    pub start: Option<u64>,
}

impl Knowledge {
    /// Everything that the runs of a group say.
    pub fn new(group: &Group) -> Knowledge {
        let mut all = Knowledge::default();
        for radii in &group.radii {
            all.limit = all.limit.max(Some(radii.limit));
            for row in &radii.rows {
                all.learn(row.node, row.certified, row.attacked);
            }
        }
        for verdicts in &group.verdicts {
            all.limit = all.limit.max(verdicts.global);
            for row in &verdicts.rows {
                let certified = verdicts.global.filter(|_| row.verdict == Verdict::Robust);
                let attacked = (row.verdict == Verdict::NonRobust).then(|| row.witness.cost());
                all.learn(row.node, certified, attacked);
            }
        }
        all.start = group.headline().and_then(|verdicts| verdicts.global).or(all.limit);
        all
    }

    fn learn(&mut self, node: u64, certified: Option<u64>, attacked: Option<u64>) {
        let known = self.nodes.entry(node).or_default();
        known.certified = known.certified.max(certified);
        known.attacked = [known.attacked, attacked].into_iter().flatten().min();
    }

    /// What is known of a node.
    pub fn of(&self, node: u64) -> Known {
        self.nodes.get(&node).copied().unwrap_or_default()
    }

    /// The verdict on a node at a `Q`.
    pub fn verdict(&self, node: u64, global: u64) -> Verdict {
        match self.of(node) {
            known if known.attacked.is_some_and(|size| size <= global) => Verdict::NonRobust,
            known if known.certified.is_some_and(|most| most >= global) => Verdict::Robust,
            _ => Verdict::Undecided,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_numbers_give_the_verdict_at_every_q() {
        let mut all = Knowledge::default();
        all.learn(3, Some(2), None);
        all.learn(3, None, Some(7));
        all.learn(3, Some(4), Some(9));
        assert_eq!(all.of(3), Known { certified: Some(4), attacked: Some(7) });
        let verdicts: Vec<Verdict> = (0..9).map(|q| all.verdict(3, q)).collect();
        assert!(verdicts[..5].iter().all(|v| *v == Verdict::Robust));
        assert!(verdicts[5..7].iter().all(|v| *v == Verdict::Undecided));
        assert!(verdicts[7..].iter().all(|v| *v == Verdict::NonRobust));
        assert_eq!(all.verdict(99, 0), Verdict::Undecided);
    }
}
