//! A problem with everything that all targets share, and the bounds of one target that are read off it.

use std::cmp::Ordering;
use std::sync::{Arc, OnceLock};

use rayon::prelude::*;

use crate::bound::activation::{self, Columns};
use crate::bound::attributes::Attributes;
use crate::bound::backward::Located;
use crate::bound::hidden::Hidden;
use crate::bound::layer_bounds::LayerBounds;
use crate::bound::line::capped::Cap;
use crate::bound::nested::{Nested, NestedUnit};
use crate::bound::path::Paths;
use crate::bound::relaxed::Relaxation;
use crate::bound::row_sums::RowSums;
use crate::bound::selection::SearchSpace;
use crate::bound::threads::in_own_pool;
use crate::bound::workspace::Workspace;
use crate::number::rounding::{Enclosure, error_of};
use crate::problem::Problem;
use crate::problem::budget::{Budget, Decided};
use crate::problem::exact::{ExactProblem, ExactUnits, Sums};
use crate::problem::flip::Flip;
use crate::problem::forward::{Representation, forward, forward_logits, forward_of};
use crate::problem::graph::Graph;
use crate::problem::limits::{Clock, Watch};
use crate::problem::matrix::PatternRows;
use crate::problem::network::Network;
use crate::problem::objective::Objective;
use crate::problem::places::Places;
use crate::problem::slice::Slice;

/// A problem with what all targets share: the unperturbed forward pass, the activation bounds and the ordered
/// attributes. Shared by all threads; each brings its own [`Workspace`].
#[derive(Clone, Debug)]
pub struct Prepared {
    problem: Problem,
    attributes: Arc<Attributes>,
    columns: Arc<Columns>,
    logits: Arc<Representation>,
    /// Those of all nodes, made when they are first asked for on a large graph; or of what some targets depend on.
    unperturbed: Arc<OnceLock<Vec<Representation>>>,
    sums: Arc<Sums>,
    row_sums: Arc<RowSums>,
    /// Made when it is first asked for.
    paths: Arc<OnceLock<Option<Paths>>>,
    /// Those of the nodes that some targets depend on, or of all, made when they are first asked for.
    bounds: Arc<OnceLock<Vec<LayerBounds>>>,
    /// After its deadline the bounds of all nodes are propagated, but no longer tightened.
    clock: Clock,
}

/// From so many numbers on, `Ĥ(2)` of a network with one hidden layer is not kept for all nodes.
const LARGE: usize = 1 << 22;

/// The logits of a network on a graph, and all representations unless they take too much memory.
fn evaluated(graph: &Graph, network: &Network) -> (Arc<Representation>, Arc<OnceLock<Vec<Representation>>>) {
    let numbers = graph.node_count().saturating_mul(network.layers()[0].outputs());
    if network.layers().len() == 2 && numbers >= LARGE {
        return (Arc::new(forward_logits(graph, network)), Arc::default());
    }
    let all = forward(graph, network);
    let logits = all.last().cloned().unwrap_or_default();
    (Arc::new(logits), Arc::new(OnceLock::from(all)))
}

impl Prepared {
    /// Does all the work that does not depend on a target.
    pub fn new(problem: Problem) -> Prepared {
        let (graph, network) = (problem.graph(), problem.network());
        let (logits, unperturbed) = evaluated(graph, network);
        let attributes = Arc::new(Attributes::new(&network.layers()[0], problem.budget()));
        let columns = Arc::new(Columns::new(network, problem.budget()));
        let sums = Arc::new(Sums::new(graph.node_count()));
        let row_sums = Arc::new(RowSums::new(graph, &network.layers()[0]));
        let (paths, bounds) = Default::default();
        let clock = Clock::default();
        Prepared { problem, attributes, columns, logits, unperturbed, sums, row_sums, paths, bounds, clock }
    }

    /// The same problem under another global budget; what does not depend on it is shared.
    pub fn at_global(&self, global: usize) -> Prepared {
        // What some targets depend on does not do for all nodes.
        let whole = |known: &Vec<Representation>| known[0].rows == Places::Own;
        let unperturbed = match self.unperturbed.get().is_none_or(whole) {
            true => Arc::clone(&self.unperturbed),
            false => Arc::default(),
        };
        Prepared { problem: self.problem.at_global(global), bounds: Arc::default(), unperturbed, ..self.clone() }
    }

