//! The end of a search: what lies inside the rounding error of a bound is decided in exact arithmetic.
//!
//! A bound in f64 never reaches the exact minimum from below, however tight its relaxation is, and it says nothing about a
//! margin that is smaller than its error. In such a branch the lines are evaluated exactly. If that does not close it, it is
//! split on the flips of the best perturbation known: whoever leaves one of them out is usually far worse, and with all of
//! them made a single perturbation is left. So every search ends, and no verdict rests on a tolerance.

use crate::bound::backward::Located;
use crate::bound::exact::{First, Lines};
use crate::bound::workspace::Workspace;
use crate::number::dyadic::Dyadic;
use crate::problem::flip::Flip;

use super::pair_search::PairSearch;
use super::tree::{Branch, Finding, Goal, Split};

/// So many errors away from what is needed a bound may still be close to it: where rounding hides a sign, f64 takes slopes
/// that are worse than the exact ones by some errors.
const NEAR: f64 = 64.0;

/// The same relative to the size of margins, for what the masters leave of a gap.
const TIGHT: f64 = 1e-9;

impl PairSearch<'_, '_> {
    /// Does only rounding, or next to nothing, keep a bound from closing a branch? Nothing is known of an overflow.
    pub(super) fn is_near(&self, bound: f64) -> bool {
        let error = NEAR * self.last.error;
        let away = match self.goal {
            Goal::Decide => bound + error <= self.pair().goal() && self.last.value + error <= self.pair().goal(),
            Goal::Minimize { .. } => bound + error + TIGHT * self.size < self.pair().attack.margin.upper(),
        };
        !away
    }

    /// The first flip of the best perturbation that is left to be made in a branch that may contain it.
    fn next_of_attack(&self, branch: &Branch) -> Option<Flip> {
        let (fixed, flips) = (&branch.decided, &self.pair().attack.flips);
        let inside =
            fixed.flipped.iter().all(|flip| flips.contains(flip)) && !fixed.kept.iter().any(|f| flips.contains(f));
        flips.iter().copied().find(|flip| inside && !fixed.flipped.contains(flip))
    }

    /// Has the bound of a branch that contains the best perturbation come so near to it that no f64 gets nearer?
    pub(super) fn meets_attack(&self, branch: &Branch, bound: f64) -> bool {
        self.goal != Goal::Decide && self.is_near(bound) && self.next_of_attack(branch).is_some()
    }

    /// The flip to go on with where the parent's bound has already met the best perturbation.
    pub(super) fn follow_attack(&self, branch: &Branch) -> Option<Flip> {
        let inherited = branch.origin.is_some() && self.meets_attack(branch, branch.bound);
        if inherited { self.next_of_attack(branch) } else { None }
    }

    /// The branch is split on a flip; its children start with what it started with.
    pub(super) fn split_on(&self, branch: &Branch, bound: f64, flip: Flip) -> Finding {
        let near = branch.near.as_ref().map_or_else(Vec::new, |near| near.to_vec());
        Finding::Open { bound, split: Split::Flip(flip), near, envelope: branch.envelope.clone() }
    }

    /// Evaluates a branch exactly, if its bound is near enough, with the multipliers that gave the bound. Closes it, or splits it
    /// on a flip; `None` if it is not near, or if nothing came of it.
    pub(super) fn finish(&mut self, branch: &Branch, bound: f64, weights: &[f64]) -> Option<Finding> {
        if !self.is_near(bound) || self.clock.is_late() {
            return None;
        }
        if self.goal != Goal::Decide {
            self.pairs.settle(self.at, self.workspace);
        }
        if let Some(found) = self.all_but_one(branch, weights) {
            return Some(found);
        }
        let budget = self.prepared.budget();
        let global = branch.decided.global(budget).unwrap_or(0);
        let locals = self.workspace.slice.nodes(1).iter().map(|&n| branch.decided.local(budget, n).unwrap_or(0));
        // A proof has no lines for a single flip: there the search goes on to single perturbations.
        let single = global.min(locals.sum()) == 1 && self.trace.is_none();
        let mut flips = Vec::new();
        let tries: &[Option<&[f64]>] = if single { &[None] } else { &[Some(weights), None] };
        for &multipliers in tries {
            let Some((exact, selected)) = self.exact_bound(branch, (multipliers, single)) else {
                continue;
            };
            let exceeds = exact > Dyadic::from_f64(self.pair().goal());
            let closes = match (self.goal, &self.pair().attack.exact) {
                (Goal::Decide, _) => exceeds,
                (_, Some(best)) => exact >= *best,
                _ => false,
            };
            if closes {
                let class = self.pair().class;
                if exceeds {
                    self.write_exact(branch, class, multipliers);
                }
                return Some(Finding::Closed { bound: exact.floor_f64(), proved: true });
            }
            let attack: Vec<Flip> = branch.decided.flipped.iter().chain(&selected).copied().collect();
            self.pairs.try_flips(self.at, attack, self.workspace);
            if self.is_idle() {
                return Some(self.closed(bound));
            }
            if self.goal != Goal::Decide {
                self.pairs.settle(self.at, self.workspace);
            }
            flips = selected;
        }
        let flip = self.next_of_attack(branch).or(flips.first().copied())?;
        let near = weights.iter().map(|w| *w > 0.5).collect();
        Some(Finding::Open { bound, split: Split::Flip(flip), near, envelope: self.passed_on(branch) })
    }

