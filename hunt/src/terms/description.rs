//! A network as a model file describes it (`docs/model-format.md`): layers that are sums of terms, each reading `x` or
//! an earlier layer.

use std::sync::Arc;

use gcnproof_files::{FileError, ModelFile, Precision, SparseMatrix, TensorSource, describe_model};
use serde_json::{Map, Value, json};

use crate::network::Source;

/// How a term passes messages.
#[derive(Clone, Debug)]
pub enum Passing {
    /// A rule by its name.
    Named(&'static str),
    /// A matrix in the file.
    Matrix(Arc<SparseMatrix>),
    /// A polynomial of one of these; the coefficients are read from the text beside them.
    Polynomial(Box<Passing>, Vec<(f64, String)>),
}

/// One term.
#[derive(Clone, Debug)]
pub struct Term {
    /// What it reads.
    pub source: Source,
    /// How it passes messages.
    pub passing: Passing,
    /// Inputs × outputs, row after row; none: what is read is passed on as it is.
    pub weight: Option<Vec<f64>>,
}

/// One layer.
#[derive(Clone, Debug)]
pub struct Layer {
    pub terms: Vec<Term>,
    /// One number for each unit, or one for each node and unit.
    pub bias: Option<Vec<f64>>,
    /// Units without activation.
    pub linear: Vec<bool>,
    /// Number of units.
    pub outputs: usize,
}

/// A network; the last layer is the output.
#[derive(Clone, Debug)]
pub struct Description {
    /// Number of attributes.
    pub attributes: usize,
    /// The layers; each reads only earlier ones.
    pub layers: Vec<Layer>,
}

impl Description {
    /// How many numbers a term reads.
    pub fn inputs(&self, term: &Term) -> usize {
        match term.source {
            Source::Attributes => self.attributes,
            Source::Layer(at) => self.layers[at].outputs,
        }
    }

    /// The matrices, each once.
    pub fn matrices(&self) -> Vec<Arc<SparseMatrix>> {
        let mut all: Vec<Arc<SparseMatrix>> = Vec::new();
        for term in self.layers.iter().flat_map(|layer| &layer.terms) {
            let base = match &term.passing {
                Passing::Polynomial(base, _) => base,
                other => other,
            };
            if let Passing::Matrix(matrix) = base
                && !all.iter().any(|known| Arc::ptr_eq(known, matrix))
            {
                all.push(matrix.clone());
            }
        }
        all
    }

    /// The text of the key `gcnproof.network`.
    pub fn text(&self) -> String {
        let matrices = self.matrices();
        let layer = |(at, layer): (usize, &Layer)| {
            let term = |(k, term): (usize, &Term)| {
                let from = match term.source {
                    Source::Attributes => "x".to_string(),
                    Source::Layer(at) => format!("h{at}"),
                };
                let mut text = json!({ "from": from, "operator": rule(&term.passing, &matrices) });
                if term.weight.is_some() {
                    text["weight"] = json!(format!("w{at}.{k}"));
                }
                text
            };
            let terms: Vec<Value> = layer.terms.iter().enumerate().map(term).collect();
            let name = |linear: &bool| if *linear { "none" } else { "relu" };
            let activation = match layer.linear.iter().all(|linear| *linear == layer.linear[0]) {
                true => json!(name(&layer.linear[0])),
                false => json!(layer.linear.iter().map(name).collect::<Vec<_>>()),
            };
            let mut text = json!({ "name": format!("h{at}"), "activation": activation, "terms": terms });
            if layer.bias.is_some() {
                text["bias"] = json!(format!("b{at}"));
            }
            text
        };
        let layers: Vec<Value> = self.layers.iter().enumerate().map(layer).collect();
        let output = format!("h{}", self.layers.len() - 1);
        json!({ "version": 1, "output": output, "layers": layers }).to_string()
    }

    /// The model as the program reads it.
    ///
    /// # Errors
    /// If the description is refused.
    pub fn model(&self) -> Result<ModelFile, FileError> {
        describe_model("model", &self.text(), &self.tensors())
    }

