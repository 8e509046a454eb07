//! Proofs about changed edges in the verified checker: it says of witnesses what the exact core says, and of claims
//! that a class is kept what is true. Skipped aloud where it is not built (`make verified`).

use crate::common;
use crate::edge_world as world;

use std::cmp::Ordering;
use std::path::PathBuf;

use common::{Random, layer, pattern};
use gcnproof_check::edges::format::*;
use gcnproof_check::edges::{Checker, Edge, Statement};
use gcnproof_check::format::{Convention, Local};
use gcnproof_check::{EdgeAnswer, EdgeJudge, Verdict, find_program};
use gcnproof_files::{GraphFile, ModelFile, Normalisation};
use world::Case;

/// The program, or word that the test is skipped.
fn program() -> Option<PathBuf> {
    find_program().inspect_err(|problem| println!("SKIPPED: {problem}")).ok()
}

/// More sets than any test has.
const ENOUGH: u64 = 1 << 20;

fn shown(verdict: Option<Verdict>) -> EdgeAnswer {
    verdict.map_or(EdgeAnswer::Rejected, EdgeAnswer::Shown)
}

fn witness(id: u32, class: u32, other: u32, edges: Vec<Edge>) -> NodeProof {
    NodeProof { id, class, claim: Claim::NonRobust(Witness { class: other, edges, flips: Vec::new() }) }
}

fn robust(id: u32, class: u32, classes: u32, mut tree: impl FnMut(u32) -> Vec<Step>) -> NodeProof {
    let others = (0..classes).filter(|&other| other != class);
    let trees = others.map(|other| ClassProof { class: other, tree: tree(other) }).collect();
    NodeProof { id, class, claim: Claim::Robust(trees) }
}

/// Removals with one hidden layer, against the truth: lists of all sets of removals in exact numbers.
#[test]
fn removals_are_judged_by_the_truth() {
    let Some(program) = program() else { return };
    let mut counts = [0; 4];
    for seed in 0..80 {
        let mut random = Random::new(seed + 130_000_000);
        let case = Case::random(&mut random);
        let Some(reference) = case.reference() else { continue };
        let (graph, model) = (&case.world.graph, &case.world.model);
        let outcomes = case.outcomes(reference);
        let classes = case.world.classes() as u32;
        // The same removals as changes: another version, with leaves of its own.
        let mut changes = case.header.clone();
        changes.edges.changes = Some(Changes { kind: ChangeKind::Remove, directed: false, candidates: None });
        (changes.version, changes.attack) = (CHANGES_VERSION, Attack::EdgeChanges);
        for (header, leaf) in [(&case.header, Step::Singles(Nothing {})), (&changes, Step::Listed(Nothing {}))] {
            let mut judge = EdgeJudge::start(&program, graph, model, header).unwrap();
            let statement = Statement::new(graph, model, header).unwrap();
            let checker = Checker::new(&statement, true);
            let mut is_robust = true;
            for outcome in &outcomes {
                for (class, margin) in &outcome.margins {
                    let verdict = match margin.sign() {
                        Ordering::Less => Some(Verdict::NonRobust),
                        Ordering::Equal => Some(Verdict::Tie),
                        Ordering::Greater => None,
                    };
                    is_robust &= verdict.is_none();
                    let proof = witness(case.node, reference, *class, outcome.edges.clone());
                    assert_eq!(judge.ask(&proof, ENOUGH).unwrap(), shown(verdict), "seed {seed}: {proof:?}");
                    counts[usize::from(verdict.is_some())] += 1;
                    // One edge more: perhaps frozen, perhaps too many.
                    let mut edges = outcome.edges.clone();
                    edges.extend(case.edges().into_iter().filter(|edge| !outcome.edges.contains(edge)).take(1));
                    edges.sort_unstable();
                    let proof = witness(case.node, reference, *class, edges);
                    let expected = shown(checker.check(&proof).ok());
                    assert_eq!(judge.ask(&proof, ENOUGH).unwrap(), expected, "seed {seed}: {proof:?}");
                }
            }
            let claim = robust(case.node, reference, classes, |_| vec![leaf.clone()]);
            let answer = judge.ask(&claim, ENOUGH).unwrap();
            assert_eq!(answer, shown(is_robust.then_some(Verdict::Robust)), "seed {seed}");
            counts[2 + usize::from(is_robust)] += 1;
            // A class that is not looked at, and trees that are none.
            let Claim::Robust(trees) = &claim.claim else { unreachable!() };
            let less = NodeProof { claim: Claim::Robust(trees[1..].to_vec()), ..claim.clone() };
            assert_eq!(judge.ask(&less, ENOUGH).unwrap(), EdgeAnswer::Rejected);
            for steps in [vec![], vec![leaf.clone(), leaf.clone()], vec![Step::Edge(0, 1), leaf.clone()]] {
                let broken = robust(case.node, reference, classes, |_| steps.clone());
                assert_eq!(judge.ask(&broken, ENOUGH).unwrap(), EdgeAnswer::Rejected);
            }
        }
    }
    println!("{counts:?}");
    assert!(counts.iter().all(|&count| count > 25), "{counts:?}");
}

