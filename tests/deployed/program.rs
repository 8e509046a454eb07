//! Random programs as frameworks have them, and what their model files describe: skips from any layer and from `x`,
//! several terms with one operator, sums of convolutions, linear units, two linear layers in a row, BatchNorm.

use std::collections::BTreeMap;

use gcnproof::sprs::CsMatI;
use gcnproof::{Graph, Network, Operator};
use gcnproof_files::{ModelFile, Precision, TensorSource, describe_model};
use gcnproof_verify::random::Stream;
use serde_json::{Value, json};

pub type Matrix = Vec<Vec<f64>>;

/// What a term multiplies by.
pub enum Weights {
    Plain(Matrix),
    /// A linear layer without activation, its bias (where no messages are passed), and another one.
    Composed(Matrix, Option<Vec<f64>>, Matrix),
    /// Nothing: what is read is passed on.
    Nothing,
}

pub struct Term {
    /// A layer before, or the attributes.
    pub source: Option<usize>,
    pub rule: &'static str,
    /// The operator, dense.
    pub entries: Matrix,
    pub weights: Weights,
}

/// `s·(z − mean) + shift`.
pub struct Norm {
    pub scale: Vec<f64>,
    pub mean: Vec<f64>,
    pub shift: Vec<f64>,
}

pub struct Layer {
    pub terms: Vec<Term>,
    pub bias: Vec<f64>,
    pub norm: Option<Norm>,
    pub linear: Vec<bool>,
}

impl Layer {
    pub fn outputs(&self) -> usize {
        self.bias.len()
    }
}

/// Layers that read earlier ones; the last has the logits.
pub struct Program {
    pub layers: Vec<Layer>,
}

const RULES: [&str; 9] =
    ["identity", "gcn", "mean", "sum", "sum", "sum+self", "mean+self", "gcn-self", "poly(gcn;0.25,0,0.75)"];

fn dense(operator: &Operator, graph: &Graph) -> Matrix {
    let matrix: &CsMatI<f64, u32, usize> = &operator.matrix(graph);
    let mut rows = vec![vec![0.0; graph.node_count()]; graph.node_count()];
    matrix.iter().for_each(|(value, (i, j))| rows[i as usize][j as usize] = *value);
    rows
}

fn single(x: f64) -> f64 {
    f64::from(x as f32)
}

/// A matrix of float32 numbers; often with rows that nearly cancel each other.
fn matrix(random: &mut Stream, rows: usize, columns: usize) -> Matrix {
    let scale = 10f64.powi(random.below(3) as i32 - 1);
    let mut matrix: Matrix = (0..rows).map(|_| (0..columns).map(|_| single(random.real() * scale)).collect()).collect();
    if rows > 1 && random.chance(60) {
        for i in (1..rows).step_by(2) {
            matrix[i] = matrix[i - 1].iter().map(|value| single(-value * (1.0 + 1e-3 * random.real()))).collect();
        }
    }
    matrix
}

fn numbers(random: &mut Stream, count: usize) -> Vec<f64> {
    (0..count).map(|_| if random.chance(20) { 0.0 } else { single(random.real()) }).collect()
}

impl Program {
    pub fn draw(random: &mut Stream, graph: &Graph) -> Program {
        let (depth, attributes) = (1 + random.below(4), graph.attribute_count());
        let mut layers: Vec<Layer> = Vec::new();
        let mut read = vec![false; depth];
        for at in 0..depth {
            let last = at + 1 == depth;
            let outputs = if last { 2 } else { 1 + random.below(3) };
            let mut sources: Vec<Option<usize>> =
                (0..1 + random.below(3)).map(|_| Some(random.below(at + 1)).filter(|&of| of < at)).collect();
            if last {
                // The logits depend on every layer.
                sources.extend((0..at).filter(|&of| !read[of]).map(Some));
            }
            sources.iter().flatten().for_each(|&of| read[of] = true);
            let (common, share) = (RULES[random.below(RULES.len())], random.chance(50));
            let draw = |random: &mut Stream, source: Option<usize>| {
                let rule = if share { common } else { RULES[random.below(RULES.len())] };
                let inputs = source.map_or(attributes, |of| layers[of].outputs());
                let weights = match random.below(8) {
                    0 if source.is_some() && inputs == outputs => Weights::Nothing,
                    1 | 2 => {
                        let between = 1 + random.below(4);
                        let bias = (rule == "identity").then(|| numbers(random, between));
                        Weights::Composed(matrix(random, inputs, between), bias, matrix(random, between, outputs))
                    }
                    _ => Weights::Plain(matrix(random, inputs, outputs)),
                };
                Term { source, rule, entries: dense(&rule.parse().unwrap(), graph), weights }
            };
            let mut terms: Vec<Term> = sources.into_iter().map(|source| draw(random, source)).collect();
            let mut bias = numbers(random, outputs);
            let norm = (!last && random.chance(30)).then(|| Norm {
                scale: numbers(random, outputs),
                mean: numbers(random, outputs),
                shift: numbers(random, outputs),
            });
            if last && random.chance(50) {
                // Classes that nearly agree.
                bias[1] = bias[0];
                for term in &mut terms {
                    if let Weights::Plain(weights) | Weights::Composed(_, _, weights) = &mut term.weights {
                        weights.iter_mut().for_each(|row| row[1] = single(row[0] * (1.0 + 1e-6 * random.real())));
                    }
                }
            }
            let linear = (0..outputs).map(|_| last || random.chance(25)).collect();
            layers.push(Layer { terms, bias, norm, linear });
        }
        Program { layers }
    }

