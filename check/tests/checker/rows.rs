//! Rows of attributes that are divided by their sums: bounds, witnesses and trees against brute force, hints that do
//! not hold for such rows, and what is not about them.

use crate::common;

use common::{Random, World, layer, world};
use gcnproof_check::format::*;
use gcnproof_check::{Checker, Interval, Reason, Statement, Verdict};
use gcnproof_files::{GraphFile, LayerFile, Normalisation};
use rayon::prelude::*;
use serde_json::{Value, json};
use std::cmp::Ordering;

fn by_hints(reference: u32, class: u32, hints: Value) -> NodeProof {
    let tree = vec![Step::Hints(Box::new(serde_json::from_value(hints).unwrap()))];
    NodeProof { id: 0, class: reference, claim: Claim::Robust(vec![ClassProof { class, tree }]) }
}

/// Grown trees: a true claim is proved, a false one never.
#[test]
fn trees_prove_exactly_what_is_true_of_normalised_rows() {
    let counts = (0..800u64).into_par_iter().map(|seed| {
        let mut random = Random::new(seed + 300_000_000);
        let world = World::random_normalised(&mut random);
        let reference = world.reference(0).unwrap();
        let (verdict, _) = world.truth(0, reference);
        match world.grow(&mut random, reference, 60) {
            Ok(proof) => {
                assert_eq!(verdict, Verdict::Robust, "seed {seed}: a false claim was accepted: {proof:?}");
                let Claim::Robust(trees) = &proof.claim else { unreachable!() };
                let steps = trees.iter().flat_map(|tree| &tree.tree);
                let has = |wanted: fn(&Step) -> bool| usize::from(steps.clone().any(wanted));
                let splits = [has(|s| matches!(s, Step::Unit(..))), has(|s| matches!(s, Step::Flip(..)))];
                [1, splits[0], splits[1], 0, 0, has(|s| matches!(s, Step::Row(..)))]
            }
            Err((fault, exhausted)) => {
                let refused = verdict != Verdict::Robust;
                assert!(!exhausted || refused, "seed {seed}: a true claim cannot be proved: {fault:?}");
                if refused { [0, 0, 0, 0, 1, 0] } else { [0, 0, 0, 1, 0, 0] }
            }
        }
    });
    let counts = counts.reduce(|| [0; 6], |a, b| std::array::from_fn(|at| a[at] + b[at]));
    let [proved, with_units, with_flips, not_in_time, refused, with_rows] = counts;
    println!(
        "{proved} proved (with splits on units {with_units}, flips {with_flips}, rows {with_rows}), {refused} refused, {not_in_time} out of rounds"
    );
    assert!(proved > 150 && with_units > 8 && with_flips > 12 && with_rows > 12 && refused > 150, "{counts:?}");
    assert!(not_in_time < 80, "{counts:?}");
}

/// Arbitrary admissible multipliers: never a false claim.
#[test]
fn any_admissible_multipliers_give_a_valid_bound_of_normalised_rows() {
    let accepted: usize = (0..2_000u64)
        .into_par_iter()
        .map(|seed| {
            let mut random = Random::new(seed + 310_000_000);
            let world = World::random_normalised(&mut random);
            let reference = world.reference(0).unwrap();
            let mut proof = world.start(reference);
            let Claim::Robust(trees) = &mut proof.claim else { unreachable!() };
            for tree in trees {
                tree.tree = vec![Step::Leaf(Box::new(world.random_leaf(&mut random)))];
            }
            let accepted = world.judge(&proof).is_ok();
            assert!(!accepted || world.truth(0, reference).0 == Verdict::Robust, "seed {seed}");
            usize::from(accepted)
        })
        .sum();
    println!("{accepted} accepted");
    assert!(accepted > 800, "{accepted}");
}

