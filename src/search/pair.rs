//! The class pairs of one target: what bounds, attacks and searches have shown of each.

use std::cmp::Ordering;
use std::ops::{Deref, DerefMut};

use crate::bound::prepared::Prepared;
use crate::bound::workspace::Workspace;
use crate::number::dyadic::Dyadic;
use crate::number::rounding::{Enclosure, error_of};
use crate::problem::flip::Flip;
use crate::proof::{Missing, PairProof};

/// The best perturbation known against one class: its margin is enclosed by numbers of one sign, or it is exact.
pub(crate) struct BestAttack {
    pub(crate) margin: Enclosure,
    /// The sign of the exact margin.
    pub(crate) sign: Ordering,
    pub(crate) flips: Vec<Flip>,
    /// The exact margin, where it was needed; the enclosure is then the next float above it.
    pub(crate) exact: Option<Dyadic>,
}

impl BestAttack {
    /// An attack with an exact margin.
    fn exactly(exact: Dyadic, flips: Vec<Flip>) -> BestAttack {
        let margin = Enclosure { value: exact.ceil_f64(), error: 0.0 };
        BestAttack { margin, sign: exact.sign(), flips, exact: Some(exact) }
    }

    /// A float that is surely not above the margin.
    pub(crate) fn lower(&self) -> f64 {
        self.exact.as_ref().map_or_else(|| self.margin.lower(), Dyadic::floor_f64)
    }

    /// Does it break the class? A tie does.
    pub(crate) fn succeeds(&self) -> bool {
        self.sign != Ordering::Greater
    }
}

/// The state of one class pair.
pub(crate) struct ClassPair {
    pub(crate) class: usize,
    /// Size of the margin without flips.
    unperturbed: f64,
    /// Lower bounds by [`Relaxation`](crate::bound::relaxed::Relaxation).
    pub(crate) lower: [f64; 2],
    /// Which of them are positive in exact arithmetic, even if smaller than every positive float.
    pub(crate) positive: [bool; 2],
    /// The best bound of any mixture.
    pub(crate) mixed: f64,
    /// The bound that a search has reached.
    pub(crate) searched: f64,
    /// The largest number that the worst-case margin is known to exceed in exact arithmetic, even if no float lies
    /// between.
    pub(crate) exceeded: f64,
    /// By how much a computed margin may differ from the exact one; 0 unless verdicts for the deployed network are
    /// asked for.
    pub(crate) error: f64,
    /// What the worst-case margin is to be shown to exceed (see [`Pairs::aim`]).
    aim: f64,
    /// Has a search shown that no margin is smaller than that of the attack?
    pub(crate) minimized: bool,
    pub(crate) attack: BestAttack,
    /// The proof of a positive worst-case margin, or why there is none.
    pub(crate) proof: Result<PairProof, Missing>,
}

impl ClassPair {
    /// Does the worst-case margin surely exceed a number?
    pub(crate) fn exceeds(&self, number: f64) -> bool {
        self.exceeded >= number || self.lower() > number
    }

    /// Is the worst-case margin surely positive?
    pub(crate) fn is_settled(&self) -> bool {
        self.exceeds(0.0)
    }

    /// What the worst-case margin is still to be shown to exceed: no longer the error once a perturbation inside it is
    /// known.
    pub(crate) fn goal(&self) -> f64 {
        if self.aim > 0.0 && self.attack.margin.upper() <= self.aim { 0.0 } else { self.aim }
    }

    /// Does the worst-case margin surely exceed that?
    pub(crate) fn is_done(&self) -> bool {
        self.exceeds(self.goal())
    }

    /// Is a perturbation known that makes any further search needless: one that breaks the class, and goes below the
    /// aim where that is negative?
    pub(crate) fn is_broken(&self) -> bool {
        self.attack.margin.upper() <= self.aim.min(0.0)
    }

    /// How large margins are: with and without attack. Never 0.
    pub(crate) fn size(&self) -> f64 {
        let size = self.unperturbed.max(self.attack.margin.value.abs());
        if size > 0.0 && size.is_finite() { size } else { 1.0 }
    }

    /// What bounds or a search have shown that the best perturbation refutes, if anything: both cannot be right.
    pub(crate) fn refuted(&self) -> Option<String> {
        let steps = ["the paper's bound", "the anchored bound", "a mixture of bounds", "branch and price"];
        let bounds = [self.lower[0], self.lower[1], self.mixed, self.searched];
        let above = bounds.iter().position(|&lower| lower > self.attack.margin.upper());
        let settled = self.attack.succeeds() && self.is_settled();
        above.map(|at| format!("{} of {:e}", steps[at], bounds[at])).or_else(|| {
            let relaxed = self.positive.iter().position(|&positive| positive);
            settled.then(|| format!("{}, positive in exact arithmetic,", relaxed.map_or(steps[3], |at| steps[at])))
        })
    }

    /// The best lower bound.
    pub(crate) fn lower(&self) -> f64 {
        self.lower[0].max(self.lower[1]).max(self.mixed).max(self.searched)
    }
}

