//! The forward pass on the unperturbed graph, in f64 with a proven error for every entry.

use rayon::prelude::*;

use crate::number::rounding::{Enclosure, FLOOR, error_of};
use crate::problem::graph::Graph;
use crate::problem::matrix::{MatrixRows, PatternRows, SparseMatrix, Weights};
use crate::problem::network::Network;

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

    /// The errors of a node.
    pub fn errors(&self, node: usize) -> &[f64] {
        &self.error[node * self.width..][..self.width]
    }

    /// One entry.
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

/// What is summed per node before messages are passed: `H W`, `|H||W|`, and the inherited error `e|W|`.
struct Sent {
    value: Vec<f64>,
    magnitude: Vec<f64>,
    inherited: Vec<f64>,
}

/// `Ĥ(2), …, Ĥ(L)` of the whole graph (docs/math.md (1.1)).
pub fn forward(graph: &Graph, network: &Network) -> Vec<Representation> {
    let mut representations: Vec<Representation> = Vec::with_capacity(network.layers().len());
    let longest_row = (0..graph.node_count()).map(|n| graph.attributes().row(n).len()).max().unwrap_or(0);
    for layer in network.layers() {
        let (sent, terms) = match representations.last() {
            None => (send_attributes(graph, &layer.weight), longest_row),
            Some(previous) => (send_hidden(previous, &layer.weight), previous.width),
        };
        representations.push(pass(&layer.passing, &sent, &layer.bias, terms));
    }
    representations
}

/// `X W`: sums of rows of `W`.
fn send_attributes(graph: &Graph, weight: &Weights) -> Sent {
    let width = weight.columns();
    let mut sent = Sent::zeros(graph.node_count() * width);
    let attributes = graph.attributes();
    sent.value.par_chunks_mut(width).zip(sent.magnitude.par_chunks_mut(width)).enumerate().for_each(
        |(n, (value, magnitude))| {
            for &d in attributes.row(n) {
                for ((v, m), &w) in value.iter_mut().zip(magnitude.iter_mut()).zip(weight.row(d as usize)) {
                    *v += w;
                    *m += w.abs();
                }
            }
        },
    );
    sent
}

/// `relu(Ĥ) W`.
fn send_hidden(previous: &Representation, weight: &Weights) -> Sent {
    let width = weight.columns();
    let mut sent = Sent::zeros(previous.value.len() / previous.width.max(1) * width);
    let rows = sent.value.par_chunks_mut(width).zip(sent.magnitude.par_chunks_mut(width));
    rows.zip(sent.inherited.par_chunks_mut(width)).enumerate().for_each(|(n, ((value, magnitude), inherited))| {
        for (i, (&z, &e)) in previous.row(n).iter().zip(previous.errors(n)).enumerate() {
            let h = z.max(0.0);
            for (j, &w) in weight.row(i).iter().enumerate() {
                value[j] += h * w;
                magnitude[j] += h * w.abs();
                inherited[j] += e * w.abs() + f64::MIN_POSITIVE;
            }
        }
    });
    sent
}

/// `A (…) + b`. `terms` bounds the roundings that each sent value has seen.
fn pass(matrix: &SparseMatrix, sent: &Sent, bias: &[f64], terms: usize) -> Representation {
    let width = bias.len();
    let mut result =
        Representation { width, value: vec![0.0; matrix.rows() * width], error: vec![0.0; matrix.rows() * width] };
    result.value.par_chunks_mut(width).zip(result.error.par_chunks_mut(width)).enumerate().for_each(
        |(m, (value, error))| {
            value.copy_from_slice(bias);
            let mut magnitude: Vec<f64> = bias.iter().map(|b| b.abs()).collect();
            let (columns, entries) = matrix.row(m);
            for (&n, &a) in columns.iter().zip(entries) {
                let at = n as usize * width;
                for j in 0..width {
                    value[j] += a * sent.value[at + j];
                    magnitude[j] += a.abs() * sent.magnitude[at + j];
                    error[j] += a.abs() * sent.inherited[at + j];
                }
            }
            for (e, &size) in error.iter_mut().zip(&magnitude) {
                // The inherited part is a short sum of non-negative terms: a relative 1e-9 covers its own rounding.
                *e = *e * (1.0 + 1e-9) + error_of(terms + columns.len() + 2, size);
            }
        },
    );
    result
}

impl Sent {
    fn zeros(length: usize) -> Sent {
        Sent { value: vec![0.0; length], magnitude: vec![FLOOR; length], inherited: vec![0.0; length] }
    }
}
