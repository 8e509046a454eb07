//! The network: weights and biases of the layers, and the operators by which they pass messages.

use std::collections::BTreeMap;
use std::str::FromStr;
use std::sync::Arc;

use gcnproof_files::{Described, DescribedLayer, ModelFile};
use nalgebra::DMatrix;
use sprs::{CsMatI, SpIndex};
use thiserror::Error;

use crate::problem::graph::Graph;
use crate::problem::matrix::{
    MatrixError, MatrixRows, PatternRows, SparseMatrix, Weights, by_rows, check_finite, plain, sparse,
};
use crate::problem::passing::Passing;
use crate::problem::polynomial;

/// How a layer passes messages along the edges.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Operator {
    /// `1/√(d_i d_j)` over neighbours and the node itself, `d` counting the node itself once.
    Gcn,
    /// `1/√(d_i d_j)` over the neighbours in the file, `d` being their number; nothing is added.
    GcnWithoutSelf,
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
    /// `Σ c_k A^k` of another rule, in the floats that [`crate::problem::polynomial`] defines.
    Polynomial(Box<Operator>, Vec<f64>),
    /// A matrix of one's own, entries of either sign.
    Matrix(Arc<SparseMatrix>),
}

impl FromStr for Operator {
    type Err = String;
    fn from_str(name: &str) -> Result<Self, String> {
        Ok(match name {
            "gcn" => Operator::Gcn,
            "gcn-self" => Operator::GcnWithoutSelf,
            "mean" => Operator::Mean,
            "mean+self" => Operator::MeanWithSelf,
            "sum" => Operator::Sum,
            "sum+self" => Operator::SumWithSelf,
            "identity" => Operator::Identity,
            _ => match name.strip_prefix("poly(").and_then(|rest| rest.strip_suffix(')')) {
                Some(inner) => polynomial::parse(inner, str::parse)?,
                None => {
                    let known = "gcn, gcn-self, mean, mean+self, sum, sum+self, identity, poly(RULE;c0,c1,…)";
                    return Err(format!("'{name}' is none of {known}"));
                }
            },
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
            Self::Polynomial(rule, coefficients) => {
                return Arc::new(polynomial::evaluate(&rule.matrix(graph), coefficients));
            }
            Self::Identity => return Arc::new(build(n, |i| vec![i as u32], |_, _| 1.0)),
            _ => (0..n).map(|i| neighbours(i).len() as f64).collect(),
        };
        Arc::new(match self {
            // This very expression, so that anyone can reproduce the bits.
            Self::Gcn | Self::GcnWithoutSelf => build(n, neighbours, |i, j| 1.0 / (sizes[i] * sizes[j]).sqrt()),
            Self::Mean | Self::MeanWithSelf => build(n, neighbours, |i, _| 1.0 / sizes[i]),
            _ => build(n, neighbours, |_, _| 1.0),
        })
    }

    /// A matrix of one's own, nodes × nodes, by rows or by columns.
    ///
    /// # Errors
    /// If an entry is not finite, or the matrix is too large.
    pub fn custom<I: SpIndex, P: SpIndex>(matrix: &CsMatI<f64, I, P>) -> Result<Operator, MatrixError> {
        let matrix = by_rows("the operator", matrix)?;
        check_finite("the operator", &matrix)?;
        Ok(Operator::Matrix(Arc::new(matrix)))
    }

    /// A matrix of one's own, as it was read.
    ///
    /// # Errors
    /// If it is none, or an entry is not finite.
    pub fn from_plain(matrix: gcnproof_files::SparseMatrix) -> Result<Operator, MatrixError> {
        let matrix = sparse(matrix)?;
        check_finite("the operator", &matrix)?;
        Ok(Operator::Matrix(Arc::new(matrix)))
    }

    /// Can entries be below 0? By the rule, whatever the graph: parts of a graph are to be treated as the whole.
    pub(crate) fn is_signed(&self) -> bool {
        match self {
            Operator::Polynomial(of, coefficients) => coefficients.iter().any(|&c| c < 0.0) || of.is_signed(),
            Operator::Matrix(matrix) => matrix.data().iter().any(|&entry| entry < 0.0),
            _ => false,
        }
    }

    /// Entries of the longest row, on the whole graph even where this is a part of it.
    pub(crate) fn longest_row(&self, graph: &Graph) -> usize {
        match self {
            Self::Identity => 1,
            Self::Gcn | Self::MeanWithSelf | Self::SumWithSelf => graph.longest_rows().with_self,
            Self::GcnWithoutSelf | Self::Mean | Self::Sum => graph.longest_rows().neighbours,
            Self::Matrix(_) | Self::Polynomial(..) => {
                let matrix = self.matrix(graph);
                (0..matrix.rows()).map(|i| matrix.row(i).0.len()).max().unwrap_or(0)
            }
        }
    }

    /// Steps along edges that it takes at once.
    fn hops(&self) -> usize {
        match self {
            Self::Identity => 0,
            Self::Polynomial(rule, c) => rule.hops() * c.iter().rposition(|&c| c != 0.0).unwrap_or(0),
            _ => 1,
        }
    }

    /// A short name for reports.
    pub fn name(&self) -> String {
        match self {
            Self::Gcn => "gcn".into(),
            Self::GcnWithoutSelf => "gcn-self".into(),
            Self::Mean => "mean".into(),
            Self::MeanWithSelf => "mean+self".into(),
            Self::Sum => "sum".into(),
            Self::SumWithSelf => "sum+self".into(),
            Self::Identity => "identity".into(),
            Self::Polynomial(rule, coefficients) => {
                let coefficients: Vec<String> = coefficients.iter().map(f64::to_string).collect();
                format!("poly({};{})", rule.name(), coefficients.join(","))
            }
            Self::Matrix(_) => "matrix".into(),
        }
    }
}

fn build(n: usize, row: impl Fn(usize) -> Vec<u32>, entry: impl Fn(usize, usize) -> f64) -> SparseMatrix {
    let (mut offsets, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
    for i in 0..n {
        for j in row(i) {
            indices.push(j);
            values.push(entry(i, j as usize));
        }
        offsets.push(indices.len());
    }
    SparseMatrix::new((n, n), offsets, indices, values)
}

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

/// A GCN on a graph: the network in exact real arithmetic whose weights, biases and message-passing entries are the
/// stored floats. This, and nothing rounded, is what gets certified.
#[derive(Clone, Debug)]
pub struct Network {
    layers: Vec<Layer>,
    /// Does the model itself name its operators?
    named: bool,
    /// What the layers were described as: what rounding does to the network depends on it, and nothing else.
    described: Arc<Described>,
}

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
    /// A message-passing matrix cannot be taken.
    #[error("layer {layer}: {error}")]
    Matrix {
        /// Layer, from 1.
        layer: usize,
        /// What is wrong with it.
        error: MatrixError,
    },
}

/// The matrices of a file, by what its rules call them.
fn matrices(model: &ModelFile) -> Result<BTreeMap<String, Operator>, NetworkError> {
    let taken = |matrix: &Arc<gcnproof_files::SparseMatrix>| {
        let operator =
            Operator::from_plain((**matrix).clone()).map_err(|error| NetworkError::Matrix { layer: 1, error })?;
        Ok((format!("matrix:{}", gcnproof_files::matrix_digest(matrix)), operator))
    };
    model.matrices.iter().map(taken).collect()
}

/// An operator by its rule; one of `matrices` by its digest, alone or in a polynomial.
fn operator_of(rule: &str, matrices: &BTreeMap<String, Operator>) -> Result<Operator, String> {
    if let Some(matrix) = matrices.get(rule) {
        return Ok(matrix.clone());
    }
    match rule.strip_prefix("poly(").and_then(|rest| rest.strip_suffix(')')) {
        Some(inner) => polynomial::parse(inner, |base| operator_of(base, matrices)),
        None => rule.parse(),
    }
}

/// The matrix of an operator that is no rule.
fn own(operator: &Operator) -> Option<Arc<SparseMatrix>> {
    match operator {
        Operator::Matrix(matrix) => Some(matrix.clone()),
        _ => None,
    }
}

/// What tells an operator from others on the same graph.
fn key(operator: &Operator) -> String {
    match operator {
        Operator::Matrix(matrix) => format!("matrix at {:p}", Arc::as_ptr(matrix)),
        Operator::Polynomial(rule, coefficients) => format!("poly({};{coefficients:?})", key(rule)),
        rule => rule.name(),
    }
}

/// The matrices of rules on a graph, if they are square, of its size and finite.
fn square(layer: usize, rules: &[Operator], graph: &Graph) -> Result<Vec<Arc<SparseMatrix>>, NetworkError> {
    let nodes = graph.node_count();
    let matrix = |rule: &Operator| {
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

impl Network {
    /// A network from its layers, first to last.
    ///
    /// # Errors
    /// If their sizes do not fit, or a number is not finite.
    pub fn new(mut layers: Vec<Layer>) -> Result<Network, NetworkError> {
        // Logits have no activation, whatever is said of them.
        if let Some(last) = layers.last_mut() {
            last.linear.clear();
        }
        let nodes = layers.first().map_or(0, |layer| layer.passing.nodes());
        for (index, of) in layers.iter().enumerate() {
            let (layer, outputs, biases) = (index + 1, of.outputs(), of.bias.values().len());
            let (rows, columns) = (of.passing.nodes(), of.passing.nodes());
            if rows != nodes {
                return Err(NetworkError::MatrixShape { layer, rows, columns, nodes });
            }
            if of.weight.rows() != of.inputs() * of.passing.terms() {
                return Err(NetworkError::Terms { layer, terms: of.passing.terms(), rows: of.weight.rows() });
            }
            if let Some(before) = layers[..index].last().filter(|before| before.outputs() != of.inputs()) {
                return Err(NetworkError::Inputs { layer, expected: of.inputs(), found: before.outputs() });
            }
            if biases != outputs && biases != outputs * nodes || ![0, outputs].contains(&of.linear.len()) {
                return Err(NetworkError::Biases { layer, outputs, biases });
            }
            if let Some(&value) = of.weight.values().iter().chain(of.bias.values()).find(|value| !value.is_finite()) {
                return Err(NetworkError::NotFinite { layer, value });
            }
            if let Some(value) = of.passing.not_finite() {
                return Err(NetworkError::NotFinite { layer, value });
            }
        }
        match layers.last().map_or(0, |layer| layer.weight.columns()) {
            classes @ (0 | 1) => Err(NetworkError::Classes { classes }),
            _ => {
                let plain = |layer: &Layer| layer.operators.len() == 1 && layer.linear.is_empty();
                let named = !layers.iter().all(|layer| plain(layer) && layer.bias.values().len() == layer.outputs());
                let sizes = |layer: &Layer| (layer.inputs(), layer.outputs(), layer.operators.len());
                let described = Arc::new(Described::chain(&layers.iter().map(sizes).collect::<Vec<_>>()));
                Ok(Network { layers, named, described })
            }
        }
    }

    /// Does the model itself name its operators, so that no option may choose them?
    pub fn is_named(&self) -> bool {
        self.named
    }

    /// The layers as they were described.
    pub fn described(&self) -> &Arc<Described> {
        &self.described
    }

    /// The same network, described as another one is that has the same layers, on these of its nodes.
    pub(crate) fn described_like(self, other: &Network, nodes: &[u32]) -> Network {
        if !other.described.has_nodes() {
            return Network { described: other.described.clone(), ..self };
        }
        let cut = |layer: &DescribedLayer| {
            let row = |&n: &u32| n as usize * layer.outputs..(n as usize + 1) * layer.outputs;
            let bias_magnitude =
                layer.bias_magnitude.as_ref().map(|magnitude| match magnitude.len() == layer.outputs {
                    true => magnitude.clone(),
                    false => nodes.iter().flat_map(|n| &magnitude[row(n)]).copied().collect(),
                });
            DescribedLayer { bias_magnitude, ..layer.clone() }
        };
        let described = Described { layers: other.described.layers.iter().map(cut).collect() };
        Network { described: Arc::new(described), ..self }
    }

    /// Puts the weights of a file on a graph. `operators` is one for all layers, or one per layer.
    ///
    /// # Errors
    /// If they do not fit the graph or each other.
    pub fn from_file(model: ModelFile, operators: &[Operator], graph: &Graph) -> Result<Network, NetworkError> {
        let count = model.layers.len();
        let named = model.layers.iter().any(|layer| !layer.operators.is_empty());
        if !named && operators.len() != 1 && operators.len() != count {
            return Err(NetworkError::PassingCount { given: operators.len(), layers: count });
        }
        if let Some(first) = model.layers.first() {
            let expected = first.weight.rows / first.operators.len().max(1);
            if expected != graph.attribute_count() {
                let (tensor, found) = (first.weight_name.clone(), graph.attribute_count());
                return Err(NetworkError::Attributes { tensor, expected, found });
            }
        }
        let mut layers: Vec<Layer> = Vec::with_capacity(count);
        let (matrices, described) = (matrices(&model)?, model.described);
        let mut known: Vec<(Vec<String>, Arc<Passing>)> = Vec::new();
        for (index, layer) in model.layers.into_iter().enumerate() {
            let unknown = |problem| NetworkError::Rule { layer: index + 1, problem };
            let rules = match layer.operators.as_slice() {
                [] => vec![operators[index.min(operators.len() - 1)].clone()],
                rules => {
                    rules.iter().map(|rule| operator_of(rule, &matrices).map_err(unknown)).collect::<Result<_, _>>()?
                }
            };
            // Layers mostly share their operators; a user's own matrix is recognised by its address.
            let key: Vec<String> = rules.iter().map(key).collect();
            let passing = match known.iter().find(|known| known.0 == key) {
                Some((_, passing)) => passing.clone(),
                None => {
                    let passing = Arc::new(Passing::new(&square(index + 1, &rules, graph)?));
                    known.push((key, passing.clone()));
                    passing
                }
            };
            let bias = Bias::new(layer.weight.columns, layer.bias);
            let weight = Weights::from_rows(layer.weight.rows, layer.weight.columns, layer.weight.values);
            layers.push(Layer { operators: rules, passing, weight, bias, linear: layer.linear });
        }
        let network = Network { named, ..Network::new(layers)? };
        let Some(described) = described else { return Ok(network) };
        let nodes = graph.node_count();
        for of in &described.layers {
            let (outputs, biases) = (of.outputs, of.bias_magnitude.as_ref().map_or(of.outputs, Vec::len));
            if biases != outputs && biases != outputs * nodes {
                return Err(NetworkError::Biases { layer: of.layer + 1, outputs, biases });
            }
        }
        Ok(Network { described: Arc::new(described), ..network })
    }

    /// The weight layers, first to last; layer `l` of the formulas is `layers()[l − 1]`.
    pub fn layers(&self) -> &[Layer] {
        &self.layers
    }

    /// The same, to be trained.
    #[doc(hidden)]
    pub fn layers_mut(&mut self) -> &mut [Layer] {
        &mut self.layers
    }

    /// The matrices of one's own among the operators, as plain data: what rules cannot recompute.
    pub fn own_matrices(&self) -> Vec<Arc<gcnproof_files::SparseMatrix>> {
        let base = |operator: &Operator| match operator {
            Operator::Polynomial(rule, _) => own(rule),
            operator => own(operator),
        };
        let mut found: Vec<Arc<SparseMatrix>> = Vec::new();
        for matrix in self.layers.iter().flat_map(|layer| &layer.operators).filter_map(base) {
            if !found.iter().any(|known| Arc::ptr_eq(known, &matrix)) {
                found.push(matrix);
            }
        }
        found.iter().map(|matrix| Arc::new(plain(matrix))).collect()
    }

    /// `L`: the number of representations, one more than weight layers.
    pub fn depth(&self) -> usize {
        self.layers.len() + 1
    }

    /// How many edges away a node may be whose attributes the logits depend on; a matrix of one's own counts as one
    /// step.
    pub fn hops(&self) -> usize {
        let of_layer = |layer: &Layer| layer.operators.iter().map(Operator::hops).max().unwrap_or(0);
        self.layers.iter().map(of_layer).sum()
    }

    /// The nodes whose representation `l` some nodes of representation `l + 1` depend on, in rising order.
    pub fn senders(&self, l: usize, nodes: &[u32]) -> Vec<u32> {
        let passing = &self.layers[l - 1].passing;
        let mut sends = vec![false; passing.nodes()];
        for &m in nodes {
            for (n, _) in passing.row(m as usize) {
                sends[n] = true;
            }
        }
        (0..).zip(sends).filter_map(|(node, sends)| sends.then_some(node)).collect()
    }

    /// `N`: nodes between which messages are passed.
    pub fn node_count(&self) -> usize {
        self.layers[0].passing.nodes()
    }

    /// `K`.
    pub fn class_count(&self) -> usize {
        self.layers[self.layers.len() - 1].outputs()
    }

    /// Units of representation `l` (`D` for `l = 1`, `K` for `l = L`).
    pub fn width(&self, representation: usize) -> usize {
        match representation {
            1 => self.layers[0].inputs(),
            l => self.layers[l - 2].outputs(),
        }
    }
}
