//! Problems small enough to solve on paper, given to every model and every solver.
#![cfg(feature = "solvers")]

mod common;

use common::{close, counterexample, dense, linear, one};
use gcnproof_verify::formulation::Unit;
use gcnproof_verify::solver::{Clarabel, GoodLp, Highs, Limits, Minilp, Solver, Status};
use gcnproof_verify::{Dense, Form, Instance, Sparse, enumeration, network, relaxation};

/// Asserts all four numbers of the instance, by all solvers that can.
#[track_caller]
fn expect(instance: &Instance, lp: f64, ilp: f64, worst_case: f64) {
    let limits = Limits::default();
    let relaxed = relaxation::linear_program(instance, Form::Appendix).unwrap();
    for solver in [&Highs as &dyn Solver, &GoodLp, &Minilp::default(), &Clarabel::default()] {
        let answer = solver.solve(&relaxed.program, &limits);
        assert_eq!(answer.status, Status::Optimal, "{}", solver.name());
        close(answer.optimum().unwrap(), lp, 1e-9);
        if let Some(bound) = answer.review.safe_bound {
            assert!(bound <= lp && lp - bound < 1e-9, "{}: safe bound {bound} of {lp}", solver.name());
        }
    }
    let integer = relaxation::integer_program(instance, Form::Appendix).unwrap();
    let mixed = network::mixed_program(instance, Form::Appendix).unwrap();
    for solver in [&Highs as &dyn Solver, &GoodLp] {
        close(solver.solve(&integer.program, &limits).optimum().unwrap(), ilp, 1e-9);
        let answer = solver.solve(&mixed.program, &limits);
        close(answer.optimum().unwrap(), worst_case, 1e-9);
        let incumbent = network::incumbent(&mixed, instance, &answer).unwrap();
        assert!(incumbent.admissible);
        close(incumbent.margin, worst_case, 1e-9);
    }
    close(enumeration::minimum(instance, 10_000).unwrap().margin, worst_case, 1e-12);
}

/// The paper's Theorem "m̃ = m̂" is false: the LP sits at x = ½ and says -¼, both binary points say +¼.
#[test]
fn the_integrality_theorem_fails_on_one_node_with_one_attribute() {
    let instance = counterexample();
    assert_eq!(
        (instance.lower[0].values.as_slice(), instance.upper[0].values.as_slice()),
        (&[-0.5; 2][..], &[0.5; 2][..])
    );
    expect(&instance, -0.25, 0.25, 0.25);
    let model = relaxation::linear_program(&instance, Form::Appendix).unwrap();
    for solver in [&Highs as &dyn Solver, &GoodLp, &Minilp::default(), &Clarabel::default()] {
        let values = solver.solve(&model.program, &Limits::default()).values.unwrap();
        close(values[model.attribute(0, 0)], 0.5, 1e-9);
        assert_eq!(model.fractional(&instance, &values, 1e-6), 1);
    }
}

/// Without hidden layers everything is linear and the four numbers agree: the best two of the flips worth
/// -2 (x_01), -1 (x_00), -1 (x_11), -½ (x_10, x_12) with at most one of row 0.
#[test]
fn a_linear_model_takes_the_best_flips_that_the_budgets_allow() {
    expect(&linear(), 0.0, 0.0, 0.0);
    let relaxed = |change: fn(&mut Instance)| {
        let mut instance = linear();
        change(&mut instance);
        instance
    };
    expect(&relaxed(|i| i.global_budget = 0), 3.0, 3.0, 3.0);
    expect(&relaxed(|i| i.global_budget = 1), 1.0, 1.0, 1.0);
    expect(&relaxed(|i| i.local_budget = vec![0, 9]), 1.5, 1.5, 1.5);
    expect(&relaxed(|i| i.local_budget = vec![usize::MAX, 2]), 0.0, 0.0, 0.0);
    expect(&relaxed(|i| (i.global_budget, i.local_budget) = (9, vec![9, 9])), -2.0, -2.0, -2.0);
    expect(&relaxed(|i| i.may_add = false), 1.5, 1.5, 1.5);
    expect(&relaxed(|i| i.may_remove = false), 0.0, 0.0, 0.0);
    expect(&relaxed(|i| i.frozen_attributes = vec![false, true, false]), 1.5, 1.5, 1.5);
    expect(&relaxed(|i| i.objective = vec![0.0, 0.0]), 0.0, 0.0, 0.0);
    // A negative entry turns the sign of what a flip does: 1 + x_00 - … - ½ (…): now row 1 gains by adding nothing.
    expect(&relaxed(|i| i.message_passing[0].entries[1].2 = -0.5), -1.0 + 0.0, -1.0, -1.0);
}

