//! Proofs about one attack for the whole graph: what is accepted is true, by listing all sets of flips in exact numbers
//! of its own.
use crate::collective_world as world;
use crate::common;

use std::cmp::Ordering;

use common::{Big, Random, layer};
use gcnproof_check::collective::format::*;
use gcnproof_check::format::{Claim as NodeClaim, ClassProof, Convention, Direction, Local, NodeProof};
use gcnproof_check::{Attack, Options, Question, Reason, Stated, Summary, Verdict, check};
use rayon::prelude::*;
use serde_json::Value;
use world::{Case, Losses, ONE, Truth};

/// Random shares, leaves and prices: the smallest number that is shown is never below the truth, and floats show no
/// smaller one than exact numbers.
#[test]
fn what_is_shown_is_never_below_the_truth() {
    let counts = (0..1_000u64).into_par_iter().map(|seed| {
        let mut random = Random::new(seed);
        let case = Case::random(&mut random);
        let truth = case.truth();
        let counted = truth.counts.iter().filter(|&&counts| counts).count() as u64;
        let mut lines = case.lines(&mut random, &truth);
        if seed % 2 == 0 {
            case.cover(&mut random, &mut lines);
        }
        let mut least = counted;
        let (mut equal, mut all) = (0, 0);
        for round in 0..6 {
            let mut claim = case.claim(&mut random, &lines, u64::MAX);
            claim.components = seed % 3 == 0;
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
                // No more than count are broken, whatever lines show.
                for (bound, accepted) in [(Some(exact), true), (exact.checked_sub(1), exact > counted)] {
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
    assert!(counts[1] > 160 && counts[2] > 80 && counts[3] > 16, "{counts:?}");
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
            let of_class = |(base, losses): &Losses| {
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
    let counts = (0..2_500u64).into_par_iter().map(|seed| {
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

/// All places in a value, as JSON pointers.
fn places(value: &Value, at: &str, found: &mut Vec<String>) {
    found.push(at.into());
    match value {
        Value::Array(list) => {
            list.iter().enumerate().for_each(|(i, inner)| places(inner, &format!("{at}/{i}"), found));
        }
        Value::Object(map) => map.iter().for_each(|(key, inner)| places(inner, &format!("{at}/{key}"), found)),
        _ => {}
    }
}

fn mutate(value: &mut Value, random: &mut Random) {
    let mut found = Vec::new();
    places(value, "", &mut found);
    let place = &found[random.below(found.len())];
    let Some(spot) = value.pointer_mut(place) else { return };
    match spot {
        Value::Number(number) => {
            let old = number.as_u64().unwrap_or(0);
            let one = u64::from(ONE);
            let new = [
                old.wrapping_add(1),
                old.wrapping_sub(1),
                old.saturating_mul(2),
                old / 2,
                old / 16,
                0,
                1,
                2,
                3,
                one,
                one / 2,
                one + 1,
                one * one,
                one * one / 2,
                u64::MAX,
            ];
            *spot = Value::from(new[random.below(new.len())]);
        }
        Value::String(text) => {
            let words =
                ["gcn", "sum", "sum+self", "mean", "identity", "both", "add", "remove", "predicted", "labels", "x"];
            *text = words[random.below(words.len())].into();
        }
        Value::Array(list) if !list.is_empty() => {
            let (at, other) = (random.below(list.len()), random.below(list.len()));
            match random.below(4) {
                0 => drop(list.remove(at)),
                1 => list.insert(other, list[at].clone()),
                2 => list.swap(at, other),
                _ => list.truncate(at),
            }
        }
        Value::Object(map) if !map.is_empty() => {
            let key = map.keys().nth(random.below(map.len())).cloned().unwrap_or_default();
            let old = map.remove(&key).unwrap_or_default();
            if random.chance(60) {
                let keys = [
                    "weight",
                    "size",
                    "leaves",
                    "prices",
                    "price",
                    "nodes",
                    "attacked_nodes",
                    "share",
                    "node",
                    "leaf",
                    "hints",
                ];
                map.insert(keys[random.below(keys.len())].into(), old);
            }
        }
        _ => *spot = Value::from(1),
    }
}

/// Whatever a summary says is proved is true of what it says is stated.
fn assert_true(case: &Case, summary: &Summary, context: &str) -> bool {
    let Some(Stated::Collective(header)) = &summary.header else { return false };
    let Some(claim) = summary.collective.filter(|claim| claim.proved) else { return false };
    let case = case.with(header);
    let truth = case.truth();
    assert!(truth.broken <= claim.claimed, "{context}: {} are broken\n{summary}", truth.broken);
    assert_eq!(claim.counted, truth.counts.iter().filter(|&&counts| counts).count() as u64, "{context}");
    for (node, verdict) in summary.verdicts.iter().enumerate().filter(|(_, verdict)| verdict.is_some()) {
        assert_eq!(*verdict, Some(Verdict::Robust), "{context}: node {node}");
    }
    true
}

/// Files that are changed here and there: a claim that is accepted is true.
#[test]
fn tampered_files_are_accepted_only_where_the_claim_is_true() {
    let counts = (0..2_000u64).into_par_iter().map(|seed| {
        let mut random = Random::new(seed + 70_000_000);
        let case = Case::random(&mut random);
        let truth = case.truth();
        let lines = case.lines(&mut random, &truth);
        let mut claim = case.claim(&mut random, &lines, u64::MAX);
        let shown = case.check(&case.file(&lines, &claim), false).collective.unwrap().shown;
        claim.bound = if random.chance(60) { shown } else { truth.broken.saturating_sub(1) };
        let bytes = case.file(&lines, &claim);
        let text = std::str::from_utf8(&bytes).unwrap();
        let mut values: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        for _ in 0..1 + random.below(3) {
            let (at, other) = (random.below(values.len()), random.below(values.len()));
            match random.below(12) {
                0 => drop(values.remove(at)),
                1 => values.insert(other, values[at].clone()),
                2 => values.swap(at, other),
                3 => values.truncate(at + 1),
                _ => mutate(&mut values[at], &mut random),
            }
            if values.is_empty() {
                return [1, 0, 0];
            }
        }
        if random.chance(50) {
            // A count that fits does not help.
            let before = values.len().saturating_sub(2);
            if let Some(count) = values.last_mut().and_then(|last| last.pointer_mut("/claim/lines")) {
                *count = Value::from(before);
            }
        }
        let tampered: String = values.iter().map(|value| format!("{value}\n")).collect();
        let [rounded, exact] = [false, true].map(|exact_only| {
            let summary = case.check(tampered.as_bytes(), exact_only);
            let proved = assert_true(&case, &summary, &format!("seed {seed}"));
            (proved, summary.rejected, summary.collective.map(|claim| (claim.proved, claim.safe, claim.shared)))
        });
        assert_eq!(rounded, exact, "seed {seed}");
        [1, usize::from(rounded.0), usize::from(rounded.0 && rounded.1 == 0)]
    });
    let counts = counts.reduce(|| [0; 3], |a, b| std::array::from_fn(|at| a[at] + b[at]));
    println!("[tampered, claim accepted, whole file accepted] = {counts:?}");
    assert!(counts[1] > 200 && counts[0] - counts[1] > 500, "{counts:?}");
}

/// Changed bytes: no harm, whatever they are.
#[test]
fn changed_bytes_do_no_harm() {
    (0..800u64).into_par_iter().for_each(|seed| {
        let mut random = Random::new(seed + 80_000_000);
        let case = Case::random(&mut random);
        let truth = case.truth();
        let lines = case.lines(&mut random, &truth);
        let claim = case.claim(&mut random, &lines, truth.broken);
        let mut bytes = case.file(&lines, &claim);
        for _ in 0..1 + random.below(4) {
            let at = random.below(bytes.len());
            let new = b"0123456789{}[],:\"\n -e."[random.below(22)];
            match random.below(3) {
                0 => bytes[at] = new,
                1 => drop(bytes.remove(at)),
                _ => bytes.insert(at, new),
            }
        }
        assert_true(&case, &case.check(&bytes, false), &format!("seed {seed}"));
    });
}

/// Nodes on their own: one layer, one attribute after the other, the margin of class 0 over class 1 is `base` less what
/// is added.
pub fn alone(nodes: usize, base: f64, weights: &[f64], global: u64, local: u64) -> Case {
    let rows: Vec<Vec<f64>> = weights.iter().map(|&w| vec![0.0, w]).collect();
    let layer = layer(&rows.iter().map(Vec::as_slice).collect::<Vec<_>>(), &[base, 0.0]);
    let absent = vec![0u8; weights.len()];
    let mut world = common::world(&vec![absent.as_slice(); nodes], weights.len(), vec![layer], global, local);
    world.header.message_passing = vec!["identity".into()];
    Case { world, attacked_nodes: None, nodes: None }
}

fn share(id: u32, weight: u32, size: u32) -> Line {
    Line::Share(Share { id, class: 0, weight, size, leaves: Vec::new(), covers: Vec::new() })
}

fn claim(lines: u64, bound: u64, price: u64) -> Claim {
    Claim { lines, bound, price, prices: Vec::new(), components: false }
}

/// The number that lines show, which both routes must agree about to within one.
fn shown(case: &Case, lines: &[Line], price: u64, prices: &[(u32, u64)]) -> u64 {
    let claim = Claim { lines: lines.len() as u64, bound: u64::MAX, price, prices: prices.to_vec(), components: false };
    let file = case.file(lines, &claim);
    let [rounded, exact] = [false, true].map(|exact_only| {
        let summary = case.check(&file, exact_only);
        summary.collective.unwrap_or_else(|| panic!("{summary}")).shown
    });
    assert!(rounded == exact || rounded == exact + 1, "{rounded} {exact}");
    exact
}

const ALL: u64 = 1 << 48;

/// Three flips that just make a tie: a weight is a third, rounded up, so that nothing is proved that is not true.
#[test]
fn weights_are_rounded_up_and_at_most_one() {
    let case = alone(1, 3.0, &[1.0, 1.0, 1.0], 3, 3);
    assert_eq!(case.truth().broken, 1);
    assert_eq!(shown(&case, &[share(0, ONE, 0)], 0, &[]), 1);
    assert_eq!(shown(&case, &[share(0, 0, ONE)], 0, &[]), 1);
    // A little more margin, and three flips do not do; the prices do not matter.
    let case = alone(1, 3.0 + 1e-6, &[1.0, 1.0, 1.0], 3, 3);
    assert_eq!(case.truth().broken, 0);
    assert_eq!(shown(&case, &[share(0, ONE, 0)], 0, &[]), 0);
    // One flip that does far more than is needed counts once: five nodes, and no more than one of them.
    let case = alone(5, 1.0, &[100.0], 1, 1);
    let lines: Vec<Line> = (0..5).map(|id| share(id, ONE, 0)).collect();
    assert_eq!((case.truth().broken, shown(&case, &lines, ALL, &[])), (1, 1));
    // Of a flip that hurts nothing there is no weight.
    let case = alone(1, 1.0, &[-5.0, 0.0], 2, 2);
    assert_eq!((case.truth().broken, shown(&case, &[share(0, ONE, 0)], 0, &[])), (0, 0));
    assert_eq!(shown(&case, &[share(0, 0, ONE)], 0, &[]), 0);
}

/// Where a few large flips and many small ones exist, sizes count flips.
#[test]
fn sizes_count_flips() {
    // Two flips of 0.6 break a node, or one of them and two of 0.2: k* = 2, and a small flip has a third.
    let case = alone(4, 1.0, &[0.6, 0.6, 0.2, 0.2], 4, 4);
    let lines: Vec<Line> = (0..4).map(|id| share(id, 0, ONE)).collect();
    assert_eq!(case.truth().broken, 2);
    assert_eq!(shown(&case, &lines, ALL / 2 + 1, &[]), 2);
    assert_eq!(shown(&case, &lines, ALL / 3 + 1, &[]), 2);
    // By half a flip at a node, nothing can be broken.
    let case = alone(4, 1.0, &[0.6, 0.6, 0.2, 0.2], 4, 1);
    assert_eq!((case.truth().broken, shown(&case, &lines, 0, &[])), (0, 0));
    // Three flips at most, all needed: the fourth size is never used.
    let case = alone(2, 1.0, &[0.4, 0.4, 0.2, 0.1], 3, 3);
    let lines: Vec<Line> = (0..2).map(|id| share(id, 0, ONE)).collect();
    assert_eq!(case.truth().broken, 1);
    // 0.1 with two others is not enough, and a fourth is not admissible: it has no size. Three thirds, rounded up, at
    // each node.
    assert_eq!(shown(&case, &lines, 0, &[]), 2);
    assert_eq!(shown(&case, &lines, ALL / 3 + u64::from(ONE), &[]), 1);
}

/// Local budgets count by prices of nodes, or by the largest of a row where rows are limited.
#[test]
fn prices_of_nodes_and_limits_on_rows() {
    // Two flips in all, one in a row, and each of two flips of a node breaks it.
    let mut case = alone(3, 1.0, &[1.0, 1.0], 2, 1);
    let lines: Vec<Line> = (0..3).map(|id| share(id, ONE, 0)).collect();
    assert_eq!(case.truth().broken, 2);
    assert_eq!(shown(&case, &lines, ALL, &[]), 2);
    assert_eq!(shown(&case, &lines, 0, &[]), 6);
    assert_eq!(shown(&case, &lines, 0, &[(0, ALL), (1, ALL), (2, ALL)]), 3);
    assert_eq!(shown(&case, &lines, ALL / 2, &[(0, ALL / 2), (1, ALL / 2), (2, ALL / 2)]), 2);
    case.attacked_nodes = Some(1);
    assert_eq!(case.truth().broken, 1);
    // Prices of nodes are not used with it.
    assert_eq!(shown(&case, &lines, 0, &[(0, ALL), (1, ALL), (2, ALL)]), 1);
    assert_eq!(shown(&case, &lines, 0, &[]), 1);
    case.attacked_nodes = Some(0);
    assert_eq!((case.truth().broken, shown(&case, &lines, 0, &[])), (0, 0));
    case.attacked_nodes = Some(u64::MAX);
    assert_eq!((case.truth().broken, shown(&case, &lines, 0, &[])), (2, 3));
    // Prices so high that their sum does not fit show nothing.
    case.attacked_nodes = None;
    case.world.header.budget.global = u64::MAX;
    assert_eq!(shown(&case, &lines, u64::MAX, &[]), ((6u128 * u128::from(u64::MAX)) >> 48) as u64);
}

/// Which predictions count: named nodes, right ones, and those that are never broken.
#[test]
fn only_predictions_that_count_are_counted() {
    let mut case = alone(4, 1.0, &[1.0], 4, 1);
    assert_eq!((case.truth().broken, shown(&case, &[], 0, &[])), (4, 4));
    case.nodes = Some(vec![1, 3]);
    assert_eq!((case.truth().broken, shown(&case, &[], 0, &[])), (2, 2));
    // Shares of others add nothing, and take nothing away.
    assert_eq!(shown(&case, &[share(0, ONE, 0), share(2, 0, ONE)], 0, &[]), 2);
    assert_eq!(shown(&case, &[share(1, ONE, 0)], 0, &[]), 2);
    case.world.header.classes = Convention::Labels;
    assert_eq!((case.truth().broken, shown(&case, &[], 0, &[])), (0, 0));
    case.world.graph.labels = Some(vec![Some(0), Some(1), None, Some(0)]);
    assert_eq!((case.truth().broken, shown(&case, &[], 0, &[])), (1, 1));
    assert_eq!(shown(&case, &[share(1, ONE, 0), share(3, ONE, 0)], 0, &[]), 1);
    // A node that is never broken counts among the others only if it is one of them.
    let mut case = alone(2, 3.0, &[1.0], 1, 1);
    let safe = |id: u32| NodeProof { id, class: 0, claim: NodeClaim::Robust(vec![ClassProof::anchored(1)]) };
    case.nodes = Some(vec![1]);
    assert_eq!(shown(&case, &[Line::Node(safe(0))], 0, &[]), 1);
    assert_eq!(shown(&case, &[Line::Node(safe(1))], 0, &[]), 0);
    // Ties without a flip are broken already: such a node has no share.
    let case = alone(1, 0.0, &[1.0], 1, 1);
    let summary = case.check(&case.file(&[share(0, ONE, 0)], &claim(1, 1, 0)), false);
    assert_eq!(case.truth().broken, 1);
    assert!(summary.collective.is_some_and(|found| found.proved && found.shared == 0));
    assert!(matches!(summary.rejections[0].fault.reason, Reason::Bound(_)), "{summary}");
    // Without any flip nothing else is broken.
    let mut case = alone(2, 1.0, &[5.0], 0, 1);
    assert_eq!(shown(&case, &[share(0, ONE, 0), share(1, ONE, 0)], 0, &[]), 0);
    case.world.header.budget.global = 1;
    case.world.header.budget.local = Local::PerNode(vec![0, 1]);
    assert_eq!((case.truth().broken, shown(&case, &[share(0, ONE, 0)], 0, &[])), (1, 1));
    case.world.header.budget.direction = Direction::Remove;
    assert_eq!((case.truth().broken, shown(&case, &[share(0, ONE, 0), share(1, ONE, 0)], 0, &[])), (0, 0));
}

/// What a file is rejected for, and that nothing follows from a rejected line.
#[test]
fn wrong_lines_are_refused() {
    let case = alone(2, 1.0, &[0.6, 0.6], 2, 2);
    let text = |lines: &[&str], last: &str| {
        let mut bytes = Vec::new();
        Line::Collective(case.header()).write(&mut bytes).unwrap();
        lines.iter().chain([&last]).for_each(|line| bytes.extend(format!("{line}\n").bytes()));
        bytes
    };
    // The reason for which the only rejected line is, and what is proved.
    let judge = |lines: &[&str], last: &str| {
        let [rounded, exact] = [false, true].map(|exact_only| {
            let summary = case.check(&text(lines, last), exact_only);
            assert!(!summary.success() && summary.rejected == 1, "{summary}");
            let proved = summary.collective.filter(|claim| claim.proved).map(|claim| claim.claimed);
            (summary.rejections[0].fault.reason.to_string(), proved)
        });
        assert_eq!(rounded, exact);
        rounded
    };
    let good = r#"{"share":{"id":0,"class":0,"weight":16777216}}"#;
    let other = r#"{"share":{"id":1,"class":0,"size":16777216}}"#;
    let price = ALL / 2 + u64::from(ONE);
    let last = |count: u64, bound: u64| format!(r#"{{"claim":{{"lines":{count},"bound":{bound},"price":{price}}}}}"#);
    let fine = case.check(&text(&[good, other], &last(2, 1)), false);
    assert!(fine.success() && case.truth().broken == 1, "{fine}");
    // A bound that is not shown.
    assert!(judge(&[good, other], &last(2, 0)).0.contains("at most 1 predictions are broken, but the claim is 0"));
    // The second share is rejected: its node counts as a whole.
    for (line, reason) in [
        (r#"{"share":{"id":1,"class":1,"size":16777216}}"#, "not the predicted class"),
        (r#"{"share":{"id":1,"class":2,"size":16777216}}"#, "class 2 does not exist"),
        (r#"{"share":{"id":2,"class":0,"size":16777216}}"#, "no such node"),
        (r#"{"share":{"id":0,"class":0,"size":16777216}}"#, "already proved"),
        (r#"{"share":{"id":1,"class":0,"size":16777216,"weight":1}}"#, "more than 2^24"),
        (r#"{"share":{"id":1,"class":0,"size":4294967295,"weight":4294967295}}"#, "more than 2^24"),
        (r#"{"share":{"id":1,"class":0,"size":4294967296}}"#, "not a line"),
        (r#"{"share":{"id":1,"class":0,"size":-1}}"#, "not a line"),
        (r#"{"share":{"id":1,"class":0,"size":16777216,"leaves":[[0,{"leaf":{}}]]}}"#, "class 0 is missing"),
        (r#"{"share":{"id":1,"class":0,"size":16777216,"leaves":[[2,{"leaf":{}}]]}}"#, "class 2 is missing"),
        (
            r#"{"share":{"id":1,"class":0,"size":16777216,"leaves":[[1,{"leaf":{}}],[1,{"leaf":{}}]]}}"#,
            "class 1 is missing",
        ),
        (r#"{"share":{"id":1,"class":0,"size":16777216,"leaves":[[1,{"flip":[0,0]}]]}}"#, "not a line"),
        (r#"{"share":{"id":1,"class":0,"size":16777216,"leaves":[[1,{"leaf":{"dual":2}}]]}}"#, "layer 2"),
        (r#"{"share":{"id":1,"class":0,"size":16777216,"leaves":null}}"#, "not a line"),
        (r#"{"share":{"id":1,"class":0,"extra":1}}"#, "not a line"),
        (r#"{"share":{"id":1,"size":16777216}}"#, "not a line"),
        (r#"{"unproved":{"id":1,"reason":"x"}}"#, "not a line"),
        (r#"{"end":1}"#, "not a line"),
        (r#"{"node":{"id":1,"class":0,"claim":{"robust":[{"class":1,"tree":[{"leaf":{}}]}]}}}"#, "not above 0"),
        (
            r#"{"node":{"id":1,"class":0,"claim":{"non_robust":{"class":1,"flips":[[1,0],[1,1]]}}}}"#,
            "robust nodes only",
        ),
        (r#"{"node":{"id":0,"class":0,"claim":{"robust":[{"class":1,"tree":[{"leaf":{}}]}]}}}"#, "already proved"),
        (r#"{"bounds":{"layer":3,"node":0,"units":[]}}"#, "before the first share"),
        (r#"{"header":{"version":2}}"#, "not a line"),
        (r#"{"collective":{"version":1}}"#, "not a line"),
        ("", "not a line"),
    ] {
        let (found, proved) = judge(&[good, line], &last(2, 2));
        assert!(found.contains(reason), "{line}: {found}");
        assert_eq!(proved, Some(2), "{line}");
        // Without the rejected line the smaller claim is not shown.
        let summary = case.check(&text(&[good, line], &last(2, 1)), false);
        assert!(summary.rejected == 2 && !summary.collective.unwrap().proved, "{line}: {summary}");
    }
    let header = String::from_utf8(text(&[], "")).unwrap();
    let (found, _) = judge(&[good, header.trim_end()], &last(2, 2));
    assert!(found.contains("a second header"), "{found}");
    // The claim: its count, its prices, its place.
    for (lines, last, reason) in [
        (vec![good], last(2, 2), "counts 2 lines, but 1 came before"),
        (vec![good], last(0, 2), "counts 0 lines, but 1 came before"),
        (vec![], good.into(), "ends before its claim"),
        (vec![], r#"{"claim":{"lines":0}}"#.into(), "not a line"),
        (vec![], r#"{"claim":{"lines":0,"bound":2,"prices":[[1,5],[1,5]]}}"#.into(), "node 1 is listed twice"),
        (vec![], r#"{"claim":{"lines":0,"bound":2,"prices":[[1,5],[0,5]]}}"#.into(), "node 0 is listed twice"),
        (vec![], r#"{"claim":{"lines":0,"bound":2,"prices":[[2,5]]}}"#.into(), "no such node"),
    ] {
        let summary = case.check(&text(&lines, &last), false);
        assert!(!summary.success() && !summary.collective.is_some_and(|claim| claim.proved), "{last}: {summary}");
        assert!(summary.rejections.iter().any(|one| one.to_string().contains(reason)), "{last}: {summary}");
    }
    let two = text(&[good, other, &last(2, 1)], &last(2, 1));
    let summary = case.check(&two, false);
    assert!(summary.rejections[0].to_string().contains("follows the claim"), "{summary}");
    assert!(!summary.success());
    // Nothing but a header, and nothing at all.
    let summary = case.check(header.trim_end().as_bytes(), false);
    assert!(summary.rejections[0].to_string().contains("ends before its claim"), "{summary}");
    assert!(!case.check(b"", false).success());
}

/// Headers that do not fit, and lines of other kinds in the place of a header.
#[test]
fn headers_that_do_not_fit_are_refused() {
    let case = alone(3, 1.0, &[0.6, 0.6], 2, 2);
    let judge = |change: &dyn Fn(&mut Header)| {
        let mut header = case.header();
        change(&mut header);
        let mut bytes = Vec::new();
        Line::Collective(header).write(&mut bytes).unwrap();
        Line::Claim(claim(0, 3, 0)).write(&mut bytes).unwrap();
        let summary = case.check(&bytes, false);
        summary.rejections.first().map_or("fine".into(), ToString::to_string)
    };
    assert_eq!(judge(&|_| {}), "fine");
    assert_eq!(judge(&|header| header.nodes = Some(vec![])), "fine");
    assert_eq!(judge(&|header| header.attacked_nodes = Some(u64::MAX)), "fine");
    for (reason, change) in [
        ("version 2", &(|header: &mut Header| header.version = 2) as &dyn Fn(&mut Header)),
        ("another graph", &|header| header.graph = "x".into()),
        ("another model", &|header| header.model = "x".into()),
        ("message-passing", &|header| header.message_passing.push("gcn".into())),
        ("unknown message passing", &|header| header.message_passing = vec!["x".into()]),
        ("local budgets", &|header| header.budget.local = Local::PerNode(vec![1])),
        ("frozen attribute 7", &|header| header.budget.frozen_attributes = vec![7]),
        ("node 1 is listed twice", &|header| header.nodes = Some(vec![1, 1])),
        ("node 0 is listed twice", &|header| header.nodes = Some(vec![2, 0])),
        ("node 3 does not exist", &|header| header.nodes = Some(vec![0, 3])),
        ("more than 3 entries", &|header| header.nodes = Some(vec![0, 1, 2, 3])),
    ] {
        let found = judge(change);
        assert!(found.contains(reason), "{reason}: {found}");
    }
    for first in [
        r#"{"share":{"id":0,"class":0}}"#,
        r#"{"claim":{"lines":0,"bound":3}}"#,
        r#"{"collective":{"version":1}}"#,
        r#"{"collective":{}}"#,
        r#"{ "collective":{}}"#,
    ] {
        let summary = case.check(format!("{first}\n").as_bytes(), false);
        assert!(!summary.checked && summary.rejected == 1, "{summary}");
    }
    // A header of one kind with lines of the other.
    let ordinary = String::from_utf8(case.world.file(&[])).unwrap();
    let mixed = format!("{}\n{}", ordinary.lines().next().unwrap(), r#"{"claim":{"lines":0,"bound":3}}"#);
    let summary = case.check(mixed.as_bytes(), false);
    assert!(!summary.success() && summary.collective.is_none(), "{summary}");
}

/// What is asked: of one attack, and never of one kind by the other.
#[test]
fn what_is_asked_is_compared() {
    let mut case = alone(3, 1.0, &[0.6, 0.6], 2, 2);
    let ordinary = case.world.file(&[]);
    let run = |case: &Case, bytes: &[u8], question: Option<Question>| {
        let message_passing = case.world.header.message_passing.clone();
        let options = Options { question, message_passing, ..case.world.options() };
        check(&case.world.graph, &case.world.model, &options, bytes, |_| {})
    };
    let budget = case.world.header.budget.clone();
    let bound = |bound: u64| Question::new(Attack::Collective { budget: budget.clone(), attacked_nodes: None, bound });
    let file = |case: &Case| case.file(&[], &claim(0, 3, 0));
    assert_eq!(run(&case, &file(&case), None).exit_code(), 4);
    assert_eq!(run(&case, &file(&case), Some(bound(3))).exit_code(), 0);
    let less = run(&case, &file(&case), Some(bound(2)));
    assert!(less.exit_code() == 1 && less.checked && less.unmet[0].contains("proved at most 3"), "{less}");
    // Neither kind answers for the other.
    let single = Question::new(Attack::Flips(budget.clone(), None));
    for (bytes, question) in [(file(&case), single), (ordinary, bound(3))] {
        let summary = run(&case, &bytes, Some(question));
        assert!(summary.exit_code() == 1 && !summary.checked, "{summary}");
        assert!(summary.unmet[0].contains("one attack for the whole graph"), "{summary}");
    }
    let more = |change: &dyn Fn(&mut gcnproof_check::format::BudgetStatement)| {
        let mut budget = budget.clone();
        change(&mut budget);
        Question::new(Attack::Collective { budget, attacked_nodes: None, bound: 3 })
    };
    for (question, reason) in [
        (more(&|budget| budget.global = 3), "asked about Q = 3, stated Q = 2"),
        (more(&|budget| budget.local = Local::Uniform(3)), ""),
        (more(&|budget| budget.local = Local::Uniform(1)), ""),
        (Question { classes: Convention::Labels, ..bound(3) }, "asked about the label"),
    ] {
        let summary = run(&case, &file(&case), Some(question));
        let open = summary.unmet.join("; ");
        assert!(if reason.is_empty() { open.is_empty() } else { open.contains(reason) }, "{reason}: {summary}");
    }
    // Some nodes count, and the attack is limited to some.
    case.nodes = Some(vec![0, 2]);
    let named = |nodes: &[u32]| Some(Question { nodes: Some(nodes.to_vec()), ..bound(3) });
    assert_eq!(run(&case, &file(&case), named(&[0, 2])).exit_code(), 0);
    assert_eq!(run(&case, &file(&case), named(&[2])).exit_code(), 0);
    assert!(run(&case, &file(&case), named(&[0, 1, 2])).unmet[0].contains("node 1 too"));
    assert_eq!(run(&case, &file(&case), Some(bound(3))).exit_code(), 1);
    case.nodes = Some(Vec::new());
    let none = case.file(&[], &claim(0, 0, 0));
    assert_eq!(run(&case, &none, Some(bound(0))).exit_code(), 1);
    case.nodes = None;
    case.attacked_nodes = Some(1);
    let attacked = |most: Option<u64>| {
        Some(Question::new(Attack::Collective { budget: budget.clone(), attacked_nodes: most, bound: 3 }))
    };
    assert_eq!(run(&case, &file(&case), attacked(Some(1))).exit_code(), 0);
    assert!(run(&case, &file(&case), attacked(Some(2))).unmet[0].contains("stated in at most 1"));
    assert_eq!(run(&case, &file(&case), attacked(None)).exit_code(), 1);
    // Two flips never touch more than two nodes.
    case.attacked_nodes = Some(2);
    assert_eq!(run(&case, &file(&case), attacked(None)).exit_code(), 0);
}
