//! Floats that carry their direction in their type; with the files beside it the only ones of this crate with plain `f64`
//! arithmetic.
//!
//! | type | what it says |
//! |---|---|
//! | [`Stored`] | exactly the number that a file or a hint holds; no arithmetic |
//! | [`Down`] | not above the number meant |
//! | [`Up`] | not below it |
//! | [`Interval`] | both |
//! | [`Rough`] | nothing: for hints, which need not be right |
//!
//! Every operation rounds outward. A sum or product that overflowed, or is no number at all, becomes the infinity from
//! which nothing follows. `u = 2⁻⁵³`; a rounded result differs from the exact one by at most `u` times its size, or by
//! at most `2⁻¹⁰⁷⁵` where it is subnormal: in both cases the next float in either direction is beyond the exact result.

mod nested;
mod rounded;

use std::cmp::Ordering;
use std::fmt;
use std::ops::{Add, Div, Mul, Neg, Sub};

use super::dyadic::Dyadic;
pub(crate) use nested::{NestedSums, SupportLine};
pub(crate) use rounded::RowSum;

/// `1 / count`, rounded to nearest: an entry of a message-passing rule.
pub(crate) fn reciprocal(count: usize) -> f64 {
    1.0 / count as f64
}

/// `1 / sqrt(i · j)`, each operation rounded to nearest: an entry of a message-passing rule.
pub(crate) fn reciprocal_root(i: usize, j: usize) -> f64 {
    1.0 / (i as f64 * j as f64).sqrt()
}

/// A float not below `(after − before) / count`, for finite numbers none of which is subnormal: difference and quotient
/// are rounded to nearest, then the third float above is taken. The exact quotient is at most the rounded one over
/// `(1 − 2⁻⁵³)²`, and each float up multiplies by at least `1 + 2⁻⁵³`.
pub(crate) fn rate(after: Stored, before: Stored, count: usize) -> Stored {
    let near = (after.0 - before.0) / count as f64;
    Stored(if near > 0.0 { near.next_up().next_up().next_up() } else { 0.0 })
}

/// A finite decimal number of a message-passing rule, rounded to nearest.
pub(crate) fn decimal(text: &str) -> Option<Stored> {
    let plain = text.bytes().all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte));
    text.parse::<f64>().ok().filter(|x| plain && x.is_finite()).map(Stored)
}

/// The numerator of a non-negative multiplier, rounded to a multiple of `2^exponent`; for writers. Rounding is
/// harmless, because every admissible multiplier gives a valid bound.
pub fn numerator(multiplier: f64, exponent: i32) -> i64 {
    // A cast saturates, and turns NaN into 0.
    ((multiplier * 2f64.powi(-exponent)).round() as i64).clamp(0, 1 << 53)
}

/// A float as a file or a hint holds it, finite: exactly that number.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Stored(f64);

impl Stored {
    pub(crate) const ZERO: Stored = Stored(0.0);
    pub(crate) const ONE: Stored = Stored(1.0);

    /// A float of a file; 0 for what is no finite number.
    pub(crate) fn new(x: f64) -> Stored {
        Stored(if x.is_finite() { x } else { 0.0 })
    }

    /// The floats of a file.
    pub(crate) fn all(values: &[f64]) -> Vec<Stored> {
        values.iter().map(|&x| Stored::new(x)).collect()
    }

    /// Are all of them finite?
    pub(crate) fn are_finite(values: &[f64]) -> bool {
        values.iter().all(|x| x.is_finite())
    }

    /// `numerator · 2^exponent`; `None` where one of them is out of the format's range.
    pub(crate) fn scaled(numerator: i64, exponent: i32) -> Option<Stored> {
        let power = match exponent {
            -1022..=900 => f64::from_bits(((exponent + 1023) as u64) << 52),
            -1074..=-1023 => f64::from_bits(1 << (exponent + 1074)),
            _ => return None,
        };
        // At most 54 bits with one set beyond 53, and an exponent in range: the float is exact.
        (numerator.unsigned_abs() <= 1 << 53).then_some(Stored(numerator as f64 * power))
    }

