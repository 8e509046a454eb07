//! What an instance is: the forward pass, who may flip what, bounds, counting, and everything that `validate` refuses.

mod common;

use common::{counterexample, dense, linear, one};
use gcnproof_verify::{Dense, Instance, InstanceError, Sparse, enumeration, random};

#[test]
fn the_forward_pass_is_the_network() {
    let instance = counterexample();
    assert_eq!(instance.forward(&[]), 0.25); // relu(-½) + relu(½) - ¼
    assert_eq!(instance.forward(&[(0, 0)]), 0.25); // relu(½) + relu(-½) - ¼
    let instance = linear();
    assert_eq!(instance.forward(&[]), 3.0);
    assert_eq!(instance.forward(&[(0, 1)]), 1.0);
    assert_eq!(instance.forward(&[(0, 1), (1, 1)]), 0.0);
    // A flip made twice is undone.
    assert_eq!(instance.forward(&[(0, 1), (0, 1)]), 3.0);
}

#[test]
fn budgets_directions_and_frozen_attributes_decide_what_is_admissible() {
    let mut instance = linear();
    assert!(instance.admits(&[]) && instance.admits(&[(0, 1), (1, 1)]) && instance.admits(&[(1, 0), (1, 1)]));
    assert!(!instance.admits(&[(0, 0), (0, 1)]), "more than q_0");
    assert!(!instance.admits(&[(0, 0), (1, 0), (1, 1)]), "more than Q");
    assert!(!instance.admits(&[(1, 0), (1, 0)]), "twice the same");
    assert!(!instance.admits(&[(2, 0)]) && !instance.admits(&[(0, 3)]), "outside");
    instance.may_add = false;
    assert_eq!((instance.flippable(0), instance.flippable(1)), (vec![0], vec![0, 2]));
    (instance.may_add, instance.may_remove) = (true, false);
    assert_eq!((instance.flippable(0), instance.flippable(1)), (vec![1, 2], vec![1]));
    instance.frozen_attributes = vec![false, true, false];
    assert_eq!((instance.flippable(0), instance.flippable(1)), (vec![2], vec![]));
    assert!(!instance.admits(&[(0, 1)]));
    instance.global_budget = 0;
    assert!(instance.flippable(0).is_empty() && instance.admits(&[]));
}

#[test]
fn bounds_of_the_second_representation_are_attained_and_deeper_ones_hold() {
    let (mut checked, mut deep) = (0, 0);
    for seed in 0..1500 {
        let instance = random::instance(seed, 3 + (seed % 3) as usize);
        let (least, most) = enumeration::extremes(&instance, 10_000).unwrap();
        for (layer, (r, s)) in instance.lower.iter().zip(&instance.upper).enumerate() {
            let bounds = r.values.iter().zip(&s.values);
            let attained = least[layer].values.iter().zip(&most[layer].values);
            for ((r, s), (low, high)) in bounds.zip(attained) {
                assert!(r - 1e-12 <= *low && *high <= s + 1e-12, "seed {seed}");
                if layer == 0 {
                    assert!((r - low).abs() < 1e-12 && (s - high).abs() < 1e-12, "seed {seed}: layer 2 is tight");
                    checked += 1;
                } else {
                    deep += 1;
                }
            }
        }
    }
    assert!(checked > 3000 && deep > 3000);
}

#[test]
fn perturbations_are_counted_before_they_are_tried() {
    // q = (1, 2), three entries a row, Q = 2: 1 + 6 + (3·3 + 3).
    let instance = linear();
    assert_eq!(enumeration::count(&instance), 19);
    let mut seen = std::collections::BTreeSet::new();
    let count = enumeration::visit(&instance, 19, |flips| {
        assert!(instance.admits(flips));
        assert!(seen.insert(flips.to_vec()), "{flips:?} came twice");
    });
    assert_eq!((count, seen.len()), (Ok(19), 19));
    assert_eq!(enumeration::minimum(&instance, 18), Err(enumeration::TooMany(19)));

    for seed in 0..300 {
        let instance = random::instance(seed, 2);
        let mut tried = 0;
        assert_eq!(enumeration::visit(&instance, 10_000, |_| tried += 1), Ok(enumeration::count(&instance)));
        assert_eq!(tried, enumeration::count(&instance), "seed {seed}");
    }
}

