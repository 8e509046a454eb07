//! The slopes of a row of attributes: what flips of it lose, and shares of it.

use super::sums::{Sums, norm};
use super::{Down, Stored, Up};

/// The slopes of a row of attributes, ready for many inner products.
///
/// With `κ = (plus + minus)/2` and `ρ = (minus − plus)/2` a change `c` of what is sent loses `Σ |c|ρ − Σ cκ`.
pub(crate) struct RowSlopes {
    /// Not below the norm of the larger of `|plus|` and `|minus|`, unit by unit: `|κ| + |ρ|` is exactly that.
    norm: Up,
    /// Not below the norm of what a change of 1 in each unit can lose at most.
    pub(crate) losing: Up,
    centre: Vec<f64>,
    radius: Vec<f64>,
    /// Not below the norm of what rounding leaves open in `κ` and `ρ`.
    slack: f64,
    /// Not below the error of any inner product with weights of the largest norm.
    open: f64,
}

impl RowSlopes {
    /// From lower bounds of `plus` and upper bounds of `minus`; no weights have a norm above `largest`.
    pub(crate) fn new(plus: &[Down], minus: &[Up], largest: Up) -> RowSlopes {
        let sizes = plus.iter().zip(minus).map(|(p, m)| Up(p.0.abs().max(m.0.abs())));
        // κ and ρ are each off by at most half an ulp of a sum and of its half: 2u of the size and 2⁻¹⁰⁷⁴ at most.
        let open = sizes.clone().map(|size| Up(4.0 * f64::EPSILON * size.0 + 4.0 * f64::from_bits(1)));
        // A change loses only where it rises along a negative `plus` or falls along a positive `minus`.
        let losing = plus.iter().zip(minus).map(|(p, m)| Up((-p.0).max(m.0).max(0.0)));
        let mut slopes = RowSlopes {
            losing: norm(losing),
            norm: norm(sizes),
            centre: plus.iter().zip(minus).map(|(p, m)| 0.5 * (p.0 + m.0)).collect(),
            radius: plus.iter().zip(minus).map(|(p, m)| 0.5 * (m.0 - p.0)).collect(),
            slack: norm(open).0,
            open: 0.0,
        };
        slopes.open = slopes.error(largest);
        slopes
    }

    /// Not below the error of an inner product with weights of this norm: it rises with the norm.
    fn error(&self, weight_norm: Up) -> f64 {
        let terms = 2.0 * self.centre.len() as f64 + 3.0;
        if terms >= 1e6 {
            return f64::INFINITY;
        }
        let product = (self.norm.0 * weight_norm.0).next_up();
        terms * (f64::EPSILON * product + 4.0 * f64::from_bits(1)) + 2.0 * (self.slack * weight_norm.0).next_up()
    }

    /// The loss of a flip as below, unless it surely is at most the price: if the rounded sum of the computed value and
    /// the largest error is below the price, the exact sum is not above it.
    #[inline]
    pub(crate) fn loss_above(&self, weights: &[Stored], weight_norm: Up, present: bool, price: Down) -> Option<Up> {
        let value = self.value(weights, present);
        if value + self.open < price.0 {
            return None;
        }
        Some(self.rounded(value, weight_norm)).filter(|loss| !loss.is_within(price))
    }

    /// The loss of adding an attribute as below, unless it surely is at most another.
    #[inline]
    pub(crate) fn loss_over(&self, weights: &[Stored], weight_norm: Up, least: Up) -> Option<Up> {
        let value = self.value(weights, false);
        if value + self.open < least.0 {
            return None;
        }
        Some(self.rounded(value, weight_norm)).filter(|loss| loss.0 > least.0)
    }

    #[inline]
    fn value(&self, weights: &[Stored], present: bool) -> f64 {
        let (linear, spread) = dot(weights, &self.centre, &self.radius);
        spread + if present { linear } else { -linear }
    }

