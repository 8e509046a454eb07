//! Proofs about one attack for the whole graph: what is accepted is true, by listing all sets of flips in exact numbers of its own.
#![allow(missing_docs)]

mod common;
#[path = "collective/world.rs"]
mod world;

use std::cmp::Ordering;

use common::{Big, Random, layer};
use gcnproof_check::collective::format::*;
use gcnproof_check::format::{Claim as NodeClaim, ClassProof, Convention, Direction, Local, NodeProof};
use gcnproof_check::{Expectations, Options, Reason, Stated, Summary, Verdict, check};
use rayon::prelude::*;
use serde_json::Value;
use world::{Case, ONE, Truth};

/// Random shares, leaves and prices: the smallest number that is shown is never below the truth, and floats show no smaller one than exact numbers.
#[test]
fn what_is_shown_is_never_below_the_truth() {
    let counts = (0..6_000u64).into_par_iter().map(|seed| {
        let mut random = Random::new(seed);
        let case = Case::random(&mut random);
        let truth = case.truth();
        let counted = truth.counts.iter().filter(|&&counts| counts).count() as u64;
        let lines = case.lines(&mut random, &truth);
        let mut least = counted;
        let (mut equal, mut all) = (0, 0);
        for round in 0..6 {
            let mut claim = case.claim(&mut random, &lines, u64::MAX);
            let file = case.file(&lines, &claim);
            let [rounded, exact] = [false, true].map(|exact_only| {
                let summary = case.check(&file, exact_only);
                let found = summary.collective.unwrap_or_else(|| panic!("seed {seed}: {summary}"));
                assert_eq!(found.counted, counted, "seed {seed}: {summary}");
                assert!(found.proved && found.claimed == u64::MAX, "seed {seed}: {summary}");
                found.shown
            });
            assert!(exact >= truth.broken, "seed {seed}: {exact} is shown, {} is true", truth.broken);
            assert!(rounded >= exact, "seed {seed}: {rounded} in floats, {exact} exactly");
            (equal, all) = (equal + usize::from(rounded == exact), all + 1);
            least = least.min(exact);
            if round == 0 {
                // The claim decides with exact numbers in the end.
                for (bound, accepted) in [(Some(exact), true), (exact.checked_sub(1), false)] {
                    let Some(bound) = bound else { continue };
                    claim.bound = bound;
                    let file = case.file(&lines, &claim);
                    for exact_only in [false, true] {
                        let summary = case.check(&file, exact_only);
                        let proved = summary.collective.is_some_and(|found| found.proved && found.claimed == bound);
                        assert_eq!(proved, accepted, "seed {seed}: {summary}");
                    }
                }
            }
        }
        let useful = least < counted;
        let tight = useful && least == truth.broken;
        [1, usize::from(useful), usize::from(tight), usize::from(tight && least > 0), equal, all]
    });
    let counts = counts.reduce(|| [0; 6], |a, b| std::array::from_fn(|at| a[at] + b[at]));
    println!("[cases, below all, tight, tight above 0, floats as good, of] = {counts:?}");
    assert!(counts[1] > 1_500 && counts[2] > 800 && counts[3] > 150, "{counts:?}");
    assert!(counts[4] * 100 > counts[5] * 95, "{counts:?}");
}

