//! What happens when the time is up: a status, and a bound that still holds.
use gcnproof_verify::solver::{Clarabel, GoodLp, Highs, HighsSession, Limits, Minilp, Solver, Status};
use gcnproof_verify::{Program, random::Stream};

fn all() -> [Box<dyn Solver>; 4] {
    [Box::new(Highs), Box::new(GoodLp), Box::new(Minilp::default()), Box::new(Clarabel::default())]
}

/// A market-split problem: five equations over 40 binaries, minimising the slack. Nobody solves it in a second.
fn hopeless() -> Program {
    let (mut program, mut stream) = (Program::default(), Stream::new(1));
    for at in 0..40 {
        program.add_variable(format!("x_{at}"), 0.0, 1.0);
        program.variables[at].integer = true;
    }
    for row in 0..5 {
        let weights: Vec<f64> = (0..40).map(|_| stream.below(100) as f64).collect();
        let half = (weights.iter().sum::<f64>() / 2.0).floor();
        let more = program.add_variable(format!("more_{row}"), 0.0, 1e4);
        let less = program.add_variable(format!("less_{row}"), 0.0, 1e4);
        for slack in [more, less] {
            program.variables[slack].objective = 1.0;
        }
        let terms = weights.into_iter().enumerate().chain([(more, 1.0), (less, -1.0)]);
        program.add_row(format!("split_{row}"), half, half, terms);
    }
    program
}

/// A dense LP that takes any solver more than a moment.
fn heavy(size: usize) -> Program {
    let (mut program, mut stream) = (Program::default(), Stream::new(2));
    for at in 0..size {
        program.add_variable(format!("x_{at}"), 0.0, 10.0);
        program.variables[at].objective = -1.0 - stream.real().abs();
    }
    for row in 0..size {
        let terms: Vec<_> = (0..size).map(|at| (at, stream.real() + 1.0)).collect();
        program.add_row(format!("row_{row}"), f64::NEG_INFINITY, 100.0, terms);
    }
    program
}

#[test]
fn a_solver_stopped_by_its_time_limit_has_a_status() {
    let program = hopeless();
    for solver in [&Highs as &dyn Solver, &GoodLp] {
        let answer = solver.solve(&program, &Limits { seconds: 0.5 });
        assert_eq!((answer.status, answer.optimum()), (Status::TimeLimit, None), "{}", solver.name());
        assert!(answer.seconds < 10.0);
        if let (Some(bound), Some(objective)) = (answer.dual_bound, answer.review.objective) {
            assert!(bound <= objective);
        }
    }
    let program = heavy(300);
    for solver in all() {
        let answer = solver.solve(&program, &Limits { seconds: 0.001 });
        assert_eq!((answer.status, answer.optimum()), (Status::TimeLimit, None), "{}", solver.name());
        // Whatever the duals of an interrupted run are, the bound that we make of them holds.
        assert!(answer.review.safe_bound.is_none_or(|bound| bound < -10.0));
    }
    assert_eq!(
        Minilp { max_rows: 299, ..Minilp::default() }.solve(&program, &Limits::default()).status,
        Status::TooLarge
    );
    let few = Minilp { max_nonzeros: 89_999, ..Minilp::default() };
    assert_eq!(few.solve(&program, &Limits::default()).status, Status::TooLarge);
    for (max_rows, max_nonzeros) in [(299, usize::MAX), (usize::MAX, 89_999)] {
        let small = Clarabel { max_rows, max_nonzeros };
        assert_eq!(small.solve(&program, &Limits::default()).status, Status::TooLarge);
    }
}

#[test]
fn no_limit_and_negative_limits_are_limits_too() {
    let program = heavy(30);
    let optimum = Highs.solve(&program, &Limits::default()).optimum().unwrap();
    for solver in all() {
        let answer = solver.solve(&program, &Limits { seconds: f64::INFINITY });
        assert!((answer.optimum().unwrap() - optimum).abs() < 1e-6, "{}: {}", solver.name(), answer.status);
        let answer = solver.solve(&program, &Limits { seconds: -1.0 });
        assert!(matches!(answer.status, Status::TimeLimit | Status::Busy | Status::Optimal), "{}", answer.status);
    }
}

/// Each solve of a session has the whole limit, though HiGHS' clock runs on from LP to LP and starts anew with each
/// MILP.
#[test]
fn a_session_has_the_same_limit_every_time() {
    let mut session = HighsSession::new(hopeless()).unwrap();
    let seconds = [(); 3].map(|()| {
        let answer = session.solve(&Limits { seconds: 0.4 });
        assert_eq!(answer.status, Status::TimeLimit);
        answer.seconds
    });
    assert!(seconds[2] > 0.2 && seconds[2] < 2.0 * seconds[0] + 0.3, "{seconds:?}");
    let mut session = HighsSession::new(heavy(100)).unwrap();
    let (mut total, limit) = (0.0, 0.5);
    for round in 0.. {
        for variable in 0..100 {
            session.set_objective(variable, -f64::from((variable as u32 * 7 + round) % 11));
        }
        let answer = session.solve(&Limits { seconds: limit });
        assert_eq!(answer.status, Status::Optimal, "after {total} seconds");
        total += answer.seconds;
        if total > 2.0 * limit {
            break;
        }
    }
}
