//! The modules of PyTorch Geometric that are trained beside plain GCNs: their layers, what their file says of them, and
//! where their parameters stand in the network.

use std::collections::BTreeMap;
use std::ops::Range;

use gcnproof::internals::problem::graph::Graph;
use gcnproof::internals::problem::network::{Network, NetworkError, Operator};
use gcnproof_files::write::{NamedTensor, described_safetensors};
use gcnproof_files::{DenseMatrix, Place, Precision, TensorSource, describe_model};
use serde_json::{Value, json};

use super::error::TrainError;
use super::gradient::Gradient;
use super::kind::LayerKind;
use super::settings::Settings;
use super::start::{Sides, Start};

/// A layer of a module, in the order of the file's description.
struct PlannedLayer {
    name: String,
    terms: Vec<PlannedTerm>,
    bias: String,
    /// Units that its weights take, in every term that has any.
    inputs: usize,
    outputs: usize,
    is_last: bool,
}

/// A term of it; without weights, what it reads is passed on as it is.
struct PlannedTerm {
    from: String,
    operator: String,
    weight: Option<String>,
}

impl PlannedTerm {
    fn new(from: &str, operator: &str, weight: String) -> PlannedTerm {
        PlannedTerm { from: from.into(), operator: operator.into(), weight: Some(weight) }
    }

    /// A skip connection.
    fn skip(from: &str) -> PlannedTerm {
        PlannedTerm { from: from.into(), operator: "identity".into(), weight: None }
    }
}

impl PlannedLayer {
    fn described(&self) -> Value {
        let term = |term: &PlannedTerm| match &term.weight {
            Some(weight) => {
                json!({ "from": term.from, "operator": term.operator, "weight": weight, "transposed": true })
            }
            None => json!({ "from": term.from, "operator": term.operator }),
        };
        let terms: Vec<Value> = self.terms.iter().map(term).collect();
        let activation = if self.is_last { "none" } else { "relu" };
        json!({ "name": self.name, "terms": terms, "bias": self.bias, "activation": activation })
    }
}

/// Sizes that the graph determines.
#[derive(Clone, Copy)]
pub(crate) struct Sizes {
    pub(crate) attributes: usize,
    pub(crate) classes: usize,
}

/// The layers of a module. A skip connection leads from each hidden layer to the next: `relu(conv(h) + h)`.
fn planned(settings: &Settings, sizes: Sizes, rules: &[String]) -> Vec<PlannedLayer> {
    let (mut layers, mut from, mut inputs) = (Vec::new(), "x".to_owned(), sizes.attributes);
    let widths = settings.widths(sizes.classes);
    let last = widths.len() - 1;
    for (l, outputs) in widths.into_iter().enumerate() {
        let (prefix, name, is_last) = (format!("convs.{l}"), format!("h{}", l + 1), l == last);
        let (bias, mut terms) = match settings.kind {
            LayerKind::Gcn => {
                let rule = &rules[l.min(rules.len() - 1)];
                (format!("{prefix}.bias"), vec![PlannedTerm::new(&from, rule, format!("{prefix}.lin.weight"))])
            }
            LayerKind::Sage | LayerKind::SageSum => {
                let rule = if settings.kind == LayerKind::Sage { "mean" } else { "sum" };
                let neighbours = PlannedTerm::new(&from, rule, format!("{prefix}.lin_l.weight"));
                let own = PlannedTerm::new(&from, "identity", format!("{prefix}.lin_r.weight"));
                (format!("{prefix}.lin_l.bias"), vec![neighbours, own])
            }
            LayerKind::Gin => {
                // Units inside are as many as outside, as in PyTorch Geometric's `GIN`.
                let inner = format!("{name}.inner");
                let sum = PlannedTerm::new(&from, "poly(sum;1.0,1.0)", format!("{prefix}.nn.lins.0.weight"));
                let (terms, bias) = (vec![sum], format!("{prefix}.nn.lins.0.bias"));
                layers.push(PlannedLayer { name: inner.clone(), terms, bias, inputs, outputs, is_last: false });
                let second = PlannedTerm::new(&inner, "identity", format!("{prefix}.nn.lins.1.weight"));
                (format!("{prefix}.nn.lins.1.bias"), vec![second])
            }
        };
        if settings.skip && l > 0 && !is_last {
            terms.push(PlannedTerm::skip(&from));
        }
        let inputs_here = if settings.kind == LayerKind::Gin { outputs } else { inputs };
        layers.push(PlannedLayer { name: name.clone(), terms, bias, inputs: inputs_here, outputs, is_last });
        (from, inputs) = (name, outputs);
    }
    layers
}

/// A tensor of a module, and where its numbers stand in the network.
struct Parameter {
    name: String,
    place: Place,
    /// Of weights; a bias has none.
    inputs: Option<usize>,
    outputs: usize,
}

impl Parameter {
    /// Where its numbers stand among those of the layer's weights, or of its bias, row after row.
    fn spans(&self, network: &Network) -> impl Iterator<Item = Range<usize>> + use<> {
        let (place, outputs) = (self.place, self.outputs);
        let width = network.layers()[place.layer].outputs();
        let start = move |row: usize| (place.row + row) * width + place.column;
        (0..self.inputs.unwrap_or(1)).map(move |row| start(row)..start(row) + outputs)
    }

    /// The tensor as PyTorch stores it: weights as outputs × inputs.
    fn tensor(&self, network: &Network) -> NamedTensor {
        let layer = &network.layers()[self.place.layer];
        let numbers = if self.inputs.is_some() { layer.weight.values() } else { layer.bias.values() };
        let values: Vec<f64> = self.spans(network).flat_map(|span| &numbers[span]).copied().collect();
        let name = self.name.clone();
        match self.inputs {
            None => NamedTensor { name, shape: vec![self.outputs], values },
            Some(rows) => stored(name, &DenseMatrix { rows, columns: self.outputs, values }),
        }
    }
}

