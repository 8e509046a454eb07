//! Dyadic numbers: `mantissa · 2^exponent`, on which `+ − ×`, comparison and rounding to a grid are exact.

use std::cmp::Ordering;
use std::ops::{Add, AddAssign, Mul, Neg, Sub};

use dashu_int::ops::BitTest;
use dashu_int::{IBig, Sign, UBig, Word};

use super::steps::step;

/// Steps of an operation, whatever the length of its numbers.
const OPERATION: u64 = 32;

/// `mantissa · 2^exponent`, exactly.
#[derive(Clone, Debug, Default)]
pub struct Dyadic {
    mantissa: IBig,
    exponent: i64,
}

impl Dyadic {
    /// 0.
    pub const ZERO: Dyadic = Dyadic { mantissa: IBig::ZERO, exponent: 0 };

    /// `mantissa · 2^exponent`.
    pub fn new(mantissa: IBig, exponent: i64) -> Dyadic {
        if mantissa.is_zero() { Dyadic::ZERO } else { Dyadic { mantissa, exponent } }
    }

    /// The number that the bits of a binary64 float stand for; `None` for infinities and NaN.
    pub fn from_bits(bits: u64) -> Option<Dyadic> {
        let (field, fraction) = ((bits >> 52 & 0x7ff) as i64, bits & ((1 << 52) - 1));
        let (magnitude, exponent) = match field {
            0x7ff => return None,
            0 => (fraction, -1074),
            _ => (fraction | 1 << 52, field - 1075),
        };
        let sign = if bits >> 63 == 1 { Sign::Negative } else { Sign::Positive };
        Some(Dyadic::new(IBig::from_parts(sign, UBig::from(magnitude)), exponent))
    }

    /// The mantissa and the exponent.
    pub fn parts(&self) -> (&IBig, i64) {
        (&self.mantissa, self.exponent)
    }

    /// The mantissa at a lower (or the same) exponent.
    pub fn at(&self, exponent: i64) -> IBig {
        &self.mantissa << (self.exponent - exponent) as usize
    }

    /// How the number compares to 0.
    pub fn sign(&self) -> Ordering {
        self.mantissa.cmp(&IBig::ZERO)
    }

    /// Is it above 0?
    pub fn is_positive(&self) -> bool {
        self.sign() == Ordering::Greater
    }

    /// Is it below 0?
    pub fn is_negative(&self) -> bool {
        self.sign() == Ordering::Less
    }

    /// Is it 0?
    pub fn is_zero(&self) -> bool {
        self.mantissa.is_zero()
    }

    /// `max(self, 0)`.
    pub fn positive_part(&self) -> Dyadic {
        if self.is_negative() { Dyadic::ZERO } else { self.clone() }
    }

    /// `|self|`.
    pub fn size(&self) -> Dyadic {
        if self.is_negative() { -self } else { self.clone() }
    }

    /// The largest multiple of `2^grid` that is not above the number.
    pub fn rounded_down(&self, grid: i64) -> Dyadic {
        if self.exponent >= grid {
            return self.clone();
        }
        // A right shift of a negative integer rounds downward as well.
        Dyadic::new(&self.mantissa >> (grid - self.exponent) as usize, grid)
    }

    /// The smallest multiple of `2^grid` that is not below the number.
    pub fn rounded_up(&self, grid: i64) -> Dyadic {
        -&(-self).rounded_down(grid)
    }

    /// The same number with the shortest mantissa.
    pub fn reduced(&self) -> Dyadic {
        let zeros = self.mantissa.trailing_zeros().unwrap_or(0);
        Dyadic::new(&self.mantissa >> zeros, self.exponent + zeros as i64)
    }

    /// Bits of the mantissa, trailing zeros among them; 0 for 0.
    pub fn bits(&self) -> usize {
        let words = self.mantissa.as_sign_words().1;
        words.last().map_or(0, |last| last.bit_len() + (words.len() - 1) * Word::BITS as usize)
    }

    /// Words of the mantissa, what an operation costs.
    pub fn words(&self) -> u64 {
        self.mantissa.as_sign_words().1.len() as u64
    }

    /// Bytes that some numbers take in memory, about.
    pub fn bytes<'d>(numbers: impl IntoIterator<Item = &'d Dyadic>) -> u64 {
        numbers.into_iter().map(|x| size_of::<Dyadic>() as u64 + 8 * x.words()).sum()
    }
}

impl From<usize> for Dyadic {
    fn from(count: usize) -> Dyadic {
        Dyadic::new(IBig::from(count), 0)
    }
}

impl Add for &Dyadic {
    type Output = Dyadic;
    fn add(self, other: &Dyadic) -> Dyadic {
        if self.is_zero() {
            return other.clone();
        }
        if other.is_zero() {
            return self.clone();
        }
        let exponent = self.exponent.min(other.exponent);
        let sum = Dyadic::new(self.at(exponent) + other.at(exponent), exponent);
        // Both are shifted and added: a word of the sum each.
        step(OPERATION + 3 * sum.words());
        sum
    }
}

impl AddAssign<&Dyadic> for Dyadic {
    /// In place: sums of many numbers are most of what checking executions takes.
    fn add_assign(&mut self, other: &Dyadic) {
        if self.is_zero() || other.is_zero() {
            *self = &*self + other;
            return;
        }
        match self.exponent.cmp(&other.exponent) {
            Ordering::Less => self.mantissa += other.at(self.exponent),
            Ordering::Equal => self.mantissa += &other.mantissa,
            Ordering::Greater => {
                self.mantissa = self.at(other.exponent) + &other.mantissa;
                self.exponent = other.exponent;
            }
        }
        step(OPERATION + 3 * self.words());
        if self.is_zero() {
            *self = Dyadic::ZERO;
        }
    }
}

impl Neg for &Dyadic {
    type Output = Dyadic;
    fn neg(self) -> Dyadic {
        Dyadic { mantissa: -&self.mantissa, exponent: self.exponent }
    }
}

impl Sub for &Dyadic {
    type Output = Dyadic;
    fn sub(self, other: &Dyadic) -> Dyadic {
        self + &-other
    }
}

impl Mul for &Dyadic {
    type Output = Dyadic;
    fn mul(self, other: &Dyadic) -> Dyadic {
        step(OPERATION + self.words() * other.words());
        Dyadic::new(&self.mantissa * &other.mantissa, self.exponent + other.exponent)
    }
}

impl Ord for Dyadic {
    fn cmp(&self, other: &Dyadic) -> Ordering {
        // Signs and leading bits first: they are known without aligning the numbers.
        let lead = |x: &Dyadic| if x.is_zero() { 0 } else { x.exponent + x.bits() as i64 };
        let leads = if self.is_negative() { lead(other).cmp(&lead(self)) } else { lead(self).cmp(&lead(other)) };
        self.sign().cmp(&other.sign()).then(leads).then_with(|| (self - other).sign())
    }
}

impl PartialOrd for Dyadic {
    fn partial_cmp(&self, other: &Dyadic) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Dyadic {
    fn eq(&self, other: &Dyadic) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Dyadic {}