    fn rounded(&self, value: f64, weight_norm: Up) -> Up {
        let upper = value + self.error(weight_norm);
        Up(if upper.is_nan() { f64::INFINITY } else { upper.next_up() })
    }

    /// Not below the loss of a flip: `weights` are those of its attribute, `weight_norm` is not below their norm.
    ///
    /// The computed value is a sum of `k = 2n + 1` terms, in some order, from products of `n` weights with `κ` and with
    /// `ρ`. Its error is at most `γ_{k+2} Σ |w|(|κ| + |ρ|) + k·2⁻¹⁰⁷⁵` for rounding and underflow, plus `Σ |w|·open`
    /// for what is open in `κ` and `ρ`. By Cauchy and Schwarz the first sum is at most the product of the norms (times
    /// `1 + 4u` for the computed `κ`, `ρ`) and the second at most `weight_norm · slack`.
    /// `γ_{k+2} ≤ (k+2)·2u/2·(1 + 2⁻³⁰)` for `k < 2²⁰`: taking `(k+2)·2u` and twice the slack leaves room for the
    /// rounding of the bound itself.
    pub(crate) fn loss(&self, weights: &[Stored], weight_norm: Up, present: bool) -> Up {
        self.rounded(self.value(weights, present), weight_norm)
    }
}

impl RowSlopes {
    /// The same where the norm of the weights is not known.
    pub(crate) fn loss_of(&self, weights: &[Stored], present: bool) -> Up {
        self.loss(weights, norm(weights.iter().map(|w| Up(w.0.abs()))), present)
    }

    /// The same for sums of weights, where `plus ≤ minus` in every unit: then a sum loses at most what its terms lose,
    /// so that to the loss of the rounded sums comes at most the norm of the losing slopes times that of the errors.
    pub(crate) fn loss_of_sums(&self, sums: &Sums, present: bool) -> Up {
        let weights: Vec<Stored> = sums.value.iter().map(|&x| Stored(x)).collect();
        let open = norm(sums.error.iter().map(|&error| Up(error)));
        self.loss_of(&weights, present).plus(self.losing.times_up(open))
    }
}

/// A share `s ∈ [0, 1]` with `max(x − threshold, 0) ≤ s·x` for `0 ≤ x ≤ largest`.
pub(crate) fn excess_share(threshold: Down, largest: Up) -> Stored {
    let (threshold, largest) = (threshold.0.max(0.0), largest.0);
    if threshold >= largest {
        return Stored(0.0);
    }
    // `(x − threshold)/x` grows with x. `min` takes the 1 where an overflow left no number.
    Stored(((largest - threshold).next_up() / largest).next_up().min(1.0))
}

/// A share `s ∈ [0, 1]` with `min(x, threshold) ≥ s·x` for `0 ≤ x ≤ largest`.
pub(crate) fn kept_share(threshold: Down, largest: Up) -> Stored {
    let share = (threshold.0.max(0.0) / largest.0).next_down();
    Stored(if share >= 1.0 {
        1.0
    } else if share > 0.0 {
        share
    } else {
        0.0
    })
}

/// `Σ wκ` and `Σ |w|ρ`, rounded.
fn dot(weights: &[Stored], centre: &[f64], radius: &[f64]) -> (f64, f64) {
    const LANES: usize = 4;
    let (mut linear, mut spread) = ([0.0; LANES], [0.0; LANES]);
    let chunks = weights.chunks_exact(LANES).zip(centre.chunks_exact(LANES).zip(radius.chunks_exact(LANES)));
    for (w, (c, r)) in chunks {
        for lane in 0..LANES {
            linear[lane] += w[lane].0 * c[lane];
            spread[lane] += w[lane].0.abs() * r[lane];
        }
    }
    for at in weights.len() / LANES * LANES..weights.len() {
        linear[0] += weights[at].0 * centre[at];
        spread[0] += weights[at].0.abs() * radius[at];
    }
    let total = |sums: [f64; LANES]| (sums[0] + sums[1]) + (sums[2] + sums[3]);
    (total(linear), total(spread))
}
