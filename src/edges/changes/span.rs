//! Numbers that the network is evaluated with: floats rounded outward, and exact ones.

use std::sync::OnceLock;

use crate::number::dyadic::Dyadic;

/// All reals between two floats. Every operation rounds outward; what overflows, or is no number, becomes an infinity from which nothing follows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Span {
    pub(crate) lo: f64,
    pub(crate) hi: f64,
}

/// A float not above a sum or product that was rounded to nearest.
#[inline]
pub(crate) fn down(x: f64) -> f64 {
    if x.is_nan() { f64::NEG_INFINITY } else { x.next_down() }
}

/// A float not below it.
#[inline]
pub(crate) fn up(x: f64) -> f64 {
    if x.is_nan() { f64::INFINITY } else { x.next_up() }
}

impl Span {
    pub(crate) const ZERO: Span = Span { lo: 0.0, hi: 0.0 };

    pub(crate) fn of(x: f64) -> Span {
        Span { lo: x, hi: x }
    }

    pub(crate) fn is_zero(self) -> bool {
        self.lo == 0.0 && self.hi == 0.0
    }

    #[inline]
    pub(crate) fn plus(self, other: Span) -> Span {
        if self.is_zero() {
            return other;
        }
        if other.is_zero() {
            return self;
        }
        Span { lo: down(self.lo + other.lo), hi: up(self.hi + other.hi) }
    }

    pub(crate) fn negated(self) -> Span {
        Span { lo: -self.hi, hi: -self.lo }
    }

    pub(crate) fn minus(self, other: Span) -> Span {
        self.plus(other.negated())
    }

    #[inline]
    pub(crate) fn scaled(self, a: f64) -> Span {
        if a == 0.0 || self.is_zero() {
            Span::ZERO
        } else if a == 1.0 {
            self
        } else if a > 0.0 {
            Span { lo: down(a * self.lo), hi: up(a * self.hi) }
        } else {
            Span { lo: down(a * self.hi), hi: up(a * self.lo) }
        }
    }

    #[inline]
    pub(crate) fn times(self, other: Span) -> Span {
        if other.lo == other.hi {
            return self.scaled(other.lo);
        }
        if self.is_zero() {
            return Span::ZERO;
        }
        let products = [self.lo * other.lo, self.lo * other.hi, self.hi * other.lo, self.hi * other.hi];
        let lo = products.iter().map(|&x| down(x)).fold(f64::INFINITY, f64::min);
        Span { lo, hi: products.iter().map(|&x| up(x)).fold(f64::NEG_INFINITY, f64::max) }
    }

    /// The quotient by a number that is not 0.
    pub(crate) fn over(self, count: f64) -> Span {
        let (a, b) = if count > 0.0 { (self.lo, self.hi) } else { (self.hi, self.lo) };
        Span { lo: down(a / count), hi: up(b / count) }
    }

    pub(crate) fn hull(self, other: Span) -> Span {
        Span { lo: self.lo.min(other.lo), hi: self.hi.max(other.hi) }
    }
}

/// What an evaluation needs of a number.
pub(crate) trait Value: Clone + Send + Sync + 'static {
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

impl Value for Span {
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

impl Value for Dyadic {
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
