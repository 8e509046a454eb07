//! Dyadic numbers: exact arithmetic on what floats can hold, sums and products included.
//!
//! Every finite float is `mantissa · 2^exponent`, and such numbers are closed under `+ − ×`. So the network of stored
//! floats has an exact value, and this is the type that computes it.

use std::cmp::Ordering;
use std::ops::{Add, AddAssign, Mul, Neg, Sub};

use dashu_int::ops::BitTest;
use dashu_int::{IBig, Sign, UBig};

/// `mantissa · 2^exponent`, exactly.
#[derive(Clone, Debug)]
pub struct Dyadic {
    mantissa: IBig,
    exponent: i64,
}

impl Dyadic {
    /// Zero.
    pub const ZERO: Dyadic = Dyadic { mantissa: IBig::ZERO, exponent: 0 };

    /// The exact value of a finite float.
    ///
    /// # Panics
    /// If `x` is not finite: weights and matrices are checked when they are read.
    pub fn from_f64(x: f64) -> Dyadic {
        let (mantissa, exponent) = parts(x);
        Dyadic { mantissa: IBig::from(mantissa), exponent }
    }

    /// The exact sum of finite floats: on one common exponent in machine integers where these surely suffice, which is
    /// the usual case, and number by number otherwise.
    ///
    /// # Panics
    /// As [`from_f64`](Dyadic::from_f64).
    pub fn sum_of(floats: impl Iterator<Item = f64> + Clone) -> Dyadic {
        let (mut least, mut most, mut count) = (i64::MAX, i64::MIN, 0u32);
        for x in floats.clone().filter(|x| *x != 0.0) {
            let (mantissa, exponent) = parts(x);
            let bits = 64 - i64::from(mantissa.unsigned_abs().leading_zeros());
            (least, most, count) = (least.min(exponent), most.max(exponent + bits), count.saturating_add(1));
        }
        if count == 0 {
            return Dyadic::ZERO;
        }
        // From the lowest bit of any term to the highest, times the number of terms.
        if most - least + i64::from(32 - count.leading_zeros()) > 126 {
            return floats.fold(Dyadic::ZERO, |total, x| &total + &x.into());
        }
        let sum: i128 = floats
            .filter(|x| *x != 0.0)
            .map(|x| {
                let (mantissa, exponent) = parts(x);
                i128::from(mantissa) << (exponent - least)
            })
            .sum();
        if sum == 0 { Dyadic::ZERO } else { Dyadic { mantissa: IBig::from(sum), exponent: least } }
    }

    /// The mantissa at an exponent that is not larger.
    fn aligned(&self, exponent: i64) -> IBig {
        &self.mantissa << (self.exponent - exponent) as usize
    }

    /// The sign: less than, equal to or greater than zero.
    pub fn sign(&self) -> Ordering {
        if self.mantissa.is_zero() {
            Ordering::Equal
        } else if self.mantissa.sign() == Sign::Negative {
            Ordering::Less
        } else {
            Ordering::Greater
        }
    }

    /// `max(self, 0)`.
    pub fn relu(self) -> Dyadic {
        if self.sign() == Ordering::Less { Dyadic::ZERO } else { self }
    }

    /// The smaller of the two.
    pub fn min(self, other: Dyadic) -> Dyadic {
        if other < self { other } else { self }
    }

    /// The larger of the two.
    pub fn max(self, other: Dyadic) -> Dyadic {
        if other > self { other } else { self }
    }

    /// The largest f64 not above the exact value.
    pub fn floor_f64(&self) -> f64 {
        -(-self.clone()).ceil_f64()
    }

