//! The cascade: the steps that decide one node, each only for what the steps before have left open.
//!
//! Both bounds → their mixture → witnesses and local search → column generation → branch and price.

use std::cmp::Ordering;
use std::time::Instant;

use crate::budget::Restriction;
use crate::certifier::{Bound, Certifier, Effort, Workspace};
use crate::dual::{Located, Objective};
use crate::dyadic::Dyadic;
use crate::exact::{First, Lines, Relaxation};
use crate::proof::{Evidence, Grounds, is_doubtful};
use crate::rounding::{Enclosure, error_of};
use crate::search::prover::Cost;
use crate::search::tree::{Goal, Limits};
use crate::selection::Flip;
use crate::verdict::{Margin, Minimum, NodeResult, Reason, Verdict};

/// How often the weights of a mixture are adjusted before it is given up.
const ROUNDS: usize = 12;

/// The best perturbation known against one class: its margin is enclosed by numbers of one sign, or it is exact.
pub(crate) struct Attack {
    pub(crate) margin: Enclosure,
    /// The sign of the exact margin.
    pub(crate) sign: Ordering,
    pub(crate) flips: Vec<Flip>,
    /// The exact margin, where it was needed; the enclosure is then the next float above it.
    pub(crate) exact: Option<Dyadic>,
}