    /// Was nothing folded?
    pub fn is_plain(&self) -> bool {
        let plain = |term: &Term| !matches!(term.weights, Weights::Composed(..));
        self.layers.iter().all(|layer| layer.norm.is_none() && layer.terms.iter().all(plain))
    }

    /// What a model file says of the program, with everything folded (docs/model-format.md); and the chain of the same
    /// values alone.
    pub fn described(&self, graph: &Graph) -> [Network; 2] {
        let mut tensors = Tensors::default();
        let layers: Vec<Value> = self.layers.iter().enumerate().map(|(at, layer)| tensors.layer(at, layer)).collect();
        let output = format!("h{}", self.layers.len() - 1);
        let text = json!({ "version": 1, "output": output, "layers": layers }).to_string();
        let model = describe_model("program", &text, &tensors).unwrap();
        let chain = ModelFile { described: None, ..model.clone() };
        [model, chain].map(|model| Network::from_file(model, &[], graph).unwrap())
    }

    /// Logits in f64, in plain loops; and for each the sum of the sizes of all products.
    pub fn exact(&self, attributes: &[Vec<bool>]) -> Vec<Vec<f64>> {
        let x: Matrix = attributes.iter().map(|row| row.iter().map(|&x| f64::from(u8::from(x))).collect()).collect();
        let mut values: Vec<Matrix> = Vec::new();
        for layer in &self.layers {
            let node = |m: usize| -> Vec<f64> {
                let mut z = layer.bias.clone();
                for term in &layer.terms {
                    let read = term.source.map_or(&x, |of| &values[of]);
                    for (n, &a) in term.entries[m].iter().enumerate() {
                        let sent = match &term.weights {
                            Weights::Nothing => read[n].clone(),
                            Weights::Plain(weights) => product(&read[n], weights),
                            Weights::Composed(first, bias, second) => {
                                let mut between = product(&read[n], first);
                                let own = bias.iter().flatten().zip(&mut between);
                                own.for_each(|(bias, sum)| *sum += bias);
                                product(&between, second)
                            }
                        };
                        z.iter_mut().zip(sent).for_each(|(z, sent)| *z += a * sent);
                    }
                }
                for (j, z) in z.iter_mut().enumerate() {
                    if let Some(norm) = &layer.norm {
                        *z = (*z - norm.mean[j]) * norm.scale[j] + norm.shift[j];
                    }
                    *z = if layer.linear[j] { *z } else { z.max(0.0) };
                }
                z
            };
            values.push((0..x.len()).map(node).collect());
        }
        values.pop().unwrap()
    }
}

fn product(row: &[f64], weights: &Matrix) -> Vec<f64> {
    let columns = weights.first().map_or(0, Vec::len);
    (0..columns).map(|j| row.iter().zip(weights).map(|(x, w)| x * w[j]).sum()).collect()
}

/// The tensors of a description.
#[derive(Default)]
struct Tensors(BTreeMap<String, (Vec<usize>, Vec<f64>)>);

impl Tensors {
    fn put(&mut self, name: String, shape: Vec<usize>, values: Vec<f64>) -> String {
        self.0.insert(name.clone(), (shape, values));
        name
    }

