//! Tampered proofs about the network as it runs: one is accepted only if what it states is still true, of all
//! perturbations in f64 and of executions in true binary32.

use gcnproof::internals::bound::workspace::Workspace;
use gcnproof::proof::model_file;
use gcnproof::{Certifier, Effort, Execution, Flip, Limits, Problem};
use gcnproof_check::format::{BudgetStatement, Direction, Header, Line, Local};
use gcnproof_check::{Options, Stated, Summary, Verdict, check};
use gcnproof_verify::random::Stream;
use rayon::prelude::*;
use serde_json::Value;

use crate::proofs::{stated, with_checker};
use crate::simulation::Simulation;
use crate::{attributes, cases, exact, inputs};

fn judged(problem: &Problem, file: &[u8]) -> Summary {
    let (graph, model) = (problem.graph().file(), model_file(problem.network(), ""));
    let options = Options { matrices: problem.network().own_matrices(), ..Options::default() };
    check(&graph, &model, &options, file, |_| {})
}

/// Header and accepted proofs of a problem, line by line.
fn lines(problem: &Problem, execution: Option<Execution>) -> Vec<Value> {
    let limits = Limits { nodes: 2000, ..Limits::default() };
    let builder = Certifier::builder(problem.clone()).effort(Effort::Complete(limits)).proofs(true);
    let certifier = match execution {
        Some(execution) => builder.deployed(execution).build(),
        None => builder.build(),
    };
    let header = stated(problem, execution);
    let value = |line: &Line| {
        let mut bytes = Vec::new();
        line.write(&mut bytes).unwrap();
        serde_json::from_slice(&bytes).unwrap()
    };
    let mut found = vec![value(&Line::Header(header.clone()))];
    with_checker(problem, &header, false, |checker| {
        for node in 0..problem.graph().node_count() {
            let line = certifier.certify_node(node, &mut Workspace::default()).proof_line(checker).into_line();
            if matches!(line, Line::Node(_)) {
                found.push(value(&line));
            }
        }
    });
    found
}

fn file(lines: &[Value]) -> Vec<u8> {
    lines.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n").into_bytes()
}

/// All sets of flips that a statement permits, or so many of them drawn at random.
fn perturbations(problem: &Problem, budget: &BudgetStatement, random: &mut Stream) -> Vec<Vec<Flip>> {
    let rows = attributes(problem.graph(), &[]);
    let local = |n: usize| match &budget.local {
        Local::Uniform(q) => *q,
        Local::PerNode(q) => q[n],
    };
    let mut places = Vec::new();
    for (n, row) in rows.iter().enumerate() {
        for (d, &present) in row.iter().enumerate() {
            let permitted = match budget.direction {
                Direction::Both => true,
                Direction::Add => !present,
                Direction::Remove => present,
            };
            if permitted && local(n) > 0 && !budget.frozen_attributes.contains(&(d as u32)) {
                places.push(Flip { node: n as u32, attribute: d as u32 });
            }
        }
    }
    let fits = |flips: &[Flip], flip: Flip| {
        let used = flips.iter().filter(|other| other.node == flip.node).count() as u64;
        flips.len() < usize::try_from(budget.global).unwrap_or(usize::MAX) && used < local(flip.node as usize)
    };
    let mut found: Vec<Vec<Flip>> = vec![Vec::new()];
    found.extend(places.iter().filter(|&&flip| fits(&[], flip)).map(|&flip| vec![flip]));
    for _ in 0..60 {
        let mut flips: Vec<Flip> = Vec::new();
        for _ in 0..12.min(places.len()) {
            let flip = places[random.below(places.len())];
            if fits(&flips, flip) && !flips.contains(&flip) {
                flips.push(flip);
            }
        }
        found.push(flips);
    }
    found
}

/// A node, a class and flips.
type Claimed = (usize, usize, Vec<Flip>);

