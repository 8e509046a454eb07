//! Networks of PyTorch Geometric: the descriptions in fixtures/pyg (scripts/pyg_fixtures.py) give the logits that the
//! modules themselves compute, and every node of them is decided.

use std::path::{Path, PathBuf};

use gcnproof::internals::problem::forward::forward;
use gcnproof::{Budget, Certifier, Effort, Graph, Limits, Network, Operator, Problem, Verdict};
use gcnproof_files::{DenseMatrix, GraphOptions, Precision, read_graph, read_logits, read_model};

/// The architectures that must be there.
const NAMES: [&str; 27] = [
    "appnp",
    "arma",
    "cheb",
    "cluster-gcn",
    "gcn",
    "gcn-add-self-loops-false",
    "gcn-edge-weights",
    "gcn-normalize-false",
    "gcn2",
    "gcn2-two-weights",
    "gin",
    "graphconv-add",
    "graphconv-mean",
    "jumping-knowledge",
    "leaky-relu",
    "mixhop",
    "norm-after-activation",
    "norm-before-activation",
    "residual",
    "rgcn",
    "sage-add",
    "sage-mean",
    "sage-no-root",
    "sage-project",
    "sgc",
    "ssgc",
    "tag",
];

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/pyg").join(name)
}

fn read(name: &str) -> (Graph, Network, DenseMatrix) {
    let folder = folder(name);
    let graph = read_graph(&folder.join("graph.npz"), &GraphOptions::default()).unwrap();
    let graph = Graph::from_file(graph);
    let model = read_model(&folder.join("model.safetensors")).unwrap_or_else(|error| panic!("{name}: {error}"));
    assert_eq!(model.precision, Precision::F64, "{name}");
    let network = Network::from_file(model, &[Operator::Gcn], &graph).unwrap_or_else(|error| panic!("{name}: {error}"));
    let (logits, _) = read_logits(&folder.join("logits.npy"), None).unwrap();
    (graph, network, logits)
}

#[test]
fn all_fixtures_are_known() {
    let mut found: Vec<String> =
        std::fs::read_dir(folder("")).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    found.sort();
    assert_eq!(found, NAMES);
}

#[test]
fn descriptions_give_the_logits_of_the_modules() {
    for name in NAMES {
        let (graph, network, logits) = read(name);
        let ours = forward(&graph, &network);
        let ours = &ours[ours.len() - 1];
        let size = logits.values.iter().fold(0.0f64, |size, value| size.max(value.abs()));
        assert!(size > 0.1, "{name}: logits that say nothing");
        for node in 0..graph.node_count() {
            for (&theirs, &own) in logits.row(node).iter().zip(ours.row(node)) {
                assert!((theirs - own).abs() <= 1e-9 * size, "{name}, node {node}: {theirs} but {own}");
            }
        }
    }
}

#[test]
fn nodes_of_every_architecture_are_decided() {
    let (mut robust, mut broken) = (0, 0);
    for name in NAMES {
        let (graph, network, logits) = read(name);
        let nodes = graph.node_count();
        for global in [1, 3] {
            let problem = Problem::new(graph.clone(), network.clone(), Budget::uniform(&graph, global, 2)).unwrap();
            let certifier = Certifier::builder(problem).effort(Effort::Complete(Limits::default())).build();
            // The isolated node, the node with one neighbour, and two others.
            for result in certifier.certify([nodes - 1, nodes - 2, 0, 3]).unwrap() {
                let row = logits.row(result.node);
                let best = (0..row.len()).max_by(|&a, &b| row[a].total_cmp(&row[b])).unwrap();
                assert_eq!(certifier.predicted(result.node), best, "{name}, node {}", result.node);
                match result.verdict {
                    Verdict::Robust => robust += 1,
                    Verdict::NonRobust => broken += 1,
                    Verdict::Undecided => panic!("{name}, node {}, Q = {global}: undecided", result.node),
                }
            }
        }
    }
    assert!(robust > 20 && broken > 20, "{robust} robust, {broken} not: the networks say nothing");
}
