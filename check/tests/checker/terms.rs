//! Networks of terms: what the checker makes of overlapping operators, linear units and biases by node, and what it
//! refuses.

use crate::common;

use common::{Big, Random, World, layer, world};
use gcnproof_check::format::*;
use gcnproof_check::{Fault, Interval, Reason, Statement, Verdict};
use rayon::prelude::*;
use serde_json::{Value, json};
use std::cmp::Ordering;

fn by_hints(class: u32, others: &[u32], hints: &Value) -> NodeProof {
    let hints: Hints = serde_json::from_value(hints.clone()).unwrap();
    let tree = |&class: &u32| ClassProof { class, tree: vec![Step::Hints(Box::new(hints.clone()))] };
    NodeProof { id: 0, class, claim: Claim::Robust(others.iter().map(tree).collect()) }
}

fn reason(world: &World, hints: Value) -> Reason {
    world.judge(&by_hints(0, &[1], &hints)).unwrap_err().reason
}

fn bound(world: &World, hints: Value) -> Interval {
    match reason(world, hints) {
        Reason::Bound(bound) => bound,
        other => panic!("{other:?}"),
    }
}

fn short(tree: Vec<Step>) -> NodeProof {
    NodeProof { id: 0, class: 0, claim: Claim::Robust(vec![ClassProof { class: 1, tree }]) }
}

/// The rules of a world's layers are those of its model.
fn with_rules(mut world: World, rules: &[&[&str]]) -> World {
    for (at, rules) in rules.iter().enumerate() {
        world.model.layers[at].operators = rules.iter().map(ToString::to_string).collect();
        world.header.message_passing[at] = rules.join(" & ");
    }
    world
}

/// Two terms whose weights cancel: a flip changes nothing, and rises, falls and losses know it.
#[test]
fn what_overlaps_is_added_up_before_its_sign_is_taken() {
    // Unit 0 is relu(x − x + 1), unit 1 is relu(2x − x).
    let hidden = layer(&[&[1.0, 2.0], &[-1.0, -1.0]], &[1.0, 0.0]);
    let logits = layer(&[&[-1.0, 0.0], &[-1.0, 0.0]], &[2.5, 0.0]);
    let plain = world(&[&[0]], 1, vec![hidden, logits], 1, 1);
    let world = with_rules(plain, &[&["identity", "sum+self"], &["identity"]]);
    // The flip raises unit 1 from 0 to 1, and nothing else: the margin falls from 1.5 to 0.5.
    assert_eq!(world.truth(0, 0).0, Verdict::Robust);
    for cap in [false, true] {
        let leaf = Leaf { cap, ..Leaf::default() };
        assert_eq!(world.judge(&short(vec![Step::Leaf(Box::new(leaf))])), Ok(Verdict::Robust), "{cap}");
    }
    let mut less = world.clone();
    less.model.layers[1].bias[0] = 2.0;
    let hints = json!({"lines": [[0, 0, -1, -1], [0, 1, -1, 0]], "reach": []});
    let found = bound(&less, hints);
    assert_eq!((found.lower.to_f64(), found.upper.to_f64()), (0.0, 0.0));
}

/// A linear unit is exact without a hint, also where it falls below zero.
#[test]
fn linear_units_are_exact() {
    let mut hidden = layer(&[&[-3.0, 1.0]], &[1.0, 0.0]);
    hidden.linear = vec![true, false];
    let logits = layer(&[&[1.0, 0.0], &[1.0, 0.0]], &[1.5, 0.0]);
    let world = with_rules(world(&[&[0]], 1, vec![hidden, logits], 1, 1), &[&["identity"], &["identity"]]);
    // 1 + 1.5 without the flip, −2 + 1 + 1.5 with it.
    assert_eq!(world.judge(&short(vec![Step::Leaf(Box::default())])), Ok(Verdict::Robust));
    let mut less = world.clone();
    less.model.layers[1].bias[0] = 1.0;
    let fault = less.judge(&short(vec![Step::Leaf(Box::default())])).unwrap_err();
    assert!(matches!(fault.reason, Reason::Bound(_)), "{fault:?}");
    let tie = Witness { class: 1, flips: vec![(0, 0)] };
    assert_eq!(less.judge(&NodeProof { id: 0, class: 0, claim: Claim::NonRobust(tie) }), Ok(Verdict::Tie));
    let found = bound(&less, json!({"lines": [[0, 1, 1, 1]]}));
    assert_eq!((found.lower.to_f64(), found.upper.to_f64()), (0.0, 0.0));
}