/// Holds what a summary accepts against the exact network and executions. How many verdicts there were.
fn hold(problem: &Problem, summary: &Summary, claimed: &[Claimed], random: &mut Stream, context: &str) -> usize {
    let Some(Stated::Flips(header)) = &summary.header else { return 0 };
    let Header { budget, deployed, .. } = header;
    let nodes = 0..problem.graph().node_count();
    let verdicts: Vec<(usize, Verdict)> =
        nodes.filter_map(|node| Some((node, (*summary.verdicts.get(node)?)?))).collect();
    if verdicts.is_empty() {
        return 0;
    }
    let before = exact(problem.network(), &inputs(problem.graph(), &[]));
    let first = |node: usize| {
        let logits = &before[node];
        (0..logits.len()).fold(0, |best, k| if logits[k] > logits[best] { k } else { best })
    };
    // Formats with more bits than binary32 are not simulated.
    let simulated = deployed.as_ref().filter(|deployed| deployed.precision <= 24);
    let errors = simulated.map(|deployed| {
        let fewer = |errors: &Vec<u32>| errors.iter().map(|&error| error.min(64)).collect();
        deployed.operator_error.iter().map(fewer).collect::<Vec<Vec<u32>>>()
    });
    let mut evaluated = |flips: &[Flip]| {
        let input = inputs(problem.graph(), flips);
        let computed = errors.as_ref().map(|errors| {
            let flush = simulated.is_some_and(|deployed| deployed.flush_subnormals);
            Simulation { random: &mut *random, operator_errors: errors, flush }.logits(problem.network(), &input)
        });
        (exact(problem.network(), &input), computed)
    };
    let size = |logits: &[f64]| logits.iter().fold(1.0f64, |most, z| most.max(z.abs()));
    for flips in perturbations(problem, budget, &mut Stream::new(7)) {
        let (after, computed) = evaluated(&flips);
        for &(node, _) in verdicts.iter().filter(|verdict| verdict.1 == Verdict::Robust) {
            let y = first(node);
            for k in (0..before[node].len()).filter(|&k| k != y) {
                let slack = 1e-9 * size(&after[node]);
                assert!(after[node][y] > after[node][k] - slack, "{context}: {flips:?} breaks node {node}");
                let kept = computed.as_ref().is_none_or(|computed| computed[node][y] > computed[node][k]);
                assert!(kept, "{context}: an execution on {flips:?} breaks node {node}");
            }
        }
    }
    for &(node, _) in verdicts.iter().filter(|verdict| verdict.1 != Verdict::Robust) {
        let y = first(node);
        // One of the lines about the node was accepted: it breaks the class every time.
        let breaks = claimed.iter().filter(|claim| claim.0 == node).any(|(_, class, flips)| {
            let (rows, columns) = (problem.graph().node_count() as u32, problem.graph().attribute_count() as u32);
            *class < before[node].len()
                && flips.iter().all(|flip| flip.node < rows && flip.attribute < columns)
                && (0..20).all(|_| {
                    let (after, computed) = evaluated(flips);
                    after[node][*class] >= after[node][y] - 1e-9 * size(&after[node])
                        && computed.is_none_or(|computed| computed[node][*class] >= computed[node][y])
                })
        });
        assert!(breaks, "{context}: no witness of node {node} breaks it in every execution");
    }
    verdicts.len()
}

fn places(value: &Value, at: &str, found: &mut Vec<String>) {
    if ["/header/graph", "/header/model", "/header/message_passing"].contains(&at) {
        return;
    }
    found.push(at.to_string());
    match value {
        Value::Array(list) => list.iter().enumerate().for_each(|(i, v)| places(v, &format!("{at}/{i}"), found)),
        Value::Object(map) => map.iter().for_each(|(key, v)| places(v, &format!("{at}/{key}"), found)),
        _ => {}
    }
}

