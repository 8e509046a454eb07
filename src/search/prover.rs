//! The prover: column generation and branch and price for the class pairs of one target.

use std::cmp::Ordering;
use std::time::Instant;

use crate::budget::Restriction;
use crate::cascade::Pair;
use crate::certifier::{Certifier, Workspace};
use crate::mixture::add_changes;
use crate::rounding::Enclosure;
use crate::selection::Flip;

use super::arches::arched;
use super::ground::Ground;
use super::master::{Envelopes, Lines, Master, SimplexMaster, Suggestion};
use super::trace::Trace;
use super::tree::{self, Branch, Clock, Finding, Goal, Limits, Outcome, Split};

/// Masters solved per tree node before it is split.
const MASTERS: usize = 30;

/// Flips that a new master starts with, beyond those that the budget allows at once.
const POOL: usize = 12;

/// Perturbations of a branch up to which they are tried one by one.
const FEW: usize = 2048;

/// Branches of a tree before that is considered.
const PATIENCE: usize = 64;

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

/// The state of one pair's search beside the workspace.
pub(super) struct Prover<'a, 'b> {
    pub(super) certifier: &'b Certifier<'a>,
    pub(super) reference: usize,
    pub(super) goal: Goal,
    /// The end of the search.
    pub(super) clock: Clock,
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
    pub(super) ground: Option<Ground>,
    /// Kept where a proof is asked for and not there yet.
    pub(super) trace: Option<Trace>,
}

/// What is found about a branch without perturbations.
const EMPTY: Finding = Finding::Closed { bound: f64::INFINITY, proved: true };

impl Certifier<'_> {
    /// Searches pair `at` of the workspace's target until its worst-case margin is decided (or found), raising its lower
    /// bound and improving its attack, and those of the other pairs where a perturbation happens to.
    pub(crate) fn prove_pair(
        &self,
        reference: usize,
        at: usize,
        pairs: &mut [Pair],
        workspace: &mut Workspace,
        (goal, limits, deadline): (Goal, &Limits, Option<Instant>),
    ) -> Cost {
        let objective = [(reference, 1.0), (pairs[at].class, -1.0)];
        if goal != Goal::Decide {
            self.settle_attack(reference, &mut pairs[at], workspace);
        }
        let mut prover = Prover {
            certifier: self,
            reference,
            goal,
            clock: Clock { deadline, stopped: self.stopped },
            size: pairs[at].size(),
            last: Enclosure { value: f64::NEG_INFINITY, error: 0.0 },
            kept: 0,
            pool: pairs[at].attack.flips.clone(),
            masters: 0,
            ground: None,
            trace: (self.proving && pairs[at].grounds.is_err()).then(Trace::default),
        };
        let clock = prover.clock;
        workspace.backward.run(self.gcn(), &workspace.slice, self.activation_bounds(), &objective);
        // Shared by the two closures: one examines while the other asks how far the attack has come.
        let state = std::cell::RefCell::new((pairs, workspace));
        let Outcome { lower, open, nodes, gave_up } = tree::search(
            limits,
            clock,
            |branch| {
                let (pairs, workspace) = &mut *state.borrow_mut();
                prover.examine(branch, at, pairs, workspace)
            },
            |lower| {
                let (pairs, _) = &*state.borrow();
                is_enough(goal, lower, &pairs[at])
            },
        );
        let (pairs, workspace) = state.into_inner();
        if let Some(trace) = prover.trace {
            pairs[at].grounds = trace.grounds(|l, unit| {
                let width = self.gcn().width(l).max(1);
                (workspace.slice.nodes(l)[unit / width], (unit % width) as u32)
            });
        }
        if goal != Goal::Decide {
            self.settle_attack(reference, &mut pairs[at], workspace);
        }
        let pair = &mut pairs[at];
        // Whatever was closed with a proof is not below the best perturbation, and no bound holds above that.
        let lower = match goal {
            Goal::Decide => lower.min(pair.attack.margin.upper()),
            Goal::Minimise { .. } => open.min(pair.attack.lower()),
        };
        if lower > pair.searched {
            pair.searched = lower;
        }
        pair.proved |= open > 0.0 && !pair.attack.succeeds();
        pair.minimised |= goal != Goal::Decide && open >= pair.attack.margin.upper();
        Cost { nodes, masters: prover.masters, split: nodes > 1, gave_up }
    }
}

