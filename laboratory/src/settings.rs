//! What solvers may try, and how their answers are recorded.

use gcnproof_results::record::pair::{Measured, PairRecord};
use gcnproof_verify::solver::{Answer, Status};

/// What may be tried, and for how long.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// LPs with more coefficients are not built.
    pub max_cells: usize,
    /// Up to this many coefficients every solver gets every column.
    pub full_cells: usize,
    /// Integer programs with more integer variables are not tried.
    pub max_integers: usize,
    /// Seconds for each LP and ILP.
    pub seconds: f64,
    /// Seconds for each MILP.
    pub milp_seconds: f64,
}

impl Default for Settings {
    /// What takes seconds for most class pairs.
    fn default() -> Settings {
        Settings { max_cells: 5_000_000, full_cells: 250_000, max_integers: 1200, seconds: 10.0, milp_seconds: 2.0 }
    }
}

/// No solver was asked: it is said why.
pub(crate) fn refuse(row: &mut PairRecord, status: &str) {
    row.set_lp_highs(Measured::refused(status));
    row.set_lp_good_lp(Measured::refused(status));
    row.set_lp_minilp(Measured::refused(status));
    row.set_lp_clarabel(Measured::refused(status));
    row.set_ilp(Measured::refused(status));
    row.set_milp(Measured::refused(status));
}

pub(crate) fn measured(answer: &Answer) -> Measured {
    Measured::new(answer.optimum(), status(answer.status), answer.seconds)
}

/// The name of a status in every output format.
pub fn status(status: Status) -> &'static str {
    match status {
        Status::Optimal => "optimal",
        Status::TimeLimit => "time_limit",
        Status::Infeasible => "infeasible",
        Status::Unbounded => "unbounded",
        Status::TooLarge => "too_large",
        Status::Unsupported => "unsupported",
        Status::Busy => "busy",
        Status::Invalid => "invalid",
        Status::Distrusted => "distrusted",
        _ => "failed",
    }
}
