//! The mixture: chord and anchored bound of each unit, weighted, and the slope of the lower line free.
//!
//! For a unit of representation 2 with coefficient `a` and a weight `w ∈ [0, 1]`
//!
//! ```text
//! a > 0:  a·relu(z) ≥ w·a·z
//! a < 0:  a·relu(z) ≥ w·(chord line) + (1 − w)·(anchored bound)
//! ```
//!
//! Every choice of weights gives a valid bound. Good ones come from playing the relaxed problem as a game: the attacker
//! answers the current weights with his best flips, and the weights move towards what would have been tightest there.

use crate::anchored::{Anchor, Unit, anchor};
use crate::bounds::LayerBounds;
use crate::dual::{Backward, Relaxed, line};
use crate::forward::Representation;
use crate::graph::Graph;
use crate::model::Gcn;
use crate::rounding::UNIT;
use crate::selection::Loss;
use crate::slice::Slice;

/// Weights are multiples of this, so that `1 − w` is exact.
const GRID: f64 = 1024.0;

/// The weights of the units of representation 2 in one slice.
#[derive(Debug, Default)]
pub struct Weights {
    values: Vec<f64>,
    rounds: f64,
    rise: Vec<f64>,
    fall: Vec<f64>,
    /// `Ω` of the units of representations 3 and up.
    omega: Vec<Vec<f64>>,
}

impl Weights {
    /// Starts above representation 2: the lines that are exact at the unperturbed graph.
    pub fn start(&mut self, slice: &Slice, unperturbed: &[Representation]) {
        self.rounds = 1.0;
        self.omega.clear();
        for l in 3..slice.top() {
            let layer = &unperturbed[l - 2];
            let active = |z: &f64| f64::from(u8::from(*z > 0.0));
            self.omega.push(slice.nodes(l).iter().flat_map(|&n| layer.row(n as usize).iter().map(active)).collect());
        }
    }

    /// `Ω` of the units of representations 3 and up.
    pub fn omega(&self) -> &[Vec<f64>] {
        &self.omega
    }

    /// Starts at the anchored bound.
    pub fn anchored(&mut self, slice: &Slice, unperturbed: &Representation, backward: &Backward) {
        self.values.clear();
        let width = unperturbed.width;
        let (coefficients, _) = backward.coefficients();
        for (m, &node) in slice.nodes(2).iter().enumerate() {
            for (j, &z) in unperturbed.row(node as usize).iter().enumerate() {
                self.values.push(if coefficients[m * width + j] > 0.0 && z > 0.0 { 1.0 } else { 0.0 });
            }
        }
    }

    /// Moves towards the weights that are tightest at the attacker's answer: their average over all answers converges to
    /// the optimum of the relaxed problem. `attacked` gives the pre-activations of a representation under the answer.
    pub fn answer(
        &mut self,
        (graph, gcn, slice): (&Graph, &Gcn, &Slice),
        unperturbed: &Representation,
        bounds: &LayerBounds,
        backward: &Backward,
        flips: &[Loss],
        attacked: impl Fn(usize) -> Vec<f64>,
    ) {
        self.changes(graph, gcn, slice, flips);
        self.rounds += 1.0;
        let share = 2.0 / (self.rounds + 1.0);
        for (above, omega) in self.omega.iter_mut().enumerate() {
            for (weight, z) in omega.iter_mut().zip(attacked(above + 3)) {
                *weight += share * (f64::from(u8::from(z > 0.0)) - *weight);
            }
        }
        let width = unperturbed.width;
        let (coefficients, _) = backward.coefficients();
        for (m, &node) in slice.nodes(2).iter().enumerate() {
            let node = node as usize;
            for j in 0..width {
                let at = m * width + j;
                let (r, s, z) = (bounds.lower(node)[j], bounds.upper(node)[j], unperturbed.row(node)[j]);
                let (u, v) = (self.rise[at], self.fall[at]);
                let best = if coefficients[at] > 0.0 {
                    z + u - v > 0.0
                } else {
                    let chord = s * (z + u - v - r) / (s - r);
                    let anchored = if z >= 0.0 { z + u - z / (z - r) * v } else { s / (s - z) * u };
                    chord < anchored
                };
                self.values[at] += share * (f64::from(u8::from(best)) - self.values[at]);
            }
        }
    }