impl Attack {
    /// An attack with an exact margin.
    fn exactly(exact: Dyadic, flips: Vec<Flip>) -> Attack {
        let margin = Enclosure { value: exact.ceil_f64(), error: 0.0 };
        Attack { margin, sign: exact.sign(), flips, exact: Some(exact) }
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

impl Certifier<'_> {
    /// Certifies that a node keeps the class `reference`.
    pub fn certify_class(
        &self,
        node: usize,
        reference: usize,
        predicted: usize,
        workspace: &mut Workspace,
    ) -> NodeResult {
        let others: Vec<usize> = (0..self.gcn().class_count()).filter(|&class| class != reference).collect();
        self.certify_against(node, (reference, predicted), &others, workspace)
    }

    /// The same against some of the other classes only: the verdict speaks of these.
    pub fn certify_against(
        &self,
        node: usize,
        (reference, predicted): (usize, usize),
        others: &[usize],
        workspace: &mut Workspace,
    ) -> NodeResult {
        workspace.slice.cut(self.gcn(), self.gcn().depth(), node);
        workspace.evaluator.prepare(&workspace.slice);
        workspace.selection.forget();
        workspace.prepared.forget();
        let logits = &self.unperturbed()[self.gcn().depth() - 2];
        let mut pairs: Vec<Pair> = others
            .iter()
            .map(|&class| {
                let margin = difference(logits.entry(node, reference), logits.entry(node, class));
                Pair {
                    class,
                    unperturbed: margin.value.abs(),
                    lower: [f64::NEG_INFINITY; 2],
                    positive: [false; 2],
                    mixed: f64::NEG_INFINITY,
                    searched: f64::NEG_INFINITY,
                    proved: false,
                    minimised: false,
                    grounds: Err("no bound was kept"),
                    attack: self.proved(reference, class, margin, Vec::new(), workspace),
                }
            })
            .collect();
        for at in 0..pairs.len() {
            self.bound_pair(reference, at, &mut pairs, workspace);
        }
        if self.bound == Bound::Best {
            self.mix_open_pairs(reference, &mut pairs, workspace);
        }
        self.improve_attacks(reference, &mut pairs, workspace);
        let mut cost = Cost::default();
        if !self.activation_bounds().is_empty() {
            cost = self.search(reference, &mut pairs, workspace);
        } else if matches!(self.effort, Effort::Minimise { .. }) {
            self.minimise_linear(reference, &mut pairs, workspace);
        }
        self.conclude(node, (reference, predicted), pairs, cost, workspace)
    }

    /// Evaluates the bounds of one class pair, and tries what they select on the true network against all classes.
    fn bound_pair(&self, reference: usize, at: usize, pairs: &mut [Pair], workspace: &mut Workspace) {
        let objective = [(reference, 1.0), (pairs[at].class, -1.0)];
        workspace.backward.run(self.gcn(), &workspace.slice, self.activation_bounds(), &objective);
        for &relaxation in self.bound.relaxations() {
            let bound = self.evaluate(workspace, relaxation);
            let mut lower = bound.lower();
            let mut positive = lower > 0.0;
            // Neither surely positive nor surely not: only exact arithmetic can tell.
            if !(positive || bound.upper() <= 0.0) {
                let exact = self.exact_bound(&objective, relaxation, workspace);
                positive = exact.as_ref().is_some_and(|(exact, _)| exact.sign() == Ordering::Greater);
                lower = exact.as_ref().map_or(f64::NEG_INFINITY, |(exact, _)| exact.floor_f64());
                // What attains the exact bound may be another perturbation than what seems to in f64.
                self.attack(reference, pairs, exact.map_or_else(Vec::new, |(_, flips)| flips), workspace);
            }
            pairs[at].lower[relaxation as usize] = lower;
            pairs[at].positive[relaxation as usize] = positive;
            // The later relaxation has the smaller proof, unless it only just holds.
            if self.proving && positive && (pairs[at].grounds.is_err() || !is_doubtful(bound)) {
                pairs[at].grounds = Ok(Grounds::leaf(self.default_leaf(self.dual_from(relaxation), workspace)));
            }
            let flips: Vec<Flip> = workspace.selection.flips().iter().map(|loss| loss.flip).collect();
            self.attack(reference, pairs, flips, workspace);
        }
    }

    /// The exact bound of the workspace's target, and the flips that attain it.
    fn exact_bound(
        &self,
        objective: Objective,
        relaxation: Relaxation,
        workspace: &mut Workspace,
    ) -> Option<(Dyadic, Vec<Flip>)> {
        let Workspace { slice, selection, prepared, .. } = workspace;
        let hint: Vec<Flip> = selection.flips().iter().map(|loss| loss.flip).collect();
        let lines = Lines {
            restriction: &Restriction::default(),
            bounds: Located::Graph(self.activation_bounds()),
            first: First::Default(relaxation),
            omega: &[],
            signs: &[],
            hint: &hint,
        };
        self.exact(slice, prepared).lower_bound(self.budget(), objective, &lines)
    }

    /// A linear model has nothing to relax: its exact bound is attained.
    fn minimise_linear(&self, reference: usize, pairs: &mut [Pair], workspace: &mut Workspace) {
        for at in 0..pairs.len() {
            let objective = [(reference, 1.0), (pairs[at].class, -1.0)];
            let Some((bound, flips)) = self.exact_bound(&objective, Relaxation::Paper, workspace) else { continue };
            self.attack(reference, pairs, flips, workspace);
            self.settle_attack(reference, &mut pairs[at], workspace);
            pairs[at].minimised = pairs[at].attack.exact.as_ref().is_some_and(|margin| *margin <= bound);
            pairs[at].proved |= pairs[at].minimised && !pairs[at].attack.succeeds();
        }
    }

    /// From which layer upward a relaxation has the multipliers of the dual.
    fn dual_from(&self, relaxation: Relaxation) -> Option<u32> {
        let first = if relaxation == Relaxation::Paper { 2 } else { 3 };
        ((first as usize) < self.gcn().depth()).then_some(first)
    }

    /// Goes on where the bounds have left a pair open, as far as the effort allows. Pairs with the likeliest attack come
    /// first, and the first witness ends it unless the exact margins are asked for.
    fn search(&self, reference: usize, pairs: &mut [Pair], workspace: &mut Workspace) -> Cost {
        let single = Limits { nodes: 1, ..Limits::default() };
        let (goals, limits) = match self.effort {
            Effort::Bounds => return Cost::default(),
            Effort::Optimal => (vec![Goal::Decide], single),
            Effort::Complete(limits) => (vec![Goal::Decide], limits),
            Effort::Minimise { limits, gap } if limits == Limits::default() => (vec![Goal::Minimise { gap }], limits),
            // Within limits the verdict comes first.
            Effort::Minimise { limits, gap } => (vec![Goal::Decide, Goal::Minimise { gap }], limits),
        };
        // A limit beyond the end of time is none.
        let deadline = Instant::now().checked_add(limits.time);
        let mut cost = Cost::default();
        for goal in goals {
            for at in likeliest(pairs) {
                // A perturbation found for one pair may have broken another.
                let broken = pairs.iter().any(|pair| pair.attack.succeeds());
                if goal == Goal::Decide && (broken || pairs[at].is_settled()) {
                    continue;
                }
                cost.add(self.prove_pair(reference, at, pairs, workspace, (goal, &limits, deadline)));
            }
        }
        cost
    }

    /// Where neither bound is positive and no attack is known, mixes the two per unit (see [`crate::mixture`]). The
    /// attacker's answers are tried on the true network as well.
    fn mix_open_pairs(&self, reference: usize, pairs: &mut [Pair], workspace: &mut Workspace) {
        let Some(bounds) = self.activation_bounds().first() else { return };
        for at in 0..pairs.len() {
            if pairs.iter().any(|pair| pair.attack.succeeds()) {
                return;
            }
            if pairs[at].is_settled() {
                continue;
            }
            let objective = [(reference, 1.0), (pairs[at].class, -1.0)];
            workspace.hidden.load(&workspace.slice, &self.unperturbed()[0], bounds);
            workspace.multipliers.start(&workspace.slice, self.unperturbed());
            for round in 0..ROUNDS {
                let Workspace { slice, backward, relaxed, multipliers, hidden, .. } = workspace;
                if round == 0 || self.gcn().depth() > 3 {
                    let bounds = Located::Graph(self.activation_bounds());
                    backward.run_at(self.gcn(), slice, bounds, &objective, &multipliers.omega);
                }
                if round == 0 {
                    multipliers.anchored(hidden, backward);
                }
                relaxed.mixed(backward, hidden, &multipliers.weights);
                let bound = self.worst(workspace, &Restriction::default()).lower();
                // A comparison with NaN is false: nothing is learnt from it.
                if bound > pairs[at].mixed {
                    pairs[at].mixed = bound;
                }
                let flips: Vec<Flip> = workspace.selection.flips().iter().map(|loss| loss.flip).collect();
                self.attack(reference, pairs, flips, workspace);
                if self.proving && bound > 0.0 {
                    let (weights, omega) = (workspace.multipliers.weights.clone(), workspace.multipliers.omega.clone());
                    let leaf = self.leaf(&objective, None, &weights, &omega, workspace);
                    pairs[at].grounds = Ok(Grounds::leaf(leaf));
                }
                if pairs[at].is_settled() || pairs[at].attack.succeeds() {
                    break;
                }
                let Workspace { slice, backward, multipliers, hidden, selection, evaluator, .. } = workspace;
                let problem = (self.graph(), self.gcn(), &*slice);
                let attacked = |l: usize| evaluator.preactivations(l).to_vec();
                multipliers.answer(problem, hidden, backward, selection.flips(), attacked);
            }
        }
    }

    /// Replays a perturbation and keeps it for every class against which it is the best so far.
    fn attack(&self, reference: usize, pairs: &mut [Pair], flips: Vec<Flip>, workspace: &mut Workspace) {
        if !flips.is_empty() {
            self.try_flips(reference, 0, pairs, flips, workspace);
        }
    }

    /// The same; the evaluator keeps the perturbed representations, and the margin of pair `at` is returned.
    pub(crate) fn try_flips(
        &self,
        reference: usize,
        at: usize,
        pairs: &mut [Pair],
        flips: Vec<Flip>,
        workspace: &mut Workspace,
    ) -> Enclosure {
        let Workspace { evaluator, slice, .. } = workspace;
        let logits: Vec<Enclosure> = evaluator.logits(&self.problem(), slice, &flips).collect();
        for pair in &mut *pairs {
            let margin = difference(logits[reference], logits[pair.class]);
            // Surely no better than what is known: the common case.
            if margin.lower() >= pair.attack.margin.upper() {
                continue;
            }
            if matches!(self.effort, Effort::Minimise { .. }) {
                self.keep_smaller(reference, pair, margin, &flips, workspace);
                continue;
            }
            let attack = self.proved(reference, pair.class, margin, flips.clone(), workspace);
            // Of two margins that floats cannot tell apart, one may still be below zero.
            let lower_sign = attack.sign < pair.attack.sign && attack.margin.upper() <= pair.attack.margin.upper();
            if lower_sign || attack.margin.upper() < pair.attack.margin.upper() || pair.attack.margin.upper().is_nan() {
                pair.attack = attack;
            }
        }
        difference(logits[reference], logits[pairs[at].class])
    }

    /// Keeps the perturbation with the smaller margin: exact arithmetic decides what rounding leaves open.
    fn keep_smaller(
        &self,
        reference: usize,
        pair: &mut Pair,
        margin: Enclosure,
        flips: &[Flip],
        workspace: &mut Workspace,
    ) {
        let known = &pair.attack.flips;
        if known.len() == flips.len() && flips.iter().all(|flip| known.contains(flip)) {
            return;
        }
        let flips = sorted(flips.to_vec());
        if margin.upper() < pair.attack.lower() {
            pair.attack = self.proved(reference, pair.class, margin, flips, workspace);
            return;
        }
        self.settle_attack(reference, pair, workspace);
        let exact = self.exact_margin(reference, pair.class, &flips, workspace);
        if pair.attack.exact.as_ref().is_some_and(|best| exact < *best) {
            pair.attack = Attack::exactly(exact, flips);
        }
    }

    /// Makes sure that the exact margin of the best perturbation is known.
    pub(crate) fn settle_attack(&self, reference: usize, pair: &mut Pair, workspace: &mut Workspace) {
        if pair.attack.exact.is_none() {
            let flips = std::mem::take(&mut pair.attack.flips);
            let exact = self.exact_margin(reference, pair.class, &flips, workspace);
            pair.attack = Attack::exactly(exact, flips);
        }
    }

    fn exact_margin(&self, reference: usize, class: usize, flips: &[Flip], workspace: &mut Workspace) -> Dyadic {
        self.exact(&workspace.slice, &mut workspace.prepared).objective(&[(reference, 1.0), (class, -1.0)], flips)
    }

    /// A perturbation whose sign is known: what rounding leaves open is evaluated exactly.
    fn proved(
        &self,
        reference: usize,
        class: usize,
        margin: Enclosure,
        flips: Vec<Flip>,
        workspace: &mut Workspace,
    ) -> Attack {
        if margin.lower() > 0.0 {
            return Attack { margin, sign: Ordering::Greater, flips, exact: None };
        }
        if margin.upper() < 0.0 {
            return Attack { margin, sign: Ordering::Less, flips, exact: None };
        }
        Attack::exactly(self.exact_margin(reference, class, &flips, workspace), flips)
    }

    /// The margin of a perturbation from below, and its sign: exactly if rounding leaves that open.
    pub(crate) fn decided(
        &self,
        reference: usize,
        class: usize,
        margin: Enclosure,
        flips: &[Flip],
        workspace: &mut Workspace,
    ) -> (f64, Ordering) {
        if margin.lower() > 0.0 || margin.upper() < 0.0 {
            return (margin.lower(), margin.lower().total_cmp(&0.0));
        }
        let exact = self.exact_margin(reference, class, flips, workspace);
        (exact.floor_f64(), exact.sign())
    }

    /// Local search where a pair is neither settled nor broken, the most promising first, until one is broken.
    fn improve_attacks(&self, reference: usize, pairs: &mut [Pair], workspace: &mut Workspace) {
        for at in likeliest(pairs) {
            if pairs.iter().any(|pair| pair.attack.succeeds()) {
                return;
            }
            if pairs[at].is_settled() {
                continue;
            }
            let objective = [(reference, 1.0), (pairs[at].class, -1.0)];
            let mut flips = pairs[at].attack.flips.clone();
            let Workspace { search, evaluator, slice, .. } = workspace;
            search.improve(&self.problem(), slice, evaluator, &objective, &mut flips);
            self.attack(reference, pairs, flips, workspace);
        }
    }

    fn conclude(
        &self,
        node: usize,
        (reference, predicted): (usize, usize),
        pairs: Vec<Pair>,
        cost: Cost,
        workspace: &Workspace,
    ) -> NodeResult {
        let certifies = |relaxation: Relaxation| {
            let evaluated = self.bound.relaxations().contains(&relaxation);
            evaluated.then(|| pairs.iter().all(|pair| pair.positive[relaxation as usize]))
        };
        let (paper, anchored) = (certifies(Relaxation::Paper), certifies(Relaxation::Anchored));
        // A class that is larger says more than one that is as large, even where floats see no difference.
        let broken = likeliest(&pairs).into_iter().map(|at| &pairs[at]).filter(|pair| pair.attack.succeeds());
        let breaks = broken.min_by_key(|pair| pair.attack.sign);
        let witness = breaks.map(|pair| &pair.attack);
        let (verdict, reason) = match witness {
            Some(Attack { sign: Ordering::Equal, .. }) => (Verdict::NonRobust, Reason::Tie),
            Some(_) => (Verdict::NonRobust, Reason::Witness),
            None if paper == Some(true) => (Verdict::Robust, Reason::PaperBound),
            None if anchored == Some(true) => (Verdict::Robust, Reason::AnchoredBound),
            None if pairs.iter().all(Pair::is_settled) => match cost {
                Cost { nodes: 0, .. } => (Verdict::Robust, Reason::MixedBounds),
                Cost { split: false, .. } => (Verdict::Robust, Reason::ColumnGeneration),
                _ => (Verdict::Robust, Reason::BranchAndPrice),
            },
            None if cost.gave_up && !matches!(self.effort, Effort::Optimal) => (Verdict::Undecided, Reason::Limit),
            None => (Verdict::Undecided, Reason::BoundNotPositive),
        };
        let mut result = NodeResult {
            node,
            reference,
            predicted,
            neighbourhood: workspace.slice.nodes(1).len(),
            verdict,
            reason,
            paper_certifies: paper,
            anchored_certifies: anchored,
            margins: pairs.iter().map(Pair::margin).collect(),
            minima: pairs.iter().map(Pair::minimum).collect(),
            search_nodes: cost.nodes,
            masters: cost.masters,
            limit_hit: cost.gave_up && !matches!(self.effort, Effort::Optimal),
            witness: witness.map_or_else(Vec::new, |attack| sorted(attack.flips.clone())),
            evidence: None,
        };
        result.evidence = self.proving.then(|| Evidence::new(&result, &pairs, breaks));
        result
    }
}

/// The state of one class pair.
pub(crate) struct Pair {
    pub(crate) class: usize,
    /// Size of the margin without flips.
    unperturbed: f64,
    /// Lower bounds by [`Relaxation`].
    lower: [f64; 2],
    /// Which of them are positive in exact arithmetic, even if smaller than every positive float.
    positive: [bool; 2],
    /// The best bound of any mixture.
    mixed: f64,
    /// The bound that a search has reached.
    pub(crate) searched: f64,
    /// Has a search shown that the worst-case margin is positive, even if smaller than every positive float?
    pub(crate) proved: bool,
    /// Has a search shown that no margin is smaller than that of the attack?
    pub(crate) minimised: bool,
    pub(crate) attack: Attack,
    /// The proof of a positive worst-case margin, or why there is none.
    pub(crate) grounds: Result<Grounds, &'static str>,
}

impl Pair {
    /// Is the worst-case margin surely positive?
    fn is_settled(&self) -> bool {
        self.positive.contains(&true) || self.proved || self.lower() > 0.0
    }

