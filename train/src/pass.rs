//! The true network, forward and in reverse: `Ĥ(l+1) = A H W + b`, with dropout on the inputs of every layer.
//!
//! In reverse, with `G(l) = ∂loss/∂Ĥ(l)` and `P = A(l)ᵀ G(l+1)`,
//!
//! ```text
//! ∂b(l) = Σ_m G(l+1)_m,    ∂W(l) = H(l)ᵀ P,    G(l) += [Ĥ(l) > 0] ∘ (P W(l)ᵀ)
//! ```
//!
//! At `Ĥ = 0` the derivative of the ReLU is taken as 0. Every sum runs in an order that does not depend on the threads.

use gcnproof::internals::problem::graph::Graph;
use gcnproof::internals::problem::matrix::{MatrixRows, Pattern, PatternRows, SparseMatrix, transpose};
use gcnproof::internals::problem::network::Network;
use rayon::prelude::*;

use super::gradient::{Gradient, add_scaled, dot};
use super::random::SeededRandom;
use super::receptive_field::ReceptiveField;

/// Which inputs are dropped: each with the same probability, the others scaled up in return.
#[derive(Clone, Copy, Debug)]
pub struct Dropout {
    /// Probability of being dropped.
    pub rate: f64,
    /// Decides which.
    pub chance: SeededRandom,
}

impl Dropout {
    /// The factor of unit `unit` of node `node` in the input of layer `l`.
    #[inline]
    pub(super) fn factor(&self, l: usize, node: usize, unit: usize) -> f64 {
        if self.chance.of(l as u64).of(((node as u64) << 32) | unit as u64).unit() < self.rate {
            0.0
        } else {
            1.0 / (1.0 - self.rate)
        }
    }
}

/// What depends on the graph and the message passing alone.
#[derive(Clone, Debug)]
pub struct Transposed {
    /// Attribute → nodes.
    attributes: Pattern,
    /// `A(l)ᵀ`.
    passing: Vec<SparseMatrix>,
}

impl Transposed {
    /// Turns the matrices over.
    pub fn new(graph: &Graph, network: &Network) -> Transposed {
        Transposed {
            attributes: transpose(graph.attributes()),
            passing: network.layers().iter().map(|layer| transpose(&layer.passing.operator(0))).collect(),
        }
    }

    /// `A(l)ᵀ`.
    pub fn passing(&self, l: usize) -> &SparseMatrix {
        &self.passing[l - 1]
    }
}

/// The pre-activations of one forward pass; rows outside the reach are zero.
#[derive(Clone, Debug)]
pub struct Pass {
    dropout: Option<Dropout>,
    widths: Vec<usize>,
    values: Vec<Vec<f64>>,
}

impl Pass {
    /// Runs the network on what the reach needs.
    pub fn forward(graph: &Graph, network: &Network, reach: &ReceptiveField, dropout: Option<Dropout>) -> Pass {
        let mut pass = Pass { dropout, widths: Vec::new(), values: Vec::new() };
        for (index, layer) in network.layers().iter().enumerate() {
            let (l, width) = (index + 1, layer.weight.columns());
            let mut sent = vec![0.0; graph.node_count() * width];
            sent.par_chunks_mut(width).enumerate().filter(|(n, _)| reach.needs(l, *n)).for_each(|(n, row)| {
                pass.inputs(graph, l, n, |unit, h| add_scaled(row, h, layer.weight.row(unit)));
            });
            let mut value = vec![0.0; graph.node_count() * width];
            value.par_chunks_mut(width).enumerate().filter(|(m, _)| reach.needs(l + 1, *m)).for_each(|(m, row)| {
                row.copy_from_slice(layer.bias.values());
                let (columns, entries) = layer.passing.single_row(m);
                for (&n, &a) in columns.iter().zip(entries) {
                    add_scaled(row, a, &sent[n as usize * width..][..width]);
                }
            });
            pass.widths.push(width);
            pass.values.push(value);
        }
        pass
    }