/// Random slopes and prices for everything that a target depends on; prices are often left out.
fn random_hints(random: &mut Random, world: &World) -> Value {
    let reached = world.reaches();
    let nodes = world.graph.attributes.rows;
    let half = |random: &mut Random| json!(format!("{}p-2", random.below(17) as i64 - 8));
    let price = |random: &mut Random| json!(format!("{}p-3", random.below(9)));
    let prices = |random: &mut Random| {
        let every = price(random);
        let mut own: Vec<Value> = Vec::new();
        for n in (0..nodes).filter(|&n| reached[1][n]) {
            if random.chance(20) {
                own.push(json!([n, price(random)]));
            }
        }
        if random.chance(50) { json!([0, []]) } else { json!([every, own]) }
    };
    let (mut slopes, mut lines, mut reach) = (vec![], vec![], vec![]);
    for (l, reached) in reached.iter().enumerate().take(world.depth() + 1).skip(2) {
        for n in (0..nodes).filter(|&n| reached[n]) {
            for j in 0..world.model.layers[l - 2].weight.columns {
                if world.is_linear(l as u32, j as u32) {
                    continue;
                }
                if l > 2 {
                    slopes.push(json!([l, n, j, half(random)]));
                    continue;
                }
                let rise = half(random);
                let fall = if random.chance(50) { rise.clone() } else { half(random) };
                lines.push(json!([n, j, rise, fall]));
                if random.chance(40) {
                    reach.push(json!([n, j, prices(random), prices(random)]));
                }
            }
        }
    }
    let mut hints = json!({"slopes": slopes, "lines": lines, "reach": reach, "price": prices(random)});
    if random.chance(30) {
        hints["grid"] = json!(random.below(6) as i64 - 4);
    }
    hints
}

/// Any admissible hints give a bound that is not above the least margin, and some give it exactly.
#[test]
fn any_admissible_hints_give_a_valid_bound_of_normalised_rows() {
    let counts = (0..500u64).into_par_iter().map(|seed| {
        let mut random = Random::new(seed + 320_000_000);
        let mut world = World::random_normalised(&mut random);
        // Low enough that no bound is positive, and small enough that sums keep their bits.
        let numbers = |layer: &LayerFile| layer.weight.values.iter().chain(&layer.bias).any(|w| w.abs() > 1e3);
        if world.model.layers.iter().any(numbers) {
            return [0; 2];
        }
        let last = world.depth() - 1;
        let classes = world.classes();
        let biases = world.model.layers[last].bias.iter_mut().enumerate();
        biases.filter(|(at, _)| at % classes == 0).for_each(|(_, bias)| *bias -= 1e6);
        world.header.classes = Convention::Labels;
        world.graph.labels = Some(vec![Some(0); world.graph.attributes.rows]);
        let margins = world.admissible().into_iter().map(|flips| {
            let logits = world.logits(0, &flips);
            logits[0].minus(&logits[1]).approximate()
        });
        let least = margins.fold(f64::INFINITY, f64::min);
        let mut counts = [0; 2];
        for _ in 0..4 {
            let hints = random_hints(&mut random, &world);
            let Reason::Bound(Interval { lower, upper }) =
                world.judge(&by_hints(0, 1, hints.clone())).unwrap_err().reason
            else {
                panic!("seed {seed}: {hints}")
            };
            assert!(lower.to_f64() <= least.next_up(), "seed {seed}: {lower:e} {least} {hints}");
            counts[0] += 1;
            counts[1] += usize::from(upper.to_f64() >= least);
        }
        counts
    });
    let [judged, attained] = counts.reduce(|| [0; 2], |a, b| [a[0] + b[0], a[1] + b[1]]);
    println!("{attained} of {judged} bounds attained");
    assert!(judged > 1_000 && attained > 40, "{attained} {judged}");
}

/// Witnesses are accepted exactly if their margin is not positive.
#[test]
fn witnesses_of_normalised_rows_are_judged_exactly() {
    let counts = (0..1_500u64).into_par_iter().map(|seed| {
        let mut random = Random::new(seed + 330_000_000);
        let world = World::random_normalised(&mut random);
        let reference = world.reference(0).unwrap();
        let (_, breaks) = world.truth(0, reference);
        let mut counts = [0; 3];
        for flips in world.admissible() {
            for class in (0..world.classes() as u32).filter(|&class| class != reference) {
                let witness = Witness { class, flips: flips.clone() };
                let margin = breaks.iter().find(|broken| broken.0 == witness).map(|broken| broken.1);
                let proof = NodeProof { id: 0, class: reference, claim: Claim::NonRobust(witness) };
                let judged = world.judge(&proof);
                match margin {
                    Some(Ordering::Less) => assert_eq!(judged, Ok(Verdict::NonRobust), "seed {seed}"),
                    Some(_) => assert_eq!(judged, Ok(Verdict::Tie), "seed {seed}"),
                    None => assert!(matches!(judged.unwrap_err().reason, Reason::Margin(_)), "seed {seed}"),
                }
                counts[margin.map_or(2, |sign| usize::from(sign == Ordering::Equal))] += 1;
            }
        }
        counts
    });
    let counts = counts.reduce(|| [0; 3], |a, b| std::array::from_fn(|at| a[at] + b[at]));
    println!("{counts:?} broken, tied, held");
    assert!(counts.iter().all(|&count| count > 100), "{counts:?}");
}

