//! Problems small enough to solve on paper, given to every model and every solver.
use crate::common;

use common::{chain, close, counterexample, dense, linear, one};
use gcnproof_verify::formulation::Unit;
use gcnproof_verify::solver::{Clarabel, GoodLp, Highs, Limits, Minilp, Solver, Status};
use gcnproof_verify::{Dense, Form, Instance, Layer, Sparse, Term, enumeration, network, relaxation};

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
    expect(&relaxed(|i| i.layers[0].terms[0].passing.entries[1].2 = -0.5), -1.0 + 0.0, -1.0, -1.0);
}

/// `-relu(x - ½)`: the chord over [-½, ½] passes 0 at x = 0 and ½ at x = 1, where the relaxation is exact.
#[test]
fn at_the_ends_of_its_interval_the_chord_is_exact() {
    let mut instance = counterexample();
    instance.layers[1] = Layer::convolution(one(), dense(&[&[-1.0, 0.0], &[0.0, 0.0]]), vec![0.0, 0.0]);
    expect(&instance, -0.5, -0.5, -0.5);
}

/// `relu(a) - 2 relu(b)` with a = x₀ - ½, b = x₀ + x₁ - 1, Q = 1: only {}, {0}, {1} are admissible and relu(b) = 0 on
/// all, but b ∈ [-1, 0] makes the unit off, so nothing is loose: the worst case is 0.
#[test]
fn a_unit_with_upper_bound_zero_is_off() {
    let mut instance = Instance {
        layers: chain([(dense(&[&[1.0, 1.0], &[0.0, 1.0]]), vec![-0.5, -1.0]), (dense(&[&[1.0], &[-2.0]]), vec![0.0])]),
        dimension: 2,
        attributes: vec![vec![]],
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

/// `-2 relu(x)` with x ∈ {0, 1}: R = 0 < S. The unit is active, never off; code that calls it off certifies a node that
/// flips.
#[test]
fn a_unit_with_lower_bound_zero_is_active() {
    let mut instance = Instance {
        layers: chain([(dense(&[&[1.0]]), vec![0.0]), (dense(&[&[-2.0]]), vec![1.0])]),
        dimension: 1,
        attributes: vec![vec![]],
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
        layers: chain([
            (dense(&[&[1.0]]), vec![-0.5]),
            (dense(&[&[-2.0]]), vec![1.0]),
            (dense(&[&[1.0]]), vec![-0.25]),
        ]),
        dimension: 1,
        attributes: vec![vec![]],
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
    nothing.layers[0].terms[0].passing = Sparse { rows: 1, columns: 0, entries: vec![] };
    (nothing.attributes, nothing.local_budget) = (vec![], vec![]);
    nothing.fill_bounds().unwrap();
    expect(&nothing, 0.25, 0.25, 0.25);

    let mut deaf = counterexample();
    deaf.layers[1].terms[0].passing.entries.clear();
    deaf.fill_bounds().unwrap();
    expect(&deaf, -0.25, -0.25, -0.25);

    let mut featureless = counterexample();
    featureless.dimension = 0;
    featureless.layers[0].terms[0].weight = Dense::zeros(0, 2);
    featureless.fill_bounds().unwrap();
    expect(&featureless, 0.25, 0.25, 0.25);
}

/// GraphSAGE with one hidden layer on three nodes, target 0 with neighbours 1 and 2: `h = relu(x_0 - ½ (x_1 + x_2))`,
/// the margin is `h + ½`. From X = (1, 0, 0) a flip of x_0 takes 1 from the unit, one of x_1 or x_2 takes ½.
/// Representation 2 is the target alone.
#[test]
fn the_node_itself_and_the_mean_of_its_neighbours() {
    let own = Sparse { rows: 1, columns: 3, entries: vec![(0, 0, 1.0)] };
    let mean = Sparse { rows: 1, columns: 3, entries: vec![(0, 1, 0.5), (0, 2, 0.5)] };
    let hidden = Layer {
        terms: vec![Term { passing: own, weight: dense(&[&[1.0]]) }, Term { passing: mean, weight: dense(&[&[-1.0]]) }],
        bias: dense(&[&[0.0]]),
        linear: vec![],
    };
    let mut instance = Instance {
        layers: vec![hidden, Layer::convolution(one(), dense(&[&[1.0]]), vec![0.5])],
        dimension: 1,
        attributes: vec![vec![0], vec![], vec![]],
        local_budget: vec![1, 1, 1],
        global_budget: 1,
        may_add: true,
        may_remove: true,
        objective: vec![1.0],
        ..Instance::default()
    };
    instance.fill_bounds().unwrap();
    assert_eq!((instance.lower[0].at(0, 0), instance.upper[0].at(0, 0)), (0.0, 1.0));
    assert_eq!(instance.forward(&[]), 1.5);
    expect(&instance, 0.5, 0.5, 0.5);
    // Two flips: down to 1 - 1 - ½ = -½, so the unit is unstable; but relu stops at 0, relaxed or not.
    instance.global_budget = 2;
    instance.fill_bounds().unwrap();
    assert_eq!((instance.lower[0].at(0, 0), instance.upper[0].at(0, 0)), (-0.5, 1.0));
    expect(&instance, 0.5, 0.5, 0.5);
    // Turned round, margin ½ - h from X = (0, 1, 1): the most that two flips make of the unit is 0 + 1 - ½ = ½.
    instance.attributes = vec![vec![], vec![0], vec![0]];
    instance.layers[1].terms[0].weight = dense(&[&[-1.0]]);
    instance.fill_bounds().unwrap();
    assert_eq!((instance.lower[0].at(0, 0), instance.upper[0].at(0, 0)), (-1.0, 0.5));
    expect(&instance, 0.0, 0.0, 0.0);
    // Without activation nothing stops the unit of the first margin at 0: h = 1 - 1 - ½.
    instance.attributes = vec![vec![0], vec![], vec![]];
    instance.layers[1].terms[0].weight = dense(&[&[1.0]]);
    instance.layers[0].linear = vec![true];
    instance.fill_bounds().unwrap();
    expect(&instance, 0.0, 0.0, 0.0);
}

/// Two operators with an entry at the same place: `x_d` acts by the sum. With A_1 = A_2 = 1, W_1 = (2, 1), W_2 = (-2,
/// 1) the unit is `2 x_1 - 1`, and attribute 0 is worth nothing at all, though each term alone would say ±2.
#[test]
fn operators_with_a_common_entry_act_by_their_sum() {
    let term = |first: f64| Term { passing: one(), weight: dense(&[&[first], &[1.0]]) };
    let hidden = Layer { terms: vec![term(2.0), term(-2.0)], bias: dense(&[&[-1.0]]), linear: vec![] };
    let mut instance = Instance {
        layers: vec![hidden, Layer::convolution(one(), dense(&[&[-1.0]]), vec![0.75])],
        dimension: 2,
        attributes: vec![vec![]],
        local_budget: vec![2],
        global_budget: 2,
        may_add: true,
        may_remove: true,
        objective: vec![1.0],
        ..Instance::default()
    };
    instance.fill_bounds().unwrap();
    assert_eq!((instance.lower[0].at(0, 0), instance.upper[0].at(0, 0)), (-1.0, 1.0));
    let model = relaxation::linear_program(&instance, Form::Compact).unwrap();
    let row = &model.program.rows[model.first_equation(2)];
    assert_eq!(row.coefficients.len(), 2, "the unit and x_1, not x_0: {row:?}");
    // The chord of relu over [-1, 1] is (z + 1) / 2, exact at both ends: -1 + ¾ at x_1 = 1.
    expect(&instance, -0.25, -0.25, -0.25);
    // The opposite margin `relu(2 x_1 - 1)` from x_1 = 1, which the attacker takes: 0 at x_1 = 0 and down to x_1 = ½.
    instance.attributes = vec![vec![1]];
    instance.layers[1].terms[0].weight = dense(&[&[1.0]]);
    instance.fill_bounds().unwrap();
    expect(&instance, 0.75, 0.75, 0.75);
    // In a deeper layer too: the sum of 1·h and -1·h is nothing, and bounds by interval arithmetic know it.
    let mut deep = counterexample();
    let both = |sign: f64| Term { passing: one(), weight: dense(&[&[sign], &[sign]]) };
    deep.layers[1] = Layer { terms: vec![both(1.0), both(-1.0)], bias: dense(&[&[-3.0]]), linear: vec![true] };
    deep.layers.push(Layer::convolution(one(), dense(&[&[1.0]]), vec![2.0]));
    deep.objective = vec![1.0];
    deep.fill_bounds().unwrap();
    assert_eq!((deep.lower[1].at(0, 0), deep.upper[1].at(0, 0)), (-3.0, -3.0));
    expect(&deep, -1.0, -1.0, -1.0);
}

/// A skip: representation 2 has `relu(x - ½)` and carries `x` on; the margin is `2 relu(x - ½) - x + ¼`. Both binary
/// points say ¼ at x = 0 and 1 - 1 + ¼ at x = 1, while the LP goes to x = ½ with -¼: the carried unit is exact, the
/// other one is not.
#[test]
fn a_linear_unit_carries_an_attribute_past_the_activation() {
    let carried =
        Layer { linear: vec![false, true], ..Layer::convolution(one(), dense(&[&[1.0, 1.0]]), vec![-0.5, 0.0]) };
    let mut instance = Instance {
        layers: vec![carried, Layer::convolution(one(), dense(&[&[2.0], &[-1.0]]), vec![0.25])],
        dimension: 1,
        attributes: vec![vec![]],
        local_budget: vec![1],
        global_budget: 1,
        may_add: true,
        may_remove: true,
        objective: vec![1.0],
        ..Instance::default()
    };
    instance.fill_bounds().unwrap();
    expect(&instance, -0.25, 0.25, 0.25);
    // Carried with the opposite sign its values are negative, and nothing clips them: -x instead of x, weight 1.
    *instance.layers[0].terms[0].weight.at_mut(0, 1) = -1.0;
    *instance.layers[1].terms[0].weight.at_mut(1, 0) = 1.0;
    instance.fill_bounds().unwrap();
    assert_eq!((instance.lower[0].at(0, 1), instance.upper[0].at(0, 1)), (-1.0, 0.0));
    let model = network::mixed_program(&instance, Form::Appendix).unwrap();
    assert!(matches!(model.unit(2, 0, 1), Unit::Linear { .. }) && matches!(model.unit(2, 0, 0), Unit::Unstable { .. }));
    assert_eq!(model.program.variables.iter().filter(|variable| variable.name.starts_with("on_")).count(), 1);
    expect(&instance, -0.25, 0.25, 0.25);
    // Without any activation the margin is linear: 2 (x - ½) - x + ¼.
    instance.layers[0].linear = vec![true, true];
    instance.fill_bounds().unwrap();
    expect(&instance, -0.75, -0.75, -0.75);
}

/// One bias per node: two hidden nodes with the same weights, `relu(x - ½)` and `relu(x + 1)` of the same attribute;
/// the margin is the first minus the second: -1 at x = 0, ½ - 2 at x = 1.
#[test]
fn a_bias_may_differ_from_node_to_node() {
    let both = Sparse { rows: 2, columns: 1, entries: vec![(0, 0, 1.0), (1, 0, 1.0)] };
    let hidden = Layer { bias: dense(&[&[-0.5], &[1.0]]), ..Layer::convolution(both, dense(&[&[1.0]]), vec![]) };
    let minus = Sparse { rows: 1, columns: 2, entries: vec![(0, 0, 1.0), (0, 1, -1.0)] };
    let mut instance = Instance {
        layers: vec![hidden, Layer::convolution(minus, dense(&[&[1.0]]), vec![0.0])],
        dimension: 1,
        attributes: vec![vec![]],
        local_budget: vec![1],
        global_budget: 1,
        may_add: true,
        may_remove: true,
        objective: vec![1.0],
        ..Instance::default()
    };
    instance.fill_bounds().unwrap();
    assert_eq!((instance.forward(&[]), instance.forward(&[(0, 0)])), (-1.0, -1.5));
    // The LP: relu ≥ x - ½ and ≥ 0, so max(0, x - ½) - x - 1 is least at x = 1, and at any x ≥ ½: -1.5.
    expect(&instance, -1.5, -1.5, -1.5);
}
