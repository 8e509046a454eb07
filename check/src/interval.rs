//! Intervals: floats between which the exact number surely lies. Every operation rounds outward.
//!
//! A number that overflowed is an infinite endpoint, never a NaN: nothing follows from it, and nothing is decided by it.

use std::cmp::Ordering;

use crate::number::{GRID, Number};

/// All reals `x` with `lower ≤ x ≤ upper`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// Surely not above the number.
    pub lower: f64,
    /// Surely not below the number.
    pub upper: f64,
}

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

/// A float not below `a + b`.
#[inline]
fn sum_above(a: f64, b: f64) -> f64 {
    -sum_below(-a, -b)
}

/// A float not above `a · b` for every pair of reals that `a` and `b` stand for; 0 and ±1 multiply exactly.
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

/// A float not below `a · b`.
#[inline]
fn product_above(a: f64, b: f64) -> f64 {
    -product_below(-a, b)
}

impl Interval {
    /// Zero.
    pub const ZERO: Interval = Interval { lower: 0.0, upper: 0.0 };

    /// The quotient of two numbers known to be in `[0, 1]`, rounded to the grid by `round`.
    fn share(part: &Interval, whole: &Interval, round: fn(f64) -> f64) -> Interval {
        // `max` and `min` swallow a NaN (0/0, ∞/∞), which leaves [0, 1]. Scaling by a power of two is exact.
        let snap = |share: f64| round(share.clamp(0.0, 1.0) * GRID) / GRID;
        let upper = if whole.lower > 0.0 { (part.upper / whole.lower).next_up() } else { f64::NAN };
        Interval { lower: snap((part.lower / whole.upper).next_down().max(0.0)), upper: snap(upper.min(1.0)) }
    }
}

impl Number for Interval {
    fn from_f64(x: f64) -> Interval {
        Interval { lower: x, upper: x }
    }

    #[inline]
    fn plus(&self, other: &Interval) -> Interval {
        Interval { lower: sum_below(self.lower, other.lower), upper: sum_above(self.upper, other.upper) }
    }

    fn negated(&self) -> Interval {
        Interval { lower: -self.upper, upper: -self.lower }
    }

    fn times(&self, other: &Interval) -> Interval {
        let pairs = [
            (self.lower, other.lower),
            (self.lower, other.upper),
            (self.upper, other.lower),
            (self.upper, other.upper),
        ];
        Interval {
            lower: pairs.iter().map(|&(a, b)| product_below(a, b)).fold(f64::INFINITY, f64::min),
            upper: pairs.iter().map(|&(a, b)| product_above(a, b)).fold(f64::NEG_INFINITY, f64::max),
        }
    }

    #[inline]
    fn scaled(&self, factor: f64) -> Interval {
        let (low, high) = if factor > 0.0 { (self.lower, self.upper) } else { (self.upper, self.lower) };
        Interval { lower: product_below(low, factor), upper: product_above(high, factor) }
    }

    fn positive_part(&self) -> Interval {
        Interval { lower: self.lower.max(0.0), upper: self.upper.max(0.0) }
    }

    fn least(&self, other: &Interval) -> Interval {
        Interval { lower: self.lower.min(other.lower), upper: self.upper.min(other.upper) }
    }

    fn sign(&self) -> Option<Ordering> {
        if self.lower > 0.0 {
            Some(Ordering::Greater)
        } else if self.upper < 0.0 {
            Some(Ordering::Less)
        } else if self.lower >= 0.0 && self.upper <= 0.0 {
            Some(Ordering::Equal)
        } else {
            None
        }
    }

    fn step(&self) -> Interval {
        let one_if = |positive: bool| if positive { 1.0 } else { 0.0 };
        Interval { lower: one_if(self.lower > 0.0), upper: one_if(self.upper > 0.0) }
    }

    fn share_below(part: &Interval, whole: &Interval) -> Interval {
        Interval::share(part, whole, f64::floor)
    }

    fn share_above(part: &Interval, whole: &Interval) -> Interval {
        Interval::share(part, whole, f64::ceil)
    }

    fn rank(&self, other: &Interval) -> Ordering {
        self.upper.total_cmp(&other.upper)
    }

    fn enclosure(&self) -> Interval {
        *self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dyadic::Dyadic;

    fn holds(interval: Interval, exact: &Dyadic) {
        let (below, above) = (exact.enclosure().lower, exact.enclosure().upper);
        assert!(interval.lower <= above && below <= interval.upper, "{interval:?} {exact:?}");
        let excess = |bound: f64| exact.minus(&Dyadic::from_f64(bound)).sign();
        if interval.lower.is_finite() {
            assert_ne!(excess(interval.lower), Some(Ordering::Less), "{interval:?} {exact:?}");
        }
        if interval.upper.is_finite() {
            assert_ne!(excess(interval.upper), Some(Ordering::Greater), "{interval:?} {exact:?}");
        }
    }

    /// Every operation on nasty floats contains what exact arithmetic gives.
    #[test]
    fn operations_enclose_the_exact_result() {
        let tiny = f64::from_bits(1);
        let nasty = [
            0.0,
            1.0,
            -1.0,
            0.1,
            -0.3,
            1e16,
            -1e16,
            1.0 + f64::EPSILON,
            1e-17,
            3.7e-200,
            -2.2e-308,
            tiny,
            -tiny,
            f64::MAX,
            f64::MIN,
            1e300,
            1e-300,
            0.5,
            1.0 / 3.0,
        ];
        for &a in &nasty {
            for &b in &nasty {
                let (x, y) = (Interval::from_f64(a), Interval::from_f64(b));
                let (p, q) = (Dyadic::from_f64(a), Dyadic::from_f64(b));
                holds(x.plus(&y), &p.plus(&q));
                holds(x.minus(&y), &p.minus(&q));
                holds(x.times(&y), &p.times(&q));
                holds(x.scaled(b), &p.scaled(b));
                holds(x.times(&y).plus(&x), &p.times(&q).plus(&p));
                holds(x.plus(&y).times(&y.minus(&x)), &p.plus(&q).times(&q.minus(&p)));
                holds(x.least(&y), &p.least(&q));
                holds(x.positive_part(), &p.positive_part());
                if a >= 0.0 && b > 0.0 {
                    let (whole, exact) = (x.plus(&y), p.plus(&q));
                    holds(Interval::share_below(&x, &whole), &Dyadic::share_below(&p, &exact));
                    holds(Interval::share_above(&x, &whole), &Dyadic::share_above(&p, &exact));
                }
                if let Some(sign) = x.plus(&y).sign() {
                    assert_eq!(Some(sign), p.plus(&q).sign());
                }
            }
        }
    }

    #[test]
    fn an_overflow_decides_nothing() {
        let huge = Interval::from_f64(f64::MAX);
        let beyond = huge.plus(&huge);
        assert_eq!(beyond, Interval { lower: f64::NEG_INFINITY, upper: f64::INFINITY });
        assert_eq!(beyond.minus(&beyond).sign(), None);
        assert_eq!(beyond.times(&Interval::ZERO), Interval::ZERO);
        assert_eq!(huge.times(&huge).minus(&huge.times(&huge)).sign(), None);
    }
}
