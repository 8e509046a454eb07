//! The search of one class pair of a target: branch and price, with column generation in every branch.

use crate::bound::mixture::add_changes;
use crate::bound::prepared::Prepared;
use crate::bound::workspace::Workspace;
use crate::number::rounding::Enclosure;
use crate::problem::budget::Decided;
use crate::problem::flip::Flip;
use crate::proof::leaf::leaf;

use super::branch_bounds::BranchBounds;
use super::limits::{Clock, Limits};
use super::master::Suggestion;
use super::pair::{Pair, Pairs};
use super::trace::Trace;
use super::tree::{self, Branch, Examiner, Finding, Goal, Outcome};

/// Flips that a new master starts with, beyond those that the budget allows at once.
const POOL: usize = 12;

/// What a search has cost.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cost {
    /// Tree nodes.
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
pub(crate) struct Quest {
    pub(crate) goal: Goal,
    pub(crate) limits: Limits,
    pub(crate) clock: Clock,
    /// Is a proof to be kept?
    pub(crate) proofs: bool,
}

/// The state of one pair's search.
pub(super) struct PairSearch<'a, 'p> {
    pub(super) prepared: &'a Prepared,
    pub(super) goal: Goal,
    /// The end of the search.
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
    /// Flips that have mattered, the latest last.
    pool: Vec<Flip>,
    pub(super) masters: usize,
    /// Of the last branch with fixed flips: siblings by a unit's sign share it.
    pub(super) bounds: Option<BranchBounds>,
    /// Kept where a proof is asked for and not there yet.
    pub(super) trace: Option<Trace>,
}

/// What is found about a branch without perturbations.
const EMPTY: Finding = Finding::Closed { bound: f64::INFINITY, proved: true };

/// What is found about a branch that there was no time for.
const GIVEN_UP: Finding = Finding::Closed { bound: f64::NEG_INFINITY, proved: false };

/// Searches pair `at` of the workspace's target until its worst-case margin is decided (or found), raising its lower
/// bound and improving its attack, and those of the other pairs where a perturbation happens to.
pub(crate) fn search_pair(
    prepared: &Prepared,
    at: usize,
    quest: Quest,
    pairs: &mut Pairs,
    workspace: &mut Workspace,
) -> Cost {
    let Quest { goal, limits, clock, proofs } = quest;
    if goal != Goal::Decide {
        pairs.settle(at, workspace);
    }
    let objective = pairs.objective(at);
    workspace.backward.run(prepared.network(), &workspace.slice, prepared.activation_bounds(), &objective);
    let (size, pool) = (pairs[at].size(), pairs[at].attack.flips.clone());
    let trace = (proofs && pairs[at].proof.is_err()).then(|| Trace::new(pairs[at].goal()));
    let mut search = PairSearch {
        prepared,
        goal,
        clock: clock.clone(),
        at,
        pairs,
        workspace,
        size,
        last: Enclosure { value: f64::NEG_INFINITY, error: 0.0 },
        kept: 0,
        pool,
        masters: 0,
        bounds: None,
        trace,
    };
    let Outcome { lower, open, nodes, gave_up } = tree::search(&limits, &clock, &mut search);
    let PairSearch { pairs, workspace, trace, masters, .. } = search;
    if let Some(trace) = trace {
        pairs[at].proof = trace.proof(|l, unit| {
            let width = prepared.network().width(l).max(1);
            (workspace.slice.nodes(l)[unit / width], (unit % width) as u32)
        });
    }
    if goal != Goal::Decide {
        pairs.settle(at, workspace);
    }
    let pair = &mut pairs[at];
    // The best perturbation lies in some branch, so that no bound of all of them exceeds its margin. Where the minimum is searched for, what was closed with a
    // proof is only known not to be below that margin.
    let lower = match goal {
        Goal::Decide => lower,
        Goal::Minimize { .. } => open.min(pair.attack.lower()),
    };
    if lower > pair.searched {
        pair.searched = lower;
    }
    let number = pair.goal();
    if open > number && !pair.is_broken() {
        pair.exceeded = pair.exceeded.max(number);
    }
    pair.minimized |= goal != Goal::Decide && open >= pair.attack.margin.upper();
    Cost { nodes, masters, split: nodes > 1, gave_up }
}