/// Two nodes with three attributes each, which the float `1/3` multiplies; a flip changes all entries of its row.
fn thirds(normalisation: Normalisation) -> World {
    let layers = vec![layer(&[&[1.0], &[2.0], &[-3.0], &[5.0]], &[1.0]), layer(&[&[1.0, 0.0]], &[0.0, 0.25])];
    let mut world = world(&[&[1, 1, 1, 0], &[0, 0, 0, 0]], 4, layers, 1, 1);
    world.header.message_passing = vec!["identity".into(), "identity".into()];
    world.graph.normalisation = normalisation;
    world
}

/// The digest of the header tells normalised rows from others, and float32 from float64.
#[test]
fn another_normalisation_is_another_graph() {
    let ways = [Normalisation::None, Normalisation::Float32, Normalisation::Float64];
    let graphs = ways.map(|way| {
        let GraphFile { adjacency, attributes, .. } = thirds(way).graph;
        GraphFile::new(adjacency, attributes, None).normalised(way)
    });
    for (stated, &way) in graphs.iter().zip(&ways) {
        let mut world = thirds(way);
        world.header.graph = stated.digest.clone();
        world.header.budget.global = 0;
        world.graph = stated.clone();
        let proof = world.start(0);
        assert_eq!(world.judge(&proof), Ok(Verdict::Robust));
        for other in graphs.iter().filter(|other| other.normalisation != way) {
            world.graph = other.clone();
            let fault = world.judge(&proof).unwrap_err();
            assert!(fault.reason.to_string().contains("another graph"), "{fault:?}");
        }
    }
}

/// By hand: a flip changes what all attributes of its row send.
#[test]
fn one_flip_moves_a_whole_row() {
    // Without flips the unit is 1 + (1 + 2 − 3)/3 = 1. Without attribute 0 it is 1 + (2 − 3)/2, without attribute 1 it
    // is 1 + (1 − 3)/2 = 0, below the other class's 1/4.
    for way in [Normalisation::Float32, Normalisation::Float64] {
        let world = thirds(way);
        let witness = Witness { class: 1, flips: vec![(0, 1)] };
        let proof = NodeProof { id: 0, class: 0, claim: Claim::NonRobust(witness) };
        assert_eq!(world.judge(&proof), Ok(Verdict::NonRobust));
        assert!(matches!(world.judge(&world.start(0)).unwrap_err().reason, Reason::Bound(_)));
    }
}

/// What is not defined for normalised rows is refused in words.
#[test]
fn what_needs_single_flips_is_refused() {
    let layers = vec![
        layer(&[&[1.0, -1.0], &[0.5, 1.0]], &[0.0, 0.5]),
        layer(&[&[1.0, 1.0], &[-1.0, 0.5]], &[0.0, 0.0]),
        layer(&[&[1.0, 0.0], &[0.0, 1.0]], &[90.0, 0.0]),
    ];
    let mut world = world(&[&[0, 1]], 2, layers, 2, 2);
    world.graph.normalisation = Normalisation::Float64;
    assert_eq!(world.judge(&world.start(0)), Ok(Verdict::Robust));
    let none = json!([0, []]);
    for hints in [
        json!({"levels": [[0, 0, 1, 1, none]]}),
        json!({"envelopes": [[0, 0, 1, 1, [], []]]}),
        json!({"supports": [[0, 0, 1, 1, none]]}),
        json!({"nested": [[0, 0, 1, 1, none]]}),
    ] {
        let reason = world.judge(&by_hints(0, 1, hints)).unwrap_err().reason;
        assert_eq!(reason, Reason::Normalised("bends by levels or prices"));
    }
    let envelope = Some(Box::new(Envelope { exponent: 0, nodes: vec![], flips: vec![], units: vec![] }));
    for leaf in [
        Leaf { cap: true, ..Leaf::default() },
        Leaf { nested: true, ..Leaf::default() },
        Leaf { envelope, ..Leaf::default() },
    ] {
        let tree = vec![Step::Leaf(Box::new(leaf))];
        let claim = Claim::Robust(vec![ClassProof { class: 1, tree }]);
        let reason = world.judge(&NodeProof { id: 0, class: 0, claim }).unwrap_err().reason;
        assert_eq!(reason, Reason::Normalised("bends by levels or prices"));
    }
}

