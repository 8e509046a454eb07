//! The trait `Solver`, its answers and statuses, and the review of every answer; one file per solver in the folder of
//! this name.

#[cfg(feature = "pure-solvers")]
mod clarabel;
#[cfg(feature = "solvers")]
mod good_lp;
#[cfg(feature = "pure-solvers")]
mod guard;
#[cfg(feature = "solvers")]
mod highs;
#[cfg(feature = "pure-solvers")]
mod minilp;

#[cfg(feature = "pure-solvers")]
pub use self::{clarabel::Clarabel, minilp::Minilp};
#[cfg(feature = "solvers")]
pub use self::{
    good_lp::GoodLp,
    highs::{Highs, HighsSession},
};

use std::fmt;
use std::time::Instant;

use crate::program::Program;
use crate::safe::{self, Review};

/// A point that violates a row, a box or integrality by more than this is not accepted as a solution.
pub const FEASIBILITY_TOLERANCE: f64 = 1e-6;

/// How long a solver may take.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// Wall-clock seconds; infinity for no limit.
    pub seconds: f64,
}

impl Default for Limits {
    /// One minute.
    fn default() -> Self {
        Self { seconds: 60.0 }
    }
}

/// How a solver's run ended. A status is the solver's word, with two exceptions that are ours: `Distrusted`, `Invalid`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Status {
    /// The solver says that its point is optimal, and the point is feasible by our own count.
    Optimal,
    /// The time was up; there may be a point and a bound.
    TimeLimit,
    /// The solver says that there is no feasible point. This proves nothing: presolve has been seen to err.
    Infeasible,
    /// The solver says unbounded, or unbounded or infeasible; with all variables in boxes it errs.
    Unbounded,
    /// The solver was not asked: the program is above the size that it is trusted with.
    TooLarge,
    /// The solver was not asked: it has no integer variables.
    Unsupported,
    /// The solver was not asked in time: earlier runs that outlived their limit are still going on.
    Busy,
    /// Nobody was asked: the program itself is broken (an infinite box, crossed sides, a NaN).
    Invalid,
    /// The solver says optimal, but its point is not finite or not feasible by our own count.
    Distrusted,
    /// The solver gave up, crashed, or ended in a way that it does not explain.
    Failed,
}

impl Status {
    /// The status in a sentence.
    pub fn sentence(self) -> &'static str {
        match self {
            Self::Optimal => "the solver reports an optimum, and its point is feasible by our own count",
            Self::TimeLimit => "the solver ran out of time",
            Self::Infeasible => "the solver reports that there is no feasible point, which proves nothing by itself",
            Self::Unbounded => "the solver reports an unbounded program although every variable has a box",
            Self::TooLarge => "the program is larger than this solver is trusted with, so it was not asked",
            Self::Unsupported => "this solver has no integer variables, so it was not asked",
            Self::Busy => {
                "earlier runs of this solver outlived their limit and are still going on, so it was not asked"
            }
            Self::Invalid => "the program is broken, so nobody was asked",
            Self::Distrusted => "the solver reports an optimum, but its point is not feasible by our own count",
            Self::Failed => "the solver failed without an explanation",
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.sentence())
    }
}

/// What a solver said, and what we think of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// How it ended.
    pub status: Status,
    /// The objective, the solver's word; ours is in the review.
    pub objective: Option<f64>,
    /// The point.
    pub values: Option<Vec<f64>>,
    /// One dual per row, `∂ optimum / ∂ side`: not negative where the lower side binds, not positive where the upper.
    pub row_duals: Option<Vec<f64>>,
    /// One reduced cost per variable, with the same signs for its box.
    pub reduced_costs: Option<Vec<f64>>,
    /// A lower bound of the optimum of a MILP: **the solver's word**, not proved by us.
    pub dual_bound: Option<f64>,
    /// Wall-clock seconds, building the solver's own copy included.
    pub seconds: f64,
    /// Our own findings.
    pub review: Review,
}

impl Answer {
    /// An answer that has nothing but a status.
    pub fn empty(status: Status) -> Self {
        Self {
            status,
            objective: None,
            values: None,
            row_duals: None,
            reduced_costs: None,
            dual_bound: None,
            seconds: 0.0,
            review: Review::default(),
        }
    }

    /// The optimum, when the status says optimal: recomputed by us from the point.
    pub fn optimum(&self) -> Option<f64> {
        if self.status == Status::Optimal { self.review.objective } else { None }
    }
}

/// A solver. To add one, write a file with `name`, `integers` and `attempt`; checks and timing are done here.
pub trait Solver {
    /// Its name, as used in reports.
    fn name(&self) -> &'static str;

    /// Whether it can do integer variables.
    fn integers(&self) -> bool {
        true
    }

    /// Hands a valid program with at least one variable to the solver and takes down what it says, unchecked.
    fn attempt(&self, program: &Program, limits: &Limits) -> Answer;

    /// Solves the program: checks it, asks the solver, reviews the answer. Never panics on account of a solver's
    /// answer.
    fn solve(&self, program: &Program, limits: &Limits) -> Answer {
        let start = Instant::now();
        let mut answer = if program.validate().is_err() {
            return Answer::empty(Status::Invalid);
        } else if program.variables.is_empty() {
            constant(program)
        } else if program.has_integers() && !self.integers() {
            Answer::empty(Status::Unsupported)
        } else {
            self.attempt(program, limits)
        };
        answer.seconds = start.elapsed().as_secs_f64();
        reviewed(program, answer)
    }
}

/// A program without variables needs no solver (and the solvers treat it as an error): its rows hold at 0 or they do
/// not.
fn constant(program: &Program) -> Answer {
    if program.rows.iter().any(|row| row.lower > 0.0 || row.upper < 0.0) {
        return Answer::empty(Status::Infeasible);
    }
    Answer {
        objective: Some(program.offset),
        values: Some(Vec::new()),
        row_duals: Some(vec![0.0; program.rows.len()]),
        reduced_costs: Some(Vec::new()),
        ..Answer::empty(Status::Optimal)
    }
}

/// Adds our review, and takes the title "optimal" from a point that does not deserve it.
fn reviewed(program: &Program, mut answer: Answer) -> Answer {
    answer.review = safe::review(program, answer.values.as_deref(), answer.row_duals.as_deref());
    if answer.status == Status::Optimal && !answer.review.feasible(FEASIBILITY_TOLERANCE) {
        answer.status = Status::Distrusted;
    }
    answer
}
