//! Floats and exact numbers accept and reject the same proofs, for the same reasons, where numbers are 0 but for
//! roundings.
use crate::common;
#[allow(dead_code)]
use crate::edge_world as world;

use common::Random;
use gcnproof_check::Dyadic;
use gcnproof_check::edges::format::*;
use gcnproof_check::format::Number;
use rayon::prelude::*;
use world::Case;

/// The least bound of the leaf of one class, floats around it.
fn bound_of(case: &Case, classes: (u32, u32), hints: &Prices) -> f64 {
    case.leaf_bound(classes, &[], hints)[1].lower.to_f64()
}

/// Other prices and weights, elements dropped, doubled and exchanged.
fn tamper(random: &mut Random, tree: &mut Vec<Step>) {
    let (at, other) = (random.below(tree.len()), random.below(tree.len()));
    match (random.below(6), &mut tree[at]) {
        (0, Step::Prices(hints)) if !hints.mu.is_empty() => {
            let mu = &mut hints.mu[0].0;
            *mu = &*mu + &Dyadic::new((random.below(3) as i64 - 1).into(), [-60, -30, -4][random.below(3)]);
        }
        (1, Step::Prices(hints)) if !hints.views.is_empty() => {
            let view = random.below(hints.views.len());
            hints.views[view].2 = random.below(1 << 20) as u32;
        }
        (2, step) => *step = Step::Prices(Box::default()),
        (3, step) => *step = Step::Singles(Nothing {}),
        (4, _) => tree.swap(at, other),
        _ => drop(tree.remove(at)),
    }
    if tree.is_empty() {
        tree.push(Step::Prices(Box::default()));
    }
}

/// `[shown, accepted]`: [`Case::judge`] compares the two paths.
fn agree(seed: u64) -> [usize; 2] {
    let mut random = Random::new(seed);
    let mut case = Case::quantised(&mut random);
    let Some(mut reference) = case.reference() else { return [0; 2] };
    let mut counts = [0; 2];
    for round in 0..4 {
        let others: Vec<u32> = (0..case.world.classes() as u32).filter(|&class| class != reference).collect();
        // The bound of the first class is moved to 0, up to its last digits, or a little above.
        let hints = case.hints(&mut random, &Default::default());
        if round > 0 {
            let bound = bound_of(&case, (reference, others[0]), &hints);
            let above = [0.0, 0.0, f64::from_bits(1), 1e-17, 1e-9, 0.125, 1.0][random.below(7)];
            if !bound.is_finite() {
                continue;
            }
            let (nodes, classes) = (case.world.graph.attributes.rows, case.world.classes());
            let bias = &mut case.world.model.layers[1].bias;
            let at = if bias.len() == nodes * classes && nodes > 1 { case.node as usize * classes } else { 0 };
            bias[at + reference as usize] += above - bound;
            reference = case.reference().unwrap_or(reference);
        }
        let others: Vec<u32> = (0..case.world.classes() as u32).filter(|&class| class != reference).collect();
        let splits = random.below(4);
        let one = |class: u32| ClassProof { class, tree: vec![Step::Prices(Box::new(hints.clone()))] };
        let mut trees: Vec<ClassProof> = others.iter().map(|&class| one(class)).collect();
        for tampered in 0..4 {
            let claim = Claim::Robust(trees.clone());
            let proof = NodeProof { id: case.node, class: reference, claim };
            counts[0] += 1;
            counts[1] += usize::from(case.judge(&proof).is_ok());
            for tree in &mut trees {
                match tampered {
                    0 => tree.tree = case.tree(&mut random, splits),
                    _ => tamper(&mut random, &mut tree.tree),
                }
            }
        }
    }
    counts
}

#[test]
fn floats_and_exact_numbers_accept_the_same() {
    let count = |name: &str, default: u64| std::env::var(name).ok().and_then(|x| x.parse().ok()).unwrap_or(default);
    let (cases, first) = (count("AGREE_CASES", 1_500), count("AGREE_FIRST", 0));
    let counts = (first..first + cases).into_par_iter().map(agree);
    let [shown, accepted] = counts.reduce(|| [0; 2], |a, b| [a[0] + b[0], a[1] + b[1]]);
    println!("{shown} proofs, {accepted} accepted by both");
    assert!(accepted > shown / 20 && accepted < shown, "{shown} {accepted}");
}

/// Grown proofs: every leaf that is rejected is split, so that accepted ones are near what can be proved.
#[test]
fn grown_proofs_are_the_same_for_both() {
    let counts = (0..300u64).into_par_iter().map(|seed| {
        let mut random = Random::new(9_000_000 + seed);
        let mut case = Case::quantised(&mut random);
        case.header.edges.global = case.header.edges.global.min(2);
        if case.edges().len() > 12 {
            return 0;
        }
        let Some(reference) = case.reference() else { return 0 };
        usize::from(case.grow(&mut random, reference).is_some())
    });
    let grown: usize = counts.sum();
    assert!(grown > 20, "{grown}");
}

/// A price in every way that it can be written is the same number.
#[test]
fn prices_of_the_same_value_mean_the_same() {
    let mut random = Random::new(5);
    for _ in 0..100 {
        let case = Case::quantised(&mut random);
        let Some(reference) = case.reference() else { continue };
        let other = u32::from(reference == 0);
        let of = |mantissa: i64, exponent: i64| Prices {
            mu: vec![Number(Dyadic::new(mantissa.into(), exponent))],
            views: Vec::new(),
        };
        let bounds = [of(1, -3), of(8, -6), of(1 << 20, -23)].map(|hints| bound_of(&case, (reference, other), &hints));
        assert!(bounds.iter().all(|bound| *bound == bounds[0]), "{bounds:?}");
    }
}