    /// Rise and fall of every unit under the flips.
    fn changes(&mut self, graph: &Graph, gcn: &Gcn, slice: &Slice, flips: &[Loss]) {
        let weight = &gcn.layers()[0].weight;
        let width = weight.columns;
        for buffer in [&mut self.rise, &mut self.fall] {
            buffer.clear();
            buffer.resize(slice.nodes(2).len() * width, 0.0);
        }
        let positions: Vec<(usize, &Loss)> =
            flips.iter().filter_map(|loss| Some((slice.position(loss.flip.node)?, loss))).collect();
        for m in 0..slice.nodes(2).len() {
            for (n, a) in slice.passing(1).row(m) {
                for (_, loss) in positions.iter().filter(|p| p.0 == n) {
                    let present = graph.attributes().contains(loss.flip.node as usize, loss.flip.attribute);
                    let a = if present { -a } else { a };
                    for (j, &w) in weight.row(loss.flip.attribute as usize).iter().enumerate() {
                        self.rise[m * width + j] += (a * w).max(0.0);
                        self.fall[m * width + j] -= (a * w).min(0.0);
                    }
                }
            }
        }
    }
}

impl Relaxed {
    /// The mixed relaxation. Layers above the second are relaxed as in the dual.
    pub fn mixed(
        &mut self,
        backward: &Backward,
        slice: &Slice,
        unperturbed: &Representation,
        bounds: &LayerBounds,
        weights: &Weights,
    ) {
        let width = unperturbed.width;
        let (coefficients, errors) = backward.coefficients();
        self.base = backward.constant();
        self.centre.clear();
        self.radius.clear();
        for (n, &node) in slice.nodes(2).iter().enumerate() {
            let node = node as usize;
            for j in 0..width {
                let at = n * width + j;
                let (a, error) = (coefficients[at], errors[at]);
                let (z, ez) = (unperturbed.row(node)[j], unperturbed.errors(node)[j]);
                let (r, s) = (bounds.lower(node)[j], bounds.upper(node)[j]);
                let w = (weights.values[at].clamp(0.0, 1.0) * GRID).round() / GRID;
                let (rise, fall) = if s > 0.0 && r < 0.0 && a - error > 0.0 {
                    // 0 ≤ λ ≤ a keeps λz under a·relu(z) everywhere.
                    let slope = (w * (a - error)).next_down().max(0.0);
                    self.base.add(slope * z);
                    self.base.allow(slope * ez);
                    (slope, slope)
                } else {
                    let (chord, kappa) = line(a, error, r, s);
                    let unit = Unit { coefficient: (a, error), unperturbed: (z, ez), lower: r, upper: s };
                    let Anchor { rise, fall, slack } = anchor(unit);
                    if w > 0.0 {
                        self.base.add(w * (chord * z));
                        self.base.add(w * kappa);
                        self.base.allow(w * (chord.abs() * ez));
                    }
                    let rest = 1.0 - w;
                    if s > 0.0 && rest > 0.0 {
                        let h = z.max(0.0);
                        self.base.add(rest * (a * h));
                        self.base.allow(rest * (a.abs() * ez + error * (h + ez) + slack));
                    }
                    let rounding = |x: f64| 4.0 * UNIT * (w * chord.abs() + rest * x.abs());
                    if chord == rise && chord == fall {
                        (rise, fall)
                    } else {
                        (
                            (w * chord + rest * rise - rounding(rise)).next_down(),
                            (w * chord + rest * fall + rounding(fall)).next_up(),
                        )
                    }
                };
                let centre = 0.5 * (rise + fall);
                self.centre.push(centre);
                self.radius.push(if rise == fall { 0.0 } else { (fall - centre).max(centre - rise).next_up() });
            }
        }
    }
}
