//! The state of the search of one class pair of a target, and what its steps ask of it.

use crate::bound::layer_bounds::LayerBounds;
use crate::bound::prepared::Prepared;
use crate::bound::workspace::Workspace;
use crate::number::rounding::Enclosure;
use crate::problem::budget::Decided;
use crate::problem::flip::Flip;
use crate::problem::rows::Move;
use crate::proof::leaf::leaf;

use super::limits::{Clock, Limits};
use super::master::Suggestion;
use super::pair::{ClassPair, Pairs};
use super::trace::Trace;
use super::tree::{Branch, BranchResult, SearchGoal};

/// Flips that a new master starts with, beyond those that the budget allows at once.
const POOL: usize = 12;

/// So many errors away from what is needed a bound may still be close to it: where rounding hides a sign, f64 takes
/// slopes that are worse than the exact ones by some errors.
const NEAR: f64 = 64.0;

/// The same relative to the size of margins, for what the masters leave of a gap.
const TIGHT: f64 = 1e-9;

/// The effort that a search has taken.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cost {
    /// Nodes of the search tree that were evaluated.
    pub nodes: usize,
    /// Masters solved.
    pub masters: usize,
    /// Was any pair's root split?
    pub split: bool,
    /// Was a limit hit?
    pub gave_up: bool,
}

impl Cost {
    /// Adds what another pair has cost.
    pub fn add(&mut self, other: Cost) {
        self.nodes += other.nodes;
        self.masters += other.masters;
        self.split |= other.split;
        self.gave_up |= other.gave_up;
    }
}

/// What is searched for, and until when.
pub(crate) struct SearchTask {
    pub(crate) goal: SearchGoal,
    pub(crate) limits: Limits,
    pub(crate) clock: Clock,
    /// Is a proof to be kept?
    pub(crate) proofs: bool,
}

/// Bounds of the hidden units after some flips are fixed.
pub(super) struct BranchBounds {
    pub(super) decided: Decided,
    pub(super) bounds: LayerBounds,
}

/// The state of one pair's search.
pub(super) struct PairSearch<'a, 'p> {
    pub(super) prepared: &'a Prepared,
    pub(super) goal: SearchGoal,
    /// When the search must end.
    pub(super) clock: Clock,
    /// The pair among the pairs of the target.
    pub(super) at: usize,
    pub(super) pairs: &'a mut Pairs<'p>,
    pub(super) workspace: &'a mut Workspace,
    /// How large margins are here: tolerances that only steer the search are relative to it.
    pub(super) size: f64,
    /// The last bound evaluated, and its error.
    pub(super) last: Enclosure,
    /// Prices of envelopes that branches have passed on.
    pub(super) kept: usize,
    /// Moves that have mattered, the latest last.
    pub(super) pool: Vec<Move>,
    pub(super) masters: usize,
    /// Branches that were looked at.
    pub(super) branches: usize,
    /// Of the last branch with fixed flips: siblings by a unit's sign share it.
    pub(super) bounds: Option<BranchBounds>,
    /// None unless a proof is asked for and is not known yet.
    pub(super) trace: Option<Trace>,
}

/// What is found about a branch that there was no time for.
pub(super) const GIVEN_UP: BranchResult = BranchResult::Closed { bound: f64::NEG_INFINITY, proved: false };

impl PairSearch<'_, '_> {
    /// The class pair that is searched.
    pub(super) fn pair(&self) -> &ClassPair {
        &self.pairs[self.at]
    }

    /// What a lower bound must reach so that the search is over, or a branch closed.
    pub(super) fn cutoff(&self) -> f64 {
        let pair = self.pair();
        let upper = pair.attack.margin.upper();
        match self.goal {
            SearchGoal::Decide => pair.goal().next_up(),
            // The sign is decided whatever the gap.
            SearchGoal::Minimize { gap } if gap > 0.0 => {
                let reached = upper - gap * pair.size();
                if pair.is_broken() { reached } else { reached.max(pair.goal().next_up()) }
            }
            // Below zero, what exceeds the aim is enough.
            SearchGoal::Minimize { .. } if pair.goal() < 0.0 => upper.min(pair.goal().next_up()),
            // The float that is the next above the exact margin: no float lies between.
            SearchGoal::Minimize { .. } => upper,
        }
    }

    /// Has an attack made the search idle?
    pub(super) fn is_idle(&self) -> bool {
        self.goal == SearchGoal::Decide && self.pair().is_broken()
    }

    /// Is a bound on everything, or on all of a branch, good enough, or has an attack made the search idle?
    pub(super) fn settled(&self, bound: f64) -> bool {
        bound >= self.cutoff() || self.is_idle()
    }

    /// A branch with a bound that is good enough, or that an attack has made idle.
    pub(super) fn closed(&self, bound: f64) -> BranchResult {
        let needed = match self.goal {
            SearchGoal::Decide => self.pair().goal().next_up(),
            SearchGoal::Minimize { .. } => self.pair().attack.margin.upper(),
        };
        BranchResult::Closed { bound, proved: bound >= needed }
    }

    /// Does only rounding, or next to nothing, keep a bound from closing a branch? Nothing is known of an overflow.
    pub(super) fn is_near(&self, bound: f64) -> bool {
        let error = NEAR * self.last.error;
        let away = match self.goal {
            SearchGoal::Decide => bound + error <= self.pair().goal() && self.last.value + error <= self.pair().goal(),
            SearchGoal::Minimize { .. } => bound + error + TIGHT * self.size < self.pair().attack.margin.upper(),
        };
        !away
    }

