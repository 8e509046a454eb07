//! Networks that describe themselves: the metadata `gcnproof.network` of a safetensors file (docs/model-format.md).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::de::Error;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::chain::{self, Layer, Term, TermSource};
use crate::operators::{Operators, wrong};
use crate::tensors::{Tensor, Tensors};
use crate::{DenseMatrix, Described, FileError, LayerFile, Precision, SparseMatrix, levels};

/// The key of the metadata.
pub(crate) const KEY: &str = "gcnproof.network";

/// The only version so far.
const VERSION: u64 = 1;

/// What the metadata holds.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Description {
    version: u64,
    /// The layer whose values are the logits.
    output: String,
    /// False: rules and biases stand for what they are on the edges of the graph alone.
    #[serde(default = "holds")]
    edges: bool,
    layers: Vec<LayerText>,
}

fn holds() -> bool {
    true
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LayerText {
    name: String,
    terms: Vec<TermText>,
    /// A tensor of one number for each unit, or of one for each node and unit.
    bias: Option<String>,
    /// One activation for all units of a layer, or a list with one for each.
    activation: Value,
    /// A tensor with at least the sum of the absolute values that were folded into each bias.
    bias_magnitude: Option<String>,
    /// Roundings of the bias that are not described.
    #[serde(default, deserialize_with = "roundings")]
    bias_roundings: u32,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TermText {
    /// `x` for the attributes, or the name of another layer.
    from: String,
    /// A rule of message passing.
    operator: String,
    /// The tensor of the weights; without one, what is read is passed on as it is.
    weight: Option<String>,
    /// Are the weights stored as [out, in], as PyTorch does?
    #[serde(default)]
    transposed: bool,
    /// A tensor like that of the weights, with at least the sum of the absolute values that were folded into each.
    magnitude: Option<String>,
    /// Roundings of a product that are not described.
    #[serde(default, deserialize_with = "roundings")]
    roundings: u32,
}

/// A number of roundings; an error names the entry.
fn roundings<'de, D: Deserializer<'de>>(from: D) -> Result<u32, D::Error> {
    let number = serde_json::Number::deserialize(from)?;
    let problem = || D::Error::custom(format!("`roundings` must be a whole number from 0 to 2³²−1, not {number}"));
    number.as_u64().and_then(|number| u32::try_from(number).ok()).ok_or_else(problem)
}

/// Has a unit no activation?
///
/// # Errors
/// In words, if it has one that is not certified.
fn is_linear(activation: &Value) -> Result<bool, String> {
    match activation.as_str() {
        Some("relu") => Ok(false),
        Some("none") => Ok(true),
        Some("leaky_relu") => Err("leaky ReLU with slope a is a·z + (1 − a)·relu(z): describe it as two layers, one \
                                   without activation and one with relu, which the next layer reads in two terms"
            .into()),
        _ => Err(format!(
            "the activation is {activation}: only \"relu\" and \"none\" are certified (bounds of another activation would \
             be needed)"
        )),
    }
}

/// What the weights of a term are called in files that we write.
pub(crate) fn weight_name(layer: usize, term: usize) -> String {
    format!("layers.{layer}.terms.{term}.weight")
}

/// What the bias of a layer is called there.
pub(crate) fn bias_name(layer: usize) -> String {
    format!("layers.{layer}.bias")
}

/// The description of a chain.
pub(crate) fn write(layers: &[LayerFile]) -> String {
    let name = |number: usize| format!("h{}", number + 1);
    let layer = |(number, layer): (usize, &LayerFile)| {
        let from = if number == 0 { "x".to_owned() } else { name(number - 1) };
        let terms = layer.operators.iter().enumerate();
        let terms = terms.map(|(term, operator)| {
            serde_json::json!({ "from": from, "operator": operator, "weight": weight_name(number, term) })
        });
        let last = number + 1 == layers.len();
        let of = |linear: bool| if linear { "none" } else { "relu" };
        let activation = match layer.linear.as_slice() {
            [] => serde_json::json!(of(last)),
            each => each.iter().map(|&linear| of(linear)).collect(),
        };
        let terms: Vec<serde_json::Value> = terms.collect();
        serde_json::json!({ "name": name(number), "terms": terms, "bias": bias_name(number), "activation": activation })
    };
    let described: Vec<serde_json::Value> = layers.iter().enumerate().map(layer).collect();
    serde_json::json!({ "version": VERSION, "output": name(layers.len() - 1), "layers": described }).to_string()
}

/// What a description says.
pub(crate) struct Said {
    pub layers: Vec<LayerFile>,
    /// The layers as they were described, if those of the chain are others.
    pub described: Option<Described>,
    /// Do rules and biases stand for what they are on the edges of the graph alone?
    pub fixed_edges: bool,
    pub precision: Precision,
    /// The matrices that the operators name by digest.
    pub matrices: Vec<Arc<SparseMatrix>>,
}

/// Reads the layers of a file that describes its network.
pub(crate) fn read(file: &str, text: &str, tensors: &mut Tensors) -> Result<Said, FileError> {
    let described: Description =
        serde_json::from_str(text).map_err(|error| wrong(file, KEY, format!("it is not what it must be: {error}")))?;
    if described.version != VERSION {
        let problem = format!("version {} is not known; this program reads version {VERSION}", described.version);
        return Err(wrong(file, KEY, problem));
    }
    let fixed_edges = !described.edges;
    let order = sorted(file, &described)?;
    let mut used = BTreeSet::new();
    let mut precisions = Vec::new();
    let mut operators = Operators::default();
    let mut load = |entry: &str, name: &str, turned: bool, tensors: &mut Tensors| -> Result<Tensor, FileError> {
        if !tensors.names().iter().any(|known| known == name) {
            let problem = format!("the tensor `{name}` is not in the file");
            return Err(wrong(file, entry, problem));
        }
        used.insert(name.to_owned());
        if turned { tensors.turned(name) } else { tensors.tensor(name) }
    };
    let mut layers: Vec<Layer> = Vec::new();
    for &at in &order {
        let layer = &described.layers[at];
        let entry = format!("layer `{}`", layer.name);
        let mut terms = Vec::new();
        for term in &layer.terms {
            let source = match term.from.as_str() {
                "x" => TermSource::Attributes,
                name => {
                    let place = order.iter().position(|&of| described.layers[of].name == name);
                    TermSource::Layer(place.unwrap_or_default())
                }
            };
            let inputs = match source {
                TermSource::Attributes => None,
                TermSource::Layer(place) => Some(layers[place].outputs),
            };
            let weight = match &term.weight {
                Some(name) => {
                    let tensor = load(&entry, name, term.transposed, tensors)?;
                    precisions.push(tensor.precision);
                    matrix(file, &entry, tensor)?
                }
                None => match inputs {
                    Some(inputs) => chain::identity(inputs),
                    None => {
                        let problem = "a term that reads x needs weights".to_owned();
                        return Err(wrong(file, &entry, problem));
                    }
                },
            };
            if inputs.is_some_and(|inputs| inputs != weight.rows) {
                let problem = format!(
                    "the weights take {} inputs, but `{}` has {} units (is it stored as [out, in]? then say \"transposed\": true)",
                    weight.rows,
                    term.from,
                    inputs.unwrap_or_default()
                );
                return Err(wrong(file, &entry, problem));
            }
            let weight_name = term.weight.clone().unwrap_or_else(|| "the identity".into());
            let operator = operators.rule(&term.operator, tensors).map_err(|problem| wrong(file, &entry, problem))?;
            let magnitude = term.magnitude.as_ref().map(|name| {
                let tensor = load(&entry, name, term.transposed, tensors)?;
                let sides = [weight.rows, weight.columns];
                if tensor.shape != sides {
                    let problem =
                        format!("the magnitude `{name}` has the sides {:?}, the weights {sides:?}", tensor.shape);
                    return Err(wrong(file, &entry, problem));
                }
                covers(name, &tensor.values, &weight.values, weight.values.len())
                    .map_err(|problem| wrong(file, &entry, problem))?;
                Ok(tensor.values)
            });
            let (magnitude, roundings) = (magnitude.transpose()?, term.roundings);
            terms.push(Term { source, operator, weight, weight_name, magnitude, roundings });
        }
        let Some(outputs) = terms.first().map(|term| term.weight.columns) else {
            return Err(wrong(file, &entry, "it has no terms".into()));
        };
        if let Some(other) = terms.iter().find(|term| term.weight.columns != outputs) {
            let problem =
                format!("its terms have {outputs} and {} outputs: they cannot be added", other.weight.columns);
            return Err(wrong(file, &entry, problem));
        }
        let attributes = |term: &&Term| term.source == TermSource::Attributes;
        let mut taken = layers.iter().flat_map(|layer| &layer.terms).chain(&terms).filter(attributes);
        let first = taken.next().map(|term| term.weight.rows);
        if let Some(other) = taken.find(|term| Some(term.weight.rows) != first) {
            let problem =
                format!("one term takes {} attributes, another {}", first.unwrap_or_default(), other.weight.rows);
            return Err(wrong(file, &entry, problem));
        }
        let bias = match &layer.bias {
            Some(name) => {
                let tensor = load(&entry, name, false, tensors)?;
                precisions.push(tensor.precision);
                match tensor.shape.as_slice() {
                    [units] if *units == outputs => tensor.values,
                    [_, units] if *units == outputs => tensor.values,
                    shape => {
                        let units = shape.last().copied();
                        // Weights the other way are likelier than a bias of another layer.
                        let turned = terms.iter().all(|term| Some(term.weight.rows) == units);
                        let problem = match (turned, layer.terms.iter().any(|term| term.transposed)) {
                            (true, false) => format!(
                                "the weights are taken as [in, out] and give {outputs} units, but the bias `{name}` has the sides \
                                 {shape:?}, which fits weights stored as [out, in], as PyTorch does: say \"transposed\": true in the term"
                            ),
                            (true, true) => format!(
                                "the weights are taken as [out, in] and give {outputs} units, but the bias `{name}` has the sides \
                                 {shape:?}, which fits weights stored as [in, out]: leave \"transposed\" out of the term"
                            ),
                            _ => format!(
                                "the bias `{name}` has the sides {shape:?}, but there are {outputs} units: one number for each, or for \
                                 each node and unit"
                            ),
                        };
                        return Err(wrong(file, &entry, problem));
                    }
                }
            }
            None => vec![0.0; outputs],
        };
        let bias_magnitude = layer.bias_magnitude.as_ref().map(|name| {
            let tensor = load(&entry, name, false, tensors)?;
            if tensor.shape.last() != Some(&outputs) || tensor.shape.len() > 2 {
                let problem = format!(
                    "the magnitude `{name}` of the bias has the sides {:?}, but there are {outputs} units: one number for each, or for \
                     each node and unit",
                    tensor.shape
                );
                return Err(wrong(file, &entry, problem));
            }
            covers(name, &tensor.values, &bias, outputs).map_err(|problem| wrong(file, &entry, problem))?;
            Ok(tensor.values)
        });
        let (bias_magnitude, bias_roundings) = (bias_magnitude.transpose()?, layer.bias_roundings);
        let linear = match &layer.activation {
            Value::Array(each) if each.len() != outputs => {
                Err(format!("{} activations are given for {outputs} units", each.len()))
            }
            Value::Array(each) => each.iter().map(is_linear).collect(),
            all => is_linear(all).map(|linear| vec![linear; outputs]),
        };
        let linear = linear.map_err(|problem| wrong(file, &entry, problem))?;
        let bias_name = layer.bias.clone();
        layers.push(Layer { terms, bias, bias_name, linear, outputs, bias_magnitude, bias_roundings });
    }
    if layers.last().is_some_and(|output| output.linear.contains(&false)) {
        let problem = "the logits must not have an activation: say \"activation\": \"none\"".to_owned();
        return Err(wrong(file, &format!("layer `{}`", described.output), problem));
    }
    used.extend(operators.tensors());
    if let Some(unused) = tensors.names().into_iter().find(|name| !used.contains(name)) {
        let problem =
            format!("the tensor `{unused}` is in the file, but no layer uses it: remove it, or describe what it does");
        return Err(wrong(file, KEY, problem));
    }
    precisions.dedup();
    let precision = match precisions.as_slice() {
        [same] => *same,
        _ => Precision::Mixed,
    };
    let (layers, described) = chain::chain(layers).map_err(|problem| wrong(file, KEY, problem))?;
    levels::check(&layers).map_err(|problem| wrong(file, KEY, problem))?;
    Ok(Said { layers, described, fixed_edges, precision, matrices: operators.matrices() })
}

/// Is a magnitude finite and nowhere below the sizes of the numbers that it belongs to? Either may be one row, of so
/// many, for all nodes.
///
/// # Errors
/// In words, if it is not.
fn covers(name: &str, magnitude: &[f64], values: &[f64], row: usize) -> Result<(), String> {
    let (own, other) = (magnitude.len(), values.len());
    if own != other && own != row && other != row {
        return Err(format!("the magnitude `{name}` is given for {} nodes, the bias for {}", own / row, other / row));
    }
    for at in 0..own.max(other) {
        let (most, size) = (magnitude[at % own], values[at % other].abs());
        if !most.is_finite() || most < size {
            let problem = format!("the magnitude `{name}` is {most} at place {}", at % own);
            return Err(format!("{problem}: it must be finite, and not below {size}, the size of what it belongs to"));
        }
    }
    Ok(())
}

/// The layers in an order in which each reads only what stands before it; the output is last.
fn sorted(file: &str, described: &Description) -> Result<Vec<usize>, FileError> {
    let mut by_name = BTreeMap::new();
    for (at, layer) in described.layers.iter().enumerate() {
        if layer.name == "x" || by_name.insert(layer.name.as_str(), at).is_some() {
            return Err(wrong(file, &format!("layer `{}`", layer.name), "this name is taken".into()));
        }
    }
    let Some(&output) = by_name.get(described.output.as_str()) else {
        return Err(wrong(file, KEY, format!("the output `{}` is no layer", described.output)));
    };
    let (mut order, mut state) = (Vec::new(), vec![0u8; described.layers.len()]);
    // Depth first, without recursion: a file may name as many layers as it likes.
    let mut open = vec![(output, 0)];
    state[output] = 1;
    while let Some((at, next)) = open.pop() {
        let layer = &described.layers[at];
        let Some(term) = layer.terms.get(next) else {
            state[at] = 2;
            order.push(at);
            continue;
        };
        open.push((at, next + 1));
        if term.from == "x" {
            continue;
        }
        let entry = format!("layer `{}`", layer.name);
        let Some(&source) = by_name.get(term.from.as_str()) else {
            return Err(wrong(file, &entry, format!("it reads `{}`, which is no layer", term.from)));
        };
        match state[source] {
            0 => {
                state[source] = 1;
                open.push((source, 0));
            }
            1 => return Err(wrong(file, &entry, format!("it reads `{}`, which depends on it: a cycle", term.from))),
            _ => {}
        }
    }
    match state.iter().position(|&state| state == 0) {
        Some(unused) => {
            let name = &described.layers[unused].name;
            Err(wrong(file, &format!("layer `{name}`"), "the output does not depend on it: remove it".into()))
        }
        None => Ok(order),
    }
}

/// A tensor with two sides.
fn matrix(file: &str, entry: &str, tensor: Tensor) -> Result<DenseMatrix, FileError> {
    match tensor.shape.as_slice() {
        &[rows, columns] => Ok(DenseMatrix { rows, columns, values: tensor.values }),
        shape => {
            Err(wrong(file, entry, format!("the weights `{}` have {} sides instead of 2", tensor.name, shape.len())))
        }
    }
}
