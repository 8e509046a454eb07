//! All perturbations of a target, one by one, where there are few: no bound is as fast, and none as tight.

use gcnproof_check::format::Step;

use crate::bound::prepared::Prepared;
use crate::bound::workspace::Workspace;
use crate::number::rounding::Enclosure;
use crate::problem::budget::Decided;
use crate::problem::flip::Flip;
use crate::problem::matrix::PatternRows;
use crate::proof::PairProof;

use super::pair::{Pairs, difference};

/// The flips of the workspace's target that the budget permits, if they have at most `most` admissible sets. Sets with
/// too many flips of a row are counted as well.
pub(crate) fn few_flips(prepared: &Prepared, workspace: &Workspace, most: usize) -> Option<Vec<Flip>> {
    let (graph, budget) = (prepared.graph(), prepared.budget());
    let mut flips = Vec::new();
    for &node in workspace.slice.nodes(1) {
        for attribute in 0..graph.attribute_count() as u32 {
            let present = graph.attributes().contains(node as usize, attribute);
            if budget.permits(node as usize, attribute as usize, present) {
                flips.push(Flip { node, attribute });
            }
        }
        if !are_few(flips.len(), budget.global(), most) {
            return None;
        }
    }
    Some(flips)
}

/// Are there at most `most` sets of at most `global` of so many flips? The binomial coefficients of `free` over 0, 1,
/// …, `global`, added up.
pub(super) fn are_few(free: usize, global: usize, most: usize) -> bool {
    let (mut ways, mut total) = (1usize, 1usize);
    if most == 0 {
        return false;
    }
    for made in 1..=global.min(free) {
        ways = ways.saturating_mul(free + 1 - made) / made;
        total = total.saturating_add(ways);
        if total > most {
            return false;
        }
    }
    true
}

/// Tries all admissible sets of these flips on the true network, until one of them breaks a pair or the deadline has
/// passed. If neither happens, all pairs are settled: the sign of every margin is known in exact arithmetic. Where
/// `proofs` are asked for, those that no bound has are trees whose leaves are single sets.
pub(crate) fn try_all(prepared: &Prepared, flips: &[Flip], proofs: bool, pairs: &mut Pairs, workspace: &mut Workspace) {
    let lower = vec![f64::INFINITY; pairs.len()];
    let mut listing = Listing { prepared, flips, pairs, workspace, lower, made: Decided::default() };
    if listing.visit(0) {
        let mut tree = Vec::new();
        if proofs && listing.pairs.iter().any(|pair| pair.proof.is_err()) {
            listing.grow(0, &mut tree);
        }
        let Listing { lower, pairs, .. } = listing;
        pairs.listed = true;
        for (pair, lower) in pairs.iter_mut().zip(lower) {
            pair.searched = pair.searched.max(lower);
            pair.exceeded = pair.exceeded.max(0.0);
            if proofs && pair.proof.is_err() {
                pair.proof = Ok(PairProof(tree.clone()));
            }
        }
    }
}

struct Listing<'l, 'p> {
    prepared: &'l Prepared,
    flips: &'l [Flip],
    pairs: &'l mut Pairs<'p>,
    workspace: &'l mut Workspace,
    /// The smallest margin of each pair so far, rounded down.
    lower: Vec<f64>,
    made: Decided,
}

impl Listing<'_, '_> {
    /// Looks at the present set, and at all that add flips from `first` on. False if that ends early.
    fn visit(&mut self, first: usize) -> bool {
        if !self.look() {
            return false;
        }
        let mut after = first;
        while let Some(at) = self.next(after) {
            after = at + 1;
            self.made.flipped.push(self.flips[at]);
            let whole = self.visit(after);
            self.made.flipped.pop();
            if !whole {
                return false;
            }
        }
        true
    }

    /// The next flip from `first` on that the present set leaves room for.
    fn next(&self, first: usize) -> Option<usize> {
        let budget = self.prepared.budget();
        let room = |flip: Flip| self.made.local(budget, flip.node) != Some(0) && !self.made.fixes(budget, flip);
        let left = self.made.flipped.len() < budget.global();
        (first..self.flips.len()).find(|&at| left && room(self.flips[at]))
    }

    /// The tree of all sets that add flips from `first` on to the present one: splits, the side that spares a flip
    /// first, down to single sets, of which nothing is relaxed.
    fn grow(&mut self, first: usize, tree: &mut Vec<Step>) {
        let Some(at) = self.next(first) else {
            tree.push(Step::Leaf(Box::default()));
            return;
        };
        let flip = self.flips[at];
        tree.push(Step::Flip(flip.node, flip.attribute));
        self.grow(at + 1, tree);
        self.made.flipped.push(flip);
        self.grow(at + 1, tree);
        self.made.flipped.pop();
    }

    /// Evaluates the present set. False if it breaks a pair, or the deadline has passed.
    fn look(&mut self) -> bool {
        let Listing { prepared, pairs, workspace, lower, made, .. } = self;
        let logits: Vec<Enclosure> = prepared.logits(&made.flipped, workspace).collect();
        let margin = |class: usize| difference(logits[pairs.reference], logits[class]).lower();
        let mut smaller = false;
        for (pair, lower) in pairs.iter().zip(lower) {
            let margin = margin(pair.class);
            // Of an overflow nothing is known.
            *lower = lower.min(if margin.is_nan() { f64::NEG_INFINITY } else { margin });
            let surely_larger = margin >= pair.attack.margin.upper();
            smaller |= !surely_larger;
        }
        if smaller {
            pairs.try_flips(0, made.flipped.clone(), workspace);
        }
        !pairs.any_broken() && !workspace.watch.is_late()
    }
}

#[cfg(test)]
mod tests {
    use super::are_few;

    #[test]
    fn sets_are_counted_up_to_the_budget() {
        assert!(are_few(4, 2, 11) && !are_few(4, 2, 10));
        assert!(are_few(4, 9, 16) && !are_few(4, 9, 15));
        assert!(are_few(1000, 0, 1) && !are_few(1000, 0, 0) && are_few(0, 5, 1));
        assert!(!are_few(usize::MAX - 1, 3, 1 << 20));
    }
}
