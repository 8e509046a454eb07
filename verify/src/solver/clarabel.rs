//! `clarabel`, an interior point method in pure Rust: an algorithm unlike the others' simplex, for LPs only, with
//! duals.
//!
//! An interior point method stops near an optimum, not at a corner: its point and its duals are right up to a
//! tolerance, which is asked for far below what the review grants. It looks at the clock between its iterations only
//! and may panic, so it runs under [`super::guard`].

use ::clarabel::algebra::CscMatrix;
use ::clarabel::solver::SupportedConeT::{NonnegativeConeT, ZeroConeT};
use ::clarabel::solver::{DefaultSettings, DefaultSolver, IPSolver, SolverStatus};

use super::guard::Guard;
use super::{Answer, Limits, Solver, Status};
use crate::program::Program;

/// Duality gap (absolute or relative) and relative residuals that are aimed at; Clarabel's own default is 1e-8.
const TOLERANCE: f64 = 1e-10;
/// What it may fall back to where the last digits cannot be had ("almost solved"); Clarabel's own default is 5e-5.
const FALLBACK_TOLERANCE: f64 = 1e-8;

static GUARD: Guard = Guard::new();

/// Clarabel with the sizes that it is trusted with.
#[derive(Clone, Copy, Debug)]
pub struct Clarabel {
    /// Most rows.
    pub max_rows: usize,
    /// Most coefficients.
    pub max_nonzeros: usize,
}

impl Default for Clarabel {
    /// 20,000 rows and 10 million coefficients, as for minilp.
    fn default() -> Self {
        Self { max_rows: 20_000, max_nonzeros: 10_000_000 }
    }
}

impl Solver for Clarabel {
    fn name(&self) -> &'static str {
        "clarabel"
    }

    fn integers(&self) -> bool {
        false
    }

    fn attempt(&self, program: &Program, limits: &Limits) -> Answer {
        let large = program.rows.len() > self.max_rows || program.nonzeros() > self.max_nonzeros;
        if large {
            return Answer::empty(Status::TooLarge);
        }
        // A row without coefficients is a statement about 0. It has no interior, which the method needs.
        if program.rows.iter().any(|row| row.coefficients.is_empty() && (row.lower > 0.0 || row.upper < 0.0)) {
            return Answer::empty(Status::Infeasible);
        }
        let seconds = limits.seconds.max(0.0);
        let outcome = GUARD.run(self.name(), limits, || {
            let conic = Conic::new(program);
            move || conic.solve(seconds)
        });
        match outcome {
            Ok(solution) => answer(program, solution),
            Err(status) => Answer::empty(status),
        }
    }
}

/// What a row of Clarabel's program says: `coefficients · x = side` or `≤ side`.
struct Half {
    origin: Origin,
    /// -1 where a lower side was turned into an upper one.
    sign: f64,
    side: f64,
}

/// Where a row of Clarabel's program came from.
#[derive(Clone, Copy)]
enum Origin {
    Row(usize),
    Box(usize),
}

/// A program in Clarabel's form: minimise `qᵀx` with `Ax + s = b`, `s = 0` in the first rows and `s ≥ 0` in the others.
struct Conic {
    objective: Vec<f64>,
    matrix: CscMatrix<f64>,
    sides: Vec<f64>,
    equations: usize,
    halves: Vec<Half>,
}

/// What Clarabel has said.
struct Solution {
    status: SolverStatus,
    objective: f64,
    values: Vec<f64>,
    /// A multiplier for each of its rows, not negative but for equations, and whose they are.
    multipliers: Vec<f64>,
    halves: Vec<Half>,
}

impl Conic {
    fn new(program: &Program) -> Self {
        let rows = program.rows.iter().enumerate().filter(|(_, row)| !row.coefficients.is_empty());
        let rows = rows.map(|(at, row)| (Origin::Row(at), row.lower, row.upper));
        let boxes = program.variables.iter().enumerate().map(|(at, v)| (Origin::Box(at), v.lower, v.upper));
        let (mut halves, mut inequalities) = (Vec::new(), Vec::new());
        for (origin, lower, upper) in rows.chain(boxes) {
            if lower == upper {
                halves.push(Half { origin, sign: 1.0, side: upper });
                continue;
            }
            if upper.is_finite() {
                inequalities.push(Half { origin, sign: 1.0, side: upper });
            }
            if lower.is_finite() {
                inequalities.push(Half { origin, sign: -1.0, side: -lower });
            }
        }
        let equations = halves.len();
        halves.extend(inequalities);
        Self {
            objective: program.variables.iter().map(|variable| variable.objective).collect(),
            matrix: matrix(program, &halves),
            sides: halves.iter().map(|half| half.side).collect(),
            equations,
            halves,
        }
    }

