//! Witnesses: flips that are tried on the true network, and the local search that improves them.
//!
//! A perturbation is evaluated in f64 with a proven error. Whoever rests a verdict on it and finds the margin inside its
//! error asks [`crate::exact`].

use std::collections::BTreeSet;

use crate::attribute::Attributes;
use crate::budget::{Budget, Restriction};
use crate::dual::Relaxed;
use crate::forward::Representation;
use crate::graph::Graph;
use crate::model::Gcn;
use crate::rounding::{Enclosure, FLOOR, error_of};
use crate::selection::{Field, Flip, Selection, Slopes};
use crate::slice::{LocalMatrix, Slice};

/// One representation of the slice under a perturbation: values, their errors, and room to add.
#[derive(Clone, Debug, Default)]
struct Values {
    value: Vec<f64>,
    error: Vec<f64>,
}

/// Evaluates perturbations of one target.
#[derive(Debug, Default)]
pub struct Evaluator {
    /// `A(1)` of the slice by columns: which rows a node's flips reach.
    columns: LocalMatrix,
    /// Representations 2 … L of the slice under the last perturbation.
    layers: Vec<Values>,
    magnitude: Vec<f64>,
    received: [Vec<f64>; 3],
}

/// What all methods here need to know of the problem.
#[derive(Clone, Copy)]
pub struct Problem<'a> {
    /// The graph.
    pub graph: &'a Graph,
    /// The network.
    pub gcn: &'a Gcn,
    /// The budget.
    pub budget: &'a Budget,
    /// Rows of `W(1)` to search.
    pub attributes: &'a Attributes,
    /// `Ĥ(2) … Ĥ(L)` without perturbation.
    pub unperturbed: &'a [Representation],
}

impl<'a> Problem<'a> {
    /// Where flips are looked for once some are fixed.
    pub fn field<'b>(&self, restriction: &'b Restriction) -> Field<'b>
    where
        'a: 'b,
    {
        Field { graph: self.graph, budget: self.budget, restriction, attributes: self.attributes }
    }
}

impl Evaluator {
    /// Gets ready for the target of a slice.
    pub fn prepare(&mut self, slice: &Slice) {
        let (rows, nodes) = (slice.passing(1), slice.nodes(1).len());
        let entries = rows.columns.len();
        let columns = &mut self.columns;
        columns.offsets.clear();
        columns.offsets.resize(nodes + 1, 0);
        for &n in &rows.columns {
            columns.offsets[n as usize + 1] += 1;
        }
        for n in 0..nodes {
            columns.offsets[n + 1] += columns.offsets[n];
        }
        columns.columns.clear();
        columns.columns.resize(entries, 0);
        columns.values.clear();
        columns.values.resize(entries, 0.0);
        // Filled from the back of each column, which leaves the offsets at the starts again.
        for m in (0..rows.rows()).rev() {
            for (n, a) in rows.row(m) {
                columns.offsets[n + 1] -= 1;
                let at = columns.offsets[n + 1] as usize;
                columns.columns[at] = m as u32;
                columns.values[at] = a;
            }
        }
        // offsets[n + 1] now is the start of column n: shift back.
        columns.offsets.remove(0);
        columns.offsets.push(entries as u32);
        self.layers.resize_with(slice.top() - 1, Values::default);
    }

    /// The logits of the target when these flips are made.
    pub fn logits(&mut self, problem: &Problem, slice: &Slice, flips: &[Flip]) -> impl Iterator<Item = Enclosure> {
        self.first(problem, slice, flips);
        for l in 2..slice.top() {
            self.step(problem.gcn, slice, l);
        }
        let last = &self.layers[slice.top() - 2];
        last.value.iter().zip(&last.error).map(|(&value, &error)| Enclosure { value, error })
    }

    /// The pre-activations of representation `l` of the slice under the last perturbation.
    pub fn preactivations(&self, l: usize) -> &[f64] {
        &self.layers[l - 2].value
    }

    /// The errors of these pre-activations.
    pub fn errors(&self, l: usize) -> &[f64] {
        &self.layers[l - 2].error
    }

