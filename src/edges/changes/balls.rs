//! Floats with a bound of their rounding errors beside each.

use crate::edges::changes::span::{Span, down, up};

/// Numbers, each not farther from the true one than the radius at the same place.
#[derive(Clone, Debug, Default)]
pub(crate) struct Balls {
    pub(crate) value: Vec<f64>,
    pub(crate) radius: Vec<f64>,
}

/// Not below the relative error of a sum of so many products, each and every sum rounded to nearest: `n u / (1 − n u)`
/// with `u = 2⁻⁵³`.
pub(crate) fn relative(count: usize) -> f64 {
    (count + 4) as f64 * f64::EPSILON
}

/// Not below a sum of radii that was rounded, nor below what products lose that are too small for a float.
pub(crate) fn raised(radius: f64) -> f64 {
    radius * (1.0 + 1e-9) + 1e-280
}

impl Balls {
    pub(crate) fn zeros(count: usize) -> Balls {
        Balls { value: vec![0.0; count], radius: vec![0.0; count] }
    }

    pub(crate) fn span(&self, at: usize) -> Span {
        let (value, radius) = (self.value[at], self.radius[at]);
        if !value.is_finite() || !radius.is_finite() {
            return Span { lo: f64::NEG_INFINITY, hi: f64::INFINITY };
        }
        Span { lo: down(value - radius), hi: up(value + radius) }
    }
}
