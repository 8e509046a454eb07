//! Bends of layer 3 (rule 5′) in the verified checker: the same bounds as in the exact core, what is not admissible is
//! rejected, and nothing false is accepted. Skipped aloud where it is not built (`make verified`).

use crate::common;

use std::path::{Path, PathBuf};

use common::{Random, World, layer, world};
use gcnproof_check::format::*;
use gcnproof_check::{Checker, Dyadic, Judge, Reason, Statement, Verdict, find_program};
use serde_json::{Value, json};

/// The program, or word that the test is skipped.
fn program() -> Option<PathBuf> {
    match find_program() {
        Ok(program) => Some(program),
        Err(problem) => {
            println!("SKIPPED: {problem}");
            None
        }
    }
}

/// The checker with the bounds of units that the verified one is given: hints use no others.
fn with_bounds<'a>(checker: Checker<'a>) -> Checker<'a> {
    checker.expanded_bounds(0).iter().for_each(|line| checker.bounds(line).unwrap());
    checker
}

/// What the exact core and the verified checker say of proofs about one world.
fn both<'a>(
    program: &Path,
    world: &World,
    proofs: impl IntoIterator<Item = &'a NodeProof>,
) -> Vec<[Option<Verdict>; 2]> {
    let statement = Statement::new(&world.graph, &world.model, &world.header, &world.matrices).unwrap();
    let checker = with_bounds(Checker::new(&statement, true));
    let mut judge = Judge::start(program, &checker).unwrap();
    proofs.into_iter().map(|proof| [checker.check(proof).ok(), judge.ask(&checker, proof).unwrap().0]).collect()
}

fn by_hints(hints: Value) -> NodeProof {
    let hints: Hints = serde_json::from_value(hints).unwrap();
    let tree = vec![Step::Hints(Box::new(hints))];
    NodeProof { id: 0, class: 0, claim: Claim::Robust(vec![ClassProof { class: 1, tree }]) }
}

/// Class 0 is to be kept by node 0, whatever the logits are.
fn label(world: &mut World) {
    world.header.classes = Convention::Labels;
    world.graph.labels = Some(vec![Some(0); world.graph.attributes.rows]);
}

/// A path or a cycle of few nodes, three or four layers, numbers whose sums floats hold exactly.
fn plain(random: &mut Random) -> World {
    let (nodes, columns, depth) = (1 + random.below(3), 1 + random.below(3), 3 + random.below(2));
    let quarter = |random: &mut Random| random.below(17) as f64 / 4.0 - 2.0;
    let (mut layers, mut inputs) = (Vec::new(), columns);
    for at in 0..depth {
        let outputs = if at + 1 == depth { 2 } else { 1 + random.below(3) };
        let rows: Vec<Vec<f64>> = (0..inputs).map(|_| (0..outputs).map(|_| quarter(random)).collect()).collect();
        let bias: Vec<f64> = (0..outputs).map(|_| quarter(random)).collect();
        layers.push(layer(&rows.iter().map(Vec::as_slice).collect::<Vec<_>>(), &bias));
        inputs = outputs;
    }
    let attributes: Vec<Vec<u8>> = (0..nodes).map(|_| (0..columns).map(|_| random.below(2) as u8).collect()).collect();
    let attributes: Vec<&[u8]> = attributes.iter().map(Vec::as_slice).collect();
    let mut world = world(&attributes, columns, layers, 1 + random.below(4) as u64, 1 + random.below(2) as u64);
    world.header.message_passing.iter_mut().for_each(|rule| *rule = "sum+self".into());
    if random.chance(40) {
        let at = random.below(2);
        let outputs = world.model.layers[at].bias.len();
        world.model.layers[at].linear = (0..outputs).map(|_| random.chance(40)).collect();
    }
    world
}

