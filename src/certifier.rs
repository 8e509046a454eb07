//! The certifier: from a graph, a network and a budget to a verdict for every node.

use std::cmp::Ordering;

use rayon::prelude::*;

use crate::attribute::Attributes;
use crate::bounds::{self, LayerBounds};
use crate::budget::Budget;
use crate::dual::{Backward, Relaxed};
use crate::exact::{ExactProblem, Relaxation};
use crate::forward::{Representation, forward};
use crate::graph::Graph;
use crate::mixture::Weights;
use crate::model::Gcn;
use crate::rounding::{Enclosure, error_of};
use crate::selection::{Flip, Selection, Slopes};
use crate::slice::Slice;
use crate::verdict::{Margin, NodeResult, Reason, Verdict};
use crate::witness::{Evaluator, LocalSearch, Problem};

/// Which bounds are evaluated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Bound {
    /// The paper's dual at its default `Ω`.
    Paper,
    /// The anchored bound.
    Anchored,
    /// Both, the better for each class pair.
    #[default]
    Best,
}

impl Bound {
    fn relaxations(self) -> &'static [Relaxation] {
        match self {
            Bound::Paper => &[Relaxation::Paper],
            Bound::Anchored => &[Relaxation::Anchored],
            Bound::Best => &[Relaxation::Paper, Relaxation::Anchored],
        }
    }
}

/// A graph, a network and a budget, with everything that all targets share: the unperturbed forward pass, the
/// activation bounds and the ordered attributes. Shared by all threads; each brings its own [`Workspace`].
pub struct Certifier<'a> {
    graph: &'a Graph,
    gcn: &'a Gcn,
    budget: Budget,
    bound: Bound,
    attributes: Attributes,
    unperturbed: Vec<Representation>,
    bounds: Vec<LayerBounds>,
}

/// The buffers of one thread: nothing is allocated per target once they have grown.
#[derive(Debug, Default)]
pub struct Workspace {
    slice: Slice,
    backward: Backward,
    relaxed: Relaxed,
    slopes: Slopes,
    selection: Selection,
    evaluator: Evaluator,
    search: LocalSearch,
    weights: Weights,
}

/// How often the weights of a mixture are adjusted before it is given up.
const ROUNDS: usize = 12;

/// The best perturbation known against one class.
struct Attack {
    margin: Enclosure,
    flips: Vec<Flip>,
}