/// A small problem of changed edges, of any kind that the format has.
struct ChangeWorld {
    graph: GraphFile,
    model: ModelFile,
    header: Header,
}

const RULES: [&str; 9] =
    ["gcn", "gcn", "gcn-self", "mean", "mean+self", "sum", "sum+self", "identity", "poly(sum;0.7,1)"];

impl ChangeWorld {
    fn random(random: &mut Random) -> ChangeWorld {
        let kind = [0, 0, 1, 2][random.below(4)];
        let (nodes, directed, batched) = (2 + random.below(3), random.chance(40), random.chance(25));
        let batch: Vec<u32> = (0..nodes).map(|node| u32::from(batched && node + 1 == nodes)).collect();
        let mut linked = vec![vec![false; nodes]; nodes];
        for i in 0..nodes {
            for j in 0..nodes {
                let there = random.chance(if i == j { 10 } else { 50 }) && batch[i] == batch[j];
                linked[i][j] = if i > j && !directed { linked[j][i] } else { there };
            }
        }
        let (columns, classes) = (1 + random.below(3), 2 + random.below(2));
        let depth = 1 + random.below(3);
        let (mut layers, mut inputs) = (Vec::new(), columns);
        for at in 0..depth {
            let last = at + 1 == depth;
            let outputs = if last { classes } else { 1 + random.below(2) };
            let mut rules: Vec<String> = (0..1 + random.below(2))
                .map(|_| RULES[random.below(RULES.len())].to_string())
                .map(|rule| if directed && rule == "gcn-self" { "gcn".into() } else { rule })
                .collect();
            if batched && last {
                rules = vec![["pool-sum", "pool-mean"][random.below(2)].into()];
            }
            let rows: Vec<Vec<f64>> =
                (0..rules.len() * inputs).map(|_| (0..outputs).map(|_| random.weight(kind)).collect()).collect();
            let bias: Vec<f64> = (0..outputs).map(|_| random.weight(kind)).collect();
            let mut made = layer(&rows.iter().map(Vec::as_slice).collect::<Vec<_>>(), &bias);
            if random.chance(20) {
                made.bias = (0..nodes * outputs).map(|_| random.weight(kind)).collect();
            }
            if random.chance(20) {
                made.linear = (0..outputs).map(|_| random.chance(50)).collect();
            }
            // Margins near 0.
            if last && random.chance(70) {
                made.bias.fill(0.0);
            }
            made.operators = rules;
            layers.push(made);
            inputs = outputs;
        }
        let attributes: Vec<Vec<u8>> =
            (0..nodes).map(|_| (0..columns).map(|_| random.below(2) as u8).collect()).collect();
        let attributes: Vec<&[u8]> = attributes.iter().map(Vec::as_slice).collect();
        let common::World { mut graph, model, .. } = common::world(&attributes, columns, layers, 0, 0);
        graph.adjacency = pattern(nodes, nodes, |i, j| linked[i][j]);
        graph.batch = batched.then(|| batch.clone());
        if random.chance(20) {
            graph.normalisation = [Normalisation::Float32, Normalisation::Float64][random.below(2)];
        }
        let pairs = pairs(nodes, directed);
        let is_there = |&(i, j): &Edge| linked[j as usize][i as usize];
        let same = |&(i, j): &Edge| batch[i as usize] == batch[j as usize];
        let candidates = match random.below(3) {
            0 => Some(Candidates::Within(random.below(4) as u64)),
            1 => {
                let free = pairs.iter().filter(|edge| !is_there(edge) && same(edge));
                Some(Candidates::Listed(free.copied().filter(|_| random.chance(60)).collect()))
            }
            _ => None,
        };
        let frozen = pairs.iter().filter(|edge| is_there(edge)).copied().filter(|_| random.chance(15)).collect();
        let local = match random.below(3) {
            0 => Local::PerNode((0..nodes).map(|_| random.below(3) as u64).collect()),
            _ => Local::Uniform([1, 2, u64::MAX][random.below(3)]),
        };
        let kind = [ChangeKind::Remove, ChangeKind::Insert, ChangeKind::Change][random.below(3)];
        let header = Header {
            version: CHANGES_VERSION,
            attack: Attack::EdgeChanges,
            graph: "graph".into(),
            model: "model".into(),
            message_passing: model.layers.iter().map(|layer| layer.operators.join(" & ")).collect(),
            edges: Removals {
                global: [0, 1, 1, 2, 2, 3, u64::MAX][random.below(7)],
                local,
                keep_one: random.chance(40),
                frozen,
                changes: Some(Changes { kind, directed, candidates }),
            },
            flips: None,
            classes: Convention::Predicted,
        };
        ChangeWorld { graph, model, header }
    }
}

