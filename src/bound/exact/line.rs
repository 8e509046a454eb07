//! Exact lines under one unit of representation 2, as functions of what a flip changes.

use std::cmp::Ordering;

use crate::number::dyadic::Dyadic;

/// A bound on a unit's contribution from below: `base + Σ φ(g_i) δ_i`, where flip `i` changes its input by `g_i` and
/// `φ(g)` is `rise·g` for a rise, `fall·g` for a fall, and what the kink adds.
#[derive(Clone, Debug)]
pub(super) struct Line {
    pub(super) base: Dyadic,
    pub(super) rise: Dyadic,
    pub(super) fall: Dyadic,
    pub(super) kink: ExactKink,
}

/// The part of a line that is not linear in the rise and the fall.
#[derive(Clone, Debug)]
pub(super) enum ExactKink {
    /// The line is straight on both sides of the anchor.
    None,
    /// The capped bound (see [`crate::bound::line::capped`]) times a weight that is not positive.
    Capped {
        /// The part of the coefficient that this bound carries; not positive.
        weight: Dyadic,
        /// `T`.
        level: Dyadic,
        /// Is the anchor negative?
        below: bool,
    },
    /// The unit itself: exact where only one flip is left (docs/math.md (12.1)).
    Itself {
        /// The coefficient of the unit in the objective, of either sign.
        weight: Dyadic,
        /// Its pre-activation with the flips that are fixed.
        anchor: Dyadic,
    },
}

impl Line {
    /// One slope for rise and fall.
    pub(super) fn straight(base: Dyadic, slope: Dyadic) -> Line {
        Line { base, rise: slope.clone(), fall: slope, kink: ExactKink::None }
    }

    /// `φ(g)`.
    pub(super) fn change(&self, g: &Dyadic) -> Dyadic {
        let slope = if g.sign() == Ordering::Greater { &self.rise } else { &self.fall };
        let straight = slope * g;
        match &self.kink {
            ExactKink::None => straight,
            ExactKink::Capped { weight, level, below } => {
                let moved = if *below { (g - level).relu() } else { g.clone().max(-level.clone()) };
                &straight + &(weight * &moved)
            }
            ExactKink::Itself { weight, anchor } => {
                let moved = &(anchor + g).relu() - &anchor.clone().relu();
                &straight + &(weight * &moved)
            }
        }
    }

    /// Slopes for rise and fall that lie under `φ`: relu changes by at most what its argument does.
    pub(super) fn slopes(&self) -> (Dyadic, Dyadic) {
        match &self.kink {
            ExactKink::None => (self.rise.clone(), self.fall.clone()),
            ExactKink::Capped { weight, .. } => (&self.rise + weight, self.fall.clone()),
            ExactKink::Itself { weight, .. } if weight.sign() == Ordering::Greater => {
                (self.rise.clone(), &self.fall + weight)
            }
            ExactKink::Itself { weight, .. } => (&self.rise + weight, self.fall.clone()),
        }
    }
}

/// A line under `a·relu(z)` on `[R, S]`: slope and intercept (docs/math.md (4.2)).
pub(super) fn chord(a: &Dyadic, r: &Dyadic, s: &Dyadic) -> (Dyadic, Dyadic) {
    if s.sign() != Ordering::Greater {
        return (Dyadic::ZERO, Dyadic::ZERO);
    }
    if r.sign() != Ordering::Less {
        return (a.clone(), Dyadic::ZERO);
    }
    let slope = a * &ratio(s, &(s - r)).into();
    let intercept = intercept(&slope, a, r, s);
    (slope, intercept)
}

/// The intercept of a line of a given slope under `a·relu(z)` on `[R, S]` and at zero (docs/math.md (4.1)).
pub(super) fn intercept(slope: &Dyadic, a: &Dyadic, r: &Dyadic, s: &Dyadic) -> Dyadic {
    let gap = |z: &Dyadic| &(a * &z.clone().relu()) - &(slope * z);
    gap(r).min(gap(s)).min(Dyadic::ZERO)
}

/// The dual's single line (docs/math.md (4.2)).
pub(super) fn paper(a: &Dyadic, z: &Dyadic, r: &Dyadic, s: &Dyadic) -> Line {
    let (slope, kappa) = chord(a, r, s);
    Line::straight(&(&slope * z) + &kappa, slope)
}

/// The line anchored at `z` (docs/math.md (5.2), (5.3)).
pub(super) fn anchored(a: &Dyadic, z: &Dyadic, r: &Dyadic, s: &Dyadic) -> Line {
    if s.sign() != Ordering::Greater {
        return Line::straight(Dyadic::ZERO, Dyadic::ZERO);
    }
    let positive = z.sign() == Ordering::Greater;
    let base = a * &z.clone().relu();
    if r.sign() != Ordering::Less {
        return Line::straight(base, a.clone());
    }
    if a.sign() == Ordering::Greater {
        return Line::straight(base, if positive { a.clone() } else { Dyadic::ZERO });
    }
    let (rise, fall) = if z.sign() != Ordering::Less {
        // θ = z⁰/(z⁰−R), lowered until it surely is not above.
        let width = z - r;
        let above = |theta: f64| &Dyadic::from(theta) * &width > *z;
        let theta = corrected(ratio(z, &width), above, f64::next_down, 0.0);
        (a.clone(), a * &theta.into())
    } else {
        // α = S/(S−z⁰), raised until it surely is not below.
        let width = s - z;
        let below = |alpha: f64| &Dyadic::from(alpha) * &width < *s;
        let alpha = corrected(ratio(s, &width), below, f64::next_up, 1.0);
        (a * &alpha.into(), Dyadic::ZERO)
    };
    Line { base, rise, fall, kink: ExactKink::None }
}

/// `w` of the chord and the rest of the bound that is exact at the anchor, for a coefficient that is not positive
/// (docs/math.md (5.12)).
pub(super) fn mixed(w: f64, level: f64, a: &Dyadic, z: &Dyadic, r: &Dyadic, s: &Dyadic) -> Line {
    let (w, rest) = (Dyadic::from(w), Dyadic::from(1.0 - w));
    let Line { base: at_chord, rise: slope, .. } = paper(a, z, r, s);
    let part = &slope * &w;
    // Without a level the anchored bound is the better one.
    if level <= 0.0 {
        let Line { base, rise, fall, .. } = anchored(a, z, r, s);
        return Line {
            base: &(&at_chord * &w) + &(&base * &rest),
            rise: &part + &(&rise * &rest),
            fall: &part + &(&fall * &rest),
            kink: ExactKink::None,
        };
    }
    let weight = a * &rest;
    let base = &(&at_chord * &w) + &(&weight * &z.clone().relu());
    let kink = ExactKink::Capped { weight, level: level.into(), below: z.sign() == Ordering::Less };
    Line { base, rise: part.clone(), fall: part, kink }
}

/// Steps away from `start` until it is no longer `wrong`; gives up at the value that never is.
fn corrected(start: f64, wrong: impl Fn(f64) -> bool, step: fn(f64) -> f64, last_resort: f64) -> f64 {
    let tries = std::iter::successors(Some(start), |&x| Some(step(x))).take(16);
    tries.into_iter().find(|&x| (0.0..=1.0).contains(&x) && !wrong(x)).unwrap_or(last_resort)
}

/// `part/whole` roughly, in `[0, 1]`; its users correct it or need only any slope.
fn ratio(part: &Dyadic, whole: &Dyadic) -> f64 {
    let quotient = part.approximate() / whole.approximate();
    if quotient.is_finite() { quotient.clamp(0.0, 1.0) } else { 1.0 }
}