/// Random hints with bends of layer 3, in halves and eighths.
fn random_hints(random: &mut Random, world: &World) -> Value {
    let reached = world.reaches();
    let senders: Vec<usize> = (0..world.graph.attributes.rows).filter(|&n| reached[1][n]).collect();
    let half = |random: &mut Random| json!(format!("{}p-1", random.below(9) as i64 - 4));
    let price = |random: &mut Random| json!(format!("{}p-3", [0, 1, 2, 4, 6, 12, 20][random.below(7)]));
    let prices = |random: &mut Random| {
        let own: Vec<Value> = senders.iter().map(|n| json!([n, price(random)])).collect();
        json!([price(random), if random.chance(50) { own } else { Vec::new() }])
    };
    let (mut slopes, mut lines, mut reach, mut levels) = (vec![], vec![], vec![], vec![]);
    let (mut supports, mut nested) = (vec![], vec![]);
    for (l, reached) in reached.iter().enumerate().take(world.depth() + 1).skip(2) {
        for n in (0..world.graph.attributes.rows).filter(|&n| reached[n]) {
            for j in (0..world.model.layers[l - 2].weight.columns).filter(|&j| !world.is_linear(l as u32, j as u32)) {
                if l > 2 {
                    slopes.push(json!([l, n, j, half(random)]));
                    if l == 3 && random.chance(75) {
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
                if random.chance(80) {
                    let omega = ["0p0", "1p-1", "3p-3", "1p0"][random.below(4)];
                    supports.push(json!([n, j, omega, price(random), prices(random)]));
                }
            }
        }
    }
    json!({"slopes": slopes, "lines": lines, "reach": reach, "levels": levels,
        "supports": supports, "nested": nested, "price": prices(random)})
}

/// The world with the logit of class 0 lower or higher by so much.
fn moved(world: &World, by: f64) -> World {
    let mut other = world.clone();
    let last = other.depth() - 1;
    other.model.layers[last].bias[0] += by;
    other
}

/// The bound of hints in the exact core, of a world in which it is not positive.
fn bound(world: &World, proof: &NodeProof) -> [f64; 2] {
    let statement = Statement::new(&world.graph, &world.model, &world.header, &world.matrices).unwrap();
    match with_bounds(Checker::new(&statement, true)).check(proof).unwrap_err().reason {
        Reason::Bound(bound) => [bound.lower.to_f64(), bound.upper.to_f64()],
        other => panic!("{other:?}"),
    }
}

/// Where the core's bound is `−2⁻²⁰` the verified checker rejects, and where it is `2⁻²⁰` it accepts: its bound is the
/// same.
#[test]
fn bends_of_layer_3_have_the_bounds_of_the_core() {
    let Some(program) = program() else { return };
    let mut compared = 0;
    for seed in 0..250 {
        let mut random = Random::new(seed + 80_000_000);
        let mut world = moved(&plain(&mut random), -65536.0);
        label(&mut world);
        for _ in 0..2 {
            let hints = random_hints(&mut random, &world);
            if hints["nested"].as_array().unwrap().is_empty() {
                continue;
            }
            let proof = by_hints(hints.clone());
            let [lower, upper] = bound(&world, &proof);
            let step = 2f64.powi(-20);
            for (by, verdict) in [(-upper - step, None), (-lower + step, Some(Verdict::Robust))] {
                assert_eq!(both(&program, &moved(&world, by), [&proof]), [[verdict, verdict]], "seed {seed}: {hints}");
                compared += 1;
            }
        }
    }
    println!("{compared} leaves compared");
    assert!(compared > 700, "{compared}");
}

/// The same with several terms, operators of either sign, linear units and all kinds of numbers, up to what the core's
/// rounding of slopes to a grid makes of the bounds of units.
#[test]
fn bends_over_several_terms_have_the_bounds_of_the_core() {
    let Some(program) = program() else { return };
    let mut compared = 0;
    for seed in 0..1_000 {
        let mut random = Random::new(seed + 90_000_000);
        let mut world = World::random_terms(&mut random);
        if world.depth() < 3 || world.classes() != 2 {
            continue;
        }
        label(&mut world);
        let hints = random_hints(&mut random, &world);
        if hints["nested"].as_array().unwrap().is_empty() {
            continue;
        }
        let proof = by_hints(hints.clone());
        let low = [-1e6, -1e40, -1e100].into_iter().map(|by| moved(&world, by));
        let Some(world) = low.into_iter().find(|low| both(&program, low, [&proof])[0] == [None, None]) else {
            continue;
        };
        let [lower, upper] = bound(&world, &proof);
        let bias = world.model.layers[world.depth() - 1].bias[0].abs();
        let step = (bias + lower.abs().max(upper.abs())) * 2f64.powi(-40);
        for (by, verdict) in [(-upper - step, None), (-lower + step, Some(Verdict::Robust))] {
            assert_eq!(both(&program, &moved(&world, by), [&proof]), [[verdict, verdict]], "seed {seed}: {hints}");
            compared += 1;
        }
    }
    println!("{compared} leaves compared");
    assert!(compared > 100, "{compared}");
}

#[test]
fn inadmissible_bends_are_rejected() {
    let Some(program) = program() else { return };
    let layers = vec![
        layer(&[&[1.0, -1.0], &[0.5, 1.0]], &[0.0, 0.5]),
        layer(&[&[1.0, 1.0], &[-1.0, 0.5]], &[0.0, 0.0]),
        layer(&[&[1.0, 0.0], &[0.0, 1.0]], &[4096.0, 0.0]),
    ];
    let world = world(&[&[0, 1]], 2, layers, 2, 2);
    let none = json!([0, []]);
    let bend = |weight: Value, level: Value, prices: Value| json!([[0, 0, weight, level, prices]]);
    let fine = json!([[0, 0, 1, 1, none]]);
    let cases = [
        (true, fine.clone(), fine.clone()),
        (true, bend(json!("1p-1"), json!(0), none.clone()), bend(json!(7), json!(9), json!([1, [[0, 2]]]))),
        (false, bend(json!("-1p-1"), json!(1), none.clone()), fine.clone()),
        (false, bend(json!("5p-2"), json!(1), none.clone()), fine.clone()),
        (false, bend(json!(1), json!(-1), none.clone()), fine.clone()),
        (false, bend(json!(1), json!(1), json!([-1, []])), fine.clone()),
        (false, bend(json!(1), json!(1), json!([0, [[0, -1]]])), fine.clone()),
        (false, fine.clone(), bend(json!(-1), json!(1), none.clone())),
        (false, fine.clone(), bend(json!(1), json!(-1), none.clone())),
        (false, fine.clone(), bend(json!(1), json!(1), json!([-1, []]))),
        (false, fine.clone(), bend(json!(1), json!(1), json!([0, [[0, -1]]]))),
    ];
    for (admissible, supports, nested) in cases {
        let proof = by_hints(json!({"supports": supports, "nested": nested}));
        let verdict = admissible.then_some(Verdict::Robust);
        assert_eq!(both(&program, &world, [&proof]), [[verdict, verdict]], "{supports} {nested}");
    }
}

/// Changes a number of the bends of layer 3, or of what they rest on.
fn change(random: &mut Random, hints: &mut Hints) {
    let times = |x: &mut Number, random: &mut Random| {
        let factors = [(0, 0), (1, -1), (3, -1), (2, 0), (1, 8), (-1, 0), (1023, -10), (1025, -10), (1, -8), (1, 20)];
        let (numerator, exponent) = factors[random.below(10)];
        x.0 = &x.0 * &Dyadic::new(numerator.into(), exponent);
    };
    let list = if random.chance(60) { &mut hints.nested } else { &mut hints.supports };
    if list.is_empty() {
        return;
    }
    let at = random.below(list.len());
    match random.below(8) {
        0 => drop(list.remove(at)),
        1 if at > 0 => {
            let (before, rest) = list.split_at_mut(at);
            let (one, other) = (&mut before[at - 1], &mut rest[0]);
            std::mem::swap(&mut one.2, &mut other.2);
            std::mem::swap(&mut one.3, &mut other.3);
            std::mem::swap(&mut one.4, &mut other.4);
        }
        2 | 3 => times(&mut list[at].2, random),
        4 | 5 => times(&mut list[at].3, random),
        6 => times(&mut list[at].4.0, random),
        _ if list[at].4.1.is_empty() => times(&mut hints.price.0, random),
        _ => {
            let node = random.below(list[at].4.1.len());
            times(&mut list[at].4.1[node].1, random);
        }
    }
}

/// Leaves with bends of layer 3, written out and changed: both checkers say the same, and only what is true is
/// accepted.
#[test]
fn changed_bends_are_judged_alike() {
    let Some(program) = program() else { return };
    let (mut changed, mut accepted, mut of_false) = (0, 0, 0);
    for seed in 0..700 {
        let mut random = Random::new(seed + 100_000_000);
        let mut world = if random.chance(25) { World::random_terms(&mut random) } else { plain(&mut random) };
        // Brute force in numbers of very different sizes takes long.
        let usual = |x: &f64| *x == 0.0 || (1e-6..1e3).contains(&x.abs());
        let usual = world.model.layers.iter().all(|layer| layer.weight.values.iter().chain(&layer.bias).all(usual));
        if world.depth() < 3 || world.permitted().len() > 6 || !usual {
            continue;
        }
        label(&mut world);
        let leaf = || Step::Leaf(Box::new(Leaf { nested: true, cap: true, ..Leaf::default() }));
        let mut proof = world.start(0);
        let Claim::Robust(trees) = &mut proof.claim else { unreachable!() };
        trees.iter_mut().for_each(|one| one.tree = vec![leaf()]);
        // A world in which the leaves hold, and one in which the claim is false, judged by the hints of the first.
        let statement = Statement::new(&world.graph, &world.model, &world.header, &world.matrices).unwrap();
        let found = Checker::new(&statement, false).expand(&proof);
        drop(statement);
        let Ok(expanded) = found else { continue };
        let mut proofs = vec![expanded.clone()];
        for _ in 0..10 {
            let mut other = expanded.clone();
            let Claim::Robust(trees) = &mut other.claim else { unreachable!() };
            for step in trees.iter_mut().flat_map(|one| &mut one.tree) {
                let Step::Hints(hints) = step else { continue };
                (0..1 + random.below(3)).for_each(|_| change(&mut random, hints));
            }
            proofs.push(other);
        }
        let worst = world.admissible().into_iter().map(|flips| {
            let logits = world.logits(0, &flips);
            (1..logits.len()).map(|class| logits[0].minus(&logits[class]).approximate()).fold(f64::INFINITY, f64::min)
        });
        let worst = worst.fold(f64::INFINITY, f64::min);
        let lowered = moved(&world, -worst - worst.abs() * 2f64.powi(-40));
        for world in [&world, &lowered] {
            let truth = world.truth(0, 0).0 == Verdict::Robust;
            for (at, [core, verified]) in both(&program, world, &proofs).into_iter().enumerate() {
                changed += usize::from(at > 0);
                accepted += usize::from(at > 0 && verified.is_some());
                of_false += usize::from(!truth);
                assert!(truth || verified.is_none(), "seed {seed}, {at}: what is false is accepted");
                assert_eq!(core, verified, "seed {seed}, {at}: the checkers differ");
            }
        }
    }
    println!("{changed} changed leaves, {accepted} accepted; {of_false} claims that are false");
    assert!(changed > 1_000 && accepted > 200 && of_false > 300, "{changed} {accepted} {of_false}");
}
