//! The embedded example: the Cora citation graph and two GCNs for it, trained by `gcnproof train`.

use gcnproof_files::{GraphOptions, parse_graph, parse_model};

use crate::problem::graph::Graph;
use crate::problem::network::{Network, Operator};

/// Cora (2,708 papers, 1,433 words, 7 topics) and a GCN with one hidden layer of 32 units, trained the standard way
/// (`--loss ce --seed 1`).
///
/// # Panics
/// Never: the files are part of the program, and a test reads them.
pub fn cora() -> (Graph, Network) {
    let graph = include_bytes!("../../fixtures/cora.npz");
    let graph =
        Graph::from_file(parse_graph("cora.npz", graph, &GraphOptions::default()).expect("the embedded graph reads"));
    let network = network(&graph, include_bytes!("../../fixtures/cora_standard.safetensors"));
    (graph, network)
}

/// A GCN of the same shape for that graph, trained to withstand 12 flips (`--loss rh-u -Q 12 -q 1% --seed 1`).
///
/// # Panics
/// Never, on the graph of [`cora`].
pub fn robust(graph: &Graph) -> Network {
    network(graph, include_bytes!("../../fixtures/cora_robust.safetensors"))
}

fn network(graph: &Graph, model: &[u8]) -> Network {
    let model = parse_model("embedded model", model).expect("the embedded model reads");
    Network::from_file(model, &[Operator::Gcn], graph).expect("the embedded model fits the graph")
}
