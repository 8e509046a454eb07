//! The two solvers in pure Rust, minilp and Clarabel: all that is needed to check an LP without HiGHS.
use gcnproof_verify::solver::{Clarabel, Limits, Minilp, Solver, Status};
use gcnproof_verify::{Form, Program, random, relaxation};

fn near(left: f64, right: f64, what: &str) {
    assert!((left - right).abs() <= 1e-8 * (1.0 + right.abs()), "{what}: {left} and {right}");
}

/// min x + y - 2z with x + y ≥ 1 and z - x ≤ ¼ in the unit cube, y fixed at ½ by its box: x = ¾, z = 1.
fn small() -> Program {
    let mut program = Program::default();
    for (name, lower, upper, cost) in [("x_0", 0.0, 1.0, 1.0), ("y_0", 0.5, 0.5, 1.0), ("z_0", 0.0, 1.0, -2.0)] {
        let at = program.add_variable(name, lower, upper);
        program.variables[at].objective = cost;
    }
    program.add_row("cover_0", 1.0, f64::INFINITY, [(0, 1.0), (1, 1.0)]);
    program.add_row("lead_0", f64::NEG_INFINITY, 0.25, [(0, -1.0), (2, 1.0)]);
    program
}

/// Primal and dual objective by hand. Raising the side of `lead` by ε saves ε of x, so its dual is -1.
#[test]
fn clarabel_finds_the_point_and_its_multipliers() {
    let answer = Clarabel::default().solve(&small(), &Limits::default());
    assert_eq!(answer.status, Status::Optimal);
    let (primal, dual) = (answer.optimum().unwrap(), answer.review.safe_bound.unwrap());
    near(primal, 0.75 + 0.5 - 2.0, "primal objective");
    near(dual, 0.75 + 0.5 - 2.0, "dual objective");
    near(answer.objective.unwrap(), primal, "its own word");
    let (values, duals, costs) = (answer.values.unwrap(), answer.row_duals.unwrap(), answer.reduced_costs.unwrap());
    for (at, (value, cost)) in [(0.75, 0.0), (0.5, 1.0), (1.0, -1.0)].into_iter().enumerate() {
        near(values[at], value, "value");
        near(costs[at], cost, "reduced cost");
    }
    near(duals[0], 0.0, "cover does not bind");
    near(duals[1], -1.0, "lead binds above");
}

/// On every LP both answer, the points are worth the same, and Clarabel's duals prove it.
#[test]
fn the_two_agree_on_random_problems_and_the_gap_closes() {
    let generators = [random::instance, random::network_of_terms];
    for (seed, generator) in (0..250).flat_map(|seed| generators.map(|generator| (seed, generator))) {
        let instance = generator(seed, 2 + (seed % 4) as usize);
        for form in [Form::Appendix, Form::Compact] {
            let what = format!("seed {seed} {form:?}");
            let program = relaxation::linear_program(&instance, form).unwrap().program;
            let simplex = Minilp::default().solve(&program, &Limits::default()).optimum().unwrap();
            let answer = Clarabel::default().solve(&program, &Limits::default());
            assert_eq!(answer.status, Status::Optimal, "{what}");
            near(answer.optimum().unwrap(), simplex, &what);
            near(answer.review.safe_bound.unwrap(), simplex, &what);
        }
    }
}

#[test]
fn integers_and_contradictions_are_told() {
    let mut program = small();
    program.variables[0].integer = true;
    for solver in [&Minilp::default() as &dyn Solver, &Clarabel::default()] {
        assert_eq!(solver.solve(&program, &Limits::default()).status, Status::Unsupported);
    }
    program.variables[0].integer = false;
    program.add_row("never_0", 5.0, f64::INFINITY, [(0, 1.0), (2, 1.0)]);
    for solver in [&Minilp::default() as &dyn Solver, &Clarabel::default()] {
        assert_eq!(solver.solve(&program, &Limits::default()).status, Status::Infeasible);
    }
}
