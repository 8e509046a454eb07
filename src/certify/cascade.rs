//! The steps that decide one node, in order: each is taken only for what the steps before have left open.
//!
//! Path bounds → the paper's and the anchored bound → mixtures of chord and capped bound → witnesses and local search → column generation → branch and price.

use std::cmp::Ordering;
use std::time::{Duration, Instant};

use gcnproof_check::format::{Claim, ClassProof, Leaf, Witness};

use crate::bound::backward::Located;
use crate::bound::exact::{First, Lines};
use crate::bound::relaxed::Relaxation;
use crate::bound::workspace::Workspace;
use crate::certify::certifier::{Certifier, Target};
use crate::certify::contradiction::{Contradiction, Subject};
use crate::certify::settings::{Bound, Effort, Margins, Settings};
use crate::certify::verdict::{Margin, Minimum, NodeResult, Reason, Verdict};
use crate::number::dyadic::Dyadic;
use crate::problem::budget::Decided;
use crate::problem::flip::Flip;
use crate::problem::objective::Objective;
use crate::proof::leaf::{default_leaf, leaf};
use crate::proof::{Evidence, Missing, PairProof, is_doubtful};
use crate::search::limits::{Clock, Limits, Watch};
use crate::search::local;
use crate::search::pair::{Attack, Pair, Pairs, difference, sorted};
use crate::search::pair_search::{Cost, Quest, search_pair};
use crate::search::tree::Goal;

/// How often the weights of a mixture are adjusted before it is given up.
const ROUNDS: usize = 12;

impl Certifier {
    /// Decides a target for the class `reference` against some of the other classes.
    pub(super) fn decide(&self, target: Target, others: &[usize], workspace: &mut Workspace) -> NodeResult {
        let quickly = self.decide_by_paths(target, others, workspace);
        quickly.unwrap_or_else(|| self.decide_by_bounds(target, others, workspace))
    }

    /// Are path bounds the first step? Not where other bounds are asked for by name or for their numbers.
    pub(super) fn takes_paths(&self) -> bool {
        let Settings { bound, margins, effort, .. } = &self.settings;
        *margins == Margins::Fast && *bound == Bound::Best && !matches!(effort, Effort::Minimize { .. })
    }

    /// The first step. Nothing if it leaves a class open.
    pub(super) fn decide_by_paths(
        &self,
        target: Target,
        others: &[usize],
        workspace: &mut Workspace,
    ) -> Option<NodeResult> {
        if !self.takes_paths() {
            return None;
        }
        let lower = self.prepared.paths(target.node, target.reference, others, workspace)?;
        let mut result = self.deploy_by_far(self.robust_by_paths(target, others, &lower, workspace), workspace)?;
        if self.settings.proofs {
            result.evidence = self.evidence_of_paths(target, others, workspace);
        }
        Some(result)
    }

    /// With one hidden layer the anchored bound is at least the path bound (docs/math.md §17), and its leaf says nothing but its name. Deeper
    /// networks need multipliers: those of the bounds that the later steps evaluate.
    fn evidence_of_paths(&self, target: Target, others: &[usize], workspace: &mut Workspace) -> Option<Evidence> {
        if self.network().depth() > 3 {
            return self.decide_by_bounds(target, others, workspace).evidence;
        }
        let leaf = || Leaf { dual: self.dual_from(Relaxation::Anchored), ..Leaf::default() };
        let tree = |&class: &usize| ClassProof { class: class as u32, tree: PairProof::leaf(leaf()).0 };
        Some(Evidence { claim: Ok(Claim::Robust(others.iter().map(tree).collect())), missing: None })
    }

    /// All other steps.
    pub(super) fn decide_by_bounds(&self, target: Target, others: &[usize], workspace: &mut Workspace) -> NodeResult {
        let (result, broken) = self.decide_exactly(target, others, workspace);
        let mut result = self.deploy(result, broken, workspace);
        workspace.watch = Watch::default();
        if !self.budget().admits(self.graph(), &result.witness) {
            let (node, flips) = (Subject::Node(target.node), format!("a witness of {} flips", result.witness.len()));
            result.contradiction = Some(Contradiction::new(node, flips, "the budget, which does not admit them"));
        }
        result
    }