#[test]
fn hints_and_splits_of_linear_units_are_refused() {
    let mut first = layer(&[&[1.0, -1.0], &[0.5, 1.0]], &[0.0, 0.5]);
    first.linear = vec![false, true];
    let mut second = layer(&[&[1.0, 1.0], &[-1.0, 0.5]], &[0.0, 0.0]);
    second.linear = vec![true, false];
    let layers = vec![first, second, layer(&[&[1.0, 0.0], &[0.0, 1.0]], &[-9.0, 9.0])];
    let mut world = world(&[&[0, 1]], 2, layers, 2, 2);
    world.header.classes = Convention::Labels;
    world.graph.labels = Some(vec![Some(0)]);
    let none = json!([0, []]);
    let (low, high) = ((2, 0, 1), (3, 0, 0));
    for (expected, hints) in [
        (high, json!({"slopes": [[3, 0, 0, 1]]})),
        (low, json!({"lines": [[0, 1, 0, 0]]})),
        (low, json!({"levels": [[0, 1, 0, 0, none]]})),
        (low, json!({"envelopes": [[0, 1, 0, 0, [], []]]})),
    ] {
        assert_eq!(reason(&world, hints), Reason::Linear(expected));
    }
    // How far a linear unit reaches bounds what it sends to the layers above.
    bound(&world, json!({"reach": [[0, 0, none, none], [0, 1, none, none]]}));
    let refused = |tree: Vec<Step>| world.judge(&short(tree)).unwrap_err().reason;
    let leaf = |leaf: Leaf| Step::Leaf(Box::new(leaf));
    let plain = || leaf(Leaf::default());
    for unit in [low, high] {
        let entry = vec![(unit.0, unit.1, unit.2, 1)];
        assert_eq!(refused(vec![Step::Unit(unit.0, unit.1, unit.2), plain(), plain()]), Reason::Linear(unit));
        assert_eq!(refused(vec![leaf(Leaf { weight: entry.clone(), ..Leaf::default() })]), Reason::Linear(unit));
        assert_eq!(refused(vec![leaf(Leaf { slope: entry.clone(), ..Leaf::default() })]), Reason::Linear(unit));
        assert_eq!(refused(vec![leaf(Leaf { beta: entry, ..Leaf::default() })]), Reason::Linear(unit));
    }
    let units = vec![UnitPrices(0, 1, 0, 0, vec![], vec![])];
    let envelope = Some(Box::new(Envelope { units, ..Envelope::default() }));
    assert_eq!(refused(vec![leaf(Leaf { envelope, ..Leaf::default() })]), Reason::Linear(low));
}

