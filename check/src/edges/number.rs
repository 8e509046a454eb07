//! The two kinds of numbers that the rules are applied to: exact ones, and floats that enclose them.
//!
//! The exact numbers define what a leaf means. Every operation on intervals encloses the result of the same operation
//! on exact numbers, whichever of them lie in the operands, so the interval of a bound encloses the exact bound: it may
//! only answer sooner what exact numbers would answer. A comparison that selects one of several meanings is not made
//! with intervals that leave it open ([`Scalar::is_active`]).

use std::cmp::Ordering;

use dashu_int::IBig;

use crate::number::{Dyadic, Interval, Stored};

/// `g·act(z) ≥ constant + up·p − down·q` for all rises `p` and falls `q` within reach.
#[derive(Clone, Debug)]
pub struct UnitLine<N> {
    pub constant: N,
    pub up: N,
    pub down: N,
}

/// What a hidden unit does with its pre-activation, and on which side of its bend it is taken to be.
#[derive(Clone, Copy, Debug)]
pub enum UnitKind {
    Linear,
    Active,
    Inactive,
}

/// Numbers of the network in both kinds.
pub struct NumberRow {
    exact: Vec<Dyadic>,
    around: Vec<Interval>,
}

impl NumberRow {
    pub fn new(exact: Vec<Dyadic>) -> NumberRow {
        let around = exact.iter().map(Interval::around).collect();
        NumberRow { exact, around }
    }
}

/// What the rules need of a number.
pub trait Scalar: Clone {
    /// Bytes in memory, about.
    const BYTES: usize;
    /// Steps of [`crate::work`] that an operation takes at least.
    const STEPS: u64;
    /// Steps of so many operations that nothing else counts.
    fn steps(operations: u64) -> u64;
    fn zero() -> Self;
    fn of(x: &Dyadic) -> Self;
    fn of_row(row: &NumberRow) -> &[Self];
    fn stored(x: Stored) -> Self;
    fn plus(&self, other: &Self) -> Self;
    fn negated(&self) -> Self;
    fn times(&self, other: &Self) -> Self;
    fn scaled(&self, factor: Stored) -> Self;
    fn least(&self, other: &Self) -> Self;
    fn positive_part(&self) -> Self;
    /// Surely 0?
    fn is_zero(&self) -> bool;
    /// By value, or by upper ends.
    fn order(&self, other: &Self) -> Ordering;
    /// The sum of the so many smallest.
    fn sum_of_smallest(numbers: Vec<Self>, count: usize) -> Self;
    /// Is a unit with pre-activation `z`, which can rise and fall so far, taken for active where its coefficient is
    /// positive: is `z > 2⁻³⁰ (fall − 59/128 rise)`? `None` where these numbers leave that open. Beside the reach the
    /// right-hand side is nothing; it decides where `z` is 0 but for roundings. What matters then is whether the unit
    /// can fall or rise. 59/128 is a ratio that sums of few entries do not have, so that this is seldom close in its
    /// turn.
    fn is_active(z: &Self, reach: [&Self; 2]) -> Option<bool>;
    /// A line under a unit with coefficient `g` and pre-activation `z`, which can rise and fall so far.
    fn line(g: &Self, z: &Self, reach: [&Self; 2], kind: UnitKind) -> UnitLine<Self>;

    fn minus(&self, other: &Self) -> Self {
        self.plus(&other.negated())
    }

    fn count(count: usize) -> Self {
        Self::of(&Dyadic::from(count))
    }
}

/// The sums of the `counts` largest numbers, each of which may be taken so many times; none is negative. Intervals are
/// taken in the order of their upper ends: the sum of these is the largest of any, and the sum of lower ends not above
/// the largest, whichever are taken.
pub fn sums_of_largest<N: Scalar>(mut numbers: Vec<(N, usize)>, counts: &[usize]) -> Vec<N> {
    numbers.sort_unstable_by(|a, b| b.0.order(&a.0));
    // How many are taken, and their sum, before each.
    let (mut taken, mut sum) = (0usize, N::zero());
    let mut before = Vec::with_capacity(numbers.len() + 1);
    for (x, times) in &numbers {
        before.push((taken, sum.clone()));
        sum = sum.plus(&x.times(&N::count(*times)));
        taken = taken.saturating_add(*times);
    }
    before.push((taken, sum));
    let of = |&count: &usize| {
        // At least the first has nothing before it.
        let at = before.partition_point(|of| of.0 <= count) - 1;
        let (taken, sum) = &before[at];
        match numbers.get(at).filter(|_| count > *taken) {
            Some((x, _)) => sum.plus(&x.times(&N::count(count - taken))),
            None => sum.clone(),
        }
    };
    counts.iter().map(of).collect()
}