impl Examiner for PairSearch<'_, '_> {
    /// Bounds a branch, tries what it finds on the true network, and says where to split.
    fn examine(&mut self, branch: &Branch) -> Finding {
        let prepared = self.prepared;
        let budget = prepared.budget();
        if !branch.decided.admissible(budget) {
            self.close(branch);
            return EMPTY;
        }
        let made = self.pairs.try_flips(self.at, branch.decided.flipped.clone(), self.workspace);
        let global = branch.decided.global(budget).unwrap_or(0);
        let local = |n: &u32| branch.decided.local(budget, *n).unwrap_or(0);
        if global == 0 || self.workspace.slice.nodes(1).iter().all(|n| local(n) == 0) {
            // A single perturbation is left, and it has just been evaluated.
            return self.single(branch, made);
        }
        let found = if let Some(flip) = self.follow_attack(branch) {
            self.split_on(branch, branch.bound, flip)
        } else {
            match self.anchor(branch) {
                Some(true) => self.price(branch, made, global),
                Some(false) => {
                    self.close(branch);
                    return EMPTY;
                }
                None => return GIVEN_UP,
            }
        };
        if let (Finding::Open { split, .. }, Some(trace)) = (&found, &mut self.trace) {
            trace.split(branch, *split);
        }
        found
    }

    fn is_enough(&self, lower: f64) -> bool {
        self.settled(lower)
    }
}

impl PairSearch<'_, '_> {
    /// The pair.
    pub(super) fn pair(&self) -> &Pair {
        &self.pairs[self.at]
    }

    /// What a lower bound must reach so that the search is over, or a branch closed.
    pub(super) fn cutoff(&self) -> f64 {
        let pair = self.pair();
        let upper = pair.attack.margin.upper();
        match self.goal {
            Goal::Decide => pair.goal().next_up(),
            // The sign is decided whatever the gap.
            Goal::Minimize { gap } if gap > 0.0 => {
                let reached = upper - gap * pair.size();
                if pair.is_broken() { reached } else { reached.max(pair.goal().next_up()) }
            }
            // Below zero, what exceeds the aim is enough.
            Goal::Minimize { .. } if pair.goal() < 0.0 => upper.min(pair.goal().next_up()),
            // The float that is the next above the exact margin: no float lies between.
            Goal::Minimize { .. } => upper,
        }
    }

    /// Has an attack made the search idle?
    pub(super) fn is_idle(&self) -> bool {
        self.goal == Goal::Decide && self.pair().is_broken()
    }

    /// Is a bound on everything, or on all of a branch, good enough, or has an attack made the search idle?
    pub(super) fn settled(&self, bound: f64) -> bool {
        bound >= self.cutoff() || self.is_idle()
    }

    /// A branch with a bound that is good enough, or that an attack has made idle.
    pub(super) fn closed(&self, bound: f64) -> Finding {
        let needed = match self.goal {
            Goal::Decide => self.pair().goal().next_up(),
            Goal::Minimize { .. } => self.pair().attack.margin.upper(),
        };
        Finding::Closed { bound, proved: bound >= needed }
    }

    /// For the proof: the branch is empty, or a single perturbation whose margin is large enough. The format's default leaf
    /// shows either.
    fn close(&mut self, branch: &Branch) {
        if let Some(trace) = &mut self.trace {
            trace.close(branch, Default::default());
        }
    }