#[test]
fn large_counts_are_exact_and_larger_ones_saturate() {
    let mut instance = linear();
    instance.dimension = 3000;
    (instance.local_budget, instance.global_budget) = (vec![12, 12], 1);
    assert_eq!(enumeration::count(&instance), 6001);
    instance.global_budget = 2;
    assert_eq!(enumeration::count(&instance), 1 + 6000 + 6000 * 5999 / 2);
    instance.global_budget = usize::MAX;
    instance.local_budget = vec![usize::MAX, usize::MAX];
    assert_eq!(enumeration::count(&instance), u128::MAX);
    instance.global_budget = 60;
    assert_eq!(enumeration::minimum(&instance, 1 << 100), Err(enumeration::TooMany(u128::MAX)));
}

#[test]
fn every_kind_of_nonsense_is_refused() {
    type Spoil = fn(&mut Instance);
    let cases: [(Spoil, &str); 15] = [
        (|i| i.weights.clear(), "no weight layer"),
        (|i| i.message_passing[1].rows = 2, "targets"),
        (|i| i.message_passing.truncate(1), "message passing"),
        (|i| i.message_passing[0].entries.push((0, 7, 1.0)), "outside the matrix"),
        (|i| i.message_passing[0].entries.push((0, 0, 1.0)), "twice"),
        (|i| i.message_passing[0].entries[0].2 = f64::NAN, "not finite"),
        (|i| i.weights[1] = dense(&[&[1.0, 2.0]]), "rows of the weights"),
        (|i| i.weights[0].values.truncate(1), "weights"),
        (|i| i.biases[1][0] = f64::INFINITY, "not finite"),
        (|i| i.attributes[0] = vec![1], "ascending"),
        (|i| i.local_budget.push(1), "local budgets"),
        (|i| i.frozen_attributes = vec![true; 2], "frozen"),
        (|i| i.objective.push(0.0), "objective"),
        (|i| i.lower.clear(), "lower bounds"),
        (|i| i.upper[0].values[1] = -9.0, "unit 1 of node 0 in representation 2"),
    ];
    counterexample().validate().unwrap();
    for (spoil, message) in cases {
        let mut instance = counterexample();
        spoil(&mut instance);
        let error = instance.validate().unwrap_err().to_string();
        assert!(error.contains(message), "{error:?} does not mention {message:?}");
    }
    let huge = Dense { rows: usize::MAX, columns: 2, values: vec![] };
    let broken = Instance { weights: vec![huge], ..counterexample() };
    assert!(broken.validate().is_err());
    assert_eq!(Instance::default().validate(), Err(InstanceError::NoLayer));
}

#[test]
fn the_generator_is_reproducible_and_reaches_the_awkward_corners() {
    assert_eq!(random::instance(7, 4), random::instance(7, 4));
    assert_ne!(random::instance(7, 4), random::instance(8, 4));
    let all: Vec<Instance> = (0..1000).map(|seed| random::instance(seed, 3)).collect();
    let some = |what: &dyn Fn(&Instance) -> bool| assert!(all.iter().filter(|instance| what(instance)).count() >= 5);
    some(&|i| i.nodes() == 0);
    some(&|i| i.dimension == 0);
    some(&|i| i.global_budget == 0);
    some(&|i| i.global_budget == usize::MAX);
    some(&|i| i.local_budget.contains(&0));
    some(&|i| i.local_budget.iter().any(|&q| q > i.dimension));
    some(&|i| i.objective.iter().all(|&c| c == 0.0));
    some(&|i| !i.may_add);
    some(&|i| !i.may_remove);
    some(&|i| i.frozen_attributes.contains(&true));
    some(&|i| i.message_passing[0].entries.iter().any(|entry| entry.2 < 0.0));
    some(&|i| i.message_passing[1].entries.is_empty());
    some(&|i| i.lower[0].values.iter().zip(&i.upper[0].values).any(|(r, s)| *r == 0.0 && *s > 0.0));
    some(&|i| i.lower[0].values.iter().zip(&i.upper[0].values).any(|(r, s)| *r < 0.0 && *s == 0.0));
    some(&|i| i.lower[0].values.iter().zip(&i.upper[0].values).any(|(r, s)| *r == 0.0 && *s == 0.0));
}

#[test]
fn a_network_of_one_number_is_an_instance_too() {
    let mut instance = Instance {
        message_passing: vec![Sparse { rows: 1, columns: 0, entries: vec![] }, one()],
        weights: vec![Dense::zeros(0, 1), dense(&[&[2.0]])],
        biases: vec![vec![3.0], vec![-1.0]],
        objective: vec![1.0],
        ..Instance::default()
    };
    instance.fill_bounds().unwrap();
    instance.validate().unwrap();
    assert_eq!(enumeration::minimum(&instance, 1).unwrap().margin, 5.0);
}