/// Slopes of exact lines are multiples of `2^GRID`.
const GRID: i64 = -40;

/// `⌊part / whole⌋` or `⌈part / whole⌉` on the grid, for `0 ≤ part` and `0 ≤ whole`; 0 where `whole` is 0.
fn quotient(part: &Dyadic, whole: &Dyadic, upward: bool) -> Dyadic {
    if whole.is_zero() {
        return Dyadic::ZERO;
    }
    let exponent = part.parts().1.min(whole.parts().1);
    let (part, whole) = (part.at(exponent) << (-GRID) as usize, whole.at(exponent));
    let part = if upward { part + &whole - IBig::ONE } else { part };
    Dyadic::new(part / whole, GRID)
}

impl Scalar for Dyadic {
    const BYTES: usize = 64;
    const STEPS: u64 = 32;

    /// They count for themselves.
    fn steps(_: u64) -> u64 {
        0
    }

    fn zero() -> Dyadic {
        Dyadic::ZERO
    }

    fn of(x: &Dyadic) -> Dyadic {
        x.clone()
    }

    fn of_row(row: &NumberRow) -> &[Dyadic] {
        &row.exact
    }

    fn stored(x: Stored) -> Dyadic {
        x.exact()
    }

    fn plus(&self, other: &Dyadic) -> Dyadic {
        self + other
    }

    fn negated(&self) -> Dyadic {
        -self
    }

    fn times(&self, other: &Dyadic) -> Dyadic {
        self * other
    }

    fn scaled(&self, factor: Stored) -> Dyadic {
        self * &factor.exact()
    }

    fn least(&self, other: &Dyadic) -> Dyadic {
        self.min(other).clone()
    }

    fn positive_part(&self) -> Dyadic {
        Dyadic::positive_part(self)
    }

    fn is_zero(&self) -> bool {
        Dyadic::is_zero(self)
    }

    fn order(&self, other: &Dyadic) -> Ordering {
        self.cmp(other)
    }

    fn sum_of_smallest(mut numbers: Vec<Dyadic>, count: usize) -> Dyadic {
        numbers.sort();
        numbers.iter().take(count).fold(Dyadic::ZERO, |sum, x| &sum + x)
    }

    fn is_active(z: &Dyadic, [rise, fall]: [&Dyadic; 2]) -> Option<bool> {
        let shift = &Dyadic::new(128.into(), 0) * fall;
        let shift = &shift - &(&Dyadic::new(59.into(), 0) * rise);
        Some(&Dyadic::new(128.into(), 30) * z > shift)
    }

    fn line(g: &Dyadic, z: &Dyadic, [rise, fall]: [&Dyadic; 2], kind: UnitKind) -> UnitLine<Dyadic> {
        let relu = Dyadic::positive_part;
        match kind {
            UnitKind::Linear => UnitLine { constant: g * z, up: g.clone(), down: g.clone() },
            UnitKind::Active if !g.is_negative() => UnitLine { constant: g * z, up: g.clone(), down: g.clone() },
            UnitKind::Inactive if !g.is_negative() => {
                UnitLine { constant: Dyadic::ZERO, up: Dyadic::ZERO, down: Dyadic::ZERO }
            }
            _ => {
                let up = quotient(&(&relu(&(z + rise)) - &relu(z)), rise, true);
                let down = quotient(&(&relu(z) - &relu(&(z - fall))), fall, false);
                UnitLine { constant: g * &relu(z), up: g * &up, down: g * &down }
            }
        }
    }
}

/// Counts operations of this thread, for tests.
#[cfg(test)]
fn tick() {
    TICKS.with(|ticks| ticks.set(ticks.get() + 1));
}

