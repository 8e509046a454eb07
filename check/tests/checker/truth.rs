//! Whatever is accepted is true, and whatever is true can be proved: random tiny problems against brute force.

use crate::common;

use common::{Random, World};
use gcnproof_check::format::{Claim, NodeProof, Step, Witness};
use gcnproof_check::{Reason, Verdict};
use rayon::prelude::*;
use std::cmp::Ordering;

/// Grown trees: a true claim is proved, a false one never.
#[test]
fn trees_prove_exactly_what_is_true() {
    let counts = (0..1_500u64)
        .into_par_iter()
        .map(|seed| {
            let mut random = Random::new(seed);
            let world = World::random(&mut random);
            let reference = world.reference(0).unwrap();
            let (verdict, _) = world.truth(0, reference);
            match world.grow(&mut random, reference, 120) {
                Ok(proof) => {
                    assert_eq!(verdict, Verdict::Robust, "seed {seed}: a false claim was accepted: {proof:?}");
                    let Claim::Robust(trees) = &proof.claim else { unreachable!() };
                    let steps = trees.iter().flat_map(|tree| &tree.tree);
                    let has = |wanted: fn(&Step) -> bool| usize::from(steps.clone().any(wanted));
                    [1, has(|s| matches!(s, Step::Unit(..))), has(|s| matches!(s, Step::Flip(..))), 0, 0]
                }
                Err((_, exhausted)) => {
                    assert!(!exhausted || verdict != Verdict::Robust, "seed {seed}: a true claim cannot be proved");
                    if verdict == Verdict::Robust { [0, 0, 0, 1, 0] } else { [0, 0, 0, 0, 1] }
                }
            }
        })
        .reduce(|| [0; 5], |a, b| std::array::from_fn(|at| a[at] + b[at]));
    let [proved, with_units, with_flips, not_in_time, refused] = counts;
    println!(
        "{proved} proved ({with_units} with unit splits, {with_flips} with flip splits), {refused} refused, {not_in_time} out of rounds"
    );
    assert!(proved > 300 && with_units > 22 && with_flips > 37 && refused > 300, "{counts:?}");
    assert!(not_in_time < 60, "{counts:?}");
}

/// Arbitrary admissible multipliers: never a false claim.
#[test]
fn any_admissible_multipliers_give_a_valid_bound() {
    let accepted: usize = (0..4_000u64)
        .into_par_iter()
        .map(|seed| {
            let mut random = Random::new(seed + 1_000_000);
            let world = World::random(&mut random);
            let reference = world.reference(0).unwrap();
            let (verdict, _) = world.truth(0, reference);
            let mut proof = world.start(reference);
            let Claim::Robust(trees) = &mut proof.claim else { unreachable!() };
            for tree in trees {
                tree.tree = vec![Step::Leaf(Box::new(world.random_leaf(&mut random)))];
            }
            let accepted = world.judge(&proof).is_ok();
            assert!(!accepted || verdict == Verdict::Robust, "seed {seed}");
            usize::from(accepted)
        })
        .sum();
    println!("{accepted} accepted");
    assert!(accepted > 600);
}

/// Witnesses: accepted exactly if their margin is not positive, and ties are told from breaks.
#[test]
fn witnesses_are_judged_exactly() {
    let counts = (0..4_000u64)
        .into_par_iter()
        .map(|seed| {
            let mut random = Random::new(seed + 2_000_000);
            let world = World::random(&mut random);
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
            // Another reference class is refused under either convention.
            let other = (reference + 1) % world.classes() as u32;
            let witness = Witness { class: reference, flips: Vec::new() };
            let proof = NodeProof { id: 0, class: other, claim: Claim::NonRobust(witness) };
            assert!(matches!(world.judge(&proof).unwrap_err().reason, Reason::Reference(_)), "seed {seed}");
            counts
        })
        .reduce(|| [0; 3], |a, b| std::array::from_fn(|at| a[at] + b[at]));
    println!("{counts:?} broken, tied, held");
    assert!(counts.iter().all(|&count| count > 500), "{counts:?}");
}

/// Networks of terms: a true claim is proved, a false one never.
#[test]
fn trees_prove_exactly_what_is_true_of_networks_of_terms() {
    let counts = (0..800u64)
        .into_par_iter()
        .map(|seed| {
            let mut random = Random::new(seed + 6_000_000);
            let world = World::random_terms(&mut random);
            let reference = world.reference(0).unwrap();
            let (verdict, _) = world.truth(0, reference);
            match world.grow(&mut random, reference, 120) {
                Ok(proof) => {
                    assert_eq!(verdict, Verdict::Robust, "seed {seed}: a false claim was accepted: {proof:?}");
                    let Claim::Robust(trees) = &proof.claim else { unreachable!() };
                    let steps = trees.iter().flat_map(|tree| &tree.tree);
                    let has = |wanted: fn(&Step) -> bool| usize::from(steps.clone().any(wanted));
                    [1, has(|s| matches!(s, Step::Unit(..))), has(|s| matches!(s, Step::Flip(..))), 0, 0]
                }
                Err((fault, exhausted)) => {
                    assert!(
                        !exhausted || verdict != Verdict::Robust,
                        "seed {seed}: a true claim cannot be proved: {fault:?}"
                    );
                    if verdict == Verdict::Robust { [0, 0, 0, 1, 0] } else { [0, 0, 0, 0, 1] }
                }
            }
        })
        .reduce(|| [0; 5], |a, b| std::array::from_fn(|at| a[at] + b[at]));
    let [proved, with_units, with_flips, not_in_time, refused] = counts;
    println!(
        "{proved} proved ({with_units} with unit splits, {with_flips} with flip splits), {refused} refused, {not_in_time} out of rounds"
    );
    assert!(proved > 160 && with_units > 10 && with_flips > 20 && refused > 160, "{counts:?}");
    assert!(not_in_time < 40, "{counts:?}");
}

/// Networks of terms, arbitrary admissible multipliers: never a false claim.
#[test]
fn any_admissible_multipliers_give_a_valid_bound_of_networks_of_terms() {
    let accepted: usize = (0..6_000u64)
        .into_par_iter()
        .map(|seed| {
            let mut random = Random::new(seed + 7_000_000);
            let world = World::random_terms(&mut random);
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
    assert!(accepted > 600, "{accepted}");
}

/// Networks of terms: witnesses are accepted exactly if their margin is not positive.
#[test]
fn witnesses_are_judged_exactly_of_networks_of_terms() {
    let counts = (0..1_000u64)
        .into_par_iter()
        .map(|seed| {
            let mut random = Random::new(seed + 8_000_000);
            let world = World::random_terms(&mut random);
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
        })
        .reduce(|| [0; 3], |a, b| std::array::from_fn(|at| a[at] + b[at]));
    println!("{counts:?} broken, tied, held");
    assert!(counts.iter().all(|&count| count > 100), "{counts:?}");
}