/// What does not fit is refused, and the refusal says what and where.
#[test]
fn wrong_shapes_and_rules_are_refused_by_name() {
    let hidden = layer(&[&[1.0], &[2.0], &[3.0], &[4.0]], &[0.0]);
    let logits = layer(&[&[1.0, 0.0]], &[0.0, 0.0]);
    let plain = world(&[&[0, 1], &[1, 0], &[1, 1]], 2, vec![hidden, logits], 1, 1);
    let right = with_rules(plain, &[&["gcn", "identity"], &["poly(gcn-self;0.5,0.5)"]]);
    let refused = |change: &dyn Fn(&mut World)| {
        let mut world = right.clone();
        change(&mut world);
        match Statement::new(&world.graph, &world.model, &world.header, &world.matrices) {
            Ok(_) => "accepted".to_string(),
            Err(reason) => reason.to_string(),
        }
    };
    assert_eq!(refused(&|_| {}), "accepted");
    type Change = fn(&mut World);
    let cases: [(Change, &str); 20] = [
        (
            |w| w.header.message_passing[0] = "gcn".into(),
            "header: message passing 'gcn' of layer 1, but the model itself has 'gcn & identity'",
        ),
        (
            |w| w.header.message_passing[0] = "identity & gcn".into(),
            "header: message passing 'identity & gcn' of layer 1, but the model itself has 'gcn & identity'",
        ),
        (
            |w| w.header.message_passing[0] = "gcn&identity".into(),
            "header: message passing 'gcn&identity' of layer 1, but the model itself has 'gcn & identity'",
        ),
        (
            |w| w.header.message_passing[1] = "gcn".into(),
            "header: message passing 'gcn' of layer 2, but the model itself has 'poly(gcn-self;0.5,0.5)'",
        ),
        (|w| drop(w.header.message_passing.pop()), "header: 1 message-passing rules, 2 layers"),
        (|w| w.model.layers[0].operators.clear(), "files: the model takes 4 attributes, the graph has 2"),
        (|w| w.model.layers[0].operators.push("sum".into()), "files: the model takes 1 attributes, the graph has 2"),
        (
            |w| w.model.layers[1].operators.push("sum".into()),
            "files: layer 2 of the model has 1 rows of weights, but 2 terms of 1 inputs",
        ),
        (|w| w.model.layers[0].weight.values.truncate(3), "files: layer 1 of the model has 3 weights, but 4 rows of 1"),
        (
            |w| w.model.layers[0].weight.rows = 5,
            "files: layer 1 of the model has 5 rows of weights, but 2 terms of 2 inputs",
        ),
        (
            |w| w.model.layers[0].bias = vec![0.0; 2],
            "files: layer 1 of the model has 2 biases, but 1 outputs (or that many for each of 3 nodes)",
        ),
        (
            |w| w.model.layers[1].bias = vec![0.0; 4],
            "files: layer 2 of the model has 4 biases, but 2 outputs (or that many for each of 3 nodes)",
        ),
        (|w| w.model.layers[1].bias = vec![0.0; 6], "accepted"),
        (|w| w.model.layers[0].bias = vec![0.0, f64::NAN, 0.0], "files: a weight or a bias is not a finite number"),
        (
            |w| w.model.layers[0].linear = vec![true; 2],
            "files: layer 1 of the model says of 2 outputs whether they are linear, but has 1",
        ),
        (|w| w.model.layers[0].linear = vec![true], "accepted"),
        (
            |w| w.model.layers[1].linear = vec![true, false],
            "files: layer 2 of the model is the last and has no activation, but says that one of its outputs has",
        ),
        (|w| w.model.layers[1].linear = vec![true, true], "accepted"),
        (|w| *w = with_rules(w.clone(), &[&["gcn", "gsn"]]), "header: unknown message passing 'gsn'"),
        (
            |w| *w = with_rules(w.clone(), &[&["gcn", "poly(sum;0,1e308,1e308,1e308)"]]),
            "files: an entry of message passing 'poly(sum;0,1e308,1e308,1e308)' is not a finite number",
        ),
    ];
    for (change, expected) in cases {
        assert_eq!(refused(&change), expected);
    }
    // A layer that names no operators has one term: the header cannot give it two, also where another layer has just
    // these.
    let unnamed = refused(&|w| {
        w.model.layers[1].operators.clear();
        w.header.message_passing[1] = "gcn & identity".into();
    });
    assert_eq!(unnamed, "header: unknown message passing 'gcn & identity'");
    let joined = refused(&|w| *w = with_rules(w.clone(), &[&["gcn", "identity"], &["gcn & identity"]]));
    assert_eq!(joined, "header: unknown message passing 'gcn & identity'");
}

fn random_hints(random: &mut Random, world: &World) -> Value {
    let nodes = world.graph.attributes.rows;
    let reached = world.reaches();
    let half = |random: &mut Random| json!(format!("{}p-1", random.below(9) as i64 - 4));
    let price = |random: &mut Random| json!(format!("{}p-1", random.below(4)));
    let prices = |random: &mut Random| {
        let every = price(random);
        let own: Vec<Value> = (0..nodes).filter(|&n| reached[1][n]).map(|n| json!([n, price(random)])).collect();
        json!([every, own])
    };
    let (mut slopes, mut lines, mut reach, mut levels, mut envelopes) = (vec![], vec![], vec![], vec![], vec![]);
    for l in 2..=world.depth() {
        for n in (0..nodes).filter(|&n| reached[l][n]) {
            for j in 0..world.model.layers[l - 2].weight.columns {
                let linear = world.is_linear(l as u32, j as u32);
                if l > 2 {
                    slopes.extend((!linear).then(|| json!([l, n, j, half(random)])));
                    continue;
                }
                if random.chance(50) {
                    reach.push(json!([n, j, prices(random), prices(random)]));
                }
                if linear {
                    continue;
                }
                let rise = half(random);
                let fall = if random.chance(30) { rise.clone() } else { half(random) };
                lines.push(json!([n, j, rise, fall]));
                if random.chance(30) {
                    levels.push(json!([n, j, price(random), price(random), prices(random)]));
                }
                if random.chance(30) {
                    let own = (0..nodes).filter(|&n| reached[1][n]);
                    let own: Vec<Value> = own.map(|n| json!([n, half(random)])).collect();
                    let flips = world.permitted().into_iter().filter(|flip| reached[1][flip.0 as usize]);
                    let flips: Vec<Value> = flips.map(|(n, d)| json!([n, d, half(random)])).collect();
                    envelopes.push(json!([n, j, price(random), half(random), own, flips]));
                }
            }
        }
    }
    let mut hints = json!({"slopes": slopes, "lines": lines, "reach": reach, "levels": levels, "envelopes": envelopes,
        "price": prices(random)});
    if random.chance(40) {
        hints["grid"] = json!(random.below(4) as i64 - 3);
    }
    hints
}