#[cfg(not(test))]
#[inline(always)]
fn tick() {}

/// Operations on intervals so far.
#[cfg(test)]
pub fn ticks() -> u64 {
    TICKS.with(std::cell::Cell::get)
}

#[cfg(test)]
thread_local! {
    static TICKS: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

impl Scalar for Interval {
    const BYTES: usize = 16;
    const STEPS: u64 = 2;

    fn steps(operations: u64) -> u64 {
        operations.saturating_mul(Interval::STEPS)
    }

    fn zero() -> Interval {
        Interval::ZERO
    }

    fn of(x: &Dyadic) -> Interval {
        Interval::around(x)
    }

    fn of_row(row: &NumberRow) -> &[Interval] {
        &row.around
    }

    fn stored(x: Stored) -> Interval {
        Interval::from(x)
    }

    fn plus(&self, other: &Interval) -> Interval {
        tick();
        Interval::plus(*self, *other)
    }

    fn negated(&self) -> Interval {
        -*self
    }

    fn times(&self, other: &Interval) -> Interval {
        tick();
        Interval::times(*self, *other)
    }

    fn scaled(&self, factor: Stored) -> Interval {
        tick();
        Interval::scaled(*self, factor)
    }

    fn least(&self, other: &Interval) -> Interval {
        tick();
        Interval::least(*self, *other)
    }

    fn positive_part(&self) -> Interval {
        tick();
        Interval::positive_part(*self)
    }

    fn is_zero(&self) -> bool {
        self.lower.is_zero() && self.upper.is_zero()
    }

    fn order(&self, other: &Interval) -> Ordering {
        self.upper.order(other.upper)
    }

    fn count(count: usize) -> Interval {
        if count < 1 << 53 { Stored::count(count).into() } else { Interval::around(&Dyadic::from(count)) }
    }

    fn sum_of_smallest(numbers: Vec<Interval>, count: usize) -> Interval {
        let mut lower: Vec<_> = numbers.iter().map(|x| x.lower).collect();
        let mut upper: Vec<_> = numbers.iter().map(|x| x.upper).collect();
        lower.sort_unstable_by(|a, b| (-*a).order(-*b).reverse());
        upper.sort_unstable_by(|a, b| a.order(*b));
        let start = Interval::ZERO;
        let lower = lower.into_iter().take(count).fold(start.lower, |sum, x| sum.plus(x));
        let upper = upper.into_iter().take(count).fold(start.upper, |sum, x| sum.plus(x));
        Interval { lower, upper }
    }

    fn is_active(z: &Interval, [rise, fall]: [&Interval; 2]) -> Option<bool> {
        let [all, part, large] = [(128, 0), (59, 0), (128, 30)].map(|(x, power)| Stored::scaled(x, power));
        let (shift, less) = (fall.scaled(all?), rise.scaled(part?));
        match z.scaled(large?).minus(shift.minus(less)).sign()? {
            Ordering::Greater => Some(true),
            Ordering::Equal | Ordering::Less => Some(false),
        }
    }

    fn line(g: &Interval, z: &Interval, [rise, fall]: [&Interval; 2], kind: UnitKind) -> UnitLine<Interval> {
        let straight = |g: Interval| UnitLine { constant: g.times(*z), up: g, down: g };
        let not_negative = |g: Interval| match kind {
            UnitKind::Inactive => straight(Interval::ZERO),
            UnitKind::Linear | UnitKind::Active => straight(g),
        };
        let negative = |g: Interval| {
            let [up, down] = Interval::relu_slopes(*z, *rise, *fall, GRID as i32);
            UnitLine { constant: g.times(z.positive_part()), up: g.times(up), down: g.times(down) }
        };
        if matches!(kind, UnitKind::Linear) || !g.lower.is_negative() {
            return not_negative(*g);
        }
        if !g.upper.is_positive() {
            return negative(*g);
        }
        // The line of either sign: each with the part of the interval that has it.
        let (a, b) = (not_negative(g.positive_part()), negative(-(-*g).positive_part()));
        UnitLine { constant: a.constant.hull(b.constant), up: a.up.hull(b.up), down: a.down.hull(b.down) }
    }
}

#[cfg(test)]
mod tests;
