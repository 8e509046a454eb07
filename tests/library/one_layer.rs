//! Networks with a single layer against brute force, where what may be changed is not a free choice of flips: rows
//! divided by their sums, and categories. Complete searches decide every node, minima are exact, and the checker
//! accepts every proof.

use std::collections::BTreeSet;

use gcnproof::internals::bound::workspace::Workspace;
use gcnproof::internals::problem::slice::Slice;
use gcnproof::proof::{header, model_file};
use gcnproof::{Budget, Certifier, Effort, Flip, Graph, Limits, Network, Operator, Problem, Verdict};
use gcnproof_check::format::{Convention, Line};
use gcnproof_check::{Checker, Statement, Verdict as Judgement};
use gcnproof_files::{GraphFile, Normalisation};
use gcnproof_verify::random::Stream;

use crate::common;

/// What is asked about the attributes of a graph.
#[derive(Clone, Copy, PartialEq)]
enum Attributes {
    Divided,
    Categories,
}

/// A graph, the operators of the layer and the problem.
struct Case {
    problem: Problem,
    rules: Vec<Operator>,
}

fn case(seed: u64, attributes: Attributes) -> Case {
    let mut random = Stream::new(seed);
    let (nodes, dimension) = (2 + random.below(3), 3 + random.below(3));
    let mut adjacency = vec![Vec::new(); nodes];
    for (i, j) in (0..nodes).flat_map(|i| (0..i).map(move |j| (i, j))) {
        if random.chance(50) {
            adjacency[i].push(j as u32);
            adjacency[j].push(i as u32);
        }
    }
    adjacency.iter_mut().for_each(|row| row.sort_unstable());
    let groups: Vec<i64> = (0..dimension).map(|d| if d < 2 { 0 } else { random.below(3) as i64 - 1 }).collect();
    let mut rows: Vec<Vec<u32>> =
        (0..nodes).map(|_| (0..dimension as u32).filter(|_| random.chance(50)).collect()).collect();
    if attributes == Attributes::Categories {
        for row in &mut rows {
            let mut seen = BTreeSet::new();
            row.retain(|&d| groups[d as usize] < 0 || seen.insert(groups[d as usize]));
        }
    }
    let batch = random.chance(40).then(|| (0..nodes as u32).map(|n| n * 2 / nodes as u32).collect());
    let rule = match &batch {
        Some(_) => random.pick_of(&[Operator::PoolSum, Operator::PoolMean]),
        None => random.pick_of(&[
            Operator::Gcn,
            Operator::SumWithSelf,
            Operator::Mean,
            Operator::Polynomial(Box::new(Operator::Sum), vec![0.5, -1.0, 0.25]),
        ]),
    };
    let plain = common::graph(adjacency, rows, dimension);
    let file = GraphFile { batch, ..plain.file() };
    let file = match attributes {
        Attributes::Divided => file.normalised([Normalisation::Float32, Normalisation::Float64][random.below(2)]),
        Attributes::Categories => file.grouped(&groups).unwrap(),
    };
    let graph = Graph::from_file(file);
    let classes = 2 + random.below(2);
    let mut quarter = |count: usize| (0..count).map(|_| random.below(17) as f64 / 4.0 - 2.0).collect::<Vec<f64>>();
    let weight =
        gcnproof_files::DenseMatrix { rows: dimension, columns: classes, values: quarter(dimension * classes) };
    let bias = quarter(classes);
    let rules = vec![rule];
    let network = Network::from_file(common::model(vec![(weight, bias)]), &rules, &graph).unwrap();
    let locals: Vec<i64> = (0..nodes).map(|_| random.below(4) as i64).collect();
    let budget = Budget::per_node(&graph, 1 + random.below(3), &locals).unwrap();
    Case { problem: Problem::new(graph, network, budget).unwrap(), rules }
}

trait PickOf {
    fn pick_of<T: Clone>(&mut self, of: &[T]) -> T;
}

impl PickOf for Stream {
    fn pick_of<T: Clone>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())].clone()
    }
}

/// The logits of a target after some flips, by the operator's entries and the weights alone.
fn logits(problem: &Problem, target: usize, flips: &[Flip]) -> Vec<f64> {
    let (graph, layer) = (problem.graph(), &problem.network().layers()[0]);
    let mut slice = Slice::default();
    slice.cut(problem.network(), 2, target);
    let mut logits: Vec<f64> = layer.bias.row(target).to_vec();
    for (n, entries) in slice.passing(1).row(0) {
        let node = slice.nodes(1)[n];
        let present = |d: u32| {
            let flipped = flips.contains(&Flip { node, attribute: d });
            graph.file().attributes.row(node as usize).contains(&d) != flipped
        };
        let ones: Vec<usize> = (0..layer.inputs()).filter(|&d| present(d as u32)).collect();
        let entry = graph.file().normalisation.entry(ones.len());
        for (k, a) in entries.iter().enumerate() {
            for (j, logit) in logits.iter_mut().enumerate() {
                *logit += a * entry * ones.iter().map(|d| layer.weight.get(k * layer.inputs() + d, j)).sum::<f64>();
            }
        }
    }
    logits
}

