//! Minimal witnesses: no change of a witness can be left out. Steps that look for the smallest margin use the whole
//! budget; what they find is cut down here, and every shorter witness is replayed as the first one was.

use std::cmp::Ordering;

use crate::bound::workspace::Workspace;
use crate::certify::certifier::Certifier;
use crate::certify::deployed_verdict::DeployedVerdict;
use crate::certify::deployment::witness;
use crate::certify::verdict::{NodeResult, Reason, Verdict};
use crate::number::rounding::Enclosure;
use crate::problem::flip::Flip;
pub(crate) use crate::problem::minimal::minimal;
use crate::search::pair::{Pairs, difference, sorted};

impl Certifier {
    /// Leaves out of a witness what it does not need. It stays one of its kind: a negative margin stays negative, a tie
    /// stays a tie, and one that fools every execution of the deployed network still does. The workspace has the slice
    /// of the target.
    pub(super) fn shorten(&self, result: &mut NodeResult, pairs: &Pairs, workspace: &mut Workspace) {
        if result.verdict != Verdict::NonRobust || result.witness.is_empty() {
            return;
        }
        let deployed = result.deployed.as_ref().is_some_and(|deployed| deployed.verdict == DeployedVerdict::NonRobust);
        let wanted = if result.reason == Reason::Tie { Ordering::Equal } else { Ordering::Less };
        let changes = self.most_harmful_first(&result.witness, pairs, workspace);
        let breaks = |flips: &[Flip]| match deployed {
            true => self.fools(flips, pairs, workspace),
            false => pairs.broken_by(flips, wanted, workspace),
        };
        // Exact margins are not evaluated after the deadline; the witness then stays as it is.
        let Some((flips, class)) = minimal(&changes, breaks) else { return };
        result.witness = sorted(flips);
        if result.evidence.as_ref().is_some_and(|evidence| evidence.claim.is_ok()) {
            result.evidence = Some(witness(class, &result.witness));
        }
    }

    /// Flips by the margin that each leaves by itself, over the class that comes closest under all of them.
    fn most_harmful_first(&self, flips: &[Flip], pairs: &Pairs, workspace: &mut Workspace) -> Vec<Flip> {
        let mut margins = |flips: &[Flip]| -> Vec<f64> {
            let logits: Vec<Enclosure> = self.prepared.logits(flips, workspace).collect();
            pairs.iter().map(|pair| difference(logits[pairs.reference], logits[pair.class]).value).collect()
        };
        let all = margins(flips);
        let closest = (0..all.len()).min_by(|&x, &y| all[x].total_cmp(&all[y])).unwrap_or(0);
        let mut alone: Vec<(f64, Flip)> = flips.iter().map(|&flip| (margins(&[flip])[closest], flip)).collect();
        alone.sort_by(|x, y| x.0.total_cmp(&y.0).then(x.1.cmp(&y.1)));
        alone.into_iter().map(|(_, flip)| flip).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Changes are weights; they break something where their sum reaches a number.
    fn least(weights: &[i32], enough: i32) -> Option<Vec<i32>> {
        let breaks = |some: &[i32]| (some.iter().sum::<i32>() >= enough).then_some(());
        minimal(weights, breaks).map(|(kept, ())| kept)
    }

    #[test]
    fn nothing_is_left_that_could_be_left_out() {
        assert_eq!(least(&[9, 5, 3, 1], 9), Some(vec![9]));
        assert_eq!(least(&[5, 4, 3, 1], 9), Some(vec![5, 4]));
        assert_eq!(least(&[5, 3, 3, 3], 9), Some(vec![5, 3, 3]));
        assert_eq!(least(&[5, 4], 0), Some(vec![]));
        assert_eq!(least(&[5, 4], 10), None);
    }

    /// What is needed may depend on what is there: the first change is needless only without the last one.
    #[test]
    fn a_round_that_leaves_something_out_is_followed_by_another() {
        let breaks = |some: &[i32]| {
            let has = |n: i32| some.contains(&n);
            (has(2) && (has(1) || !has(3))).then_some(())
        };
        assert_eq!(minimal(&[3, 1, 2], breaks), Some((vec![2], ())));
    }
}