    fn solve(self, seconds: f64) -> Option<Solution> {
        let count = self.objective.len();
        let cones = [ZeroConeT(self.equations), NonnegativeConeT(self.sides.len() - self.equations)];
        let no_square = CscMatrix::zeros((count, count));
        let settings = DefaultSettings {
            verbose: false,
            time_limit: seconds,
            // It would drop sides beyond 1e20; ours are either infinite or meant.
            presolve_enable: false,
            tol_gap_abs: TOLERANCE,
            tol_gap_rel: TOLERANCE,
            tol_feas: TOLERANCE,
            reduced_tol_gap_abs: FALLBACK_TOLERANCE,
            reduced_tol_gap_rel: FALLBACK_TOLERANCE,
            reduced_tol_feas: FALLBACK_TOLERANCE,
            ..DefaultSettings::default()
        };
        let mut solver =
            DefaultSolver::new(&no_square, &self.objective, &self.matrix, &self.sides, &cones, settings).ok()?;
        solver.solve();
        let solution = solver.solution;
        Some(Solution {
            status: solution.status,
            objective: solution.obj_val,
            values: solution.x,
            multipliers: solution.z,
            halves: self.halves,
        })
    }
}

/// The coefficients of all halves by columns, rows ascending.
fn matrix(program: &Program, halves: &[Half]) -> CscMatrix<f64> {
    let mut columns: Vec<Vec<(usize, f64)>> = vec![Vec::new(); program.variables.len()];
    for (at, half) in halves.iter().enumerate() {
        match half.origin {
            Origin::Row(row) => {
                for &(variable, coefficient) in &program.rows[row].coefficients {
                    columns[variable].push((at, half.sign * coefficient));
                }
            }
            Origin::Box(variable) => columns[variable].push((at, half.sign)),
        }
    }
    let mut starts = vec![0];
    let (mut rows, mut coefficients) = (Vec::new(), Vec::new());
    for (row, coefficient) in columns.iter().flatten().copied() {
        rows.push(row);
        coefficients.push(coefficient);
    }
    for column in &columns {
        starts.push(starts[starts.len() - 1] + column.len());
    }
    CscMatrix::new(halves.len(), columns.len(), starts, rows, coefficients)
}

/// Takes down what Clarabel said.
fn answer(program: &Program, solution: Option<Solution>) -> Answer {
    let Some(solution) = solution else {
        return Answer::empty(Status::Failed);
    };
    let mut answer = Answer::empty(status(solution.status));
    if !matches!(answer.status, Status::Optimal | Status::TimeLimit) {
        // Of an infeasible program the "point" is a certificate, not a point.
        return answer;
    }
    let mut row_duals = vec![0.0; program.rows.len()];
    let mut reduced_costs = vec![0.0; program.variables.len()];
    // Raising an upper side lets the minimum fall, raising a lower side (that is, lowering ours) makes it rise.
    for (half, multiplier) in solution.halves.iter().zip(&solution.multipliers) {
        let dual = match half.origin {
            Origin::Row(at) => &mut row_duals[at],
            Origin::Box(at) => &mut reduced_costs[at],
        };
        *dual -= half.sign * multiplier;
    }
    answer.objective = Some(solution.objective + program.offset);
    answer.values = Some(solution.values);
    answer.row_duals = Some(row_duals);
    answer.reduced_costs = Some(reduced_costs);
    answer
}

/// Clarabel's word in ours.
fn status(status: SolverStatus) -> Status {
    match status {
        // "Almost" within the fallback tolerance, which is far below what the review grants.
        SolverStatus::Solved | SolverStatus::AlmostSolved => Status::Optimal,
        SolverStatus::PrimalInfeasible | SolverStatus::AlmostPrimalInfeasible => Status::Infeasible,
        // An infeasible dual is an unbounded (or infeasible) primal.
        SolverStatus::DualInfeasible | SolverStatus::AlmostDualInfeasible => Status::Unbounded,
        SolverStatus::MaxTime => Status::TimeLimit,
        // It has lost its way, or no one has told it to start or stop.
        SolverStatus::MaxIterations
        | SolverStatus::NumericalError
        | SolverStatus::InsufficientProgress
        | SolverStatus::Unsolved
        | SolverStatus::CallbackTerminated => Status::Failed,
    }
}
