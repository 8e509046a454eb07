//! Certifies a network of one's own on a graph that is given as sparse matrices: no file is read.
//!
//! `cargo run --release --example certify`

use gcnproof::nalgebra::DMatrix;
use gcnproof::sprs::TriMat;
use gcnproof::{Budget, Certifier, Effort, Graph, Layer, Limits, Network, Operator, Problem};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // A ring of six papers; each has two of four words.
    let (mut edges, mut words) = (TriMat::new((6, 6)), TriMat::new((6, 4)));
    for node in 0..6 {
        let next = (node + 1) % 6;
        edges.add_triplet(node, next, 1.0);
        edges.add_triplet(next, node, 1.0);
        words.add_triplet(node, node % 4, 1.0);
        words.add_triplet(node, (node + 1) % 4, 1.0);
    }
    let graph = Graph::new(&edges.to_csr::<usize>(), &words.to_csr::<usize>())?;

    // Inputs × outputs, as the formulas have it; PyTorch's `lin.weight` is the transpose.
    let hidden = DMatrix::from_row_slice(4, 3, &[1.0, -0.5, 0.2, 0.8, -0.1, 0.4, -0.7, 0.9, 0.3, -0.6, 1.1, -0.2]);
    let output = DMatrix::from_row_slice(3, 2, &[1.2, -0.8, -0.9, 1.0, 0.1, 0.2]);
    let layers = vec![
        Layer::new(&Operator::Gcn, &graph, &hidden, &[0.0, 0.1, 0.0]),
        Layer::new(&Operator::Gcn, &graph, &output, &[0.05, 0.0]),
    ];
    let network = Network::new(layers)?;

    // At most one flip in all.
    let budget = Budget::uniform(&graph, 1, 1);
    let problem = Problem::new(graph, network, budget)?;
    let certifier = Certifier::builder(problem).effort(Effort::Complete(Limits::default())).build();
    for result in certifier.certify(0..6)? {
        println!("node {}: {}, flips {:?}", result.node, result.verdict.name(), result.witness);
    }
    Ok(())
}
