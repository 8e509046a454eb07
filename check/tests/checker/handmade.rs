//! Proofs made by hand: what they show can be seen with the naked eye.

use crate::common;

use std::cmp::Ordering;

use common::{Big, Random, World, layer, world};
use gcnproof_check::format::*;
use gcnproof_check::{LONGEST_PATH, Reason, Stated, Verdict, check};

fn leaf() -> Step {
    Step::Leaf(Box::default())
}

fn robust(class: u32, tree: Vec<Step>) -> NodeProof {
    NodeProof { id: 0, class: 0, claim: Claim::Robust(vec![ClassProof { class, tree }]) }
}

fn broken(flips: &[(u32, u32)]) -> NodeProof {
    NodeProof { id: 0, class: 0, claim: Claim::NonRobust(Witness { class: 1, flips: flips.to_vec() }) }
}

fn reason(world: &World, proof: &NodeProof) -> Reason {
    world.judge(proof).unwrap_err().reason
}

/// Math §5: the linear programme has its optimum −¼ at x = ½, and both binary points give +¼.
fn one_node() -> World {
    let hidden = layer(&[&[1.0, -1.0]], &[-0.5, 0.5]);
    let logits = layer(&[&[1.0, 0.0], &[1.0, 0.0]], &[-0.25, 0.0]);
    world(&[&[0]], 1, vec![hidden, logits], 1, 1)
}

#[test]
fn a_flip_split_proves_what_no_multipliers_can() {
    let world = one_node();
    for first in 0..=32i64 {
        for second in 0..=32i64 {
            let weight = vec![(2, 0, 0, first << 15), (2, 0, 1, second << 15)];
            let leaf = Step::Leaf(Box::new(Leaf { weight, ..Leaf::default() }));
            assert!(matches!(reason(&world, &robust(1, vec![leaf])), Reason::Bound(_)));
        }
    }
    assert_eq!(world.judge(&robust(1, vec![Step::Flip(0, 0), leaf(), leaf()])), Ok(Verdict::Robust));
    assert!(matches!(reason(&world, &broken(&[])), Reason::Margin(_)));
    assert!(matches!(reason(&world, &broken(&[(0, 0)])), Reason::Margin(_)));
}

#[test]
fn a_unit_split_proves_it_with_prices() {
    // z₁ = x − ½ ≥ 0 needs the flip: H₁ + H₂ − ¼ ≥ z₁ + ωz₂ − ¼ − βz₁ = ¼ with ω = 0 … only with a price on z₁.
    let world = one_node();
    let price = |numerator: i64, weight: i64| {
        let leaf = Leaf { weight: vec![(2, 0, 1, weight)], beta: vec![(2, 0, 0, numerator)], ..Leaf::default() };
        Step::Leaf(Box::new(leaf))
    };
    let one = 1 << 20;
    // Side z₁ ≥ 0: (1 − β)z₁ with β = 2, ω = 0 gives ½ − x ≥ −½ … and side z₁ ≤ 0 likewise: neither suffices.
    assert!(matches!(
        reason(&world, &robust(1, vec![Step::Unit(2, 0, 0), price(2 * one, 0), leaf()])),
        Reason::Bound(_)
    ));
    // Split units and the flip: sides that no perturbation takes are recognised as empty.
    let tree = vec![Step::Flip(0, 0), Step::Unit(2, 0, 0), leaf(), leaf(), Step::Unit(2, 0, 1), leaf(), leaf()];
    assert_eq!(world.judge(&robust(1, tree)), Ok(Verdict::Robust));
}