    /// The smallest f64 not below the exact value (`+∞` beyond the largest float, `−f64::MAX` below the smallest).
    pub fn ceil_f64(&self) -> f64 {
        let (sign, magnitude) = self.mantissa.clone().into_parts();
        let length = magnitude.bit_len() as i64;
        if length == 0 {
            return 0.0;
        }
        // The lowest bit that a float of this size can hold.
        let lowest = (self.exponent + length - 53).max(-1074);
        let shift = lowest - self.exponent;
        let (mut kept, inexact) = if shift > 0 {
            let shift = shift as usize;
            // A number smaller than the smallest subnormal keeps nothing.
            let kept = &magnitude >> shift;
            let inexact = (&kept << shift) != magnitude;
            (u64::try_from(&kept).expect("53 bits are kept"), inexact)
        } else {
            let kept = &magnitude << (-shift) as usize;
            (u64::try_from(&kept).expect("53 bits are kept"), false)
        };
        let negative = sign == Sign::Negative;
        if inexact && !negative {
            kept += 1;
        }
        let value = scale(kept as f64, lowest);
        match (negative, value.is_infinite()) {
            (true, true) => -f64::MAX,
            (true, false) => -value,
            (false, _) => value,
        }
    }

    /// The nearest-ish float, for choosing multipliers and ordering candidates; nothing rests on it.
    pub fn approximate(&self) -> f64 {
        self.floor_f64()
    }
}

/// Mantissa and exponent of a finite float; the mantissa is odd (or zero), because short ones make short products.
fn parts(x: f64) -> (i64, i64) {
    assert!(x.is_finite(), "only finite floats have an exact value");
    let bits = x.to_bits();
    let field = (bits >> 52 & 0x7ff) as i64;
    let fraction = (bits & ((1 << 52) - 1)) as i64;
    // Subnormals share the exponent of the smallest normal numbers and have no hidden bit.
    let (magnitude, exponent) = if field == 0 { (fraction, -1074) } else { (fraction | 1 << 52, field - 1075) };
    if magnitude == 0 {
        return (0, 0);
    }
    let zeros = magnitude.trailing_zeros();
    let odd = magnitude >> zeros;
    (if x.is_sign_negative() { -odd } else { odd }, exponent + i64::from(zeros))
}

/// `numerator/denominator` in lowest terms; a whole number has no denominator.
impl std::fmt::Display for Dyadic {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        let (sign, magnitude) = self.mantissa.clone().into_parts();
        let Some(zeros) = magnitude.trailing_zeros() else { return f.write_str("0") };
        if sign == Sign::Negative {
            f.write_str("-")?;
        }
        let (odd, exponent) = (magnitude >> zeros, self.exponent + zeros as i64);
        if exponent >= 0 {
            write!(f, "{}", odd << exponent as usize)
        } else {
            write!(f, "{odd}/{}", UBig::ONE << (-exponent) as usize)
        }
    }
}

/// `x · 2^power` for an `x` with at most 53 bits (or 2⁵³) and a result that is representable or overflows.
fn scale(x: f64, power: i64) -> f64 {
    // Two factors, because 2^power alone may be out of range although the product is not.
    let half = power / 2;
    x * pow2(half) * pow2(power - half)
}

fn pow2(power: i64) -> f64 {
    if power > 1023 {
        f64::INFINITY
    } else if power >= -1022 {
        f64::from_bits(((power + 1023) as u64) << 52)
    } else {
        0.0
    }
}

impl From<f64> for Dyadic {
    fn from(x: f64) -> Dyadic {
        Dyadic::from_f64(x)
    }
}

impl Add for &Dyadic {
    type Output = Dyadic;
    fn add(self, other: &Dyadic) -> Dyadic {
        if self.mantissa.is_zero() {
            return other.clone();
        }
        if other.mantissa.is_zero() {
            return self.clone();
        }
        let exponent = self.exponent.min(other.exponent);
        Dyadic { mantissa: self.aligned(exponent) + other.aligned(exponent), exponent }
    }
}

impl Sub for &Dyadic {
    type Output = Dyadic;
    fn sub(self, other: &Dyadic) -> Dyadic {
        self + &-other.clone()
    }
}

impl Mul for &Dyadic {
    type Output = Dyadic;
    fn mul(self, other: &Dyadic) -> Dyadic {
        if self.mantissa.is_zero() || other.mantissa.is_zero() {
            return Dyadic::ZERO;
        }
        Dyadic { mantissa: &self.mantissa * &other.mantissa, exponent: self.exponent + other.exponent }
    }
}

