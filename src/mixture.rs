//! The mixture: every valid line of a unit of representation 2, chosen by one multiplier each (math §4, §4b, §7).
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
//! Every choice of multipliers gives a valid bound, so whoever proposes them need not be trusted. Without an LP, good ones
//! come from playing the relaxed problem as a game: the attacker answers the current multipliers with his best flips, and
//! they move towards what would have been tightest there.

use std::sync::Arc;

use crate::anchored::{Anchor, Unit};
use crate::capped::{Bend, Cap, capped, change as capped_change};
use crate::dual::{Backward, Relaxed, Sign, line};
use crate::envelope::Arch;
use crate::forward::Representation;
use crate::graph::Graph;
use crate::hidden::{Assumption, Hidden};
use crate::model::Gcn;
use crate::rounding::{Enclosure, UNIT};
use crate::selection::{Flip, Loss};
use crate::slice::Slice;

/// Weights in `[0, 1]` are multiples of `1/GRID`, so that `1 − w` is exact.
const GRID: f64 = (1u64 << 30) as f64;

/// Shares of envelopes are multiples of `1/COARSE`, so that their products with weights are exact too.
const COARSE: f64 = (1u64 << 20) as f64;

/// The multipliers of one relaxation.
#[derive(Clone, Debug, Default)]
pub struct Multipliers {
    /// One per unit of representation 2 of the slice.
    pub weights: Vec<f64>,
    /// `Ω` of the units of representations 3 and up.
    pub omega: Vec<Vec<f64>>,
    /// `Ω` before the last answer: that of the last backward pass.
    pub played: Vec<Vec<f64>>,
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
        self.played.clear();
        self.omega.clear();
        for l in 3..slice.top() {
            let layer = &unperturbed[l - 2];
            let active = |z: &f64| f64::from(u8::from(*z > 0.0));
            self.omega.push(slice.nodes(l).iter().flat_map(|&n| layer.row(n as usize).iter().map(active)).collect());
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

    /// Moves towards the weights that are tightest at the attacker's answer: their average over all answers converges to
    /// the optimum of the relaxed problem. `attacked` gives the pre-activations of a representation under the answer.
    pub fn answer(
        &mut self,
        (graph, gcn, slice): (&Graph, &Gcn, &Slice),
        hidden: &Hidden,
        backward: &Backward,
        flips: &[Loss],
        attacked: impl Fn(usize) -> Vec<f64>,
    ) {
        self.changes(graph, gcn, slice, hidden, flips);
        self.rounds += 1.0;
        self.played.clone_from(&self.omega);
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
    fn changes(&mut self, graph: &Graph, gcn: &Gcn, slice: &Slice, hidden: &Hidden, flips: &[Loss]) {
        for buffer in [&mut self.change, &mut self.capped] {
            buffer.clear();
            buffer.resize(hidden.count(), 0.0);
        }
        let shares = flips.iter().map(|loss| (loss.flip, 1.0));
        add_changes(graph, gcn, slice, hidden, shares, &mut self.change, &mut self.capped);
    }
}

/// Adds what shares of flips do to every unit: to its input, and to its capped bound.
pub(crate) fn add_changes(
    graph: &Graph,
    gcn: &Gcn,
    slice: &Slice,
    hidden: &Hidden,
    shares: impl Iterator<Item = (Flip, f64)>,
    change: &mut [f64],
    capped: &mut [f64],
) {
    let weight = &gcn.layers()[0].weight;
    let width = weight.columns;
    for (flip, share) in shares.filter(|flip| flip.1 > 0.0) {
        let sign = if graph.attributes().contains(flip.node as usize, flip.attribute) { -1.0 } else { 1.0 };
        for (_, m, a) in reached(slice, flip) {
            for (j, &w) in weight.row(flip.attribute as usize).iter().enumerate() {
                let (at, g) = (m * width + j, sign * a * w);
                change[at] += share * g;
                capped[at] += share * capped_change(hidden.cap[at].level, hidden.value[at], g);
            }
        }
    }
}

/// The rows of `A(1)` that a flip reaches, as in [`Slice::reaching`].
pub fn reached(slice: &Slice, flip: Flip) -> impl Iterator<Item = (usize, usize, f64)> {
    slice.position(flip.node).into_iter().flat_map(|n| slice.reaching(n))
}

impl Relaxed {
    /// The relaxation with given multipliers, anchored where `hidden` is. Layers above the second are relaxed as the
    /// backward pass was run.
    pub fn mixed(&mut self, backward: &Backward, hidden: &Hidden, weights: &[f64]) {
        let (coefficients, errors) = backward.coefficients();
        self.base = backward.constant();
        self.clear();
        let mut arches = Vec::new();
        for at in 0..hidden.count() {
            let (a, error) = (coefficients[at], errors[at]);
            let (z, ez) = (hidden.value[at], hidden.error[at]);
            let (r, s) = (hidden.lower[at], hidden.upper[at]);
            let w = weights[at];
            let (rise, fall) = match hidden.assumption[at] {
                // Any slope not above a lies under a·z where z ≥ 0, any slope not below 0 under 0 where z ≤ 0.
                Assumption::Active => self.one_slope((a - error - w.max(0.0)).next_down(), z, ez),
                Assumption::Inactive => self.one_slope(w.max(0.0), z, ez),
                // 0 ≤ λ ≤ a keeps λz under a·relu(z) everywhere.
                Assumption::Free if s > 0.0 && r < 0.0 && a - error > 0.0 => {
                    self.one_slope((on_grid(w) * (a - error)).next_down().max(0.0), z, ez)
                }
                Assumption::Free => {
                    let unit = Unit { coefficient: (a, error), unperturbed: (z, ez), lower: r, upper: s };
                    let envelope = self.arch(unit, hidden, at);
                    let others = 1.0 - envelope.map_or(0.0, |(_, share, _)| share);
                    let (rise, fall, bend) = self.two_slopes(unit, hidden.cap[at], (on_grid(w), others));
                    if bend.weight > 0.0 {
                        self.bends.resize(hidden.count(), Bend::default());
                        self.bends[at] = bend;
                    }
                    if let Some((arch, _, slopes)) = envelope {
                        arches.resize(hidden.count(), Arch::default());
                        arches[at] = arch;
                        ((rise + slopes.0).next_down(), (fall + slopes.1).next_up())
                    } else {
                        (rise, fall)
                    }
                }
            };
            let centre = 0.5 * (rise + fall);
            self.centre.push(centre);
            self.radius.push(if rise == fall { 0.0 } else { (fall - centre).max(centre - rise).next_up() });
        }
        if let (Some((envelope, _)), false) = (&hidden.envelope, arches.is_empty()) {
            arches.resize(hidden.count(), Arch::default());
            self.envelope = Some((Arc::clone(envelope), arches));
        }
    }

    /// A unit's envelope: how it enters the slopes, its share, and its part of the slopes for rising and falling.
    fn arch(&mut self, unit: Unit, hidden: &Hidden, at: usize) -> Option<(Arch, f64, (f64, f64))> {
        let Unit { coefficient: (a, error), unperturbed: (z, ez), lower: r, upper: s } = unit;
        let (envelope, left) = hidden.envelope.as_ref()?;
        let prices = &envelope.units[at];
        let share = (prices.share.clamp(0.0, 1.0) * COARSE).round() / COARSE;
        let (low, high) = ((a - error).next_down(), (a + error).next_up());
        if !(share > 0.0 && r < 0.0 && s > 0.0 && high < 0.0) {
            return None;
        }
        let base = left.base(prices, Enclosure { value: z, error: ez });
        self.base.add(share * (a * base));
        self.base.allow(share * (error * base));
        // All levels are at least those of τ, which bounds the kink by slopes as in the capped bound.
        let tau = prices.every;
        let largest = if (tau > 0.0) == (z < 0.0) && z.abs() > ez { hidden.cap[at].largest } else { f64::INFINITY };
        let slope = Cap { level: (tau.abs() * (1.0 - 8.0 * UNIT)).next_down().max(0.0), largest }.slope();
        let (up, down) = match tau {
            tau if tau > 0.0 => (slope, 0.0),
            tau if tau < 0.0 => (1.0, (1.0 - slope).next_down().max(0.0)),
            _ => (1.0, 0.0),
        };
        let slopes =
            ((share * (low * up)).next_down().next_down(), (share * (high * down)).next_up().next_up().min(0.0));
        let weight = (share * -high).next_down().max(0.0);
        Some((Arch { weight, up, down }, share, slopes))
    }

    /// A line through the origin.
    fn one_slope(&mut self, slope: f64, z: f64, ez: f64) -> (f64, f64) {
        self.base.add(slope * z);
        self.base.allow(slope.abs() * ez);
        (slope, slope)
    }

    /// `w` of the chord's line and the rest of the capped bound, all of it times a share.
    fn two_slopes(&mut self, unit: Unit, cap: Cap, (w, share): (f64, f64)) -> (f64, f64, Bend) {
        let Unit { coefficient: (a, error), unperturbed: (z, ez), lower: r, upper: s } = unit;
        let (chord, kappa) = line(a, error, r, s);
        let (Anchor { rise, fall, slack }, mut bend) = capped(unit, cap);
        // Exact: 30 bits of one, 20 of the other.
        let (w, rest) = (w * share, (1.0 - w) * share);
        bend.weight = (bend.weight * rest).next_down();
        if w > 0.0 {
            self.base.add(w * (chord * z));
            self.base.add(w * kappa);
            self.base.allow(w * (chord.abs() * ez));
        }
        if s > 0.0 && rest > 0.0 {
            let h = z.max(0.0);
            self.base.add(rest * (a * h));
            self.base.allow(rest * (a.abs() * ez + error * (h + ez) + slack));
        }
        if share == 1.0 && chord == rise && chord == fall {
            return (rise, fall, bend);
        }
        let rounding = |x: f64| 4.0 * UNIT * (w * chord.abs() + rest * x.abs());
        let rise = (w * chord + rest * rise - rounding(rise)).next_down();
        (rise, (w * chord + rest * fall + rounding(fall)).next_up(), bend)
    }
}

/// The nearest weight on the grid; what is not a number becomes 0.
pub(crate) fn on_grid(w: f64) -> f64 {
    (w.clamp(0.0, 1.0) * GRID).round().max(0.0) / GRID
}