fn pairs(nodes: usize, directed: bool) -> Vec<Edge> {
    let nodes = nodes as u32;
    let all = (0..nodes).flat_map(|i| (0..nodes).map(move |j| (i, j)));
    all.filter(|&(i, j)| if directed { i != j } else { i < j }).collect()
}

/// Splits on any pairs, free or not, with leaves that are listed.
fn random_tree(random: &mut Random, pairs: &[Edge], depth: usize, tree: &mut Vec<Step>) {
    if depth > 0 && random.chance(40) {
        let (i, j) = pairs[random.below(pairs.len())];
        tree.push(Step::Edge(i, j));
        random_tree(random, pairs, depth - 1, tree);
        random_tree(random, pairs, depth - 1, tree);
    } else {
        tree.push(Step::Listed(Nothing {}));
    }
}

/// Every set of changes as a witness against every class: both checkers say the same. What is listed is verified where
/// it is true, whatever the splits; a bound is not needed.
#[test]
fn changes_are_judged_as_by_the_core() {
    let Some(program) = program() else { return };
    let mut counts = [0; 6];
    for seed in 0..200 {
        let mut random = Random::new(seed + 140_000_000);
        let ChangeWorld { graph, model, header } = ChangeWorld::random(&mut random);
        let Ok(statement) = Statement::new(&graph, &model, &header) else {
            counts[0] += 1;
            assert!(EdgeJudge::start(&program, &graph, &model, &header).is_err());
            continue;
        };
        let checker = Checker::new(&statement, true);
        let mut judge = EdgeJudge::start(&program, &graph, &model, &header).unwrap();
        let directed = header.edges.changes.as_ref().is_some_and(|changes| changes.directed);
        let pairs = pairs(graph.adjacency.rows, directed);
        let classes = model.layers.last().unwrap().weight.columns as u32;
        let id = random.below(graph.targets()) as u32;
        let sets: Vec<Vec<Edge>> = match pairs.len() {
            count @ 0..=9 => (0u32..1 << count)
                .map(|mask| (0..count).filter(|&at| mask >> at & 1 == 1).map(|at| pairs[at]).collect())
                .filter(|set: &Vec<Edge>| set.len() <= 3)
                .collect(),
            _ => Vec::new(),
        };
        // A larger graph has more sets than are worth listing.
        if sets.is_empty() || header.edges.global > 3 && pairs.len() > 6 {
            continue;
        }
        for class in 0..classes {
            let mut breaks = false;
            let mut is_reference = true;
            for set in &sets {
                for other in 0..classes {
                    let proof = witness(id, class, other, set.clone());
                    let expected = checker.check(&proof);
                    let answer = judge.ask(&proof, ENOUGH).unwrap();
                    assert_eq!(answer, shown(expected.as_ref().ok().copied()), "seed {seed}: {proof:?} {expected:?}");
                    breaks |= expected.is_ok();
                    is_reference &= !matches!(
                        expected.as_ref().map_err(|fault| &fault.reason),
                        Err(gcnproof_check::Reason::Reference(_))
                    );
                    counts[1 + usize::from(expected.is_ok())] += 1;
                }
            }
            let largest = header.edges.global.min(pairs.len() as u64);
            for _ in 0..3 {
                let proof = robust(id, class, classes, |_| {
                    let mut tree = Vec::new();
                    random_tree(&mut random, &pairs, 2, &mut tree);
                    tree
                });
                let (core, answer) = (checker.check(&proof), judge.ask(&proof, ENOUGH).unwrap());
                if core.is_ok() {
                    assert_eq!(answer, EdgeAnswer::Shown(Verdict::Robust), "seed {seed}: {proof:?}");
                    counts[3] += 1;
                }
                if largest <= 3 && answer != EdgeAnswer::Rejected {
                    assert!(is_reference && !breaks, "seed {seed}: {proof:?} is false");
                    counts[4] += 1;
                }
                // The first set is always looked at, and no more than that.
                let few = judge.ask(&proof, 0).unwrap();
                assert_ne!(few, EdgeAnswer::Shown(Verdict::Robust));
                counts[5] += usize::from(few == EdgeAnswer::TooMany);
            }
        }
    }
    println!("{counts:?}");
    assert!(counts[1..].iter().all(|&count| count > 25), "{counts:?}");
}

