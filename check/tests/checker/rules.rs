//! The rules of the core, asked through hints: what is not admissible is refused, and whatever is admissible bounds
//! what it says.

use crate::common;

use common::{Random, World, layer, world};
use gcnproof_check::format::*;
use gcnproof_check::{Checker, Interval, LARGEST_TREE, Reason, Statement, Verdict};
use serde_json::{Value, json};

/// A proof by one leaf with hints.
fn by_hints(hints: Value) -> NodeProof {
    let hints: Hints = serde_json::from_value(hints).unwrap();
    let tree = vec![Step::Hints(Box::new(hints))];
    NodeProof { id: 0, class: 0, claim: Claim::Robust(vec![ClassProof { class: 1, tree }]) }
}

fn reason(world: &World, hints: Value) -> Reason {
    world.judge(&by_hints(hints)).unwrap_err().reason
}

/// The bound of a leaf that is refused for it.
fn bound(world: &World, hints: Value) -> Interval {
    match reason(world, hints) {
        Reason::Bound(bound) => bound,
        other => panic!("{other:?}"),
    }
}

#[test]
fn inadmissible_hints_are_refused() {
    let layers = vec![
        layer(&[&[1.0, -1.0], &[0.5, 1.0]], &[0.0, 0.5]),
        layer(&[&[1.0, 1.0], &[-1.0, 0.5]], &[0.0, 0.0]),
        layer(&[&[1.0, 0.0], &[0.0, 1.0]], &[0.0, 0.0]),
    ];
    let world = world(&[&[0, 1]], 2, layers, 2, 2);
    let none = json!([0, []]);
    let order = [
        ("slopes", json!({"slopes": [[3, 0, 1, 1], [3, 0, 0, 1]]})),
        ("slopes", json!({"slopes": [[3, 0, 0, 1], [3, 0, 0, 1]]})),
        ("lines", json!({"lines": [[0, 1, 1, 1], [0, 0, 1, 1]]})),
        ("lines", json!({"lines": [[0, 1, 1, 1], [0, 1, 1, 1]]})),
        ("reach", json!({"reach": [[0, 0, none, none], [0, 0, none, none]]})),
        ("levels", json!({"levels": [[0, 0, 1, 1, none], [0, 0, 1, 1, none]]})),
        ("envelopes", json!({"envelopes": [[0, 0, 1, 1, [], []], [0, 0, 1, 1, [], []]]})),
        ("envelopes", json!({"envelopes": [[0, 0, 1, 1, [[0, 1], [0, 1]], []]]})),
        ("envelopes", json!({"envelopes": [[0, 0, 1, 1, [], [[0, 1, 1], [0, 0, 1]]]]})),
        ("supports", json!({"supports": [[0, 0, 1, 1, none], [0, 0, 1, 1, none]]})),
        ("nested", json!({"nested": [[0, 1, 1, 1, none], [0, 0, 1, 1, none]]})),
        ("prices", json!({"price": [0, [[0, 1], [0, 1]]]})),
        ("prices", json!({"reach": [[0, 0, none, [0, [[0, 1], [0, 1]]]]]})),
    ];
    for (name, hints) in order {
        assert_eq!(reason(&world, hints), Reason::HintOrder(name));
    }
    let sign = [
        ("prices", json!({"price": [-1, []]})),
        ("prices", json!({"price": [0, [[0, "-1p-9"]]]})),
        ("prices", json!({"reach": [[0, 0, [-1, []], none]]})),
        ("prices", json!({"levels": [[0, 0, 1, 1, [-1, []]]]})),
        ("levels", json!({"levels": [[0, 0, -1, 1, none]]})),
        ("levels", json!({"levels": [[0, 0, 1, -1, none]]})),
        ("envelopes", json!({"envelopes": [[0, 0, -1, 1, [], []]]})),
        ("supports", json!({"supports": [[0, 0, -1, 1, none]]})),
        ("supports", json!({"supports": [[0, 0, "5p-2", 1, none]]})),
        ("supports", json!({"supports": [[0, 0, 1, -1, none]]})),
        ("nested", json!({"nested": [[0, 0, -1, 1, none]]})),
        ("nested", json!({"nested": [[0, 0, 1, -1, none]]})),
        ("prices", json!({"nested": [[0, 0, 1, 1, [-1, []]]]})),
    ];
    for (name, hints) in sign {
        assert_eq!(reason(&world, hints), Reason::HintSign(name));
    }
    let other = [
        (Reason::Unit((2, 0, 0)), json!({"slopes": [[2, 0, 0, 1]]})),
        (Reason::Unit((3, 0, 2)), json!({"slopes": [[3, 0, 2, 1]]})),
        (Reason::Unit((2, 0, 2)), json!({"lines": [[0, 2, 1, 1]]})),
        (Reason::Unit((2, 1, 0)), json!({"reach": [[1, 0, none, none]]})),
        (Reason::Unit((2, 0, 7)), json!({"levels": [[0, 7, 1, 1, none]]})),
        (Reason::Unit((2, 9, 0)), json!({"envelopes": [[9, 0, 1, 1, [], []]]})),
        (Reason::Unit((2, 0, 7)), json!({"supports": [[0, 7, 1, 1, none]]})),
        (Reason::Unit((3, 0, 2)), json!({"nested": [[0, 2, 1, 1, none]]})),
        (Reason::Unit((3, 1, 0)), json!({"nested": [[1, 0, 1, 1, none]]})),
        (Reason::HintNode(1), json!({"price": [0, [[1, 1]]]})),
        (Reason::HintNode(1), json!({"envelopes": [[0, 0, 1, 1, [[1, 1]], []]]})),
        (Reason::Flip((0, 2)), json!({"envelopes": [[0, 0, 1, 1, [], [[0, 2, 1]]]]})),
    ];
    for (expected, hints) in other {
        assert_eq!(reason(&world, hints), expected);
    }
    // What is admissible is judged.
    let fine = json!({
        "slopes": [[3, 0, 0, 1], [3, 0, 1, -1]], "lines": [[0, 0, 1, -1], [0, 1, 0, "1p-3"]],
        "reach": [[0, 0, [1, [[0, 1]]], none]], "levels": [[0, 1, 1, 1, [0, [[0, 1]]]]],
        "envelopes": [[0, 0, 1, -1, [[0, -1]], [[0, 0, 1], [0, 1, -1]]]], "price": [1, [[0, 1]]], "grid": -4,
    });
    bound(&world, fine);
}

