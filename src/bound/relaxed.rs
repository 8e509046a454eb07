//! A relaxed objective: a lower bound of the margin as a base and a loss for every flip.
//!
//! This file has three relaxations of representation 2: the paper's dual, the anchored bound, and mixtures of lines
//! with given multipliers ([`crate::bound::mixture`]).

use std::sync::Arc;

use crate::bound::backward::Backward;
use crate::bound::hidden::{Assumption, Hidden};
use crate::bound::layer_bounds::LayerBounds;
use crate::bound::line::anchored::{Anchor, AnchoredUnit, anchor};
use crate::bound::line::capped::{Cap, CapCorrection, capped};
use crate::bound::line::chord::{line, sloped};
use crate::bound::line::envelope::{Envelope, EnvelopeCorrection, EnvelopeSlope};
use crate::bound::mixture::on_grid;
use crate::bound::nested::NestedLoss;
use crate::bound::selection::Slopes;
use crate::number::rounding::{Account, Enclosure, FLOOR, UNIT, error_of};
use crate::problem::forward::Representation;
use crate::problem::slice::Slice;

/// Which relaxation a bound uses at representation 2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relaxation {
    /// The paper's dual at its default `Ω`.
    Paper,
    /// The bound anchored at the unperturbed graph.
    Anchored,
}

/// Shares of envelopes are multiples of `1/COARSE`, so that their products with weights are exact too.
const COARSE: f64 = (1u64 << 20) as f64;

/// A relaxed objective: linear in the pre-activations of representation 2, with one slope for each unit's rise and one
/// for its fall.
#[derive(Debug, Default)]
pub struct Relaxed {
    /// The value at the unperturbed graph.
    pub base: Account,
    /// Per node and unit of representation 2: middle of the two slopes.
    pub centre: Vec<f64>,
    /// Half their difference; empty for the paper's dual, which has one slope.
    pub radius: Vec<f64>,
    /// What the slopes overstate where a unit is capped; empty if none is.
    pub cap_corrections: Vec<CapCorrection>,
    /// Envelopes, and how they enter the slopes.
    pub envelope: Option<(Arc<Envelope>, Vec<EnvelopeSlope>)>,
    /// What flips lose by bends of representation 3, which the slopes overstate.
    pub nested: Option<Arc<NestedLoss>>,
}

impl Relaxed {
    /// The paper's relaxation at the default `Ω = S/(S−R)` (docs/math.md (4.5)).
    pub fn paper(
        &mut self,
        backward: &Backward,
        slice: &Slice,
        unperturbed: &Representation,
        bounds: Option<&LayerBounds>,
    ) {
        let width = unperturbed.width;
        let (coefficients, errors) = backward.coefficients();
        self.base = backward.constant();
        self.clear();
        for (n, &node) in slice.nodes(2).iter().enumerate() {
            let node = node as usize;
            let (z, ez) = (unperturbed.row(node), unperturbed.errors(node));
            for j in 0..width {
                let at = n * width + j;
                let (slope, kappa) = match bounds {
                    Some(b) => line(coefficients[at], errors[at], b.lower(node)[j], b.upper(node)[j]),
                    // The target's own pre-activations have no ReLU, and their coefficients are exact.
                    None => (coefficients[at], 0.0),
                };
                self.base.add(kappa);
                self.base.add(slope * z[j]);
                self.base.allow(slope.abs() * ez[j]);
                self.centre.push(slope);
            }
        }
    }

    /// The objective of a network without hidden layers, which is known at the anchor: nothing is relaxed.
    pub(crate) fn linear(&mut self, backward: &Backward, anchor: Enclosure) {
        self.clear();
        self.base = Account::default();
        self.base.add(anchor.value);
        self.base.allow(anchor.error);
        self.centre.extend_from_slice(backward.coefficients().0);
    }