/// Weights of inputs × outputs as PyTorch stores them.
fn stored(name: String, weight: &DenseMatrix) -> NamedTensor {
    let DenseMatrix { rows, columns, values } = weight.transpose();
    NamedTensor { name, shape: vec![rows, columns], values }
}

/// The tensors of a module at the start.
struct Tensors(BTreeMap<String, NamedTensor>);

impl TensorSource for Tensors {
    fn names(&self) -> Vec<String> {
        self.0.keys().cloned().collect()
    }

    fn shape(&self, name: &str) -> Vec<usize> {
        self.0.get(name).map(|tensor| tensor.shape.clone()).unwrap_or_default()
    }

    fn values(&self, name: &str, turned: bool) -> Result<(Vec<f64>, Precision), String> {
        let NamedTensor { shape, values, .. } = self.0.get(name).ok_or("no such tensor")?;
        let values = match (turned, shape.as_slice()) {
            (true, &[rows, columns]) => DenseMatrix { rows, columns, values: values.clone() }.transpose().values,
            _ => values.clone(),
        };
        Ok((values, Precision::F64))
    }

    fn integers(&self, name: &str) -> Result<Vec<u64>, String> {
        Err(format!("`{name}` has no whole numbers"))
    }
}

/// A module whose file describes its network.
pub(crate) struct Module {
    description: String,
    parameters: Vec<Parameter>,
}

impl Module {
    /// The module of some settings and its network at the start. `passing` are the rules of GCN layers, one for all or
    /// one for each; other kinds have their own.
    pub(crate) fn new(
        settings: &Settings,
        sizes: Sizes,
        passing: &[Operator],
        graph: &Graph,
    ) -> Result<(Module, Network), TrainError> {
        let layers = planned(settings, sizes, &rules(settings, passing)?);
        let start = Start::new(settings);
        let mut tensors = BTreeMap::new();
        let mut weights = 0;
        for (number, layer) in layers.iter().enumerate() {
            let (inputs, outputs) = (layer.inputs, layer.outputs);
            for weight in layer.terms.iter().filter_map(|term| term.weight.as_ref()) {
                let values = start.weight(Sides { number: weights, inputs, outputs });
                let values = DenseMatrix { rows: inputs, columns: outputs, values };
                tensors.insert(weight.clone(), stored(weight.clone(), &values));
                weights += 1;
            }
            let values = start.bias(Sides { number, inputs, outputs }, !layer.is_last);
            let name = layer.bias.clone();
            tensors.insert(name.clone(), NamedTensor { name, shape: vec![outputs], values });
        }
        let described: Vec<Value> = layers.iter().map(PlannedLayer::described).collect();
        let output = layers.last().map_or("", |layer| layer.name.as_str());
        let description = json!({ "version": 1, "output": output, "layers": described }).to_string();
        let model = describe_model("the network", &description, &Tensors(tensors))?;
        let network = Network::from_file(model, &[], graph)?;
        let mut parameters = Vec::new();
        for (layer, stands) in layers.iter().zip(&network.described().layers) {
            for (term, at) in layer.terms.iter().zip(&stands.terms) {
                let (place, inputs) = (at.weight, Some(layer.inputs));
                let parameter = |name: &String| Parameter { name: name.clone(), place, inputs, outputs: layer.outputs };
                parameters.extend(term.weight.as_ref().map(parameter));
            }
            let place = Place { layer: stands.layer, row: 0, column: stands.first };
            parameters.push(Parameter { name: layer.bias.clone(), place, inputs: None, outputs: layer.outputs });
        }
        Ok((Module { description, parameters }, network))
    }

    /// One for every number of the network that is a parameter, zero for those that skip connections need; nothing
    /// where all are parameters.
    pub(crate) fn trained(&self, network: &Network) -> Option<Gradient> {
        let mut trained = Gradient::zeros(network);
        for parameter in &self.parameters {
            let tensors = if parameter.inputs.is_some() { &mut trained.weight } else { &mut trained.bias };
            let numbers = &mut tensors[parameter.place.layer];
            parameter.spans(network).for_each(|span| numbers[span].fill(1.0));
        }
        let all = trained.weight.iter().chain(&trained.bias).flatten().all(|&is_trained| is_trained == 1.0);
        (!all).then_some(trained)
    }

    /// The bytes of the model's file, with the names of PyTorch Geometric; `name` is what errors call it.
    pub(crate) fn file(
        &self,
        name: &str,
        network: &Network,
        metadata: &BTreeMap<String, String>,
    ) -> Result<Vec<u8>, TrainError> {
        let tensors: Vec<NamedTensor> = self.parameters.iter().map(|parameter| parameter.tensor(network)).collect();
        Ok(described_safetensors(name, &self.description, &tensors, Precision::F32, metadata)?)
    }
}

/// The rules of message passing as a description names them.
fn rules(settings: &Settings, passing: &[Operator]) -> Result<Vec<String>, TrainError> {
    if !settings.kind.is_gcn() {
        return if passing.is_empty() { Ok(Vec::new()) } else { Err(TrainError::Passing { kind: settings.kind }) };
    }
    if passing.len() != 1 && passing.len() != settings.layers {
        return Err(NetworkError::PassingCount { given: passing.len(), layers: settings.layers }.into());
    }
    let named = |rule: &Operator| match rule {
        Operator::Matrix(_) => Err(TrainError::SkipMatrix),
        Operator::Polynomial(of, _) if matches!(**of, Operator::Matrix(_)) => Err(TrainError::SkipMatrix),
        rule => Ok(rule.name()),
    };
    passing.iter().map(named).collect()
}