/// Bounds of deep layers that short leaves expand to, stated: they are accepted, and leaves written out as hints with
/// them.
#[test]
fn expanded_proofs_of_normalised_rows_are_accepted() {
    let (mut deep, mut accepted) = (0, 0);
    for seed in 0..500 {
        let mut random = Random::new(seed + 340_000_000);
        let world = World::random_normalised(&mut random);
        if world.depth() < 2 {
            continue;
        }
        let reference = world.reference(0).unwrap();
        let proof = world.start(reference);
        let judged = world.judge(&proof);
        let statement = Statement::new(&world.graph, &world.model, &world.header, &world.matrices).unwrap();
        let checker = Checker::new(&statement, true);
        let lines = checker.expanded_bounds(0);
        lines.iter().for_each(|line| assert_eq!(checker.bounds(line), Ok(()), "seed {seed}"));
        assert_eq!(checker.check(&proof).is_ok(), judged.is_ok(), "seed {seed}");
        deep += usize::from(!lines.is_empty());
        if judged.is_ok() {
            let expanded = checker.expand(&proof).unwrap();
            assert_eq!(checker.check(&expanded), Ok(Verdict::Robust), "seed {seed}");
            accepted += 1;
        }
    }
    println!("{accepted} accepted, {deep} deep");
    assert!(accepted > 150 && deep > 150, "{accepted} {deep}");
}

/// How far a unit of layer 2 reaches: never less than brute force finds, and exactly as far where the rows do not share
/// a budget.
#[test]
fn units_reach_as_far_as_rows_let_them() {
    let (mut exact, mut attained, mut all) = (0, 0, 0);
    for seed in 0..1_000 {
        let mut random = Random::new(seed + 350_000_000);
        let (nodes, columns) = (1 + random.below(3), 2 + random.below(3));
        let attributes: Vec<Vec<u8>> =
            (0..nodes).map(|_| (0..columns).map(|_| random.below(2) as u8).collect()).collect();
        let attributes: Vec<&[u8]> = attributes.iter().map(Vec::as_slice).collect();
        let terms = 1 + random.below(2);
        let rows: Vec<Vec<f64>> = (0..terms * columns).map(|_| vec![random.weight(2)]).collect();
        // The unit is above 0 whatever happens, so that the bound with flat lines is its least or largest value.
        let mut first = layer(&rows.iter().map(Vec::as_slice).collect::<Vec<_>>(), &[64.0]);
        let sign = [1.0, -1.0][random.below(2)];
        let last = layer(&[&[sign, 0.0]], &[-1024.0, 0.0]);
        let mut world = world(&attributes, columns, Vec::new(), random.below(5) as u64, 1 + random.below(4) as u64);
        let rules: Vec<String> = (0..terms).map(|_| world.random_rule(&mut random)).collect();
        world.header.message_passing = vec![rules.join(" & "), "identity".into()];
        first.operators = rules;
        world.model.layers = vec![first, last];
        world.graph.normalisation = [Normalisation::Float32, Normalisation::Float64][random.below(2)];
        world.header.budget.direction = [Direction::Both, Direction::Add, Direction::Remove][random.below(3)];
        world.header.classes = Convention::Labels;
        world.graph.labels = Some(vec![Some(0); nodes]);
        let margins = world.admissible().into_iter().map(|flips| {
            let logits = world.logits(0, &flips);
            logits[0].minus(&logits[1]).approximate()
        });
        let least = margins.fold(f64::INFINITY, f64::min);
        let Reason::Bound(Interval { lower, upper }) = world.judge(&by_hints(0, 1, json!({}))).unwrap_err().reason
        else {
            panic!("seed {seed}")
        };
        assert!(lower.to_f64() <= least.next_up(), "seed {seed}: {lower:e} {least}");
        let equal = upper.to_f64() >= least.next_down();
        // What is left for each row, and the whole budget.
        let row = |n: usize| world.permitted().iter().filter(|flip| flip.0 as usize == n).count() as u64;
        let rows = (0..nodes).map(|n| row(n).min(world.local(n))).sum::<u64>();
        let reached = world.reaches()[1].iter().filter(|reached| **reached).count();
        if rows <= world.header.budget.global || reached == 1 {
            assert!(equal, "seed {seed}: {upper:e} {least}");
            exact += 1;
        }
        attained += usize::from(equal);
        all += 1;
    }
    println!("{attained} of {all} attained, {exact} without a shared budget");
    assert!(exact > 200 && attained > exact + 100 && attained < all, "{attained} {exact} {all}");
}
