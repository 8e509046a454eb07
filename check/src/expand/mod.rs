//! Expansion of a short leaf into hints: which slopes and bends each unit gets (`FORMAT.md` §7).
//!
//! Nothing here has to be right: a rule holds for any hints. So the same few lines serve rough floats and exact
//! numbers.

mod exact;
mod rows;
mod short;

use std::ops::{Add, Mul, Sub};

use crate::core::path::Path;
use crate::format::exact::find;
use crate::ids::Unit;
use crate::number::{Rough, Stored};

pub(crate) use exact::{Length, exact_hints};
pub(crate) use rows::{row_hints, whole_row_hints};
pub(crate) use short::{EnvelopePrices, Short};

/// A number to make hints of.
pub(crate) trait Real:
    Clone + PartialOrd + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self>
{
    /// 0.
    fn zero() -> Self;
    /// Exactly a stored number.
    fn stored(x: Stored) -> Self;
    /// About `part / whole`, not above it, for `0 ≤ part ≤ whole`.
    fn share(part: Self, whole: Self) -> Self;
}

impl Real for Rough {
    fn zero() -> Rough {
        Rough::ZERO
    }

    fn stored(x: Stored) -> Rough {
        x.into()
    }

    fn share(part: Rough, whole: Rough) -> Rough {
        let share = part / whole;
        if share >= Rough::ZERO && share <= Rough::ONE { share } else { Rough::ZERO }
    }
}

/// What is known of a hidden unit on a path.
#[derive(Clone)]
pub(crate) struct KnownUnit<N> {
    /// `k`: what the layers above multiply its activation by.
    pub(crate) k: N,
    /// `z'`; of no use above layer 2.
    pub(crate) z: N,
    /// `R`.
    pub(crate) lower: N,
    /// `S`.
    pub(crate) upper: N,
}

/// What a short leaf says about a unit.
#[derive(Clone, Copy, Default)]
pub(crate) struct Said {
    pub(crate) side: Option<bool>,
    pub(crate) beta: Option<Stored>,
    pub(crate) weight: Option<Stored>,
    pub(crate) slope: Option<Stored>,
    /// The share of an envelope.
    pub(crate) share: Option<Stored>,
    pub(crate) dual: bool,
    pub(crate) cap: bool,
}

/// Slopes and weights of bends of a unit of layer 2.
pub(crate) struct UnitHints<N> {
    pub(crate) rise: N,
    pub(crate) fall: N,
    /// `c` of a bend by a level.
    pub(crate) level: N,
    /// `c` of a bend by prices.
    pub(crate) envelope: N,
}

impl<N: Real> UnitHints<N> {
    fn line(slope: N) -> UnitHints<N> {
        UnitHints { rise: slope.clone(), fall: slope, level: N::zero(), envelope: N::zero() }
    }
}

/// What is the same at every layer: the slope of a split or stable unit; `None` if the unit is free and unstable.
fn settled<N: Real>(known: &KnownUnit<N>, said: &Said) -> Option<N> {
    let beta = || said.beta.map_or(N::zero(), N::stored);
    match said.side {
        Some(true) => Some(known.k.clone() - beta()),
        Some(false) => Some(beta()),
        None if known.lower >= N::zero() => Some(known.k.clone()),
        None if known.upper <= N::zero() => Some(N::zero()),
        None => None,
    }
}

/// `S / (S − R)`.
fn secant<N: Real>(known: &KnownUnit<N>) -> N {
    N::share(known.upper.clone(), known.upper.clone() - known.lower.clone())
}

/// The slope of a unit above layer 2.
pub(crate) fn slope<N: Real>(known: &KnownUnit<N>, said: &Said) -> N {
    settled(known, said).unwrap_or_else(|| {
        let one = || N::stored(Stored::ONE);
        let share = if known.k < N::zero() {
            said.slope.map_or_else(|| secant(known), N::stored)
        } else {
            match said.weight {
                Some(weight) => N::stored(weight),
                None if said.dual => secant(known),
                None if known.lower.clone() + known.upper.clone() > N::zero() => one(),
                None => N::zero(),
            }
        };
        known.k.clone() * share
    })
}

/// The slope of a unit of layer 3 that may have a bend by a level, and the weight of the bend.
pub(crate) fn nested<N: Real>(known: &KnownUnit<N>, said: &Said) -> (N, N) {
    if settled(known, said).is_some() || known.k >= N::zero() {
        return (slope(known, said), N::zero());
    }
    let chord = said.weight.map_or_else(N::zero, N::stored);
    let rest = N::stored(Stored::ONE) - chord.clone();
    (slope(known, said) * chord, (N::zero() - known.k.clone()) * rest)
}

/// Slopes and bends of a unit of layer 2.
pub(crate) fn unit<N: Real>(known: &KnownUnit<N>, said: &Said) -> UnitHints<N> {
    if let Some(slope) = settled(known, said) {
        return UnitHints::line(slope);
    }
    let KnownUnit { k, z, lower, upper } = known.clone();
    let (zero, one) = (N::zero, || N::stored(Stored::ONE));
    if k >= zero() {
        let share = match said.weight {
            Some(weight) => N::stored(weight),
            None if said.dual => secant(known),
            None if z > zero() => one(),
            None => zero(),
        };
        return UnitHints::line(k * share);
    }
    // Of the coefficient, `chord` goes to the chord, `rest` to the anchored bound or the level.
    let envelope = said.share.map_or_else(zero, N::stored);
    let weight = said.weight.map_or_else(|| if said.dual { one() } else { zero() }, N::stored);
    let chord = k.clone() * (one() - envelope.clone()) * weight.clone();
    let rest = k.clone() * (one() - envelope.clone()) * (one() - weight);
    let slope = chord * said.slope.map_or_else(|| secant(known), N::stored);
    let mut hints = UnitHints { level: zero(), envelope: zero() - k * envelope, ..UnitHints::line(slope) };
    if said.cap {
        hints.level = zero() - rest;
    } else {
        let (above, below) = if z > zero() { (z.clone(), zero()) } else { (zero(), z) };
        // `1 − ` a share from below is not below the share of the other part.
        hints.rise = hints.rise + rest.clone() * (one() - N::share(zero() - below.clone(), upper - below));
        hints.fall = hints.fall + rest * N::share(above.clone(), above - lower);
    }
    hints
}

/// A short leaf on its path.
#[derive(Clone, Copy)]
pub(crate) struct ShortLeaf<'l> {
    pub(crate) path: &'l Path,
    pub(crate) short: &'l Short,
}

impl ShortLeaf<'_> {
    /// What it says about a unit, its envelope left out.
    pub(crate) fn said(&self, id: Unit) -> Said {
        let short = self.short;
        Said {
            side: self.path.side(id),
            beta: find(&short.beta, &id).copied(),
            weight: find(&short.weight, &id).copied(),
            slope: find(&short.slope, &id).copied(),
            share: None,
            dual: short.is_dual(id.0),
            cap: short.cap,
        }
    }
}
