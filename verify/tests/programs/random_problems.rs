//! Some 2,500 random tiny problems on which all solvers and brute force have to agree.
use crate::common;

use common::close;
use gcnproof_verify::solver::{Clarabel, GoodLp, Highs, Limits, Minilp, Solver, Status};
use gcnproof_verify::{Form, Instance, enumeration, network, random, relaxation};

const TOLERANCE: f64 = 1e-6;

/// What a run over many seeds saw; the counts show that the sample was not trivial.
#[derive(Default, Debug)]
struct Tally {
    problems: usize,
    integrality_gaps: usize,
    relaxation_gaps: usize,
    fractional: usize,
}

type Generator = fn(u64, usize) -> Instance;

fn check_agreement(generator: Generator, seeds: std::ops::Range<u64>, representations: usize) -> Tally {
    let limits = Limits::default();
    let mut tally = Tally::default();
    for seed in seeds {
        let what = format!("seed {seed}, {representations} representations");
        let instance = generator(seed, representations);
        let relaxed = relaxation::linear_program(&instance, Form::Appendix).unwrap();
        let lp = Highs.solve(&relaxed.program, &limits);
        assert_eq!(lp.status, Status::Optimal, "{what}");
        let optimum = lp.optimum().unwrap();
        for solver in [&GoodLp as &dyn Solver, &Minilp::default(), &Clarabel::default()] {
            let other = solver.solve(&relaxed.program, &limits);
            assert_eq!(other.status, Status::Optimal, "{what}: {}", solver.name());
            assert!((other.optimum().unwrap() - optimum).abs() <= TOLERANCE, "{what}: {}", solver.name());
            if let Some(safe) = other.review.safe_bound {
                assert!(safe <= optimum + 1e-9 && optimum - safe <= TOLERANCE, "{what}: {} {safe}", solver.name());
            }
        }
        let safe = lp.review.safe_bound.unwrap();
        assert!(safe <= optimum + 1e-9 && optimum - safe <= TOLERANCE, "{what}: safe bound {safe} of {optimum}");

        let integer = relaxation::integer_program(&instance, Form::Appendix).unwrap();
        let ilp = Highs.solve(&integer.program, &limits).optimum().unwrap();
        assert!(ilp >= optimum - TOLERANCE && ilp >= safe - 1e-9, "{what}: ILP {ilp} below LP {optimum}");

        let mixed = network::mixed_program(&instance, Form::Appendix).unwrap();
        let answer = Highs.solve(&mixed.program, &limits);
        let milp = answer.optimum().unwrap();
        let exact = enumeration::minimum(&instance, 10_000).unwrap();
        assert!((milp - exact.margin).abs() <= TOLERANCE, "{what}: MILP {milp}, brute force {}", exact.margin);
        assert!(exact.margin >= ilp - TOLERANCE, "{what}: the truth {} below ILP {ilp}", exact.margin);
        let incumbent = network::incumbent(&mixed, &instance, &answer).unwrap();
        assert!(incumbent.admissible && (incumbent.margin - exact.margin).abs() <= TOLERANCE, "{what}");
        assert!(answer.dual_bound.is_none_or(|bound| bound <= exact.margin + TOLERANCE), "{what}");
        if seed % 4 == 0 {
            let mut anchored = mixed.clone();
            network::add_anchors(&mut anchored, &instance);
            let answer = Highs.solve(&anchored.program, &limits);
            assert!((answer.optimum().unwrap() - exact.margin).abs() <= TOLERANCE, "{what}: with anchored rows");
        }

        tally.problems += 1;
        tally.integrality_gaps += usize::from(ilp > optimum + TOLERANCE);
        tally.relaxation_gaps += usize::from(exact.margin > ilp + TOLERANCE);
        tally.fractional += usize::from(relaxed.fractional(&instance, lp.values.as_ref().unwrap(), TOLERANCE) > 0);
    }
    println!("{representations} representations: {tally:?}");
    tally
}

#[test]
fn a_thousand_problems_of_depth_three() {
    let tally = check_agreement(random::instance, 0..1000, 3);
    assert!(tally.integrality_gaps > 30 && tally.relaxation_gaps > 60, "{tally:?}");
}

#[test]
fn a_thousand_problems_of_depth_four() {
    let tally = check_agreement(random::instance, 0..1000, 4);
    assert!(tally.integrality_gaps > 30 && tally.relaxation_gaps > 60, "{tally:?}");
}

