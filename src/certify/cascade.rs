//! The steps that decide one node, in order: each is taken only for what the steps before have left open.
//!
//! Path bounds → of a whole graph, attacks and lists of few perturbations → the paper's and the anchored bound →
//! mixtures of chord and capped bound (with more than one hidden layer, capped at representation 3 too) → witnesses and
//! local search → column generation → branch and price.

use std::cmp::Ordering;
use std::time::Instant;

use gcnproof_check::format::{Claim, ClassProof, Leaf, Witness};

use crate::bound::backward::{AboveSecond, Located};
use crate::bound::exact::{BranchLines, First};
use crate::bound::mixture::Multipliers;
use crate::bound::relaxed::Relaxation;
use crate::bound::workspace::Workspace;
use crate::certify::certifier::{Certifier, Target};
use crate::certify::contradiction::{Contradiction, Subject};
use crate::certify::settings::{Bound, CertifierSettings, Effort, Margins};
use crate::certify::verdict::{FlipDetails, Margin, Minimum, NodeResult, Reason, Verdict};
use crate::number::dyadic::Dyadic;
use crate::problem::budget::Decided;
use crate::problem::flip::Flip;
use crate::problem::objective::Objective;
use crate::proof::leaf::{default_leaf, leaf};
use crate::proof::{Evidence, Missing, PairProof, is_doubtful};
use crate::search::branch_and_price::search_pair;
use crate::search::limits::{Clock, Limits, Watch};
use crate::search::listing::{few_flips, try_all};
use crate::search::local;
use crate::search::pair::{BestAttack, ClassPair, Pairs, difference, sorted};
use crate::search::pair_search::{Cost, SearchTask};
use crate::search::tree::SearchGoal;

/// Tree nodes of a search that nobody has asked for: so much is tried before a node is given up.
const TRIES: usize = 300;

/// How often the weights of a mixture are adjusted before it is given up.
const ROUNDS: usize = 12;

/// So many times as many perturbations are tried where a short search leaves a network with several hidden layers open,
/// since its branches take milliseconds; fewer where each has to be a leaf of a proof, which takes milliseconds as
/// well.
const INSTEAD_OF_SEARCH: [usize; 2] = [32, 4];

/// Tree nodes of that short search, for each class pair.
const SHORT: usize = 16;

impl Certifier {
    /// Decides a target for the class `reference` against some of the other classes.
    pub(super) fn decide(&self, target: Target, others: &[usize], workspace: &mut Workspace) -> NodeResult {
        if let Some(result) = self.decide_by_ranges(target, others) {
            return result;
        }
        let quickly = self.decide_quickly(target, others, workspace);
        quickly.unwrap_or_else(|| self.decide_by_bounds(target, others, workspace))
    }

    /// The steps that need no bounds of hidden units.
    pub(super) fn decide_quickly(
        &self,
        target: Target,
        others: &[usize],
        workspace: &mut Workspace,
    ) -> Option<NodeResult> {
        let robust = self.decide_by_paths(target, others, workspace);
        robust.or_else(|| self.decide_by_trying(target, others, workspace))
    }

    /// Are path bounds the first step? Not where other bounds are asked for by name or for their numbers.
    pub(super) fn takes_paths(&self) -> bool {
        let CertifierSettings { bound, margins, effort, .. } = &self.settings;
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
        let robust = self.robust_by_paths(target, others, &lower, workspace);
        if self.settings.deployed.is_some() {
            // Its own errors are those of the slice with its operators.
            workspace.slice.cut(self.network(), self.network().depth(), target.node);
        }
        let mut result = self.deploy_by_far(robust, self.margin_errors(target, others), workspace)?;
        if self.settings.proofs {
            self.prove_paths(&mut result, target, others, workspace);
        }
        Some(result)
    }

    /// With one hidden layer the anchored bound is at least the path bound (docs/math.md §17), and its leaf says
    /// nothing but its name. Deeper networks need multipliers: those of the bounds that the later steps evaluate, or,
    /// where these show less than paths, the capped leaf.
    fn prove_paths(&self, result: &mut NodeResult, target: Target, others: &[usize], workspace: &mut Workspace) {
        let mut leaf = Leaf { dual: self.dual_from(Relaxation::Anchored), ..Leaf::default() };
        if self.network().depth() > 3 {
            let later = self.decide_by_bounds(target, others, workspace);
            match later.verdict {
                Verdict::Robust => {
                    result.evidence = later.evidence;
                    return;
                }
                Verdict::NonRobust => {
                    let flips = format!("a perturbation of {} flips", later.witness.len());
                    let node = Subject::Node(target.node);
                    result.contradiction = Some(Contradiction::new(node, flips, "the path bounds"));
                }
                Verdict::Undecided => {}
            }
            leaf = Leaf { cap: true, ..Leaf::default() };
        }
        let tree = |&class: &usize| ClassProof { class: class as u32, tree: PairProof::leaf(leaf.clone()).0 };
        let claim = Ok(Claim::Robust(others.iter().map(tree).collect()));
        result.evidence = Some(Evidence { claim, missing: None });
    }