/// The reference class of a target against each of the other classes.
pub(crate) struct Pairs<'a> {
    prepared: &'a Prepared,
    pub(crate) reference: usize,
    /// Are the exact margins asked for, and not only their signs?
    pub(crate) minimizing: bool,
    /// Have all perturbations been tried, one by one?
    pub(crate) listed: bool,
    pairs: Vec<ClassPair>,
}

impl Deref for Pairs<'_> {
    type Target = [ClassPair];
    fn deref(&self) -> &[ClassPair] {
        &self.pairs
    }
}

impl DerefMut for Pairs<'_> {
    fn deref_mut(&mut self) -> &mut [ClassPair] {
        &mut self.pairs
    }
}

impl<'a> Pairs<'a> {
    /// The pairs of the workspace's target without flips; no bound is known yet.
    pub(crate) fn new(
        prepared: &'a Prepared,
        target: usize,
        reference: usize,
        others: &[usize],
        minimizing: bool,
        workspace: &mut Workspace,
    ) -> Pairs<'a> {
        let logits = prepared.unperturbed_logits();
        let mut pairs =
            Pairs { prepared, reference, minimizing, listed: false, pairs: Vec::with_capacity(others.len()) };
        for &class in others {
            let margin = difference(logits.entry(target, reference), logits.entry(target, class));
            // After the deadline the sign is not known, and nothing is broken.
            let open = || BestAttack { margin, sign: Ordering::Greater, flips: Vec::new(), exact: None };
            let attack = pairs.proved(class, 0.0, margin, Vec::new(), workspace).unwrap_or_else(open);
            pairs.pairs.push(ClassPair {
                class,
                unperturbed: margin.value.abs(),
                lower: [f64::NEG_INFINITY; 2],
                positive: [false; 2],
                mixed: f64::NEG_INFINITY,
                searched: f64::NEG_INFINITY,
                exceeded: f64::NEG_INFINITY,
                error: 0.0,
                aim: 0.0,
                minimized: false,
                proof: Err(Missing::NoBound),
                attack,
            });
        }
        pairs
    }

    /// From now on every worst-case margin is to be shown to exceed the number that `aim` says: 0, the pair's error, or
    /// minus that (docs/math.md §19.4). A proof of less than that is none.
    pub(crate) fn aim(&mut self, aim: impl Fn(&ClassPair) -> f64, workspace: &mut Workspace) {
        for at in 0..self.pairs.len() {
            let aim = aim(&self.pairs[at]);
            self.pairs[at].aim = aim;
            if !is_decided(self.pairs[at].attack.margin, aim) {
                self.settle(at, workspace);
            }
            if !self.pairs[at].exceeds(aim) {
                self.pairs[at].proof = Err(Missing::NoBound);
            }
        }
    }

    /// The margin of a pair as an objective.
    pub(crate) fn objective(&self, at: usize) -> [(usize, f64); 2] {
        [(self.reference, 1.0), (self.pairs[at].class, -1.0)]
    }

    /// Has an attack broken a pair?
    pub(crate) fn any_broken(&self) -> bool {
        self.pairs.iter().any(|pair| pair.attack.succeeds())
    }

    /// The pairs in the order of their best attacks, the most promising first.
    pub(crate) fn likeliest(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.pairs.len()).collect();
        order.sort_by(|&x, &y| self.pairs[x].attack.margin.value.total_cmp(&self.pairs[y].attack.margin.value));
        order
    }

    /// Replays a perturbation, if it makes any flips, and keeps it for every class against which it is the best so far.
    pub(crate) fn attack(&mut self, flips: Vec<Flip>, workspace: &mut Workspace) {
        if !flips.is_empty() {
            self.try_flips(0, flips, workspace);
        }
    }

    /// Replays a perturbation and keeps it for every class against which it is the best so far. The evaluator keeps the
    /// perturbed representations, and the margin of pair `at` is returned.
    pub(crate) fn try_flips(&mut self, at: usize, flips: Vec<Flip>, workspace: &mut Workspace) -> Enclosure {
        let flips = self.prepared.budget().compatible(flips);
        let logits: Vec<Enclosure> = self.prepared.logits(&flips, workspace).collect();
        for place in 0..self.pairs.len() {
            let pair = &self.pairs[place];
            let margin = difference(logits[self.reference], logits[pair.class]);
            // Surely no better than what is known: the common case.
            if margin.lower() >= pair.attack.margin.upper() {
                continue;
            }
            // A bound that was cut short leaves the selection of another branch behind, which may be too much together
            // with the flips of this one.
            if !self.prepared.budget().admits(self.prepared.graph(), &flips) {
                debug_assert!(workspace.watch.was_late(), "an attack outside the budget: {flips:?}");
                break;
            }
            if self.minimizing {
                self.keep_smaller(place, margin, &flips, workspace);
                continue;
            }
            let Some(attack) = self.proved(pair.class, pair.aim, margin, flips.clone(), workspace) else { continue };
            // Of two margins that floats cannot tell apart, one may still be below zero.
            let known = &pair.attack;
            let lower_sign = attack.sign < known.sign && attack.margin.upper() <= known.margin.upper();
            if lower_sign || attack.margin.upper() < known.margin.upper() || known.margin.upper().is_nan() {
                self.pairs[place].attack = attack;
            }
        }
        difference(logits[self.reference], logits[self.pairs[at].class])
    }

    /// Keeps the perturbation with the smaller margin: exact arithmetic decides what rounding leaves open.
    fn keep_smaller(&mut self, at: usize, margin: Enclosure, flips: &[Flip], workspace: &mut Workspace) {
        let ClassPair { class, aim, attack, .. } = &self.pairs[at];
        if attack.flips.len() == flips.len() && flips.iter().all(|flip| attack.flips.contains(flip)) {
            return;
        }
        let flips = sorted(flips.to_vec());
        if margin.upper() < attack.lower() {
            if let Some(attack) = self.proved(*class, *aim, margin, flips, workspace) {
                self.pairs[at].attack = attack;
            }
            return;
        }
        let Some(exact) = self.exact_margin(*class, &flips, workspace) else { return };
        self.settle(at, workspace);
        if self.pairs[at].attack.exact.as_ref().is_some_and(|best| exact < *best) {
            self.pairs[at].attack = BestAttack::exactly(exact, flips);
        }
    }

    /// Makes sure that the exact margin of the best perturbation is known, unless the deadline has passed.
    pub(crate) fn settle(&mut self, at: usize, workspace: &mut Workspace) {
        if self.pairs[at].attack.exact.is_none() {
            let flips = std::mem::take(&mut self.pairs[at].attack.flips);
            match self.exact_margin(self.pairs[at].class, &flips, workspace) {
                Some(exact) => self.pairs[at].attack = BestAttack::exactly(exact, flips),
                None => self.pairs[at].attack.flips = flips,
            }
        }
    }

    /// None once the deadline has passed.
    fn exact_margin(&self, class: usize, flips: &[Flip], workspace: &mut Workspace) -> Option<Dyadic> {
        let objective = [(self.reference, 1.0), (class, -1.0)];
        let Workspace { slice, exact, watch, .. } = workspace;
        self.prepared.exact(slice, exact).until(watch).try_objective(&objective, flips)
    }

    /// A perturbation of which the sign is known, and on which side of the aim it is: what rounding leaves open is
    /// evaluated exactly. None once the deadline has passed.
    fn proved(
        &self,
        class: usize,
        aim: f64,
        margin: Enclosure,
        flips: Vec<Flip>,
        workspace: &mut Workspace,
    ) -> Option<BestAttack> {
        if is_decided(margin, 0.0) && is_decided(margin, aim) {
            return Some(BestAttack { margin, sign: margin.lower().total_cmp(&0.0), flips, exact: None });
        }
        let exact = self.exact_margin(class, &flips, workspace)?;
        Some(BestAttack::exactly(exact, flips))
    }

    /// A class over which a perturbation leaves a margin of the sign that is wanted, and over no class a smaller one;
    /// where rounding hides a sign, it is found exactly, unless the deadline has passed.
    pub(crate) fn broken_by(&self, flips: &[Flip], wanted: Ordering, workspace: &mut Workspace) -> Option<usize> {
        let logits: Vec<Enclosure> = self.prepared.logits(flips, workspace).collect();
        let mut found = None;
        for pair in &self.pairs {
            let margin = difference(logits[self.reference], logits[pair.class]);
            let sign = match is_decided(margin, 0.0) {
                true => margin.lower().total_cmp(&0.0),
                false => self.exact_margin(pair.class, flips, workspace)?.sign(),
            };
            match sign.cmp(&wanted) {
                Ordering::Less => return None,
                Ordering::Equal if wanted == Ordering::Less => return Some(pair.class),
                Ordering::Equal => found = Some(pair.class),
                Ordering::Greater => {}
            }
        }
        found
    }

    /// The margin of a perturbation from below, and whether it exceeds the goal of the pair: exactly if rounding leaves
    /// that open. After the deadline nothing is known.
    pub(crate) fn decided(
        &self,
        at: usize,
        margin: Enclosure,
        flips: &[Flip],
        workspace: &mut Workspace,
    ) -> (f64, bool) {
        let goal = self.pairs[at].goal();
        if is_decided(margin, goal) {
            return (margin.lower(), margin.lower() > goal);
        }
        match self.exact_margin(self.pairs[at].class, flips, workspace) {
            Some(exact) => (exact.floor_f64(), exact > Dyadic::from_f64(goal)),
            None => (f64::NEG_INFINITY, false),
        }
    }
}

/// Is it known in spite of rounding on which side of a number a margin is?
fn is_decided(margin: Enclosure, number: f64) -> bool {
    margin.lower() > number || margin.upper() < number
}

pub(crate) fn difference(x: Enclosure, y: Enclosure) -> Enclosure {
    let value = x.value - y.value;
    Enclosure { value, error: (x.error + y.error) * (1.0 + 1e-9) + error_of(1, value.abs()) }
}

/// Flips in the order of nodes and attributes.
pub(crate) fn sorted(mut flips: Vec<Flip>) -> Vec<Flip> {
    flips.sort_unstable();
    flips
}
