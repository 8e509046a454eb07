//! The smallest margin of a class pair, from below and from above: the branch with the smallest bound is split first.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::rc::Rc;

use crate::ranges::backward::RangeBranch;
use crate::ranges::lines::UnitLines;
use crate::ranges::search::{BRANCH_STEPS, ROOT_STEPS, RangeSearch};

/// A branch that is to be searched. Ordered by its bound.
struct OpenBranch {
    /// Not above the margin of any of its perturbations.
    lower: f64,
    branch: RangeBranch,
    /// Lines to begin with.
    lines: Rc<UnitLines>,
}

impl PartialEq for OpenBranch {
    fn eq(&self, other: &OpenBranch) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for OpenBranch {}

impl PartialOrd for OpenBranch {
    fn partial_cmp(&self, other: &OpenBranch) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for OpenBranch {
    fn cmp(&self, other: &OpenBranch) -> Ordering {
        self.lower.total_cmp(&other.lower)
    }
}

impl RangeSearch<'_> {
    /// Raises `lower` and lowers `upper` until they are as close as the goal says. Is it reached?
    pub(crate) fn minimize(&mut self, lines: UnitLines) -> bool {
        let root = OpenBranch { lower: f64::NEG_INFINITY, branch: RangeBranch::default(), lines: Rc::new(lines) };
        let mut open = BinaryHeap::from([Reverse(root)]);
        let mut reached = true;
        while let Some(Reverse(next)) = open.pop() {
            if self.is_enough(next.lower) {
                // All others have larger bounds.
                self.lower = self.lower.min(next.lower);
                break;
            }
            let late = self.visited >= self.nodes || self.visited > 0 && self.pace.is_late();
            let steps = if self.visited == 0 { ROOT_STEPS } else { BRANCH_STEPS };
            let ascent = if late { None } else { self.close((*next.lines).clone(), &next.branch, steps).ok() };
            let Some(ascent) = ascent else {
                (self.lower, reached) = (self.lower.min(next.lower), false);
                break;
            };
            self.visited += 1;
            let mut lower = ascent.lower.max(next.lower);
            if !self.is_enough(lower) {
                // Nothing halts a search for a minimum.
                let _ = self.try_average(&ascent, &next.branch);
            }
            if self.is_enough(lower) {
                self.lower = self.lower.min(lower);
                continue;
            }
            match self.split(&ascent, &next.branch) {
                Some(parts) => {
                    let lines = Rc::new(ascent.lines);
                    for branch in [parts.one, parts.two] {
                        open.push(Reverse(OpenBranch { lower, branch, lines: lines.clone() }));
                    }
                }
                None => {
                    if let Ok((insisted, _)) = self.insist(ascent.lines, &next.branch) {
                        lower = lower.max(insisted);
                    }
                    reached &= self.is_enough(lower);
                    self.lower = self.lower.min(lower);
                }
            }
        }
        reached
    }
}