    /// A count below 2⁵³.
    pub(crate) fn count(count: usize) -> Stored {
        Stored(count as f64)
    }

    /// The same number.
    pub(crate) fn exact(self) -> Dyadic {
        Dyadic::from_bits(self.0.to_bits()).unwrap_or(Dyadic::ZERO)
    }

    /// Its bits.
    pub(crate) fn bits(self) -> u64 {
        self.0.to_bits()
    }

    pub(crate) fn is_positive(self) -> bool {
        self.0 > 0.0
    }

    pub(crate) fn is_zero(self) -> bool {
        self.0 == 0.0
    }

    /// Is it between 0 and 1?
    pub(crate) fn is_share(self) -> bool {
        (0.0..=1.0).contains(&self.0)
    }

    pub(crate) fn is_negative(self) -> bool {
        self.0 < 0.0
    }

    /// `|self|`, exactly.
    pub(crate) fn size(self) -> Stored {
        Stored(self.0.abs())
    }

    /// By value; −0 is below 0.
    pub(crate) fn order(self, other: Stored) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl Neg for Stored {
    type Output = Stored;
    fn neg(self) -> Stored {
        Stored(-self.0)
    }
}

/// A float not above the number meant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Down(f64);

/// A float not below the number meant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Up(f64);

/// A float not above `a + b`, and equal to it where the sum is exact.
#[inline]
fn sum_below(a: f64, b: f64) -> f64 {
    let sum = a + b;
    if !sum.is_finite() {
        return f64::NEG_INFINITY;
    }
    // Knuth's two-sum: the exact sum is `sum + rest`. If an intermediate overflowed, `rest` is NaN and we step down.
    let from_b = sum - a;
    let rest = (a - (sum - from_b)) + (b - from_b);
    if rest >= 0.0 { sum } else { sum.next_down() }
}

/// A float not above `a · b`; products with 0 and ±1 are exact.
#[inline]
fn product_below(a: f64, b: f64) -> f64 {
    if a == 0.0 || b == 0.0 {
        return 0.0;
    }
    let product = a * b;
    if product.is_nan() {
        f64::NEG_INFINITY
    } else if a.abs() == 1.0 || b.abs() == 1.0 {
        product
    } else {
        product.next_down()
    }
}

impl Down {
    pub(crate) const ZERO: Down = Down(0.0);

    /// The float.
    pub fn to_f64(self) -> f64 {
        self.0
    }

    pub(crate) fn plus(self, other: Down) -> Down {
        Down(sum_below(self.0, other.0))
    }

    pub(crate) fn minus(self, other: Up) -> Down {
        Down(sum_below(self.0, -other.0))
    }

    /// `self · factor` for a factor that is not negative.
    pub(crate) fn times(self, factor: Stored) -> Down {
        Down(product_below(self.0, factor.0.max(0.0)))
    }

    pub(crate) fn least(self, other: Down) -> Down {
        Down(if other.0 < self.0 || self.0.is_nan() { other.0 } else { self.0 })
    }

    /// Is the number surely above 0?
    pub(crate) fn is_positive(self) -> bool {
        self.0 > 0.0
    }

    /// May the number be below 0?
    pub(crate) fn is_negative(self) -> bool {
        self.0 < 0.0
    }

    /// Is it the float 0?
    pub(crate) fn is_zero(self) -> bool {
        self.0 == 0.0
    }

    pub(crate) fn rough(self) -> Rough {
        Rough(self.0)
    }
}

impl Up {
    pub(crate) const ZERO: Up = Up(0.0);

    /// The float.
    pub fn to_f64(self) -> f64 {
        self.0
    }

    pub(crate) fn plus(self, other: Up) -> Up {
        Up(-sum_below(-self.0, -other.0))
    }