    /// `Ĥ(2)`: the unperturbed values plus what the flips add.
    fn first(&mut self, problem: &Problem, slice: &Slice, flips: &[Flip]) {
        let before = &problem.unperturbed[0];
        let width = before.width;
        let layer = &mut self.layers[0];
        layer.value.clear();
        layer.error.clear();
        for &node in slice.nodes(2) {
            layer.value.extend_from_slice(before.row(node as usize));
            layer.error.extend_from_slice(before.errors(node as usize));
        }
        let weight = &problem.gcn.layers()[0].weight;
        self.magnitude.clear();
        self.magnitude.resize(layer.value.len(), 0.0);
        for flip in flips {
            let Some(n) = slice.position(flip.node) else { continue };
            let present = problem.graph.attributes().contains(flip.node as usize, flip.attribute);
            let sign = if present { -1.0 } else { 1.0 };
            let weights = weight.row(flip.attribute as usize);
            for (m, a) in self.columns.row(n) {
                for (j, &w) in weights.iter().enumerate() {
                    let change = sign * a * w;
                    layer.value[m * width + j] += change;
                    // The smallest normal number marks the entry as touched even where the change underflows.
                    self.magnitude[m * width + j] += change.abs() + f64::MIN_POSITIVE;
                }
            }
        }
        for ((e, &size), &z) in layer.error.iter_mut().zip(&self.magnitude).zip(&layer.value) {
            if size > 0.0 {
                // |unperturbed| ≤ |perturbed| + changes
                *e = *e * (1.0 + 1e-9) + error_of(flips.len() + 2, 2.0 * size + z.abs());
            }
        }
    }

    /// From representation `l` to `l + 1`: messages first, then weights.
    fn step(&mut self, gcn: &Gcn, slice: &Slice, l: usize) {
        let layer = &gcn.layers()[l - 1];
        let (inputs, outputs) = (layer.weight.rows, layer.weight.columns);
        let rows = slice.nodes(l + 1).len();
        let (below, above) = self.layers.split_at_mut(l - 1);
        let (from, to) = (&below[l - 2], &mut above[0]);
        to.value.clear();
        to.value.resize(rows * outputs, 0.0);
        to.error.clear();
        to.error.resize(rows * outputs, 0.0);
        let [value, size, inherited] = &mut self.received;
        for m in 0..rows {
            for (buffer, floor) in [(&mut *value, 0.0), (&mut *size, FLOOR), (&mut *inherited, f64::MIN_POSITIVE)] {
                buffer.clear();
                buffer.resize(inputs, floor);
            }
            let mut terms = 0;
            for (n, a) in slice.passing(l).row(m) {
                terms += 1;
                let at = n * inputs;
                for i in 0..inputs {
                    let h = from.value[at + i].max(0.0);
                    value[i] += a * h;
                    size[i] += a.abs() * h;
                    inherited[i] += a.abs() * from.error[at + i];
                }
            }
            let out = &mut to.value[m * outputs..][..outputs];
            let error = &mut to.error[m * outputs..][..outputs];
            out.copy_from_slice(&layer.bias);
            self.magnitude.clear();
            self.magnitude.extend(layer.bias.iter().map(|b| b.abs()));
            for i in 0..inputs {
                for (j, &w) in layer.weight.row(i).iter().enumerate() {
                    out[j] += value[i] * w;
                    self.magnitude[j] += size[i] * w.abs();
                    error[j] += inherited[i] * w.abs();
                }
            }
            for (e, &magnitude) in error.iter_mut().zip(&self.magnitude) {
                *e = *e * (1.0 + 1e-9) + error_of(inputs + terms + 2, magnitude);
            }
        }
    }

    /// The slopes of the true network at the last perturbation: coefficients of representation 2 in the objective,
    /// through the units that are active there.
    fn gradient(&self, gcn: &Gcn, slice: &Slice, objective: &[(usize, f64)], into: &mut Vec<f64>) {
        let top = slice.top();
        let mut phi = vec![0.0; gcn.width(top)];
        for &(unit, c) in objective {
            phi[unit] = c;
        }
        for l in (2..top).rev() {
            let layer = &gcn.layers()[l - 1];
            let (inputs, outputs) = (layer.weight.rows, layer.weight.columns);
            let mut next = vec![0.0; slice.nodes(l).len() * inputs];
            for m in 0..slice.nodes(l + 1).len() {
                let phi = &phi[m * outputs..][..outputs];
                let psi: Vec<f64> =
                    (0..inputs).map(|i| layer.weight.row(i).iter().zip(phi).map(|(w, p)| w * p).sum()).collect();
                for (n, a) in slice.passing(l).row(m) {
                    for (slot, p) in next[n * inputs..][..inputs].iter_mut().zip(&psi) {
                        *slot += a * p;
                    }
                }
            }
            for (slot, &z) in next.iter_mut().zip(&self.layers[l - 2].value) {
                if z <= 0.0 {
                    *slot = 0.0;
                }
            }
            phi = next;
        }
        into.clone_from(&phi);
    }
}

