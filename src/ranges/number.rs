//! Numbers that the network is evaluated with: floats, what lies between floats, and exact ones.

use crate::number::dyadic::Dyadic;
use crate::number::span::Span;
use crate::problem::network::Layer;

/// What an evaluation needs of a number.
pub(crate) trait Arithmetic: Clone {
    fn of(x: f64) -> Self;
    /// Adds `a x`.
    fn add(&mut self, x: &Self, a: f64);
    fn relu(&mut self);
}

impl Arithmetic for f64 {
    fn of(x: f64) -> f64 {
        x
    }

    fn add(&mut self, x: &f64, a: f64) {
        *self += x * a;
    }

    fn relu(&mut self) {
        *self = self.max(0.0);
    }
}

impl Arithmetic for Span {
    fn of(x: f64) -> Span {
        Span::of(x)
    }

    fn add(&mut self, x: &Span, a: f64) {
        *self = self.plus(x.scaled(a));
    }

    fn relu(&mut self) {
        *self = Span { lo: self.lo.max(0.0), hi: self.hi.max(0.0) };
    }
}

impl Arithmetic for Dyadic {
    fn of(x: f64) -> Dyadic {
        Dyadic::from(x)
    }

    fn add(&mut self, x: &Dyadic, a: f64) {
        if a != 0.0 {
            *self += &(x * &Dyadic::from(a));
        }
    }

    fn relu(&mut self) {
        *self = std::mem::replace(self, Dyadic::ZERO).relu();
    }
}

/// `x W_k` of a row of attributes, for all terms.
pub(crate) fn sent<N: Arithmetic>(first: &Layer, row: &[(u32, f64)]) -> Vec<N> {
    let (inputs, outputs, terms) = (first.inputs(), first.outputs(), first.passing.terms());
    let mut sums = vec![N::of(0.0); terms * outputs];
    for &(attribute, value) in row {
        let value = N::of(value);
        for term in 0..terms {
            let weights = first.weight.row(term * inputs + attribute as usize);
            sums[term * outputs..][..outputs].iter_mut().zip(weights).for_each(|(sum, &w)| sum.add(&value, w));
        }
    }
    sums
}
