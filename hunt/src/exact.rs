//! Exact numbers: integers times powers of two, in 64 or 128 bits where they surely fit and of any size elsewhere.

use std::cmp::Ordering;
use std::ops::{AddAssign, SubAssign};

use num_bigint::BigInt;
use num_traits::{Signed, ToPrimitive, Zero};

/// A finite float as `mantissa · 2^exponent`, the mantissa odd (or 0, with exponent 0).
pub fn parts(x: f64) -> (i64, i32) {
    let bits = x.to_bits();
    let field = (bits >> 52 & 0x7ff) as i32;
    let fraction = (bits & ((1 << 52) - 1)) as i64;
    let (mantissa, exponent) = if field == 0 { (fraction, -1074) } else { (fraction | 1 << 52, field - 1075) };
    if mantissa == 0 {
        return (0, 0);
    }
    let zeros = mantissa.trailing_zeros();
    let odd = mantissa >> zeros;
    (if x < 0.0 { -odd } else { odd }, exponent + zeros as i32)
}

/// The smallest exponent of some floats; `None` if all are 0.
pub fn least_exponent(values: impl Iterator<Item = f64>) -> Option<i32> {
    values.filter(|&x| x != 0.0).map(|x| parts(x).1).min()
}

/// What the brute force computes with.
pub trait Number: Clone + PartialOrd + for<'a> AddAssign<&'a Self> + for<'a> SubAssign<&'a Self> {
    /// `x / 2^exponent`, which must be an integer that fits (floats: `x` itself).
    fn scaled(x: f64, exponent: i32) -> Self;
    /// 0.
    fn zero() -> Self;
    /// Becomes the sum with `a · b`.
    fn add_product(&mut self, a: &Self, b: &Self);
    /// Becomes the sum.
    fn add(&mut self, other: &Self) {
        *self += other;
    }
    /// Becomes the difference.
    fn subtract(&mut self, other: &Self) {
        *self -= other;
    }
    /// Becomes 0 if negative.
    fn rectify(&mut self);
    /// Is it 0?
    fn is_zero(&self) -> bool;
    /// Is it smaller?
    fn is_less(&self, other: &Self) -> bool {
        self < other
    }
    /// Becomes the same number, in the memory that it has.
    fn assign(&mut self, other: &Self) {
        self.clone_from(other);
    }
}

macro_rules! small {
    ($kind:ty) => {
        impl Number for $kind {
            fn scaled(x: f64, exponent: i32) -> Self {
                let (mantissa, own) = parts(x);
                if mantissa == 0 { 0 } else { <$kind>::from(mantissa) << (own - exponent) }
            }
            fn zero() -> Self {
                0
            }
            fn add_product(&mut self, a: &Self, b: &Self) {
                *self += a * b;
            }
            fn rectify(&mut self) {
                *self = (*self).max(0);
            }
            fn is_zero(&self) -> bool {
                *self == 0
            }
        }
    };
}

small!(i64);
small!(i128);

impl Number for f64 {
    fn scaled(x: f64, _: i32) -> Self {
        x
    }
    fn zero() -> Self {
        0.0
    }
    fn add_product(&mut self, a: &Self, b: &Self) {
        *self += a * b;
    }
    fn rectify(&mut self) {
        *self = self.max(0.0);
    }
    fn is_zero(&self) -> bool {
        *self == 0.0
    }
}

impl Number for BigInt {
    fn scaled(x: f64, exponent: i32) -> Self {
        let (mantissa, own) = parts(x);
        if mantissa == 0 { BigInt::ZERO } else { BigInt::from(mantissa) << (own - exponent) }
    }
    fn zero() -> Self {
        BigInt::ZERO
    }
    fn add_product(&mut self, a: &Self, b: &Self) {
        *self += a * b;
    }
    fn rectify(&mut self) {
        if self.is_negative() {
            self.set_zero();
        }
    }
    fn is_zero(&self) -> bool {
        Zero::is_zero(self)
    }
}

/// `integer · 2^exponent`.
#[derive(Clone, Debug)]
pub struct Exact {
    pub integer: BigInt,
    pub exponent: i32,
}

