//! At which exponents all numbers of a network are integers, and how large these get.

use crate::exact::{Number, least_exponent, parts};
use crate::network::{Network, NumericLayer, NumericTerm, RowScale, Source};

/// The exponents of one layer.
pub struct LayerScale {
    /// Of what it gives, and so of its bias.
    pub result: i32,
    /// Of the entries and the weights of each term.
    pub terms: Vec<[i32; 2]>,
}

/// At which exponents all numbers are integers, and how many bits the largest has.
pub struct Scale {
    /// Of the entries of rows of attributes.
    pub attributes: i32,
    /// Layer by layer.
    pub layers: Vec<LayerScale>,
    /// A bound of the bits of every intermediate integer.
    pub bits: f64,
    /// Are all numbers so ordinary that floats neither overflow nor underflow?
    pub moderate: bool,
}

/// A bound of the bits of a number at an exponent.
pub fn bits(x: f64, exponent: i32) -> f64 {
    match parts(x) {
        (0, _) => 0.0,
        (mantissa, own) => (mantissa.unsigned_abs() as f64).log2() + f64::from(own - exponent) + 0.01,
    }
}

/// The most bits of some numbers at an exponent.
pub fn largest<'a>(values: impl IntoIterator<Item = &'a f64>, exponent: i32) -> f64 {
    values.into_iter().map(|&x| bits(x, exponent)).fold(0.0, f64::max)
}

/// Is a number so ordinary that products of a few neither overflow nor underflow?
pub fn usual(x: &f64) -> bool {
    *x == 0.0 || (2f64.powi(-60)..2f64.powi(60)).contains(&x.abs())
}

impl Scale {
    /// Of a network.
    pub fn new(network: &Network<f64>) -> Scale {
        let attributes = |layer: &NumericLayer<f64>| {
            let terms = layer.terms.iter().filter(|term| term.source == Source::Attributes);
            terms.map(|term| term.inputs).max().unwrap_or(0)
        };
        let most = network.layers.iter().map(attributes).max().unwrap_or(0);
        let attributes = network.rows.least_exponent(most);
        let mut scale = Scale { attributes, layers: Vec::new(), bits: 0.0, moderate: true };
        // log2 of a bound of the integers of each layer.
        let mut sizes: Vec<f64> = Vec::new();
        for layer in &network.layers {
            let below = |source: Source| match source {
                // Entries are at most 1.
                Source::Attributes => (scale.attributes, -f64::from(scale.attributes)),
                Source::Layer(at) => (scale.layers[at].result, sizes[at]),
            };
            let entries = |term: usize| layer.terms[term].entries.iter().flatten().map(|entry| &entry.1);
            let least = |term: usize| least_exponent(entries(term).copied()).unwrap_or(0);
            let least: Vec<i32> = (0..layer.terms.len()).map(least).collect();
            let own = layer.terms.iter().zip(&least).map(|(term, entry)| {
                entry + least_exponent(term.weight.iter().copied()).unwrap_or(0) + below(term.source).0
            });
            let result = own.chain(least_exponent(layer.bias.iter().copied())).min().unwrap_or(0);
            let mut size = largest(&layer.bias, result);
            let mut terms = Vec::with_capacity(least.len());
            for (k, term) in layer.terms.iter().enumerate() {
                let (exponent, read) = below(term.source);
                let weight = result - least[k] - exponent;
                let longest = term.entries.iter().map(Vec::len).max().unwrap_or(1).max(1) as f64;
                let sent = read + (term.inputs.max(1) as f64).log2() + largest(&term.weight, weight);
                size = size.max(sent + longest.log2() + largest(entries(k), least[k]));
                scale.moderate &= entries(k).chain(&term.weight).all(usual);
                terms.push([least[k], weight]);
            }
            scale.moderate &= layer.bias.iter().all(usual);
            size += ((terms.len() + 1) as f64).log2();
            scale.bits = scale.bits.max(size + 1.0);
            sizes.push(size);
            scale.layers.push(LayerScale { result, terms });
        }
        scale
    }
}

impl Network<f64> {
    /// The same network in another kind of number.
    pub fn scaled<N: Number>(&self, scale: &Scale) -> Network<N> {
        let layers = self.layers.iter().zip(&scale.layers).map(|(layer, exponents)| {
            let term = |(term, &[entry, weight]): (&NumericTerm<f64>, &[i32; 2])| {
                let row = |row: &Vec<(usize, f64)>| row.iter().map(|&(n, a)| (n, N::scaled(a, entry))).collect();
                NumericTerm {
                    source: term.source,
                    entries: term.entries.iter().map(row).collect(),
                    weight: term.weight.iter().map(|&w| N::scaled(w, weight)).collect(),
                    inputs: term.inputs,
                }
            };
            NumericLayer {
                terms: layer.terms.iter().zip(&exponents.terms).map(term).collect(),
                bias: layer.bias.iter().map(|&b| N::scaled(b, exponents.result)).collect(),
                linear: layer.linear.clone(),
                outputs: layer.outputs,
            }
        });
        Network {
            layers: layers.collect(),
            exponent: scale.layers.last().map_or(0, |last| last.result),
            rows: RowScale { exponent: scale.attributes, ..self.rows },
        }
    }
}
