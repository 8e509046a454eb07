//! HiGHS through the crate `highs`: duals, the MILP bound, fine statuses, and a session that re-solves warm.

use std::time::Instant;

use ::highs::{Col, ColProblem, HighsModelStatus, HighsSolutionStatus, Model, Row, RowProblem, Sense, SolvedModel};

use super::{Answer, Limits, Solver, Status, constant, reviewed};
use crate::program::{Program, ProgramError};

/// Absolute tolerance on rows, boxes, reduced costs and integrality; HiGHS' own default is 1e-7 (1e-6 for integers).
pub(super) const TOLERANCE: f64 = 1e-9;
/// HiGHS drops coefficients up to this size; its default is 1e-9, this is the smallest that it accepts.
pub(super) const SMALLEST_COEFFICIENT: f64 = 1e-12;
/// Up to so many variables an integer program is solved with presolve and without it.
const SMALL: usize = 1_000;
/// The value of HiGHS' option `simplex_scale_strategy` that leaves the matrix as it is.
pub(super) const NO_SCALING: i32 = 0;

/// HiGHS, one thread, exact gap, asked afresh each time.
#[derive(Clone, Copy, Debug, Default)]
pub struct Highs;

impl Solver for Highs {
    fn name(&self) -> &'static str {
        "highs"
    }

    fn attempt(&self, program: &Program, limits: &Limits) -> Answer {
        let Some(model) = build(program) else { return Answer::empty(Status::Failed) };
        let answer = run(model, program, limits.seconds).0;
        if !program.has_integers() || program.variables.len() > SMALL || answer.status != Status::Optimal {
            return answer;
        }
        // HiGHS 1.15 has called points optimal that are not, with presolve by 1.5e-5 (`theorems.proptest-regressions`)
        // and without it on other programs. Of two points the one with the smaller objective is nearer to the optimum.
        let Some(mut model) = build(program) else { return answer };
        model.set_option("presolve", "off");
        let again = run(model, program, limits.seconds).0;
        let better = |low: f64, high: f64| low < high - TOLERANCE * (1.0 + high.abs());
        match (again.objective, answer.objective) {
            (Some(low), Some(high)) if again.status == Status::Optimal && better(low, high) => again,
            _ => answer,
        }
    }
}

/// A program that stays inside HiGHS: change it a little, solve again, and the last basis is the start.
///
/// The session keeps its own copy of the program, against which every answer is reviewed.
#[derive(Debug)]
pub struct HighsSession {
    program: Program,
    handles: Handles,
    model: Option<Model>,
    /// HiGHS' clock for LPs runs on from solve to solve (that for MILPs does not), so a limit is given on top of this.
    used: f64,
}

impl HighsSession {
    /// Takes the program in.
    pub fn new(program: Program) -> Result<Self, ProgramError> {
        program.validate()?;
        let mut handles = Handles::default();
        handles.grow(&program);
        let model = build(&program);
        Ok(Self { program, handles, model, used: 0.0 })
    }

    /// The program as it stands.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// Changes a variable's coefficient in the objective. Panics on a number that is not finite.
    pub fn set_objective(&mut self, variable: usize, objective: f64) {
        assert!(objective.is_finite(), "an objective has to be finite");
        self.program.variables[variable].objective = objective;
        if let Some(model) = &mut self.model {
            model.change_column_cost(self.handles.columns[variable], objective);
        }
    }

    /// Changes a variable's box. Panics on a box that is empty or infinite.
    pub fn set_box(&mut self, variable: usize, lower: f64, upper: f64) {
        assert!(lower.is_finite() && upper.is_finite() && lower <= upper, "a box has to be finite and not empty");
        let entry = &mut self.program.variables[variable];
        (entry.lower, entry.upper) = (lower, upper);
        if let Some(model) = &mut self.model {
            model.change_column_bounds(self.handles.columns[variable], lower..=upper);
        }
    }

    /// Adds a row over the present variables; the number returned is its place. Panics on crossed sides.
    pub fn add_row(&mut self, name: &str, lower: f64, upper: f64, coefficients: &[(usize, f64)]) -> usize {
        assert!(lower <= upper, "the sides of a row must not cross");
        let at = self.program.add_row(name, lower, upper, coefficients.iter().copied());
        self.handles.grow(&self.program);
        let row = &self.program.rows[at];
        let terms: Vec<_> = row.coefficients.iter().map(|&(at, value)| (self.handles.columns[at], value)).collect();
        self.keep(|model| model.try_add_row(lower..=upper, terms).is_ok());
        at
    }

    /// Adds a continuous variable with its coefficients in the present rows, each row at most once; the number returned
    /// is its place. Panics on a box that is empty or infinite.
    pub fn add_variable(&mut self, name: &str, lower: f64, upper: f64, objective: f64, rows: &[(usize, f64)]) -> usize {
        assert!(lower.is_finite() && upper.is_finite() && lower <= upper, "a box has to be finite and not empty");
        let at = self.program.add_variable(name, lower, upper);
        self.program.variables[at].objective = objective;
        for &(row, value) in rows.iter().filter(|entry| entry.1 != 0.0) {
            self.program.rows[row].coefficients.push((at, value));
        }
        self.handles.grow(&self.program);
        let terms: Vec<_> = rows.iter().map(|&(row, value)| (self.handles.rows[row], value)).collect();
        self.keep(|model| model.try_add_column(objective, lower..=upper, terms).is_ok());
        at
    }