    /// The relaxation with any slopes: `slope` gives that of every undecided unit, by its place in the slice and its
    /// coefficient.
    pub fn sloped(&mut self, backward: &Backward, hidden: &Hidden, slope: impl Fn(usize, f64) -> f64) {
        let (coefficients, errors) = backward.coefficients();
        self.base = backward.constant();
        self.clear();
        for at in 0..hidden.count() {
            let (a, error, r, s) = (coefficients[at], errors[at], hidden.lower[at], hidden.upper[at]);
            let (slope, kappa) =
                if r < 0.0 && s > 0.0 { sloped(slope(at, a), a, error, r, s) } else { line(a, error, r, s) };
            self.base.add(kappa);
            self.base.add(slope * hidden.value[at]);
            self.base.allow(slope.abs() * hidden.error[at]);
            self.centre.push(slope);
        }
    }

    /// Forgets all slopes.
    pub(crate) fn clear(&mut self) {
        self.centre.clear();
        self.radius.clear();
        self.cap_corrections.clear();
        self.envelope = None;
        self.nested = None;
    }

    /// Passes the slopes on to the nodes of representation 1 and bounds the error of any flip's loss
    /// (docs/math.md (4.5), (5.5)). The slopes of a node stand term after term, as the weights of an attribute do.
    pub fn spread(&self, slice: &Slice, width: usize, largest_norm: f64, slopes: &mut Slopes) -> f64 {
        let nodes = slice.nodes(1).len();
        slopes.cap_corrections.clone_from(&self.cap_corrections);
        slopes.envelope_correction = self
            .envelope
            .as_ref()
            .map(|(envelope, envelope_slopes)| EnvelopeCorrection::new(envelope, envelope_slopes, slice));
        slopes.nested.clone_from(&self.nested);
        let two = !self.radius.is_empty();
        let row_width = width * slice.passing(1).terms;
        slopes.centre.clear();
        slopes.centre.resize(nodes * row_width, 0.0);
        slopes.radius.clear();
        slopes.radius.resize(if two { nodes * row_width } else { 0 }, 0.0);
        slopes.unit_radius.clear();
        if slice.passing(1).terms > 1 {
            slopes.unit_radius.extend_from_slice(&self.radius);
        }
        let passing = slice.passing(1);
        // Σ_m |A_mn| ‖slopes of m‖ bounds the size of everything summed for node n; rows are few, so sum over all n.
        let mut largest: f64 = 0.0;
        let mut sizes = 0.0;
        for m in 0..passing.rows() {
            let centre = &self.centre[m * width..][..width];
            let mut square: f64 = centre.iter().map(|c| c.abs()).sum();
            if two {
                square += self.radius[m * width..][..width].iter().sum::<f64>();
            }
            let mut row_max: f64 = 0.0;
            for (n, entries) in passing.row(m) {
                for (k, &a) in entries.iter().enumerate() {
                    row_max = row_max.max(a.abs());
                    let at = n * row_width + k * width;
                    for (slot, c) in slopes.centre[at..][..width].iter_mut().zip(centre) {
                        *slot += a * c;
                    }
                    if two {
                        let radius = &self.radius[m * width..][..width];
                        for (slot, r) in slopes.radius[at..][..width].iter_mut().zip(radius) {
                            *slot += a.abs() * r;
                        }
                    }
                }
            }
            // The floor stands for products a·c that underflow, which a small a must not take away again.
            sizes += row_max * square + FLOOR;
            largest = largest.max(row_max);
        }
        // A loss is a sum over units of (at most) two products with sums over the rows.
        error_of(2 * row_width + passing.rows() + 6, 2.0 * sizes * largest_norm)
    }