    /// Products and sums of f64 numbers as the description has them; sizes are rounded up.
    fn layer(&mut self, at: usize, layer: &Layer) -> Value {
        let (outputs, up) = (layer.outputs(), 1.0 + 1e-12);
        let scale = |j: usize| layer.norm.as_ref().map_or(1.0, |norm| norm.scale[j]);
        let of_norm = if layer.norm.is_some() { 9 } else { 0 };
        let (mut bias, mut sizes) = (layer.bias.clone(), layer.bias.iter().map(|b| b.abs()).collect::<Vec<_>>());
        let mut bias_roundings = of_norm;
        let mut terms = Vec::new();
        for (k, term) in layer.terms.iter().enumerate() {
            let from = term.source.map_or("x".into(), |of| format!("h{of}"));
            let mut text = json!({ "from": from, "operator": term.rule, "roundings": of_norm });
            let name = format!("{at}.{k}");
            let scaled = |weights: Matrix| -> Vec<f64> {
                weights
                    .iter()
                    .flat_map(|row| row.iter().enumerate().map(|(j, w)| w * scale(j)).collect::<Vec<_>>())
                    .collect()
            };
            match &term.weights {
                Weights::Plain(weights) => {
                    let shape = vec![weights.len(), outputs];
                    text["weight"] = self.put(name, shape, scaled(weights.clone())).into();
                }
                Weights::Nothing if layer.norm.is_none() => {}
                Weights::Nothing => {
                    let own: Matrix =
                        (0..outputs).map(|i| (0..outputs).map(|j| f64::from(u8::from(i == j))).collect()).collect();
                    text["weight"] = self.put(name, vec![outputs, outputs], scaled(own)).into();
                }
                Weights::Composed(first, inner, second) => {
                    let shape = vec![first.len(), outputs];
                    let sizes_of = |of: &Matrix| -> Matrix {
                        of.iter().map(|row| row.iter().map(|w| w.abs()).collect()).collect()
                    };
                    let (firsts, seconds) = (sizes_of(first), sizes_of(second));
                    let composed = scaled(first.iter().map(|row| product(row, second)).collect());
                    let most = scaled(firsts.iter().map(|row| product(row, &seconds)).collect());
                    let most = most.iter().map(|m| m.abs() * up).collect();
                    text["weight"] = self.put(name.clone(), shape.clone(), composed).into();
                    text["magnitude"] = self.put(format!("{name}.magnitude"), shape, most).into();
                    text["roundings"] = (second.len() + 2 + of_norm).into();
                    if let Some(inner) = inner {
                        let own: Vec<f64> = inner.iter().map(|b| b.abs()).collect();
                        bias.iter_mut().zip(product(inner, second)).for_each(|(b, more)| *b += more);
                        sizes.iter_mut().zip(product(&own, &seconds)).for_each(|(b, more)| *b += more);
                        bias_roundings = bias_roundings.max(second.len() + 3 + of_norm);
                    }
                }
            }
            terms.push(text);
        }
        if let Some(norm) = &layer.norm {
            for j in 0..outputs {
                bias[j] = (bias[j] - norm.mean[j]) * norm.scale[j] + norm.shift[j];
                sizes[j] = (sizes[j] + norm.mean[j].abs()) * norm.scale[j].abs() + norm.shift[j].abs();
            }
        }
        let activation = |&linear: &bool| if linear { "none" } else { "relu" };
        let sizes = sizes.iter().map(|size| size * up).collect();
        json!({
            "name": format!("h{at}"),
            "activation": layer.linear.iter().map(activation).collect::<Vec<_>>(),
            "bias": self.put(format!("{at}.bias"), vec![outputs], bias),
            "bias_magnitude": self.put(format!("{at}.bias.magnitude"), vec![outputs], sizes),
            "bias_roundings": bias_roundings,
            "terms": terms,
        })
    }
}

impl TensorSource for Tensors {
    fn names(&self) -> Vec<String> {
        self.0.keys().cloned().collect()
    }

    fn shape(&self, name: &str) -> Vec<usize> {
        self.0[name].0.clone()
    }

    fn values(&self, name: &str, _turned: bool) -> Result<(Vec<f64>, Precision), String> {
        Ok((self.0[name].1.clone(), Precision::F64))
    }

    fn integers(&self, name: &str) -> Result<Vec<u64>, String> {
        Err(format!("{name} has none"))
    }
}
