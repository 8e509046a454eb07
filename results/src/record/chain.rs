//! The chain `g ≤ m̂ ≤ m̃ ≤ m ≤ witness`: every inequality and every agreement of a row.

use super::pair::PairRecord;

/// What rounding of the solvers is granted: this much, and this much of the larger number.
pub const TOLERANCE: f64 = 1e-6;

/// A relation between two numbers of a row that does not hold.
#[derive(Clone, Debug, PartialEq)]
pub struct Violation {
    /// The number that should be the smaller (or the equal) one, and its name.
    pub left: (&'static str, f64),
    /// The other one.
    pub right: (&'static str, f64),
    /// Should they be equal?
    pub equal: bool,
}

impl std::fmt::Display for Violation {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let relation = if self.equal { "=" } else { "≤" };
        let ((left, x), (right, y)) = (self.left, self.right);
        write!(formatter, "{left} {relation} {right} fails: {x} and {y}")
    }
}

/// Is `left ≤ right` violated beyond the tolerance?
fn above(left: f64, right: f64) -> bool {
    left - right > TOLERANCE * (1.0 + left.abs().max(right.abs()))
}

/// All relations of a row that do not hold (docs/math.md (14.1)). Numbers that are missing say nothing.
pub fn violations(row: &PairRecord) -> Vec<Violation> {
    let default = ("dual_default", row.dual_default);
    let optimal = ("dual_optimal", row.dual_optimal);
    let safe = ("lp_safe_bound", row.lp_safe_bound);
    let lps = [
        ("lp_highs", row.lp_highs),
        ("lp_good_lp", row.lp_good_lp),
        ("lp_minilp", row.lp_minilp),
        ("lp_clarabel", row.lp_clarabel),
    ];
    let ilp = ("ilp", row.ilp);
    let truths = [("milp", row.milp), ("exact", row.exact)];
    let witness = ("witness", row.witness);
    let anchored = ("anchored", row.anchored);

    let mut found = Vec::new();
    let mut check = |left: (&'static str, Option<f64>), right: (&'static str, Option<f64>), equal: bool| {
        if let (Some(x), Some(y)) = (left.1, right.1)
            && (above(x, y) || equal && above(y, x))
        {
            found.push(Violation { left: (left.0, x), right: (right.0, y), equal });
        }
    };
    for lower in [default, optimal, safe] {
        lps.into_iter().chain([ilp]).chain(truths).chain([witness]).for_each(|upper| check(lower, upper, false));
    }
    for (at, lp) in lps.into_iter().enumerate() {
        lps[..at].iter().for_each(|&other| check(other, lp, true));
        [ilp].into_iter().chain(truths).chain([witness]).for_each(|upper| check(lp, upper, false));
        // Strong duality: the safe bound of the LP's duals attains the LP, and so does the best Ω where the paper's
        // dual is the LP's (not with tightened bounds of deeper layers, see the measurement).
        check(optimal, lp, matches!(row.dual_optimal_status.as_deref(), Some("textbook" | "proved")));
        // An interrupted LP has duals too, and a safe bound that merely holds.
        check(safe, lp, row.lp_highs.is_some());
    }
    truths.into_iter().chain([witness]).for_each(|upper| check(ilp, upper, false));
    for truth in truths {
        check(anchored, truth, false);
        check(truth, witness, false);
    }
    check(truths[0], truths[1], true);
    check(anchored, witness, false);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ordered() -> PairRecord {
        PairRecord {
            dual_default: Some(-3.0),
            dual_optimal: Some(-2.0),
            dual_optimal_status: Some("textbook".into()),
            lp_safe_bound: Some(-2.0 - 1e-9),
            lp_highs: Some(-2.0),
            lp_good_lp: Some(-2.0 + 1e-8),
            lp_minilp: Some(-2.0),
            lp_clarabel: Some(-2.0 - 1e-8),
            ilp: Some(-1.5),
            milp: Some(1.0),
            anchored: Some(0.5),
            witness: Some(1.0),
            ..PairRecord::default()
        }
    }

    #[test]
    fn a_row_in_order_has_no_violation() {
        assert_eq!(violations(&ordered()), []);
        assert_eq!(violations(&PairRecord::default()), []);
    }

    /// Each number pushed out of its place is noticed.
    #[test]
    fn every_number_out_of_order_is_noticed() {
        type Wrong = (&'static str, fn(&mut PairRecord));
        let wrong: [Wrong; 10] = [
            ("dual_default", |row| row.dual_default = Some(-1.9)),
            ("dual_optimal", |row| row.dual_optimal = Some(-2.1)),
            ("lp_safe_bound", |row| row.lp_safe_bound = Some(-1.9)),
            ("lp_highs", |row| row.lp_highs = Some(-2.001)),
            ("lp_minilp", |row| row.lp_minilp = Some(-1.999)),
            ("lp_clarabel", |row| row.lp_clarabel = Some(-2.001)),
            ("ilp", |row| row.ilp = Some(-2.1)),
            ("milp", |row| row.milp = Some(0.4)),
            ("anchored", |row| row.anchored = Some(1.1)),
            ("witness", |row| row.witness = Some(0.9)),
        ];
        for (name, change) in wrong {
            let mut row = ordered();
            change(&mut row);
            let found = violations(&row);
            assert!(found.iter().any(|v| v.left.0 == name || v.right.0 == name), "{name}: {found:?}");
        }
    }
}
