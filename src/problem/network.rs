//! The network: a trained GCN together with the message passing of each of its layers.

use std::str::FromStr;
use std::sync::Arc;

use gcnproof_files::{DenseMatrix, ModelFile, SparseMatrix};
use thiserror::Error;

use crate::problem::graph::Graph;

/// How a layer passes messages along the edges.
#[derive(Clone, Debug)]
pub enum Operator {
    /// `1/√(d_i d_j)` over neighbours and the node itself, `d` counting the node itself once.
    Gcn,
    /// The average over the neighbours in the file (`1/degree`).
    Mean,
    /// The average over the neighbours and the node itself.
    MeanWithSelf,
    /// The sum over the neighbours in the file.
    Sum,
    /// The sum over the neighbours and the node itself.
    SumWithSelf,
    /// No messages: every node for itself.
    Identity,
    /// A matrix of one's own, entries of either sign.
    Matrix(Arc<SparseMatrix>),
}

impl FromStr for Operator {
    type Err = String;
    fn from_str(name: &str) -> Result<Self, String> {
        Ok(match name {
            "gcn" => Operator::Gcn,
            "mean" => Operator::Mean,
            "mean+self" => Operator::MeanWithSelf,
            "sum" => Operator::Sum,
            "sum+self" => Operator::SumWithSelf,
            "identity" => Operator::Identity,
            _ => return Err(format!("'{name}' is none of gcn, mean, mean+self, sum, sum+self, identity")),
        })
    }
}

impl Operator {
    /// The matrix `A` of this rule on this graph.
    pub fn matrix(&self, graph: &Graph) -> Arc<SparseMatrix> {
        let adjacency = graph.adjacency();
        let with_self = matches!(self, Self::Gcn | Self::MeanWithSelf | Self::SumWithSelf);
        let neighbours = |n: usize| -> Vec<u32> {
            let own = n as u32;
            let mut row = adjacency.row(n).to_vec();
            if with_self && let Err(place) = row.binary_search(&own) {
                row.insert(place, own);
            }
            row
        };
        let n = graph.node_count();
        let sizes: Vec<f64> = match self {
            Self::Matrix(matrix) => return matrix.clone(),
            Self::Identity => return Arc::new(build(n, |i| vec![i as u32], |_, _| 1.0)),
            _ => (0..n).map(|i| neighbours(i).len() as f64).collect(),
        };
        Arc::new(match self {
            // This very expression, so that anyone can reproduce the bits.
            Self::Gcn => build(n, neighbours, |i, j| 1.0 / (sizes[i] * sizes[j]).sqrt()),
            Self::Mean | Self::MeanWithSelf => build(n, neighbours, |i, _| 1.0 / sizes[i]),
            _ => build(n, neighbours, |_, _| 1.0),
        })
    }

    /// A short name for reports.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Gcn => "gcn",
            Self::Mean => "mean",
            Self::MeanWithSelf => "mean+self",
            Self::Sum => "sum",
            Self::SumWithSelf => "sum+self",
            Self::Identity => "identity",
            Self::Matrix(_) => "matrix",
        }
    }
}

fn build(n: usize, row: impl Fn(usize) -> Vec<u32>, entry: impl Fn(usize, usize) -> f64) -> SparseMatrix {
    let mut matrix = SparseMatrix { rows: n, columns: n, offsets: vec![0], indices: Vec::new(), values: Vec::new() };
    for i in 0..n {
        for j in row(i) {
            matrix.indices.push(j);
            matrix.values.push(entry(i, j as usize));
        }
        matrix.offsets.push(matrix.indices.len());
    }
    matrix
}

/// One weight layer: `Ĥ(l+1) = A(l) H(l) W(l) + b(l)`.
#[derive(Clone, Debug)]
pub struct Layer {
    /// `A(l)`.
    pub passing: Arc<SparseMatrix>,
    /// `W(l)`, inputs × outputs.
    pub weight: DenseMatrix,
    /// `b(l)`.
    pub bias: Vec<f64>,
}

/// A GCN on a graph: the network in exact real arithmetic whose weights, biases and message-passing entries are the
/// stored floats. This, and nothing rounded, is what gets certified.
#[derive(Clone, Debug)]
pub struct Network {
    layers: Vec<Layer>,
}

/// A model that does not fit its graph.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum NetworkError {
    /// The first layer expects another number of attributes.
    #[error("the model's first layer ('{tensor}') takes {expected} attributes, but the graph has {found}")]
    Attributes {
        /// The tensor.
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
        /// Its rows.
        rows: usize,
        /// Its columns.
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
}

impl Network {
    /// Puts the weights of a file on a graph. `passing` is one rule for all layers, or one per layer.
    pub fn new(model: ModelFile, passing: &[Operator], graph: &Graph) -> Result<Network, NetworkError> {
        let count = model.layers.len();
        if passing.len() != 1 && passing.len() != count {
            return Err(NetworkError::PassingCount { given: passing.len(), layers: count });
        }
        let shared = (passing.len() == 1).then(|| passing[0].matrix(graph));
        let mut layers = Vec::with_capacity(count);
        for (index, layer) in model.layers.into_iter().enumerate() {
            if index == 0 && layer.weight.rows != graph.attribute_count() {
                return Err(NetworkError::Attributes {
                    tensor: layer.weight_name,
                    expected: layer.weight.rows,
                    found: graph.attribute_count(),
                });
            }
            let matrix = shared.clone().unwrap_or_else(|| passing[index].matrix(graph));
            let nodes = graph.node_count();
            if (matrix.rows, matrix.columns) != (nodes, nodes) {
                return Err(NetworkError::MatrixShape {
                    layer: index + 1,
                    rows: matrix.rows,
                    columns: matrix.columns,
                    nodes,
                });
            }
            layers.push(Layer { passing: matrix, weight: layer.weight, bias: layer.bias });
        }
        match layers.last().map_or(0, |layer| layer.weight.columns) {
            0 | 1 => Err(NetworkError::Classes { classes: layers.last().map_or(0, |l| l.weight.columns) }),
            _ => Ok(Network { layers }),
        }
    }

    /// The weight layers, first to last; layer `l` of the formulas is `layers()[l − 1]`.
    pub fn layers(&self) -> &[Layer] {
        &self.layers
    }

    /// The same, to be trained.
    pub(crate) fn layers_mut(&mut self) -> &mut [Layer] {
        &mut self.layers
    }

    /// `L`: the number of representations, one more than weight layers.
    pub fn depth(&self) -> usize {
        self.layers.len() + 1
    }

    /// `N`: nodes between which messages are passed.
    pub fn node_count(&self) -> usize {
        self.layers[0].passing.rows
    }

    /// `K`.
    pub fn class_count(&self) -> usize {
        self.layers[self.layers.len() - 1].weight.columns
    }

    /// Units of representation `l` (`D` for `l = 1`, `K` for `l = L`).
    pub fn width(&self, representation: usize) -> usize {
        match representation {
            1 => self.layers[0].weight.rows,
            l => self.layers[l - 2].weight.columns,
        }
    }
}