#[test]
fn trees_must_be_complete_proper_and_exact() {
    let world = one_node();
    let flip = Step::Flip(0, 0);
    let of = |tree: Vec<Step>| {
        let fault = world.judge(&robust(1, tree)).unwrap_err();
        (fault.step, fault.reason)
    };
    assert_eq!(of(vec![]), (Some(0), Reason::Incomplete));
    assert_eq!(of(vec![flip.clone(), leaf()]), (Some(2), Reason::Incomplete));
    assert_eq!(of(vec![flip.clone(), leaf(), leaf(), leaf()]), (Some(3), Reason::Trailing));
    assert_eq!(of(vec![flip.clone(), flip.clone(), leaf(), leaf(), leaf()]), (Some(1), Reason::SplitTwice));
    assert_eq!(of(vec![flip.clone(), leaf(), flip.clone(), leaf(), leaf()]), (Some(2), Reason::SplitTwice));
    assert_eq!(of(vec![Step::Flip(0, 1), leaf(), leaf()]), (Some(0), Reason::Flip((0, 1))));
    assert_eq!(of(vec![Step::Flip(1, 0), leaf(), leaf()]), (Some(0), Reason::Flip((1, 0))));
    for unit in [(1, 0, 0), (3, 0, 0), (2, 1, 0), (2, 0, 2), (0, 0, 0), (u32::MAX, 0, 0)] {
        assert_eq!(of(vec![Step::Unit(unit.0, unit.1, unit.2), leaf(), leaf()]), (Some(0), Reason::Unit(unit)));
    }
    let deep: Vec<Step> = (0..=LONGEST_PATH).map(|at| Step::Unit(2, 0, at as u32)).collect();
    assert!(matches!(of(deep), (Some(2), Reason::Unit(_))));
}

#[test]
fn multipliers_must_be_admissible() {
    let world = one_node();
    let of = |leaf: Leaf| {
        reason(&world, &robust(1, vec![Step::Flip(0, 0), Step::Leaf(Box::new(leaf)), Step::Leaf(Box::default())]))
    };
    let id = (2, 0, 0);
    let one = |numerator: i64| vec![(2, 0, 0, numerator)];
    for numerator in [-1, (1 << 20) + 1, i64::MAX, i64::MIN] {
        assert_eq!(of(Leaf { weight: one(numerator), ..Leaf::default() }), Reason::MultiplierRange("weight", id));
        assert_eq!(of(Leaf { slope: one(numerator), ..Leaf::default() }), Reason::MultiplierRange("slope", id));
    }
    assert_eq!(of(Leaf { beta: one(-1), ..Leaf::default() }), Reason::MultiplierRange("beta", id));
    assert_eq!(of(Leaf { beta: one(0), ..Leaf::default() }), Reason::Unsplit(id));
    assert_eq!(of(Leaf { weight: one(1), exponent: 1, ..Leaf::default() }), Reason::MultiplierRange("weight", id));
    for exponent in [901, -1075, i32::MAX, i32::MIN] {
        // Out of range whether or not anything uses it.
        for weight in [one(1), Vec::new()] {
            assert_eq!(of(Leaf { weight, exponent, ..Leaf::default() }), Reason::Exponent(exponent));
        }
    }
    let twice = vec![(2, 0, 0, 1), (2, 0, 0, 1)];
    assert_eq!(of(Leaf { weight: twice, ..Leaf::default() }), Reason::MultiplierOrder("weight", id));
    let unordered = vec![(2, 0, 1, 1), (2, 0, 0, 1)];
    assert_eq!(of(Leaf { slope: unordered, ..Leaf::default() }), Reason::MultiplierOrder("slope", id));
    assert_eq!(of(Leaf { weight: vec![(2, 0, 7, 1)], ..Leaf::default() }), Reason::Unit((2, 0, 7)));
}

#[test]
fn every_other_class_must_be_there_once() {
    let logits = layer(&[&[0.0, 0.0, 0.0]], &[3.0, 1.0, 2.0]);
    let world = world(&[&[0]], 1, vec![logits], 1, 1);
    let proof = |classes: &[u32]| {
        let trees = classes.iter().map(|&class| ClassProof::anchored(class)).collect();
        NodeProof { id: 0, class: 0, claim: Claim::Robust(trees) }
    };
    assert_eq!(world.judge(&proof(&[1, 2])), Ok(Verdict::Robust));
    assert_eq!(reason(&world, &proof(&[1])), Reason::Classes(2));
    assert_eq!(reason(&world, &proof(&[])), Reason::Classes(1));
    assert_eq!(reason(&world, &proof(&[1, 1])), Reason::Classes(1));
    assert_eq!(reason(&world, &proof(&[2, 1])), Reason::Classes(2));
    assert_eq!(reason(&world, &proof(&[0, 1, 2])), Reason::Classes(0));
    assert_eq!(reason(&world, &proof(&[1, 2, 3])), Reason::Classes(3));
    assert_eq!(reason(&world, &NodeProof { id: 1, ..proof(&[1, 2]) }), Reason::Node);
    assert_eq!(reason(&world, &NodeProof { class: 3, ..proof(&[1, 2]) }), Reason::Class(3));
}

