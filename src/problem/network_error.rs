//! What can be wrong with the layers of a network.

use thiserror::Error;

use crate::problem::matrix::MatrixError;
use crate::problem::polynomial;

/// Layers that are no network, or none on this graph.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum NetworkError {
    /// The first layer expects another number of attributes.
    #[error("the model's first layer ('{tensor}') takes {expected} attributes, but the graph has {found}")]
    Attributes {
        /// Its name in the model file.
        tensor: String,
        /// What it takes.
        expected: usize,
        /// What the graph has.
        found: usize,
    },
    /// A message-passing matrix has another size than the graph.
    #[error("the message-passing matrix of layer {layer} is {rows}×{columns}, but the graph has {nodes} nodes")]
    MatrixShape {
        /// Layer, from 1.
        layer: usize,
        /// Rows of the matrix given.
        rows: usize,
        /// Columns of the matrix given.
        columns: usize,
        /// Nodes of the graph.
        nodes: usize,
    },
    /// Neither one rule for all layers nor one per layer.
    #[error("{given} message-passing rules were given for {layers} weight layers: give one for all, or one per layer")]
    PassingCount {
        /// Rules given.
        given: usize,
        /// Layers of the model.
        layers: usize,
    },
    /// A classifier needs two classes.
    #[error("the model has {classes} output: a classifier needs at least two classes")]
    Classes {
        /// Outputs of the last layer.
        classes: usize,
    },
    /// A layer takes another number of inputs than the one before it gives.
    #[error("layer {layer} takes {expected} inputs, but the layer before it has {found} outputs")]
    Inputs {
        /// Layer, from 1.
        layer: usize,
        /// What it takes.
        expected: usize,
        /// What it gets.
        found: usize,
    },
    /// Not one bias per output.
    #[error("layer {layer} has {outputs} outputs and {biases} biases: give one for each output")]
    Biases {
        /// Layer, from 1.
        layer: usize,
        /// Outputs of its weights.
        outputs: usize,
        /// Biases given.
        biases: usize,
    },
    /// The weights are not as many matrices of one size as there are terms.
    #[error("layer {layer} has {terms} terms, but {rows} rows of weights: give as many rows for each term")]
    Terms {
        /// Layer, from 1.
        layer: usize,
        /// Terms that the layer adds up.
        terms: usize,
        /// Rows of all weights together.
        rows: usize,
    },
    /// A weight or a bias is infinite or not a number.
    #[error("layer {layer}: a weight or bias is {value}: it must be finite")]
    NotFinite {
        /// Layer, from 1.
        layer: usize,
        /// What was found.
        value: f64,
    },
    /// A rule of message passing that is none.
    #[error("layer {layer}: {problem}")]
    Rule {
        /// Layer, from 1.
        layer: usize,
        /// What is wrong with it.
        problem: String,
    },
    /// A polynomial whose matrix would be too large.
    #[error(
        "layer {layer}: the powers in {rule} may need {entries} entries or more, at most {} fit: use fewer powers, or \
         layers without activation that multiply by the rule one by one",
        polynomial::MOST_ENTRIES
    )]
    Entries {
        /// Layer, from 1.
        layer: usize,
        /// The polynomial, as it is written.
        rule: String,
        /// What it may need.
        entries: usize,
    },
    /// A readout on a graph that does not say which nodes belong to which graph.
    #[error(
        "layer {layer} pools the nodes of each graph ({rule}), but no `batch` says which nodes belong to which graph"
    )]
    NoBatch {
        /// Layer, from 1.
        layer: usize,
        /// The readout.
        rule: String,
    },
    /// Many graphs, and a network that classifies nodes.
    #[error("the file has a `batch` of {graphs} graphs, but the model has no readout: it classifies nodes")]
    NoReadout {
        /// How many graphs there are.
        graphs: usize,
    },
    /// A message-passing matrix cannot be taken.
    #[error("layer {layer}: {error}")]
    Matrix {
        /// Layer, from 1.
        layer: usize,
        /// What is wrong with it.
        error: MatrixError,
    },
}