    pub(crate) fn minus(self, other: Down) -> Up {
        Up(-sum_below(-self.0, other.0))
    }

    /// `self · factor` for a factor that is not negative.
    pub(crate) fn times(self, factor: Stored) -> Up {
        Up(-product_below(-self.0, factor.0.max(0.0)))
    }

    /// `self · other` where both numbers meant are not negative.
    pub(crate) fn times_up(self, other: Up) -> Up {
        Up(-product_below(-self.0.max(0.0), other.0.max(0.0)))
    }

    /// `count · self`.
    pub(crate) fn many(self, count: usize) -> Up {
        let float = count as f64;
        // Beyond 2⁵³ a count need not be a float.
        self.times_up(Up(if count < 1 << 53 { float } else { float.next_up() }))
    }

    pub(crate) fn positive_part(self) -> Up {
        // NaN does not occur; were it there, nothing would follow from the infinity.
        Up(if self.0 <= 0.0 {
            0.0
        } else if self.0.is_nan() {
            f64::INFINITY
        } else {
            self.0
        })
    }

    pub(crate) fn most(self, other: Up) -> Up {
        Up(if other.0 > self.0 { other.0 } else { self.0 })
    }

    pub(crate) fn least(self, other: Up) -> Up {
        Up(if other.0 < self.0 { other.0 } else { self.0 })
    }

    /// The larger of two floats, whatever the other one is about.
    pub(crate) fn at_least(self, other: Down) -> Up {
        Up(if other.0 > self.0 { other.0 } else { self.0 })
    }

    /// Is the number surely below the other?
    pub(crate) fn is_below(self, other: Down) -> bool {
        self.0 < other.0
    }

    /// May the number be above 0?
    pub(crate) fn is_positive(self) -> bool {
        self.0 > 0.0
    }

    /// Is the number surely at most the other?
    pub(crate) fn is_within(self, other: Down) -> bool {
        self.0 <= other.0
    }

    /// Is it the float 0?
    pub(crate) fn is_zero(self) -> bool {
        self.0 == 0.0
    }

    /// Not below `⌈2²⁴ · self / whole⌉` for a number that is not negative and a positive whole, and at most 2²⁴ where
    /// that is.
    pub(crate) fn share_of(self, whole: Down) -> u32 {
        const ONE: f64 = (1u32 << 24) as f64;
        // Rounded up, the quotient is not below the exact one; a power of two keeps its bits.
        let share = ((self.0 / whole.0).next_up() * ONE).ceil();
        if share < ONE && whole.0 > 0.0 { share.max(0.0) as u32 } else { 1 << 24 }
    }

    /// `self / whole` for a number that is not negative and a positive whole.
    pub(crate) fn over(self, whole: Down) -> Up {
        let quotient = (self.0.max(0.0) / whole.0).next_up();
        Up(if whole.0 > 0.0 && !quotient.is_nan() { quotient } else { f64::INFINITY })
    }

    /// The order in which the largest are picked.
    pub(crate) fn order(self, other: Up) -> Ordering {
        self.0.total_cmp(&other.0)
    }

    pub(crate) fn rough(self) -> Rough {
        Rough(self.0)
    }

    /// A corner of a rectangle that is at least as large as the one meant: the float as it is.
    fn corner(self) -> Interval {
        Interval { lower: Down(self.0), upper: self }
    }
}

impl Neg for Down {
    type Output = Up;
    fn neg(self) -> Up {
        Up(-self.0)
    }
}

impl Neg for Up {
    type Output = Down;
    fn neg(self) -> Down {
        Down(-self.0)
    }
}

impl From<Stored> for Down {
    fn from(x: Stored) -> Down {
        Down(x.0)
    }
}

impl From<Stored> for Up {
    fn from(x: Stored) -> Up {
        Up(x.0)
    }
}

impl fmt::LowerExp for Down {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        fmt::LowerExp::fmt(&self.0, f)
    }
}

