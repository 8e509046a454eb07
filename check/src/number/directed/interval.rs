//! Intervals between two floats.

use std::cmp::Ordering;
use std::ops::Neg;

use super::{Down, Stored, Up, product_below};
use crate::number::dyadic::Dyadic;

/// All reals between two floats: every number meant lies in it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// Not above the number.
    pub lower: Down,
    /// Not below it.
    pub upper: Up,
}

impl Interval {
    pub(crate) const ZERO: Interval = Interval { lower: Down(0.0), upper: Up(0.0) };

    /// All reals.
    pub(crate) const ANY: Interval = Interval { lower: Down(f64::NEG_INFINITY), upper: Up(f64::INFINITY) };

    pub(crate) fn plus(self, other: Interval) -> Interval {
        Interval { lower: self.lower.plus(other.lower), upper: self.upper.plus(other.upper) }
    }

    pub(crate) fn minus(self, other: Interval) -> Interval {
        self.plus(-other)
    }

    #[inline]
    pub(crate) fn times(self, other: Interval) -> Interval {
        if other.lower.0 >= 0.0 {
            // The extremes of `[a, b]·[c, d]` where `c ≥ 0`: each end with the factor that pushes it outward.
            let below = if self.lower.0 >= 0.0 { other.lower.0 } else { other.upper.0 };
            let above = if self.upper.0 >= 0.0 { other.upper.0 } else { other.lower.0 };
            let (lower, upper) = (product_below(self.lower.0, below), -product_below(-self.upper.0, above));
            return Interval { lower: Down(lower), upper: Up(upper) };
        }
        let (a, b) = ([self.lower.0, self.upper.0], [other.lower.0, other.upper.0]);
        let (mut lower, mut upper) = (f64::INFINITY, f64::NEG_INFINITY);
        for x in a {
            for y in b {
                lower = lower.min(product_below(x, y));
                upper = upper.max(-product_below(-x, y));
            }
        }
        Interval { lower: Down(lower), upper: Up(upper) }
    }

    #[inline]
    pub(crate) fn scaled(self, factor: Stored) -> Interval {
        let (low, high) = if factor.0 > 0.0 { (self.lower.0, self.upper.0) } else { (self.upper.0, self.lower.0) };
        Interval { lower: Down(product_below(low, factor.0)), upper: Up(-product_below(-high, factor.0)) }
    }

    /// `Σ a·b` of stored numbers, enclosed. Where `k` products are not 0, products and sums are off by at most `γ_k`
    /// times the sum of the sizes, and by `2⁻¹⁰⁷⁵` for each product by underflow; twice that and a little leaves room
    /// for the rounding of the bound.
    pub(crate) fn inner(numbers: impl Iterator<Item = (Stored, Stored)>) -> Interval {
        let (mut value, mut size, mut count) = (0.0, 0.0, 0.0);
        for (a, b) in numbers.filter(|(a, b)| a.0 != 0.0 && b.0 != 0.0) {
            let product = a.0 * b.0;
            value += product;
            size += product.abs();
            count += 1.0;
        }
        if count == 0.0 {
            return Interval::ZERO;
        }
        let error = (count + 4.0) * (f64::EPSILON * size + 2.0 * f64::from_bits(1));
        if !error.is_finite() {
            return Interval::ANY;
        }
        Interval { lower: Down((value - error).next_down()), upper: Up((value + error).next_up()) }
    }

    pub(crate) fn positive_part(self) -> Interval {
        Interval { lower: Down(self.lower.0.max(0.0)), upper: self.upper.positive_part() }
    }

    pub(crate) fn least(self, other: Interval) -> Interval {
        Interval { lower: self.lower.least(other.lower), upper: self.upper.least(other.upper) }
    }

    /// How the number compares to 0; `None` if that is not known.
    pub(crate) fn sign(self) -> Option<Ordering> {
        if self.lower.0 > 0.0 {
            Some(Ordering::Greater)
        } else if self.upper.0 < 0.0 {
            Some(Ordering::Less)
        } else if self.lower.0 >= 0.0 && self.upper.0 <= 0.0 {
            Some(Ordering::Equal)
        } else {
            None
        }
    }

    /// The floats around an exact number.
    pub fn around(x: &Dyadic) -> Interval {
        let (near, inexact) = truncated(x);
        let far = if inexact { near.next_up() } else { near };
        if x.is_negative() {
            Interval { lower: Down(-far), upper: Up(-near) }
        } else {
            Interval { lower: Down(near), upper: Up(far) }
        }
    }

    /// Rule 4 at layer 2 (`FORMAT.md` §4): not above the least `f(u, v) = k·relu(z + u − v) − rise·u + fall·v` over the
    /// rectangle `[0, up] × [0, down]`. A larger rectangle only lowers it.
    ///
    /// `f` rises with `k`, and with `z` if `k > 0`: so `k` is taken from below, and `z` from the end that makes `f`
    /// smaller. As an exact function of these floats its least value is at a corner, or for `k > 0` where
    /// `z + u − v = 0` meets an edge; comparing a rounded sum with a float never excludes a crossing that is there.
    /// Each value is off by at most six roundings of terms that together have at most the size below.
    pub(crate) fn least_on_rectangle(k: Interval, z: Interval, line: [Stored; 2], up: Up, down: Up) -> Down {
        let (k, [rise, fall], up, down) = (k.lower.0, line.map(|x| x.0), up.0, down.0);
        let z = if k < 0.0 { z.upper.0 } else { z.lower.0 };
        let f = |u: f64, v: f64, relu: f64| k * relu - rise * u + fall * v;
        let relu = |u: f64, v: f64| (z + u - v).max(0.0);
        let mut least = f(0.0, 0.0, relu(0.0, 0.0)).min(f(up, 0.0, relu(up, 0.0)));
        least = least.min(f(0.0, down, relu(0.0, down))).min(f(up, down, relu(up, down)));
        if k > 0.0 {
            for (u, v) in [(0.0, z), (-z, 0.0), (up, z + up), (down - z, down)] {
                if u >= 0.0 && v >= 0.0 && u <= up && v <= down {
                    least = least.min(f(u, v, 0.0));
                }
            }
        }
        let size = k.abs() * (z.abs() + up + down) + rise.abs() * up + fall.abs() * down;
        let value = least - (16.0 * f64::EPSILON * size + 16.0 * f64::from_bits(1));
        // Where the size is finite, so is every term above.
        Down(if size.is_finite() { value.next_down() } else { f64::NEG_INFINITY })
    }

