//! Envelopes: lines from prices of flips, against the page that defines them.

mod common;

use std::cmp::Ordering;

use common::{Big, Random, World, layer, random_price, world};
use gcnproof_check::format::*;
use gcnproof_check::{Fault, Reason, Verdict, check};
use rayon::prelude::*;

type Flip = (u32, u32);

const ONE: i64 = 1 << 20;

fn leaf(envelope: Envelope) -> Step {
    Step::Leaf(Box::new(Leaf { cap: true, envelope: Some(Box::new(envelope)), ..Leaf::default() }))
}

fn robust(tree: Vec<Step>) -> NodeProof {
    NodeProof { id: 0, class: 0, claim: Claim::Robust(vec![ClassProof { class: 1, tree }]) }
}

/// The envelope of one unit, with whole prices.
fn one_unit(nodes: &[u32], flips: &[Flip], unit: UnitPrices) -> Envelope {
    Envelope { exponent: 0, nodes: nodes.to_vec(), flips: flips.to_vec(), units: vec![unit] }
}

fn judged(world: &World, tree: Vec<Step>) -> bool {
    match world.judge(&robust(tree)) {
        Ok(verdict) => verdict == Verdict::Robust,
        Err(Fault { reason: Reason::Bound(_), .. }) => false,
        Err(fault) => panic!("{fault:?}"),
    }
}

/// Unit 0 stands at −1, and each of two nodes can add one attribute that raises it by 1. That of node 1 also raises unit 1,
/// which makes up for all of it. The margin is `lead`, and no flips make it smaller.
fn two_nodes(lead: f64) -> World {
    let hidden = layer(&[&[1.0, 0.0], &[1.0, 1.0]], &[-3.0, 0.0]);
    let logits = layer(&[&[-1.0, 0.0], &[1.0, 0.0]], &[lead - 1.0, 0.0]);
    let mut world = world(&[&[0, 1], &[1, 0]], 2, vec![hidden, logits], 2, 1);
    world.header.message_passing = vec!["sum+self".into(), "identity".into()];
    world.header.budget.direction = Direction::Add;
    world
}

#[test]
fn only_an_envelope_proves_it() {
    let tiny = 2f64.powi(-50);
    // Chord, anchored and capped bound all charge ½ for the flip of node 0, and so does any mixture.
    for weight in 0..=8 {
        for cap in [false, true] {
            let weight = vec![(2, 0, 0, weight * ONE / 8)];
            let plain = Step::Leaf(Box::new(Leaf { cap, weight, ..Leaf::default() }));
            assert!(!judged(&two_nodes(0.5), vec![plain.clone()]));
            assert!(judged(&two_nodes(0.5 + tiny), vec![plain]));
        }
    }
    // A price of 1 for node 0, or for its flip, pays for it: what is left is its share of ½, exactly.
    for share in [0, 1, ONE / 4, ONE / 2, ONE - 1, ONE] {
        let of_node = one_unit(&[0], &[], UnitPrices(0, 0, share, 0, vec![1], vec![]));
        let of_flip = one_unit(&[], &[(0, 0)], UnitPrices(0, 0, share, 0, vec![], vec![1]));
        let needed = 0.5 - share as f64 / (2 * ONE) as f64;
        for envelope in [of_node, of_flip] {
            for (lead, accepted) in [(needed, false), (needed + tiny, true), (needed - tiny, false)] {
                assert_eq!(judged(&two_nodes(lead), vec![leaf(envelope.clone())]), accepted, "{lead} {envelope:?}");
            }
        }
    }
    // A price for the wrong node, or one for all that pays too much, proves nothing.
    for prices in [UnitPrices(0, 0, ONE, 0, vec![0, 1], vec![]), UnitPrices(0, 0, ONE, 1, vec![], vec![])] {
        assert!(!judged(&two_nodes(0.25), vec![leaf(one_unit(&[0, 1], &[], prices))]));
    }
}

/// Unit 0 of node 0 stands at −1. Node 0 can add an attribute that raises it by 2; node 1 one that does not reach it, but takes
/// 3 elsewhere. With `τ = 1` and a price of −1 for node 1, `A = 1`; the first flip takes 1 more, and the second gives 1 back.
#[test]
fn units_that_a_flip_does_not_reach_give_something_back() {
    let hidden = layer(&[&[2.0, 0.0], &[0.0, 3.0]], &[-1.0, 0.0]);
    let of_node = one_unit(&[1], &[], UnitPrices(0, 0, ONE, 1, vec![-1], vec![]));
    let of_flip = one_unit(&[], &[(1, 1)], UnitPrices(0, 0, ONE, 1, vec![], vec![-1]));
    let of_both = one_unit(&[0, 1], &[(0, 0), (1, 1)], UnitPrices(0, 0, ONE, 0, vec![1, -1], vec![0, 1]));
    for (lead, accepted) in [(2.99, false), (3.0, false), (3.0 + 1e-12, true)] {
        // At rest the other units take 4.
        let logits = layer(&[&[-1.0, 0.0], &[-1.0, 0.0]], &[lead + 4.0, 0.0]);
        let mut world = world(&[&[0, 1], &[1, 0]], 2, vec![hidden.clone(), logits], 1, 1);
        world.header.message_passing = vec!["identity".into(), "sum+self".into()];
        world.header.budget.direction = Direction::Add;
        for envelope in [&of_node, &of_flip] {
            assert_eq!(judged(&world, vec![leaf(envelope.clone())]), accepted, "{lead} {envelope:?}");
        }
        // ν₀ = 1, ν₁ = −1 and ρ of node 1's flip 1: A = max(−1 + 1 + 1, 1), and u = 1, v = 1 for that flip as before.
        assert_eq!(judged(&world, vec![leaf(of_both.clone())]), accepted, "{lead}");
    }
}