    /// All other steps, for the network in exact arithmetic; and the class whose margin the witness was found for, if there is one.
    fn decide_exactly(
        &self,
        target: Target,
        others: &[usize],
        workspace: &mut Workspace,
    ) -> (NodeResult, Option<usize>) {
        let minimizing = matches!(self.settings.effort, Effort::Minimize { .. });
        self.prepared.aim(target.node, workspace);
        workspace.watch = Watch::new(self.clock(1));
        let mut pairs = Pairs::new(&self.prepared, target.node, target.reference, others, minimizing, workspace);
        for at in 0..pairs.len() {
            if !workspace.watch.is_late() {
                self.bound_pair(at, &mut pairs, workspace);
            }
        }
        if self.settings.bound == Bound::Best {
            self.mix_open_pairs(&mut pairs, workspace);
        }
        self.improve_attacks(&mut pairs, workspace);
        let mut cost = Cost::default();
        if self.network().depth() > 2 {
            cost = self.search(&mut pairs, workspace);
        } else if minimizing {
            self.minimize_linear(&mut pairs, workspace);
        }
        self.conclude(target, &pairs, cost, workspace)
    }

    /// When the work on so many targets must end. A limit beyond the end of time is none.
    pub(super) fn clock(&self, targets: usize) -> Clock {
        let limit = match self.settings.effort {
            Effort::Complete(limits) | Effort::Minimize { limits, .. } => limits.time,
            Effort::Bounds | Effort::Optimal => Duration::MAX,
        };
        let time = limit.checked_mul(u32::try_from(targets).unwrap_or(u32::MAX));
        let deadline = time.and_then(|time| Instant::now().checked_add(time));
        Clock { deadline, stop: self.settings.stop.clone() }
    }

    /// A node that is robust by path bounds: nothing else is evaluated.
    fn robust_by_paths(&self, target: Target, others: &[usize], lower: &[f64], workspace: &Workspace) -> NodeResult {
        let logits = &self.unperturbed()[self.network().depth() - 2];
        let reference = logits.entry(target.node, target.reference);
        let margin = |(&class, &lower): (&usize, &f64)| {
            let upper = difference(reference, logits.entry(target.node, class)).upper();
            Margin { class, lower, upper }
        };
        NodeResult {
            node: target.node,
            reference: target.reference,
            predicted: target.predicted,
            neighbourhood: workspace.slice.nodes(1).len(),
            verdict: Verdict::Robust,
            reason: Reason::PathBound,
            paper_certifies: None,
            anchored_certifies: None,
            margins: others.iter().zip(lower).map(margin).collect(),
            minima: vec![None; others.len()],
            search_nodes: 0,
            masters: 0,
            limit_hit: false,
            witness: Vec::new(),
            deployed: None,
            evidence: None,
            contradiction: None,
        }
    }

