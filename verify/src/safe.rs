//! The review of an answer by our own arithmetic: residuals, objective, and a dual bound that holds for any duals.

use crate::program::Program;

/// Our own findings about an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Review {
    /// The worst violation of a row, relative to `max(1, Σ |coefficient · value|)`. Infinite for a point with a NaN.
    pub row_violation: f64,
    /// The worst violation of a box.
    pub box_violation: f64,
    /// The furthest that an integer variable is from an integer.
    pub integrality_violation: f64,
    /// The objective at the point, recomputed; `None` without a point.
    pub objective: Option<f64>,
    /// A proved lower bound of the optimum, from the row duals by [`safe_dual_bound`]; `None` without duals.
    pub safe_bound: Option<f64>,
}

impl Review {
    /// Whether there is a point and it satisfies everything within the tolerance.
    pub fn feasible(&self, tolerance: f64) -> bool {
        let worst = self.row_violation.max(self.box_violation).max(self.integrality_violation);
        self.objective.is_some_and(f64::is_finite) && worst <= tolerance
    }
}

/// Recomputes the residuals and the objective of an answer's point, and the safe bound of its duals, where it has them.
pub fn review(program: &Program, values: Option<&[f64]>, row_duals: Option<&[f64]>) -> Review {
    let mut review = Review::default();
    let values = values.filter(|values| values.len() == program.variables.len());
    if let Some(values) = values {
        for row in &program.rows {
            let (mut activity, mut scale) = (0.0, 1.0f64);
            for &(at, coefficient) in &row.coefficients {
                activity += coefficient * values[at];
                scale += (coefficient * values[at]).abs();
            }
            review.row_violation = worse(review.row_violation, outside(activity, row.lower, row.upper) / scale);
        }
        for (variable, &value) in program.variables.iter().zip(values) {
            review.box_violation = worse(review.box_violation, outside(value, variable.lower, variable.upper));
            if variable.integer {
                review.integrality_violation = worse(review.integrality_violation, (value - value.round()).abs());
            }
        }
        review.objective = Some(program.objective_at(values));
    }
    let duals = row_duals.filter(|duals| duals.len() == program.rows.len());
    review.safe_bound = duals.map(|duals| safe_dual_bound(program, duals));
    review
}

/// A lower bound of the optimum that holds for *any* `row_duals` (docs/math.md (14.2)), rounded so that it holds in
/// exact arithmetic:
///
/// `offset + Σ_i y_i · (lower_i if y_i > 0, upper_i if y_i < 0) + Σ_j min { d_j x : x in the box of j }`,
/// `d = c - yᵀA`.
///
/// First the duals are made feasible: one that wants an infinite side, or is not a number, becomes 0. The reduced costs
/// need no repair because every variable has a box. Integrality is not used, so it bounds a MILP through its LP.
pub fn safe_dual_bound(program: &Program, row_duals: &[f64]) -> f64 {
    safe_dual_parts(program, row_duals).bound
}

/// The safe bound and what it is made of, per variable.
pub(crate) struct Parts {
    /// Not above the optimum, whatever the duals are.
    pub bound: f64,
    /// A number not above the exact reduced cost `d_j`.
    pub low: Vec<f64>,
    /// What the bound counts for the variable: not above `d_j x` anywhere in its box.
    pub used: Vec<f64>,
}

/// [`safe_dual_bound`] with its parts.
pub(crate) fn safe_dual_parts(program: &Program, row_duals: &[f64]) -> Parts {
    let mut bound = program.offset;
    let mut low: Vec<f64> = program.variables.iter().map(|variable| variable.objective).collect();
    let mut high = low.clone();
    for (row, &dual) in program.rows.iter().zip(row_duals) {
        let side = if dual > 0.0 { row.lower } else { row.upper };
        if dual == 0.0 || !dual.is_finite() || !side.is_finite() {
            continue;
        }
        bound = down(bound + down(dual * side));
        for &(at, coefficient) in &row.coefficients {
            let term = dual * coefficient;
            low[at] = down(low[at] - up(term));
            high[at] = up(high[at] - down(term));
        }
    }
    let mut used = vec![0.0; low.len()];
    for (at, variable) in program.variables.iter().enumerate() {
        if low[at] == 0.0 && high[at] == 0.0 {
            continue;
        }
        // The smallest product of an interval with a box is at one of the four corners.
        let corners =
            [low[at] * variable.lower, low[at] * variable.upper, high[at] * variable.lower, high[at] * variable.upper];
        used[at] = corners.into_iter().map(down).fold(f64::INFINITY, f64::min);
        bound = down(bound + used[at]);
    }
    Parts { bound, low, used }
}

/// A number not above the exact result that `value` was rounded from (to nearest); `-∞` when nothing is known.
fn down(value: f64) -> f64 {
    if value.is_nan() { f64::NEG_INFINITY } else { value.next_down() }
}

/// The same from above.
fn up(value: f64) -> f64 {
    if value.is_nan() { f64::INFINITY } else { value.next_up() }
}

fn outside(value: f64, lower: f64, upper: f64) -> f64 {
    if value.is_nan() { f64::INFINITY } else { (lower - value).max(value - upper).max(0.0) }
}

/// `f64::max`, but a NaN (an overflowed residual) counts as the worst.
fn worse(known: f64, new: f64) -> f64 {
    if new.is_nan() { f64::INFINITY } else { known.max(new) }
}
