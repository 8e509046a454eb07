//! The capped bound: exact at the anchor like the anchored one, but with a kink of its own for every flip (docs/math.md
//! §5.2).
//!
//! With `z⁰`, `g_i` and `δ` as in [`crate::bound::line::anchored`], let `T ≥ 0` be a level with
//! `Σ min([±g_i]₊, T) δ_i ≤ |z⁰|` for every admissible `δ`, the sign being that of the flips that move the unit towards
//! zero. Then
//!
//! ```text
//! z⁰ < 0:   relu(z) ≤      Σ max(g_i − T, 0) δ_i
//! z⁰ ≥ 0:   relu(z) ≤ z⁰ + Σ max(g_i, −T) δ_i
//! ```
//!
//! *Proof.* If `z⁰ < 0`: `z = Σ g_i δ_i − |z⁰| ≤ Σ [g_i]₊ δ_i − Σ min([g_i]₊, T) δ_i = Σ max(g_i − T, 0) δ_i`, which is
//! not negative. If `z⁰ ≥ 0`: `relu(z) = z + relu(−z)`, and the first line for `−z` gives
//! `z⁰ + Σ g_i δ_i + Σ max(−g_i − T, 0) δ_i`. ∎
//!
//! To switch a unit, its input must first come to zero. Here every flip loses at most `T` of its change for that; with
//! the anchored bound every flip loses the same fraction of it. `T` is the level at which the `Q` largest changes, cut
//! at `T`, add up to `|z⁰|` ([`Cap::new`]): with it the bound is attained when exactly those flips are made.
//!
//! A flip's loss is no longer linear in its weights, which the search for the worst flips relies on. But below the
//! largest change of a unit the kink lies under a chord from zero, `max(x − T, 0) ≤ σx` with
//! `σ = (largest − T)/largest`: the slopes say which flips may matter, and [`CapCorrection::excess`] what they
//! overstate.

use crate::bound::line::anchored::{Anchor, AnchoredUnit, anchor};
use crate::number::rounding::{FLOOR, UNIT};

/// The level of a unit, and the largest change of a single flip in the direction that matters.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cap {
    /// `T`, rounded down. Zero is always valid.
    pub level: f64,
    /// The largest change towards zero, rounded up; infinite where none is known.
    pub largest: f64,
}

impl Cap {
    /// The cap of a unit whose distance from zero is at least `room`, for the largest admissible `changes` towards zero
    /// (docs/math.md (5.8)). `room` has everything subtracted that rounding may have hidden in the changes. Sorts the
    /// changes.
    pub fn new(room: f64, changes: &mut [f64]) -> Cap {
        changes.sort_unstable_by(|x, y| y.total_cmp(x));
        let largest = changes.first().map_or(0.0, |x| (x * (1.0 + 4.0 * UNIT)).next_up());
        // With the i largest changes cut at T, `i T + rest ≤ room` is enough, whatever i.
        let (mut rest, mut level) = (0.0, 0.0f64);
        for (i, change) in changes.iter().enumerate().rev() {
            level = level.max((room - rest) / (i + 1) as f64 * (1.0 - 8.0 * UNIT));
            rest += change;
        }
        Cap { level: if level.is_finite() { level.next_down().max(0.0) } else { 0.0 }, largest }
    }

    /// `σ`, rounded up (docs/math.md (5.9)).
    pub fn slope(self) -> f64 {
        if self.largest == f64::INFINITY {
            return 1.0;
        }
        if self.level >= self.largest {
            return 0.0;
        }
        (((self.largest - self.level).next_up() / self.largest).next_up()).min(1.0)
    }
}

/// By how much the bound on the activation changes with a flip that changes the unit by `g` and pays up to `level`, not
/// rounded (docs/math.md (5.7)).
#[inline]
pub fn change(level: f64, anchor: f64, g: f64) -> f64 {
    if anchor < 0.0 { (g - level).max(0.0) } else { g.max(-level) }
}