impl fmt::LowerExp for Up {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        fmt::LowerExp::fmt(&self.0, f)
    }
}

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

    /// A float near the number.
    pub(crate) fn rough(self) -> Rough {
        Rough(0.5 * self.lower.0 + 0.5 * self.upper.0)
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

/// Sums of stored numbers, unit by unit, each with a bound of its error.
#[derive(Debug)]
pub(crate) struct Sums {
    value: Vec<f64>,
    error: Vec<f64>,
}

impl Sums {
    /// Of some rows of weights. A sum of `k` floats is off by at most `γ_k` times the sum of their sizes; underflow
    /// does not happen in sums. `2ku` is twice that, which leaves room for the rounding of the bound.
    pub(crate) fn of_rows<'r>(width: usize, rows: impl Iterator<Item = &'r [Stored]>) -> Sums {
        let (mut value, mut error, mut count) = (vec![0.0; width], vec![0.0; width], 0.0);
        for row in rows {
            for ((value, error), w) in value.iter_mut().zip(&mut error).zip(row) {
                *value += w.0;
                *error += w.0.abs();
            }
            count += 1.0;
        }
        error.iter_mut().for_each(|error| *error *= count * f64::EPSILON);
        Sums { value, error }
    }

    /// `start + Σ entry·sum`, enclosed; of each sum the units from a place on. With `k` terms the products and sums are
    /// off by at most `γ_{k+2}` times the sum of the sizes of the terms, and by `2⁻¹⁰⁷⁵` for each product by underflow;
    /// to that come the errors of the sums, times the sizes of the entries.
    pub(crate) fn combined<'s>(
        start: Vec<Stored>,
        terms: impl Iterator<Item = (Stored, &'s Sums, usize)>,
    ) -> Vec<Interval> {
        let mut value: Vec<f64> = start.iter().map(|x| x.0).collect();
        let mut size: Vec<f64> = start.iter().map(|x| x.0.abs()).collect();
        let (mut open, mut count) = (vec![0.0; value.len()], 4.0);
        for (entry, sums, from) in terms {
            let (a, each) = (entry.0, sums.value[from..].iter().zip(&sums.error[from..]));
            for (((value, size), open), (x, error)) in value.iter_mut().zip(&mut size).zip(&mut open).zip(each) {
                *value += a * x;
                *size += a.abs() * x.abs();
                *open += a.abs() * error;
            }
            count += 1.0;
        }
        let enclosed = value.into_iter().zip(size).zip(open).map(|((value, size), open)| {
            let error = 2.0 * (count * (f64::EPSILON * size + f64::from_bits(1)) + open);
            if !error.is_finite() {
                return Interval::ANY;
            }
            Interval { lower: Down((value - error).next_down()), upper: Up((value + error).next_up()) }
        });
        enclosed.collect()
    }
}

/// A float not below the Euclidean norm; 0 for zeros only, infinite where squares overflow.
pub(crate) fn norm(sizes: impl Iterator<Item = Up> + Clone) -> Up {
    let count = sizes.clone().count() as f64;
    if sizes.clone().all(|size| size.0 == 0.0) {
        return Up(0.0);
    }
    // Each square and each sum has a relative error of at most u, or a square loses at most 2⁻¹⁰⁷⁴ by underflow, which
    // the addend covers many times over. The factor covers `count` sums, the squares, the root and the rounding of this
    // line.
    let squares = sizes.map(|size| size.0 * size.0).sum::<f64>() + count * f64::MIN_POSITIVE;
    let norm = (squares.sqrt() * (1.0 + (count + 8.0) * f64::EPSILON)).next_up();
    Up(if norm.is_nan() { f64::INFINITY } else { norm })
}

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
}

