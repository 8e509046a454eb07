//! What the solvers promise: a status for everything, no crash, warm sessions, and no belief without a check.
use crate::common;

use common::{close, counterexample};
use gcnproof_verify::solver::{Answer, Clarabel, GoodLp, Highs, HighsSession, Limits, Minilp, Solver, Status};
use gcnproof_verify::{Form, Program, random::Stream, relaxation, safe};

fn all() -> [Box<dyn Solver>; 4] {
    [Box::new(Highs), Box::new(GoodLp), Box::new(Minilp::default()), Box::new(Clarabel::default())]
}

/// min -x - 2y over the unit square with x + y ≤ 1.5: -2.5 at (½, 1).
fn corner() -> Program {
    let mut program = Program::default();
    for (name, cost) in [("x_0", -1.0), ("y_0", -2.0)] {
        let at = program.add_variable(name, 0.0, 1.0);
        program.variables[at].objective = cost;
    }
    program.add_row("sum_0", f64::NEG_INFINITY, 1.5, [(0, 1.0), (1, 1.0)]);
    program
}

#[test]
fn all_solvers_find_the_corner_and_its_duals() {
    for solver in all() {
        let answer = solver.solve(&corner(), &Limits::default());
        assert_eq!(answer.status, Status::Optimal);
        close(answer.optimum().unwrap(), -2.5, 1e-9);
        close(answer.objective.unwrap(), -2.5, 1e-9);
        if solver.name() != "minilp" {
            close(answer.row_duals.as_ref().unwrap()[0], -1.0, 1e-9);
            close(answer.reduced_costs.as_ref().unwrap()[1], -1.0, 1e-9);
            close(answer.review.safe_bound.unwrap(), -2.5, 1e-9);
        }
        assert!(answer.seconds > 0.0);
    }
}

#[test]
fn offsets_ranges_and_equations_mean_the_same_to_all() {
    let mut program = corner();
    program.offset = 10.0;
    program.add_row("range_0", -0.25, 0.25, [(0, 1.0), (1, -1.0)]); // now (5/8, 7/8): -2.375
    for solver in all() {
        let answer = solver.solve(&program, &Limits::default());
        assert_eq!(answer.status, Status::Optimal, "{}: {answer:?}", solver.name());
        close(answer.optimum().unwrap(), 10.0 - 2.375, 1e-9);
        close(answer.objective.unwrap(), 10.0 - 2.375, 1e-9);
        assert!(answer.review.safe_bound.is_none_or(|bound| (bound - 7.625).abs() < 1e-9));
        assert_eq!(answer.review.safe_bound.is_some(), solver.name() != "minilp");
    }
    program.add_row("equal_0", 0.0, 0.0, [(0, 1.0), (1, -1.0)]); // (¾, ¾): -2.25
    for solver in all() {
        let answer = solver.solve(&program, &Limits::default());
        close(answer.optimum().unwrap(), 7.75, 1e-9);
        assert!(answer.review.safe_bound.is_none_or(|bound| (bound - 7.75).abs() < 1e-9), "{}", solver.name());
    }
    program.variables[0].integer = true;
    for solver in all() {
        let answer = solver.solve(&program, &Limits::default());
        match answer.optimum() {
            Some(optimum) => {
                close(optimum, 10.0, 1e-9); // (0, 0)
                assert!(answer.row_duals.is_none());
                assert!(answer.dual_bound.is_none_or(|bound| (bound - 10.0).abs() < 1e-9));
            }
            None => {
                assert!(["minilp", "clarabel"].contains(&solver.name()));
                assert_eq!(answer.status, Status::Unsupported);
            }
        }
    }
    assert!(Highs.solve(&program, &Limits::default()).dual_bound.is_some());
}

#[test]
fn a_program_of_zero_columns_has_a_status() {
    let mut program = Program { offset: 4.0, ..Program::default() };
    for solver in all() {
        let answer = solver.solve(&program, &Limits::default());
        assert_eq!((answer.status, answer.optimum()), (Status::Optimal, Some(4.0)));
        assert_eq!(answer.review.safe_bound, Some(4.0));
    }
    program.add_row("holds_0", -1.0, 0.0, []);
    for solver in all() {
        assert_eq!(solver.solve(&program, &Limits::default()).status, Status::Optimal);
    }
    program.add_row("fails_0", 1.0, 2.0, []);
    for solver in all() {
        assert_eq!(solver.solve(&program, &Limits::default()).status, Status::Infeasible);
    }
}

#[test]
fn columns_without_rows_and_rows_without_columns_are_fine() {
    let mut program = corner();
    program.rows.clear();
    program.add_row("empty_0", 0.0, f64::INFINITY, []);
    for solver in all() {
        close(solver.solve(&program, &Limits::default()).optimum().unwrap(), -3.0, 1e-9);
    }
}