/// The sum by its definition, for a network of one layer, where losses are what single flips take from a margin.
fn by_definition(case: &Case, truth: &Truth, lines: &[Line], claim: &Claim) -> u128 {
    let (budget, one) = (&case.world.header.budget, u128::from(ONE));
    let (count, columns) = (case.size(), case.world.graph.attributes.columns);
    let global = budget.global.min((count * columns) as u64);
    let local = |n: u32| case.world.local(n as usize).min(columns as u64).min(global);
    let losses = case.losses(&truth.predicted);
    let reaches: Vec<Vec<bool>> = (0..count).map(|n| case.world.reaches_of(n as u32)[1].clone()).collect();
    let permitted = case.world.permitted();
    let free: Vec<(u32, u32)> = permitted.iter().copied().filter(|flip| local(flip.0) > 0).collect();
    let mut worth = vec![0u128; free.len()];
    let mut missing = 0;
    for n in (0..count).filter(|&n| truth.counts[n]) {
        let of_node = |line: &&Line| match line {
            Line::Node(proof) => proof.id as usize == n,
            Line::Share(share) => share.id as usize == n,
            _ => false,
        };
        let share = match lines.iter().find(of_node) {
            Some(Line::Node(_)) => continue,
            Some(Line::Share(share)) if losses[n].iter().all(|(base, _)| base.sign() == Ordering::Greater) => share,
            _ => {
                missing += one * one;
                continue;
            }
        };
        missing += one * (one - u128::from(share.weight) - u128::from(share.size));
        let weight = |flip: &(u32, u32)| -> u128 {
            let of_class = |(base, losses): &(Big, Vec<((u32, u32), Big)>)| {
                let loss = &losses.iter().find(|entry| entry.0 == *flip).unwrap().1;
                // The smallest whole number that is enough.
                let enough = |w: u128| {
                    let scaled = base.times(&Big::from(w as f64)).minus(&loss.times(&Big::from(one as f64)));
                    scaled.sign() != Ordering::Less
                };
                let (mut low, mut high) = (0u128, one);
                while low < high {
                    let middle = (low + high) / 2;
                    if enough(middle) { high = middle } else { low = middle + 1 }
                }
                low
            };
            if reaches[n][flip.0 as usize] { losses[n].iter().map(of_class).max().unwrap() } else { 0 }
        };
        let weights: Vec<u128> = free.iter().map(weight).collect();
        // All admissible sets would do, but this is the definition.
        let mut kept: Vec<u128> = Vec::new();
        let mut room = 0;
        for m in (0..count as u32).filter(|&m| reaches[n][m as usize]) {
            room += local(m);
            let mut row: Vec<u128> = free.iter().zip(&weights).filter(|(f, _)| f.0 == m).map(|(_, w)| *w).collect();
            row.sort_unstable_by(|a, b| b.cmp(a));
            kept.extend(row.into_iter().take(local(m) as usize));
        }
        kept.sort_unstable_by(|a, b| b.cmp(a));
        let most = room.min(global) as usize;
        let sum = |k: usize| kept.iter().take(k).sum::<u128>();
        let first = (1..=most).find(|&k| sum(k) >= one);
        let size = |w: u128| {
            let Some(first) = first.filter(|_| w > 0) else { return 0 };
            let fits = (first..=most).find(|&k| w + sum(k - 1) >= one);
            fits.map_or(0, |k| one.div_ceil(k as u128))
        };
        for (worth, &w) in worth.iter_mut().zip(&weights) {
            *worth += u128::from(share.weight) * w + u128::from(share.size) * size(w);
        }
    }
    let mut of_rows = Vec::new();
    for m in 0..count as u32 {
        let row = free.iter().zip(&worth).filter(|(flip, _)| flip.0 == m).map(|(_, v)| *v);
        let over = |price: u128| row.clone().map(|v| v.saturating_sub(price)).collect::<Vec<u128>>();
        let price = u128::from(claim.price);
        of_rows.push(if case.attacked_nodes.is_some() {
            let mut over = over(price);
            over.sort_unstable_by(|a, b| b.cmp(a));
            over.into_iter().take(local(m) as usize).sum()
        } else {
            let own = claim.prices.iter().find(|entry| entry.0 == m).map_or(0, |entry| u128::from(entry.1));
            own * u128::from(local(m)) + over(price + own).into_iter().sum::<u128>()
        });
    }
    of_rows.sort_unstable_by(|a, b| b.cmp(a));
    let attacked = case.attacked_nodes.map_or(count, |most| most as usize);
    missing + u128::from(global) * u128::from(claim.price) + of_rows.into_iter().take(attacked).sum::<u128>()
}

/// Without any rounding the number shown is the one of the definition: nothing is lost and nothing is won.
#[test]
fn what_is_shown_is_what_the_definition_says() {
    let counts = (0..8_000u64).into_par_iter().map(|seed| {
        let mut random = Random::new(seed + 50_000_000);
        let case = Case::plain(&mut random);
        let truth = case.truth();
        let lines = case.lines(&mut random, &truth);
        let mut sized = 0;
        for _ in 0..4 {
            let claim = case.claim(&mut random, &lines, u64::MAX);
            let total = by_definition(&case, &truth, &lines, &claim);
            let expected = total >> 48;
            let summary = case.check(&case.file(&lines, &claim), true);
            let found = summary.collective.unwrap();
            assert_eq!(u128::from(found.shown), expected, "seed {seed}: {total} {summary}\n{lines:?}\n{claim:?}");
            sized += usize::from(lines.iter().any(|line| matches!(line, Line::Share(share) if share.size > 0)));
        }
        [1, sized]
    });
    let counts = counts.reduce(|| [0; 2], |a, b| [a[0] + b[0], a[1] + b[1]]);
    println!("[cases, with sizes] = {counts:?}");
}