    /// For the proof: these multipliers give the branch a bound that is large enough.
    pub(super) fn write_down(&mut self, branch: &Branch, class: usize, weights: &[f64]) {
        if let Some(trace) = self.trace.as_mut().filter(|trace| trace.wants(branch)) {
            let objective = [(self.pairs.reference, 1.0), (class, -1.0)];
            let deep = self.prepared.network().depth() > 3;
            let omega = if deep { self.workspace.multipliers.played.clone() } else { Vec::new() };
            let aim = (&objective[..], self.pairs[self.at].goal());
            let leaf = leaf(self.prepared, aim, Some(&branch.decided), weights, &omega, self.workspace);
            trace.close(branch, leaf);
        }
    }

    /// The only perturbation of a branch: the flips that it has made, with their margin.
    pub(super) fn single(&mut self, branch: &Branch, made: Enclosure) -> Finding {
        // It may not have been compared with the best one known.
        if self.workspace.watch.was_late() {
            return GIVEN_UP;
        }
        // Large enough or not, the checker can tell: nothing is relaxed.
        self.close(branch);
        if self.goal != Goal::Decide {
            // It has been compared with the best one known.
            return Finding::Closed { bound: made.lower(), proved: true };
        }
        let (bound, proved) = self.pairs.decided(self.at, made, &branch.decided.flipped, self.workspace);
        Finding::Closed { bound, proved }
    }

    /// Multipliers on trial: the bound that they give over all flips, and the flips that attain it. What is found by the way is
    /// tried on the true network, and kept for the proof.
    pub(super) fn try_multipliers(&mut self, branch: &Branch, suggestion: &Suggestion) -> (f64, Vec<Flip>) {
        let prepared = self.prepared;
        self.masters += 1;
        let Workspace { backward, relaxed, hidden, .. } = &mut *self.workspace;
        relaxed.mixed(backward, hidden, &suggestion.weights);
        self.last = prepared.worst(self.workspace, &branch.decided);
        let bound = self.last.lower();
        let selected: Vec<Flip> = self.workspace.selection.flips().iter().map(|loss| loss.flip).collect();
        let attack: Vec<Flip> = branch.decided.flipped.iter().chain(&selected).copied().collect();
        self.pairs.try_flips(self.at, attack, self.workspace);
        self.round_to_attack(branch, suggestion);
        if bound > self.pair().goal() {
            self.write_down(branch, self.pair().class, &suggestion.weights);
        }
        (bound, selected)
    }

    /// A difference that is none, between bounds of this size.
    pub(super) fn close_to(&self, bound: f64) -> f64 {
        1e-10 * (self.size.min(1.0) + bound.abs())
    }

    /// The flips that a master starts with: so many of those that have mattered, and some more, the latest first.
    pub(super) fn latest(&self, count: usize, decided: &Decided) -> Vec<Flip> {
        let latest = self.pool.iter().rev().take(count.saturating_add(POOL)).copied();
        latest.filter(|flip| !decided.fixes(*flip)).collect()
    }

    /// The latest flips are the most useful ones.
    pub(super) fn remember(&mut self, flip: Flip) {
        self.pool.retain(|known| *known != flip);
        self.pool.push(flip);
    }

    /// The relaxed attacker's point, rounded to whole flips.
    pub(super) fn round_to_attack(&mut self, branch: &Branch, suggestion: &Suggestion) {
        let budget = self.prepared.budget();
        let mut shares = suggestion.flips.clone();
        shares.sort_by(|x, y| y.1.total_cmp(&x.1).then(x.0.cmp(&y.0)));
        let mut attack = Decided { flipped: branch.decided.flipped.clone(), kept: Vec::new() };
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

/// What shares of flips do to every unit: to its input, and to its capped bound.
pub(crate) fn point(prepared: &Prepared, flips: &[(Flip, f64)], workspace: &Workspace) -> (Vec<f64>, Vec<f64>) {
    let Workspace { hidden, slice, .. } = workspace;
    let (mut change, mut capped) = (vec![0.0; hidden.count()], vec![0.0; hidden.count()]);
    let shares = flips.iter().copied();
    add_changes(prepared.graph(), prepared.network(), slice, hidden, shares, &mut change, &mut capped);
    (change, capped)
}