/// A node with 40 neighbours, of which up to 8 are lost: far more sets than are listed here, and a bound suffices.
/// Where a loss of 8 is too much, nothing is shown.
#[test]
fn a_bound_stands_for_long_lists_of_removals() {
    let Some(program) = program() else { return };
    let (nodes, lost) = (41, 8);
    let links: Vec<Edge> = (1..nodes as u32).map(|leaf| (0, leaf)).collect();
    let attributes: Vec<&[u8]> = vec![&[1, 0]; nodes];
    // What class 0 has after 8 losses, by the sizes 33 and 2.
    for (rule, left) in [("sum", 2.0), ("mean+self", 1.0 / 16.0), ("gcn", (32.0 / 66f64.sqrt() + 1.0 / 33.0) / 16.0)] {
        for (margin, expected) in [(1.0 / 64.0, true), (-1.0 / 64.0, false)] {
            let mut first = layer(&[&[1.0], &[0.0]], &[0.0]);
            let mut second = layer(&[&[1.0 / 16.0, 0.0]], &[0.0, left - margin]);
            first.operators = vec!["identity".into()];
            second.operators = vec![rule.into()];
            let removals = Removals {
                global: lost,
                local: Local::Uniform(u64::MAX),
                keep_one: false,
                frozen: Vec::new(),
                changes: None,
            };
            let case = Case::new(nodes, &links, &attributes, vec![first, second], removals);
            let mut judge = EdgeJudge::start(&program, &case.world.graph, &case.world.model, &case.header).unwrap();
            let claim = robust(0, 0, 2, |_| vec![Step::Singles(Nothing {})]);
            let answer = judge.ask(&claim, 100).unwrap();
            assert_eq!(answer == EdgeAnswer::Shown(Verdict::Robust), expected, "{rule} {margin}: {answer:?}");
        }
    }
}
