//! Proofs against removed edges: what is accepted is true, by listing all sets of removals in exact numbers of its own.
use crate::common;
#[allow(dead_code)]
use crate::edge_world as world;

use std::cmp::Ordering;

use common::{Big, Random, layer};
use gcnproof_check::edges::format::*;
use gcnproof_check::format::{Local, Number};
use gcnproof_check::work::Limits;
use gcnproof_check::{Attack as Asked, Dyadic, Options, Question, Reason, Stated, Summary, Verdict, check};
use gcnproof_files::LayerFile;
use rayon::prelude::*;
use serde_json::Value;
use world::Case;

/// Any hints, on any path: the bound is not above the smallest margin of the sets of the path.
fn bounds_hold(cases: u64, first: u64) -> [usize; 2] {
    let counts = (first..first + cases).into_par_iter().map(|seed| {
        let mut random = Random::new(seed);
        let case = Case::random(&mut random);
        let Some(reference) = case.reference() else { return [0; 2] };
        let outcomes = case.outcomes(reference);
        let mut counts = [0; 2];
        for _ in 0..4 {
            let mut splits = Vec::new();
            for _ in 0..random.below(3) {
                let free = case.free(&case.path(&splits));
                if free.is_empty() {
                    break;
                }
                splits.push((free[random.below(free.len())], random.chance(50)));
            }
            let path = case.path(&splits);
            let hints = case.hints(&mut random, &path);
            let classes: Vec<u32> = outcomes[0].margins.iter().map(|margin| margin.0).collect();
            for (at, &class) in classes.iter().enumerate() {
                let both = case.leaf_bound((reference, class), &splits, &hints).map(|bound| bound.lower.to_f64());
                // Where floats overflow nothing is claimed.
                let bound = both.into_iter().fold(both[1], f64::max);
                let of_path = outcomes.iter().filter(|outcome| case.takes(&path, &outcome.edges));
                let margins: Vec<&Big> = of_path.map(|outcome| &outcome.margins[at].1).collect();
                let below = |margin: &&Big| margin.minus(&Big::from(bound)).sign() == Ordering::Less;
                assert!(
                    !margins.iter().any(below),
                    "seed {seed}, class {class}, bound {bound:e}, {splits:?}, {hints:?}"
                );
                counts[0] += 1;
                let near = |margin: &&Big| margin.minus(&Big::from(bound)).approximate() <= 1e-9;
                counts[1] += usize::from(margins.iter().any(near));
            }
        }
        counts
    });
    counts.reduce(|| [0; 2], |a, b| [a[0] + b[0], a[1] + b[1]])
}

#[test]
fn bounds_hold_for_any_hints_on_any_path() {
    let [tried, tight] = bounds_hold(3_000, 100_000);
    println!("{tried} bounds, {tight} of them tight");
    assert!(tried > 12_000 && tight > tried / 20, "{tried} {tight}");
}

/// 5,000 random graphs: all are decided as listing decides them, robust ones by a grown tree and others by a witness.
#[test]
fn grown_proofs_are_accepted_where_listing_says_robust_and_nowhere_else() {
    let counts = (0..5_000u64).into_par_iter().map(|seed| {
        let mut random = Random::new(seed);
        let case = Case::random(&mut random);
        let Some(reference) = case.reference() else { return [0; 4] };
        let outcomes = case.outcomes(reference);
        let breaks = Case::breaks(&outcomes);
        let grown = case.grow(&mut random, reference);
        assert_eq!(grown.is_some(), breaks.is_empty(), "seed {seed}");
        if let Some(proof) = grown {
            let Claim::Robust(trees) = &proof.claim else { unreachable!() };
            let summary = case.run(&case.file(std::slice::from_ref(&proof)));
            assert!(summary.success(), "seed {seed}: {summary}");
            let split = trees.iter().any(|tree| tree.tree.len() > 1);
            return [1, usize::from(split), 0, 0];
        }
        let mut counts = [0; 4];
        for (witness, sign) in breaks {
            let expected = if sign == Ordering::Less { Verdict::NonRobust } else { Verdict::Tie };
            let claim = Claim::NonRobust(witness);
            let proof = NodeProof { id: case.node, class: reference, claim };
            assert_eq!(case.judge(&proof), Ok(expected), "seed {seed}: {proof:?}");
            counts[if expected == Verdict::Tie { 3 } else { 2 }] = 1;
        }
        counts
    });
    let add = |a: [usize; 4], b: [usize; 4]| [a[0] + b[0], a[1] + b[1], a[2] + b[2], a[3] + b[3]];
    let [robust, split, broken, tied] = counts.reduce(|| [0; 4], add);
    println!("{robust} robust, {split} of them with splits, {broken} broken, {tied} with ties");
    assert!(robust > 1_000 && split > 300 && broken > 500 && tied > 100, "{robust} {split} {broken} {tied}");
}