    /// Evaluates the bounds of one class pair, and tries what they select on the true network against all classes.
    fn bound_pair(&self, at: usize, pairs: &mut Pairs, workspace: &mut Workspace) {
        let objective = pairs.objective(at);
        workspace.backward.run(self.network(), &workspace.slice, self.activation_bounds(), &objective);
        for &relaxation in self.settings.bound.relaxations() {
            let bound = self.prepared.evaluate(workspace, relaxation);
            let mut lower = bound.lower();
            let mut positive = lower > 0.0;
            // Neither surely positive nor surely not: only exact arithmetic can tell.
            if !(positive || bound.upper() <= 0.0) {
                let exact = self.exact_bound(&objective, relaxation, workspace);
                positive = exact.as_ref().is_some_and(|(exact, _)| exact.sign() == Ordering::Greater);
                lower = exact.as_ref().map_or(f64::NEG_INFINITY, |(exact, _)| exact.floor_f64());
                // What attains the exact bound may be another perturbation than what seems to in f64.
                pairs.attack(exact.map_or_else(Vec::new, |(_, flips)| flips), workspace);
            }
            pairs[at].lower[relaxation as usize] = lower;
            pairs[at].positive[relaxation as usize] = positive;
            // The later relaxation has the smaller proof, unless it only just holds. As deployed, a proof must exceed an error.
            let better = self.settings.deployed.is_none() || lower >= pairs[at].lower();
            if self.settings.proofs && positive && (pairs[at].proof.is_err() || better && !is_doubtful(bound)) {
                pairs[at].proof =
                    Ok(PairProof::leaf(default_leaf(&self.prepared, self.dual_from(relaxation), workspace)));
            }
            let flips: Vec<Flip> = workspace.selection.flips().iter().map(|loss| loss.flip).collect();
            pairs.attack(flips, workspace);
        }
    }

    /// The exact bound of the workspace's target, and the flips that attain it.
    fn exact_bound(
        &self,
        objective: Objective,
        relaxation: Relaxation,
        workspace: &mut Workspace,
    ) -> Option<(Dyadic, Vec<Flip>)> {
        let Workspace { slice, selection, exact, watch, .. } = workspace;
        let hint: Vec<Flip> = selection.flips().iter().map(|loss| loss.flip).collect();
        let lines = Lines {
            decided: &Decided::default(),
            bounds: Located::Graph(self.activation_bounds()),
            first: First::Default(relaxation),
            omega: &[],
            signs: &[],
            hint: &hint,
        };
        self.prepared.exact(slice, exact).until(watch).lower_bound(self.budget(), objective, &lines)
    }

    /// A linear model has nothing to relax: its exact bound is attained.
    fn minimize_linear(&self, pairs: &mut Pairs, workspace: &mut Workspace) {
        for at in 0..pairs.len() {
            let objective = pairs.objective(at);
            let Some((bound, flips)) = self.exact_bound(&objective, Relaxation::Paper, workspace) else { continue };
            pairs.attack(flips, workspace);
            pairs.settle(at, workspace);
            pairs[at].minimized = pairs[at].attack.exact.as_ref().is_some_and(|margin| *margin <= bound);
            pairs[at].proved |= pairs[at].minimized && !pairs[at].attack.succeeds();
        }
    }

    /// From which layer upward a relaxation has the multipliers of the dual.
    fn dual_from(&self, relaxation: Relaxation) -> Option<u32> {
        let first = if relaxation == Relaxation::Paper { 2 } else { 3 };
        ((first as usize) < self.network().depth()).then_some(first)
    }

    /// Goes on where the bounds have left a pair open, as far as the effort allows. Pairs with the likeliest attack come
    /// first, and the first witness ends it unless the exact margins are asked for.
    fn search(&self, pairs: &mut Pairs, workspace: &mut Workspace) -> Cost {
        let single = Limits { nodes: 1, ..Limits::default() };
        let (goals, limits) = match self.settings.effort {
            Effort::Bounds => return Cost::default(),
            Effort::Optimal => (vec![Goal::Decide], single),
            Effort::Complete(limits) => (vec![Goal::Decide], limits),
            Effort::Minimize { limits, gap } if limits == Limits::default() => (vec![Goal::Minimize { gap }], limits),
            // Within limits the verdict comes first.
            Effort::Minimize { limits, gap } => (vec![Goal::Decide, Goal::Minimize { gap }], limits),
        };
        let clock = workspace.watch.clock().clone();
        let mut cost = Cost::default();
        for goal in goals {
            for at in pairs.likeliest() {
                // A perturbation found for one pair may have broken another.
                let broken = pairs.any_broken();
                if goal == Goal::Decide && (broken || pairs[at].is_settled()) {
                    continue;
                }
                let quest = Quest { goal, limits, clock: clock.clone(), proofs: self.settings.proofs };
                cost.add(search_pair(&self.prepared, at, quest, pairs, workspace));
            }
        }
        cost
    }