/// What a lower bound must reach so that a search is over.
fn cutoff(goal: Goal, pair: &Pair) -> f64 {
    let upper = pair.attack.margin.upper();
    match goal {
        Goal::Decide => f64::from_bits(1),
        // The sign is decided whatever the gap.
        Goal::Minimise { gap } if gap > 0.0 => {
            let reached = upper - gap * pair.size();
            if pair.attack.succeeds() { reached } else { reached.max(f64::from_bits(1)) }
        }
        // The float that is the next above the exact margin: no float lies between.
        Goal::Minimise { .. } => upper,
    }
}

/// Is a lower bound on everything enough, or has an attack made the search idle?
fn is_enough(goal: Goal, lower: f64, pair: &Pair) -> bool {
    lower >= cutoff(goal, pair) || goal == Goal::Decide && pair.attack.succeeds()
}

impl Prover<'_, '_> {
    /// The value that a branch's bound must reach to be closed.
    pub(super) fn cutoff(&self, pair: &Pair) -> f64 {
        cutoff(self.goal, pair)
    }

    /// A branch with a bound that is good enough, or that an attack has made idle.
    pub(super) fn closed(&self, bound: f64, pair: &Pair) -> Finding {
        let needed = match self.goal {
            Goal::Decide => f64::from_bits(1),
            Goal::Minimise { .. } => pair.attack.margin.upper(),
        };
        Finding::Closed { bound, proved: bound >= needed }
    }

    /// Bounds a branch, tries what it finds on the true network, and says where to split.
    fn examine(&mut self, branch: &Branch, at: usize, pairs: &mut [Pair], workspace: &mut Workspace) -> Finding {
        let certifier = self.certifier;
        let budget = certifier.budget();
        if !branch.restriction.admissible(budget) {
            self.close(branch);
            return EMPTY;
        }
        let made = certifier.try_flips(self.reference, at, pairs, branch.restriction.made.clone(), workspace);
        let global = branch.restriction.global(budget).unwrap_or(0);
        let local = |n: &u32| branch.restriction.local(budget, *n).unwrap_or(0);
        if global == 0 || workspace.slice.nodes(1).iter().all(|n| local(n) == 0) {
            // A single perturbation is left, and it has just been evaluated.
            return self.single(branch, &pairs[at], made, workspace);
        }
        let found = if let Some(flip) = self.follow_attack(branch, &pairs[at]) {
            self.split_on(branch, branch.bound, flip)
        } else if self.anchor(branch, at, pairs, workspace) {
            self.price(branch, (at, made), global, pairs, workspace)
        } else {
            self.close(branch);
            return EMPTY;
        };
        if let (Finding::Open { split, .. }, Some(trace)) = (&found, &mut self.trace) {
            trace.split(branch, *split);
        }
        found
    }

    /// For the proof: the branch is empty, or a single perturbation with a positive margin. The format's default leaf
    /// shows either.
    fn close(&mut self, branch: &Branch) {
        if let Some(trace) = &mut self.trace {
            trace.close(branch, Default::default());
        }
    }

    /// For the proof: these multipliers give the branch a positive bound.
    pub(super) fn write_down(&mut self, branch: &Branch, class: usize, weights: &[f64], workspace: &mut Workspace) {
        if let Some(trace) = self.trace.as_mut().filter(|trace| trace.wants(branch)) {
            let objective = [(self.reference, 1.0), (class, -1.0)];
            let deep = self.certifier.gcn().depth() > 3;
            let omega = if deep { workspace.multipliers.played.clone() } else { Vec::new() };
            let leaf = self.certifier.leaf(&objective, Some(&branch.restriction), weights, &omega, workspace);
            trace.close(branch, leaf);
        }
    }

