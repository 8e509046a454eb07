//! A described network in one kind of number: all logits of a component after some flips.

use std::ops::Range;

use crate::exact::{Number, least_exponent, parts};
use crate::operator::Rows;
use crate::terms::case::TermCase;
use crate::terms::description::Source;

struct Term<N> {
    source: Source,
    /// Entries, row by row.
    entries: Vec<Vec<(usize, N)>>,
    /// Inputs × outputs.
    weight: Vec<N>,
    inputs: usize,
}

struct Layer<N> {
    terms: Vec<Term<N>>,
    bias: Vec<N>,
    by_node: bool,
    linear: Vec<bool>,
    outputs: usize,
}

/// The network; integers stand for themselves times a power of two.
pub struct TermNetwork<N> {
    layers: Vec<Layer<N>>,
    /// The exponent of the logits.
    pub exponent: i32,
}

/// At which exponents all numbers are integers, and how large they get.
pub struct Scale {
    /// Of every layer: the exponent of its results, and of the entries of each of its terms.
    exponents: Vec<(i32, Vec<i32>)>,
    /// A bound of the bits of every intermediate integer.
    pub bits: f64,
    /// Are all numbers so ordinary that floats neither overflow nor underflow?
    pub moderate: bool,
}

/// The weights of a term; those of one that passes everything on.
fn weight(case: &TermCase, layer: usize, term: usize) -> Vec<f64> {
    let of = &case.network.layers[layer];
    let outputs = of.outputs;
    of.terms[term]
        .weight
        .clone()
        .unwrap_or_else(|| (0..outputs * outputs).map(|at| f64::from(u8::from(at / outputs == at % outputs))).collect())
}

impl Scale {
    /// Of a case and the entries of its terms.
    pub fn new(case: &TermCase, operators: &[Vec<Rows>]) -> Scale {
        let mut scale = Scale { exponents: Vec::new(), bits: 0.0, moderate: true };
        let bits = |x: f64, exponent: i32| match parts(x) {
            (0, _) => 0.0,
            (mantissa, own) => (mantissa.unsigned_abs() as f64).log2() + f64::from(own - exponent) + 0.01,
        };
        let usual = |x: f64| x == 0.0 || (2f64.powi(-60)..2f64.powi(60)).contains(&x.abs());
        let mut sizes: Vec<f64> = Vec::new();
        for (at, layer) in case.network.layers.iter().enumerate() {
            let below = |source: Source| match source {
                Source::Attributes => (0, 0.0),
                Source::Layer(at) => (scale.exponents[at].0, sizes[at]),
            };
            let entry = |k: usize| least_exponent(operators[at][k].iter().flatten().map(|entry| entry.1)).unwrap_or(0);
            let entries: Vec<i32> = (0..layer.terms.len()).map(entry).collect();
            let weights: Vec<Vec<f64>> = (0..layer.terms.len()).map(|k| weight(case, at, k)).collect();
            let bias = layer.bias.iter().flatten().copied();
            let own = |(k, term): (usize, &crate::terms::description::Term)| {
                let weight = least_exponent(weights[k].iter().copied()).unwrap_or(0);
                entries[k] + weight + below(term.source).0
            };
            let of_terms = layer.terms.iter().enumerate().map(own);
            let result = of_terms.chain(least_exponent(bias.clone())).min().unwrap_or(0);
            let mut size = bias.clone().map(|b| bits(b, result)).fold(0.0, f64::max);
            for (k, term) in layer.terms.iter().enumerate() {
                let (exponent, source) = below(term.source);
                let largest = |values: &mut dyn Iterator<Item = f64>, exponent| {
                    values.map(|x| bits(x, exponent)).fold(0.0, f64::max)
                };
                let rows = &operators[at][k];
                let longest = rows.iter().map(Vec::len).max().unwrap_or(1).max(1) as f64;
                let inputs = (weights[k].len() / layer.outputs).max(1) as f64;
                let sent =
                    source + inputs.log2() + largest(&mut weights[k].iter().copied(), result - entries[k] - exponent);
                let received =
                    sent + longest.log2() + largest(&mut rows.iter().flatten().map(|entry| entry.1), entries[k]);
                size = size.max(received);
                scale.moderate &= rows.iter().flatten().all(|entry| usual(entry.1));
                scale.moderate &= weights[k].iter().all(|&w| usual(w));
            }
            scale.moderate &= bias.clone().all(usual);
            let size = size + ((layer.terms.len() + 1) as f64).log2() + 1.0;
            scale.bits = scale.bits.max(size + 1.0);
            sizes.push(size);
            scale.exponents.push((result, entries));
        }
        scale
    }
}