    /// The anchored relaxation. Layers above the second are relaxed as in the dual (docs/math.md (5.4)).
    pub fn anchored(&mut self, backward: &Backward, slice: &Slice, unperturbed: &Representation, bounds: &LayerBounds) {
        let width = unperturbed.width;
        let (coefficients, errors) = backward.coefficients();
        self.base = backward.constant();
        self.clear();
        for (n, &node) in slice.nodes(2).iter().enumerate() {
            let node = node as usize;
            let (z, ez) = (unperturbed.row(node), unperturbed.errors(node));
            let (lower, upper) = (bounds.lower(node), bounds.upper(node));
            for j in 0..width {
                let at = n * width + j;
                let (a, error) = (coefficients[at], errors[at]);
                let unit = AnchoredUnit {
                    coefficient: (a, error),
                    unperturbed: (z[j], ez[j]),
                    lower: lower[j],
                    upper: upper[j],
                };
                let Anchor { rise, fall, slack } = anchor(unit);
                if bounds.is_linear(j) {
                    self.base.add(a * z[j]);
                    self.base.allow(a.abs() * ez[j] + error * (z[j].abs() + ez[j]));
                } else if upper[j] > 0.0 {
                    let h = z[j].max(0.0);
                    self.base.add(a * h);
                    self.base.allow(a.abs() * ez[j] + error * (h + ez[j]) + slack);
                }
                // The interval [centre − radius, centre + radius] contains both slopes. Equal slopes keep a radius of
                // zero: the smallest subnormal would slow every product down.
                let centre = 0.5 * (rise + fall);
                self.centre.push(centre);
                self.radius.push(if rise == fall { 0.0 } else { (fall - centre).max(centre - rise).next_up() });
            }
        }
    }