/// Every set of removals, admissible or not, as a witness: accepted exactly where it is admissible and breaks the
/// class.
#[test]
fn witnesses_are_accepted_exactly_where_they_are_admissible_and_break_the_class() {
    let accepted: usize = (0..100u64)
        .into_par_iter()
        .map(|seed| {
            let mut random = Random::new(700_000 + seed);
            let case = Case::random(&mut random);
            let Some(reference) = case.reference() else { return 0 };
            let predicted = case.header.classes == gcnproof_check::format::Convention::Predicted;
            let all = case.edges();
            let mut accepted = 0;
            for mask in 0u32..1 << all.len().min(8) {
                let edges: Vec<_> = (0..all.len()).filter(|&at| mask >> at & 1 == 1).map(|at| all[at]).collect();
                let logits = case.logits(&edges);
                for class in 0..logits.len() as u32 {
                    let claim = Claim::NonRobust(Witness { class, edges: edges.clone(), flips: Vec::new() });
                    let proof = NodeProof { id: case.node, class: reference, claim };
                    let margin = logits[reference as usize].minus(&logits[class as usize]).sign();
                    let expected = case.is_admissible(&edges) && class != reference && margin != Ordering::Greater;
                    let found = case.judge(&proof);
                    assert_eq!(found.is_ok(), expected, "seed {seed}: {proof:?} {found:?}");
                    accepted += usize::from(expected);
                }
                if predicted {
                    let claim = Claim::NonRobust(Witness { class: reference, edges, flips: Vec::new() });
                    let other = (reference + 1) % logits.len() as u32;
                    let proof = NodeProof { id: case.node, class: other, claim };
                    assert!(case.judge(&proof).is_err());
                }
            }
            accepted
        })
        .sum();
    assert!(accepted > 300, "{accepted}");
}

/// All places of a JSON value, as pointers.
fn places(value: &Value, at: &str, found: &mut Vec<String>) {
    found.push(at.to_string());
    match value {
        Value::Array(list) => list.iter().enumerate().for_each(|(i, v)| places(v, &format!("{at}/{i}"), found)),
        Value::Object(map) => map.iter().for_each(|(key, v)| places(v, &format!("{at}/{key}"), found)),
        _ => {}
    }
}

const WORDS: [&str; 14] = [
    "gcn",
    "gcn-self",
    "sum",
    "sum+self",
    "mean",
    "mean+self",
    "identity",
    "predicted",
    "labels",
    "edge_removals",
    "1p-3",
    "-1p2",
    "1p0",
    "5p-60",
];

const KEYS: [&str; 16] = [
    "edge",
    "singles",
    "prices",
    "mu",
    "views",
    "robust",
    "non_robust",
    "edges",
    "flips",
    "budget",
    "keep_one",
    "frozen",
    "local",
    "global",
    "attack",
    "tree",
];

/// One change somewhere in a line.
fn mutate(value: &mut Value, random: &mut Random) {
    let mut found = Vec::new();
    places(value, "", &mut found);
    let place = &found[random.below(found.len())];
    let Some(spot) = value.pointer_mut(place) else { return };
    match spot {
        Value::Number(number) => {
            let old = number.as_i64().unwrap_or(0);
            let candidates = [
                old.wrapping_add(1),
                old.wrapping_sub(1),
                old.wrapping_mul(2),
                old.wrapping_neg(),
                0,
                1,
                2,
                3,
                (1 << 20) - 1,
                1 << 20,
                i64::MAX,
                old / 2,
            ];
            *spot = Value::from(candidates[random.below(candidates.len())]);
        }
        Value::String(text) => *text = WORDS[random.below(WORDS.len())].into(),
        Value::Bool(flag) => *flag = !*flag,
        Value::Array(list) if !list.is_empty() => {
            let (at, other) = (random.below(list.len()), random.below(list.len()));
            match random.below(4) {
                0 => drop(list.remove(at)),
                1 => list.insert(other, list[at].clone()),
                2 => list.swap(at, other),
                _ => list.truncate(at),
            }
        }
        Value::Array(list) => list.push(Value::from(random.below(4))),
        Value::Object(map) if !map.is_empty() => {
            let key = map.keys().nth(random.below(map.len())).cloned().unwrap_or_default();
            let old = map.remove(&key).unwrap_or_default();
            if random.chance(50) {
                map.insert(KEYS[random.below(KEYS.len())].into(), old);
            }
        }
        _ => *spot = Value::Null,
    }
}

