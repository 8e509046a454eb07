//! Random numbers, and exact ones.

use std::cmp::Ordering;

use dashu_int::IBig;

/// xorshift64*: the same numbers on every machine.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random((seed + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11
    }

    pub fn below(&mut self, count: usize) -> usize {
        (self.next() % count as u64) as usize
    }

    pub fn chance(&mut self, percent: u64) -> bool {
        self.next() % 100 < percent
    }

    /// A weight: small halves (ties are common), anything, or nasty.
    pub fn weight(&mut self, kind: usize) -> f64 {
        const NASTY: [f64; 12] =
            [0.0, 1e16, -1e16, 1e-17, -1e-17, 0.1, -0.1, 1.0, -1.0, 4503599627370497.5, 3e-300, 1.0 / 3.0];
        match kind {
            0 => (self.below(9) as f64 - 4.0) / 2.0,
            1 => (self.next() as f64 / (1u64 << 53) as f64) * 4.0 - 2.0,
            2 => f64::from(((self.next() as f64 / (1u64 << 53) as f64) * 2.0 - 1.0) as f32),
            _ => NASTY[self.below(NASTY.len())],
        }
    }
}

/// `mantissa · 2^exponent`.
#[derive(Clone, Debug)]
pub struct Big(IBig, i64);

impl Big {
    pub fn from(x: f64) -> Big {
        // Doubling until the number is whole: nothing clever that could be wrong in the same way as the checker.
        let (mut x, mut exponent) = (x, 0);
        while x.fract() != 0.0 {
            x *= 2.0;
            exponent -= 1;
        }
        let mut shift = 0;
        while x.abs() >= 2f64.powi(100) {
            x /= 2.0;
            shift += 1;
        }
        Big(IBig::from(x as i128) << shift, exponent)
    }

    /// `2^exponent`.
    pub fn power(exponent: i32) -> Big {
        Big(IBig::ONE, exponent.into())
    }

    pub fn plus(&self, other: &Big) -> Big {
        let low = self.1.min(other.1);
        let at = |big: &Big| &big.0 << (big.1 - low) as usize;
        Big(at(self) + at(other), low)
    }

    pub fn times(&self, other: &Big) -> Big {
        Big(&self.0 * &other.0, self.1 + other.1)
    }

    pub fn minus(&self, other: &Big) -> Big {
        self.plus(&other.times(&Big::from(-1.0)))
    }

    pub fn positive_part(&self) -> Big {
        if self.sign() == Ordering::Greater { self.clone() } else { Big::from(0.0) }
    }

    /// `⌊2⁴⁰ · self/whole⌋ / 2⁴⁰` for `0 ≤ self`, `0 < whole`.
    pub fn share_of(&self, whole: &Big) -> Big {
        let low = self.1.min(whole.1);
        let at = |big: &Big| &big.0 << (big.1 - low) as usize;
        Big((at(self) << 40) / at(whole), -40)
    }

    pub fn approximate(&self) -> f64 {
        self.0.to_f64().value() * 2f64.powi(self.1 as i32)
    }

    pub fn sign(&self) -> Ordering {
        self.0.cmp(&IBig::ZERO)
    }
}
