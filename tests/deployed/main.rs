//! Verdicts for the network as it runs, against simulated executions in true binary32.
//!
//! `GCNPROOF_EXECUTIONS=2000x1000` draws so many networks, and so many executions of each.
#![allow(missing_docs)]

#[path = "../common/mod.rs"]
mod common;

mod cases;
mod described;
mod margins;
mod program;
mod proofs;
mod ranges;
mod simulation;
mod tamper;

use gcnproof::internals::bound::workspace::Workspace;
use gcnproof::internals::problem::network::{Layer, Term};
use gcnproof::nalgebra::DMatrix;
use gcnproof::{
    Budget, Certifier, DeployedVerdict, Effort, Execution, Flip, Graph, Limits, Network, NodeResult, Operator, Problem,
    Verdict, radii,
};
use gcnproof_verify::random::Stream;
use rayon::prelude::*;

use simulation::Simulation;

/// What became of the nodes of all networks.
#[derive(Clone, Debug, Default, PartialEq)]
struct Tally {
    robust: usize,
    non_robust: usize,
    rounding_dependent: usize,
    undecided: usize,
    /// The largest share of its bound that an error has reached.
    tightest: f64,
}

impl Tally {
    fn add(mut self, other: Tally) -> Tally {
        self.robust += other.robust;
        self.non_robust += other.non_robust;
        self.rounding_dependent += other.rounding_dependent;
        self.undecided += other.undecided;
        self.tightest = self.tightest.max(other.tightest);
        self
    }
}

/// The attributes of the file after some flips, or changes of categories.
fn attributes(graph: &Graph, flips: &[Flip]) -> Vec<Vec<bool>> {
    let present = graph.attributes();
    let mut rows = vec![vec![false; graph.own_attribute_count()]; graph.node_count()];
    for (value, (n, d)) in present.iter() {
        rows[n as usize][d as usize] = *value == 1;
    }
    for flip in flips {
        let row = &mut rows[flip.node as usize];
        match graph.categories().and_then(|categories| categories.change(flip.attribute)) {
            Some(change) => {
                change.old.into_iter().for_each(|old| row[old as usize] = false);
                change.new.into_iter().for_each(|new| row[new as usize] = true);
            }
            None => row[flip.attribute as usize] = !row[flip.attribute as usize],
        }
    }
    rows
}

/// What the network reads after some flips: 0 and 1, or divided by their number.
fn inputs(graph: &Graph, flips: &[Flip]) -> Vec<Vec<f64>> {
    let row = |row: Vec<bool>| {
        let entry = graph.normalisation().entry(row.iter().filter(|present| **present).count());
        row.into_iter().map(|present| if present { entry } else { 0.0 }).collect()
    };
    attributes(graph, flips).into_iter().map(row).collect()
}

/// An admissible set of flips.
fn perturbation(problem: &Problem, random: &mut Stream) -> Vec<Flip> {
    let (graph, budget) = (problem.graph(), problem.budget());
    let mut flips: Vec<Flip> = Vec::new();
    // Of categories most changes are those of other rows.
    for _ in 0..budget.global().min(8) * if graph.categories().is_some() { 4 } else { 1 } {
        let flip = Flip {
            node: random.below(graph.node_count()) as u32,
            attribute: random.below(graph.attribute_count()) as u32,
        };
        flips.push(flip);
        if !budget.admits(graph, &flips) {
            flips.pop();
        }
    }
    flips
}

/// Exact margins but for f64's rounding, in plain loops.
fn exact(network: &Network, attributes: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let mut h = attributes.to_vec();
    let last = network.layers().len() - 1;
    for (l, layer) in network.own_layers().enumerate() {
        let row = |m: usize| -> Vec<f64> {
            let mut sums = layer.bias.row(m).to_vec();
            for (n, entries) in layer.passing.row(m) {
                for (k, a) in entries.iter().enumerate() {
                    for (i, h) in h[n].iter().enumerate() {
                        let weights = layer.weight.row(k * layer.inputs() + i);
                        sums.iter_mut().zip(weights).for_each(|(sum, w)| *sum += a * h * w);
                    }
                }
            }
            let activate = |(j, z): (usize, f64)| if l < last && !layer.is_linear(j) { z.max(0.0) } else { z };
            sums.into_iter().enumerate().map(activate).collect()
        };
        h = (0..network.node_count()).map(row).collect();
    }
    h
}