    /// How large margins are: with and without attack. Never 0.
    pub(crate) fn size(&self) -> f64 {
        let size = self.unperturbed.max(self.attack.margin.value.abs());
        if size > 0.0 && size.is_finite() { size } else { 1.0 }
    }

    /// What is known of the worst-case margin, in floats.
    fn margin(&self) -> Margin {
        let lower = match (self.minimised, self.is_settled()) {
            (true, _) => self.attack.lower(),
            (_, true) => self.lower().max(0.0),
            _ => self.lower(),
        };
        Margin { class: self.class, lower, upper: self.attack.margin.upper() }
    }

    /// The worst-case margin, if it is known exactly.
    fn minimum(&self) -> Option<Minimum> {
        let margin = self.attack.exact.clone().filter(|_| self.minimised)?;
        Some(Minimum { margin, flips: sorted(self.attack.flips.clone()) })
    }

    fn lower(&self) -> f64 {
        self.lower[0].max(self.lower[1]).max(self.mixed).max(self.searched)
    }
}

/// The pairs in the order of their best attacks, the most promising first.
fn likeliest(pairs: &[Pair]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..pairs.len()).collect();
    order.sort_by(|&x, &y| pairs[x].attack.margin.value.total_cmp(&pairs[y].attack.margin.value));
    order
}

fn difference(x: Enclosure, y: Enclosure) -> Enclosure {
    let value = x.value - y.value;
    Enclosure { value, error: (x.error + y.error) * (1.0 + 1e-9) + error_of(1, value.abs()) }
}

fn sorted(mut flips: Vec<Flip>) -> Vec<Flip> {
    flips.sort_unstable();
    flips
}