impl Exact {
    /// A finite float.
    pub fn from_f64(x: f64) -> Exact {
        let (mantissa, exponent) = parts(x);
        Exact { integer: BigInt::from(mantissa), exponent }
    }

    /// 0.
    pub fn zero() -> Exact {
        Exact { integer: BigInt::ZERO, exponent: 0 }
    }

    /// Its sign.
    pub fn sign(&self) -> Ordering {
        self.integer.cmp(&BigInt::ZERO)
    }

    /// Both integers at the smaller of two exponents.
    fn aligned(&self, other: &Exact) -> (BigInt, BigInt, i32) {
        let exponent = self.exponent.min(other.exponent);
        (&self.integer << (self.exponent - exponent), &other.integer << (other.exponent - exponent), exponent)
    }

    /// The comparison of two exact numbers.
    pub fn compare(&self, other: &Exact) -> Ordering {
        // Without this a zero would be shifted by the whole range of exponents.
        match (self.sign(), other.sign()) {
            (a, b) if a != b => a.cmp(&b),
            (Ordering::Equal, _) => Ordering::Equal,
            _ => {
                let (a, b, _) = self.aligned(other);
                a.cmp(&b)
            }
        }
    }

    /// The sum.
    pub fn plus(&self, other: &Exact) -> Exact {
        if Zero::is_zero(&self.integer) {
            return other.clone();
        }
        if Zero::is_zero(&other.integer) {
            return self.clone();
        }
        let (a, b, exponent) = self.aligned(other);
        Exact { integer: a + b, exponent }
    }

    /// The product.
    pub fn times(&self, other: &Exact) -> Exact {
        Exact { integer: &self.integer * &other.integer, exponent: self.exponent + other.exponent }
    }

    /// The negative.
    pub fn negated(&self) -> Exact {
        Exact { integer: -&self.integer, exponent: self.exponent }
    }

    /// The comparison with a float; infinities are beyond everything.
    pub fn compare_f64(&self, x: f64) -> Ordering {
        if x == f64::INFINITY {
            Ordering::Less
        } else if x == f64::NEG_INFINITY {
            Ordering::Greater
        } else {
            self.compare(&Exact::from_f64(x))
        }
    }

    /// A float near it, for people and for tolerances.
    pub fn approximate(&self) -> f64 {
        let bits = self.integer.bits() as i64;
        let drop = (bits - 64).max(0);
        let head = (&self.integer >> drop).to_f64().unwrap_or(0.0);
        let power = drop + i64::from(self.exponent);
        // In two steps, because 2^power alone may underflow where the product does not.
        let half = (power / 2).clamp(-1100, 1100) as i32;
        let rest = (power - i64::from(half)).clamp(-1100, 1100) as i32;
        head * 2f64.powi(half) * 2f64.powi(rest)
    }
}

impl PartialEq for Exact {
    fn eq(&self, other: &Exact) -> bool {
        self.compare(other).is_eq()
    }
}

impl PartialOrd for Exact {
    fn partial_cmp(&self, other: &Exact) -> Option<Ordering> {
        Some(self.compare(other))
    }
}

impl AddAssign<&Exact> for Exact {
    fn add_assign(&mut self, other: &Exact) {
        *self = self.plus(other);
    }
}

impl SubAssign<&Exact> for Exact {
    fn sub_assign(&mut self, other: &Exact) {
        *self = self.plus(&other.negated());
    }
}

/// Slower than integers at a common exponent, but of any numbers.
impl Number for Exact {
    fn scaled(x: f64, _: i32) -> Self {
        Exact::from_f64(x)
    }
    fn zero() -> Self {
        Exact::zero()
    }
    fn add_product(&mut self, a: &Self, b: &Self) {
        *self = self.plus(&a.times(b));
    }
    fn rectify(&mut self) {
        if self.sign().is_lt() {
            *self = Exact::zero();
        }
    }
    fn is_zero(&self) -> bool {
        self.sign().is_eq()
    }
}