#[test]
fn flips_of_a_witness_must_be_admissible() {
    // Class 0 leads by ½, and each of four attributes takes 1 from it.
    let logits = layer(&[&[-1.0, 0.0], &[-1.0, 0.0], &[-1.0, 0.0], &[-1.0, 0.0]], &[0.5, 0.0]);
    let mut world = world(&[&[0, 0, 0, 0]], 4, vec![logits], 2, 2);
    assert_eq!(world.judge(&broken(&[(0, 1)])), Ok(Verdict::NonRobust));
    assert_eq!(reason(&world, &broken(&[(0, 1), (0, 1)])), Reason::FlipOrder((0, 1)));
    assert_eq!(reason(&world, &broken(&[(0, 2), (0, 1)])), Reason::FlipOrder((0, 1)));
    assert_eq!(reason(&world, &broken(&[(0, 0), (0, 1), (0, 2)])), Reason::Budget);
    assert_eq!(reason(&world, &broken(&[(0, 4)])), Reason::Flip((0, 4)));
    world.header.budget.local = Local::Uniform(1);
    assert_eq!(reason(&world, &broken(&[(0, 0), (0, 1)])), Reason::Budget);
    world.header.budget.frozen_attributes = vec![1];
    assert_eq!(reason(&world, &broken(&[(0, 1)])), Reason::Flip((0, 1)));
    world.header.budget.direction = Direction::Remove;
    assert_eq!(reason(&world, &broken(&[(0, 0)])), Reason::Flip((0, 0)));
    assert_eq!(world.judge(&robust(1, vec![leaf()])), Ok(Verdict::Robust));
}

/// Sums whose floats have another sign than the numbers: what decides is the exact sum, in the linear model and through
/// a hidden unit, by leaf and by witness.
#[test]
fn cancellation_never_decides() {
    let (mut misleading, mut random) = (0, Random::new(7));
    for round in 0..2_000 {
        let rest = [1e-17, -1e-17, 0.0, 5e-324, -5e-324, 1e-300][round % 6];
        let (big, odd) = ([1e16, 1e300, 4503599627370497.5][random.below(3)], [1.0, 0.3, 1e-3][random.below(3)]);
        let mut weights = vec![big, -big, odd, -odd, rest];
        for at in (1..weights.len()).rev() {
            weights.swap(at, random.below(at + 1));
        }
        let rounded: f64 = weights.iter().sum();
        let exact = weights.iter().fold(Big::from(0.0), |sum, &w| sum.plus(&Big::from(w))).sign();
        misleading += usize::from(rounded.partial_cmp(&0.0) != Some(exact));
        let rows: Vec<Vec<f64>> = weights.iter().map(|&w| vec![w, 0.0]).collect();
        let rows: Vec<&[f64]> = rows.iter().map(Vec::as_slice).collect();
        let linear = layer(&rows, &[0.0, 0.0]);
        let hidden = [layer(&rows, &[0.0, 0.25]), layer(&[&[1.0, 0.0], &[0.0, 0.0]], &[0.0, 0.0])];
        for layers in [vec![linear], hidden.to_vec()] {
            let deep = layers.len() == 2;
            let world = world(&[&[1; 5]], 5, layers, 0, 1);
            let holds = world.judge(&robust(1, vec![leaf()]));
            let breaks = world.judge(&broken(&[]));
            match exact {
                Ordering::Greater => {
                    assert_eq!(holds, Ok(Verdict::Robust), "{weights:?}");
                    assert!(matches!(breaks.unwrap_err().reason, Reason::Margin(_)));
                }
                // Class 0 is the predicted one only if it is not behind; through relu it is equal.
                Ordering::Less if !deep => {
                    assert!(matches!(holds.unwrap_err().reason, Reason::Bound(_)), "{weights:?}");
                    assert_eq!(breaks.unwrap_err().reason, Reason::Reference("predicted class"));
                }
                _ => {
                    assert!(matches!(holds.unwrap_err().reason, Reason::Bound(_)), "{weights:?}");
                    assert_eq!(breaks, Ok(Verdict::Tie));
                }
            }
        }
    }
    assert!(misleading > 500, "{misleading}");
}

