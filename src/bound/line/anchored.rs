//! The anchored bound: exact at the unperturbed graph, and linear in the flips (docs/math.md §5).
//!
//! Let `z⁰` be the unperturbed pre-activation of a unit of representation 2 and `g_i` the change that flip `i` causes,
//! so that `z = z⁰ + u − v` with `u = Σ [g_i]₊ δ_i` (the rise) and `v = Σ [g_i]₋ δ_i` (the fall). For every admissible
//! `δ`
//!
//! ```text
//! relu(z) ≥ relu(z⁰) + ω (u − v)      ω = 1 if z⁰ > 0, else 0
//! relu(z) ≤ relu(z⁰) + α u − θ v      z⁰ ≥ 0: α = 1, θ = z⁰/(z⁰−R);    z⁰ < 0: α = S/(S−z⁰), θ = 0
//! ```
//!
//! *Proof.* The first line is the subgradient of the convex function relu at `z⁰`. For the second: the flips with
//! `g_i < 0` alone are admissible too (subsets of admissible sets are), so `z⁰ − v ≥ R`; likewise `z⁰ + u ≤ S`.
//! If `z⁰ ≥ 0`: relu rises by at most `u` when its argument does, so `relu(z⁰+u−v) ≤ u + relu(z⁰−v)`, and on
//! `v ∈ [0, z⁰−R]` the convex function `relu(z⁰−v)` lies under its chord `z⁰ − θv`. If `z⁰ < 0`:
//! `relu(z⁰+u−v) ≤ relu(z⁰+u)`, which on `u ∈ [0, S−z⁰]` lies under its chord `αu`. ∎
//!
//! The first is inserted for units with a positive coefficient in the objective, the second for those with a negative
//! one. Larger `α` and smaller `θ` stay valid, which is the direction in which everything below is rounded.

/// A unit of representation 2 with what the bound anchored at its unperturbed value needs.
#[derive(Clone, Copy, Debug)]
pub struct AnchoredUnit {
    /// Coefficient in the objective, and its error.
    pub coefficient: (f64, f64),
    /// Unperturbed pre-activation, and its error.
    pub unperturbed: (f64, f64),
    /// `R`.
    pub lower: f64,
    /// `S`.
    pub upper: f64,
}

/// Slopes for the rise and the fall of a unit: its contribution is at least
/// `a·relu(z⁰) − slack + rise·u − fall·v`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Anchor {
    /// Slope of the rise (rounded down).
    pub rise: f64,
    /// Slope of the fall (rounded up).
    pub fall: f64,
    /// What the uncertain sign of `z⁰` may cost.
    pub slack: f64,
}

/// The anchored slopes of a unit (docs/math.md (5.2), (5.3)).
#[inline]
pub fn anchor(unit: AnchoredUnit) -> Anchor {
    let AnchoredUnit { coefficient: (a, error), unperturbed: (z, ez), lower: r, upper: s } = unit;
    let (low, high) = if error == 0.0 { (a, a) } else { ((a - error).next_down(), (a + error).next_up()) };
    let slopes = |rise, fall| Anchor { rise, fall, slack: 0.0 };
    if s <= 0.0 {
        return slopes(0.0, 0.0);
    }
    if r >= 0.0 {
        return slopes(low, high);
    }
    let (surely_positive, surely_negative) = (z > ez, z < -ez);
    if low >= 0.0 {
        return if surely_positive {
            slopes(low, high)
        } else if surely_negative {
            slopes(0.0, 0.0)
        } else {
            // ω = 0 is right for z⁰ ≤ 0 and wrong by relu(z⁰) ≤ 2 ez otherwise.
            Anchor { rise: 0.0, fall: 0.0, slack: 2.0 * high * (z.abs() + ez) }
        };
    }
    if high <= 0.0 {
        return if surely_positive {
            let z = (z - ez).next_down();
            let theta = (z / (z - r).next_up()).next_down().max(0.0);
            // The fall's slope aθ is negative: towards zero is up.
            slopes(low, (high * theta).next_up().min(0.0))
        } else if surely_negative {
            let z = (z + ez).next_up();
            let alpha = (s / (s - z).next_down()).next_up().min(1.0);
            slopes((low * alpha).next_down(), 0.0)
        } else {
            slopes(low, 0.0)
        };
    }
    // The sign of a is lost in rounding: relu changes by at most u upward and v downward.
    slopes(low, high)
}