    /// The only perturbation of a branch: the flips that it has made, with their margin.
    pub(super) fn single(
        &mut self,
        branch: &Branch,
        pair: &Pair,
        made: Enclosure,
        workspace: &mut Workspace,
    ) -> Finding {
        // Positive or not, the checker can tell: nothing is relaxed.
        self.close(branch);
        if self.goal != Goal::Decide {
            // It has been compared with the best one known.
            return Finding::Closed { bound: made.lower(), proved: true };
        }
        let (bound, sign) =
            self.certifier.decided(self.reference, pair.class, made, &branch.restriction.made, workspace);
        Finding::Closed { bound, proved: sign == Ordering::Greater }
    }

    /// Column generation (math §6): masters suggest multipliers, one pass over all flips says what they are worth.
    fn price(
        &mut self,
        branch: &Branch,
        (at, made): (usize, Enclosure),
        global: usize,
        pairs: &mut [Pair],
        workspace: &mut Workspace,
    ) -> Finding {
        let certifier = self.certifier;
        let field = certifier.problem().field(&branch.restriction);
        if certifier.gcn().depth() > 3 {
            return self.price_layers(branch, (at, made), global, pairs, workspace);
        }
        let weight = &certifier.gcn().layers()[0].weight;
        let constant = workspace.backward.constant().close().value;
        let coefficients = workspace.backward.coefficients().0.to_vec();
        let start = branch.near.as_deref().filter(|near| !near.is_empty());
        let inherited = workspace.hidden.envelope.clone();
        let envelopes =
            Envelopes { known: inherited.as_ref().map(|(known, left)| (&**known, left)), ..Envelopes::default() };
        let mut master = SimplexMaster::new(
            weight,
            &workspace.hidden,
            (&coefficients, constant),
            global,
            start,
            Lines::Both,
            envelopes,
        );
        master.until(self.clock);
        let mut best = f64::NEG_INFINITY;
        for flip in self.latest(global, &branch.restriction) {
            master.add(&field, &workspace.slice, flip);
        }
        let mut suggestion;
        let mut round = 0;
        loop {
            suggestion = master.solve();
            round += 1;
            let (bound, selected) = self.try_multipliers(branch, at, &suggestion, pairs, workspace);
            best = best.max(bound);
            if self.settled(best, &pairs[at]) {
                return self.closed(best, &pairs[at]);
            }
            if self.meets_attack(branch, best, &pairs[at]) {
                break;
            }
            let new: Vec<Flip> = selected.into_iter().filter(|flip| !master.knows(*flip)).collect();
            // Both sides have met, or the relaxation's optimum is known not to close the branch.
            let decided = self.goal == Goal::Decide && !branch.units.is_empty() && suggestion.value <= 0.0;
            if new.is_empty() || decided || round >= MASTERS || suggestion.value - best <= self.close_to(best) {
                break;
            }
            for flip in new {
                self.remember(flip);
                master.add(&field, &workspace.slice, flip);
            }
        }
        for &(flip, share) in &suggestion.flips {
            if share > 0.0 {
                self.remember(flip);
            }
        }
        if !self.is_near(best, &pairs[at]) {
            best = self.arch(branch, at, (global, &coefficients), (best, &mut suggestion), (pairs, workspace));
        }
        if self.settled(best, &pairs[at]) {
            return self.closed(best, &pairs[at]);
        }
        if let Some(found) = self.finish(branch, at, (best, &suggestion.weights), pairs, workspace) {
            return found;
        }
        match self.choose_split(branch, &coefficients, &suggestion, workspace) {
            Some(split) => {
                let near = suggestion.weights.iter().map(|w| *w > 0.5).collect();
                Finding::Open { bound: best, split, near, envelope: self.passed_on(branch, workspace) }
            }
            // Nothing is left that changes anything: the branch is the single perturbation that it has made.
            None => self.single(branch, &pairs[at], made, workspace),
        }
    }