    /// The relaxation with given multipliers, anchored where `hidden` is. Layers above the second are relaxed as the
    /// backward pass was run (docs/math.md (5.12)).
    ///
    /// `nested` are the bends of the backward pass, if it has any: without them the bound is −∞.
    pub fn mixed(&mut self, backward: &Backward, hidden: &Hidden, weights: &[f64], nested: Option<NestedLoss>) {
        let (coefficients, errors) = backward.coefficients();
        self.base = if nested.is_some() { backward.constant_without_bends() } else { backward.constant() };
        self.clear();
        let mut envelope_slopes = Vec::new();
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
                // Without activation the line is the unit itself.
                Assumption::Free if hidden.is_linear(at) => {
                    self.base.add(a * z);
                    self.base.allow(a.abs() * ez + error * (z.abs() + ez));
                    if error == 0.0 { (a, a) } else { ((a - error).next_down(), (a + error).next_up()) }
                }
                Assumption::Free => {
                    let unit = AnchoredUnit { coefficient: (a, error), unperturbed: (z, ez), lower: r, upper: s };
                    let envelope = self.envelope_part(unit, hidden, at);
                    let others = 1.0 - envelope.map_or(0.0, |(_, share, _)| share);
                    let (rise, fall, cap_correction) = self.two_slopes(unit, hidden.cap[at], on_grid(w), others);
                    if cap_correction.weight > 0.0 {
                        self.cap_corrections.resize(hidden.count(), CapCorrection::default());
                        self.cap_corrections[at] = cap_correction;
                    }
                    if let Some((by_envelope, _, slopes)) = envelope {
                        envelope_slopes.resize(hidden.count(), EnvelopeSlope::default());
                        envelope_slopes[at] = by_envelope;
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
        if let (Some((envelope, _)), false) = (&hidden.envelope, envelope_slopes.is_empty()) {
            envelope_slopes.resize(hidden.count(), EnvelopeSlope::default());
            self.envelope = Some((Arc::clone(envelope), envelope_slopes));
        }
        nested.into_iter().for_each(|nested| self.bend(nested));
    }

    /// Adds the bends of representation 3 (docs/math.md (5.15)).
    fn bend(&mut self, loss: NestedLoss) {
        for (weight, Enclosure { value, error }) in loss.bases() {
            self.base.add(-weight * value);
            self.base.allow(weight * error);
        }
        self.radius.resize(self.centre.len(), 0.0);
        for (at, (centre, radius)) in self.centre.iter_mut().zip(&mut self.radius).enumerate() {
            let Some((rise, fall, error)) = loss.slopes(at) else { continue };
            let rounding = 8.0 * UNIT * (centre.abs() + *radius + rise.abs() + fall.abs());
            *centre += 0.5 * (rise + fall);
            *radius = (*radius + 0.5 * (fall - rise).abs() + error + rounding).next_up();
        }
        self.nested = Some(Arc::new(loss));
    }

    /// The relaxation of minus the affine upper bound of a unit of representation 3 in the flips, whose backward pass
    /// was run: its losses are the falls of that bound (docs/math.md (5.13)).
    pub fn falling(&mut self, backward: &Backward, hidden: &Hidden) {
        let (coefficients, errors) = backward.coefficients();
        self.base = backward.constant();
        self.clear();
        for at in 0..hidden.count() {
            let (a, error, z) = (coefficients[at], errors[at], hidden.value[at]);
            let (low, high) = if error == 0.0 { (a, a) } else { ((a - error).next_down(), (a + error).next_up()) };
            let stable = hidden.is_linear(at) || hidden.lower[at] >= 0.0;
            let unstable = !stable && hidden.upper[at] > 0.0;
            let (rise, fall) = match unstable {
                false if hidden.upper[at] <= 0.0 => (0.0, 0.0),
                false => (low, high),
                // From above the capped bound, which does not fall where the unit is inactive.
                true if low > 0.0 && z < 0.0 => (0.0, 0.0),
                true if low > 0.0 => (low, high),
                // From below `ω·z`.
                true if high < 0.0 && z > 0.0 => (low, high),
                true if high < 0.0 => (0.0, 0.0),
                true => (low.min(0.0), high.max(0.0)),
            };
            let centre = 0.5 * (rise + fall);
            self.centre.push(centre);
            self.radius.push(if rise == fall { 0.0 } else { (fall - centre).max(centre - rise).next_up() });
            if unstable && low > 0.0 {
                // What a rise gains beyond the level, and what a fall beyond it does not lose.
                let side = if z < 0.0 { 1.0 } else { -1.0 };
                self.cap_corrections.resize(hidden.count(), CapCorrection::default());
                self.cap_corrections[at] =
                    CapCorrection { weight: -low, side, slope: 0.0, level: hidden.cap[at].level };
            }
        }
    }

    /// A unit's envelope: how it enters the slopes, its share, and its part of the slopes for rising and falling.
    fn envelope_part(
        &mut self,
        unit: AnchoredUnit,
        hidden: &Hidden,
        at: usize,
    ) -> Option<(EnvelopeSlope, f64, (f64, f64))> {
        let AnchoredUnit { coefficient: (a, error), unperturbed: (z, ez), lower: r, upper: s } = unit;
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
        // Prices of nodes and single flips only raise the levels u and v of a flip (5.10).
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
        Some((EnvelopeSlope { weight, up, down }, share, slopes))
    }

    /// A line `slope·z` through the origin: the same slope for rise and fall.
    fn one_slope(&mut self, slope: f64, z: f64, ez: f64) -> (f64, f64) {
        self.base.add(slope * z);
        self.base.allow(slope.abs() * ez);
        (slope, slope)
    }

    /// `w` of the chord's line and the rest of the capped bound, all of it times a share.
    fn two_slopes(&mut self, unit: AnchoredUnit, cap: Cap, w: f64, share: f64) -> (f64, f64, CapCorrection) {
        let AnchoredUnit { coefficient: (a, error), unperturbed: (z, ez), lower: r, upper: s } = unit;
        let (chord, kappa) = line(a, error, r, s);
        let (Anchor { rise, fall, slack }, mut cap_correction) = capped(unit, cap);
        // Exact: 30 bits of one, 20 of the other.
        let (w, rest) = (w * share, (1.0 - w) * share);
        cap_correction.weight = (cap_correction.weight * rest).next_down();
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
            return (rise, fall, cap_correction);
        }
        let rounding = |x: f64| 4.0 * UNIT * (w * chord.abs() + rest * x.abs());
        let rise = (w * chord + rest * rise - rounding(rise)).next_down();
        (rise, (w * chord + rest * fall + rounding(fall)).next_up(), cap_correction)
    }
}