/// Rule 4 at layer 2: each place where `z' + u − v = 0` meets an edge is the only one with the least value once.
#[test]
fn the_least_value_may_be_where_the_kink_meets_an_edge() {
    // z', U, V, rise and fall in halves, and the bound in halves: the least value less what falling costs.
    let cases = [(-1, 3, 2, 2, 3, -2 - 6), (-1, 3, 3, 3, 1, -7 - 3), (1, 4, 3, 3, 1, -3 - 3), (1, 1, 3, 1, 2, 2 - 6)];
    for (z, up, down, rise, fall, expected) in cases {
        let hidden = layer(&[&[f64::from(up)], &[f64::from(-down)]], &[f64::from(z)]);
        let logits = layer(&[&[2.0, 0.0]], &[0.0, 0.0]);
        let world = world(&[&[0, 0]], 2, vec![hidden, logits], 2, 2);
        let found = bound(&world, json!({"lines": [[0, 0, format!("{rise}p-1"), format!("{fall}p-1")]]}));
        let expected = f64::from(expected) / 2.0;
        assert_eq!((found.lower.to_f64(), found.upper.to_f64()), (expected, expected), "{z} {up} {down} {rise} {fall}");
    }
}

/// Numbers that fit into 100 bits, but whose products do not fit into 128, are added up all the same. (A float 1 has 53
/// bits.)
#[test]
fn wide_numbers_do_not_overflow() {
    let small = 2f64.powi(-40);
    let hidden = layer(&[&[1.0, small]], &[0.0, 0.0]);
    let logits = layer(&[&[0.0, 0.0], &[0.0, 0.0]], &[1.0, 0.0]);
    let world = world(&[&[0]], 1, vec![hidden, logits], 1, 1);
    let found = bound(&world, json!({"lines": [[0, 0, -1, 0], [0, 1, "-1p-30", 0]]}));
    assert_eq!((found.lower.to_f64(), found.upper.to_f64()), (-(2f64.powi(-70)), -(2f64.powi(-70))));
}