/// `-relu(x - ½)`: the chord over [-½, ½] passes 0 at x = 0 and ½ at x = 1, where the relaxation is exact.
#[test]
fn at_the_ends_of_its_interval_the_chord_is_exact() {
    let mut instance = counterexample();
    instance.weights[1] = dense(&[&[-1.0, 0.0], &[0.0, 0.0]]);
    instance.biases[1] = vec![0.0, 0.0];
    expect(&instance, -0.5, -0.5, -0.5);
}

/// `relu(a) - 2 relu(b)` with a = x₀ - ½, b = x₀ + x₁ - 1, Q = 1: only {}, {0}, {1} are admissible and relu(b) = 0 on all,
/// but b ∈ [-1, 0] makes the unit off, so nothing is loose: the worst case is 0.
#[test]
fn a_unit_with_upper_bound_zero_is_off() {
    let mut instance = Instance {
        message_passing: vec![one(), one()],
        dimension: 2,
        attributes: vec![vec![]],
        weights: vec![dense(&[&[1.0, 1.0], &[0.0, 1.0]]), dense(&[&[1.0], &[-2.0]])],
        biases: vec![vec![-0.5, -1.0], vec![0.0]],
        local_budget: vec![2],
        global_budget: 1,
        may_add: true,
        may_remove: true,
        objective: vec![1.0],
        ..Instance::default()
    };
    instance.fill_bounds().unwrap();
    let model = relaxation::linear_program(&instance, Form::Appendix).unwrap();
    assert_eq!(model.unit(2, 0, 1), Unit::Off);
    expect(&instance, 0.0, 0.0, 0.0);
}

/// `-2 relu(x)` with x ∈ {0, 1}: R = 0 < S. The unit is active, never off; code that calls it off certifies a node that flips.
#[test]
fn a_unit_with_lower_bound_zero_is_active() {
    let mut instance = Instance {
        message_passing: vec![one(), one()],
        dimension: 1,
        attributes: vec![vec![]],
        weights: vec![dense(&[&[1.0]]), dense(&[&[-2.0]])],
        biases: vec![vec![0.0], vec![1.0]],
        local_budget: vec![1],
        global_budget: 1,
        may_add: true,
        may_remove: true,
        objective: vec![1.0],
        ..Instance::default()
    };
    instance.fill_bounds().unwrap();
    assert_eq!((instance.lower[0].at(0, 0), instance.upper[0].at(0, 0)), (0.0, 1.0));
    assert!(matches!(
        relaxation::linear_program(&instance, Form::Appendix).unwrap().unit(2, 0, 0),
        Unit::Active { .. }
    ));
    expect(&instance, -1.0, -1.0, -1.0);
    // With nothing to flip R = S = 0, where off and active are the same.
    instance.global_budget = 0;
    instance.fill_bounds().unwrap();
    expect(&instance, 1.0, 1.0, 1.0);
}

/// Three weight layers, by hand: x ∈ {0, 1}, y = relu(x - ½) ∈ {0, ½}, z = relu(1 - 2y) ∈ {1, 0}, margin z - ¼.
/// Bounds: Ĥ(2) ∈ [-½, ½], so y ∈ [0, ½] and Ĥ(3) ∈ [0, 1]: active. The LP: z = 1 - 2y with y ≤ ½ x, so -¼ at x = 1.
#[test]
fn a_deeper_network() {
    let mut instance = Instance {
        message_passing: vec![one(), one(), one()],
        dimension: 1,
        attributes: vec![vec![]],
        weights: vec![dense(&[&[1.0]]), dense(&[&[-2.0]]), dense(&[&[1.0]])],
        biases: vec![vec![-0.5], vec![1.0], vec![-0.25]],
        local_budget: vec![1],
        global_budget: 1,
        may_add: true,
        may_remove: true,
        objective: vec![1.0],
        ..Instance::default()
    };
    instance.fill_bounds().unwrap();
    assert_eq!((instance.lower[1].at(0, 0), instance.upper[1].at(0, 0)), (0.0, 1.0));
    expect(&instance, -0.25, -0.25, -0.25);
}

/// A target without neighbours, in both shapes: alone with itself, and with nothing at all (the bias decides).
#[test]
fn a_target_without_neighbours() {
    let mut alone = counterexample();
    alone.local_budget = vec![0];
    alone.fill_bounds().unwrap();
    expect(&alone, 0.25, 0.25, 0.25);

    let mut nothing = counterexample();
    nothing.message_passing[0] = Sparse { rows: 1, columns: 0, entries: vec![] };
    (nothing.attributes, nothing.local_budget) = (vec![], vec![]);
    nothing.fill_bounds().unwrap();
    expect(&nothing, 0.25, 0.25, 0.25);

    let mut deaf = counterexample();
    deaf.message_passing[1].entries.clear();
    deaf.fill_bounds().unwrap();
    expect(&deaf, -0.25, -0.25, -0.25);

    let mut featureless = counterexample();
    featureless.dimension = 0;
    featureless.weights[0] = Dense::zeros(0, 2);
    featureless.fill_bounds().unwrap();
    expect(&featureless, 0.25, 0.25, 0.25);
}
