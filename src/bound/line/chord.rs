//! Lines under the contribution of one hidden unit: the chord, `Ω`, and any other slope (docs/math.md §4).
//!
//! Let `a` be the coefficient of a hidden unit in the objective. For every admissible perturbation its pre-activation
//! `z` lies in `[R, S]`, and any slope `λ` gives a valid line under the unit's contribution:
//!
//! ```text
//! a·relu(z) ≥ λ·z + κ,     κ = min over z ∈ {R, 0, S} of a·relu(z) − λ·z
//! ```
//!
//! because the difference is piecewise linear with those breakpoints. The dual at `Ω` is `λ = a·Ω` for `a > 0` and
//! `λ = a·S/(S−R)` for `a < 0`. The slope is *defined* to be the float that was computed: what rounding does to it
//! costs tightness, never validity, and only `κ` and the sums need an error bound.

use crate::number::rounding::UNIT;

/// A line `λ z + κ` under `a·relu(z)` on `[R, S]`, for every `a` within `error` of the given one, at the default `Ω`.
#[inline]
pub fn line(a: f64, error: f64, r: f64, s: f64) -> (f64, f64) {
    line_at(s / (s - r), a, error, r, s)
}

/// The same at a given `Ω`, which only matters where `a > 0` (docs/math.md (4.2)).
#[inline]
pub fn line_at(omega: f64, a: f64, error: f64, r: f64, s: f64) -> (f64, f64) {
    if s <= 0.0 {
        return (0.0, 0.0);
    }
    if r >= 0.0 {
        return (a, -error * s);
    }
    sloped(a * if a > 0.0 { omega } else { s / (s - r) }, a, error, r, s)
}

/// A line of a given slope under `a·relu(z)` on `[R, S]`, and at zero: the highest where `R ≤ 0 ≤ S`
/// (docs/math.md (4.1)).
#[inline]
pub fn sloped(slope: f64, a: f64, error: f64, r: f64, s: f64) -> (f64, f64) {
    let most = s.max(0.0);
    let rounding = 8.0 * UNIT * (a.abs() * most + slope.abs() * (s.abs() + r.abs())) + error * most;
    let at_r = if r > 0.0 { (a - slope) * r } else { -slope * r } - rounding;
    let at_s = if s < 0.0 { -slope * s } else { (a - slope) * s } - rounding;
    // `min` would swallow what an overflow leaves behind, and with it the doubt.
    if at_r.is_nan() || at_s.is_nan() {
        return (slope, f64::NEG_INFINITY);
    }
    (slope, at_r.min(at_s).min(0.0))
}