fn certifier(problem: &Problem, execution: Execution) -> Certifier {
    let limits = Limits { nodes: 2000, ..Limits::default() };
    Certifier::builder(problem.clone()).effort(Effort::Complete(limits)).deployed(execution).build()
}

/// Holds every verdict of a problem against so many executions.
fn hold(problem: &Problem, execution: Execution, executions: usize, seed: u64) -> Tally {
    let certifier = certifier(problem, execution);
    let nodes = 0..problem.graph().node_count();
    let results: Vec<NodeResult> = nodes.map(|node| certifier.certify_node(node, &mut Workspace::default())).collect();
    let mut tally = Tally::default();
    for result in &results {
        match result.deployed.as_ref().unwrap().verdict {
            DeployedVerdict::Robust => tally.robust += 1,
            DeployedVerdict::NonRobust => tally.non_robust += 1,
            DeployedVerdict::RoundingDependent => tally.rounding_dependent += 1,
            _ => tally.undecided += 1,
        }
    }
    let errors = execution.operator_errors(problem.graph(), problem.network());
    let mut random = Stream::new(seed ^ 0x5eed);
    for count in 0..executions {
        let broken: Vec<&NodeResult> = results.iter().filter(|result| !result.witness.is_empty()).collect();
        let flips = match count % 3 {
            0 => Vec::new(),
            1 if !broken.is_empty() => broken[random.below(broken.len())].witness.clone(),
            _ => perturbation(problem, &mut random),
        };
        let input = inputs(problem.graph(), &flips);
        let exact = exact(problem.network(), &input);
        let mut simulation =
            Simulation { random: &mut random, operator_errors: &errors, flush: execution.flush_subnormals };
        let logits = simulation.logits(problem.network(), &input);
        for result in &results {
            let (node, y) = (result.node, result.reference);
            let deployed = result.deployed.as_ref().unwrap();
            let mut reached = false;
            for (margin, &bound) in result.margins.iter().zip(&deployed.errors) {
                let class = margin.class;
                // Two binary32 numbers have an exact difference here, or nearly.
                let computed = f64::from(logits[node][y]) - f64::from(logits[node][class]);
                let error = (computed - (exact[node][y] - exact[node][class])).abs();
                let size = exact[node].iter().fold(0.0f64, |most, z| most.max(z.abs()));
                assert!(
                    error <= bound + 1e-13 * (1.0 + size) * bound.min(1.0),
                    "seed {seed}, node {node}: {error} > {bound}"
                );
                tally.tightest = tally.tightest.max(error / bound);
                reached |= logits[node][class] >= logits[node][y];
            }
            match deployed.verdict {
                DeployedVerdict::Robust => {
                    assert!(!reached, "seed {seed}, node {node}: robust, but broken by {flips:?}")
                }
                DeployedVerdict::NonRobust if flips == result.witness => {
                    assert!(reached, "seed {seed}, node {node}: the witness {flips:?} fails");
                }
                _ => {}
            }
            if flips.is_empty() && !deployed.prediction_depends {
                let predicted = logits[node][result.predicted];
                let ahead = (0..logits[node].len()).all(|k| k == result.predicted || logits[node][k] < predicted);
                assert!(ahead, "seed {seed}, node {node}: the prediction depends on rounding");
            }
        }
    }
    tally
}

#[test]
fn no_execution_contradicts_a_verdict() {
    hold_all(cases::case);
}

#[test]
fn no_execution_contradicts_a_verdict_about_divided_rows() {
    hold_all(cases::divided_rows);
}

#[test]
fn no_execution_contradicts_a_verdict_about_categories() {
    hold_all(cases::categories);
}

