//! A perturbation on the true network: the logits of one target when some flips are made, in f64 with a proven error.
//!
//! A verdict on a margin that lies inside its error must use [`crate::problem::exact`].

use crate::number::rounding::{Enclosure, FLOOR, error_of};
use crate::problem::Problem;
use crate::problem::flip::Flip;
use crate::problem::forward::Representation;
use crate::problem::matrix::PatternRows;
use crate::problem::network::Network;
use crate::problem::objective::Objective;
use crate::problem::rows::{Move, Sent};
use crate::problem::slice::Slice;

/// One representation of the slice under a perturbation: values, their errors, and room to add.
#[derive(Clone, Debug, Default)]
struct Values {
    value: Vec<f64>,
    error: Vec<f64>,
}

/// Evaluates perturbations of one target.
#[derive(Debug, Default)]
pub struct Evaluator {
    /// Representations 2 … L of the slice under the last perturbation.
    layers: Vec<Values>,
    magnitude: Vec<f64>,
    received: [Vec<f64>; 3],
    /// Rows of the last two representations that the perturbation reaches.
    reached: [Vec<bool>; 2],
}

impl Evaluator {
    /// Gets ready for the target of a slice: no perturbation of it has been evaluated.
    pub fn set_target(&mut self, slice: &Slice) {
        self.layers.resize_with(slice.top() - 1, Values::default);
        for layer in &mut self.layers {
            layer.value.clear();
            layer.error.clear();
        }
    }

