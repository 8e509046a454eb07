//! What a replay asks of its numbers, so that it is written once and runs in intervals and exactly.

use std::cmp::Ordering;

use crate::interval::Interval;

/// Slopes that come from a quotient are multiples of `1/GRID = 2⁻⁴⁰`.
pub(crate) const GRID: f64 = (1u64 << 40) as f64;

/// A real number, known exactly ([`crate::Dyadic`]) or between two floats ([`Interval`]).
pub trait Number: Clone + Send + Sync {
    /// The value of a finite float.
    fn from_f64(x: f64) -> Self;
    /// `self + other`.
    #[must_use]
    fn plus(&self, other: &Self) -> Self;
    /// `−self`.
    #[must_use]
    fn negated(&self) -> Self;
    /// `self · other`.
    #[must_use]
    fn times(&self, other: &Self) -> Self;
    /// `self · factor` for a finite float.
    #[must_use]
    fn scaled(&self, factor: f64) -> Self;
    /// `max(self, 0)`.
    #[must_use]
    fn positive_part(&self) -> Self;
    /// `min(self, other)`.
    #[must_use]
    fn least(&self, other: &Self) -> Self;
    /// `max(self, other)`.
    #[must_use]
    fn most(&self, other: &Self) -> Self {
        self.negated().least(&other.negated()).negated()
    }
    /// How the number compares to 0; `None` if that is not known.
    fn sign(&self) -> Option<Ordering>;
    /// 1 if the number is positive, else 0.
    #[must_use]
    fn step(&self) -> Self;
    /// `⌊2⁴⁰ · part/whole⌋ / 2⁴⁰` for `0 ≤ part ≤ whole`, `0 < whole`.
    #[must_use]
    fn share_below(part: &Self, whole: &Self) -> Self;
    /// `⌈2⁴⁰ · part/whole⌉ / 2⁴⁰` for `0 ≤ part ≤ whole`, `0 < whole`.
    #[must_use]
    fn share_above(part: &Self, whole: &Self) -> Self;
    /// The order in which the largest numbers are picked: by value, or by the upper end.
    fn rank(&self, other: &Self) -> Ordering;
    /// Floats around the number.
    fn enclosure(&self) -> Interval;

    /// Zero.
    #[must_use]
    fn zero() -> Self {
        Self::from_f64(0.0)
    }

    /// `self − other`.
    #[must_use]
    fn minus(&self, other: &Self) -> Self {
        self.plus(&other.negated())
    }

    /// `self += other`.
    #[inline]
    fn add(&mut self, other: &Self) {
        *self = self.plus(other);
    }
}

/// Keeps the `count` numbers of highest rank.
///
/// The sum of what is kept encloses the largest sum of `count` of the numbers: its upper end is the largest sum of upper
/// ends, and its lower end belongs to one choice among many.
pub(crate) fn keep_largest<N: Number>(numbers: &mut Vec<N>, count: usize) {
    if count == 0 {
        numbers.clear();
    } else if numbers.len() > count {
        numbers.select_nth_unstable_by(count - 1, |a, b| b.rank(a));
        numbers.truncate(count);
    }
}

/// The sum of many numbers.
pub(crate) fn sum<'a, N: Number + 'a>(numbers: impl IntoIterator<Item = &'a N>) -> N {
    numbers.into_iter().fold(N::zero(), |total, number| total.plus(number))
}