impl RowSlopes {
    /// From lower bounds of `plus` and upper bounds of `minus`.
    pub(crate) fn new(plus: &[Down], minus: &[Up]) -> RowSlopes {
        let sizes = plus.iter().zip(minus).map(|(p, m)| Up(p.0.abs().max(m.0.abs())));
        // κ and ρ are each off by at most half an ulp of a sum and of its half: 2u of the size and 2⁻¹⁰⁷⁴ at most.
        let open = sizes.clone().map(|size| Up(4.0 * f64::EPSILON * size.0 + 4.0 * f64::from_bits(1)));
        // A change loses only where it rises along a negative `plus` or falls along a positive `minus`.
        let losing = plus.iter().zip(minus).map(|(p, m)| Up((-p.0).max(m.0).max(0.0)));
        RowSlopes {
            losing: norm(losing),
            norm: norm(sizes),
            centre: plus.iter().zip(minus).map(|(p, m)| 0.5 * (p.0 + m.0)).collect(),
            radius: plus.iter().zip(minus).map(|(p, m)| 0.5 * (m.0 - p.0)).collect(),
            slack: norm(open).0,
        }
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
        let (linear, spread) = dot(weights, &self.centre, &self.radius);
        let value = spread + if present { linear } else { -linear };
        let terms = 2.0 * weights.len() as f64 + 3.0;
        if terms >= 1e6 {
            return Up(f64::INFINITY);
        }
        let product = (self.norm.0 * weight_norm.0).next_up();
        let error =
            terms * (f64::EPSILON * product + 4.0 * f64::from_bits(1)) + 2.0 * (self.slack * weight_norm.0).next_up();
        let upper = value + error;
        Up(if upper.is_nan() { f64::INFINITY } else { upper.next_up() })
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

/// A float about which nothing is claimed.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Rough(f64);

impl Rough {
    pub(crate) const ZERO: Rough = Rough(0.0);
    pub(crate) const ONE: Rough = Rough(1.0);
    pub(crate) const NEARLY_ONE: Rough = Rough(1.0 - 1.0 / (1 << 30) as f64);

    /// As a hint; 0 for what is no finite number.
    pub(crate) fn stored(self) -> Stored {
        Stored::new(self.0)
    }

    /// As a hint that must not be negative.
    pub(crate) fn price(self) -> Stored {
        Stored::new(self.0.max(0.0))
    }

    /// The next float above.
    #[must_use]
    pub(crate) fn next(self) -> Rough {
        Rough(self.0.next_up())
    }

    /// A power of two not far below the size; 0 for 0.
    pub(crate) fn exponent(self) -> Option<i64> {
        (self.0 != 0.0 && self.0.is_finite()).then(|| ((self.0.to_bits() >> 52 & 0x7ff) as i64) - 1023)
    }

    #[must_use]
    pub(crate) fn most(self, other: Rough) -> Rough {
        Rough(self.0.max(other.0))
    }

    #[must_use]
    pub(crate) fn least(self, other: Rough) -> Rough {
        Rough(self.0.min(other.0))
    }

    /// A share of it.
    #[must_use]
    pub(crate) fn part(self, parts: usize) -> Rough {
        Rough(self.0 / parts as f64)
    }
}

impl From<Stored> for Rough {
    fn from(x: Stored) -> Rough {
        Rough(x.0)
    }
}

impl Add for Rough {
    type Output = Rough;
    fn add(self, other: Rough) -> Rough {
        Rough(self.0 + other.0)
    }
}

impl Sub for Rough {
    type Output = Rough;
    fn sub(self, other: Rough) -> Rough {
        Rough(self.0 - other.0)
    }
}

impl Mul for Rough {
    type Output = Rough;
    fn mul(self, other: Rough) -> Rough {
        Rough(self.0 * other.0)
    }
}

impl Div for Rough {
    type Output = Rough;
    fn div(self, other: Rough) -> Rough {
        Rough(self.0 / other.0)
    }
}

impl Neg for Rough {
    type Output = Rough;
    fn neg(self) -> Rough {
        Rough(-self.0)
    }
}

#[cfg(test)]
mod tests;