fn mutate(value: &mut Value, random: &mut Stream) {
    let mut found = Vec::new();
    places(value, "", &mut found);
    let Some(spot) = value.pointer_mut(&found[random.below(found.len())]) else { return };
    match spot {
        Value::Number(number) => {
            let old = number.as_i64().unwrap_or(0);
            let others =
                [old.wrapping_add(1), old.wrapping_sub(1), -(old / 2), 0, 1, 2, 24, 53, 1 << 20, i64::MAX, old / 2];
            *spot = Value::from(others[random.below(others.len())]);
        }
        Value::Bool(flag) => *flag = !*flag,
        Value::Array(list) if !list.is_empty() => {
            let (at, other) = (random.below(list.len()), random.below(list.len()));
            match random.below(3) {
                0 => drop(list.remove(at)),
                1 => list.insert(other, list[at].clone()),
                _ => list.swap(at, other),
            }
        }
        Value::Object(map) if !map.is_empty() => {
            let key = map.keys().nth(random.below(map.len())).cloned().unwrap_or_default();
            let old = map.remove(&key).unwrap_or_default();
            if random.chance(50) {
                let keys =
                    ["deployed", "precision", "operator_error", "flush_subnormals", "robust", "non_robust", "class"];
                map.insert(keys[random.below(keys.len())].into(), old);
            }
        }
        _ => *spot = Value::Null,
    }
}

/// What lines claim to be witnesses: the node, the class that reaches the first, the flips.
fn witnesses(lines: &[Value]) -> Vec<Claimed> {
    let of_line = |line: &Value| {
        let node = line.pointer("/node/id")?.as_u64()? as usize;
        let class = line.pointer("/node/claim/non_robust/class")?.as_u64()? as usize;
        let flips = line.pointer("/node/claim/non_robust/flips")?;
        let flips = serde_json::from_value::<Vec<(u32, u32)>>(flips.clone()).ok()?;
        Some((node, class, flips.into_iter().map(|(node, attribute)| Flip { node, attribute }).collect()))
    };
    lines.iter().filter_map(of_line).collect()
}

/// Files of many problems, changed: how many were tried, and how many verdicts were accepted and held.
fn mutants(seeds: std::ops::Range<u64>, each: usize, change: fn(&mut Stream, &Problem, &mut Vec<Value>)) -> [usize; 2] {
    let counts = seeds.into_par_iter().map(|seed| {
        let (problem, execution) = cases::case(seed);
        let original = lines(&problem, Some(execution));
        let mut random = Stream::new(seed ^ 0x7a3);
        let mut counts = [0; 2];
        for at in 0..each {
            let mut changed = original.clone();
            change(&mut random, &problem, &mut changed);
            let text = file(&changed);
            let summary = judged(&problem, &text);
            let context = format!("seed {seed}, mutant {at}: {}", String::from_utf8_lossy(&text));
            counts[0] += 1;
            counts[1] += hold(&problem, &summary, &witnesses(&changed), &mut random, &context);
        }
        counts
    });
    let [tried, held] = counts.reduce(|| [0; 2], |x, y| [x[0] + y[0], x[1] + y[1]]);
    println!("{tried} tampered files, {held} verdicts accepted, all true");
    [tried, held]
}

#[test]
fn changed_statements_and_proofs_are_accepted_only_if_still_true() {
    let [tried, held] = mutants(0..120, 40, |random, _, lines| {
        for _ in 0..=random.below(2) {
            // The statement most of all.
            let at = if random.chance(60) { 0 } else { random.below(lines.len()) };
            mutate(&mut lines[at], random);
        }
    });
    assert!(tried == 4800 && held > 500 && held < 3 * tried, "{tried} {held}");
}

#[test]
fn proofs_about_the_exact_network_under_a_statement_about_executions_hold_or_are_refused() {
    let refused: usize = (0..200u64)
        .into_par_iter()
        .map(|seed| {
            let (problem, execution) = cases::case(seed);
            let exact = lines(&problem, None);
            let mut changed = exact.clone();
            changed[0] = lines(&problem, Some(execution)).swap_remove(0);
            let summary = judged(&problem, &file(&changed));
            let context = format!("seed {seed}");
            let held = hold(&problem, &summary, &witnesses(&changed), &mut Stream::new(seed), &context);
            exact.len() - 1 - held
        })
        .sum();
    println!("{refused} proofs about the exact network are none about executions");
    assert!(refused > 20, "{refused}");
}
