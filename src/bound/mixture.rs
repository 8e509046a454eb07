//! Multipliers that mix the lines of each unit of representation 2, and how they are improved without an LP
//! (docs/math.md §5.4).
//!
//! For a unit with coefficient `a` in the objective and a multiplier `w`
//!
//! ```text
//! free, a > 0:   a·relu(z) ≥ w·a·z                                     w ∈ [0, 1]   (Ω)
//! free, a < 0:   a·relu(z) ≥ e·(envelope) + (1 − e)·(w·(chord line) + (1 − w)·(capped bound))
//!                                                                        e, w ∈ [0, 1]
//! z ≥ 0 assumed: a·relu(z) ≥ (a − w)·z                                  w ≥ 0        (β)
//! z ≤ 0 assumed: a·relu(z) ≥ w·z                                        w ≥ 0        (β)
//! ```
//!
//! Every choice of multipliers gives a valid bound, so their source need not be trusted. Without an LP, good
//! ones come from repeated answers: the flips that are worst for the current multipliers are selected, and the
//! multipliers move towards what would have been tightest there.

use crate::bound::backward::{Backward, Sign};
use crate::bound::hidden::{Assumption, Hidden};
use crate::bound::selection::Loss;
use crate::problem::Problem;
use crate::problem::flip::Flip;
use crate::problem::forward::Representation;
use crate::problem::graph::Graph;
use crate::problem::matrix::PatternRows;
use crate::problem::network::Network;
use crate::problem::rows::{Move, UnitChange};
use crate::problem::slice::Slice;

/// Weights in `[0, 1]` are multiples of `1/GRID`, so that `1 − w` is exact.
const GRID: f64 = (1u64 << 30) as f64;

/// The multipliers of one relaxation.
#[derive(Clone, Debug, Default)]
pub struct Multipliers {
    /// One per unit of representation 2 of the slice.
    pub weights: Vec<f64>,
    /// `Ω` of the units of representations 3 and up.
    pub omega: Vec<Vec<f64>>,
    /// `Ω` of the last backward pass, before the last answer moved it: proofs of that bound need this one.
    pub last_omega: Vec<Vec<f64>>,
    /// Shares of the chord of the units of representation 3; empty where none has the capped bound.
    pub chords: Vec<f64>,
    /// Signs that a branch assumes above representation 2.
    pub signs: Vec<Sign>,
    rounds: f64,
    /// Changes of the units' inputs and of their capped bounds under an answer.
    change: Vec<f64>,
    capped: Vec<f64>,
}

impl Multipliers {
    /// Starts above representation 2: the lines that are exact at the unperturbed graph.
    pub fn start(&mut self, slice: &Slice, unperturbed: &[Representation]) {
        self.rounds = 1.0;
        self.signs.clear();
        self.chords.clear();
        self.last_omega.clear();
        self.omega.clear();
        for l in 3..slice.top() {
            let layer = &unperturbed[l - 2];
            let active = |z: &f64| f64::from(u8::from(*z > 0.0));
            self.omega.push(slice.nodes(l).iter().flat_map(|&n| layer.row(n as usize).iter().map(active)).collect());
        }
    }

    /// Gives the units of representation 3 the capped bound alone, if there is a representation above.
    pub fn bend(&mut self, slice: &Slice, unperturbed: &[Representation]) {
        self.chords.clear();
        if slice.top() > 3 {
            self.chords.resize(slice.nodes(3).len() * unperturbed[1].width, 0.0);
        }
    }

    /// Starts at the lines that are exact at the anchor.
    pub fn anchored(&mut self, hidden: &Hidden, backward: &Backward) {
        let (coefficients, _) = backward.coefficients();
        self.weights.clear();
        self.weights.extend((0..hidden.count()).map(|at| {
            let lower_line = hidden.assumption[at] == Assumption::Free && coefficients[at] > 0.0;
            if lower_line && hidden.value[at] > 0.0 { 1.0 } else { 0.0 }
        }));
    }

    /// Moves towards the weights that are tightest at the attacker's answer: their average over all answers converges
    /// to the optimum of the relaxed problem. `attacked` gives the pre-activations of a representation under the answer
    /// (docs/math.md §5.4).
    pub fn answer(
        &mut self,
        problem: &Problem,
        slice: &Slice,
        hidden: &Hidden,
        backward: &Backward,
        flips: &[Loss],
        attacked: impl Fn(usize) -> Vec<f64>,
    ) {
        self.changes(problem.graph(), problem.network(), slice, hidden, flips);
        self.rounds += 1.0;
        self.last_omega.clone_from(&self.omega);
        let share = 2.0 / (self.rounds + 1.0);
        for (above, omega) in self.omega.iter_mut().enumerate() {
            for (weight, z) in omega.iter_mut().zip(attacked(above + 3)) {
                *weight += share * (f64::from(u8::from(z > 0.0)) - *weight);
            }
        }
        let (coefficients, _) = backward.coefficients();
        for at in (0..hidden.count()).filter(|&at| hidden.assumption[at] == Assumption::Free) {
            let (r, s, z) = (hidden.lower[at], hidden.upper[at], hidden.value[at]);
            let here = z + self.change[at];
            let best = if coefficients[at] > 0.0 {
                here > 0.0
            } else {
                s * (here - r) / (s - r) < z.max(0.0) + self.capped[at]
            };
            self.weights[at] += share * (f64::from(u8::from(best)) - self.weights[at]);
        }
    }

    /// What the flips do to every unit.
    fn changes(&mut self, graph: &Graph, network: &Network, slice: &Slice, hidden: &Hidden, flips: &[Loss]) {
        for buffer in [&mut self.change, &mut self.capped] {
            buffer.clear();
            buffer.resize(hidden.count(), 0.0);
        }
        let shares = flips.iter().map(|loss| (loss.flip, 1.0));
        add_changes(graph, network, slice, hidden, shares, &mut self.change, &mut self.capped);
    }
}

/// Adds what shares of flips do to every unit: to its input, and to its capped bound.
pub(crate) fn add_changes(
    graph: &Graph,
    network: &Network,
    slice: &Slice,
    hidden: &Hidden,
    shares: impl Iterator<Item = (Flip, f64)>,
    change: &mut [f64],
    capped: &mut [f64],
) {
    let layer = &network.layers()[0];
    let mut gains = Vec::new();
    let mut add = |at: usize, gain: UnitChange, share: f64| {
        change[at] += share * gain.total();
        capped[at] += share * hidden.capped_change(at, gain);
    };
    if graph.normalisation().is_some() {
        // The flips of a row act together: here all of them are made.
        let flips: Vec<Flip> = shares.filter(|flip| flip.1 > 0.0).map(|flip| flip.0).collect();
        for row in Move::all(graph, &flips) {
            for (m, gains) in row.reached(graph, layer, slice, &[]) {
                gains.iter().enumerate().for_each(|(j, &gain)| add(m * gains.len() + j, gain, 1.0));
            }
        }
        return;
    }
    for (flip, share) in shares.filter(|flip| flip.1 > 0.0) {
        let sign = if graph.attributes().contains(flip.node as usize, flip.attribute) { -1.0 } else { 1.0 };
        for (_, m, entries) in slice.rows_of(flip) {
            layer.changes(sign, entries, flip.attribute as usize, &mut gains);
            gains.iter().enumerate().for_each(|(j, &gain)| add(m * gains.len() + j, gain.into(), share));
        }
    }
}

/// The nearest weight on the grid; what is not a number becomes 0.
pub(crate) fn on_grid(w: f64) -> f64 {
    (w.clamp(0.0, 1.0) * GRID).round().max(0.0) / GRID
}
