//! Numbers of a floating-point format: significands of so many bits, the exponents of binary32. They are kept as f64,
//! and every operation gives the number of the format that is nearest to its exact result, ties to even.

use gcnproof::Execution;

/// A format.
#[derive(Clone, Copy, Debug)]
pub struct Format {
    /// Bits of a significand: at most 51, from which rounding twice cannot differ, or 53.
    precision: i32,
    /// Are subnormal numbers taken for zero?
    flush: bool,
}

/// Bits of binary32, whose operations the machine has.
const SINGLE: i32 = f32::MANTISSA_DIGITS as i32;

/// Bits of the f64 in which numbers are kept.
const DOUBLE: i32 = f64::MANTISSA_DIGITS as i32;

/// The exponent of the smallest normal number.
const SMALLEST: i32 = -126;

impl Format {
    /// What an execution computes with.
    pub fn new(execution: &Execution) -> Format {
        Format { precision: execution.precision as i32, flush: execution.flush_subnormals }
    }

    /// The unit roundoff.
    pub fn roundoff(self) -> f64 {
        power(-self.precision)
    }

    /// A stored number as it is read.
    pub fn read(self, x: f64) -> f64 {
        self.nearest(x, 0.0)
    }

    /// The product of two numbers.
    pub fn product(self, a: f64, b: f64) -> f64 {
        if self.precision == SINGLE {
            return self.kept(f64::from(a as f32 * b as f32));
        }
        let product = a * b;
        self.nearest(product, a.mul_add(b, -product))
    }

    /// The sum of two numbers.
    pub fn sum(self, a: f64, b: f64) -> f64 {
        if self.precision == SINGLE {
            return self.kept(f64::from(a as f32 + b as f32));
        }
        let (sum, error) = two_sum(a, b);
        self.nearest(sum, error)
    }

    /// The product of two numbers plus a third, rounded once.
    pub fn fused(self, a: f64, b: f64, c: f64) -> f64 {
        if self.precision == SINGLE {
            return self.kept(f64::from((a as f32).mul_add(b as f32, c as f32)));
        }
        if self.precision == DOUBLE {
            return self.nearest(a.mul_add(b, c), 0.0);
        }
        // Products of so few bits are exact.
        let (sum, error) = two_sum(a * b, c);
        self.nearest(sum, error)
    }

    /// The number nearest to `head + tail`, where `head` is the f64 nearest to that sum.
    pub fn nearest(self, head: f64, tail: f64) -> f64 {
        if head == 0.0 || !head.is_finite() {
            return head;
        }
        if self.precision == DOUBLE && exponent(head) >= SMALLEST {
            return if head.abs() < power(128) { head } else { head.signum() * f64::INFINITY };
        }
        // Rounded to odd first, so that what was cut off breaks no tie.
        let odd = match head.to_bits() & 1 == 0 && tail != 0.0 {
            true if (tail > 0.0) == (head > 0.0) => f64::from_bits(head.to_bits() + 1),
            true => f64::from_bits(head.to_bits() - 1),
            false => head,
        };
        let unit = power(exponent(odd).max(SMALLEST) + 1 - self.precision);
        let rounded = (odd / unit).round_ties_even() * unit;
        if rounded.abs() < power(128) { self.kept(rounded) } else { head.signum() * f64::INFINITY }
    }

    /// A result as it is stored.
    fn kept(self, x: f64) -> f64 {
        if self.flush && x.abs() < power(SMALLEST) { 0.0 } else { x }
    }
}

/// A power of two in the range of normal numbers.
fn power(exponent: i32) -> f64 {
    f64::from_bits(((exponent + 1023) as u64) << 52)
}

/// The exponent of a number; that of the smallest normal one below it.
fn exponent(x: f64) -> i32 {
    ((x.to_bits() >> 52 & 0x7ff) as i32).max(1) - 1023
}

/// A sum in f64 and what it is wrong by, exactly (Knuth).
fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let other = sum - a;
    (sum, (a - (sum - other)) + (b - other))
}