    /// Closes a branch whose bound is attained by a single perturbation, if that perturbation is not what the search is for, and
    /// if the bound of all others closes the branch. (A proof has no such step.) See docs/math.md (12.2).
    fn all_but_one(&mut self, branch: &Branch, weights: &[f64]) -> Option<Finding> {
        if self.trace.is_some() {
            return None;
        }
        let Workspace { backward, relaxed, hidden, .. } = &mut *self.workspace;
        relaxed.mixed(backward, hidden, weights);
        let bound = self.prepared.worst(self.workspace, &branch.decided).lower();
        let selected = self.workspace.selection.flips().iter().map(|loss| loss.flip);
        let one: Vec<Flip> = branch.decided.flipped.iter().copied().chain(selected).collect();
        let margin = self.pairs.try_flips(self.at, one.clone(), self.workspace);
        let enough = self.cutoff();
        let others = self.prepared.worst_of_others(self.workspace, &branch.decided, enough)?;
        // The one may not have been compared with the best one known.
        if self.workspace.watch.was_late() {
            return None;
        }
        let pair = self.pair();
        if self.goal != Goal::Decide {
            // The one has been compared with the best one known.
            let bound = others.min(pair.attack.lower());
            return Some(Finding::Closed { bound, proved: others >= pair.attack.margin.upper() });
        }
        let (_, exceeds) = self.pairs.decided(self.at, margin, &one, self.workspace);
        exceeds.then_some(Finding::Closed { bound, proved: true })
    }

    /// The exact bound of a branch with given multipliers of representation 2, or with lines that are exact at the anchor
    /// (docs/math.md (12.1) where a single flip is left).
    fn exact_bound(
        &mut self,
        branch: &Branch,
        (weights, single): (Option<&[f64]>, bool),
    ) -> Option<(Dyadic, Vec<Flip>)> {
        let Workspace { slice, hidden, local_bounds, multipliers, selection, exact, watch, .. } = &mut *self.workspace;
        let hint: Vec<Flip> = selection.flips().iter().map(|loss| loss.flip).collect();
        let deep = self.prepared.network().depth() > 3;
        let lines = Lines {
            decided: &branch.decided,
            bounds: Located::Slice(local_bounds),
            first: match weights {
                _ if single => First::Itself(hidden),
                Some(weights) => First::Mixed(hidden, weights),
                None => First::Anchor(hidden),
            },
            omega: if deep { &multipliers.played } else { &[] },
            signs: if deep { &multipliers.signs } else { &[] },
            hint: &hint,
        };
        let objective = self.pairs.objective(self.at);
        self.prepared.exact(slice, exact).until(watch).lower_bound(self.prepared.budget(), &objective, &lines)
    }

    /// For the proof: the branch was closed exactly, and without envelopes.
    fn write_exact(&mut self, branch: &Branch, class: usize, weights: Option<&[f64]>) {
        if self.trace.is_none() {
            return;
        }
        let weights = match weights {
            Some(weights) => weights.to_vec(),
            None => {
                self.workspace.multipliers.anchored(&self.workspace.hidden, &self.workspace.backward);
                self.workspace.multipliers.weights.clone()
            }
        };
        let envelope = self.workspace.hidden.envelope.take();
        self.write_down(branch, class, &weights);
        self.workspace.hidden.envelope = envelope;
    }
}