impl<'a> Certifier<'a> {
    /// Does all the work that does not depend on a target.
    pub fn new(graph: &'a Graph, gcn: &'a Gcn, budget: Budget, bound: Bound) -> Certifier<'a> {
        let unperturbed = forward(graph, gcn);
        let attributes = Attributes::new(&gcn.layers()[0].weight, &budget);
        let mut certifier = Certifier { graph, gcn, budget, bound, attributes, unperturbed, bounds: Vec::new() };
        certifier.bound_activations();
        certifier
    }

    /// The same problem under another global budget; what does not depend on it is kept.
    pub fn with_global(mut self, global: usize) -> Certifier<'a> {
        self.budget = self.budget.with_global(global);
        self.bounds.clear();
        self.bound_activations();
        self
    }

    fn bound_activations(&mut self) {
        for l in 2..self.gcn.depth() {
            let bounds = if l == 2 {
                bounds::first_hidden(self.graph, self.gcn, &self.budget, &self.unperturbed[0])
            } else {
                self.tighten(l, bounds::propagate(&self.gcn.layers()[l - 2], &self.bounds[l - 3]))
            };
            self.bounds.push(bounds);
        }
    }

    /// The bound of a hidden unit is a certificate problem with that unit as the target: the better of that and of the
    /// propagated interval is kept. Units that already are surely active or inactive gain nothing and are skipped.
    fn tighten(&self, l: usize, mut bounds: LayerBounds) -> LayerBounds {
        let width = bounds.width;
        let rows = bounds.lower.par_chunks_mut(width).zip(bounds.upper.par_chunks_mut(width));
        rows.enumerate().for_each_init(Workspace::default, |workspace, (node, (lower, upper))| {
            if lower.iter().zip(upper.iter()).all(|(&r, &s)| r >= 0.0 || s <= 0.0) {
                return;
            }
            workspace.slice.cut(self.gcn, l, node);
            workspace.selection.forget();
            for unit in 0..width {
                if lower[unit] >= 0.0 || upper[unit] <= 0.0 {
                    continue;
                }
                for (sign, slot) in [(1.0, &mut lower[unit]), (-1.0, &mut upper[unit])] {
                    workspace.backward.run(self.gcn, &workspace.slice, &self.bounds, &[(unit, sign)]);
                    for relaxation in [Relaxation::Paper, Relaxation::Anchored] {
                        let bound = sign * self.evaluate(workspace, relaxation).lower();
                        // A comparison with NaN is false: the interval stays.
                        if sign * bound > sign * *slot {
                            *slot = bound;
                        }
                    }
                }
            }
        });
        bounds
    }

    /// The graph.
    pub fn graph(&self) -> &'a Graph {
        self.graph
    }

    /// The network.
    pub fn gcn(&self) -> &'a Gcn {
        self.gcn
    }

    /// The budget.
    pub fn budget(&self) -> &Budget {
        &self.budget
    }

    /// `R` and `S` of representations `2 … L−1`.
    pub fn activation_bounds(&self) -> &[LayerBounds] {
        &self.bounds
    }

    /// `Ĥ(2) … Ĥ(L)` without perturbation.
    pub fn unperturbed(&self) -> &[Representation] {
        &self.unperturbed
    }

    /// The class with the largest exact logit; the smallest number among equals.
    pub fn predicted(&self, node: usize) -> usize {
        let logits = &self.unperturbed[self.gcn.depth() - 2];
        logits.clear_maximum(node).unwrap_or_else(|| {
            let mut slice = Slice::default();
            slice.cut(self.gcn, self.gcn.depth(), node);
            let problem = ExactProblem { graph: self.graph, gcn: self.gcn, slice: &slice };
            (1..self.gcn.class_count()).fold(0, |best, class| {
                let ahead = problem.objective(&[(class, 1.0), (best, -1.0)], &[]);
                if ahead.sign() == Ordering::Greater { class } else { best }
            })
        })
    }

    /// How many nodes' attributes the logits of a node depend on.
    pub fn neighbourhood(&self, node: usize) -> usize {
        let mut slice = Slice::default();
        slice.cut(self.gcn, self.gcn.depth(), node);
        slice.nodes(1).len()
    }

    /// Certifies a node for its predicted class.
    pub fn certify(&self, node: usize, workspace: &mut Workspace) -> NodeResult {
        let predicted = self.predicted(node);
        self.certify_class(node, predicted, predicted, workspace)
    }

    /// Certifies that a node keeps the class `reference`.
    pub fn certify_class(
        &self,
        node: usize,
        reference: usize,
        predicted: usize,
        workspace: &mut Workspace,
    ) -> NodeResult {
        workspace.slice.cut(self.gcn, self.gcn.depth(), node);
        workspace.evaluator.prepare(&workspace.slice);
        workspace.selection.forget();
        let logits = &self.unperturbed[self.gcn.depth() - 2];
        let mut pairs: Vec<Pair> = (0..self.gcn.class_count())
            .filter(|&class| class != reference)
            .map(|class| Pair {
                class,
                lower: [f64::NEG_INFINITY; 2],
                mixed: f64::NEG_INFINITY,
                attack: Attack {
                    margin: difference(logits.entry(node, reference), logits.entry(node, class)),
                    flips: Vec::new(),
                },
            })
            .collect();
        for at in 0..pairs.len() {
            self.bound_pair(reference, at, &mut pairs, workspace);
        }
        if self.bound == Bound::Best {
            self.mix_open_pairs(reference, &mut pairs, workspace);
        }
        let witness = self.find_witness(reference, &mut pairs, workspace);
        self.conclude(node, reference, predicted, pairs, witness, workspace)
    }

    /// The bound of one class pair by one relaxation alone, without a search for attacks: what the laboratory measures.
    pub fn bound_alone(
        &self,
        node: usize,
        (reference, class): (usize, usize),
        relaxation: Relaxation,
        workspace: &mut Workspace,
    ) -> Enclosure {
        workspace.slice.cut(self.gcn, self.gcn.depth(), node);
        workspace.selection.forget();
        workspace.backward.run(self.gcn, &workspace.slice, &self.bounds, &[(reference, 1.0), (class, -1.0)]);
        self.evaluate(workspace, relaxation)
    }

    /// Evaluates the bounds of one class pair, and tries what they select on the true network against all classes.
    fn bound_pair(&self, reference: usize, at: usize, pairs: &mut [Pair], workspace: &mut Workspace) {
        let objective = [(reference, 1.0), (pairs[at].class, -1.0)];
        workspace.backward.run(self.gcn, &workspace.slice, &self.bounds, &objective);
        for &relaxation in self.bound.relaxations() {
            let bound = self.evaluate(workspace, relaxation);
            let mut lower = bound.lower();
            // Neither surely positive nor surely not: only exact arithmetic can tell.
            if !(lower > 0.0 || bound.upper() <= 0.0) {
                let exact = self.exact(workspace).lower_bound(&self.budget, &self.bounds, &objective, relaxation);
                lower = exact.map_or(f64::NEG_INFINITY, |exact| exact.floor_f64());
            }
            pairs[at].lower[relaxation as usize] = lower;
            let flips: Vec<Flip> = workspace.selection.flips().iter().map(|loss| loss.flip).collect();
            self.attack(reference, pairs, flips, workspace);
        }
    }

    /// Where neither bound is positive and no attack is known, mixes the two per unit (see [`crate::mixture`]). The
    /// attacker's answers are tried on the true network as well.
    fn mix_open_pairs(&self, reference: usize, pairs: &mut [Pair], workspace: &mut Workspace) {
        let Some(bounds) = self.bounds.first() else { return };
        for at in 0..pairs.len() {
            if pairs.iter().any(|pair| pair.attack.margin.value <= 0.0) {
                return;
            }
            if pairs[at].lower() > 0.0 {
                continue;
            }
            let objective = [(reference, 1.0), (pairs[at].class, -1.0)];
            workspace.weights.start(&workspace.slice, &self.unperturbed);
            for round in 0..ROUNDS {
                let Workspace { slice, backward, relaxed, weights, .. } = workspace;
                if round == 0 || self.gcn.depth() > 3 {
                    backward.run_at(self.gcn, slice, &self.bounds, &objective, weights.omega());
                }
                if round == 0 {
                    weights.anchored(slice, &self.unperturbed[0], backward);
                }
                relaxed.mixed(backward, slice, &self.unperturbed[0], bounds, weights);
                let bound = self.worst(workspace).lower();
                // A comparison with NaN is false: nothing is learnt from it.
                if bound > pairs[at].mixed {
                    pairs[at].mixed = bound;
                }
                let flips: Vec<Flip> = workspace.selection.flips().iter().map(|loss| loss.flip).collect();
                self.attack(reference, pairs, flips, workspace);
                if pairs[at].lower() > 0.0 || pairs[at].attack.margin.value <= 0.0 {
                    break;
                }
                let Workspace { slice, backward, weights, selection, evaluator, .. } = workspace;
                let problem = (self.graph, self.gcn, &*slice);
                let attacked = |l: usize| evaluator.preactivations(l).to_vec();
                weights.answer(problem, &self.unperturbed[0], bounds, backward, selection.flips(), attacked);
            }
        }
    }

    /// The relaxed objective minus the largest loss that the budget allows; the selection holds the flips.
    fn evaluate(&self, workspace: &mut Workspace, relaxation: Relaxation) -> Enclosure {
        let Workspace { slice, backward, relaxed, .. } = workspace;
        let unperturbed = &self.unperturbed[0];
        match (relaxation, self.bounds.first()) {
            (Relaxation::Anchored, Some(bounds)) if slice.top() > 2 => {
                relaxed.anchored(backward, slice, unperturbed, bounds);
            }
            // The linear model has nothing to relax: both bounds are the same, and exact.
            (_, bounds) => relaxed.paper(backward, slice, unperturbed, bounds.filter(|_| slice.top() > 2)),
        }
        self.worst(workspace)
    }

    /// The relaxed objective of the workspace minus the largest loss that the budget allows.
    fn worst(&self, workspace: &mut Workspace) -> Enclosure {
        let Workspace { slice, relaxed, slopes, selection, .. } = workspace;
        let loss_error = relaxed.spread(slice, self.unperturbed[0].width, self.attributes.norm(0), slopes);
        let loss = selection.select(self.graph, &self.budget, &self.attributes, slice, slopes);
        // Each of the flips that the budget allows may lose more than was computed, selected or not.
        let local: usize = slice.nodes(1).iter().map(|&n| self.budget.local(n as usize)).sum();
        let flips = local.min(self.budget.global());
        let mut total = relaxed.base;
        total.add(-loss);
        total.allow(flips as f64 * loss_error + error_of(selection.flips().len(), loss));
        total.close()
    }

    /// Replays a perturbation and keeps it for every class against which it is the best so far.
    fn attack(&self, reference: usize, pairs: &mut [Pair], flips: Vec<Flip>, workspace: &mut Workspace) {
        if flips.is_empty() {
            return;
        }
        let Workspace { evaluator, slice, .. } = workspace;
        let logits: Vec<Enclosure> = evaluator.logits(&self.problem(), slice, &flips).collect();
        for pair in pairs {
            let margin = difference(logits[reference], logits[pair.class]);
            if margin.value < pair.attack.margin.value {
                pair.attack = Attack { margin, flips: flips.clone() };
            }
        }
    }

    /// A class pair whose margin is not positive under the flips found, searching further where neither is known.
    /// Returns the pair and the exact margin's sign.
    fn find_witness(
        &self,
        reference: usize,
        pairs: &mut [Pair],
        workspace: &mut Workspace,
    ) -> Option<(usize, Ordering)> {
        // The most promising class first.
        let mut order: Vec<usize> = (0..pairs.len()).collect();
        order.sort_by(|&x, &y| pairs[x].attack.margin.value.total_cmp(&pairs[y].attack.margin.value));
        for &at in &order {
            if let Some(sign) = self.broken(reference, &mut pairs[at], workspace) {
                return Some((at, sign));
            }
        }
        for &at in &order {
            if pairs[at].lower() > 0.0 {
                continue;
            }
            let objective = [(reference, 1.0), (pairs[at].class, -1.0)];
            let mut flips = pairs[at].attack.flips.clone();
            let Workspace { search, evaluator, slice, .. } = workspace;
            search.improve(&self.problem(), slice, evaluator, &objective, &mut flips);
            self.attack(reference, pairs, flips, workspace);
            if let Some(sign) = self.broken(reference, &mut pairs[at], workspace) {
                return Some((at, sign));
            }
        }
        None
    }

    /// Is the margin surely not positive under the pair's best flips? What rounding leaves open is evaluated exactly.
    fn broken(&self, reference: usize, pair: &mut Pair, workspace: &Workspace) -> Option<Ordering> {
        let margin = pair.attack.margin;
        if margin.lower() > 0.0 {
            return None;
        }
        if margin.upper() < 0.0 {
            return Some(Ordering::Less);
        }
        let objective = [(reference, 1.0), (pair.class, -1.0)];
        let exact = self.exact(workspace).objective(&objective, &pair.attack.flips);
        pair.attack.margin = Enclosure { value: exact.ceil_f64(), error: 0.0 };
        (exact.sign() != Ordering::Greater).then_some(exact.sign())
    }

    fn conclude(
        &self,
        node: usize,
        reference: usize,
        predicted: usize,
        pairs: Vec<Pair>,
        witness: Option<(usize, Ordering)>,
        workspace: &Workspace,
    ) -> NodeResult {
        let certifies = |relaxation: Relaxation| {
            let evaluated = self.bound.relaxations().contains(&relaxation);
            evaluated.then(|| pairs.iter().all(|pair| pair.lower[relaxation as usize] > 0.0))
        };
        let (paper, anchored) = (certifies(Relaxation::Paper), certifies(Relaxation::Anchored));
        let (verdict, reason) = match witness {
            Some((_, Ordering::Equal)) => (Verdict::NonRobust, Reason::Tie),
            Some(_) => (Verdict::NonRobust, Reason::Witness),
            None if paper == Some(true) => (Verdict::Robust, Reason::PaperBound),
            None if anchored == Some(true) => (Verdict::Robust, Reason::AnchoredBound),
            None if pairs.iter().all(|pair| pair.lower() > 0.0) => (Verdict::Robust, Reason::MixedBounds),
            None => (Verdict::Undecided, Reason::BoundNotPositive),
        };
        NodeResult {
            node,
            reference,
            predicted,
            neighbourhood: workspace.slice.nodes(1).len(),
            verdict,
            reason,
            paper_certifies: paper,
            anchored_certifies: anchored,
            margins: pairs
                .iter()
                .map(|pair| Margin { class: pair.class, lower: pair.lower(), upper: pair.attack.margin.upper() })
                .collect(),
            witness: witness.map_or_else(Vec::new, |(at, _)| sorted(pairs[at].attack.flips.clone())),
        }
    }

    fn exact<'b>(&'b self, workspace: &'b Workspace) -> ExactProblem<'b> {
        ExactProblem { graph: self.graph, gcn: self.gcn, slice: &workspace.slice }
    }

    fn problem(&self) -> Problem<'_> {
        Problem {
            graph: self.graph,
            gcn: self.gcn,
            budget: &self.budget,
            attributes: &self.attributes,
            unperturbed: &self.unperturbed,
        }
    }
}

/// The state of one class pair.
struct Pair {
    class: usize,
    /// Lower bounds by [`Relaxation`].
    lower: [f64; 2],
    /// The best bound of any mixture.
    mixed: f64,
    attack: Attack,
}

impl Pair {
    fn lower(&self) -> f64 {
        self.lower[0].max(self.lower[1]).max(self.mixed)
    }
}

fn difference(x: Enclosure, y: Enclosure) -> Enclosure {
    let value = x.value - y.value;
    Enclosure { value, error: (x.error + y.error) * (1.0 + 1e-9) + error_of(1, value.abs()) }
}

fn sorted(mut flips: Vec<Flip>) -> Vec<Flip> {
    flips.sort_unstable();
    flips
}