/// Other leaves, splits and statements: what a forger would try.
fn forge(lines: &mut [Value], random: &mut Random, case: &Case) {
    let trees = lines[1].pointer("/node/claim/robust").and_then(Value::as_array).map_or(0, Vec::len);
    let what = random.below(6);
    // Another change may have left something else than a statement about edges.
    let edges = lines[0].pointer_mut("/header/edges").and_then(Value::as_object_mut);
    match (what, edges) {
        // A larger budget, fewer frozen edges, or none kept.
        (0, Some(edges)) => drop(edges.insert("global".into(), Value::from(random.below(6)))),
        (1, Some(edges)) => drop(edges.insert("local".into(), Value::from(random.below(4)))),
        (2, Some(edges)) => drop(edges.insert("keep_one".into(), Value::from(random.chance(50)))),
        (3, Some(edges)) => drop(edges.remove("frozen")),
        _ if trees > 0 => {
            let Some(tree) = lines[1].pointer_mut(&format!("/node/claim/robust/{}/tree", random.below(trees))) else {
                return;
            };
            let Some(tree) = tree.as_array_mut().filter(|tree| !tree.is_empty()) else { return };
            let (at, edges) = (random.below(tree.len()), case.edges());
            match random.below(4) {
                0 => tree[at] = serde_json::json!({"singles": {}}),
                1 => tree[at] = serde_json::json!({"prices": {"mu": [format!("{}p-4", random.below(40))]}}),
                2 if !edges.is_empty() => {
                    let (i, j) = edges[random.below(edges.len())];
                    tree[at] = serde_json::json!({"edge": [i, j]});
                }
                _ => drop(tree.drain(at..tree.len().min(at + 2))),
            }
        }
        _ => {
            let edges = case.edges();
            let kept: Vec<_> = edges.into_iter().filter(|_| random.chance(40)).collect();
            if let Some(spot) = lines[1].pointer_mut("/node/claim/non_robust/edges") {
                *spot = serde_json::json!(kept);
            }
        }
    }
}

/// A change of graph or model under the same names.
fn alter(case: &mut Case, random: &mut Random) {
    let nodes = case.world.graph.attributes.rows;
    if random.chance(50) {
        let (i, j) = (random.below(nodes), random.below(nodes));
        let old = case.world.graph.adjacency.clone();
        let flips = |a: usize, b: usize| (a, b) == (i, j) || (b, a) == (i, j);
        case.world.graph.adjacency = common::pattern(nodes, nodes, |a, b| old.contains(a, b as u32) != flips(a, b));
        return;
    }
    let layer = &mut case.world.model.layers[random.below(2)];
    let values = if random.chance(50) { &mut layer.weight.values } else { &mut layer.bias };
    let spot = random.below(values.len());
    values[spot] = match random.below(3) {
        0 => -values[spot],
        1 => values[spot] + 0.5,
        _ => random.weight(1),
    };
}

/// Is every verdict true of the statement of the file?
fn assert_true(mut case: Case, summary: &Summary, context: &str) -> bool {
    let mut any = false;
    for (node, verdict) in summary.verdicts.iter().enumerate() {
        let Some(verdict) = *verdict else { continue };
        any = true;
        let Some(Stated::Removals(header)) = summary.header.clone() else { panic!("{context}") };
        case = case.stating(header);
        case.node = node as u32;
        let reference = case.reference().expect("an accepted proof has a reference class");
        let breaks = Case::breaks(&case.outcomes(reference));
        match verdict {
            Verdict::Robust => assert!(breaks.is_empty(), "{context}"),
            _ => assert!(!breaks.is_empty(), "{context}"),
        }
    }
    any
}

/// Changed proofs, statements, graphs and models: accepted only where listing says that the claim is true.
#[test]
fn tampered_proofs_are_accepted_only_where_the_claim_is_true() {
    const EACH: u64 = 10;
    let counts = (0..2_000u64).into_par_iter().map(|seed| {
        let mut random = Random::new(2_000_000 + seed);
        let case = Case::random(&mut random);
        let Some(reference) = case.reference() else { return [0; 2] };
        let proof = match case.grow(&mut random, reference) {
            Some(proof) => proof,
            None => {
                let breaks = Case::breaks(&case.outcomes(reference));
                let (witness, _) = breaks[random.below(breaks.len())].clone();
                NodeProof { id: case.node, class: reference, claim: Claim::NonRobust(witness) }
            }
        };
        let text = String::from_utf8(case.file(&[proof])).unwrap();
        let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let mut counts = [0; 2];
        for at in 0..EACH {
            let (mut case, mut lines) = (case.clone(), lines.clone());
            for _ in 0..=random.below(3) {
                match random.below(10) {
                    0..4 => mutate(&mut lines[[0, 1, 1, 1][random.below(4)]], &mut random),
                    4..8 => forge(&mut lines, &mut random, &case),
                    _ => alter(&mut case, &mut random),
                }
            }
            let text = lines.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
            let summary = case.run(text.as_bytes());
            counts[0] += 1;
            counts[1] += usize::from(assert_true(case, &summary, &format!("seed {seed}, mutant {at}: {text}")));
        }
        counts
    });
    let [tried, kept] = counts.reduce(|| [0; 2], |a, b| [a[0] + b[0], a[1] + b[1]]);
    println!("{tried} mutants, {kept} accepted and true");
    assert!(tried > 15_000 && kept > 1_000 && kept < tried * 3 / 4, "{tried} {kept}");
}

