//! A-priori bounds on the rounding error of f64 sums, and numbers that carry their error (docs/math.md §11).
//!
//! Every sum of `k` products is computed with at most `k` roundings per term, whatever the order and whether or not
//! the compiler fuses a product into a sum, so it differs from the exact value by at most `γ_k Σ|terms|` with
//! `γ_k = k·u/(1−k·u)`, `u = 2⁻⁵³` (Higham, *Accuracy and Stability*, §3). We compute the magnitude `Σ|terms|` in
//! f64 as well and double `k`: `γ_k/(1−γ_k) ≤ γ_2k` covers the rounding of the magnitude and of the bound itself.
//! Underflow adds at most half the smallest subnormal per product; we charge the smallest normal number.
//!
//! Overflow needs no special care: it makes a magnitude infinite, the error infinite or NaN, and a comparison with
//! such an error never succeeds, so the value is evaluated exactly instead (see [`crate::problem::exact`]).

/// The unit roundoff `u` of f64.
pub const UNIT: f64 = f64::EPSILON / 2.0;

/// `γ_k`, rounded up; infinite where the analysis does not apply.
pub fn gamma(operations: usize) -> f64 {
    let x = operations as f64 * UNIT;
    if x < 0.01 { x / (1.0 - x) * (1.0 + 8.0 * UNIT) } else { f64::INFINITY }
}

/// A bound on the rounding error of a sum in which each term passed through at most `operations` roundings and whose
/// magnitude `Σ|terms|` was itself computed in f64 (docs/math.md (11.1)).
#[inline]
pub fn error_of(operations: usize, magnitude: f64) -> f64 {
    gamma(2 * operations + 8) * magnitude + operations as f64 * f64::MIN_POSITIVE
}

/// The magnitude that an error of [`error_of`] stands for: not below the exact one.
pub fn magnitude_of(operations: usize, error: f64) -> f64 {
    // The magnitude was computed with as many roundings, the error and this quotient with a few more.
    error / gamma(2 * operations + 8) * (1.0 + gamma(2 * operations + 64))
}

/// Put under every magnitude that is multiplied on: it makes the relative bound cover what intermediate products lose
/// by underflow (`k·2⁻¹⁰⁷⁵ ≤ γ_k · FLOOR` for every `k`).
pub const FLOOR: f64 = 1e-290;

/// A Euclidean norm that is surely not below the exact one.
pub fn norm_above(values: impl Iterator<Item = f64> + Clone) -> f64 {
    // Four sums, because one would wait for each addition in turn.
    let (mut squares, mut count) = ([0.0; 4], 0usize);
    for v in values.clone() {
        squares[count % 4] += v * v;
        count += 1;
    }
    // Half a unit for each of the roundings, twice over; the root halves it.
    let slack = 1.0 + (count as f64 * f64::EPSILON).max(1e-12);
    let square: f64 = squares.iter().sum();
    if (1e-280..1e280).contains(&square) {
        return square.sqrt() * slack;
    }
    // Out of the range in which squares are harmless: scale by the largest entry.
    let largest = values.clone().map(f64::abs).fold(0.0, f64::max);
    if largest == 0.0 {
        return 0.0;
    }
    let scaled: f64 = values.map(|v| v / largest * (v / largest)).sum();
    (largest * scaled.sqrt() * slack).next_up()
}

/// A sum under construction, with everything that is needed to bound its error.
#[derive(Clone, Copy, Debug, Default)]
pub struct Account {
    sum: f64,
    magnitude: f64,
    slack: f64,
    terms: usize,
}

impl Account {
    /// Adds a term that was computed from exact numbers with at most three roundings.
    #[inline]
    pub fn add(&mut self, term: f64) {
        self.sum += term;
        self.magnitude += term.abs();
        self.terms += 1;
    }

    /// Allows for an error that is already known, as an upper bound.
    #[inline]
    pub fn allow(&mut self, error: f64) {
        self.slack += error;
        self.terms += 1;
    }

    /// The sum and its error (docs/math.md (11.2)).
    pub fn close(self) -> Enclosure {
        let rounding = error_of(self.terms + 3, self.magnitude);
        // The slack is a sum of non-negative terms of a few roundings each.
        Enclosure { value: self.sum, error: rounding + self.slack * (1.0 + gamma(2 * self.terms + 16)) }
    }
}

/// A number known up to an absolute error: the exact value lies in `[value − error, value + error]`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Enclosure {
    /// The computed value.
    pub value: f64,
    /// How far the exact value may be from it.
    pub error: f64,
}

impl Enclosure {
    /// The largest f64 that is surely not above the exact value (NaN if nothing is known).
    pub fn lower(self) -> f64 {
        if self.error == 0.0 { self.value } else { (self.value - self.error).next_down() }
    }

    /// The smallest f64 that is surely not below the exact value (NaN if nothing is known).
    pub fn upper(self) -> f64 {
        if self.error == 0.0 { self.value } else { (self.value + self.error).next_up() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bound_covers_a_sum_that_loses_everything() {
        // 1e16 + 1 − 1e16 = 1 exactly, 0 in f64.
        let value = 1e16 + 1.0 - 1e16;
        let enclosure = Enclosure { value, error: error_of(3, 2e16 + 1.0) };
        assert!(enclosure.lower() <= 1.0 && enclosure.upper() >= 1.0);
    }

    #[test]
    fn nothing_is_decided_by_an_overflow() {
        let enclosure = Enclosure { value: f64::INFINITY, error: f64::INFINITY };
        assert!(enclosure.lower().partial_cmp(&0.0).is_none());
        assert_eq!(gamma(usize::MAX / 4), f64::INFINITY);
    }
}
