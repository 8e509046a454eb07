//! One layer of a network: a sum of terms, each an operator and its weights, and a bias.

use std::sync::Arc;

use nalgebra::DMatrix;

use crate::problem::graph::Graph;
use crate::problem::matrix::{SparseMatrix, Weights, check_finite};
use crate::problem::network_error::NetworkError;
use crate::problem::operator::Operator;
use crate::problem::passing::Passing;
use crate::problem::polynomial;

/// The bias of a layer: one number for each unit, or one for each node and unit.
#[derive(Clone, Debug, PartialEq)]
pub struct Bias {
    width: usize,
    values: Vec<f64>,
}

impl Bias {
    /// One number for each of `width` units, or as many for each node.
    pub fn new(width: usize, values: Vec<f64>) -> Bias {
        Bias { width, values }
    }

    /// The bias of a node.
    #[inline]
    pub fn row(&self, node: usize) -> &[f64] {
        if self.values.len() == self.width { &self.values } else { &self.values[node * self.width..][..self.width] }
    }

    /// All numbers: of the units, or node after node.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// The same, to be trained.
    #[doc(hidden)]
    pub fn values_mut(&mut self) -> &mut [f64] {
        &mut self.values
    }
}

/// One layer, a sum of terms: `Ĥ(l+1) = Σ_k A_k(l) H(l) W_k(l) + b(l)` (docs/math.md (1.1)).
#[derive(Clone, Debug)]
pub struct Layer {
    /// The rules of the operators `A_k(l)`.
    pub operators: Vec<Operator>,
    /// `A_k(l)`.
    pub passing: Arc<Passing>,
    /// `W_k(l)`, inputs × outputs, the terms one below the other.
    pub weight: Weights,
    /// `b(l)`.
    pub bias: Bias,
    /// Outputs without activation; empty if there are none, and in the last layer, whose outputs are logits.
    pub linear: Vec<bool>,
}

/// One term of a layer: an operator and its weights, inputs × outputs.
#[derive(Clone, Debug)]
pub struct Term {
    /// `A_k`.
    pub operator: Operator,
    /// `W_k`.
    pub weight: DMatrix<f64>,
}

impl Layer {
    /// A sum of terms. `bias` has one number for each output, or one for each node and output, node after node;
    /// `linear` says which outputs have no activation (empty: all have one).
    ///
    /// # Errors
    /// If there is no term, or the sizes of the terms differ.
    pub fn of_terms(graph: &Graph, terms: &[Term], bias: &[f64], linear: Vec<bool>) -> Result<Layer, NetworkError> {
        let shape = terms.first().map_or((0, 0), |term| term.weight.shape());
        let odd = terms.iter().find(|term| term.weight.shape() != shape);
        if let Some(rows) = odd.map(|term| term.weight.nrows()).or(terms.is_empty().then_some(0)) {
            return Err(NetworkError::Terms { layer: 1, terms: terms.len(), rows });
        }
        let rules: Vec<Operator> = terms.iter().map(|term| term.operator.clone()).collect();
        let matrices = square(1, &rules, graph)?;
        let mut stacked = DMatrix::zeros(shape.0 * terms.len(), shape.1);
        for (k, term) in terms.iter().enumerate() {
            stacked.rows_mut(k * shape.0, shape.0).copy_from(&term.weight);
        }
        let (passing, bias) = (Arc::new(Passing::new(&matrices)), Bias::new(shape.1, bias.to_vec()));
        Ok(Layer { operators: rules, passing, weight: Weights::new(&stacked), bias, linear })
    }

    /// A layer of one term with weights of inputs × outputs and one bias for each output.
    pub fn new(operator: &Operator, graph: &Graph, weight: &DMatrix<f64>, bias: &[f64]) -> Layer {
        let passing = Arc::new(Passing::new(&[operator.matrix(graph)]));
        let bias = Bias::new(weight.ncols(), bias.to_vec());
        let operators = vec![operator.clone()];
        Layer { operators, passing, weight: Weights::new(weight), bias, linear: Vec::new() }
    }

    /// Units that it reads.
    #[inline]
    pub fn inputs(&self) -> usize {
        self.weight.rows() / self.passing.terms().max(1)
    }

    /// Units that it gives.
    #[inline]
    pub fn outputs(&self) -> usize {
        self.weight.columns()
    }

    /// Has this output no activation?
    #[inline]
    pub fn is_linear(&self, output: usize) -> bool {
        self.linear.get(output).copied().unwrap_or(false)
    }

    /// The size of what [`Layer::changes`] sums for each unit: twice as much where there was more than one product.
    pub fn change_sizes(&self, entries: &[f64], d: usize, into: &mut Vec<f64>) {
        into.clear();
        into.resize(self.outputs(), 0.0);
        let factor = if entries.len() > 1 { 2.0 } else { 1.0 };
        for (k, a) in entries.iter().enumerate() {
            let row = self.weight.row(k * self.inputs() + d);
            into.iter_mut().zip(row).for_each(|(size, w)| *size += factor * (a * w).abs());
        }
    }

    /// The weights of an input in all terms, one term after the other.
    pub fn weights_of(&self, input: usize) -> impl Iterator<Item = f64> + Clone + '_ {
        (0..self.passing.terms()).flat_map(move |k| self.weight.row(k * self.inputs() + input).iter().copied())
    }

    /// What flipping attribute `d` of a node changes in the units of a node that it reaches with these entries:
    /// `Σ_k ± A_k W_k[d]`.
    #[inline]
    pub fn changes(&self, sign: f64, entries: &[f64], d: usize, into: &mut Vec<f64>) {
        into.clear();
        match entries {
            [a] => into.extend(self.weight.row(d).iter().map(|w| sign * a * w)),
            _ => {
                into.resize(self.outputs(), 0.0);
                for (k, a) in entries.iter().enumerate().filter(|entry| *entry.1 != 0.0) {
                    let row = self.weight.row(k * self.inputs() + d);
                    into.iter_mut().zip(row).for_each(|(change, w)| *change += sign * a * w);
                }
            }
        }
    }
}

/// The matrices of rules on a graph, if they are square, of its size and finite.
pub(super) fn square(layer: usize, rules: &[Operator], graph: &Graph) -> Result<Vec<Arc<SparseMatrix>>, NetworkError> {
    let nodes = graph.node_count();
    let matrix = |rule: &Operator| {
        if rule.is_readout() && graph.batch().is_none() {
            return Err(NetworkError::NoBatch { layer, rule: rule.name() });
        }
        if let Operator::Polynomial(base, coefficients) = rule {
            let entries = polynomial::most_entries(&base.matrix(graph), coefficients);
            if entries > polynomial::MOST_ENTRIES {
                return Err(NetworkError::Entries { layer, rule: rule.name().chars().take(100).collect(), entries });
            }
        }
        let matrix = rule.matrix(graph);
        let (rows, columns) = matrix.shape();
        if (rows, columns) != (nodes, nodes) {
            return Err(NetworkError::MatrixShape { layer, rows, columns, nodes });
        }
        check_finite("the operator", &matrix).map_err(|error| NetworkError::Matrix { layer, error })?;
        Ok(matrix)
    };
    rules.iter().map(matrix).collect()
}