    /// Multipliers on trial: the bound that they give over all flips, and the flips that attain it. What is found by the way is
    /// tried on the true network, and kept for the proof.
    pub(super) fn try_multipliers(
        &mut self,
        branch: &Branch,
        at: usize,
        suggestion: &Suggestion,
        pairs: &mut [Pair],
        workspace: &mut Workspace,
    ) -> (f64, Vec<Flip>) {
        let certifier = self.certifier;
        self.masters += 1;
        let Workspace { backward, relaxed, hidden, .. } = workspace;
        relaxed.mixed(backward, hidden, &suggestion.weights);
        self.last = certifier.worst(workspace, &branch.restriction);
        let bound = self.last.lower();
        let selected: Vec<Flip> = workspace.selection.flips().iter().map(|loss| loss.flip).collect();
        let attack: Vec<Flip> = branch.restriction.made.iter().chain(&selected).copied().collect();
        certifier.try_flips(self.reference, at, pairs, attack, workspace);
        self.round_to_attack(branch, at, suggestion, pairs, workspace);
        if bound > 0.0 {
            self.write_down(branch, pairs[at].class, &suggestion.weights, workspace);
        }
        (bound, selected)
    }

    /// Is a bound on all of a branch good enough to close it, or has an attack made it idle?
    pub(super) fn settled(&self, bound: f64, pair: &Pair) -> bool {
        is_enough(self.goal, bound, pair)
    }

    /// A difference that is none, between bounds of this size.
    pub(super) fn close_to(&self, bound: f64) -> f64 {
        1e-10 * (self.size.min(1.0) + bound.abs())
    }

    /// The flips that a master starts with: so many of those that have mattered, and some more, the latest first.
    pub(super) fn latest(&self, count: usize, restriction: &Restriction) -> Vec<Flip> {
        let latest = self.pool.iter().rev().take(count.saturating_add(POOL)).copied();
        latest.filter(|flip| !restriction.fixes(*flip)).collect()
    }

    /// The latest flips are the most useful ones.
    pub(super) fn remember(&mut self, flip: Flip) {
        self.pool.retain(|known| *known != flip);
        self.pool.push(flip);
    }

    /// The relaxed attacker's point, rounded to whole flips.
    pub(super) fn round_to_attack(
        &self,
        branch: &Branch,
        at: usize,
        suggestion: &Suggestion,
        pairs: &mut [Pair],
        workspace: &mut Workspace,
    ) {
        let budget = self.certifier.budget();
        let mut shares = suggestion.flips.clone();
        shares.sort_by(|x, y| y.1.total_cmp(&x.1).then(x.0.cmp(&y.0)));
        let mut attack = Restriction { made: branch.restriction.made.clone(), spared: Vec::new() };
        for (flip, share) in shares {
            if share < 1e-3 || attack.global(budget).is_none_or(|left| left == 0) {
                break;
            }
            if attack.local(budget, flip.node).is_some_and(|left| left > 0) {
                attack.made.push(flip);
            }
        }
        self.certifier.try_flips(self.reference, at, pairs, attack.made, workspace);
    }

