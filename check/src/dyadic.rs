//! Dyadic numbers: `mantissa · 2^exponent`, on which `+ − ×` and comparison are exact.

use std::cmp::Ordering;

use dashu_int::ops::{BitTest, UnsignedAbs};
use dashu_int::{IBig, Sign, UBig};

use crate::interval::Interval;
use crate::number::Number;

/// `mantissa · 2^exponent`, exactly.
#[derive(Clone, Debug)]
pub struct Dyadic {
    mantissa: IBig,
    exponent: i64,
}

impl Dyadic {
    fn new(mantissa: IBig, exponent: i64) -> Dyadic {
        Dyadic { mantissa, exponent }
    }

    /// The mantissa at a lower (or the same) exponent.
    fn at(&self, exponent: i64) -> IBig {
        &self.mantissa << (self.exponent - exponent) as usize
    }

    /// `2⁴⁰ · part` and `whole` as integers over a common exponent.
    fn fraction(part: &Dyadic, whole: &Dyadic) -> (UBig, UBig) {
        let exponent = part.exponent.min(whole.exponent);
        (part.at(exponent).unsigned_abs() << 40, whole.at(exponent).unsigned_abs())
    }

    /// The largest float whose magnitude is not above that of the number, and whether they differ.
    fn truncated(&self) -> (f64, bool) {
        let magnitude = (&self.mantissa).unsigned_abs();
        let bits = magnitude.bit_len() as i64;
        if bits == 0 {
            return (0.0, false);
        }
        // Exponent of the lowest bit that a float of this size has.
        let lowest = (self.exponent + bits - 53).max(-1074);
        let drop = lowest - self.exponent;
        let kept = if drop > 0 { &magnitude >> drop as usize } else { &magnitude << (-drop) as usize };
        let inexact = drop > 0 && (&kept << drop as usize) != magnitude;
        // At most 53 bits are kept.
        let fraction = u64::try_from(&kept).unwrap_or(u64::MAX);
        if lowest > 971 {
            return (f64::MAX, true);
        }
        let float = if fraction < 1 << 52 {
            // Subnormal, or zero: `lowest` is −1074 and the fraction field is the number itself.
            f64::from_bits(fraction)
        } else {
            f64::from_bits(((lowest + 1075) as u64) << 52 | (fraction & ((1 << 52) - 1)))
        };
        (float, inexact)
    }
}

impl Number for Dyadic {
    /// # Panics
    /// If `x` is not finite: a broken contract inside, because files and proofs hold finite numbers only.
    fn from_f64(x: f64) -> Dyadic {
        assert!(x.is_finite(), "only a finite float has an exact value");
        let bits = x.to_bits();
        let (field, fraction) = ((bits >> 52 & 0x7ff) as i64, bits & ((1 << 52) - 1));
        let (magnitude, exponent) = if field == 0 { (fraction, -1074) } else { (fraction | 1 << 52, field - 1075) };
        let sign = if x.is_sign_negative() { Sign::Negative } else { Sign::Positive };
        Dyadic::new(IBig::from_parts(sign, UBig::from(magnitude)), if magnitude == 0 { 0 } else { exponent })
    }

    fn plus(&self, other: &Dyadic) -> Dyadic {
        if self.mantissa.is_zero() {
            return other.clone();
        }
        if other.mantissa.is_zero() {
            return self.clone();
        }
        let exponent = self.exponent.min(other.exponent);
        Dyadic::new(self.at(exponent) + other.at(exponent), exponent)
    }

    fn negated(&self) -> Dyadic {
        Dyadic::new(-&self.mantissa, self.exponent)
    }

    fn times(&self, other: &Dyadic) -> Dyadic {
        if self.mantissa.is_zero() || other.mantissa.is_zero() {
            return Dyadic::zero();
        }
        Dyadic::new(&self.mantissa * &other.mantissa, self.exponent + other.exponent)
    }

    fn scaled(&self, factor: f64) -> Dyadic {
        self.times(&Dyadic::from_f64(factor))
    }

    fn positive_part(&self) -> Dyadic {
        if self.mantissa.sign() == Sign::Negative { Dyadic::zero() } else { self.clone() }
    }

    fn least(&self, other: &Dyadic) -> Dyadic {
        if self.rank(other) == Ordering::Greater { other.clone() } else { self.clone() }
    }

    fn sign(&self) -> Option<Ordering> {
        Some(self.mantissa.cmp(&IBig::ZERO))
    }

    fn step(&self) -> Dyadic {
        Dyadic::new(IBig::from(u8::from(self.mantissa > IBig::ZERO)), 0)
    }

    fn share_below(part: &Dyadic, whole: &Dyadic) -> Dyadic {
        let (part, whole) = Dyadic::fraction(part, whole);
        Dyadic::new(IBig::from(part / whole), -40)
    }

    fn share_above(part: &Dyadic, whole: &Dyadic) -> Dyadic {
        let (part, whole) = Dyadic::fraction(part, whole);
        Dyadic::new(IBig::from((part + &whole - UBig::ONE) / whole), -40)
    }

    fn rank(&self, other: &Dyadic) -> Ordering {
        self.minus(other).mantissa.cmp(&IBig::ZERO)
    }

    fn enclosure(&self) -> Interval {
        let (near, inexact) = self.truncated();
        let far = if inexact { near.next_up() } else { near };
        if self.mantissa.sign() == Sign::Negative {
            Interval { lower: -far, upper: -near }
        } else {
            Interval { lower: near, upper: far }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_come_back_as_they_went() {
        let tiny = f64::from_bits(1);
        for x in [0.0, 1.0, -0.1, 1e300, -1e-300, tiny, -tiny, f64::MAX, f64::MIN, f64::MIN_POSITIVE, 4e-310, 1e16] {
            assert_eq!(Dyadic::from_f64(x).enclosure(), Interval { lower: x, upper: x });
        }
    }

    #[test]
    fn rounding_is_directed() {
        let [one, tiny, huge] = [1.0, f64::from_bits(1), f64::MAX].map(Dyadic::from_f64);
        let sum = one.plus(&tiny).enclosure();
        assert_eq!((sum.lower, sum.upper), (1.0, 1.0f64.next_up()));
        let less = tiny.times(&Dyadic::from_f64(0.25)).negated().enclosure();
        assert_eq!((less.lower, less.upper), (-f64::from_bits(1), -0.0));
        let more = huge.plus(&tiny).enclosure();
        assert_eq!((more.lower, more.upper), (f64::MAX, f64::INFINITY));
        assert_eq!(huge.times(&huge).enclosure(), more);
    }

    #[test]
    fn cancellation_is_exact_and_shares_round_as_told() {
        let sum = Dyadic::from_f64(1e300).plus(&Dyadic::from_f64(1e-300)).minus(&Dyadic::from_f64(1e300));
        assert_eq!(sum.rank(&Dyadic::from_f64(1e-300)), Ordering::Equal);
        let (one, three) = (Dyadic::from_f64(1.0), Dyadic::from_f64(3.0));
        let (below, above) = (Dyadic::share_below(&one, &three), Dyadic::share_above(&one, &three));
        let step = Dyadic::new(IBig::ONE, -40);
        assert_eq!(below.plus(&step).rank(&above), Ordering::Equal);
        assert_eq!(below.times(&three).rank(&one), Ordering::Less);
        assert_eq!(Dyadic::share_above(&three, &three).rank(&one), Ordering::Equal);
    }
}