/// Bytes changed, cut out, doubled: no panic, and nothing false.
#[test]
fn changed_bytes_do_no_harm() {
    let counts = (0..1_000u64).into_par_iter().map(|seed| {
        let mut random = Random::new(3_000_000 + seed);
        let case = Case::random(&mut random);
        let Some(reference) = case.reference() else { return 0 };
        let Some(proof) = case.grow(&mut random, reference) else { return 0 };
        let whole = case.file(&[proof]);
        for _ in 0..10 {
            let mut file = whole.clone();
            for _ in 0..=random.below(3) {
                let (at, other) = (random.below(file.len()), random.below(file.len()));
                match random.below(4) {
                    0 => file[at] ^= 1 << random.below(8),
                    1 => file[at] = b"0123456789{}[],:\"-p\n "[random.below(21)],
                    2 => drop(file.drain(at.min(other)..at.max(other).min(at.min(other) + 20)).count()),
                    _ => {
                        let piece = file[at.min(other)..at.max(other)].to_vec();
                        file.splice(at..at, piece);
                    }
                }
            }
            let summary = case.run(&file);
            assert_true(case.clone(), &summary, &String::from_utf8_lossy(&file));
        }
        10
    });
    assert!(counts.sum::<usize>() > 2_000);
}

/// One hidden unit and two classes: `relu(Σ a Y + bias)`, against 0, times a weight.
fn network(rule: &str, send: &[f64], bias: f64, weight: f64, lead: f64) -> Vec<LayerFile> {
    let rows: Vec<Vec<f64>> = send.iter().map(|&y| vec![y]).collect();
    let mut first = layer(&rows.iter().map(Vec::as_slice).collect::<Vec<_>>(), &[bias]);
    let mut second = layer(&[&[weight, 0.0]], &[lead, 0.0]);
    first.operators = vec![rule.into()];
    second.operators = vec![rule.into()];
    vec![first, second]
}

fn one_leaf(case: &Case, mu: Vec<Number>) -> NodeProof {
    let leaf = Step::Prices(Box::new(Prices { mu, views: Vec::new() }));
    NodeProof { id: case.node, class: 0, claim: Claim::Robust(vec![ClassProof { class: 1, tree: vec![leaf] }]) }
}

fn removals(global: u64, local: u64, keep_one: bool) -> Removals {
    Removals { global, local: Local::Uniform(local), keep_one, frozen: Vec::new(), changes: None }
}