/// The capped bound of a unit: slopes as of [`anchor`], and what they overstate. Where the sign of the coefficient or
/// of the anchor is lost in rounding, the anchored bound takes its place (docs/math.md (5.7)).
#[inline]
pub fn capped(unit: AnchoredUnit, cap: Cap) -> (Anchor, CapCorrection) {
    let AnchoredUnit { coefficient: (a, error), unperturbed: (z, ez), lower: r, upper: s } = unit;
    let high = if error == 0.0 { a } else { (a + error).next_up() };
    let unstable = r < 0.0 && s > 0.0;
    if !(unstable && high < 0.0 && cap.level > 0.0 && z.abs() > ez) {
        return (anchor(unit), CapCorrection::default());
    }
    let low = if error == 0.0 { a } else { (a - error).next_down() };
    let slope = cap.slope();
    if z < 0.0 {
        // Rising costs σ at first sight; falling gains nothing.
        let rise = (low * slope).next_down();
        let cap_correction = CapCorrection { weight: -low, side: 1.0, slope, level: cap.level };
        (Anchor { rise, fall: 0.0, slack: 0.0 }, cap_correction)
    } else {
        // Rising costs all of it; falling gains 1 − σ at first sight.
        let kept = (1.0 - slope).next_down().max(0.0);
        let fall = (high * kept).next_up().min(0.0);
        let cap_correction =
            CapCorrection { weight: -high, side: -1.0, slope: (1.0 - kept).next_down(), level: cap.level };
        (Anchor { rise: low, fall, slack: 0.0 }, cap_correction)
    }
}

/// What the slopes of a unit overstate: `weight·(slope·x − max(x − level, 0))` for a change `x ≥ 0` towards zero.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CapCorrection {
    /// Size of the coefficient, rounded down; 0 where the unit has no kink. Negative where the kink is subtracted.
    pub weight: f64,
    /// `+1` if rising is towards zero, `−1` if falling is.
    pub side: f64,
    /// `σ`.
    pub slope: f64,
    /// `T`.
    pub level: f64,
}

impl CapCorrection {
    /// What the slopes overstate of a flip that changes the unit by `g`, and the size of what was summed for it
    /// (docs/math.md (5.9)).
    #[inline]
    pub fn excess(&self, g: f64) -> (f64, f64) {
        let x = (self.side * g).max(0.0);
        // The floor stands for what `g` lost by underflow, which a large weight would make visible.
        (self.weight * (self.slope * x - (x - self.level).max(0.0)), self.weight.abs() * (x + FLOOR))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_level_fills_the_room() {
        // min(5, T) + min(3, T) + min(1, T) = 6 at T = 2.5.
        let cap = Cap::new(6.0, &mut [1.0, 5.0, 3.0]);
        assert!(cap.level <= 2.5 && cap.level > 2.5 - 1e-12, "{cap:?}");
        assert!(cap.largest >= 5.0 && cap.largest < 5.0 + 1e-12);
        // All of it cut: 3 T = 1.5.
        assert!((Cap::new(1.5, &mut [5.0, 3.0, 1.0]).level - 0.5).abs() < 1e-12);
    }

    #[test]
    fn without_room_or_changes_there_is_no_level() {
        assert_eq!(Cap::new(-1.0, &mut [1.0]).level, 0.0);
        assert_eq!(Cap::new(1.0, &mut []), Cap::default());
        assert_eq!(Cap::new(f64::NAN, &mut [1.0]).level, 0.0);
    }

    #[test]
    fn a_change_that_underflows_is_covered_under_a_large_weight() {
        let cap_correction = CapCorrection { weight: 1e290, side: 1.0, slope: 1.0, level: 1.0 };
        // The exact change may be half of the smallest float.
        let (excess, size) = cap_correction.excess(f64::from_bits(1));
        assert!(excess - crate::number::rounding::error_of(9, size) <= 0.5 * excess);
    }

    #[test]
    fn the_slopes_overstate_nothing_but_the_kink() {
        let cap = Cap::new(1.5, &mut [5.0, 3.0, 1.0]);
        let cap_correction = CapCorrection { weight: 2.0, side: -1.0, slope: cap.slope(), level: cap.level };
        for x in [0.0, 0.2, 0.5, 1.0, 4.0, 5.0] {
            let (excess, _) = cap_correction.excess(-x);
            assert!(excess >= 0.0);
            assert!((2.0 * cap.slope() * x - excess - 2.0 * (x - cap.level).max(0.0)).abs() < 1e-12);
            assert_eq!(cap_correction.excess(x).0, 0.0);
        }
    }
}
