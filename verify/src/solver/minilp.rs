//! `minilp`, a simplex in pure Rust: an engine independent of HiGHS, for LPs only, and under guard.
//!
//! It has been seen to return `Ok` with NaN (on unbounded programs, which boxes exclude and the review would catch), it
//! may panic, and it cannot be interrupted. So it runs under [`super::guard`], and programs above a size are refused.

use ::minilp::{ComparisonOp, Error, OptimizationDirection, Problem};

use super::guard::Guard;
use super::{Answer, Limits, Solver, Status};
use crate::program::Program;

static GUARD: Guard = Guard::new();

/// `minilp` with the sizes that it is trusted with.
#[derive(Clone, Copy, Debug)]
pub struct Minilp {
    /// Most rows.
    pub max_rows: usize,
    /// Most coefficients.
    pub max_nonzeros: usize,
}

impl Default for Minilp {
    /// 20,000 rows and 10 million coefficients. (Measured: 568 rows and 4.6 million coefficients take 4 s.)
    fn default() -> Self {
        Self { max_rows: 20_000, max_nonzeros: 10_000_000 }
    }
}

impl Solver for Minilp {
    fn name(&self) -> &'static str {
        "minilp"
    }

    fn integers(&self) -> bool {
        false
    }

    fn attempt(&self, program: &Program, limits: &Limits) -> Answer {
        let large = program.rows.len() > self.max_rows || program.nonzeros() > self.max_nonzeros;
        if large {
            return Answer::empty(Status::TooLarge);
        }
        let offset = program.offset;
        let outcome = GUARD.run(self.name(), limits, || {
            let problem = translated(program);
            move || {
                problem.solve().map(|solution| {
                    let values: Vec<f64> = solution.iter().map(|(_, value)| *value).collect();
                    (solution.objective() + offset, values)
                })
            }
        });
        match outcome {
            Ok(Ok((objective, values))) => {
                Answer { objective: Some(objective), values: Some(values), ..Answer::empty(Status::Optimal) }
            }
            Ok(Err(Error::Infeasible)) => Answer::empty(Status::Infeasible),
            Ok(Err(Error::Unbounded)) => Answer::empty(Status::Unbounded),
            Err(status) => Answer::empty(status),
        }
    }
}

fn translated(program: &Program) -> Problem {
    let mut problem = Problem::new(OptimizationDirection::Minimize);
    let columns: Vec<_> = program.variables.iter().map(|v| problem.add_var(v.objective, (v.lower, v.upper))).collect();
    for row in &program.rows {
        let left = || row.coefficients.iter().map(|&(at, value)| (columns[at], value)).collect::<Vec<_>>();
        if row.lower == row.upper {
            problem.add_constraint(left(), ComparisonOp::Eq, row.lower);
            continue;
        }
        if row.lower.is_finite() {
            problem.add_constraint(left(), ComparisonOp::Ge, row.lower);
        }
        if row.upper.is_finite() {
            problem.add_constraint(left(), ComparisonOp::Le, row.upper);
        }
    }
    problem
}