    /// The slopes of a line above `relu` (`FORMAT-EDGES.md` §4) for a rise and a fall that are not negative, enclosed:
    /// `(relu(z + rise) − relu(z)) / rise` rounded up and `(relu(z) − relu(z − fall)) / fall` rounded down to multiples
    /// of `2^grid`, each 0 where it would be divided by 0.
    ///
    /// The first is 1 for `z ≥ 0` and else `(z + rise) / rise`, if that is positive, which rises with `z` and with
    /// `rise`; the second is 0 for `z ≤ 0` and else `z / fall`, or 1 where that is less, which rises with `z` and falls
    /// with `fall`. Rounding to a grid preserves the order.
    pub(crate) fn relu_slopes(z: Interval, rise: Interval, fall: Interval, grid: i32) -> [Interval; 2] {
        let unit = 2f64.powi(grid);
        let on_grid = |[lower, upper]: [f64; 2], round: fn(f64) -> f64| {
            // An overflow may leave no number, which says nothing. Multiplying by a power of two is exact in this
            // range.
            let rounded = |share: f64, unknown: f64| {
                let share = if share.is_nan() { unknown } else { share.clamp(0.0, 1.0) };
                (round(share / unit) * unit).min(1.0)
            };
            Interval { lower: Down(rounded(lower, 0.0)), upper: Up(rounded(upper, 1.0)) }
        };
        let up = |z: f64, rise: f64, sum: f64, next: fn(f64) -> f64| {
            if rise <= 0.0 || (z < 0.0 && sum <= 0.0) {
                0.0
            } else if z >= 0.0 {
                1.0
            } else {
                next(sum / rise)
            }
        };
        let (least_sum, most_sum) = (z.lower.plus(rise.lower), z.upper.plus(rise.upper));
        let ups = [
            up(z.lower.0, rise.lower.0, least_sum.0, f64::next_down),
            up(z.upper.0, rise.upper.0, most_sum.0, f64::next_up),
        ];
        let least = if z.lower.0 <= 0.0 || fall.lower.0 <= 0.0 {
            0.0
        } else if z.lower.0 >= fall.upper.0 {
            1.0
        } else {
            (z.lower.0 / fall.upper.0).next_down()
        };
        let most = if z.upper.0 <= 0.0 || fall.upper.0 <= 0.0 {
            0.0
        } else if z.upper.0 >= fall.lower.0 {
            1.0
        } else {
            (z.upper.0 / fall.lower.0).next_up()
        };
        [on_grid(ups, f64::ceil), on_grid([least, most], f64::floor)]
    }

    /// The smallest interval around two.
    pub(crate) fn hull(self, other: Interval) -> Interval {
        Interval { lower: self.lower.least(other.lower), upper: self.upper.most(other.upper) }
    }

    /// Rule 4 above layer 2: not above the least `k·relu(x) − slope·x` on `[lower, upper]`.
    pub(crate) fn least_on_segment(k: Interval, slope: Stored, lower: Down, upper: Up) -> Down {
        let at = |x: Interval| k.times(x.positive_part()).minus(x.scaled(slope)).lower;
        let ends = at(Interval { lower, upper: Up(lower.0) }).least(at(upper.corner()));
        if lower.0 < 0.0 && upper.0 > 0.0 { ends.least(Down(0.0)) } else { ends }
    }
}

impl Neg for Interval {
    type Output = Interval;
    fn neg(self) -> Interval {
        Interval { lower: -self.upper, upper: -self.lower }
    }
}

impl From<Stored> for Interval {
    fn from(x: Stored) -> Interval {
        Interval { lower: Down(x.0), upper: Up(x.0) }
    }
}

/// The largest float whose size is not above that of the number, and whether they differ.
fn truncated(x: &Dyadic) -> (f64, bool) {
    let (bits, (mantissa, exponent)) = (x.bits() as i64, x.parts());
    if bits == 0 {
        return (0.0, false);
    }
    // Exponent of the lowest bit that a float of this size has.
    let lowest = (exponent + bits - 53).max(-1074);
    if lowest > 971 {
        return (f64::MAX, true);
    }
    let size = Dyadic::new(mantissa.clone(), exponent).size();
    let kept = size.rounded_down(lowest);
    // At most 53 bits are kept.
    let fraction = u64::try_from(&kept.clone().at(lowest)).unwrap_or(u64::MAX);
    let float = if fraction < 1 << 52 {
        // Subnormal, or zero: `lowest` is −1074 and the fraction field is the number itself.
        f64::from_bits(fraction)
    } else {
        f64::from_bits(((lowest + 1075) as u64) << 52 | (fraction & ((1 << 52) - 1)))
    };
    (float, kept != size)
}

impl Up {
    /// A corner of a rectangle that is at least as large as the one meant: the float as it is.
    fn corner(self) -> Interval {
        Interval { lower: Down(self.0), upper: self }
    }
}