/// The local search for a perturbation that closes one class pair, with its buffers.
#[derive(Debug, Default)]
pub struct LocalSearch {
    relaxed: Relaxed,
    slopes: Slopes,
    selection: Selection,
}

/// How many perturbations a search may try on one class pair.
const TRIES: usize = 400;

impl LocalSearch {
    /// Improves `flips` by re-linearising at the attacked point and by adding, dropping and swapping single flips, until
    /// the margin is not positive, nothing improves, or the tries are used up. Returns the margin reached.
    pub fn improve(
        &mut self,
        problem: &Problem,
        slice: &Slice,
        evaluator: &mut Evaluator,
        objective: &[(usize, f64)],
        flips: &mut Vec<Flip>,
    ) -> f64 {
        let mut tries = 0;
        let mut margin_of = |evaluator: &mut Evaluator, flips: &[Flip]| {
            tries += 1;
            let logits: Vec<f64> = evaluator.logits(problem, slice, flips).map(|logit| logit.value).collect();
            (objective.iter().map(|&(unit, c)| c * logits[unit]).sum::<f64>(), tries)
        };
        self.selection.forget();
        let (mut best, _) = margin_of(evaluator, flips);
        loop {
            // The steepest flips at the attacked point, counted from the unperturbed attributes.
            margin_of(evaluator, flips);
            self.steepest(problem, slice, evaluator, objective);
            let mut steepest: Vec<_> = self.selection.flips().to_vec();
            steepest.sort_by(|x, y| y.loss.total_cmp(&x.loss));
            let proposal: Vec<Flip> = steepest.iter().map(|s| s.flip).collect();
            let (margin, tries) = margin_of(evaluator, &proposal);
            if margin < best {
                (best, *flips) = (margin, proposal);
                if best <= 0.0 || tries >= TRIES {
                    return best;
                }
                continue;
            }
            let mut better: Option<(f64, Vec<Flip>)> = None;
            let inside: BTreeSet<Flip> = flips.iter().copied().collect();
            let outsiders: Vec<Flip> = proposal.iter().copied().filter(|f| !inside.contains(f)).take(8).collect();
            for neighbour in neighbours(problem.budget, flips, &outsiders) {
                let (margin, tries) = margin_of(evaluator, &neighbour);
                if margin < better.as_ref().map_or(best, |b| b.0) {
                    better = Some((margin, neighbour));
                }
                if tries >= TRIES || better.as_ref().is_some_and(|b| b.0 <= 0.0) {
                    break;
                }
            }
            match better {
                Some((margin, neighbour)) => (best, *flips) = (margin, neighbour),
                None => return best,
            }
            let (_, tries) = margin_of(evaluator, flips);
            if best <= 0.0 || tries >= TRIES {
                return best;
            }
        }
    }

    fn steepest(&mut self, problem: &Problem, slice: &Slice, evaluator: &Evaluator, objective: &[(usize, f64)]) {
        evaluator.gradient(problem.gcn, slice, objective, &mut self.relaxed.centre);
        self.relaxed.radius.clear();
        self.relaxed.spread(slice, problem.attributes.width(), problem.attributes.norm(0), &mut self.slopes);
        self.selection.select(&problem.field(&Restriction::default()), slice, &self.slopes);
    }
}

/// All admissible sets of flips one move away: without one, with one more, or with one exchanged.
fn neighbours<'a>(
    budget: &'a Budget,
    flips: &'a [Flip],
    outsiders: &'a [Flip],
) -> impl Iterator<Item = Vec<Flip>> + 'a {
    let without =
        move |i: usize| -> Vec<Flip> { flips.iter().copied().enumerate().filter(|f| f.0 != i).map(|f| f.1).collect() };
    let fits = move |set: &[Flip], flip: &Flip| {
        set.len() < budget.global()
            && set.iter().filter(|f| f.node == flip.node).count() < budget.local(flip.node as usize)
    };
    let drops = (0..flips.len()).map(without);
    let adds = outsiders.iter().filter(move |f| fits(flips, f)).map(move |&f| {
        let mut set = flips.to_vec();
        set.push(f);
        set
    });
    let swaps = outsiders.iter().flat_map(move |&f| {
        (0..flips.len()).filter_map(move |i| {
            let mut set = without(i);
            fits(&set, &f).then(|| {
                set.push(f);
                set
            })
        })
    });
    adds.chain(drops).chain(swaps)
}