    /// The second step, of a whole graph alone: bounds of its units serve no other target, and take longer than an
    /// attack, or than all perturbations where there are few. Nothing if that leaves it open, or if it takes a bound to
    /// prove what it shows.
    fn decide_by_trying(&self, target: Target, others: &[usize], workspace: &mut Workspace) -> Option<NodeResult> {
        if !self.takes_paths() || self.graph().batch().is_none() || self.settings.deployed.is_some() {
            return None;
        }
        self.prepared.set_target(target.node, workspace);
        workspace.watch = Watch::new(self.clock(1));
        let mut pairs = Pairs::new(&self.prepared, target.node, target.reference, others, false, workspace);
        self.improve_attacks(&mut pairs, workspace);
        self.list_few(self.settings.listing, &mut pairs, workspace);
        if !pairs.any_broken() && (self.settings.proofs || !pairs.listed) {
            return None;
        }
        let (result, _) = self.conclude(target, &pairs, Cost::default(), workspace);
        Some(self.finished(result, &pairs, workspace))
    }

    /// Tries all perturbations of a whole graph if there are at most `most` and none of them is known to break a pair.
    fn list_few(&self, most: usize, pairs: &mut Pairs, workspace: &mut Workspace) {
        if self.graph().batch().is_some()
            && !pairs.any_broken()
            && let Some(flips) = few_flips(&self.prepared, workspace, most)
        {
            try_all(&self.prepared, &flips, self.settings.proofs, pairs, workspace);
        }
    }

    /// Where a short search of a network with several hidden layers leaves a whole graph open, all perturbations are
    /// tried if they are not too many.
    fn list_instead_of_search(&self, clock: &Clock, pairs: &mut Pairs, workspace: &mut Workspace) -> Cost {
        let Effort::Complete(limits) = self.settings.effort else { return Cost::default() };
        let most = self.settings.listing.saturating_mul(INSTEAD_OF_SEARCH[usize::from(self.settings.proofs)]);
        let open = |pairs: &Pairs| !pairs.any_broken() && !pairs.iter().all(ClassPair::is_settled);
        let deep = self.network().depth() > 3 && self.graph().batch().is_some() && self.settings.deployed.is_none();
        if !deep || !open(pairs) || few_flips(&self.prepared, workspace, most).is_none() {
            return Cost::default();
        }
        let short = Limits { nodes: limits.nodes.min(SHORT), ..limits };
        let cost = self.search_for(SearchGoal::Decide, short, clock, pairs, workspace);
        if open(pairs) {
            self.list_few(most, pairs, workspace);
        }
        // Whether it met its limits is for the search that follows to say.
        Cost { gave_up: false, ..cost }
    }

    /// All other steps. As deployed, they aim at margins beyond the rounding error, which are positive all the more.
    pub(super) fn decide_by_bounds(&self, target: Target, others: &[usize], workspace: &mut Workspace) -> NodeResult {
        let minimizing = matches!(self.settings.effort, Effort::Minimize { .. });
        let clock = self.clock(1);
        self.prepared.set_target(target.node, workspace);
        workspace.watch = Watch::new(clock.clone());
        let mut pairs = Pairs::new(&self.prepared, target.node, target.reference, others, minimizing, workspace);
        let errors = self.margin_errors(target, others);
        for (pair, &error) in pairs.iter_mut().zip(errors.iter().flatten()) {
            // Where nothing is known of an error, nothing is aimed at.
            pair.error = if error.is_finite() { error } else { 0.0 };
        }
        pairs.aim(|pair| pair.error, workspace);
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
        if !minimizing && !pairs.iter().all(ClassPair::is_settled) {
            self.list_few(self.settings.listing, &mut pairs, workspace);
            cost = self.list_instead_of_search(&clock, &mut pairs, workspace);
        }
        if !self.is_additive() {
            cost.add(self.search(&clock, &mut pairs, workspace));
        } else if minimizing {
            self.minimize_linear(&mut pairs, workspace);
        }
        let (mut result, broken) = self.conclude(target, &pairs, cost, workspace);
        if let Some(errors) = errors {
            self.deploy(&mut result, broken, errors, &clock, &mut pairs, workspace);
        }
        self.finished(result, &pairs, workspace)
    }

