//! What an instance is: the forward pass, who may flip what, bounds, counting, and everything that `validate` refuses.

use crate::common;

use common::{counterexample, dense, linear, one};
use gcnproof_verify::{Dense, Instance, InstanceError, Layer, Sparse, Term, enumeration, random};

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
    bounds_hold(random::instance);
    bounds_hold(random::network_of_terms);
}

fn bounds_hold(generator: fn(u64, usize) -> Instance) {
    let (mut checked, mut deep) = (0, 0);
    for seed in 0..1500 {
        let instance = generator(seed, 3 + (seed % 3) as usize);
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
    let cases: [(Spoil, &str); 21] = [
        (|i| i.layers.clear(), "no weight layer"),
        (|i| i.layers[0].terms.clear(), "layer 1 has no term"),
        (|i| i.layers[1].terms[0].passing.rows = 2, "targets"),
        (|i| drop(i.layers.remove(0)), "rows of the weights (layer 1)"),
        (|i| i.layers[0].terms[0].passing.entries.push((0, 7, 1.0)), "outside the matrix"),
        (|i| i.layers[0].terms[0].passing.entries.push((0, 0, 1.0)), "twice"),
        (|i| i.layers[0].terms[0].passing.entries[0].2 = f64::NAN, "not finite"),
        (|i| i.layers[1].terms[0].weight = dense(&[&[1.0, 2.0]]), "rows of the weights"),
        (|i| i.layers[0].terms[0].weight.values.truncate(1), "weights"),
        (|i| i.layers[1].bias.values[0] = f64::INFINITY, "biases (layer 2) contains a number that is not finite"),
        (|i| i.layers[0].bias = dense(&[&[0.0]]), "biases, units of (layer 1): expected 2, found 1"),
        (|i| i.layers[0].bias = Dense::zeros(3, 2), "one for each of (layer 1): expected 1, found 3"),
        (|i| i.layers[0].bias = Dense::zeros(0, 2), "one for each of (layer 1): expected 1, found 0"),
        (|i| i.layers[0].bias.values.truncate(1), "biases (layer 1): expected 2, found 1"),
        (|i| i.layers[0].linear = vec![true], "flags of linear units (layer 1): expected 2, found 1"),
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
    let mut broken = counterexample();
    broken.layers[0].terms[0].weight = Dense { rows: usize::MAX, columns: 2, values: vec![] };
    assert!(broken.validate().is_err());
    assert_eq!(Instance::default().validate(), Err(InstanceError::NoLayer));
}

/// The first term says what a layer makes; an error in another names layer and term.
#[test]
fn terms_that_do_not_fit_are_refused_by_name() {
    let term = |rows: usize, columns: usize, weight: Dense| Term {
        passing: Sparse { rows, columns, entries: vec![] },
        weight,
    };
    let cases = [
        (term(2, 1, dense(&[&[1.0, 1.0]])), "rows of the message passing (layer 1, term 2): expected 1, found 2"),
        (term(1, 3, dense(&[&[1.0, 1.0]])), "columns of the message passing (layer 1, term 2): expected 1, found 3"),
        (term(1, 1, Dense::zeros(2, 2)), "rows of the weights (layer 1, term 2): expected 1, found 2"),
        (term(1, 1, dense(&[&[1.0]])), "columns of the weights (layer 1, term 2): expected 2, found 1"),
        (term(1, 1, dense(&[&[1.0, f64::NAN]])), "weights (layer 1, term 2) contains a number that is not finite"),
    ];
    for (term, message) in cases {
        let mut instance = counterexample();
        instance.layers[0].terms.push(term);
        assert_eq!(instance.validate().unwrap_err().to_string(), message);
        assert!(instance.fill_bounds().is_err());
    }
    let mut instance = counterexample();
    let second = Term { passing: one(), weight: dense(&[&[0.0, 0.0]]) };
    instance.layers[0].terms.push(second.clone());
    instance.validate().unwrap();
    instance.layers[0].terms[1].passing.entries.push((0, 0, 1.0));
    let error = instance.validate().unwrap_err().to_string();
    assert_eq!(error, "message passing (layer 1, term 2) has the position (0, 0) twice");
    // A layer's flags may be all there, and those of the last say nothing.
    let mut instance = counterexample();
    (instance.layers[0].linear, instance.layers[1].linear) = (vec![false; 2], vec![true; 2]);
    instance.validate().unwrap();
    assert_eq!(instance.forward(&[]), counterexample().forward(&[]));
}

/// The forward pass once more, unit by unit from the definition, for layers of terms.
#[test]
fn the_forward_pass_of_terms_is_the_definition() {
    for seed in 0..500 {
        let instance = random::network_of_terms(seed, 2 + (seed % 4) as usize);
        let (has, layers) = (|n: usize, d: usize| instance.has(n, d as u32), &instance.layers);
        let mut hidden: Vec<Vec<f64>> = (0..instance.nodes())
            .map(|n| (0..instance.dimension).map(|d| f64::from(u8::from(has(n, d)))).collect())
            .collect();
        for (layer, found) in layers.iter().zip(instance.pre_activations(&[])) {
            let value = |row: usize, unit: usize| {
                let mut sum = layer.bias.values[(if layer.bias.rows == 1 { 0 } else { row }) * layer.units() + unit];
                for term in &layer.terms {
                    for &(_, node, a) in term.passing.entries.iter().filter(|entry| entry.0 == row) {
                        sum +=
                            hidden[node].iter().enumerate().map(|(i, h)| a * h * term.weight.at(i, unit)).sum::<f64>();
                    }
                }
                assert!((sum - found.at(row, unit)).abs() < 1e-12, "seed {seed}");
                if layer.linear.get(unit) == Some(&true) { sum } else { sum.max(0.0) }
            };
            hidden = (0..layer.rows()).map(|row| (0..layer.units()).map(|unit| value(row, unit)).collect()).collect();
        }
    }
}

#[test]
fn the_generator_of_terms_is_reproducible_and_reaches_the_awkward_corners() {
    assert_eq!(random::network_of_terms(7, 4), random::network_of_terms(7, 4));
    assert_ne!(random::network_of_terms(7, 4), random::network_of_terms(8, 4));
    let all: Vec<Instance> = (0..300).map(|seed| random::network_of_terms(seed, 3 + (seed % 3) as usize)).collect();
    for instance in &all {
        instance.validate().unwrap();
        assert!(instance.layers.iter().all(|layer| (1..=3).contains(&layer.terms.len())));
    }
    let some = |name: &str, what: &dyn Fn(&Layer) -> bool| {
        let hidden = |i: &Instance| i.layers[..i.layers.len() - 1].iter().any(what);
        let anywhere = all.iter().filter(|instance| hidden(instance)).count();
        let first = all.iter().filter(|instance| what(&instance.layers[0])).count();
        assert!(anywhere >= 20 && first >= 10, "{name}: {anywhere} of 300 networks, {first} where attributes are read");
    };
    let places = |term: &Term| -> Vec<(usize, usize)> { term.passing.entries.iter().map(|e| (e.0, e.1)).collect() };
    let entry = |what: fn(f64) -> bool| {
        move |layer: &Layer| layer.terms.iter().flat_map(|term| &term.passing.entries).any(|entry| what(entry.2))
    };
    some("one term", &|layer| layer.terms.len() == 1);
    some("two terms", &|layer| layer.terms.len() == 2);
    some("three terms", &|layer| layer.terms.len() == 3);
    some("a negative entry", &entry(|value| value < 0.0));
    some("a stored zero", &entry(|value| value == 0.0));
    some("a common place", &|layer| match &layer.terms[..] {
        [first, .., last] => places(first).iter().any(|place| places(last).contains(place)),
        _ => false,
    });
    some("no common place", &|layer| match &layer.terms[..] {
        // A pair of operators that meet nowhere.
        [first, last] => !first.passing.entries.is_empty() && !places(first).iter().any(|p| places(last).contains(p)),
        _ => false,
    });
    some("taken back", &|layer| match &layer.terms[..] {
        // What one term says of an input the other takes back.
        [first, .., last] => {
            let opposite =
                |input: usize| first.weight.row(input).iter().zip(last.weight.row(input)).all(|(f, l)| *f == -l);
            first.passing == last.passing && (0..layer.inputs()).any(opposite)
        }
        _ => false,
    });
    some("no flags", &|layer| layer.linear.is_empty());
    some("some linear", &|layer| layer.linear.contains(&true) && layer.linear.contains(&false));
    some("all linear", &|layer| !layer.linear.is_empty() && !layer.linear.contains(&false));
    some("biases per node", &|layer| layer.bias.rows > 1);
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
    some(&|i| i.layers[0].terms[0].passing.entries.iter().any(|entry| entry.2 < 0.0));
    some(&|i| i.layers[1].terms[0].passing.entries.is_empty());
    some(&|i| i.lower[0].values.iter().zip(&i.upper[0].values).any(|(r, s)| *r == 0.0 && *s > 0.0));
    some(&|i| i.lower[0].values.iter().zip(&i.upper[0].values).any(|(r, s)| *r < 0.0 && *s == 0.0));
    some(&|i| i.lower[0].values.iter().zip(&i.upper[0].values).any(|(r, s)| *r == 0.0 && *s == 0.0));
}

#[test]
fn a_network_of_one_number_is_an_instance_too() {
    let mut instance = Instance {
        layers: vec![
            Layer::convolution(Sparse { rows: 1, columns: 0, entries: vec![] }, Dense::zeros(0, 1), vec![3.0]),
            Layer::convolution(one(), dense(&[&[2.0]]), vec![-1.0]),
        ],
        objective: vec![1.0],
        ..Instance::default()
    };
    instance.fill_bounds().unwrap();
    instance.validate().unwrap();
    assert_eq!(enumeration::minimum(&instance, 1).unwrap().margin, 5.0);
}

/// Tests elsewhere count on what single seeds show: all numbers of 4,000 instances, their bounds included, in one
/// checksum.
#[test]
fn a_seed_means_the_same_instance_for_ever() {
    let mut sum = 0xcbf2_9ce4_8422_2325u64;
    let mut add = |bits: u64| sum = (sum ^ bits).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(17);
    for seed in 0..1000 {
        for representations in 2..=5 {
            let i = random::instance(seed, representations);
            for l in 0..representations - 1 {
                let Term { passing: a, weight: w } = &i.layers[l].terms[0];
                a.entries.iter().for_each(|e| [e.0 as u64, e.1 as u64, e.2.to_bits()].into_iter().for_each(&mut add));
                w.values.iter().chain(&i.layers[l].bias.values).for_each(|value| add(value.to_bits()));
            }
            for bound in i.lower.iter().chain(&i.upper) {
                bound.values.iter().for_each(|value| add(value.to_bits()));
            }
            i.attributes.iter().flatten().for_each(|&attribute| add(u64::from(attribute)));
            i.local_budget.iter().for_each(|&budget| add(budget as u64));
            [i.may_add, i.may_remove].iter().chain(&i.frozen_attributes).for_each(|&flag| add(u64::from(flag)));
            i.objective.iter().for_each(|c| add(c.to_bits()));
            [i.global_budget, i.dimension, i.nodes()].into_iter().for_each(|number| add(number as u64));
        }
    }
    assert_eq!(format!("{sum:016x}"), "72449e61b6aae20d");
}
