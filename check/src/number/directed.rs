//! Floats that carry their direction in their type. This file and those of its folder are the only ones of this crate
//! with plain `f64` arithmetic.
//!
//! | type | what it says |
//! |---|---|
//! | [`Stored`] | exactly the number that a file or a hint holds; no arithmetic |
//! | [`Down`] | not above the number meant |
//! | [`Up`] | not below it |
//! | [`Interval`] | both |
//! | [`Rough`] | nothing: for hints, which need not be right |
//!
//! `sums` and `slopes` have what is summed in plain floats, with a bound of the error at the end.
//!
//! Every operation rounds outward. A sum or product that overflowed, or is no number at all, becomes the infinity from
//! which nothing follows. `u = 2⁻⁵³`; a rounded result differs from the exact one by at most `u` times its size, or by
//! at most `2⁻¹⁰⁷⁵` where it is subnormal: in both cases the next float in either direction is beyond the exact result.

mod bends;
mod carry;
mod interval;
mod moves;
mod nested;
mod rough;
mod rounded;
mod slopes;
mod sums;

use std::cmp::Ordering;
use std::fmt;
use std::ops::Neg;

use super::dyadic::Dyadic;
pub(crate) use bends::{BendSum, DirectedBend};
pub(crate) use carry::{activate, together};
pub use interval::Interval;
pub(crate) use moves::Coefficients;
pub(crate) use nested::{NestedChanges, NestedSums, SupportLine};
pub use rough::Rough;
pub(crate) use rounded::RowSum;
pub(crate) use slopes::{RowSlopes, excess_share, kept_share};
pub(crate) use sums::{Sums, norm};

/// `1 / count`, rounded to nearest: an entry of a message-passing rule.
pub(crate) fn reciprocal(count: usize) -> f64 {
    1.0 / count as f64
}

/// `1 / sqrt(i · j)`, each operation rounded to nearest: an entry of a message-passing rule.
pub(crate) fn reciprocal_root(i: usize, j: usize) -> f64 {
    1.0 / (i as f64 * j as f64).sqrt()
}

/// Not below `1 / sqrt(size)`, the part of an entry that a node of this size has at either end, by so much that two
/// such parts multiplied are not below the entry that [`reciprocal_root`] rounds.
pub(crate) fn root_part(size: usize) -> Stored {
    Stored((1.0 + 1e-12) / (size.max(1) as f64).sqrt())
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

    /// `1 + 2^−bits`, for up to 52 bits.
    pub(crate) const fn just_above_one(bits: u32) -> Stored {
        Stored(f64::from_bits(1.0f64.to_bits() | 1 << (52 - bits)))
    }

    /// A float of a file; 0 for what is no finite number.
    pub(crate) fn new(x: f64) -> Stored {
        Stored(if x.is_finite() { x } else { 0.0 })
    }

    /// The float nearest to it and 1 together, as operators are computed.
    pub(crate) fn plus_one(self) -> Stored {
        Stored::new(self.0 + 1.0)
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
}

impl Up {
    pub(crate) const ZERO: Up = Up(0.0);

    /// The float.
    pub fn to_f64(self) -> f64 {
        self.0
    }

    /// The same as an exact number, if it is finite.
    pub(crate) fn exact(self) -> Option<Dyadic> {
        Dyadic::from_bits(self.0.to_bits())
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

#[cfg(test)]
mod tests;