    /// The logits of the target when these flips are made.
    pub fn logits<'a>(
        &'a mut self,
        problem: &Problem,
        unperturbed: &[Representation],
        slice: &Slice,
        flips: &[Flip],
    ) -> impl Iterator<Item = Enclosure> + use<'a> {
        self.set_target(slice);
        self.first(problem, &unperturbed[0], slice, flips);
        for l in 2..slice.top() {
            self.step(problem.network(), &unperturbed[l - 1], slice, l);
        }
        let last = &self.layers[slice.top() - 2];
        last.value.iter().zip(&last.error).map(|(&value, &error)| Enclosure { value, error })
    }

    /// The pre-activations of representation `l` of the slice under the last perturbation; none if there was none.
    pub fn preactivations(&self, l: usize) -> &[f64] {
        &self.layers[l - 2].value
    }

    /// The errors of these pre-activations.
    pub fn errors(&self, l: usize) -> &[f64] {
        &self.layers[l - 2].error
    }

    /// `Ĥ(2)`: the unperturbed values plus what the flips add (docs/math.md (1.5)).
    fn first(&mut self, problem: &Problem, before: &Representation, slice: &Slice, flips: &[Flip]) {
        let width = before.width;
        let layer = &mut self.layers[0];
        layer.value.clear();
        layer.error.clear();
        for &node in slice.nodes(2) {
            layer.value.extend_from_slice(before.row(node as usize));
            layer.error.extend_from_slice(before.errors(node as usize));
        }
        let (of, terms) = (&problem.network().layers()[0], problem.network().layers()[0].passing.terms());
        self.magnitude.clear();
        self.magnitude.resize(layer.value.len(), 0.0);
        let reached = &mut self.reached[0];
        reached.clear();
        reached.resize(slice.nodes(2).len(), false);
        for flip in flips {
            slice.rows_of(*flip).for_each(|(_, m, _)| reached[m] = true);
        }
        if problem.graph().normalisation().is_some() {
            return self.first_normalised(problem, slice, flips);
        }
        for flip in flips {
            let present = problem.graph().attributes().contains(flip.node as usize, flip.attribute);
            let sign = if present { -1.0 } else { 1.0 };
            for (_, m, entries) in slice.rows_of(*flip) {
                let values = &mut layer.value[m * width..][..width];
                let sizes = &mut self.magnitude[m * width..][..width];
                for (k, a) in entries.iter().enumerate() {
                    let weights = of.weight.row(k * of.inputs() + flip.attribute as usize);
                    for ((value, size), &w) in values.iter_mut().zip(sizes.iter_mut()).zip(weights) {
                        let change = sign * a * w;
                        *value += change;
                        // The smallest normal number marks the entry as touched even where the change underflows.
                        *size += change.abs() + f64::MIN_POSITIVE;
                    }
                }
            }
        }
        for ((e, &size), &z) in layer.error.iter_mut().zip(&self.magnitude).zip(&layer.value) {
            if size > 0.0 {
                // |unperturbed| ≤ |perturbed| + changes
                *e = *e * (1.0 + 1e-9) + error_of(terms * flips.len() + 2, 2.0 * size + z.abs());
            }
        }
    }

    /// The same where rows are normalised: what a row sends after its flips takes the place of what it sent before
    /// (docs/math.md (21.2)).
    fn first_normalised(&mut self, problem: &Problem, slice: &Slice, flips: &[Flip]) {
        let of = &problem.network().layers()[0];
        let (width, layer) = (of.outputs(), &mut self.layers[0]);
        let (mut before, mut after) = (Sent::default(), Sent::default());
        let (mut roundings, moves) = (0, Move::all(problem.graph(), flips));
        for row in &moves {
            let Some(n) = slice.position(row.node()) else { continue };
            roundings = roundings.max(before.fill(problem.graph(), of, row.node(), &[]));
            roundings = roundings.max(after.fill(problem.graph(), of, row.node(), flips));
            for (_, m, entries) in slice.reaching(n) {
                for (k, a) in entries.iter().enumerate() {
                    for j in 0..width {
                        let at = k * width + j;
                        layer.value[m * width + j] += a * (after.value[at] - before.value[at]);
                        let size = a.abs() * (after.size[at] + before.size[at] + FLOOR) + f64::MIN_POSITIVE;
                        self.magnitude[m * width + j] += size;
                    }
                }
            }
        }
        let terms = of.passing.terms() * moves.len() + roundings + 4;
        for ((e, &size), &z) in layer.error.iter_mut().zip(&self.magnitude).zip(&layer.value) {
            if size > 0.0 {
                *e = *e * (1.0 + 1e-9) + error_of(terms, 2.0 * size + z.abs());
            }
        }
    }

    /// From representation `l` to `l + 1`: messages first, then weights. Rows that the perturbation does not reach are
    /// as `before`.
    fn step(&mut self, network: &Network, before: &Representation, slice: &Slice, l: usize) {
        let (layer, activation) = (&network.layers()[l - 1], &network.layers()[l - 2]);
        let (inputs, outputs, count) = (layer.inputs(), layer.outputs(), layer.passing.terms());
        let rows = slice.nodes(l + 1).len();
        let (below, above) = self.layers.split_at_mut(l - 1);
        let (from, to) = (&below[l - 2], &mut above[0]);
        to.value.clear();
        to.value.resize(rows * outputs, 0.0);
        to.error.clear();
        to.error.resize(rows * outputs, 0.0);
        let [value, size, inherited] = &mut self.received;
        self.reached.swap(0, 1);
        let [reached, reached_below] = &mut self.reached;
        reached.clear();
        for m in 0..rows {
            reached.push(slice.passing(l).row(m).any(|(n, _)| reached_below[n]));
            if !reached[m] {
                let node = slice.nodes(l + 1)[m] as usize;
                to.value[m * outputs..][..outputs].copy_from_slice(before.row(node));
                to.error[m * outputs..][..outputs].copy_from_slice(before.errors(node));
                continue;
            }
            for (buffer, floor) in [(&mut *value, 0.0), (&mut *size, FLOOR), (&mut *inherited, f64::MIN_POSITIVE)] {
                buffer.clear();
                buffer.resize(inputs * count, floor);
            }
            let mut terms = 0;
            for (n, entries) in slice.passing(l).row(m) {
                terms += 1;
                let at = n * inputs;
                for (k, &a) in entries.iter().enumerate() {
                    let into = k * inputs;
                    for i in 0..inputs {
                        let z = from.value[at + i];
                        let h = if activation.is_linear(i) { z } else { z.max(0.0) };
                        value[into + i] += a * h;
                        size[into + i] += (a * h).abs();
                        inherited[into + i] += a.abs() * from.error[at + i];
                    }
                }
            }
            let out = &mut to.value[m * outputs..][..outputs];
            let error = &mut to.error[m * outputs..][..outputs];
            let bias = layer.bias.row(slice.nodes(l + 1)[m] as usize);
            out.copy_from_slice(bias);
            self.magnitude.clear();
            self.magnitude.extend(bias.iter().map(|b| b.abs()));
            for i in 0..inputs * count {
                for (j, &w) in layer.weight.row(i).iter().enumerate() {
                    out[j] += value[i] * w;
                    self.magnitude[j] += size[i] * w.abs();
                    error[j] += inherited[i] * w.abs();
                }
            }
            for (e, &magnitude) in error.iter_mut().zip(&self.magnitude) {
                *e = *e * (1.0 + 1e-9) + error_of(count * inputs + terms + 2, magnitude);
            }
        }
    }

    /// The slopes of the true network at the last perturbation: coefficients of representation 2 in the objective,
    /// through the units that are active there.
    pub fn gradient(&self, network: &Network, slice: &Slice, objective: Objective, into: &mut Vec<f64>) {
        let top = slice.top();
        let mut phi = vec![0.0; network.width(top)];
        for &(unit, c) in objective {
            phi[unit] = c;
        }
        for l in (2..top).rev() {
            let (layer, activation) = (&network.layers()[l - 1], &network.layers()[l - 2]);
            let (inputs, outputs) = (layer.inputs(), layer.outputs());
            let mut next = vec![0.0; slice.nodes(l).len() * inputs];
            for m in 0..slice.nodes(l + 1).len() {
                let phi = &phi[m * outputs..][..outputs];
                let psi: Vec<f64> = (0..layer.weight.rows())
                    .map(|i| layer.weight.row(i).iter().zip(phi).map(|(w, p)| w * p).sum())
                    .collect();
                for (n, entries) in slice.passing(l).row(m) {
                    for (a, psi) in entries.iter().zip(psi.chunks_exact(inputs)) {
                        for (slot, p) in next[n * inputs..][..inputs].iter_mut().zip(psi) {
                            *slot += a * p;
                        }
                    }
                }
            }
            for (at, (slot, &z)) in next.iter_mut().zip(&self.layers[l - 2].value).enumerate() {
                if z <= 0.0 && !activation.is_linear(at % inputs) {
                    *slot = 0.0;
                }
            }
            phi = next;
        }
        into.clone_from(&phi);
    }
}