#[test]
fn linear_models_have_no_gap_at_all() {
    let tally = check_agreement(random::instance, 0..100, 2);
    assert_eq!((tally.problems, tally.integrality_gaps, tally.relaxation_gaps), (100, 0, 0));
}

#[test]
fn deeper_models() {
    check_agreement(random::instance, 0..100, 5);
}

/// Layers of several terms, linear units, biases per node: two to four weight layers.
#[test]
fn three_hundred_networks_of_terms() {
    for representations in 3..=5 {
        let tally = check_agreement(random::network_of_terms, 0..100, representations);
        assert!(tally.integrality_gaps >= 5 && tally.relaxation_gaps >= 10, "{tally:?}");
    }
}

/// Without an activation anywhere nothing is relaxed, whatever the terms are: `m̂ = m̃ = m`.
#[test]
fn networks_without_activation_have_no_gap_at_all() {
    let linear: Generator = |seed, representations| {
        let mut instance = random::network_of_terms(seed, representations);
        for layer in &mut instance.layers {
            layer.linear = vec![true; layer.units()];
        }
        instance.fill_bounds().unwrap();
        instance
    };
    for representations in 2..=5 {
        let tally = check_agreement(linear, 0..25, representations);
        assert_eq!((tally.problems, tally.integrality_gaps, tally.relaxation_gaps), (25, 0, 0));
    }
}

/// Several terms with one operator are one term with the sum of their weights; dyadic numbers, so that the sum is
/// exact.
#[test]
fn terms_with_the_same_operator_are_one_term() {
    let mut changed = 0;
    for seed in 0..100 {
        let plain = random::instance(seed, 3);
        let mut split = plain.clone();
        for layer in &mut split.layers {
            let mut rest = layer.terms[0].clone();
            for (value, other) in layer.terms[0].weight.values.iter_mut().zip(&mut rest.weight.values) {
                (*value, *other) = (0.5 * *value, 0.5 * *other);
                changed += usize::from(*value != 0.0);
            }
            layer.terms.push(rest);
        }
        split.fill_bounds().unwrap();
        let optima = |instance: &Instance| {
            [relaxation::linear_program, relaxation::integer_program, network::mixed_program].map(|build| {
                let program = build(instance, Form::Compact).unwrap().program;
                Highs.solve(&program, &Limits::default()).optimum().unwrap()
            })
        };
        for (left, right) in optima(&plain).into_iter().zip(optima(&split)) {
            close(left, right, TOLERANCE);
        }
    }
    assert!(changed > 500);
}

/// good_lp has to agree on the integer programs too; fewer, because it is the same engine.
#[test]
fn both_routes_to_highs_agree_on_integer_programs() {
    let several = (5000..5050).map(|seed| random::network_of_terms(seed, 3));
    for instance in (5000..5100).map(|seed| random::instance(seed, 3)).chain(several) {
        for model in [
            relaxation::integer_program(&instance, Form::Appendix).unwrap(),
            network::mixed_program(&instance, Form::Appendix).unwrap(),
        ] {
            let direct = Highs.solve(&model.program, &Limits::default()).optimum().unwrap();
            let routed = GoodLp.solve(&model.program, &Limits::default()).optimum().unwrap();
            close(direct, routed, TOLERANCE);
        }
    }
}

/// Both ways to write the attacker, the appendix's and the compact one, have the same optima.
#[test]
fn the_compact_form_is_the_same_problem() {
    let generators: [Generator; 2] = [random::instance, random::network_of_terms];
    for (seed, generator) in (6000..6100).flat_map(|seed| generators.map(|generator| (seed, generator))) {
        let instance = generator(seed, 2 + (seed % 4) as usize);
        let build = [relaxation::linear_program, relaxation::integer_program, network::mixed_program];
        for program in build {
            let [paper, compact] = [Form::Appendix, Form::Compact].map(|form| program(&instance, form).unwrap());
            assert!(compact.program.rows.len() <= paper.program.rows.len());
            let [left, right] = [&paper, &compact].map(|model| Highs.solve(&model.program, &Limits::default()));
            close(left.optimum().unwrap(), right.optimum().unwrap(), TOLERANCE);
            if let Some(bound) = right.review.safe_bound {
                close(bound, right.optimum().unwrap(), TOLERANCE);
            }
            let incumbent = network::incumbent(&compact, &instance, &right).unwrap();
            assert!(incumbent.admissible || !compact.program.has_integers());
        }
    }
}