/// Any admissible hints give a bound that is not above the least margin, and some give it exactly.
#[test]
fn any_admissible_hints_give_a_valid_bound_of_networks_of_terms() {
    let counts = (0..3_000u64).into_par_iter().map(|seed| {
        let mut random = Random::new(seed + 61_000_000);
        let mut world = World::random_terms(&mut random);
        // Low enough that no bound is positive.
        let last = world.depth() - 1;
        let classes = world.classes();
        if world
            .model
            .layers
            .iter()
            .flat_map(|layer| layer.weight.values.iter().chain(&layer.bias))
            .any(|w| w.abs() > 1e4)
        {
            return [0; 2];
        }
        for (at, bias) in world.model.layers[last].bias.iter_mut().enumerate() {
            *bias -= if at % classes == 0 { 2f64.powi(24) } else { 0.0 };
        }
        world.header.classes = Convention::Labels;
        world.graph.labels = Some(vec![Some(0); world.graph.attributes.rows]);
        let margin = |flips: Vec<(u32, u32)>| {
            let logits = world.logits(0, &flips);
            logits[0].minus(&logits[1])
        };
        let least = world
            .admissible()
            .into_iter()
            .map(margin)
            .reduce(|a, b| if a.minus(&b).sign() == Ordering::Less { a } else { b });
        let least = least.unwrap();
        let mut counts = [0; 2];
        for _ in 0..4 {
            let hints = random_hints(&mut random, &world);
            let others: Vec<u32> = (1..classes as u32).collect();
            let judged = world.judge(&by_hints(0, &others, &hints));
            let Err(Fault { reason: Reason::Bound(found), .. }) = judged else {
                panic!("seed {seed}: {judged:?} {hints}")
            };
            let found = Big::from(found.lower.to_f64());
            let order = least.minus(&found).sign();
            assert!(order != Ordering::Less, "seed {seed}: {hints}");
            counts[0] += 1;
            counts[1] += usize::from(order == Ordering::Equal);
        }
        counts
    });
    let [judged, attained] = counts.reduce(|| [0; 2], |a, b| [a[0] + b[0], a[1] + b[1]]);
    println!("{attained} of {judged} bounds attained");
    assert!(judged > 4_000 && attained > 20, "{attained} {judged}");
}

/// Written out as hints, with lines of bounds, an accepted proof is accepted again.
#[test]
fn accepted_proofs_of_networks_of_terms_can_be_written_out() {
    let written: usize = (0..400u64)
        .into_par_iter()
        .map(|seed| {
            let mut random = Random::new(seed + 62_000_000);
            let world = World::random_terms(&mut random);
            let reference = world.reference(0).unwrap();
            let Ok(proof) = world.grow(&mut random, reference, 20) else { return 0 };
            let (file, mut expanded) = (world.file(&[proof]), Vec::new());
            let options = world.options();
            gcnproof_check::expand(&world.graph, &world.model, &options, &file[..], &mut expanded).unwrap();
            for exact_only in [false, true] {
                let options = gcnproof_check::Options { exact_only, ..world.options() };
                let summary = gcnproof_check::check(&world.graph, &world.model, &options, &expanded[..], |_| {});
                assert!(summary.accepted(), "seed {seed}: {:?}", summary.rejections);
                assert_eq!(summary.verdicts[0], Some(Verdict::Robust), "seed {seed}");
            }
            1
        })
        .sum();
    println!("{written} written out");
    assert!(written > 80, "{written}");
}