    /// The same problem, whose activation bounds are not tightened any more after the deadline.
    pub fn by(self, clock: Clock) -> Prepared {
        Prepared { clock, ..self }
    }

    /// The same problem for some targets only: activation bounds of the nodes that these depend on, and of no others.
    /// From the deadline on, bounds are not tightened any more; work that is stopped has none yet.
    pub fn for_targets(&self, targets: &[usize], clock: &Clock) -> Prepared {
        let mut needed = vec![targets.iter().map(|&target| target as u32).collect::<Vec<u32>>()];
        for l in (2..self.network().depth()).rev() {
            needed.extend(needed.last().map(|above| self.network().senders(l, above)));
        }
        // From representation 2 upward, without the targets themselves.
        needed.reverse();
        needed.truncate(self.network().depth() - 2);
        let stopped = Watch::new(Clock { deadline: None, stop: clock.stop.clone() });
        let mut some = self.clone();
        // Nobody has asked for those of all nodes, which take much memory.
        if self.unperturbed.get().is_none()
            && let [hidden] = needed.as_slice()
        {
            let mut targets: Vec<u32> = targets.iter().map(|&target| target as u32).collect();
            targets.sort_unstable();
            targets.dedup();
            let found = forward_of(self.graph(), self.network(), &self.logits, hidden, &targets);
            some.unperturbed = Arc::new(OnceLock::from(found));
        }
        match some.bound_activations(&needed, clock, &stopped) {
            Some(bounds) => Prepared { bounds: Arc::new(OnceLock::from(bounds)), ..some },
            None => Prepared { bounds: Arc::default(), ..self.clone() },
        }
    }

    /// The flips that are still open once some are fixed.
    pub(crate) fn search_space<'a>(&'a self, decided: &'a Decided) -> SearchSpace<'a> {
        let layer = &self.network().layers()[0];
        let (attributes, row_sums) = (&*self.attributes, Some(&*self.row_sums));
        SearchSpace { graph: self.graph(), layer, budget: self.budget(), decided, attributes, row_sums }
    }

    /// The rows of `W(1)` in the order in which flips are searched.
    pub(crate) fn attributes(&self) -> &Attributes {
        &self.attributes
    }