impl Neg for Dyadic {
    type Output = Dyadic;
    fn neg(self) -> Dyadic {
        Dyadic { mantissa: -self.mantissa, exponent: self.exponent }
    }
}

impl AddAssign<&Dyadic> for Dyadic {
    fn add_assign(&mut self, other: &Dyadic) {
        *self = &*self + other;
    }
}

impl PartialEq for Dyadic {
    fn eq(&self, other: &Dyadic) -> bool {
        (self - other).sign() == Ordering::Equal
    }
}

impl Eq for Dyadic {}

impl PartialOrd for Dyadic {
    fn partial_cmp(&self, other: &Dyadic) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Dyadic {
    fn cmp(&self, other: &Dyadic) -> Ordering {
        (self - other).sign()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn dyadic(x: f64) -> Dyadic {
        Dyadic::from_f64(x)
    }

    #[test]
    fn cancellation_is_exact() {
        let sum = &(&dyadic(1e300) + &dyadic(1e-300)) - &dyadic(1e300);
        assert_eq!(sum, dyadic(1e-300));
        assert_eq!((&dyadic(0.1) - &dyadic(0.1)).sign(), Ordering::Equal);
    }

    #[test]
    fn rationals_are_written_in_lowest_terms() {
        let text = |x: f64| dyadic(x).to_string();
        assert_eq!(
            ["-3/8", "0", "6", "-1", "1/4"],
            [-0.375, -0.0, 6.0, -1.0, 0.25].map(text).each_ref().map(|t| &t[..])
        );
        assert_eq!((&dyadic(3.0) * &dyadic(2f64.powi(-70))).to_string(), "3/1180591620717411303424");
    }

    #[test]
    fn rounding_is_directed_at_the_ends_of_the_range() {
        let beyond = &dyadic(f64::MAX) + &dyadic(f64::MAX);
        assert_eq!(beyond.ceil_f64(), f64::INFINITY);
        assert_eq!(beyond.floor_f64(), f64::MAX);
        let tiny = &dyadic(f64::from_bits(1)) * &dyadic(0.25);
        assert_eq!(tiny.ceil_f64(), f64::from_bits(1));
        assert_eq!(tiny.floor_f64(), 0.0);
        assert_eq!((-tiny).floor_f64(), -f64::from_bits(1));
        assert_eq!(Dyadic::ZERO.ceil_f64(), 0.0);
    }

    proptest! {
        #[test]
        fn floats_come_back_as_they_went(x in proptest::num::f64::NORMAL | proptest::num::f64::SUBNORMAL | proptest::num::f64::ZERO) {
            prop_assert_eq!(dyadic(x).ceil_f64(), x);
            prop_assert_eq!(dyadic(x).floor_f64(), x);
        }

        #[test]
        fn the_rounded_sum_and_product_lie_between_floor_and_ceiling(x in -1e9f64..1e9, y in -1e-3f64..1e-3) {
            let sum = &dyadic(x) + &dyadic(y);
            prop_assert!(sum.floor_f64() <= x + y && x + y <= sum.ceil_f64());
            prop_assert!(sum.floor_f64().next_up() >= sum.ceil_f64());
            let product = &dyadic(x) * &dyadic(y);
            prop_assert!(product.floor_f64() <= x * y && x * y <= product.ceil_f64());
        }

        #[test]
        fn sums_of_floats_are_exact(xs in proptest::collection::vec((-1e3f64..1e3, -200i32..200, any::<bool>()), 0..20)) {
            let floats: Vec<f64> = xs.iter().map(|&(x, p, far)| if far { x * 2f64.powi(p) } else { x }).collect();
            let one_by_one = floats.iter().fold(Dyadic::ZERO, |total, &x| &total + &x.into());
            prop_assert_eq!(Dyadic::sum_of(floats.iter().copied()), one_by_one);
        }

        #[test]
        fn order_is_that_of_the_floats(x in proptest::num::f64::NORMAL, y in proptest::num::f64::NORMAL) {
            prop_assert_eq!(dyadic(x).cmp(&dyadic(y)), x.partial_cmp(&y).unwrap());
        }
    }
}
