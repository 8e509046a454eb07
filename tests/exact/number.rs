//! Exact dyadic numbers, `mantissa · 2^exponent`, and their comparison with floats.

use std::cmp::Ordering;

use dashu_int::IBig;

/// `mantissa · 2^exponent`; zero has the exponent 0.
#[derive(Clone, Debug)]
pub struct Exact {
    mantissa: IBig,
    exponent: i64,
}

impl Exact {
    /// The number that a finite float stands for.
    pub fn of(value: f64) -> Exact {
        assert!(value.is_finite());
        if value == 0.0 {
            return Exact { mantissa: IBig::ZERO, exponent: 0 };
        }
        let bits = value.to_bits();
        let (field, fraction) = (((bits >> 52) & 2047) as i64, (bits & ((1u64 << 52) - 1)) as i64);
        // A field of 0 marks a subnormal number, which has no hidden bit.
        let (size, exponent) = if field == 0 { (fraction, -1074) } else { (fraction + (1i64 << 52), field - 1075) };
        let zeros = size.trailing_zeros();
        let size = size >> zeros;
        Exact { mantissa: IBig::from(if value < 0.0 { -size } else { size }), exponent: exponent + i64::from(zeros) }
    }

    pub fn zero() -> Exact {
        Exact::of(0.0)
    }

    pub fn whole(count: usize) -> Exact {
        Exact::new(IBig::from(count), 0)
    }

    /// A fraction `a/b` or an integer as text, `b` a power of two.
    pub fn fraction(text: &str) -> Exact {
        let (above, below) = text.split_once('/').unwrap_or((text, "1"));
        let below: IBig = below.parse().unwrap();
        let exponent = format!("{below:b}").len() as i64 - 1;
        assert_eq!(below, IBig::ONE << exponent as usize, "{text} is not dyadic");
        Exact::new(above.parse().unwrap(), -exponent)
    }

    fn new(mantissa: IBig, exponent: i64) -> Exact {
        let exponent = if mantissa == IBig::ZERO { 0 } else { exponent };
        Exact { mantissa, exponent }
    }

    pub fn plus(&self, other: &Exact) -> Exact {
        if self.mantissa == IBig::ZERO {
            return other.clone();
        }
        if other.mantissa == IBig::ZERO {
            return self.clone();
        }
        let exponent = self.exponent.min(other.exponent);
        let shifted = |number: &Exact| &number.mantissa << (number.exponent - exponent) as usize;
        Exact::new(shifted(self) + shifted(other), exponent)
    }

    pub fn minus(&self, other: &Exact) -> Exact {
        self.plus(&Exact { mantissa: -other.mantissa.clone(), exponent: other.exponent })
    }

    pub fn times(&self, other: &Exact) -> Exact {
        Exact::new(&self.mantissa * &other.mantissa, self.exponent + other.exponent)
    }

    pub fn relu(&self) -> Exact {
        if self.is_positive() { self.clone() } else { Exact::zero() }
    }

    /// How the number compares with 0.
    pub fn sign(&self) -> Ordering {
        self.mantissa.cmp(&IBig::ZERO)
    }

    pub fn is_positive(&self) -> bool {
        self.sign() == Ordering::Greater
    }

    pub fn compare(&self, other: &Exact) -> Ordering {
        self.minus(other).sign()
    }

    /// About this number, for messages and for choosing what to try; no judgement rests on it.
    pub fn rough(&self) -> f64 {
        let negative = self.sign() == Ordering::Less;
        let bits = format!("{:b}", if negative { -self.mantissa.clone() } else { self.mantissa.clone() });
        let kept = bits.len().min(60);
        let leading = u64::from_str_radix(&bits[..kept], 2).unwrap_or(0) as f64;
        let power = self.exponent + (bits.len() - kept) as i64;
        // In two steps, so that a number in range is not lost to a power that is not.
        let step = |power: i64| 2f64.powi(power.clamp(-2000, 2000) as i32);
        let size = leading * step(power / 2) * step(power - power / 2);
        if negative { -size } else { size }
    }
}

/// The smallest of some numbers; panics if there is none.
pub fn smallest(numbers: impl Iterator<Item = Exact>) -> Exact {
    numbers.min_by(Exact::compare).unwrap()
}

/// Is the float, possibly infinite, at most the exact number? A NaN is a broken contract of the caller.
pub fn at_most(float: f64, exact: &Exact) -> bool {
    float == f64::NEG_INFINITY || float != f64::INFINITY && Exact::of(float).compare(exact) != Ordering::Greater
}

/// Is the float, possibly infinite, at least the exact number?
pub fn at_least(float: f64, exact: &Exact) -> bool {
    float == f64::INFINITY || float != f64::NEG_INFINITY && Exact::of(float).compare(exact) != Ordering::Less
}
