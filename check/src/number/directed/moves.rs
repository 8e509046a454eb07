//! Lines over units, and coefficients of attributes, for proofs about ranges (`FORMAT-RANGES.md` §4).

use super::{Down, Interval, Stored, Up, product_below};

impl Interval {
    /// Slope and intercept of a line that is not below `max(z, 0)` anywhere in the interval. Whatever the slope `s` in
    /// `[0, 1]` is, an intercept of at least 0, `−s R` and `S − s S` will do: the line minus the activation is concave
    /// on both sides of 0, hence least at an end or at 0.
    pub(crate) fn chord(self) -> [Interval; 2] {
        let (low, high) = (self.lower.0, self.upper.0);
        let slope = (high / (high - low)).clamp(0.0, 1.0);
        let slope = if slope.is_nan() { 1.0 } else { slope };
        let at_low = Up(-product_below(low, slope));
        let at_high = Up(high).minus(Down(product_below(high, slope)));
        let intercept = at_low.most(at_high).positive_part();
        [Interval { lower: Down(slope), upper: Up(slope) }, Interval { lower: Down(intercept.0), upper: intercept }]
    }

    /// The slope of a line below a unit where no other is stated: 1 where clearly more of the interval lies above 0
    /// than below. Intervals that are symmetric but for roundings have one slope, however they were rounded.
    pub(crate) fn usual_slope(self) -> Interval {
        const CLEARLY: f64 = 1.0 - 1.0 / 1_048_576.0;
        Interval::from(if CLEARLY * self.upper.0 > -self.lower.0 { Stored::ONE } else { Stored::ZERO })
    }
}

/// Coefficients that are not 0, each by the middle of its interval and how far its ends are from that.
pub(crate) struct Coefficients(Vec<Coefficient>);

struct Coefficient {
    place: usize,
    middle: f64,
    radius: f64,
}

impl Coefficients {
    pub(crate) fn new(of: &[Interval]) -> Coefficients {
        let coefficient = |(place, v): (usize, &Interval)| {
            let (low, high) = (v.lower.0, v.upper.0);
            if low == high {
                return Coefficient { place, middle: low, radius: 0.0 };
            }
            let middle = low / 2.0 + high / 2.0;
            Coefficient { place, middle, radius: (high - middle).max(middle - low).next_up() }
        };
        Coefficients(of.iter().enumerate().filter(|(_, v)| !v.is_zero()).map(coefficient).collect())
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.0.len()
    }

    /// `Σ c·w`, enclosed. Products and sums of `k` terms are off by at most `γ_k` times the sum of their sizes, and by
    /// `2⁻¹⁰⁷⁵` for each product by underflow; to that come the radii times the sizes of the weights. Twice as much of
    /// every rounding leaves room for that of the bound.
    pub(crate) fn on(&self, weights: &[Stored]) -> Interval {
        let (mut value, mut size, mut spread) = (0.0, 0.0, 0.0);
        for of in &self.0 {
            let w = weights[of.place].0;
            let product = of.middle * w;
            value += product;
            size += product.abs();
            spread += of.radius * w.abs();
        }
        if self.0.is_empty() {
            return Interval::ZERO;
        }
        let count = self.0.len() as f64 + 4.0;
        let error = count * (f64::EPSILON * (size + spread) + 4.0 * f64::from_bits(1)) + spread;
        if !error.is_finite() || !f64::is_finite(value) {
            return Interval::ANY;
        }
        Interval { lower: Down((value - error).next_down()), upper: Up((value + error).next_up()) }
    }
}

impl Interval {
    /// Is it the float 0?
    pub(crate) fn is_zero(self) -> bool {
        self.lower.is_zero() && self.upper.is_zero()
    }
}