    /// Where neither bound is positive and no attack is known, mixes chord and capped bound per unit (see [`crate::bound::mixture`]). The
    /// attacker's answers are tried on the true network as well.
    fn mix_open_pairs(&self, pairs: &mut Pairs, workspace: &mut Workspace) {
        let Some(bounds) = self.activation_bounds().first() else { return };
        for at in 0..pairs.len() {
            if pairs.any_broken() || workspace.watch.is_late() {
                return;
            }
            if pairs[at].is_settled() {
                continue;
            }
            let objective = pairs.objective(at);
            workspace.hidden.load(&workspace.slice, &self.unperturbed()[0], bounds);
            workspace.multipliers.start(&workspace.slice, self.unperturbed());
            for round in 0..ROUNDS {
                let Workspace { slice, backward, relaxed, multipliers, hidden, .. } = workspace;
                if round == 0 || self.network().depth() > 3 {
                    let bounds = Located::Graph(self.activation_bounds());
                    backward.run_at(self.network(), slice, bounds, &objective, &multipliers.omega);
                }
                if round == 0 {
                    multipliers.anchored(hidden, backward);
                }
                relaxed.mixed(backward, hidden, &multipliers.weights);
                let bound = self.prepared.worst(workspace, &Decided::default()).lower();
                // A comparison with NaN is false: nothing is learnt from it.
                if bound > pairs[at].mixed {
                    pairs[at].mixed = bound;
                }
                let flips: Vec<Flip> = workspace.selection.flips().iter().map(|loss| loss.flip).collect();
                pairs.attack(flips, workspace);
                if self.settings.proofs && bound > 0.0 {
                    let (weights, omega) = (workspace.multipliers.weights.clone(), workspace.multipliers.omega.clone());
                    let leaf = leaf(&self.prepared, &objective, None, &weights, &omega, workspace);
                    pairs[at].proof = Ok(PairProof::leaf(leaf));
                }
                if pairs[at].is_settled() || pairs[at].attack.succeeds() || workspace.watch.was_late() {
                    break;
                }
                let Workspace { slice, backward, multipliers, hidden, selection, evaluator, .. } = workspace;
                let problem = (self.graph(), self.network(), &*slice);
                let attacked = |l: usize| evaluator.preactivations(l).to_vec();
                multipliers.answer(problem, hidden, backward, selection.flips(), attacked);
            }
        }
    }

    /// Local search where a pair is neither settled nor broken, the most promising first, until one is broken.
    fn improve_attacks(&self, pairs: &mut Pairs, workspace: &mut Workspace) {
        for at in pairs.likeliest() {
            if pairs.any_broken() || workspace.watch.is_late() {
                return;
            }
            if pairs[at].is_settled() {
                continue;
            }
            let objective = pairs.objective(at);
            let mut flips = pairs[at].attack.flips.clone();
            local::improve(&self.prepared, &objective, &mut flips, workspace);
            pairs.attack(flips, workspace);
        }
    }