    /// The non-zero inputs of layer `l` at a node, after dropout.
    #[inline]
    fn inputs(&self, graph: &Graph, l: usize, node: usize, mut take: impl FnMut(usize, f64)) {
        let mut take = |unit: usize, h: f64| match self.dropout {
            None => take(unit, h),
            Some(dropout) => match dropout.factor(l, node, unit) {
                0.0 => (),
                factor => take(unit, factor * h),
            },
        };
        if l == 1 {
            graph.attributes().row(node).iter().for_each(|&d| take(d as usize, 1.0));
        } else {
            self.row(l, node).iter().enumerate().filter(|(_, z)| **z > 0.0).for_each(|(i, &z)| take(i, z));
        }
    }

    /// `Ĥ(l)` of a node.
    #[inline]
    pub fn row(&self, l: usize, node: usize) -> &[f64] {
        let width = self.widths[l - 2];
        &self.values[l - 2][node * width..][..width]
    }

    /// The class with the largest logit, the first among equals.
    pub fn predicted(&self, node: usize) -> usize {
        let logits = self.row(self.widths.len() + 1, node);
        (1..logits.len()).fold(0, |best, k| if logits[k] > logits[best] { k } else { best })
    }

    /// Zeros like the pre-activations: `upstream[l − 2]` is `∂loss/∂Ĥ(l)`.
    pub fn upstream(&self) -> Vec<Vec<f64>> {
        self.values.iter().map(|values| vec![0.0; values.len()]).collect()
    }

    /// Takes `∂loss/∂Ĥ(l)` of every representation, as far as the loss depends on it directly, to the parameters.
    pub fn reverse(
        &self,
        graph: &Graph,
        network: &Network,
        transposed: &Transposed,
        reach: &ReceptiveField,
        mut upstream: Vec<Vec<f64>>,
        gradient: &mut Gradient,
    ) {
        for (index, layer) in network.layers().iter().enumerate().rev() {
            let (l, width, inputs) = (index + 1, layer.weight.columns(), layer.weight.rows());
            let above = std::mem::take(&mut upstream[index]);
            for &m in reach.nodes(l + 1) {
                add_scaled(&mut gradient.bias[index], 1.0, &above[m as usize * width..][..width]);
            }
            let mut sent = vec![0.0; graph.node_count() * width];
            sent.par_chunks_mut(width).enumerate().filter(|(n, _)| reach.needs(l, *n)).for_each(|(n, row)| {
                let (columns, entries) = transposed.passing(l).row(n);
                for (&m, &a) in columns.iter().zip(entries) {
                    add_scaled(row, a, &above[m as usize * width..][..width]);
                }
            });
            let sent_by = |n: usize| &sent[n * width..][..width];
            let weight = &mut gradient.weight[index];
            if l == 1 {
                weight.par_chunks_mut(width).enumerate().for_each(|(d, row)| {
                    for &n in transposed.attributes.row(d).iter().filter(|&&n| reach.needs(1, n as usize)) {
                        let factor = self.dropout.map_or(1.0, |dropout| dropout.factor(1, n as usize, d));
                        add_scaled(row, factor, sent_by(n as usize));
                    }
                });
                return;
            }
            for &n in reach.nodes(l) {
                let n = n as usize;
                self.inputs(graph, l, n, |i, h| add_scaled(&mut weight[i * width..][..width], h, sent_by(n)));
            }
            let rows = upstream[index - 1].par_chunks_mut(inputs).enumerate();
            rows.filter(|(n, _)| reach.needs(l, *n)).for_each(|(n, row)| {
                for (i, (slot, &z)) in row.iter_mut().zip(self.row(l, n)).enumerate() {
                    if z > 0.0 {
                        let factor = self.dropout.map_or(1.0, |dropout| dropout.factor(l, n, i));
                        *slot += factor * dot(layer.weight.row(i), sent_by(n));
                    }
                }
            });
        }
    }
}
