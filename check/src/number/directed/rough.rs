//! Floats for hints, which need not be right.

use std::ops::{Add, Div, Mul, Neg, Sub};

use super::interval::Interval;
use super::{Down, Stored, Up};

/// A float about which nothing is claimed.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Rough(pub(super) f64);

impl Rough {
    pub(crate) const ZERO: Rough = Rough(0.0);
    pub(crate) const ONE: Rough = Rough(1.0);
    pub(crate) const NEARLY_ONE: Rough = Rough(1.0 - 1.0 / (1 << 30) as f64);

    /// As a hint; 0 for what is no finite number.
    pub(crate) fn stored(self) -> Stored {
        Stored::new(self.0)
    }

    /// As a hint that must not be negative.
    pub(crate) fn price(self) -> Stored {
        Stored::new(self.0.max(0.0))
    }

    /// The next float above.
    #[must_use]
    pub(crate) fn next(self) -> Rough {
        Rough(self.0.next_up())
    }

    /// A power of two not far below the size; 0 for 0.
    pub(crate) fn exponent(self) -> Option<i64> {
        (self.0 != 0.0 && self.0.is_finite()).then(|| ((self.0.to_bits() >> 52 & 0x7ff) as i64) - 1023)
    }

    #[must_use]
    pub(crate) fn most(self, other: Rough) -> Rough {
        Rough(self.0.max(other.0))
    }

    #[must_use]
    pub(crate) fn least(self, other: Rough) -> Rough {
        Rough(self.0.min(other.0))
    }

    /// A share of it.
    #[must_use]
    pub(crate) fn part(self, parts: usize) -> Rough {
        Rough(self.0 / parts as f64)
    }
}

impl From<Stored> for Rough {
    fn from(x: Stored) -> Rough {
        Rough(x.0)
    }
}

impl Add for Rough {
    type Output = Rough;
    fn add(self, other: Rough) -> Rough {
        Rough(self.0 + other.0)
    }
}

impl Sub for Rough {
    type Output = Rough;
    fn sub(self, other: Rough) -> Rough {
        Rough(self.0 - other.0)
    }
}

impl Mul for Rough {
    type Output = Rough;
    fn mul(self, other: Rough) -> Rough {
        Rough(self.0 * other.0)
    }
}

impl Div for Rough {
    type Output = Rough;
    fn div(self, other: Rough) -> Rough {
        Rough(self.0 / other.0)
    }
}

impl Neg for Rough {
    type Output = Rough;
    fn neg(self) -> Rough {
        Rough(-self.0)
    }
}

impl Down {
    pub(crate) fn rough(self) -> Rough {
        Rough(self.0)
    }
}

impl Up {
    pub(crate) fn rough(self) -> Rough {
        Rough(self.0)
    }
}

impl Interval {
    /// A float near the number.
    pub(crate) fn rough(self) -> Rough {
        Rough(0.5 * self.lower.0 + 0.5 * self.upper.0)
    }
}