    /// Solves the program as it stands, from the last basis if there is one.
    pub fn solve(&mut self, limits: &Limits) -> Answer {
        if self.program.validate().is_err() {
            return Answer::empty(Status::Invalid);
        }
        if self.program.variables.is_empty() {
            return reviewed(&self.program, constant(&self.program));
        }
        let start = Instant::now();
        let model = self.model.take().or_else(|| {
            self.used = 0.0;
            build(&self.program)
        });
        let Some(model) = model else {
            return Answer::empty(Status::Failed);
        };
        let (mut answer, solved) = run(model, &self.program, self.used + limits.seconds);
        self.model = solved.map(Model::from);
        answer.seconds = start.elapsed().as_secs_f64();
        if !self.program.has_integers() {
            self.used += answer.seconds;
        }
        reviewed(&self.program, answer)
    }

    /// A model that refuses a change is thrown away; the next solve builds it anew from our copy.
    fn keep(&mut self, change: impl FnOnce(&mut Model) -> bool) {
        if let Some(model) = &mut self.model
            && !change(model)
        {
            self.model = None;
        }
    }
}

/// HiGHS' names for variables and rows. They are plain numbers, but only a problem may hand them out: these two do
/// nothing else.
#[derive(Debug, Default)]
struct Handles {
    columns: Vec<Col>,
    rows: Vec<Row>,
    column_mint: RowProblem,
    row_mint: ColProblem,
}

impl Handles {
    fn grow(&mut self, program: &Program) {
        while self.columns.len() < program.variables.len() {
            self.columns.push(self.column_mint.add_column(0.0, 0.0..=0.0));
        }
        while self.rows.len() < program.rows.len() {
            self.rows.push(self.row_mint.add_row(0.0..=0.0));
        }
    }
}

fn build(program: &Program) -> Option<Model> {
    let mut problem = RowProblem::default();
    let columns: Vec<Col> = program
        .variables
        .iter()
        .map(|v| problem.add_column_with_integrality(v.objective, v.lower..=v.upper, v.integer))
        .collect();
    for row in &program.rows {
        problem.add_row(row.lower..=row.upper, row.coefficients.iter().map(|&(at, value)| (columns[at], value)));
    }
    let mut model = problem.try_optimise(Sense::Minimise).ok()?;
    model.set_option("threads", 1);
    model.set_option("parallel", "off");
    model.set_option("mip_rel_gap", 0.0);
    model.set_option("mip_abs_gap", 0.0);
    model.set_option("primal_feasibility_tolerance", TOLERANCE);
    model.set_option("dual_feasibility_tolerance", TOLERANCE);
    model.set_option("mip_feasibility_tolerance", TOLERANCE);
    model.set_option("small_matrix_value", SMALLEST_COEFFICIENT);
    if !program.has_integers() {
        // Measured on an LP of 115,523 variables in compact form: 36 s with presolve and scaling, 7.5 s without
        // scaling, 1.7 s without either. Presolve has also been seen to err; the other route (`good_lp`) keeps it,
        // which makes two opinions.
        model.set_option("presolve", "off");
        model.set_option("simplex_scale_strategy", NO_SCALING);
    }
    Some(model)
}

fn run(mut model: Model, program: &Program, time_limit: f64) -> (Answer, Option<SolvedModel>) {
    model.set_option("time_limit", time_limit.max(0.0));
    let Ok(solved) = model.try_solve() else {
        return (Answer::empty(Status::Failed), None);
    };
    let mut answer = Answer::empty(match solved.status() {
        HighsModelStatus::Optimal => Status::Optimal,
        HighsModelStatus::Infeasible => Status::Infeasible,
        HighsModelStatus::Unbounded | HighsModelStatus::UnboundedOrInfeasible => Status::Unbounded,
        HighsModelStatus::ReachedTimeLimit => Status::TimeLimit,
        _ => Status::Failed,
    });
    let solution = solved.get_solution();
    if solved.primal_solution_status() == HighsSolutionStatus::Feasible {
        answer.objective = Some(solved.objective_value() + program.offset);
        answer.values = Some(solution.columns().to_vec());
    }
    if program.has_integers() {
        let bound = solved.double_info_value(c"mip_dual_bound").ok();
        answer.dual_bound = bound.filter(|bound| bound.is_finite()).map(|bound| bound + program.offset);
    } else if matches!(answer.status, Status::Optimal | Status::TimeLimit) {
        // After a time limit they may be anything. The safe bound is valid for anything.
        answer.row_duals = Some(solution.dual_rows().to_vec());
        answer.reduced_costs = Some(solution.dual_columns().to_vec());
    }
    (answer, Some(solved))
}