/// A small problem in numbers whose sums floats hold exactly.
fn plain(random: &mut Random, depth: usize) -> World {
    let (nodes, columns) = (1 + random.below(2), 1 + random.below(2));
    let quarter = |random: &mut Random| random.below(17) as f64 / 4.0 - 2.0;
    let mut layers = Vec::new();
    let mut inputs = columns;
    for at in 0..depth {
        let outputs = if at + 1 == depth { 2 } else { 1 + random.below(2) };
        let rows: Vec<Vec<f64>> = (0..inputs).map(|_| (0..outputs).map(|_| quarter(random)).collect()).collect();
        let bias: Vec<f64> = (0..outputs).map(|_| quarter(random)).collect();
        layers.push(layer(&rows.iter().map(Vec::as_slice).collect::<Vec<_>>(), &bias));
        inputs = outputs;
    }
    let attributes: Vec<Vec<u8>> = (0..nodes).map(|_| (0..columns).map(|_| random.below(2) as u8).collect()).collect();
    let attributes: Vec<&[u8]> = attributes.iter().map(Vec::as_slice).collect();
    let mut world = world(&attributes, columns, layers, random.below(4) as u64, 1 + random.below(2) as u64);
    world.header.message_passing.iter_mut().for_each(|rule| *rule = "sum+self".into());
    world
}

/// The least margin of class 0 over class 1.
fn least_margin(world: &World) -> f64 {
    let margins = world.admissible().into_iter().map(|flips| {
        let logits = world.logits(0, &flips);
        logits[0].minus(&logits[1]).approximate()
    });
    margins.fold(f64::INFINITY, f64::min)
}

fn random_hints(random: &mut Random, world: &World) -> Value {
    let nodes = world.graph.attributes.rows;
    let half = |random: &mut Random| json!(format!("{}p-1", random.below(9) as i64 - 4));
    let price = |random: &mut Random| json!(format!("{}p-1", random.below(4)));
    let prices = |random: &mut Random| {
        let every = price(random);
        let own: Vec<Value> = (0..nodes).map(|n| json!([n, price(random)])).collect();
        json!([every, own])
    };
    let (mut slopes, mut lines, mut reach, mut levels, mut envelopes) = (vec![], vec![], vec![], vec![], vec![]);
    let (mut supports, mut nested) = (vec![], vec![]);
    for l in 2..=world.depth() {
        for n in 0..nodes {
            for j in 0..world.model.layers[l - 2].bias.len() {
                if l > 2 {
                    slopes.push(json!([l, n, j, half(random)]));
                    if l == 3 && random.chance(40) {
                        nested.push(json!([n, j, price(random), price(random), prices(random)]));
                    }
                    continue;
                }
                let rise = half(random);
                let fall = if random.chance(50) { rise.clone() } else { half(random) };
                lines.push(json!([n, j, rise, fall]));
                if random.chance(50) {
                    reach.push(json!([n, j, prices(random), prices(random)]));
                }
                if random.chance(30) {
                    levels.push(json!([n, j, price(random), price(random), prices(random)]));
                }
                if random.chance(60) {
                    let omega = ["0p0", "1p-1", "1p0"][random.below(3)];
                    supports.push(json!([n, j, omega, price(random), prices(random)]));
                }
                if random.chance(30) {
                    let own: Vec<Value> = (0..nodes).map(|n| json!([n, half(random)])).collect();
                    let flips: Vec<Value> =
                        world.permitted().into_iter().map(|(n, d)| json!([n, d, half(random)])).collect();
                    envelopes.push(json!([n, j, price(random), half(random), own, flips]));
                }
            }
        }
    }
    let mut hints = json!({"slopes": slopes, "lines": lines, "reach": reach, "levels": levels, "envelopes": envelopes,
        "supports": supports, "nested": nested, "price": prices(random)});
    if random.chance(30) {
        hints["grid"] = json!(random.below(3) as i64 - 2);
    }
    hints
}