fn hold_all(case: fn(u64) -> (Problem, Execution)) {
    let asked = std::env::var("GCNPROOF_EXECUTIONS").unwrap_or("300x60".into());
    let (networks, executions) = asked.split_once('x').expect("NETWORKSxEXECUTIONS");
    let (networks, executions): (u64, usize) = (networks.parse().unwrap(), executions.parse().unwrap());
    let held = (0..networks).into_par_iter().map(|seed| {
        let (problem, execution) = case(seed);
        hold(&problem, execution, executions, seed)
    });
    let tally = held.reduce(Tally::default, Tally::add);
    println!("{networks} networks, {executions} executions each: {tally:?}");
    assert!(tally.robust > 0 && tally.non_robust > 0 && tally.rounding_dependent > 0, "{tally:?}");
    assert!(tally.undecided * 20 < tally.robust + tally.non_robust + tally.rounding_dependent, "{tally:?}");
    assert!(tally.tightest > 0.02, "{tally:?}");
}

/// One node, no edges, a linear model: logits are plain sums of weights.
fn sums(weights: &[[f64; 2]], global: usize) -> Problem {
    let graph = Graph::from_lists(&[], &[(0..weights.len()).collect()], weights.len()).unwrap();
    let weight = DMatrix::from_fn(weights.len(), 2, |i, j| weights[i][j]);
    let term = Term { operator: Operator::Identity, weight };
    let network = Network::new(vec![Layer::of_terms(&graph, &[term], &[0.0, 0.0], Vec::new()).unwrap()]).unwrap();
    let budget = Budget::uniform(&graph, global, 1);
    Problem::new(graph, network, budget).unwrap()
}

#[test]
fn a_class_that_depends_on_rounding_alone_is_said_to() {
    let u = 0.5f64.powi(24);
    // 1 + u + u + u + u against 1 + 2u: the first is larger, but 1 + u is 1 in binary32.
    let problem = sums(&[[1.0, 1.0], [u, 2.0 * u], [u, 0.0], [u, 0.0], [u, 0.0]], 0);
    let result = certifier(&problem, Execution::FLOAT32).one(0).unwrap();
    assert_eq!((result.verdict, result.reference), (Verdict::Robust, 0));
    let deployed = result.deployed.unwrap();
    assert_eq!(deployed.verdict, DeployedVerdict::RoundingDependent);
    assert!(deployed.prediction_depends);
    let mut random = Stream::new(1);
    let classes: std::collections::BTreeSet<bool> = (0..200)
        .map(|_| {
            let errors = [vec![0]];
            let mut simulation = Simulation { random: &mut random, operator_errors: &errors, flush: false };
            let logits = simulation.logits(problem.network(), &[vec![1.0; 5]]);
            logits[0][0] > logits[0][1]
        })
        .collect();
    assert_eq!(classes.len(), 2, "executions disagree about the class");
}

/// Of a graph with so many hidden units only those that a few targets depend on are kept at a time. Error bounds are made
/// of all nodes.
#[test]
fn few_targets_of_a_large_graph_have_the_errors_of_all() {
    let (nodes, hidden) = (70_000, 64);
    let rows: Vec<Vec<usize>> = (0..nodes).map(|node| vec![node % 2]).collect();
    let graph = Graph::from_lists(&[], &rows, 2).unwrap();
    let term = |rows: usize, columns: usize| Term {
        operator: Operator::Identity,
        weight: DMatrix::from_fn(rows, columns, |i, j| ((3 * i + 5 * j) % 7) as f64 - 2.0),
    };
    let layer = |term: Term, outputs: usize| Layer::of_terms(&graph, &[term], &vec![0.0; outputs], Vec::new()).unwrap();
    let network = Network::new(vec![layer(term(2, hidden), hidden), layer(term(hidden, 2), 2)]).unwrap();
    let problem = Problem::new(graph.clone(), network, Budget::uniform(&graph, 1, 1)).unwrap();
    let certifier = certifier(&problem, Execution::FLOAT32);
    let few: Vec<_> = radii(&certifier, &[1, 69_998], 2, || false, |_, _| {}).unwrap().into_values().collect();
    let all: Vec<_> = [1, 69_998].map(|node| certifier.one(node).unwrap()).into();
    for (radius, result) in few.iter().zip(&all) {
        assert_eq!(radius.predicted, result.predicted);
        assert!(result.deployed.as_ref().unwrap().errors.iter().all(|error| error.is_finite()));
    }
}

