//! The network: layers that fit each other and a graph.

use std::collections::BTreeMap;
use std::sync::Arc;

use gcnproof_files::{DenseMatrix, Described, DescribedLayer, ModelFile};

use crate::problem::graph::Graph;
use crate::problem::layer::square;
pub use crate::problem::layer::{Bias, Layer, Term};
use crate::problem::matrix::{SparseMatrix, Weights, plain};
pub use crate::problem::network_error::NetworkError;
pub use crate::problem::operator::Operator;
use crate::problem::operator::{key, operator_of, own};
use crate::problem::passing::Passing;

/// A GCN on a graph: the network in exact real arithmetic whose weights, biases and message-passing entries are the
/// stored floats. This, and nothing rounded, is what gets certified.
#[derive(Clone, Debug)]
pub struct Network {
    layers: Vec<Layer>,
    /// Does the model itself name its operators?
    named: bool,
    /// What the layers were described as: what rounding does to the network depends on it, and nothing else.
    described: Arc<Described>,
    /// Do operators and biases stand for what they are on the edges of this graph alone?
    fixed_edges: bool,
    /// The first layer of the model, where the one here takes changes of categories as well, or numbers by their powers
    /// of two.
    plain: Option<Arc<Layer>>,
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
                let plain = |layer: &Layer| plain(layer) && layer.bias.values().len() == layer.outputs();
                // A readout is part of the network: nobody may choose another.
                let readout = |layer: &Layer| layer.operators.iter().any(Operator::is_readout);
                let named = !layers.iter().all(plain) || layers.iter().any(readout);
                let sizes = |layer: &Layer| (layer.inputs(), layer.outputs(), layer.operators.len());
                let described = Arc::new(Described::chain(&layers.iter().map(sizes).collect::<Vec<_>>()));
                Ok(Network { layers, named, described, fixed_edges: false, plain: None })
            }
        }
    }

    /// Does the model itself name its operators, so that no option may choose them?
    pub fn is_named(&self) -> bool {
        self.named
    }

    /// Does it pool the nodes of each graph, so that its logits are those of graphs?
    pub fn has_readout(&self) -> bool {
        self.layers.iter().flat_map(|layer| &layer.operators).any(Operator::is_readout)
    }

    /// Does it say nothing about other edges than those of its graph?
    pub fn has_fixed_edges(&self) -> bool {
        self.fixed_edges
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
            let found = graph.own_attribute_count();
            if expected != found {
                let tensor = first.weight_name.clone();
                return Err(NetworkError::Attributes { tensor, expected, found });
            }
        }
        let mut layers: Vec<Layer> = Vec::with_capacity(count);
        let fixed_edges = model.fixed_edges;
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
        let network = Network { named, fixed_edges, ..Network::new(layers)? };
        if let Some(graphs) = graph.batch().map(|_| graph.target_count()).filter(|_| !network.has_readout()) {
            return Err(NetworkError::NoReadout { graphs });
        }
        let network = network.widened(graph)?;
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

    /// The same network as it takes the attributes of the graph: with changes of its categories, if it has any, or with
    /// the powers of two of its numbers.
    ///
    /// # Errors
    /// If weights of two categories differ by more than a float can say, or a weight times a power of two is no float.
    pub fn widened(mut self, graph: &Graph) -> Result<Network, NetworkError> {
        if graph.categories().is_none() && graph.values().is_none() {
            return Ok(self.unwidened());
        }
        // What was widened for another graph is widened anew from the model's own layer.
        let own = self.plain.take().unwrap_or_else(|| Arc::new(self.layers[0].clone()));
        let first = &mut self.layers[0];
        first.clone_from(&own);
        self.plain = Some(own);
        let plain = DenseMatrix {
            rows: first.weight.rows(),
            columns: first.weight.columns(),
            values: first.weight.values().to_vec(),
        };
        let too_large = NetworkError::NotFinite { layer: 1, value: f64::INFINITY };
        let terms = first.operators.len();
        let widened = match (graph.categories(), graph.values()) {
            (Some(categories), _) => categories.weights(&plain, terms),
            (None, values) => values.and_then(|values| values.weights(&plain, terms)).map(|weight| (weight, terms)),
        };
        let (weight, terms) = widened.ok_or(too_large)?;
        if terms > first.operators.len() {
            first.operators = first.operators.iter().cycle().take(terms).cloned().collect();
            first.passing = Arc::new(Passing::new(&square(1, &first.operators, graph)?));
        }
        first.weight = Weights::from_rows(weight.rows, weight.columns, weight.values);
        Ok(self)
    }

    /// The same network with its first layer as the model has it.
    #[doc(hidden)]
    pub fn unwidened(mut self) -> Network {
        if let Some(own) = self.plain.take() {
            self.layers[0].clone_from(&own);
        }
        self
    }

    /// The weight layers as the model has them.
    pub fn own_layers(&self) -> impl Iterator<Item = &Layer> {
        let first = self.plain.as_deref().or(self.layers.first());
        first.into_iter().chain(self.layers.iter().skip(1))
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
        let entries: usize = nodes.iter().map(|&m| passing.row_length(m as usize)).sum();
        if entries < passing.nodes() / 8 {
            let senders = nodes.iter().flat_map(|&m| passing.row(m as usize)).map(|(n, _)| n as u32);
            let mut senders: Vec<u32> = senders.collect();
            senders.sort_unstable();
            senders.dedup();
            return senders;
        }
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
