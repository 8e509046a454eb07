//! The forward pass on the unperturbed graph, in f64 with a proven error for every entry.

use rayon::prelude::*;

use crate::number::rounding::{Enclosure, FLOOR, error_of, magnitude_of};
use crate::problem::graph::Graph;
use crate::problem::matrix::PatternRows;
use crate::problem::network::{Layer, Network};

/// The pre-activations `Ĥ(l)` of all nodes, row-major, with the error of each entry.
#[derive(Clone, Debug, Default)]
pub struct Representation {
    /// Units per node.
    pub width: usize,
    /// Computed values.
    pub value: Vec<f64>,
    /// How far each may be from the exact one.
    pub error: Vec<f64>,
}

impl Representation {
    /// The values of a node.
    pub fn row(&self, node: usize) -> &[f64] {
        &self.value[node * self.width..][..self.width]
    }

    /// How far each of the values of a node may be from the exact one.
    pub fn errors(&self, node: usize) -> &[f64] {
        &self.error[node * self.width..][..self.width]
    }

    /// A value with its error.
    pub fn entry(&self, node: usize, unit: usize) -> Enclosure {
        let at = node * self.width + unit;
        Enclosure { value: self.value[at], error: self.error[at] }
    }

    /// The class with the largest logit, where the errors leave no doubt which one it is.
    pub fn clear_maximum(&self, node: usize) -> Option<usize> {
        let best = (0..self.width).max_by(|&a, &b| self.row(node)[a].total_cmp(&self.row(node)[b]))?;
        let floor = self.entry(node, best).lower();
        (0..self.width).all(|k| k == best || self.entry(node, k).upper() < floor).then_some(best)
    }
}

/// What is summed per node and term before messages are passed: `H W_k`, `|H||W_k|`, and the inherited error `e|W_k|`.
struct SentRows {
    value: Vec<f64>,
    magnitude: Vec<f64>,
    inherited: Vec<f64>,
}

/// `Ĥ(2), …, Ĥ(L)` of the whole graph (docs/math.md (1.1)).
pub fn forward(graph: &Graph, network: &Network) -> Vec<Representation> {
    let mut representations: Vec<Representation> = Vec::with_capacity(network.layers().len());
    let attributes = |n: usize| attribute_roundings(graph, n);
    for (index, layer) in network.layers().iter().enumerate() {
        representations.push(match representations.last() {
            None => pass(layer, &send_attributes(graph, layer), attributes),
            Some(previous) => {
                let sent = send_hidden(previous, &network.layers()[index - 1], layer);
                pass(layer, &sent, |_| previous.width)
            }
        });
    }
    representations
}

/// How many roundings what a row of attributes sends has passed: one for each attribute, and one where it is normalised.
fn attribute_roundings(graph: &Graph, node: usize) -> usize {
    graph.attributes().row(node).len() + usize::from(graph.normalisation().is_some())
}

/// `X W_k`: sums of rows of `W_k`, times the entry of a normalised row.
fn send_attributes(graph: &Graph, layer: &Layer) -> SentRows {
    let (width, terms) = (layer.outputs(), layer.passing.terms());
    let mut sent = SentRows::zeros(graph.node_count() * width * terms, 0);
    let attributes = graph.attributes();
    sent.value.par_chunks_mut(width).zip(sent.magnitude.par_chunks_mut(width)).enumerate().for_each(
        |(at, (value, magnitude))| {
            let (n, first) = (at / terms, at % terms * layer.inputs());
            for &d in attributes.row(n) {
                for ((v, m), &w) in value.iter_mut().zip(magnitude.iter_mut()).zip(layer.weight.row(first + d as usize))
                {
                    *v += w;
                    *m += w.abs();
                }
            }
            if graph.normalisation().is_some() {
                let entry = graph.normalisation().entry(attributes.row(n).len());
                value.iter_mut().for_each(|v| *v *= entry);
                // The floor stands for what underflows here.
                magnitude.iter_mut().for_each(|m| *m = *m * entry + FLOOR);
            }
        },
    );
    sent
}

