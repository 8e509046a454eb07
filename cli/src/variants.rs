//! Networks that the user's may be instead of the one read: other message passing, another activation, other
//! attributes.

use std::sync::Arc;

use gcnproof::internals::problem::forward::Representation;
use gcnproof::internals::problem::matrix::{MatrixRows, PatternRows, SparseMatrix};
use gcnproof::{Graph, Network, Operator};
use gcnproof_files::{DenseMatrix, Normalisation};

/// Do the exponentials of every row sum up to 1, as those of log_softmax do?
pub fn normalised(logits: &DenseMatrix) -> bool {
    (0..logits.rows).all(|row| (logits.row(row).iter().map(|x| x.exp()).sum::<f64>() - 1.0).abs() < 1e-3)
}

/// A network that might be the user's.
struct Variant {
    words: &'static str,
    remedy: &'static str,
    passing: Option<Operator>,
    activation: fn(f64) -> f64,
    /// Are rows of attributes divided by their sums where the graph's are not, or 0/1 where the graph's are divided?
    turned: bool,
}

/// The variants that are tried, by what differs from the network read here.
fn variants(graph: &Graph) -> Vec<Variant> {
    let relu: fn(f64) -> f64 = |x| x.max(0.0);
    let passing =
        |words, remedy, operator| Variant { words, remedy, passing: Some(operator), activation: relu, turned: false };
    let activation = |words, activation| Variant {
        words,
        remedy: "only ReLU between layers is certified: train with it",
        passing: None,
        activation,
        turned: false,
    };
    let (words, remedy) = match graph.normalisation().is_some() {
        false => (
            "attributes divided by their sum (`NormalizeFeatures`)",
            "give a graph file with these attributes, divided by the sums of their rows, as the model reads them",
        ),
        true => (
            "0/1 attributes, not divided by their sum",
            "give a graph file with the 0/1 attributes, without `NormalizeFeatures`, as the model reads them",
        ),
    };
    vec![
        passing("GCNConv with its defaults (`gcn`)", "give --message-passing gcn, which is the default", Operator::Gcn),
        passing("`normalize=False`", "give --message-passing sum", Operator::Sum),
        passing(
            "`add_self_loops=False`",
            "save the matrix D^(-1/2) A D^(-1/2) with scipy.sparse.save_npz and give it by --message-passing FILE.npz",
            without_loops(graph),
        ),
        passing("a sum with self-loops", "give --message-passing sum+self", Operator::SumWithSelf),
        passing("a mean over neighbours", "give --message-passing mean", Operator::Mean),
        passing("a mean with self-loops", "give --message-passing mean+self", Operator::MeanWithSelf),
        passing("no message passing", "give --message-passing identity", Operator::Identity),
        activation("`act=\"elu\"`", |x| if x > 0.0 { x } else { x.exp_m1() }),
        activation("`act=\"leaky_relu\"`", |x| if x > 0.0 { x } else { 0.01 * x }),
        activation("`act=\"tanh\"`", f64::tanh),
        activation("`act=\"sigmoid\"`", |x| 1.0 / (1.0 + (-x).exp())),
        activation("`act=\"silu\"`", |x| x / (1.0 + (-x).exp())),
        activation("no activation", |x| x),
        Variant { words, remedy, passing: None, activation: relu, turned: true },
    ]
}

/// `D^(-1/2) A D^(-1/2)` over the neighbours in the file.
fn without_loops(graph: &Graph) -> Operator {
    let adjacency = graph.adjacency();
    let (mut offsets, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
    let size = |n: usize| adjacency.row(n).len() as f64;
    for node in 0..graph.node_count() {
        for &other in adjacency.row(node) {
            indices.push(other);
            values.push(1.0 / (size(node) * size(other as usize)).sqrt());
        }
        offsets.push(indices.len());
    }
    let side = graph.node_count();
    Operator::Matrix(Arc::new(SparseMatrix::new((side, side), offsets, indices, values)))
}

/// What the user's network most likely is, and what to do about it.
pub fn cause(graph: &Graph, network: &Network, theirs: &DenseMatrix, relative: f64) -> (String, String) {
    let probabilities = theirs.values.iter().all(|x| (0.0..=1.0).contains(x))
        && (0..theirs.rows).all(|row| (theirs.row(row).iter().sum::<f64>() - 1.0).abs() < 1e-3);
    if probabilities {
        return (
            "They are probabilities, as after softmax".into(),
            "save the logits before softmax: probabilities are too coarse to compare".into(),
        );
    }
    // A file that describes its network leaves nothing to guess.
    for variant in variants(graph).into_iter().filter(|_| !network.is_named()) {
        let logits = evaluate(graph, network, &variant);
        let size = logits.value.iter().fold(0.0f64, |size, value| size.max(value.abs()));
        let matches = |by: &dyn Fn(usize) -> f64| {
            (0..theirs.rows).all(|row| {
                let pairs = theirs.row(row).iter().zip(logits.row(row));
                pairs.map(|(t, o)| (t - o - by(row)).abs()).all(|off| off <= 3.0 * relative * size)
            })
        };
        let shift = |row: usize| theirs.row(row)[0] - logits.row(row)[0];
        if matches(&|_| 0.0) || (normalised(theirs) && matches(&shift)) {
            return (format!("They are those of {}", variant.words), variant.remedy.into());
        }
    }
    (
        "None of the usual causes explains it: normalize=False, add_self_loops=False, another message passing, another \
         activation, normalised attributes"
            .into(),
        "call model.eval() before computing logits (dropout), save weights and logits of the same model, and check that graph \
         and attributes are those that it was given"
            .into(),
    )
}

/// The logits of a variant, in plain f64.
fn evaluate(graph: &Graph, network: &Network, variant: &Variant) -> Representation {
    let other = variant.passing.as_ref().map(|operator| operator.matrix(graph));
    let nodes = graph.node_count();
    let mut hidden: Vec<f64> = Vec::new();
    let mut width = 0;
    for (at, layer) in network.layers().iter().enumerate() {
        let outputs = layer.weight.columns();
        let mut sent = vec![0.0; nodes * outputs];
        for (node, sent) in sent.chunks_exact_mut(outputs).enumerate() {
            let mut add = |input: usize, value: f64| {
                for (sum, weight) in sent.iter_mut().zip(layer.weight.row(input)) {
                    *sum += value * weight;
                }
            };
            if at == 0 {
                let present = graph.attributes().row(node);
                let reads = match (graph.normalisation(), variant.turned) {
                    (Normalisation::None, true) => Normalisation::Float64,
                    (_, true) => Normalisation::None,
                    (own, false) => own,
                };
                let each = reads.entry(present.len());
                present.iter().for_each(|&attribute| add(attribute as usize, each));
            } else {
                for (input, &value) in hidden[node * width..][..width].iter().enumerate() {
                    add(input, (variant.activation)(value));
                }
            }
        }
        let own = || Arc::new(layer.passing.operator(0));
        let passing = other.clone().unwrap_or_else(own);
        hidden = Vec::with_capacity(nodes * outputs);
        for node in 0..nodes {
            let mut received = layer.bias.row(node).to_vec();
            let (columns, entries) = passing.row(node);
            for (&from, &entry) in columns.iter().zip(entries) {
                for (sum, value) in received.iter_mut().zip(&sent[from as usize * outputs..][..outputs]) {
                    *sum += entry * value;
                }
            }
            hidden.extend(received);
        }
        width = outputs;
    }
    Representation { width, error: vec![0.0; hidden.len()], value: hidden, ..Representation::default() }
}