    /// The first flip of the best perturbation that is left to be made in a branch that may contain it.
    pub(super) fn next_of_attack(&self, branch: &Branch) -> Option<Flip> {
        let (fixed, flips) = (&branch.decided, &self.pair().attack.flips);
        let inside = fixed.contains(flips);
        flips.iter().copied().find(|flip| inside && !fixed.flipped.contains(flip))
    }

    /// Has the bound of a branch that contains the best perturbation come so near to it that no f64 gets nearer?
    pub(super) fn meets_attack(&self, branch: &Branch, bound: f64) -> bool {
        self.goal != SearchGoal::Decide && self.is_near(bound) && self.next_of_attack(branch).is_some()
    }

    /// For the proof: the branch is empty, or a single perturbation whose margin is large enough. The format's default
    /// leaf shows either.
    pub(super) fn record_default_leaf(&mut self, branch: &Branch) {
        if let Some(trace) = &mut self.trace {
            trace.close(branch, Default::default());
        }
    }

    /// For the proof: these multipliers give the branch a bound that is large enough.
    pub(super) fn record_leaf(&mut self, branch: &Branch, class: usize, weights: &[f64]) {
        if let Some(trace) = self.trace.as_mut().filter(|trace| trace.wants(branch)) {
            let objective = [(self.pairs.reference, 1.0), (class, -1.0)];
            let deep = self.prepared.network().depth() > 3;
            let omega = if deep { self.workspace.multipliers.last_omega.clone() } else { Vec::new() };
            let enough = self.pairs[self.at].goal();
            let leaf = leaf(self.prepared, &objective, enough, Some(&branch.decided), weights, &omega, self.workspace);
            trace.close(branch, leaf);
        }
    }

    /// The only perturbation of a branch: the flips that it has made, with their margin.
    pub(super) fn single(&mut self, branch: &Branch, made: Enclosure) -> BranchResult {
        // It may not have been compared with the best one known.
        if self.workspace.watch.was_late() {
            return GIVEN_UP;
        }
        // Large enough or not, the checker can tell: nothing is relaxed.
        self.record_default_leaf(branch);
        if self.goal != SearchGoal::Decide {
            // It has been compared with the best one known.
            return BranchResult::Closed { bound: made.lower(), proved: true };
        }
        let (bound, proved) = self.pairs.decided(self.at, made, &branch.decided.flipped, self.workspace);
        BranchResult::Closed { bound, proved }
    }

    /// Evaluates suggested multipliers: the bound that they give over all flips, and the flips that attain it. These
    /// flips and the master's fractional attack, rounded, are tried on the true network; a bound that is large enough
    /// is recorded for the proof.
    pub(super) fn try_multipliers(&mut self, branch: &Branch, suggestion: &Suggestion) -> (f64, Vec<Move>) {
        let prepared = self.prepared;
        self.masters += 1;
        prepared.mix(&suggestion.weights, self.workspace);
        self.last = prepared.worst(self.workspace, &branch.decided);
        let bound = self.last.lower();
        let selected: Vec<Flip> = self.workspace.selection.flips().iter().map(|loss| loss.flip).collect();
        let moves = self.workspace.selection.moves(prepared.graph());
        let attack: Vec<Flip> = branch.decided.flipped.iter().chain(&selected).copied().collect();
        self.pairs.try_flips(self.at, attack, self.workspace);
        self.round_to_attack(branch, suggestion);
        if bound > self.pair().goal() {
            self.record_leaf(branch, self.pair().class, &suggestion.weights);
        }
        (bound, moves)
    }

    /// A difference that is none, between bounds of this size.
    pub(super) fn close_to(&self, bound: f64) -> f64 {
        1e-10 * (self.size.min(1.0) + bound.abs())
    }

    /// The columns that a master starts with: the latest moves of the pool, `count` and a few more, that may still be
    /// made.
    pub(super) fn latest(&self, count: usize, decided: &Decided) -> Vec<Move> {
        let budget = self.prepared.budget();
        let latest = self.pool.iter().rev().take(count.saturating_add(POOL));
        let fits = |column: &&Move| {
            let local = || decided.local(budget, column.node()).unwrap_or(0).min(count);
            !column.flips().any(|flip| decided.fixes(budget, flip))
                && (column.cost() == 1 || column.cost() <= local())
                && decided.allows(column.node(), column.counts(self.prepared.graph()))
        };
        latest.filter(fits).cloned().collect()
    }

    /// The latest moves are the most useful ones.
    pub(super) fn remember(&mut self, column: &Move) {
        self.pool.retain(|known| known != column);
        self.pool.push(column.clone());
    }

    /// Remembers what the relaxed attacker makes.
    pub(super) fn remember_made(&mut self, suggestion: &Suggestion) {
        suggestion.moves.iter().filter(|made| made.1 > 0.0).for_each(|(column, _)| self.remember(column));
        if suggestion.moves.is_empty() {
            suggestion.flips.iter().filter(|made| made.1 > 0.0).for_each(|&(flip, _)| self.remember(&flip.into()));
        }
    }

    /// The relaxed attacker's point, rounded to whole flips.
    pub(super) fn round_to_attack(&mut self, branch: &Branch, suggestion: &Suggestion) {
        let budget = self.prepared.budget();
        let mut shares = suggestion.flips.clone();
        shares.sort_by(|x, y| y.1.total_cmp(&x.1).then(x.0.cmp(&y.0)));
        let mut attack = Decided { flipped: branch.decided.flipped.clone(), ..Decided::default() };
        for (flip, share) in shares {
            if share < 1e-3 || attack.global(budget).is_none_or(|left| left == 0) {
                break;
            }
            if attack.local(budget, flip.node).is_some_and(|left| left > 0) {
                attack.flipped.push(flip);
            }
        }
        self.pairs.try_flips(self.at, attack.flipped, self.workspace);
    }
}
