//! Numbers that the network is evaluated with: floats rounded outward, and exact ones.

use std::sync::OnceLock;

use crate::number::dyadic::Dyadic;
pub(crate) use crate::number::span::{Span, down, up};

/// What an evaluation needs of a number.
pub(crate) trait SpanValue: Clone + Send + Sync + 'static {
    fn of(x: f64) -> Self;
    /// Adds `a x`.
    fn add(&mut self, x: &Self, a: f64);
    fn relu(&mut self);
    /// Is it surely 0?
    fn vanishes(&self) -> bool;
    /// Of the two kinds of numbers that a problem keeps, this one.
    fn kept(caches: &Caches) -> &Cache<Self>;
}

/// What nodes send, by layer and node, on the graph as it is: computed when it is first asked for.
pub(crate) type Cache<V> = Vec<Vec<OnceLock<Vec<V>>>>;

#[derive(Debug)]
pub(crate) struct Caches {
    pub(crate) spans: Cache<Span>,
    pub(crate) exact: Cache<Dyadic>,
}

impl SpanValue for Span {
    fn of(x: f64) -> Span {
        Span::of(x)
    }

    #[inline]
    fn add(&mut self, x: &Span, a: f64) {
        *self = self.plus(x.scaled(a));
    }

    fn relu(&mut self) {
        *self = Span { lo: self.lo.max(0.0), hi: self.hi.max(0.0) };
    }

    fn vanishes(&self) -> bool {
        self.is_zero()
    }

    fn kept(caches: &Caches) -> &Cache<Span> {
        &caches.spans
    }
}

impl SpanValue for Dyadic {
    fn of(x: f64) -> Dyadic {
        Dyadic::from(x)
    }

    fn add(&mut self, x: &Dyadic, a: f64) {
        *self += &(x * &Dyadic::from(a));
    }

    fn relu(&mut self) {
        *self = std::mem::replace(self, Dyadic::ZERO).relu();
    }

    fn vanishes(&self) -> bool {
        self.sign().is_eq()
    }

    fn kept(caches: &Caches) -> &Cache<Dyadic> {
        &caches.exact
    }
}