/// `H W_k`, where `H` is `relu(Ĥ)` but for units without activation.
fn send_hidden(previous: &Representation, below: &Layer, layer: &Layer) -> SentRows {
    let (width, terms) = (layer.outputs(), layer.passing.terms());
    let length = previous.value.len() / previous.width.max(1) * width * terms;
    let mut sent = SentRows::zeros(length, length);
    let rows = sent.value.par_chunks_mut(width).zip(sent.magnitude.par_chunks_mut(width));
    rows.zip(sent.inherited.par_chunks_mut(width)).enumerate().for_each(|(at, ((value, magnitude), inherited))| {
        let (n, first) = (at / terms, at % terms * layer.inputs());
        for (i, (&z, &e)) in previous.row(n).iter().zip(previous.errors(n)).enumerate() {
            let h = if below.is_linear(i) { z } else { z.max(0.0) };
            for (j, &w) in layer.weight.row(first + i).iter().enumerate() {
                value[j] += h * w;
                magnitude[j] += (h * w).abs();
                inherited[j] += e * w.abs() + f64::MIN_POSITIVE;
            }
        }
    });
    sent
}

/// `Σ_k A_k (…) + b`. `terms` bounds the roundings that what a node sends has seen. No node counts but those of the
/// row: on a part of the graph, values and errors are the same.
fn pass(layer: &Layer, sent: &SentRows, terms: impl Fn(usize) -> usize + Sync) -> Representation {
    let (width, count) = (layer.outputs(), layer.passing.terms());
    let rows = layer.passing.nodes();
    let mut result = Representation { width, value: vec![0.0; rows * width], error: vec![0.0; rows * width] };
    result.value.par_chunks_mut(width).zip(result.error.par_chunks_mut(width)).enumerate().for_each(
        |(m, (value, error))| {
            let bias = layer.bias.row(m);
            value.copy_from_slice(bias);
            let mut magnitude: Vec<f64> = bias.iter().map(|b| b.abs()).collect();
            let mut most = 0;
            for (n, entries) in layer.passing.row(m) {
                most = most.max(terms(n));
                for (k, &a) in entries.iter().enumerate() {
                    let at = (n * count + k) * width;
                    for j in 0..width {
                        value[j] += a * sent.value[at + j];
                        magnitude[j] += a.abs() * sent.magnitude[at + j];
                    }
                    // What attributes send is exact but for its own sum.
                    for (error, inherited) in error.iter_mut().zip(sent.inherited.iter().skip(at)) {
                        *error += a.abs() * inherited;
                    }
                }
            }
            for (e, &size) in error.iter_mut().zip(&magnitude) {
                // The inherited part is a short sum of non-negative terms: a relative 1e-9 covers its own rounding.
                *e = *e * (1.0 + 1e-9) + error_of(roundings(layer, m, most), size);
            }
        },
    );
    result
}

/// Roundings that an entry of a row passes, where what is sent has passed so many.
fn roundings(layer: &Layer, m: usize, sent: usize) -> usize {
    sent + layer.passing.terms() * layer.passing.row_length(m) + 2
}

/// `Σ_k |A_k| |X| |W_k| + |b|` of a row of `Ĥ(2)`, from above: the errors of the forward pass are proportional to it.
pub fn first_magnitudes<'a>(
    graph: &'a Graph,
    layer: &'a Layer,
    first: &'a Representation,
    m: usize,
) -> impl Iterator<Item = f64> + 'a {
    let most = layer.passing.row(m).map(|(n, _)| attribute_roundings(graph, n)).max().unwrap_or(0);
    let roundings = roundings(layer, m, most);
    first.errors(m).iter().map(move |&error| magnitude_of(roundings, error))
}

impl SentRows {
    fn zeros(length: usize, inherited: usize) -> SentRows {
        SentRows { value: vec![0.0; length], magnitude: vec![FLOOR; length], inherited: vec![0.0; inherited] }
    }
}