/// Calls `each` with every admissible set of flips.
fn visit(problem: &Problem, all: &[Flip], made: &mut Vec<Flip>, each: &mut impl FnMut(&[Flip])) {
    if !problem.budget().admits(problem.graph(), made) {
        return;
    }
    each(made);
    for at in 0..all.len() {
        made.push(all[at]);
        visit(problem, &all[at + 1..], made, each);
        made.pop();
    }
}

fn compare(seeds: std::ops::Range<u64>, attributes: Attributes) {
    let (mut robust, mut broken, mut searched, mut proved) = (0, 0, 0, 0);
    let mut workspace = Workspace::default();
    for seed in seeds {
        let Case { problem, rules } = case(seed, attributes);
        let (graph, network) = (problem.graph().clone(), problem.network());
        let count = network.layers()[0].inputs() as u32;
        let all: Vec<Flip> = (0..graph.node_count() as u32)
            .flat_map(|node| (0..count).map(move |attribute| Flip { node, attribute }))
            .filter(|flip| problem.budget().with_global(1).admits(&graph, &[*flip]))
            .collect();
        let targets = graph.file().batch.as_ref().map_or(graph.node_count(), |_| 2);
        let digests = (graph.digest(), "");
        let header = header(digests, (network, &rules), problem.budget(), Convention::Predicted);
        let (file, model) = (graph.file(), model_file(network, ""));
        // A readout is one of a described network, which this is not.
        let statement = file
            .batch
            .is_none()
            .then(|| Statement::new(&file, &model, &header, &network.own_matrices()).expect("the files fit"));
        let checker = statement.as_ref().map(|statement| Checker::new(statement, seed % 2 == 0));
        for target in 0..targets {
            let mut sets = Vec::new();
            visit(&problem, &all, &mut Vec::new(), &mut |flips| sets.push(logits(&problem, target, flips)));
            let least = |c: usize, k: usize| sets.iter().map(|z| z[c] - z[k]).fold(f64::INFINITY, f64::min);
            let efforts =
                [Effort::Complete(Limits::default()), Effort::Minimize { limits: Limits::default(), gap: 0.0 }];
            for effort in efforts {
                // Lists of perturbations and path bounds would decide before the search does.
                let builder = Certifier::builder(problem.clone()).effort(effort).listing(0);
                let certifier = builder.build();
                let certifier = if checker.is_some() { certifier.with_proofs() } else { certifier };
                let result = certifier.certify_node(target, &mut workspace);
                searched += result.search_nodes;
                let mut worst = f64::INFINITY;
                for (margin, minimum) in result.margins.iter().zip(&result.minima) {
                    let truth = least(result.reference, margin.class);
                    worst = worst.min(truth);
                    assert!(
                        margin.lower <= truth + 1e-9 && truth <= margin.upper + 1e-9,
                        "seed {seed}: {truth} {result:?}"
                    );
                    if effort != efforts[0] {
                        let minimum = minimum.as_ref().expect("a search without limits finds the minimum");
                        assert!((minimum.margin.ceil_f64() - truth).abs() < 1e-9, "seed {seed}: {truth} {result:?}");
                    }
                }
                let is_robust = match result.verdict {
                    Verdict::Undecided => panic!("seed {seed}, target {target}: {result:?}"),
                    verdict => verdict == Verdict::Robust,
                };
                if worst.abs() > 1e-9 {
                    assert_eq!(is_robust, worst > 0.0, "seed {seed}, target {target}: {worst} {result:?}");
                }
                *(if is_robust { &mut robust } else { &mut broken }) += 1;
                let Some(checker) = &checker else { continue };
                let Line::Node(proof) = result.proof_line(checker).into_line() else {
                    panic!("seed {seed}, target {target}: no proof of {result:?}");
                };
                assert_eq!(checker.check(&proof).unwrap() == Judgement::Robust, is_robust, "seed {seed}: {result:?}");
                proved += 1;
            }
        }
    }
    println!("{robust} robust, {broken} non-robust, {searched} tree nodes, {proved} proofs");
    assert!(robust > 100 && broken > 100 && searched > 100);
}

#[test]
fn rows_divided_by_their_sums() {
    compare(0..600, Attributes::Divided);
}

#[test]
fn categories() {
    compare(10_000..10_600, Attributes::Categories);
}
