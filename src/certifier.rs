//! The certifier: from a graph, a network and a budget to a verdict for every node.

use std::cmp::Ordering;
use std::sync::Arc;

use rayon::prelude::*;

use crate::attribute::Attributes;
use crate::bounds::{self, Columns, LayerBounds};
use crate::budget::{Budget, Restriction};
use crate::dual::{Backward, Relaxed};
use crate::exact::{ExactProblem, Prepared, Relaxation, Sums};
use crate::forward::{Representation, forward};
use crate::graph::Graph;
use crate::hidden::Hidden;
use crate::mixture::Multipliers;
use crate::model::Gcn;
use crate::rounding::{Enclosure, error_of};
use crate::search::tree::Limits;
use crate::selection::{Selection, Slopes};
use crate::slice::Slice;
use crate::verdict::NodeResult;
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
    pub(crate) fn relaxations(self) -> &'static [Relaxation] {
        match self {
            Bound::Paper => &[Relaxation::Paper],
            Bound::Anchored => &[Relaxation::Anchored],
            Bound::Best => &[Relaxation::Paper, Relaxation::Anchored],
        }
    }
}

/// How far the certifier goes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Effort {
    /// Bounds at default multipliers, their mixtures, and witnesses.
    #[default]
    Bounds,
    /// In addition the optimum of the relaxation, by column generation, where that leaves a pair open.
    Optimal,
    /// In addition branch and price, until every node is decided.
    Complete(Limits),
    /// The worst-case margin of every class pair: exactly, or up to the gap.
    Minimise {
        /// When to give up.
        limits: Limits,
        /// Difference between lower and upper bound at which a pair is done, relative to the larger of the margins with and
        /// without attack; 0 asks for the exact minimum. The sign is decided in any case.
        gap: f64,
    },
}

/// A graph, a network and a budget, with everything that all targets share: the unperturbed forward pass, the
/// activation bounds and the ordered attributes. Shared by all threads; each brings its own [`Workspace`].
pub struct Certifier<'a> {
    graph: &'a Graph,
    gcn: &'a Gcn,
    budget: Budget,
    pub(crate) bound: Bound,
    pub(crate) effort: Effort,
    pub(crate) proving: bool,
    pub(crate) stopped: fn() -> bool,
    attributes: Arc<Attributes>,
    columns: Arc<Columns>,
    unperturbed: Arc<Vec<Representation>>,
    sums: Arc<Sums>,
    bounds: Vec<LayerBounds>,
}

/// The buffers of one thread: nothing is allocated per target once they have grown.
#[derive(Debug, Default)]
pub struct Workspace {
    pub(crate) slice: Slice,
    pub(crate) backward: Backward,
    pub(crate) relaxed: Relaxed,
    pub(crate) selection: Selection,
    pub(crate) evaluator: Evaluator,
    pub(crate) hidden: Hidden,
    pub(crate) multipliers: Multipliers,
    /// Activation bounds of the slice in a branch of a search.
    pub(crate) local_bounds: Vec<LayerBounds>,
    slopes: Slopes,
    pub(crate) search: LocalSearch,
    /// What exact arithmetic has prepared for the target.
    pub(crate) prepared: Prepared,
}