    /// A result whose witness has no flip that it does not need.
    pub(super) fn finished(&self, mut result: NodeResult, pairs: &Pairs, workspace: &mut Workspace) -> NodeResult {
        self.shorten(&mut result, pairs, workspace);
        workspace.watch = Watch::default();
        if !self.budget().admits(self.graph(), &result.witness) {
            let (node, flips) = (Subject::Node(result.node), format!("a witness of {} flips", result.witness.len()));
            result.contradiction = Some(Contradiction::new(node, flips, "the budget, which does not admit them"));
        }
        result
    }

    /// When the work on so many targets must end. A limit beyond the end of time is none.
    pub(super) fn clock(&self, targets: usize) -> Clock {
        let limit = self.settings.effort.limits().unwrap_or_default().time;
        let time = limit.checked_mul(u32::try_from(targets).unwrap_or(u32::MAX));
        let deadline = time.and_then(|time| Instant::now().checked_add(time));
        Clock { deadline, stop: self.settings.stop.clone() }
    }

    /// A node that is robust by path bounds: nothing else is evaluated.
    fn robust_by_paths(&self, target: Target, others: &[usize], lower: &[f64], workspace: &Workspace) -> NodeResult {
        let logits = self.prepared.unperturbed_logits();
        let reference = logits.entry(target.node, target.reference);
        let margin = |(&class, &lower): (&usize, &f64)| {
            let upper = difference(reference, logits.entry(target.node, class)).upper();
            Margin { class, lower, upper }
        };
        NodeResult {
            node: target.node,
            reference: target.reference,
            predicted: target.predicted,
            relevant: workspace.slice.nodes(1).len(),
            verdict: Verdict::Robust,
            reason: Reason::PathBound,
            margins: others.iter().zip(lower).map(margin).collect(),
            minima: vec![None; others.len()],
            search_nodes: 0,
            limit_hit: false,
            witness: Vec::new(),
            deployed: None,
            evidence: None,
            details: FlipDetails::default(),
            contradiction: None,
        }
    }