#[test]
fn a_tie_is_not_decided_by_rounding_in_either_direction() {
    let problem = sums(&[[1.0, 0.75], [0.5, 0.75]], 0);
    let result = certifier(&problem, Execution::FLOAT32).one(0).unwrap();
    assert_eq!(result.verdict, Verdict::NonRobust);
    assert_eq!(result.deployed.unwrap().verdict, DeployedVerdict::RoundingDependent);
}

#[test]
fn a_witness_inside_the_error_is_replaced_by_a_stronger_one() {
    // Removing the second attribute breaks the class by 2⁻²⁶, removing the first by 1/2.
    let step = 0.5f64.powi(26);
    let problem = sums(&[[1.0, 0.0], [0.5 + step, 0.0], [0.0, 1.0]], 1);
    let result = certifier(&problem, Execution::FLOAT32).one(0).unwrap();
    assert_eq!(result.verdict, Verdict::NonRobust);
    let deployed = result.deployed.as_ref().unwrap();
    assert_eq!(deployed.verdict, DeployedVerdict::NonRobust, "{result:?}");
    assert_eq!(result.witness, [Flip { node: 0, attribute: 0 }]);
}

#[test]
fn what_leaves_the_range_of_binary32_is_undecided() {
    let problem = sums(&[[3e38, 0.0], [3e38, 1.0]], 0);
    let result = certifier(&problem, Execution::FLOAT32).one(0).unwrap();
    assert_eq!(result.verdict, Verdict::Robust);
    let deployed = result.deployed.unwrap();
    assert_eq!(deployed.verdict, DeployedVerdict::Undecided);
    assert!(!deployed.errors[0].is_finite() && deployed.prediction_depends);
}

#[test]
fn coarser_formats_have_larger_errors() {
    let (problem, _) = cases::case(3);
    let error = |execution: Execution| {
        let result = certifier(&problem, execution).one(0).unwrap();
        result.deployed.unwrap().errors[0]
    };
    let single = error(Execution::FLOAT32);
    assert!(error(Execution { precision: 16, ..Execution::FLOAT32 }) > 100.0 * single);
    assert!(error(Execution { operator_error: Some(1000), ..Execution::FLOAT32 }) > 2.0 * single);
    assert!(error(Execution { flush_subnormals: true, ..Execution::FLOAT32 }) >= single);
    assert_eq!(error(Execution { precision: 2, ..Execution::FLOAT32 }), f64::INFINITY);
}

#[test]
fn weights_of_float64_are_rounded_inside_the_bound() {
    let stored = sums(&[[0.1, 0.0], [0.3, 0.2]], 0);
    let rounded = sums(&[[f64::from(0.1f32), 0.0], [f64::from(0.3f32), f64::from(0.2f32)]], 0);
    assert_eq!(Execution::FLOAT32.rounded_layers(stored.network()), [1]);
    assert!(Execution::FLOAT32.rounded_layers(rounded.network()).is_empty());
    let error = |problem: &Problem| certifier(problem, Execution::FLOAT32).one(0).unwrap().deployed.unwrap().errors[0];
    assert!(error(&stored) > error(&rounded));
}

#[test]
fn many_nodes_inside_the_error_are_decided_at_once() {
    let (graph, network) = gcnproof::embedded::cora();
    let budget = Budget::uniform(&graph, 2, 2);
    let problem = Problem::new(graph, network, budget).unwrap();
    // So few bits that many margins lie inside the error: each is searched once more, by threads that share their
    // buffers.
    let execution = Execution { precision: 13, ..Execution::FLOAT32 };
    let certifier = Certifier::builder(problem).deployed(execution).build();
    let results: Vec<NodeResult> = certifier.certify(0..300).unwrap().collect();
    let count = |verdict| results.iter().filter(|result| result.deployed.as_ref().unwrap().verdict == verdict).count();
    assert_eq!(results.len(), 300);
    assert!(count(DeployedVerdict::Robust) > 0 && count(DeployedVerdict::RoundingDependent) > 0);
}