    /// What the pairs show of the target, and what that rests on.
    fn conclude(
        &self,
        target: Target,
        pairs: &Pairs,
        cost: Cost,
        workspace: &Workspace,
    ) -> (NodeResult, Option<usize>) {
        let certifies = |relaxation: Relaxation| {
            let evaluated = self.settings.bound.relaxations().contains(&relaxation);
            evaluated.then(|| pairs.iter().all(|pair| pair.positive[relaxation as usize]))
        };
        let (paper, anchored) = (certifies(Relaxation::Paper), certifies(Relaxation::Anchored));
        // A class that is larger says more than one that is as large, even where floats see no difference.
        let broken = pairs.likeliest().into_iter().map(|at| &pairs[at]).filter(|pair| pair.attack.succeeds());
        let breaks = broken.min_by_key(|pair| pair.attack.sign);
        let witness = breaks.map(|pair| &pair.attack);
        let late = workspace.watch.was_late();
        let gave_up = late || cost.gave_up && !matches!(self.settings.effort, Effort::Optimal);
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
            None if gave_up => (Verdict::Undecided, Reason::Limit),
            None => (Verdict::Undecided, Reason::BoundNotPositive),
        };
        let mut result = NodeResult {
            node: target.node,
            reference: target.reference,
            predicted: target.predicted,
            neighbourhood: workspace.slice.nodes(1).len(),
            verdict,
            reason,
            paper_certifies: paper,
            anchored_certifies: anchored,
            margins: pairs.iter().map(margin).collect(),
            minima: pairs.iter().map(minimum).collect(),
            search_nodes: cost.nodes,
            masters: cost.masters,
            limit_hit: gave_up,
            witness: witness.map_or_else(Vec::new, |attack| sorted(attack.flips.clone())),
            deployed: None,
            evidence: None,
            contradiction: self.contradiction(target, pairs),
        };
        result.evidence = self.settings.proofs.then(|| evidence(&result, pairs, breaks));
        (result, breaks.map(|pair| pair.class))
    }
}

impl Certifier {
    /// Two steps that say different things of a pair, or a perturbation that the budget does not allow.
    fn contradiction(&self, target: Target, pairs: &[Pair]) -> Option<Contradiction> {
        pairs.iter().find_map(|pair| {
            let subject = Subject::Pair { node: target.node, reference: target.reference, class: pair.class };
            let attack = &pair.attack;
            let replayed = || format!("{} flips with a margin of {:e}", attack.flips.len(), attack.margin.upper());
            let refuted = pair.refuted().map(|bound| Contradiction::new(subject, bound, replayed()));
            refuted.or_else(|| {
                let admitted = self.budget().admits(self.graph(), &attack.flips);
                (!admitted).then(|| Contradiction::new(subject, replayed(), "the budget, which does not admit them"))
            })
        })
    }
}

/// What is known of a pair's worst-case margin, in floats.
fn margin(pair: &Pair) -> Margin {
    let lower = match (pair.minimized, pair.is_settled()) {
        (true, _) => pair.attack.lower(),
        (_, true) => pair.lower().max(0.0),
        _ => pair.lower(),
    };
    Margin { class: pair.class, lower, upper: pair.attack.margin.upper() }
}

/// A pair's worst-case margin, if it is known exactly.
fn minimum(pair: &Pair) -> Option<Minimum> {
    let margin = pair.attack.exact.clone().filter(|_| pair.minimized)?;
    Some(Minimum { margin, flips: sorted(pair.attack.flips.clone()) })
}

/// The claim that the pairs of a node show, with its proof.
fn evidence(result: &NodeResult, pairs: &[Pair], breaks: Option<&Pair>) -> Evidence {
    let claim = match (result.verdict, breaks) {
        (Verdict::Robust, _) => {
            let trees = pairs.iter().map(|pair| {
                // Where no bound was kept, the checker is asked about the capped bound, and splits are added as needed.
                let capped = || PairProof::leaf(Leaf { cap: true, ..Leaf::default() });
                let PairProof(tree) = pair.proof.clone().unwrap_or_else(|_| capped());
                ClassProof { class: pair.class as u32, tree }
            });
            Ok(Claim::Robust(trees.collect()))
        }
        (Verdict::NonRobust, Some(pair)) => {
            let flips = result.witness.iter().map(|&flip| flip.into()).collect();
            Ok(Claim::NonRobust(Witness { class: pair.class as u32, flips }))
        }
        _ => Err(Missing::Undecided),
    };
    let missing = pairs.iter().find_map(|pair| pair.proof.as_ref().err().copied());
    Evidence { claim, missing: missing.filter(|_| result.verdict == Verdict::Robust) }
}
