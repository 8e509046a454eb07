//! All reals between two floats, rounded outward.

/// All reals between two floats. Every operation rounds outward; what overflows, or is no number, becomes an infinity
/// from which nothing follows.
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
        if other.lo >= 0.0 {
            let lo = self.lo * if self.lo >= 0.0 { other.lo } else { other.hi };
            let hi = self.hi * if self.hi >= 0.0 { other.hi } else { other.lo };
            return Span { lo: down(lo), hi: up(hi) };
        }
        if other.hi <= 0.0 {
            let lo = self.hi * if self.hi >= 0.0 { other.lo } else { other.hi };
            let hi = self.lo * if self.lo >= 0.0 { other.hi } else { other.lo };
            return Span { lo: down(lo), hi: up(hi) };
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