#[test]
fn a_file_must_have_a_head_a_body_and_an_end() {
    let world = one_node();
    let proof = robust(1, vec![Step::Flip(0, 0), leaf(), leaf()]);
    let run = |bytes: &[u8]| check(&world.graph, &world.model, &world.options(), bytes, |_| {});
    let good = String::from_utf8(world.file(std::slice::from_ref(&proof))).unwrap();
    let summary = run(good.as_bytes());
    assert!(summary.accepted());
    assert_eq!(summary.verdicts, [Some(Verdict::Robust)]);
    assert_eq!(summary.header, Some(Stated::Flips(world.header.clone())));
    let packed = ruzstd::encoding::compress_to_vec(good.as_bytes(), ruzstd::encoding::CompressionLevel::Fastest);
    assert!(run(&packed).accepted());
    // Two frames, as two runs of a compressor leave them.
    let (head, tail) = good.split_at(good.len() / 2);
    let halves = [head, tail]
        .map(|half| ruzstd::encoding::compress_to_vec(half.as_bytes(), ruzstd::encoding::CompressionLevel::Fastest));
    assert!(run(&halves.concat()).accepted());
    let lines: Vec<&str> = good.lines().collect();
    let wrong = [
        (lines[1..].join("\n"), "line 1: the first line is not a header"),
        (lines[..2].join("\n"), "line 3: the file ends before its end line"),
        (
            [lines[0], lines[1], lines[1], r#"{"end":2}"#].join("\n"),
            "line 3, node 0: the node was already proved on an earlier line",
        ),
        (
            [lines[0], lines[1], r#"{"end":2}"#].join("\n"),
            "line 3: the end line counts 2 nodes, but 1 lines came before",
        ),
        ([&lines[..], &lines[1..2]].concat().join("\n"), "line 4: a line follows the end line"),
        ([lines[0], lines[0], r#"{"end":1}"#].join("\n"), "line 2: a second header"),
        (
            good.replace(&format!("\"version\":{VERSION}"), "\"version\":9"),
            "line 1: header: version 9, but this checker reads 1 to",
        ),
        (
            good.replace("\"graph\":\"graph\"", "\"graph\":\"grape\""),
            "line 1: header: the proofs are about another graph: its digest is grape, the graph given has graph",
        ),
        (
            good.replace("\"model\":\"model\"", "\"model\":\"muddle\""),
            "line 1: header: the proofs are about another model: its digest is muddle, the model given has model",
        ),
        (good.replace("\"gcn\",", ""), "line 1: header: 1 message-passing rules, 2 layers"),
        (good.replace("\"gcn\"", "\"gsn\""), "line 1: header: unknown message passing 'gsn'"),
        (good.replace("\"local\":1", "\"local\":[1,1]"), "line 1: header: 2 local budgets for 1 nodes"),
        (good.replace("{\"flip\":[0,0]},", ""), "line 2, node 0, class 1, tree node 0: the bound is not above 0"),
    ];
    for (text, expected) in wrong {
        let summary = run(text.as_bytes());
        let found = summary.rejections.first().map(ToString::to_string).unwrap_or_default();
        assert!(found.starts_with(expected), "{found} instead of {expected}");
    }
    for number in ["NaN", "1e999", "Infinity", "-1", "1.5", "null", "\"1\"", "99999999999999999999"] {
        let text = good.replace("[0,0]", &format!("[0,{number}]"));
        let summary = run(text.as_bytes());
        assert!(matches!(summary.rejections[0].fault.reason, Reason::Syntax(_)), "{number}");
    }
    assert_eq!(run(&[]).rejections[0].to_string(), "line 1: the file is empty");
    for length in 4..packed.len() {
        let summary = run(&packed[..length]);
        assert!(!summary.accepted(), "{length} bytes of {}", packed.len());
    }
}

#[test]
fn a_changed_digit_in_the_model_is_noticed() {
    let bytes = include_bytes!("../../../fixtures/cora_pyg.safetensors");
    let mut changed = bytes.to_vec();
    let at = changed.len() - 1000;
    changed[at] ^= 1;
    let [one, other] = [&bytes[..], &changed].map(|bytes| gcnproof_files::parse_model("model", bytes).unwrap());
    assert_ne!(one.digest, other.digest);
}
