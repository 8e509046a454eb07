//! The two kinds of numbers that the rules are applied to: exact ones, and floats that enclose them.
//!
//! With floats every hint that the rules leave open (slopes, constants of lines, prices for the reach) is a float, and means
//! exactly that float; an interval encloses what exact arithmetic makes of these hints. So where the lower end of a bound is positive,
//! there are hints for which the exact bound is.

use dashu_int::IBig;

use crate::core::dyadic::Dyadic;
use crate::directed::{Interval, Rough, Stored};

/// `g·act(z) ≥ constant + up·p − down·q` for all rises `p` and falls `q` within reach.
#[derive(Clone, Debug)]
pub struct Line<N> {
    pub constant: N,
    pub up: N,
    pub down: N,
}

/// Numbers of the network in both kinds.
pub struct Row {
    exact: Vec<Dyadic>,
    around: Vec<Interval>,
}

impl Row {
    pub fn new(exact: Vec<Dyadic>) -> Row {
        let around = exact.iter().map(Interval::around).collect();
        Row { exact, around }
    }
}

/// What the rules need of a number.
pub trait Number: Clone {
    fn zero() -> Self;
    fn of(x: &Dyadic) -> Self;
    fn of_row(row: &Row) -> &[Self];
    fn stored(x: Stored) -> Self;
    fn plus(&self, other: &Self) -> Self;
    fn negated(&self) -> Self;
    fn times(&self, other: &Self) -> Self;
    fn scaled(&self, factor: Stored) -> Self;
    fn least(&self, other: &Self) -> Self;
    fn positive_part(&self) -> Self;
    /// Surely 0?
    fn is_zero(&self) -> bool;
    fn rough(&self) -> Rough;
    /// The sum of the so many smallest.
    fn sum_of_smallest(numbers: Vec<Self>, count: usize) -> Self;
    /// A line under a unit with coefficient `g` and pre-activation `z`, which can rise and fall so far.
    fn line(g: &Self, z: &Self, reach: [&Self; 2], linear: bool) -> Line<Self>;

    fn minus(&self, other: &Self) -> Self {
        self.plus(&other.negated())
    }

    fn most(&self, other: &Self) -> Self {
        self.negated().least(&other.negated()).negated()
    }

    fn sum_of_largest(numbers: &[Self], count: usize) -> Self {
        Self::sum_of_smallest(numbers.iter().map(Number::negated).collect(), count).negated()
    }

    fn count(count: usize) -> Self {
        Self::of(&Dyadic::from(count))
    }
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

impl Number for Dyadic {
    fn zero() -> Dyadic {
        Dyadic::ZERO
    }

    fn of(x: &Dyadic) -> Dyadic {
        x.clone()
    }

    fn of_row(row: &Row) -> &[Dyadic] {
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

    fn rough(&self) -> Rough {
        Interval::around(self).rough()
    }

    fn sum_of_smallest(mut numbers: Vec<Dyadic>, count: usize) -> Dyadic {
        numbers.sort();
        numbers.iter().take(count).fold(Dyadic::ZERO, |sum, x| &sum + x)
    }

    fn line(g: &Dyadic, z: &Dyadic, [rise, fall]: [&Dyadic; 2], linear: bool) -> Line<Dyadic> {
        let relu = Dyadic::positive_part;
        if linear || (!g.is_negative() && z.is_positive()) {
            return Line { constant: g * z, up: g.clone(), down: g.clone() };
        }
        if !g.is_negative() {
            return Line { constant: Dyadic::ZERO, up: Dyadic::ZERO, down: Dyadic::ZERO };
        }
        let up = quotient(&(&relu(&(z + rise)) - &relu(z)), rise, true);
        let down = quotient(&(&relu(z) - &relu(&(z - fall))), fall, false);
        Line { constant: g * &relu(z), up: g * &up, down: g * &down }
    }
}

impl Number for Interval {
    fn zero() -> Interval {
        Interval::ZERO
    }

    fn of(x: &Dyadic) -> Interval {
        Interval::around(x)
    }

    fn of_row(row: &Row) -> &[Interval] {
        &row.around
    }

    fn stored(x: Stored) -> Interval {
        Interval::from(x)
    }

    fn plus(&self, other: &Interval) -> Interval {
        Interval::plus(*self, *other)
    }

    fn negated(&self) -> Interval {
        -*self
    }

    fn times(&self, other: &Interval) -> Interval {
        match (self.as_stored(), other.as_stored()) {
            (_, Some(factor)) => Interval::scaled(*self, factor),
            (Some(factor), _) => Interval::scaled(*other, factor),
            _ => Interval::times(*self, *other),
        }
    }

    fn scaled(&self, factor: Stored) -> Interval {
        Interval::scaled(*self, factor)
    }

    fn least(&self, other: &Interval) -> Interval {
        Interval::least(*self, *other)
    }

    fn positive_part(&self) -> Interval {
        Interval::positive_part(*self)
    }

    fn is_zero(&self) -> bool {
        self.lower.is_zero() && self.upper.is_zero()
    }

    fn rough(&self) -> Rough {
        Interval::rough(*self)
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

    fn line(g: &Interval, z: &Interval, [rise, fall]: [&Interval; 2], linear: bool) -> Line<Interval> {
        let (slope, at) = (g.rough(), z.rough());
        let relu = |x: Rough| x.most(Rough::ZERO);
        let share = |part: Rough, whole: Rough| if whole > Rough::ZERO { part / whole } else { Rough::ZERO };
        if linear {
            let slope = slope.stored();
            // `g z⁰ + (g − slope)(p − q)`, with `p − q` between its ends.
            let open = Interval { lower: -fall.upper, upper: rise.upper };
            let rest = Interval::times(Interval::minus(*g, slope.into()), open);
            let constant = Interval::plus(Interval::times(*g, *z), rest).lower.point();
            return Line { constant, up: slope.into(), down: slope.into() };
        }
        let [up, down] = if slope >= Rough::ZERO {
            [if at > Rough::ZERO { slope } else { Rough::ZERO }; 2]
        } else {
            let (rise, fall) = (rise.upper.rough(), fall.upper.rough());
            [slope * share(relu(at + rise) - relu(at), rise), slope * share(relu(at) - relu(at - fall), fall)]
        };
        let slopes = [up.stored(), down.stored()];
        let constant = Interval::least_on_rectangle(*g, *z, slopes, rise.upper, fall.upper).point();
        Line { constant, up: slopes[0].into(), down: slopes[1].into() }
    }
}