    /// All tensors.
    pub fn tensors(&self) -> Tensors {
        let mut tensors = Tensors::default();
        for (at, layer) in self.layers.iter().enumerate() {
            for (k, term) in layer.terms.iter().enumerate() {
                if let Some(weight) = &term.weight {
                    tensors.put_floats(format!("w{at}.{k}"), vec![self.inputs(term), layer.outputs], weight.clone());
                }
            }
            if let Some(bias) = &layer.bias {
                let rows = bias.len() / layer.outputs;
                let shape = if rows == 1 { vec![layer.outputs] } else { vec![rows, layer.outputs] };
                tensors.put_floats(format!("b{at}"), shape, bias.clone());
            }
        }
        for (number, matrix) in self.matrices().iter().enumerate() {
            let offsets = matrix.offsets.iter().map(|&at| at as u64).collect();
            let indices = matrix.indices.iter().map(|&at| u64::from(at)).collect();
            tensors.put_integers(format!("a{number}.indptr"), offsets);
            tensors.put_integers(format!("a{number}.indices"), indices);
            tensors.put_floats(format!("a{number}.data"), vec![matrix.values.len()], matrix.values.clone());
        }
        tensors
    }
}

/// What the description calls an operator.
fn rule(passing: &Passing, matrices: &[Arc<SparseMatrix>]) -> String {
    match passing {
        Passing::Named(name) => name.to_string(),
        Passing::Matrix(matrix) => {
            let number = matrices.iter().position(|known| Arc::ptr_eq(known, matrix)).unwrap_or(0);
            format!("matrix:a{number}")
        }
        Passing::Polynomial(base, coefficients) => {
            let texts: Vec<&str> = coefficients.iter().map(|(_, text)| text.as_str()).collect();
            format!("poly({};{})", rule(base, matrices), texts.join(","))
        }
    }
}

enum TensorValues {
    Floats(Vec<f64>),
    Integers(Vec<u64>),
}

/// Named tensors.
#[derive(Default)]
pub struct Tensors(Vec<(String, Vec<usize>, TensorValues)>);

impl Tensors {
    fn put_floats(&mut self, name: String, shape: Vec<usize>, values: Vec<f64>) {
        self.0.push((name, shape, TensorValues::Floats(values)));
    }

    fn put_integers(&mut self, name: String, values: Vec<u64>) {
        self.0.push((name, vec![values.len()], TensorValues::Integers(values)));
    }

    fn find(&self, name: &str) -> Option<&(String, Vec<usize>, TensorValues)> {
        self.0.iter().find(|tensor| tensor.0 == name)
    }

    /// A safetensors file with these tensors and a description.
    pub fn file(&self, description: &str) -> Vec<u8> {
        let mut header = Map::new();
        header.insert("__metadata__".into(), json!({ "gcnproof.network": description }));
        let mut data: Vec<u8> = Vec::new();
        for (name, shape, numbers) in &self.0 {
            let start = data.len();
            let dtype = match numbers {
                TensorValues::Floats(values) => {
                    values.iter().for_each(|x| data.extend(x.to_le_bytes()));
                    "F64"
                }
                TensorValues::Integers(values) => {
                    values.iter().for_each(|x| data.extend((*x as i64).to_le_bytes()));
                    "I64"
                }
            };
            header.insert(name.clone(), json!({ "dtype": dtype, "shape": shape, "data_offsets": [start, data.len()] }));
        }
        let mut text = Value::Object(header).to_string().into_bytes();
        text.resize(text.len().next_multiple_of(8), b' ');
        [&(text.len() as u64).to_le_bytes()[..], &text, &data].concat()
    }
}

impl TensorSource for Tensors {
    fn names(&self) -> Vec<String> {
        self.0.iter().map(|tensor| tensor.0.clone()).collect()
    }

    fn shape(&self, name: &str) -> Vec<usize> {
        self.find(name).map(|tensor| tensor.1.clone()).unwrap_or_default()
    }

    fn values(&self, name: &str, turned: bool) -> Result<(Vec<f64>, Precision), String> {
        match self.find(name) {
            Some((_, _, TensorValues::Floats(values))) if !turned => Ok((values.clone(), Precision::F64)),
            _ => Err(format!("{name}: no such floats")),
        }
    }

    fn integers(&self, name: &str) -> Result<Vec<u64>, String> {
        match self.find(name) {
            Some((_, _, TensorValues::Integers(values))) => Ok(values.clone()),
            _ => Err(format!("{name}: no such integers")),
        }
    }
}