/// A file of attributes is never one of edges, whatever its version and its lines say.
#[test]
fn statements_about_edges_and_about_attributes_are_not_confused() {
    let case = Case::new(2, &[(0, 1)], &[&[1], &[1]], network("gcn", &[1.0], 0.0, 1.0, 5.0), removals(1, 1, false));
    let good = String::from_utf8(case.file(&[one_leaf(&case, vec![])])).unwrap();
    assert!(case.run(good.as_bytes()).success(), "{}", case.run(good.as_bytes()));
    let budget = r#""budget":{"global":1,"local":1,"direction":"both"}"#;
    let edges = r#""edges":{"global":1,"local":1,"keep_one":false}"#;
    assert!(good.contains(edges));
    for (from, to) in [
        (r#""version":3"#, r#""version":2"#),
        (r#""version":3"#, r#""version":1"#),
        (r#""version":3"#, r#""version":4"#),
        (r#""attack":"edge_removals","#, ""),
        (r#""attack":"edge_removals""#, r#""attack":"attribute_flips""#),
        (r#""attack":"edge_removals""#, r#""attack":null"#),
        (r#""attack":"edge_removals""#, r#""attack":"edge_removals","attack":"edge_removals""#),
        (edges, budget),
        (edges, &format!("{edges},{budget}")),
        (r#""keep_one":false"#, r#""keep_one":0"#),
        (r#","keep_one":false"#, ""),
        (r#""prices":{}"#, r#""leaf":{}"#),
        (r#""prices":{}"#, r#""hints":{}"#),
        (r#""prices":{}"#, r#""singles":{},"prices":{}"#),
        (r#""prices":{}"#, r#""singles":[]"#),
        (r#""prices":{}"#, r#""prices":{"x":1}"#),
        (r#""prices":{}"#, r#""prices":{"mu":["-1p0"]}"#),
        (r#""prices":{}"#, r#""prices":{"mu":[0,0,0]}"#),
        (r#""prices":{}"#, r#""prices":{"views":[[1,0,1,1]]}"#),
        (r#""prices":{}"#, r#""prices":{"views":[[0,1,1,1]]}"#),
        (r#"{"end":1}"#, r#"{"bounds":{"layer":3,"node":0}}"#),
    ] {
        assert!(good.contains(from), "{from}");
        let summary = case.run(good.replacen(from, to, 1).as_bytes());
        assert!(!summary.success() && summary.proved() == usize::from(from.contains("end")), "{from} {to}: {summary}");
    }
    // The same statement about attributes refuses lines about edges, and the other way round.
    let mut header = case.world.header.clone();
    header.message_passing = case.header.message_passing.clone();
    let mut other = Vec::new();
    gcnproof_check::format::Line::Header(header).write(&mut other).unwrap();
    let other = String::from_utf8(other).unwrap();
    let (_, lines) = good.split_once('\n').unwrap();
    let summary = case.run(format!("{other}{lines}").as_bytes());
    assert!(summary.checked && summary.proved() == 0 && summary.rejected == 1, "{summary}");
    let flips = r#"{"node":{"id":0,"class":0,"claim":{"robust":[{"class":1,"tree":[{"leaf":{}}]}]}}}"#;
    let summary = case.run(format!("{}\n{flips}\n{{\"end\":1}}\n", good.lines().next().unwrap()).as_bytes());
    assert!(summary.checked && summary.proved() == 0 && summary.rejected == 1, "{summary}");
    // Nothing can be written out.
    let written =
        gcnproof_check::expand(&case.world.graph, &case.world.model, &Options::default(), good.as_bytes(), Vec::new());
    assert!(written.unwrap_err().to_string().contains("nothing to write out"));
}

/// A triangle on which every node may lose one edge.
#[test]
fn what_is_asked_about_edges_is_compared() {
    let mut case = Case::new(
        3,
        &[(0, 1), (0, 2), (1, 2)],
        &[&[1], &[1], &[1]],
        network("gcn", &[1.0], 0.0, 1.0, 5.0),
        removals(2, 1, true),
    );
    let open = |case: &Case, asked: Removals| {
        let question = Question { nodes: Some(vec![0]), ..Question::new(Asked::Removals(asked)) };
        let options = Options { question: Some(question), ..Options::default() };
        let file = case.file(&[one_leaf(case, vec![])]);
        check(&case.world.graph, &case.world.model, &options, &file[..], |_| {}).unmet.join("; ")
    };
    for (asked, problem) in [
        (removals(1, 1, true), ""),
        (removals(1, u64::MAX, true), ""),
        // Three nodes that lose at most one edge each lose one edge in all.
        (removals(u64::MAX, u64::MAX, true), ""),
        (removals(1, 1, false), ""),
        (removals(2, 2, false), "asked about 2 removals at node 0, stated at most 1"),
        (removals(3, u64::MAX, false), "asked about E = 3, stated E = 2"),
        (removals(0, 9, false), ""),
    ] {
        let found = open(&case, asked);
        assert!(if problem.is_empty() { found.is_empty() } else { found.contains(problem) }, "{problem}: {found}");
    }
    case.header.edges.frozen = vec![(0, 2)];
    assert!(open(&case, removals(1, 1, true)).contains("removals of edge 0-2 are asked about, which is frozen"));
    assert_eq!(open(&case, Removals { frozen: vec![(0, 2)], ..removals(1, 1, true) }), "");
    assert_eq!(open(&case, Removals { frozen: vec![(0, 2), (1, 2)], ..removals(1, 1, true) }), "");
    let text = case.run(&case.file(&[one_leaf(&case, vec![])])).to_string();
    assert!(text.contains("removed edges: E = 2 in all, e = 1 at a node, every node keeps one edge"), "{text}");
    assert!(text.contains("1 frozen edge, which cannot be removed: 0-2"), "{text}");
    case.header.edges.local = Local::Uniform(u64::from(u32::MAX));
    let text = case.run(&case.file(&[one_leaf(&case, vec![])])).to_string();
    assert!(text.contains("E = 2 in all, no limit at a node"), "{text}");
    // A node that nobody may touch leaves nothing to remove on a path of two.
    case.header.edges = Removals { local: Local::PerNode(vec![1, 0, 0]), ..removals(2, 1, true) };
    let text = case.run(&case.file(&[one_leaf(&case, vec![])])).to_string();
    assert!(text.contains("no edge at all can be removed"), "{text}");
}

#[test]
fn statements_without_a_local_limit_are_recognised() {
    let per_node = |list: &[u64]| Removals { local: Local::PerNode(list.to_vec()), ..removals(5, 0, true) };
    for (removals, without) in [
        (removals(5, u64::MAX, true), true),
        (removals(5, 4_294_967_295, true), true),
        (removals(u64::MAX, 3, true), true),
        (removals(u64::MAX, 2, true), false),
        (removals(2, 2, true), true),
        (removals(2, 1, true), false),
        (per_node(&[3, 3, 5]), true),
        (per_node(&[3, 2, 5]), false),
    ] {
        assert_eq!(removals.has_no_local_limit(3), without, "{removals:?}");
    }
}

/// Wrong statements are refused in words.
#[test]
fn headers_that_do_not_fit_are_refused() {
    let good = || {
        let layers = network("gcn", &[1.0], 0.0, 1.0, 5.0);
        Case::new(3, &[(0, 1), (1, 2), (2, 2)], &[&[1], &[1], &[1]], layers, removals(1, 1, true))
    };
    let refused = |change: &dyn Fn(&mut Case), words: &str| {
        let mut case = good();
        change(&mut case);
        let summary = case.run(&case.file(&[]));
        let text = summary.to_string();
        assert!(!summary.checked && text.contains(words), "{words}: {text}");
    };
    refused(&|case| case.header.edges.frozen = vec![(0, 2)], "frozen edge (0, 2) is no edge of the graph");
    refused(&|case| case.header.edges.frozen = vec![(1, 0)], "frozen edge (1, 0) is no edge of the graph");
    refused(&|case| case.header.edges.frozen = vec![(2, 2)], "frozen edge (2, 2) is no edge of the graph");
    refused(&|case| case.header.edges.frozen = vec![(1, 2), (0, 1)], "listed twice or out of order");
    refused(&|case| case.header.edges.frozen = vec![(0, 1), (0, 1)], "listed twice or out of order");
    refused(&|case| case.header.edges.local = Local::PerNode(vec![1, 2]), "2 local budgets for 3 nodes");
    refused(&|case| case.header.graph = "other".into(), "another graph");
    refused(&|case| case.header.model = "other".into(), "another model");
    refused(&|case| case.header.message_passing[1] = "sum".into(), "the model itself has 'gcn'");
    let rule = |name: &'static str| {
        move |case: &mut Case| {
            case.world.model.layers[0].operators = vec![name.into()];
            case.header.message_passing[0] = name.into();
        }
    };
    refused(&rule("poly(gcn;0,1)"), "cannot be recomputed when edges are removed");
    refused(&rule("matrix:00"), "cannot be recomputed when edges are removed");
    refused(
        &|case| {
            let weight = &mut case.world.model.layers[0].weight;
            (weight.rows, weight.values) = (2, vec![1.0, 1.0]);
            case.world.model.layers[0].operators = vec!["gcn".into(), "sum".into()];
            case.header.message_passing[0] = "gcn & sum".into();
        },
        "more than one term of the first layer",
    );
    refused(
        &|case| {
            let again = case.world.model.layers[0].clone();
            case.world.model.layers.insert(0, again);
            case.header.message_passing.push("gcn".into());
        },
        "3 layers, but removed edges are proved for two",
    );
    refused(
        &|case| case.world.graph.adjacency = common::pattern(3, 3, |i, j| (i, j) == (0, 1)),
        "an edge from 0 to 1, but none back",
    );
}

/// A free edge between two neighbours of a neighbour is one removal that two messages feel.
#[test]
fn a_removal_between_two_neighbours_counts_twice() {
    // The target 0, its neighbour 1, and the triangle 1, 2, 3. Without edge {2, 3} the messages of both 2 and 3 to 1
    // grow.
    let links = [(0, 1), (1, 2), (1, 3), (2, 3)];
    let mut found = Vec::new();
    for step in 0..40 {
        // 0.577 arrives at node 1, without the edge 0.707: between -0.642 and -0.707 only both changes together switch
        // its unit on.
        let bias = -0.56 - f64::from(step) / 200.0;
        let layers = network("gcn", &[1.0, 0.0], bias, -1.0, 0.0);
        let mut case = Case::new(4, &links, &[&[0, 1], &[0, 1], &[1, 0], &[1, 0]], layers, removals(1, 1, true));
        case.header.edges.frozen = vec![(0, 1), (1, 2), (1, 3)];
        // Just so much that it is robust by a little.
        let margin = |case: &Case| {
            let logits = case.logits(&[(2, 3)]);
            logits[0].minus(&logits[1]).approximate()
        };
        let worst = margin(&case);
        case.world.model.layers[1].bias[0] = -worst + 1e-3;
        let reference = case.reference().unwrap();
        assert_eq!(reference, 0);
        let [_, bound] = case.leaf_bound((0, 1), &[], &Prices::default());
        // The offset above is a float: the smallest margin is 0.001 up to its last digits.
        assert!(bound.lower.to_f64() <= 1e-3 + 1e-12, "{bias} {bound:?}");
        found.push(bound.lower.to_f64());
    }
    assert!(found.iter().any(|&bound| bound > 0.0), "{found:?}");
}

/// Budgets of nothing and of more than there is, nodes without edges, loops, and a target with very many neighbours.
#[test]
fn extreme_graphs_and_budgets() {
    let layers = || network("gcn", &[1.0], 0.5, 1.0, 1.0);
    let singles = |case: &Case| {
        let tree = vec![Step::Singles(Nothing {})];
        NodeProof { id: case.node, class: 0, claim: Claim::Robust(vec![ClassProof { class: 1, tree }]) }
    };
    for (links, global, local, keep_one) in [
        (&[][..], 3, 3, true),
        (&[(0, 0)][..], 3, 3, false),
        (&[(0, 1)][..], 0, 3, false),
        (&[(0, 1)][..], 3, 0, false),
        (&[(0, 1)][..], 3, 3, true),
        (&[(0, 1)][..], u64::MAX, u64::MAX, false),
        (&[(0, 0), (0, 1), (1, 1)][..], u64::MAX, u64::MAX, false),
    ] {
        for rule in ["gcn", "gcn-self", "mean", "mean+self", "sum", "sum+self", "identity"] {
            let mut case = Case::new(2, links, &[&[1], &[1]], layers(), removals(global, local, keep_one));
            for at in 0..2 {
                case.world.model.layers[at].operators = vec![rule.into()];
                case.header.message_passing[at] = rule.into();
            }
            case = case.stating(case.header.clone());
            assert_eq!(case.judge(&singles(&case)), Ok(Verdict::Robust), "{links:?} {rule}");
            assert_eq!(case.judge(&one_leaf(&case, vec![])), Ok(Verdict::Robust), "{links:?} {rule}");
            assert!(Case::breaks(&case.outcomes(0)).is_empty());
        }
    }
    let star: Vec<(u32, u32)> = (1..=2_000).map(|m| (0, m)).collect();
    let attributes: Vec<&[u8]> = vec![&[1]; 2_001];
    let case = Case::new(2_001, &star, &attributes, layers(), removals(5, 3, true));
    let started = std::time::Instant::now();
    assert_eq!(case.judge(&one_leaf(&case, vec![])), Ok(Verdict::Robust));
    let claim = Claim::NonRobust(Witness { class: 1, edges: vec![(0, 1)], flips: Vec::new() });
    let fault = case.judge(&NodeProof { id: 0, class: 0, claim }).unwrap_err();
    // The neighbour would lose its only edge.
    assert_eq!(fault.reason, Reason::Removals);
    assert!(started.elapsed().as_secs() < 60);
}

/// The same price, written as an integer or with an exponent.
#[test]
fn prices_are_numbers_of_the_format() {
    let case = Case::new(
        3,
        &[(0, 1), (1, 2), (0, 2)],
        &[&[1], &[1], &[1]],
        network("gcn", &[1.0], 0.5, 1.0, 1.0),
        removals(2, 2, true),
    );
    for mu in [vec![], vec![0], vec![0, 0], vec![1 << 20]] {
        let mu: Vec<Number> = mu.into_iter().map(|x: usize| Number(Dyadic::from(x))).collect();
        let large = mu.iter().any(|mu| mu.0 > Dyadic::from(1));
        let judged = case.judge(&one_leaf(&case, mu));
        assert_eq!(judged.is_ok(), !large, "{judged:?}");
    }
}

/// A few hundred bytes about a clique, a star and any number of removals: known to be too expensive before anything is
/// done, and neither accepted nor rejected.
#[test]
fn leaves_that_cost_too_much_are_not_begun() {
    let clique: Vec<(u32, u32)> = (0..200).flat_map(|i| (i + 1..200).map(move |j| (i, j))).collect();
    let star: Vec<(u32, u32)> = (1..=4_000).map(|m| (0, m)).collect();
    for (nodes, links) in [(200, clique), (4_001, star)] {
        let attributes: Vec<&[u8]> = vec![&[1]; nodes];
        let layers = network("gcn", &[1.0], 0.5, 1.0, 1.0);
        let case = Case::new(nodes, &links, &attributes, layers, removals(u64::MAX, u64::MAX, false));
        let file = case.file(&[one_leaf(&case, vec![])]);
        assert!(file.len() < 400, "{}", file.len());
        let summary = case.run(&file);
        assert!(summary.steps.line < 1 << 32, "{:?}", summary.steps);
        assert_eq!((summary.expensive, summary.rejected, summary.proved()), (1, 0, 0), "{summary}");
        let reason = summary.too_expensive[0].fault.reason.to_string();
        assert!(reason.contains("too expensive: would take about"), "{reason}");
        // The same question with an ordinary budget costs little.
        let case = Case::new(nodes, &links, &attributes, network("gcn", &[1.0], 0.5, 1.0, 1.0), removals(5, 3, true));
        let summary = case.run(&case.file(&[one_leaf(&case, vec![])]));
        assert!(summary.expensive == 0 && summary.steps.line < 1 << 32, "{summary} {:?}", summary.steps);
    }
}

/// Elements of a tree, memory and exact numbers count as well.
#[test]
fn everything_that_a_leaf_takes_is_limited() {
    let links: Vec<(u32, u32)> = (0..12).flat_map(|i| (i + 1..12).map(move |j| (i, j))).collect();
    let attributes: Vec<&[u8]> = vec![&[1]; 12];
    let case = Case::new(12, &links, &attributes, network("gcn", &[1.0], 0.5, 1.0, 9.0), removals(3, 3, true));
    let run = |proof: &NodeProof, exact_only: bool, limits: Limits| {
        let options = Options { limits, exact_only, ..Options::default() };
        let summary =
            check(&case.world.graph, &case.world.model, &options, &case.file(std::slice::from_ref(proof))[..], |_| {});
        (summary.proved(), summary.expensive, summary.steps.line)
    };
    let leaf = one_leaf(&case, vec![]);
    for exact_only in [false, true] {
        let (proved, _, steps) = run(&leaf, exact_only, Limits::NONE);
        assert_eq!(proved, 1);
        // As many steps as were counted are enough, or a few times as many, because costs are known before as upper
        // bounds.
        let limits = |line: u64| Limits { line, flip: 0, ..Limits::NONE };
        assert_eq!(run(&leaf, exact_only, limits(40 * steps)).0, 1);
        // What is counted after the last look ends nothing; lines in exact numbers have 256 times as much.
        assert_eq!(run(&leaf, exact_only, limits(steps / if exact_only { 512 } else { 2 })).1, 1);
        assert_eq!(run(&leaf, exact_only, Limits { memory: 100, ..Limits::NONE }).1, 1);
        assert_eq!(run(&leaf, exact_only, Limits { memory: 1 << 20, ..Limits::NONE }).0, 1);
    }
    // A path without a leaf: splits alone.
    let splits = |count: u32| {
        let tree = (1..=count).map(|m| Step::Edge(0, m)).collect();
        NodeProof { id: 0, class: 0, claim: Claim::Robust(vec![ClassProof { class: 1, tree }]) }
    };
    let costs = [1, 2, 9].map(|count| run(&splits(count), false, Limits::NONE).2);
    // Every split looks at all 66 edges.
    assert!(costs[1] - costs[0] >= 66 && costs[2] - costs[0] >= 8 * 66, "{costs:?}");
    assert_eq!(run(&splits(9), false, Limits { line: costs[1], ..Limits::NONE }).1, 1);
    // A witness, and a list of single removals.
    let witness = Claim::NonRobust(Witness { class: 1, edges: vec![(0, 1)], flips: Vec::new() });
    let singles = Claim::Robust(vec![ClassProof { class: 1, tree: vec![Step::Singles(Nothing {})] }]);
    let one = Case::new(12, &links, &attributes, network("gcn", &[1.0], 0.5, 1.0, 9.0), removals(1, 3, true));
    for claim in [witness, singles] {
        let proof = NodeProof { id: 0, class: 0, claim };
        for exact_only in [false, true] {
            let line = if exact_only { 2 } else { 500 };
            let options = Options { limits: Limits { line, ..Limits::NONE }, exact_only, ..Options::default() };
            let file = one.file(std::slice::from_ref(&proof));
            let summary = check(&one.world.graph, &one.world.model, &options, &file[..], |_| {});
            assert_eq!((summary.expensive, summary.exit_code()), (1, 3), "{summary}");
        }
    }
}