    /// On the unit whose relaxation is loosest at the relaxed attacker's point; where none is, on a flip made in part;
    /// and at last on any flip that is left.
    pub(super) fn choose_split(
        &self,
        branch: &Branch,
        coefficients: &[f64],
        suggestion: &Suggestion,
        workspace: &Workspace,
    ) -> Option<Split> {
        let Workspace { hidden, slice, selection, .. } = workspace;
        let (change, capped) = point(self.certifier, &suggestion.flips, workspace);
        let arched = arched(self.certifier, &suggestion.flips, workspace);
        let least = 1e-9 * self.size.min(1.0);
        let loosest = tree::loosest(hidden, coefficients, &change, &capped, &arched, least);
        let deep = self.certifier.gcn().depth() > 3;
        match loosest {
            Some((looseness, unit)) if looseness > least && !deep && !self.few_left(branch, workspace) => {
                return Some(Split::Unit(unit));
            }
            _ => {}
        }
        // Of an earlier branch, if this one was given up before its flips were priced.
        let mut selected = selection.flips().iter().map(|loss| loss.flip);
        let made = suggestion.flips.iter().max_by(|x, y| x.1.total_cmp(&y.1).then(y.0.cmp(&x.0)));
        tree::most_fractional(suggestion)
            .or(made.filter(|m| m.1 > 0.0).map(|m| m.0))
            .or_else(|| selected.find(|flip| !branch.restriction.fixes(*flip)))
            .or_else(|| self.any_flip(branch, slice.nodes(1)))
            .map(Split::Flip)
    }

    /// Are so few perturbations left in a branch that trying them one by one is shorter than splitting units?
    pub(super) fn few_left(&self, branch: &Branch, workspace: &Workspace) -> bool {
        let nodes = workspace.slice.nodes(1);
        // A tree that stays small is best split where its bound is loosest.
        if branch.serial < PATIENCE || nodes.len().saturating_mul(self.certifier.graph().attribute_count()) > 1024 {
            return false;
        }
        let budget = self.certifier.budget();
        let global = branch.restriction.global(budget).unwrap_or(0);
        let flips = nodes.iter().flat_map(|&node| {
            let attributes = 0..self.certifier.graph().attribute_count() as u32;
            attributes.map(move |attribute| Flip { node, attribute })
        });
        let free = flips.filter(|flip| self.is_free(branch, *flip)).count();
        // The binomial coefficients of `free` over 0, 1, …, `global`, added up.
        let (mut ways, mut total) = (1usize, 1usize);
        for made in 1..=global.min(free) {
            ways = ways.saturating_mul(free + 1 - made) / made;
            total = total.saturating_add(ways);
            if total > FEW {
                return false;
            }
        }
        true
    }

    /// May this flip still be made in the branch?
    fn is_free(&self, branch: &Branch, flip: Flip) -> bool {
        let (graph, budget) = (self.certifier.graph(), self.certifier.budget());
        let present = graph.attributes().contains(flip.node as usize, flip.attribute);
        branch.restriction.local(budget, flip.node).is_some_and(|left| left > 0)
            && budget.permits(flip.node as usize, flip.attribute as usize, present)
            && !branch.restriction.fixes(flip)
    }

    /// The flip that is still possible and can change most; none if the rest changes nothing.
    fn any_flip(&self, branch: &Branch, nodes: &[u32]) -> Option<Flip> {
        let attributes = self.certifier.problem().attributes;
        let heaviest = (0..attributes.count()).take_while(|&slot| attributes.norm(slot) > 0.0);
        heaviest.map(|slot| attributes.attribute(slot)).find_map(|attribute| {
            let mut flips = nodes.iter().map(|&node| Flip { node, attribute });
            flips.find(|flip| self.is_free(branch, *flip))
        })
    }
}

/// What shares of flips do to every unit: to its input, and to its capped bound.
pub(crate) fn point(certifier: &Certifier, flips: &[(Flip, f64)], workspace: &Workspace) -> (Vec<f64>, Vec<f64>) {
    let Workspace { hidden, slice, .. } = workspace;
    let (mut change, mut capped) = (vec![0.0; hidden.count()], vec![0.0; hidden.count()]);
    let shares = flips.iter().copied();
    add_changes(certifier.graph(), certifier.gcn(), slice, hidden, shares, &mut change, &mut capped);
    (change, capped)
}