#[test]
fn infeasible_and_broken_programs_have_a_status() {
    let mut program = corner();
    program.add_row("impossible_0", 3.0, f64::INFINITY, [(0, 1.0), (1, 1.0)]);
    for solver in all() {
        let answer = solver.solve(&program, &Limits::default());
        assert_eq!((answer.status, answer.optimum()), (Status::Infeasible, None), "{}", solver.name());
    }
    let spoilt: [fn(&mut Program); 5] = [
        |p| p.variables[0].upper = f64::INFINITY,
        |p| (p.variables[0].lower, p.variables[0].upper) = (1.0, 0.0),
        |p| p.variables[1].objective = f64::NAN,
        |p| p.rows[0].upper = f64::NAN,
        |p| p.rows[0].coefficients.push((9, 1.0)),
    ];
    for spoil in spoilt {
        let mut program = corner();
        spoil(&mut program);
        for solver in all() {
            assert_eq!(solver.solve(&program, &Limits::default()).status, Status::Invalid);
        }
        assert!(HighsSession::new(program).is_err());
    }
}

#[test]
fn a_session_solves_again_after_every_kind_of_change() {
    let limits = Limits::default();
    let mut session = HighsSession::new(corner()).unwrap();
    let check = |session: &mut HighsSession| {
        let warm = session.solve(&limits);
        let cold = GoodLp.solve(session.program(), &limits);
        assert_eq!(warm.status, Status::Optimal);
        close(warm.optimum().unwrap(), cold.optimum().unwrap(), 1e-9);
        close(warm.review.safe_bound.unwrap(), warm.optimum().unwrap(), 1e-9);
        warm.optimum().unwrap()
    };
    close(check(&mut session), -2.5, 1e-9);
    session.set_objective(0, -4.0);
    close(check(&mut session), -5.0, 1e-9); // (1, ½)
    session.set_box(0, 0.0, 0.25);
    close(check(&mut session), -3.0, 1e-9); // (¼, 1)
    assert_eq!(session.add_row("less_0", f64::NEG_INFINITY, 0.75, &[(1, 1.0)]), 1);
    close(check(&mut session), -2.5, 1e-9); // (¼, ¾)
    assert_eq!(session.add_variable("z_0", 0.0, 2.0, -1.0, &[(0, 1.0), (1, -1.0)]), 2);
    close(check(&mut session), -3.25, 1e-9); // (¼, 1, ¼)
    session.add_row("sum_1", 1.0, 1.0, &[(0, 1.0), (2, 2.0)]);
    close(check(&mut session), -1.0 - 0.375 - 1.75, 1e-9); // z = 3/8, y ≤ 7/8
    // Many solves in one session: the limit is for each of them, not for all together.
    for round in 0..200 {
        session.set_objective(0, f64::from(round) / 10.0 - 5.0);
        assert_eq!(session.solve(&Limits { seconds: 0.05 }).status, Status::Optimal);
    }
    let mut empty = HighsSession::new(Program::default()).unwrap();
    assert_eq!(empty.solve(&limits).optimum(), Some(0.0));
    empty.add_variable("x_0", 1.0, 2.0, 1.0, &[]);
    assert_eq!(empty.solve(&limits).optimum(), Some(1.0));
}

/// A solver that lies in one of the ways that solvers do.
struct Liar(Vec<f64>);

impl Solver for Liar {
    fn name(&self) -> &'static str {
        "liar"
    }

    fn attempt(&self, _: &Program, _: &Limits) -> Answer {
        Answer { objective: Some(-1e9), values: Some(self.0.clone()), ..Answer::empty(Status::Optimal) }
    }
}

#[test]
fn a_lie_is_not_an_optimum() {
    for lie in [vec![1.0, 1.0], vec![0.5, 1.1], vec![f64::NAN, 0.0], vec![0.5], vec![f64::INFINITY, 0.0]] {
        let answer = Liar(lie).solve(&corner(), &Limits::default());
        assert_eq!((answer.status, answer.optimum()), (Status::Distrusted, None));
    }
    let mut program = corner();
    program.variables[0].integer = true;
    assert_eq!(Liar(vec![0.5, 1.0]).solve(&program, &Limits::default()).status, Status::Distrusted);
    // A feasible point is accepted, but at its true worth.
    assert_eq!(Liar(vec![0.0, 1.0]).solve(&corner(), &Limits::default()).optimum(), Some(-2.0));
}

#[test]
fn any_multipliers_give_a_bound_and_none_is_above_the_optimum() {
    let mut stream = Stream::new(3);
    let program = relaxation::linear_program(&counterexample(), Form::Appendix).unwrap().program;
    for _ in 0..20_000 {
        let scale = [1e-9, 1.0, 1.0, 1e300][stream.below(4)];
        let duals: Vec<f64> = program.rows.iter().map(|_| scale * stream.real()).collect();
        assert!(safe::safe_dual_bound(&program, &duals) <= -0.25);
    }
    for odd in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MAX, f64::MIN] {
        let bound = safe::safe_dual_bound(&program, &vec![odd; program.rows.len()]);
        assert!(bound <= -0.25 && !bound.is_nan());
    }
}

#[test]
fn every_status_has_its_own_sentence() {
    use Status::*;
    let all = [Optimal, TimeLimit, Infeasible, Unbounded, TooLarge, Unsupported, Busy, Invalid, Distrusted, Failed];
    let sentences: std::collections::BTreeSet<_> = all.iter().map(|status| status.to_string()).collect();
    assert_eq!(sentences.len(), all.len());
}
