//! The embedded example: the Cora citation graph and a GCN for it, trained in PyTorch Geometric.

use gcnproof_files::{GraphOptions, parse_graph, parse_model};

use crate::graph::Graph;
use crate::model::{Gcn, MessagePassing};

/// Cora (2,708 papers, 1,433 words, 7 topics) and a GCN with one hidden layer of 32 units.
///
/// # Panics
/// Never: the files are part of the program, and a test reads them.
pub fn cora() -> (Graph, Gcn) {
    let graph = include_bytes!("../fixtures/cora.npz");
    let model = include_bytes!("../fixtures/cora_pyg.safetensors");
    let graph = Graph::new(parse_graph("cora.npz", graph, &GraphOptions::default()).expect("the embedded graph reads"));
    let model = parse_model("cora_pyg.safetensors", model).expect("the embedded model reads");
    let gcn = Gcn::new(model, &[MessagePassing::Gcn], &graph).expect("the embedded model fits the graph");
    (graph, gcn)
}