    /// The logits of the workspace's target when these flips are made.
    pub(crate) fn logits<'a>(
        &self,
        flips: &[Flip],
        workspace: &'a mut Workspace,
    ) -> impl Iterator<Item = Enclosure> + use<'a> {
        let Workspace { evaluator, slice, .. } = workspace;
        evaluator.logits(&self.problem, self.unperturbed(), slice, flips)
    }

    /// Points the workspace at a target: its slice is cut, and what was known of the last target is forgotten.
    pub(crate) fn set_target(&self, node: usize, workspace: &mut Workspace) {
        workspace.slice.cut(self.network(), self.network().depth(), node);
        workspace.selection.forget();
        workspace.exact.forget();
        workspace.known_steps.forget();
        workspace.nested = None;
        workspace.multipliers.chords.clear();
        workspace.evaluator.set_target(&workspace.slice);
    }

    /// Bounds of the nodes that are needed, by representation from 2 upward; none if the work is stopped.
    fn bound_activations(&self, needed: &[Vec<u32>], clock: &Clock, stopped: &Watch) -> Option<Vec<LayerBounds>> {
        let mut found = Vec::with_capacity(needed.len());
        let late = Watch::new(clock.clone());
        for (nodes, l) in needed.iter().zip(2..) {
            let bounds = if l == 2 {
                let (graph, network, budget) = (self.graph(), self.network(), self.budget());
                let unperturbed = &self.unperturbed()[0];
                activation::first_hidden(graph, network, budget, &self.columns, stopped, unperturbed, nodes)
            } else {
                let propagated = activation::propagate(&self.network().layers()[l - 2], nodes, &found[l - 3]);
                self.tighten(l, nodes, propagated, &found, &late)
            };
            // Some of them may be missing.
            if stopped.is_late() {
                return None;
            }
            found.push(bounds);
        }
        Some(found)
    }

    /// The bound of a hidden unit is a certificate problem with that unit as the target: the better of that and of the
    /// propagated interval is kept. Units that already are surely active or inactive gain nothing and are skipped
    /// (docs/math.md (3.3)). After the deadline intervals stay as they are.
    fn tighten(
        &self,
        l: usize,
        nodes: &[u32],
        mut bounds: LayerBounds,
        below: &[LayerBounds],
        late: &Watch,
    ) -> LayerBounds {
        let width = bounds.width;
        // Only from representation 2 to 3 the affine bounds of units are those of single layers.
        let flips = !self.graph().normalisation().is_some();
        let capped = if l == 3 { bounds.lower.len() } else { 0 };
        bounds.caps = vec![Cap { level: 0.0, largest: f64::INFINITY }; capped];
        let mut no_caps = vec![Cap::default(); if l == 3 { 0 } else { bounds.lower.len() }];
        let caps = if l == 3 { &mut bounds.caps } else { &mut no_caps };
        let rows = bounds.lower.par_chunks_mut(width).zip(bounds.upper.par_chunks_mut(width));
        let rows = rows.zip(caps.par_chunks_mut(width));
        rows.enumerate().for_each_init(Workspace::default, |workspace, (row, ((lower, upper), caps))| {
            if lower.iter().zip(upper.iter()).all(|(&r, &s)| r >= 0.0 || s <= 0.0) {
                return;
            }
            workspace.slice.cut(self.network(), l, nodes[row] as usize);
            workspace.selection.forget();
            workspace.hidden.load(&workspace.slice, &self.unperturbed()[0], &below[0]);
            let nested = below.get(1).filter(|_| flips).map(|third| {
                let Workspace { slice, hidden, .. } = &*workspace;
                Arc::new(Nested::new(self.network(), slice, hidden, &self.unperturbed()[1], third))
            });
            for unit in 0..width {
                if lower[unit] >= 0.0 || upper[unit] <= 0.0 || late.is_late() {
                    continue;
                }
                // The unit itself as the objective: its minimum is R, and minus the minimum of its negative is S.
                // A comparison with NaN is false: the interval stays.
                let tighter = |sign: f64, bound: Enclosure, slot: &mut f64| {
                    let bound = sign * bound.lower();
                    if sign * bound > sign * *slot {
                        *slot = bound;
                    }
                };
                for (sign, slot) in [(1.0, &mut lower[unit]), (-1.0, &mut upper[unit])] {
                    workspace.backward.run(self.network(), &workspace.slice, below, &[(unit, sign)]);
                    let paper = self.evaluate_with(workspace, Relaxation::Paper, below);
                    tighter(sign, paper, slot);
                    tighter(sign, self.evaluate_capped(workspace), slot);
                }
                let unstable = lower[unit] < 0.0 && upper[unit] > 0.0;
                for nested in nested.iter().filter(|_| unstable) {
                    for (sign, slot) in [(1.0, &mut lower[unit]), (-1.0, &mut upper[unit])] {
                        tighter(sign, self.evaluate_bent(nested, below, &[(unit, sign)], workspace), slot);
                    }
                }
                if l == 3 && flips && lower[unit] < 0.0 && upper[unit] > 0.0 {
                    caps[unit] =
                        self.nested_cap(unit, self.unperturbed()[1].entry(nodes[row] as usize, unit), workspace);
                }
            }
        });
        bounds
    }

    /// The bound of a unit above representation 3 as the objective, by the capped bounds of representation 3
    /// (docs/math.md (5.15)). Where lines from below are concerned, a unit counts as active if it can be so by more
    /// than it can be inactive, which is what a checker takes by default.
    fn evaluate_bent(
        &self,
        nested: &Arc<Nested>,
        below: &[LayerBounds],
        objective: Objective,
        workspace: &mut Workspace,
    ) -> Enclosure {
        let Workspace { slice, backward, relaxed, hidden, multipliers, .. } = &mut *workspace;
        let bounds = Located::Graph(below);
        let slope = |_: usize, _: usize, (a, r, s): (f64, f64, f64)| {
            let lower_line = a > 0.0 && r < 0.0 && s > 0.0;
            lower_line.then_some(if r + s > 0.0 { a } else { 0.0 })
        };
        backward.run_nested(self.network(), slice, bounds, objective, slope, |_, a| (-a).max(0.0));
        multipliers.anchored(hidden, backward);
        relaxed.mixed(backward, hidden, &multipliers.weights, nested.loss(backward));
        self.worst(workspace, &Decided::default())
    }

    /// The cap of a unit of representation 3, from the changes of its affine bound in the flips (docs/math.md (5.14)).
    /// The capped bound of its upper end has just been evaluated.
    fn nested_cap(&self, unit: usize, unperturbed: Enclosure, workspace: &mut Workspace) -> Cap {
        if unperturbed.value >= 0.0 {
            let Workspace { slice, backward, relaxed, hidden, .. } = &mut *workspace;
            backward.run(self.network(), slice, &[], &[(unit, 1.0)]);
            relaxed.falling(backward, hidden);
            if self.worst(workspace, &Decided::default()).lower() == f64::NEG_INFINITY {
                return Cap { level: 0.0, largest: f64::INFINITY };
            }
        }
        let Workspace { selection, loss_error, .. } = workspace;
        let mut changes: Vec<f64> = selection.flips().iter().map(|loss| loss.loss + *loss_error).collect();
        let sum: f64 = changes.iter().sum();
        let flips = self.budget().global().min(self.graph().node_count() * self.graph().attribute_count());
        // Flips that were not selected may change it by the error of what was computed.
        let anchor = NestedUnit::new(Cap::default(), unperturbed).anchor;
        let slack = anchor.error + flips as f64 * *loss_error + error_of(changes.len() + 3, anchor.value.abs() + sum);
        let cap = Cap::new(anchor.value.abs() - slack, &mut changes);
        Cap { largest: (cap.largest + 2.0 * *loss_error).next_up(), ..cap }
    }

    /// The affine bounds of representation 3 in the slice of the workspace's target; none where there is no
    /// representation above.
    pub(crate) fn nested(&self, workspace: &mut Workspace) -> Option<Arc<Nested>> {
        let Workspace { slice, nested, .. } = workspace;
        let bounds = self.activation_bounds();
        // Bends are those of single flips, which a normalised row has not.
        let flips = !self.graph().normalisation().is_some();
        let third = bounds.get(1).filter(|_| flips && slice.top() > 3)?;
        let made = || {
            let mut hidden = Hidden::default();
            hidden.load(slice, &self.unperturbed()[0], &bounds[0]);
            Arc::new(Nested::new(self.network(), slice, &hidden, &self.unperturbed()[1], third))
        };
        Some(Arc::clone(nested.get_or_insert_with(made)))
    }

    /// The relaxation with given multipliers at the hidden units of the workspace, with the bends of its backward pass
    /// (docs/math.md (5.12), (5.15)).
    pub(crate) fn mix(&self, weights: &[f64], workspace: &mut Workspace) {
        let bent = !workspace.backward.bends().is_empty();
        let nested = if bent { self.nested(workspace) } else { None };
        let Workspace { backward, relaxed, hidden, .. } = workspace;
        relaxed.mixed(backward, hidden, weights, nested.and_then(|nested| nested.loss(backward)));
    }

    /// Graph, network and budget, whose sizes fit together.
    pub fn problem(&self) -> &Problem {
        &self.problem
    }

    /// The unperturbed graph.
    pub fn graph(&self) -> &Graph {
        self.problem.graph()
    }

    /// The network, whose first layer takes the attributes of the graph.
    pub fn network(&self) -> &Network {
        self.problem.network()
    }

    /// The sorted columns of `W(1)`.
    pub fn columns(&self) -> &Columns {
        &self.columns
    }

    /// The budget at the root of every search.
    pub fn budget(&self) -> &Budget {
        self.problem.budget()
    }

    /// `R` and `S` of representations `2 … L−1`: of all nodes, or of those that the targets depend on.
    pub fn activation_bounds(&self) -> &[LayerBounds] {
        self.bounds.get_or_init(|| {
            let all: Vec<u32> = (0..self.graph().node_count() as u32).collect();
            let needed = vec![all; self.network().depth() - 2];
            // They are kept, so that nothing may be missing: after the deadline they are not tightened.
            in_own_pool(|| self.bound_activations(&needed, &self.clock, &Watch::default())).unwrap_or_default()
        })
    }

    /// `Ĥ(2) … Ĥ(L)` without perturbation: of all nodes, or of those that the targets depend on.
    pub fn unperturbed(&self) -> &[Representation] {
        self.unperturbed.get_or_init(|| in_own_pool(|| forward(self.graph(), self.network())))
    }

    /// The logits of all nodes without perturbation.
    pub fn unperturbed_logits(&self) -> &Representation {
        &self.logits
    }

    /// The class with the largest exact logit; the smallest number among equals.
    pub fn predicted(&self, node: usize) -> usize {
        self.logits.clear_maximum(node).unwrap_or_else(|| {
            let mut slice = Slice::default();
            slice.cut(self.network(), self.network().depth(), node);
            let mut units = ExactUnits::default();
            let mut problem = self.exact(&slice, &mut units);
            (1..self.network().class_count()).fold(0, |best, class| {
                let ahead = problem.objective(&[(class, 1.0), (best, -1.0)], &[]);
                if ahead.sign() == Ordering::Greater { class } else { best }
            })
        })
    }

    /// How many nodes' attributes the logits of a node depend on.
    pub fn neighbourhood(&self, node: usize) -> usize {
        let mut slice = Slice::default();
        slice.cut(self.network(), self.network().depth(), node);
        slice.nodes(1).len()
    }

    /// The dual bound of one class pair by one relaxation, without a search for attacks: what the laboratory measures.
    /// The workspace then holds the slice, the backward pass and the flips that attain the bound.
    pub fn pair_bound(
        &self,
        node: usize,
        reference: usize,
        class: usize,
        relaxation: Relaxation,
        workspace: &mut Workspace,
    ) -> Enclosure {
        workspace.slice.cut(self.network(), self.network().depth(), node);
        workspace.selection.forget();
        workspace.backward.run(
            self.network(),
            &workspace.slice,
            self.activation_bounds(),
            &[(reference, 1.0), (class, -1.0)],
        );
        self.evaluate(workspace, relaxation)
    }

    /// Computes what the path bounds of all targets share, where that is not there yet. Threads that ask at the same
    /// time do the same work, and none waits for another.
    pub(crate) fn prepare_paths(&self) {
        if self.paths.get().is_none() {
            // The proof of a deeper network may need capped bounds, which normalised rows have not.
            let proved = !self.graph().normalisation().is_some() || self.network().depth() == 3;
            let paths = if proved { Paths::new(self.network(), Arc::clone(&self.row_sums)) } else { None };
            let _ = self.paths.set(paths);
        }
    }

    /// Path bounds of a node's margins over some classes; none as soon as one is not positive, or where the network has
    /// none.
    pub(crate) fn paths(
        &self,
        node: usize,
        reference: usize,
        others: &[usize],
        workspace: &mut Workspace,
    ) -> Option<Vec<f64>> {
        self.prepare_paths();
        let paths = self.paths.get()?.as_ref()?;
        let Workspace { slice, reached, .. } = workspace;
        if !reached.fill(slice, &self.problem, node) {
            return None;
        }
        let logits = &*self.logits;
        let lower = |&class: &usize| {
            let bound = paths.lower(&self.problem, slice, logits, reference, class, reached);
            // A comparison with NaN is false: nothing is known.
            (bound > 0.0).then_some(bound)
        };
        others.iter().map(lower).collect()
    }

    /// The relaxed objective minus the largest loss that the budget allows; the selection holds the flips.
    pub(crate) fn evaluate(&self, workspace: &mut Workspace, relaxation: Relaxation) -> Enclosure {
        self.evaluate_with(workspace, relaxation, self.activation_bounds())
    }

    fn evaluate_with(&self, workspace: &mut Workspace, relaxation: Relaxation, bounds: &[LayerBounds]) -> Enclosure {
        let Workspace { slice, backward, relaxed, .. } = workspace;
        let unperturbed = &self.unperturbed()[0];
        match (relaxation, bounds.first()) {
            (Relaxation::Anchored, Some(bounds)) if slice.top() > 2 => {
                relaxed.anchored(backward, slice, unperturbed, bounds);
            }
            // The linear model has nothing to relax: both bounds are the same, and exact.
            (_, bounds) => relaxed.paper(backward, slice, unperturbed, bounds.filter(|_| slice.top() > 2)),
        }
        self.worst(workspace, &Decided::default())
    }

    /// The same with every unit at the line that is exact at the unperturbed graph, capped; the hidden units are
    /// loaded.
    fn evaluate_capped(&self, workspace: &mut Workspace) -> Enclosure {
        let Workspace { backward, relaxed, hidden, multipliers, .. } = workspace;
        multipliers.anchored(hidden, backward);
        relaxed.mixed(backward, hidden, &multipliers.weights, None);
        self.worst(workspace, &Decided::default())
    }

    /// The relaxed objective of the workspace minus the largest loss that the budget allows once some flips are fixed
    /// (docs/math.md (4.6), (11.3)); −∞ once the deadline has passed.
    pub(crate) fn worst(&self, workspace: &mut Workspace, decided: &Decided) -> Enclosure {
        let Workspace { slice, relaxed, slopes, selection, watch, loss_error, .. } = workspace;
        if watch.is_late() {
            return Enclosure { value: f64::NEG_INFINITY, error: 0.0 };
        }
        let width = self.network().layers()[0].outputs();
        *loss_error = if self.graph().normalisation().is_some() {
            relaxed.spread(slice, width, self.attributes.largest_norm(), slopes) * self.row_error(slice)
        } else {
            relaxed.spread(slice, width, self.attributes.norm(0), slopes)
        };
        // T(loss) of (1.6): the inner maximum of the dual in closed form.
        let loss = selection.select_until(&self.search_space(decided), slice, slopes, Some(watch));
        // Each of the flips that the budget allows may lose more than was computed, selected or not.
        let local: usize = slice.nodes(1).iter().map(|&n| self.budget().local(n as usize)).sum();
        let flips = local.min(self.budget().global());
        if loss == f64::NEG_INFINITY {
            // There is nothing in the branch.
            return Enclosure { value: f64::INFINITY, error: 0.0 };
        }
        let mut total = relaxed.base;
        total.add(-loss);
        total.allow(flips as f64 * *loss_error + error_of(selection.flips().len(), loss));
        total.close()
    }

    /// How many times the error of a single flip's loss covers each flip of a normalised row: itself, and its part of
    /// the change of all other entries, which is no more than that of as many entries as there are flips (docs/math.md
    /// (21.7)).
    fn row_error(&self, slice: &Slice) -> f64 {
        let entries = |n: &u32| self.graph().attributes().row(*n as usize).len() + self.budget().local(*n as usize);
        let longest = slice.nodes(1).iter().map(entries).max().unwrap_or(0);
        // The sum of a row has so many more roundings.
        4.0 * (longest as f64 + 8.0)
    }

    /// A lower bound of the relaxed objective over all perturbations but the one that was selected by the last
    /// [`worst`](Self::worst), if that one uses the whole budget: every other perturbation then leaves one of its flips
    /// out. `None` if the budget is not used up, or as soon as the bound is below `enough` (docs/math.md (12.2)).
    pub(crate) fn worst_of_others(&self, workspace: &mut Workspace, decided: &Decided, enough: f64) -> Option<f64> {
        let selection = std::mem::take(&mut workspace.selection);
        let mut selected = selection.flips().to_vec();
        // What loses least is missed least: its bound is the first to fail.
        selected.sort_by(|a, b| a.loss.total_cmp(&b.loss));
        let used_up = !selected.is_empty() && decided.global(self.budget()) == Some(selected.len());
        let mut least = if used_up { f64::INFINITY } else { f64::NEG_INFINITY };
        for left_out in selected {
            // A comparison with NaN is false: then nothing is known.
            let enough_so_far = least >= enough;
            if !enough_so_far {
                break;
            }
            let mut others = decided.clone();
            others.kept.push(left_out.flip);
            let bound = self.worst(workspace, &others).lower();
            least = if bound < least || bound.is_nan() { bound } else { least };
        }
        workspace.selection = selection;
        (least >= enough).then_some(least)
    }

    /// The target of the workspace in exact arithmetic.
    pub(crate) fn exact<'b>(&'b self, slice: &'b Slice, units: &'b mut ExactUnits) -> ExactProblem<'b> {
        ExactProblem { graph: self.graph(), network: self.network(), slice, sums: &self.sums, units, watch: None }
    }
}