impl<N: Number> TermNetwork<N> {
    /// The network of a case at these exponents.
    pub fn new(case: &TermCase, operators: &[Vec<Rows>], scale: &Scale) -> TermNetwork<N> {
        let below = |source: Source| match source {
            Source::Attributes => 0,
            Source::Layer(at) => scale.exponents[at].0,
        };
        let layer = |(at, layer): (usize, &crate::terms::description::Layer)| {
            let (result, entries) = &scale.exponents[at];
            let term = |(k, term): (usize, &crate::terms::description::Term)| {
                let exponent = result - entries[k] - below(term.source);
                let row = |row: &Vec<(usize, f64)>| row.iter().map(|&(n, a)| (n, N::scaled(a, entries[k]))).collect();
                Term {
                    source: term.source,
                    entries: operators[at][k].iter().map(row).collect(),
                    weight: weight(case, at, k).into_iter().map(|w| N::scaled(w, exponent)).collect(),
                    inputs: case.network.inputs(term),
                }
            };
            let bias = layer.bias.clone().unwrap_or_else(|| vec![0.0; layer.outputs]);
            Layer {
                terms: layer.terms.iter().enumerate().map(term).collect(),
                by_node: bias.len() > layer.outputs,
                bias: bias.into_iter().map(|b| N::scaled(b, *result)).collect(),
                linear: layer.linear.clone(),
                outputs: layer.outputs,
            }
        };
        let layers = case.network.layers.iter().enumerate().map(layer).collect();
        TermNetwork { layers, exponent: scale.exponents.last().map_or(0, |last| last.0) }
    }

    /// The values of all layers for all nodes of a component with these attributes (nodes × attributes).
    pub fn values(&self, range: &Range<usize>, attributes: &[bool]) -> Vec<Vec<N>> {
        let mut values: Vec<Vec<N>> = Vec::with_capacity(self.layers.len());
        for layer in &self.layers {
            let mut sums = self.layer_sums(layer, range, attributes, &values);
            for row in sums.chunks_exact_mut(layer.outputs) {
                row.iter_mut().zip(&layer.linear).filter(|unit| !*unit.1).for_each(|unit| unit.0.rectify());
            }
            values.push(sums);
        }
        values
    }

    /// What a layer sums up, before its activation.
    pub fn sums(&self, range: &Range<usize>, attributes: &[bool], at: usize) -> Vec<N> {
        let values = self.values(range, attributes);
        self.layer_sums(&self.layers[at], range, attributes, &values)
    }

    fn layer_sums(&self, layer: &Layer<N>, range: &Range<usize>, attributes: &[bool], values: &[Vec<N>]) -> Vec<N> {
        let width = layer.outputs;
        let mut sums: Vec<N> = Vec::with_capacity(range.len() * width);
        for node in range.clone() {
            let from = if layer.by_node { node * width } else { 0 };
            sums.extend(layer.bias[from..from + width].iter().cloned());
        }
        for term in &layer.terms {
            let sent = self.sent(term, range, attributes, values, width);
            for (at, node) in range.clone().enumerate() {
                for (n, a) in &term.entries[node] {
                    for j in 0..width {
                        sums[at * width + j].add_product(a, &sent[(n - range.start) * width + j]);
                    }
                }
            }
        }
        sums
    }

    /// `H W` of a term.
    fn sent(
        &self,
        term: &Term<N>,
        range: &Range<usize>,
        attributes: &[bool],
        values: &[Vec<N>],
        width: usize,
    ) -> Vec<N> {
        let mut sent = vec![N::zero(); range.len() * width];
        for at in 0..range.len() {
            for i in 0..term.inputs {
                let weights = &term.weight[i * width..][..width];
                match term.source {
                    Source::Attributes if attributes[at * term.inputs + i] => {
                        (0..width).for_each(|j| sent[at * width + j].add(&weights[j]));
                    }
                    Source::Layer(of) if !values[of][at * term.inputs + i].is_zero() => {
                        let h = &values[of][at * term.inputs + i];
                        (0..width).for_each(|j| sent[at * width + j].add_product(h, &weights[j]));
                    }
                    _ => {}
                }
            }
        }
        sent
    }

    /// The logits of a component with these attributes.
    pub fn logits(&self, range: &Range<usize>, attributes: &[bool]) -> Vec<N> {
        self.values(range, attributes).pop().unwrap_or_default()
    }
}

impl TermNetwork<f64> {
    /// A bound of every logit of a component if all numbers were taken without their signs: the scale of rounding errors.
    pub fn magnitude(&self, range: &Range<usize>) -> f64 {
        let mut values: Vec<Vec<f64>> = Vec::new();
        for layer in &self.layers {
            let width = layer.outputs;
            let mut sums = vec![0.0; range.len() * width];
            for (at, node) in range.clone().enumerate() {
                let from = if layer.by_node { node * width } else { 0 };
                (0..width).for_each(|j| sums[at * width + j] = layer.bias[from + j].abs());
                for term in &layer.terms {
                    for (n, a) in &term.entries[node] {
                        for i in 0..term.inputs {
                            let h = match term.source {
                                Source::Attributes => 1.0,
                                Source::Layer(of) => values[of][(n - range.start) * term.inputs + i],
                            };
                            for j in 0..width {
                                sums[at * width + j] += a.abs() * h * term.weight[i * width + j].abs();
                            }
                        }
                    }
                }
            }
            values.push(sums);
        }
        values.last().into_iter().flatten().fold(0.0, |most: f64, x| most.max(*x))
    }
}