    /// Evaluates the bounds of one class pair, and tries what they select on the true network against all classes.
    fn bound_pair(&self, at: usize, pairs: &mut Pairs, workspace: &mut Workspace) {
        let objective = pairs.objective(at);
        workspace.backward.run(self.network(), &workspace.slice, self.activation_bounds(), &objective);
        for &relaxation in self.settings.bound.relaxations() {
            let bound = self.prepared.evaluate(workspace, relaxation);
            let (mut lower, error) = (bound.lower(), pairs[at].error);
            let (mut positive, mut clear) = (lower > 0.0, lower > error);
            // Neither surely above 0 and the error nor surely not: only exact arithmetic can tell.
            if !((positive || bound.upper() <= 0.0) && (clear || bound.upper() <= error)) {
                let exact = self.exact_bound(&objective, relaxation, workspace);
                let exceeds = |number: f64| exact.as_ref().is_some_and(|(exact, _)| *exact > Dyadic::from_f64(number));
                (positive, clear) = (exceeds(0.0), exceeds(error));
                lower = exact.as_ref().map_or(f64::NEG_INFINITY, |(exact, _)| exact.floor_f64());
                // What attains the exact bound may be another perturbation than what seems to in f64.
                pairs.attack(exact.map_or_else(Vec::new, |(_, flips)| flips), workspace);
            }
            let pair = &mut pairs[at];
            pair.lower[relaxation as usize] = lower;
            pair.positive[relaxation as usize] = positive;
            if positive {
                pair.exceeded = pair.exceeded.max(if clear { error } else { 0.0 });
            }
            // The later relaxation has the smaller proof, unless it only just holds.
            if self.settings.proofs && clear && (pair.proof.is_err() || !is_doubtful(bound, error)) {
                pair.proof = Ok(PairProof::leaf(default_leaf(&self.prepared, self.dual_from(relaxation), workspace)));
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
        let lines = BranchLines {
            decided: &Decided::default(),
            bounds: Located::Graph(self.activation_bounds()),
            first: First::Default(relaxation),
            omega: &[],
            signs: &[],
            hint: &hint,
        };
        self.prepared.exact(slice, exact).until(watch).lower_bound(self.budget(), objective, &lines)
    }

    /// Is a margin the sum of what single flips change, whichever of them are made? Not with hidden units, nor where a
    /// flip changes a whole row or rules out others.
    pub(super) fn is_additive(&self) -> bool {
        self.network().depth() == 2 && !self.graph().normalisation().is_some() && !self.budget().has_categories()
    }

    /// Where margins are additive nothing is relaxed: the exact bound is attained.
    pub(super) fn minimize_linear(&self, pairs: &mut Pairs, workspace: &mut Workspace) {
        for at in 0..pairs.len() {
            let objective = pairs.objective(at);
            let Some((bound, flips)) = self.exact_bound(&objective, Relaxation::Paper, workspace) else { continue };
            pairs.attack(flips, workspace);
            pairs.settle(at, workspace);
            pairs[at].minimized = pairs[at].attack.exact.as_ref().is_some_and(|margin| *margin <= bound);
            let pair = &mut pairs[at];
            if pair.minimized && !pair.is_broken() {
                pair.exceeded = pair.exceeded.max(pair.goal());
            }
        }
    }

    /// From which layer upward a relaxation has the multipliers of the dual.
    fn dual_from(&self, relaxation: Relaxation) -> Option<u32> {
        let first = if relaxation == Relaxation::Paper { 2 } else { 3 };
        ((first as usize) < self.network().depth()).then_some(first)
    }

    /// Goes on where the bounds have left a pair open, as far as the effort allows. Pairs with the likeliest attack
    /// come first, and the first witness ends it unless the exact margins are asked for.
    fn search(&self, clock: &Clock, pairs: &mut Pairs, workspace: &mut Workspace) -> Cost {
        let single = Limits { nodes: 1, ..Limits::default() };
        let (goals, limits) = match self.settings.effort {
            Effort::Bounds => (Vec::new(), single),
            Effort::Optimal => (vec![SearchGoal::Decide], single),
            Effort::Complete(limits) => (vec![SearchGoal::Decide], limits),
            Effort::Minimize { limits, gap } if limits == Limits::default() => {
                (vec![SearchGoal::Minimize { gap }], limits)
            }
            // Within limits the verdict comes first.
            Effort::Minimize { limits, gap } => (vec![SearchGoal::Decide, SearchGoal::Minimize { gap }], limits),
        };
        // That of the exact network.
        if limits != Limits::default() {
            pairs.aim(|_| 0.0, workspace);
        }
        let mut cost = Cost::default();
        for goal in goals {
            cost.add(self.search_for(goal, limits, clock, pairs, workspace));
        }
        pairs.aim(|pair| pair.error, workspace);
        if pairs.iter().all(ClassPair::is_settled) {
            let further = self.search_for(SearchGoal::Decide, self.further(), clock, pairs, workspace);
            // Whoever asked for no search has not met its limits.
            cost.add(Cost { gave_up: false, ..further });
        }
        cost
    }

    /// Limits of a search that only the network as it runs needs.
    pub(super) fn further(&self) -> Limits {
        self.settings.effort.limits().unwrap_or(Limits { nodes: TRIES, ..Limits::default() })
    }

    /// Searches all pairs for one goal.
    fn search_for(
        &self,
        goal: SearchGoal,
        limits: Limits,
        clock: &Clock,
        pairs: &mut Pairs,
        workspace: &mut Workspace,
    ) -> Cost {
        let mut cost = Cost::default();
        for at in pairs.likeliest() {
            // A perturbation found for one pair may have broken another.
            if goal == SearchGoal::Decide && (pairs.any_broken() || pairs[at].is_done()) {
                continue;
            }
            let task = SearchTask { goal, limits, clock: clock.clone(), proofs: self.settings.proofs };
            cost.add(search_pair(&self.prepared, at, task, pairs, workspace));
        }
        cost
    }

    /// Where neither bound is large enough and no attack is known, mixes chord and capped bound per unit (see
    /// [`crate::bound::mixture`]). The attacker's answers are tried on the true network as well.
    fn mix_open_pairs(&self, pairs: &mut Pairs, workspace: &mut Workspace) {
        let Some(bounds) = self.activation_bounds().first() else { return };
        for at in 0..pairs.len() {
            if pairs.any_broken() || workspace.watch.is_late() {
                return;
            }
            if pairs[at].is_done() {
                continue;
            }
            let objective = pairs.objective(at);
            workspace.hidden.load(&workspace.slice, &self.unperturbed()[0], bounds);
            workspace.multipliers.start(&workspace.slice, self.unperturbed());
            if !self.graph().normalisation().is_some() {
                workspace.multipliers.bend(&workspace.slice, self.unperturbed());
            }
            for round in 0..ROUNDS {
                let Workspace { slice, backward, multipliers, hidden, .. } = &mut *workspace;
                if round == 0 || self.network().depth() > 3 {
                    let bounds = Located::Graph(self.activation_bounds());
                    let Multipliers { omega, chords, .. } = &*multipliers;
                    let above = AboveSecond { omega, signs: &[], chords };
                    backward.run_signed(self.network(), slice, bounds, &objective, above);
                }
                if round == 0 {
                    multipliers.anchored(hidden, backward);
                }
                let weights = std::mem::take(&mut multipliers.weights);
                self.prepared.mix(&weights, workspace);
                workspace.multipliers.weights = weights;
                let bound = self.prepared.worst(workspace, &Decided::default()).lower();
                // A comparison with NaN is false: nothing is learnt from it.
                if bound > pairs[at].mixed {
                    pairs[at].mixed = bound;
                }
                let flips: Vec<Flip> = workspace.selection.flips().iter().map(|loss| loss.flip).collect();
                pairs.attack(flips, workspace);
                if self.settings.proofs && bound > pairs[at].error {
                    let (weights, omega) = (workspace.multipliers.weights.clone(), workspace.multipliers.omega.clone());
                    let enough = pairs[at].error;
                    let leaf = leaf(&self.prepared, &objective, enough, None, &weights, &omega, workspace);
                    pairs[at].proof = Ok(PairProof::leaf(leaf));
                }
                if pairs[at].is_done() || pairs[at].attack.succeeds() || workspace.watch.was_late() {
                    break;
                }
                let Workspace { slice, backward, multipliers, hidden, selection, evaluator, .. } = workspace;
                let attacked = |l: usize| evaluator.preactivations(l).to_vec();
                multipliers.answer(self.prepared.problem(), slice, hidden, backward, selection.flips(), attacked);
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
            local::improve(&self.prepared, &objective, 0.0, &mut flips, workspace);
            pairs.attack(flips, workspace);
        }
    }

    /// What the pairs show of the target, and what that rests on.
    pub(super) fn conclude(
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
            Some(BestAttack { sign: Ordering::Equal, .. }) => (Verdict::NonRobust, Reason::Tie),
            Some(_) => (Verdict::NonRobust, Reason::Witness),
            None if paper == Some(true) => (Verdict::Robust, Reason::PaperBound),
            None if anchored == Some(true) => (Verdict::Robust, Reason::AnchoredBound),
            None if pairs.iter().all(ClassPair::is_settled) => match cost {
                _ if pairs.listed => (Verdict::Robust, Reason::Listed),
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
            relevant: workspace.slice.nodes(1).len(),
            verdict,
            reason,
            margins: pairs.iter().map(margin).collect(),
            minima: pairs.iter().map(minimum).collect(),
            search_nodes: cost.nodes,
            limit_hit: gave_up,
            witness: witness.map_or_else(Vec::new, |attack| sorted(attack.flips.clone())),
            deployed: None,
            evidence: None,
            details: FlipDetails {
                paper_certifies: paper,
                anchored_certifies: anchored,
                masters: cost.masters,
                values: None,
                claim: None,
            },
            contradiction: self.contradiction(target, pairs),
        };
        let cap = !self.graph().normalisation().is_some();
        result.evidence = self.settings.proofs.then(|| evidence(&result, pairs, breaks, cap));
        (result, breaks.map(|pair| pair.class))
    }
}

impl Certifier {
    /// Two steps that say different things of a pair, or a perturbation that the budget does not allow.
    fn contradiction(&self, target: Target, pairs: &[ClassPair]) -> Option<Contradiction> {
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
pub(super) fn margin(pair: &ClassPair) -> Margin {
    let lower = match (pair.minimized, pair.is_settled()) {
        (true, _) => pair.attack.lower(),
        (_, true) => pair.lower().max(0.0),
        _ => pair.lower(),
    };
    Margin { class: pair.class, lower, upper: pair.attack.margin.upper() }
}

/// A pair's worst-case margin, if it is known exactly.
fn minimum(pair: &ClassPair) -> Option<Minimum> {
    let margin = pair.attack.exact.clone().filter(|_| pair.minimized)?;
    Some(Minimum { margin, changes: sorted(pair.attack.flips.clone()) })
}

/// The claim that the pairs of a node show, with its proof.
fn evidence(result: &NodeResult, pairs: &[ClassPair], breaks: Option<&ClassPair>, cap: bool) -> Evidence {
    let claim = match (result.verdict, breaks) {
        (Verdict::Robust, _) => {
            let trees = pairs.iter().map(|pair| {
                // Where no bound was kept, the checker is asked about the bound that is exact at the anchor, capped
                // where that is possible, and splits are added as needed.
                let capped = || PairProof::leaf(Leaf { cap, ..Leaf::default() });
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