impl<'a> Certifier<'a> {
    /// Does all the work that does not depend on a target.
    pub fn new(graph: &'a Graph, gcn: &'a Gcn, budget: Budget, bound: Bound) -> Certifier<'a> {
        let unperturbed = Arc::new(forward(graph, gcn));
        let attributes = Arc::new(Attributes::new(&gcn.layers()[0].weight, &budget));
        let columns = Arc::new(Columns::new(gcn, &budget));
        let mut certifier = Certifier {
            graph,
            gcn,
            budget,
            bound,
            effort: Effort::Bounds,
            proving: false,
            stopped: || false,
            attributes,
            columns,
            unperturbed,
            sums: Arc::new(Sums::new(graph.node_count())),
            bounds: Vec::new(),
        };
        certifier.bound_activations();
        certifier
    }

    /// The same certifier with another effort.
    pub fn with_effort(mut self, effort: Effort) -> Certifier<'a> {
        self.effort = effort;
        self
    }

    /// The same certifier, whose searches give up as soon as `stopped` says so: the node is then undecided at a limit, and not
    /// to be taken for a result.
    pub fn with_stop(mut self, stopped: fn() -> bool) -> Certifier<'a> {
        self.stopped = stopped;
        self
    }

    /// The same certifier, which also keeps what each verdict rests on ([`NodeResult::evidence`]).
    pub fn with_proofs(mut self) -> Certifier<'a> {
        self.proving = true;
        self
    }

    /// The same problem under another global budget; what does not depend on it is shared.
    pub fn at_global(&self, global: usize) -> Certifier<'a> {
        let mut other = Certifier {
            budget: self.budget.clone().with_global(global),
            attributes: Arc::clone(&self.attributes),
            columns: Arc::clone(&self.columns),
            unperturbed: Arc::clone(&self.unperturbed),
            sums: Arc::clone(&self.sums),
            bounds: Vec::new(),
            ..*self
        };
        other.bound_activations();
        other
    }

    fn bound_activations(&mut self) {
        for l in 2..self.gcn.depth() {
            let bounds = if l == 2 {
                bounds::first_hidden(self.graph, self.gcn, &self.budget, &self.columns, &self.unperturbed[0])
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
            workspace.hidden.load(&workspace.slice, &self.unperturbed[0], &self.bounds[0]);
            for unit in 0..width {
                if lower[unit] >= 0.0 || upper[unit] <= 0.0 {
                    continue;
                }
                for (sign, slot) in [(1.0, &mut lower[unit]), (-1.0, &mut upper[unit])] {
                    workspace.backward.run(self.gcn, &workspace.slice, &self.bounds, &[(unit, sign)]);
                    let paper = self.evaluate(workspace, Relaxation::Paper);
                    for bound in [paper, self.evaluate_capped(workspace)] {
                        let bound = sign * bound.lower();
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

    /// The sorted columns of `W(1)`.
    pub fn columns(&self) -> &Columns {
        &self.columns
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
            let prepared = &mut Prepared::default();
            let mut problem =
                ExactProblem { graph: self.graph, gcn: self.gcn, slice: &slice, sums: &self.sums, prepared };
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

    /// The relaxed objective minus the largest loss that the budget allows; the selection holds the flips.
    pub(crate) fn evaluate(&self, workspace: &mut Workspace, relaxation: Relaxation) -> Enclosure {
        let Workspace { slice, backward, relaxed, .. } = workspace;
        let unperturbed = &self.unperturbed[0];
        match (relaxation, self.bounds.first()) {
            (Relaxation::Anchored, Some(bounds)) if slice.top() > 2 => {
                relaxed.anchored(backward, slice, unperturbed, bounds);
            }
            // The linear model has nothing to relax: both bounds are the same, and exact.
            (_, bounds) => relaxed.paper(backward, slice, unperturbed, bounds.filter(|_| slice.top() > 2)),
        }
        self.worst(workspace, &Restriction::default())
    }

    /// The same with every unit at the line that is exact at the unperturbed graph, capped; the hidden units are loaded.
    fn evaluate_capped(&self, workspace: &mut Workspace) -> Enclosure {
        let Workspace { backward, relaxed, hidden, multipliers, .. } = workspace;
        multipliers.anchored(hidden, backward);
        relaxed.mixed(backward, hidden, &multipliers.weights);
        self.worst(workspace, &Restriction::default())
    }

    /// The relaxed objective of the workspace minus the largest loss that the budget allows once some flips are fixed.
    pub(crate) fn worst(&self, workspace: &mut Workspace, restriction: &Restriction) -> Enclosure {
        let Workspace { slice, relaxed, slopes, selection, .. } = workspace;
        let loss_error = relaxed.spread(slice, self.unperturbed[0].width, self.attributes.norm(0), slopes);
        let loss = selection.select(&self.problem().field(restriction), slice, slopes);
        // Each of the flips that the budget allows may lose more than was computed, selected or not.
        let local: usize = slice.nodes(1).iter().map(|&n| self.budget.local(n as usize)).sum();
        let flips = local.min(self.budget.global());
        let mut total = relaxed.base;
        total.add(-loss);
        total.allow(flips as f64 * loss_error + error_of(selection.flips().len(), loss));
        total.close()
    }

    /// A lower bound of the relaxed objective over all perturbations but the one that was selected by the last
    /// [`worst`](Self::worst), if that one uses the whole budget: every other perturbation then leaves one of its flips out.
    /// `None` if the budget is not used up, or as soon as the bound is below `enough`.
    pub(crate) fn worst_of_others(
        &self,
        workspace: &mut Workspace,
        restriction: &Restriction,
        enough: f64,
    ) -> Option<f64> {
        let selection = std::mem::take(&mut workspace.selection);
        let mut selected = selection.flips().to_vec();
        // What loses least is missed least: its bound is the first to fail.
        selected.sort_by(|a, b| a.loss.total_cmp(&b.loss));
        let used_up = !selected.is_empty() && restriction.global(&self.budget) == Some(selected.len());
        let mut least = if used_up { f64::INFINITY } else { f64::NEG_INFINITY };
        for left_out in selected {
            // A comparison with NaN is false: then nothing is known.
            if !(least >= enough) {
                break;
            }
            let mut others = restriction.clone();
            others.spared.push(left_out.flip);
            let bound = self.worst(workspace, &others).lower();
            least = if bound < least || bound.is_nan() { bound } else { least };
        }
        workspace.selection = selection;
        (least >= enough).then_some(least)
    }

    /// The target of the workspace in exact arithmetic.
    pub(crate) fn exact<'b>(&'b self, slice: &'b Slice, prepared: &'b mut Prepared) -> ExactProblem<'b> {
        ExactProblem { graph: self.graph, gcn: self.gcn, slice, sums: &self.sums, prepared }
    }

    pub(crate) fn problem(&self) -> Problem<'_> {
        Problem {
            graph: self.graph,
            gcn: self.gcn,
            budget: &self.budget,
            attributes: &self.attributes,
            unperturbed: &self.unperturbed,
        }
    }
}