/// Any admissible hints give a bound that is not above the least margin, and some give it exactly.
#[test]
fn any_admissible_hints_give_a_valid_bound() {
    let (mut judged, mut attained) = (0, 0);
    for seed in 0..6_000 {
        let mut random = Random::new(seed + 60_000_000);
        let depth = 1 + random.below(3);
        let mut world = plain(&mut random, depth);
        // Low enough that no bound is positive.
        world.model.layers[depth - 1].bias[0] -= 4096.0;
        world.header.classes = Convention::Labels;
        world.graph.labels = Some(vec![Some(0); world.graph.attributes.rows]);
        let least = least_margin(&world);
        for _ in 0..4 {
            let hints = random_hints(&mut random, &world);
            let found = bound(&world, hints.clone()).lower.to_f64();
            assert!(found <= least, "seed {seed}: {found} {least} {hints}");
            judged += 1;
            attained += usize::from(found == least);
        }
    }
    println!("{attained} of {judged} bounds attained");
    assert!(attained > 100, "{attained} {judged}");
}

/// Four and five layers: bounds of layers 4 and 5 come from those below, and what is accepted is true.
#[test]
fn deep_networks_are_judged_truly() {
    let (mut accepted, mut refused) = (0, 0);
    for seed in 0..1_500 {
        let mut random = Random::new(seed + 70_000_000);
        let depth = 4 + random.below(2);
        let mut world = plain(&mut random, depth);
        let least = least_margin(&world);
        // Class 0 leads, often by little.
        world.model.layers[depth - 1].bias[0] += [0.25, 1.0, 8.0, 64.0, 512.0, 0.0][random.below(6)] - least;
        let reference = world.reference(0).unwrap();
        let mut proof = world.start(reference);
        if random.chance(50) {
            let Claim::Robust(trees) = &mut proof.claim else { unreachable!() };
            trees.iter_mut().for_each(|tree| tree.tree = vec![Step::Leaf(Box::new(world.random_leaf(&mut random)))]);
        }
        let judged = world.judge(&proof);
        if judged.is_ok() {
            assert_eq!(world.truth(0, reference).0, Verdict::Robust, "seed {seed}");
            accepted += 1;
        } else {
            refused += 1;
        }
        // Stated, the bounds that short leaves expand to are as good.
        let statement = Statement::new(&world.graph, &world.model, &world.header, &world.matrices).unwrap();
        let checker = Checker::new(&statement, false);
        let lines = checker.expanded_bounds(0);
        let layers: Vec<u32> = lines.iter().map(|line| line.layer).collect();
        assert!(layers.is_sorted() && layers.last() == Some(&(depth as u32)), "{layers:?}");
        assert_eq!(checker.bounds(lines.last().unwrap()), Err(Reason::BoundsMissing(depth as u32 - 1)));
        lines.iter().for_each(|line| assert_eq!(checker.bounds(line), Ok(()), "seed {seed}"));
        assert_eq!(checker.check(&proof).is_ok(), judged.is_ok(), "seed {seed}");
        if judged.is_ok() {
            let expanded = checker.expand(&proof).unwrap();
            assert_eq!(checker.check(&expanded), Ok(Verdict::Robust), "seed {seed}");
        }
    }
    println!("{accepted} accepted, {refused} refused");
    assert!(accepted > 200 && refused > 200, "{accepted} {refused}");
}

#[test]
fn the_largest_tree_is_the_largest() {
    let world = world(&[&[0]], 1, vec![layer(&[&[0.0, 0.0]], &[1.0, 0.0])], 1, 1);
    let fault = |nodes: usize| {
        let tree = vec![Step::Leaf(Box::default()); nodes];
        let claim = Claim::Robust(vec![ClassProof { class: 1, tree }]);
        let fault = world.judge(&NodeProof { id: 0, class: 0, claim }).unwrap_err();
        (fault.step, fault.reason)
    };
    assert_eq!(fault(LARGEST_TREE), (Some(1), Reason::Trailing));
    for more in [1, 2] {
        let (step, reason) = fault(LARGEST_TREE + more);
        assert!(step == Some(LARGEST_TREE) && matches!(reason, Reason::TooLarge(_)), "{step:?} {reason:?}");
    }
}
