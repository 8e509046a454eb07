//! The true network, forward and in reverse: `Ĥ(l+1) = Σ_k A_k H W_k + b`, with dropout on the inputs of every layer.
//!
//! In reverse, with `G(l) = ∂loss/∂Ĥ(l)` and `P_k = A_k(l)ᵀ G(l+1)`,
//!
//! ```text
//! ∂b(l) = Σ_m G(l+1)_m,    ∂W_k(l) = H(l)ᵀ P_k,    G(l) += [Ĥ(l) > 0] ∘ Σ_k P_k W_k(l)ᵀ
//! ```
//!
//! without the bracket where a unit has no activation. At `Ĥ = 0` the derivative of the ReLU is taken as 0. Every sum
//! runs in an order that does not depend on the threads.

use std::sync::Arc;

use gcnproof::internals::problem::graph::Graph;
use gcnproof::internals::problem::matrix::{Pattern, PatternRows, transpose};
use gcnproof::internals::problem::network::Network;
use gcnproof::internals::problem::passing::Passing;
use rayon::prelude::*;

use super::gradient::{Gradient, add_scaled, bias_row, dot};
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
    /// `A_k(l)ᵀ`.
    passing: Vec<Arc<Passing>>,
}

impl Transposed {
    /// Turns the matrices over.
    pub fn new(graph: &Graph, network: &Network) -> Transposed {
        let mut passing: Vec<Arc<Passing>> = Vec::new();
        for (index, layer) in network.layers().iter().enumerate() {
            // Layers mostly share their operators.
            let known = network.layers()[..index].iter().position(|other| Arc::ptr_eq(&other.passing, &layer.passing));
            passing.push(known.map_or_else(
                || {
                    let turned = |k: usize| Arc::new(transpose(&layer.passing.operator(k)));
                    Arc::new(Passing::new(&(0..layer.passing.terms()).map(turned).collect::<Vec<_>>()))
                },
                |known| passing[known].clone(),
            ));
        }
        Transposed { attributes: transpose(graph.attributes()), passing }
    }

    /// `A_k(l)ᵀ`.
    pub fn passing(&self, l: usize) -> &Passing {
        &self.passing[l - 1]
    }
}

/// What a reverse pass reads beside the values of the forward one.
#[derive(Clone, Copy)]
pub struct ReversePass<'a> {
    /// The unperturbed graph.
    pub graph: &'a Graph,
    /// The network with its present weights.
    pub network: &'a Network,
    /// Its operators and the attributes, turned over.
    pub transposed: &'a Transposed,
    /// What the forward pass computed.
    pub reach: &'a ReceptiveField,
}

/// The pre-activations of one forward pass; rows outside the reach are zero.
#[derive(Clone, Debug)]
pub struct Pass {
    dropout: Option<Dropout>,
    widths: Vec<usize>,
    values: Vec<Vec<f64>>,
    /// Which units of a representation have no activation; empty if none.
    linear: Vec<Vec<bool>>,
}

impl Pass {
    /// Runs the network on what the reach needs.
    pub fn forward(graph: &Graph, network: &Network, reach: &ReceptiveField, dropout: Option<Dropout>) -> Pass {
        let mut pass = Pass { dropout, widths: Vec::new(), values: Vec::new(), linear: Vec::new() };
        for (index, layer) in network.layers().iter().enumerate() {
            let (l, width, inputs, terms) = (index + 1, layer.outputs(), layer.inputs(), layer.passing.terms());
            let mut sent = vec![0.0; graph.node_count() * terms * width];
            let senders = sent.par_chunks_mut(terms * width).enumerate();
            senders.filter(|(n, _)| reach.needs(l, *n)).for_each(|(n, row)| {
                pass.inputs(graph, l, n, |unit, h| {
                    for (k, sent) in row.chunks_exact_mut(width).enumerate() {
                        add_scaled(sent, h, layer.weight.row(k * inputs + unit));
                    }
                });
            });
            let mut value = vec![0.0; graph.node_count() * width];
            value.par_chunks_mut(width).enumerate().filter(|(m, _)| reach.needs(l + 1, *m)).for_each(|(m, row)| {
                row.copy_from_slice(layer.bias.row(m));
                for (n, entries) in layer.passing.row(m) {
                    for (k, &a) in entries.iter().enumerate().filter(|entry| *entry.1 != 0.0) {
                        add_scaled(row, a, &sent[(n * terms + k) * width..][..width]);
                    }
                }
            });
            pass.widths.push(width);
            pass.values.push(value);
            pass.linear.push(layer.linear.clone());
        }
        pass
    }

    /// Has this unit of representation `l` no activation?
    #[inline]
    fn is_linear(&self, l: usize, unit: usize) -> bool {
        self.linear[l - 2].get(unit).copied().unwrap_or(false)
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
            let entry = graph.entry(node);
            graph.attributes().row(node).iter().for_each(|&d| take(d as usize, entry));
        } else {
            let sent = |(i, z): &(usize, &f64)| **z > 0.0 || self.is_linear(l, *i);
            self.row(l, node).iter().enumerate().filter(sent).for_each(|(i, &z)| take(i, z));
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
    pub fn reverse(&self, of: ReversePass, mut upstream: Vec<Vec<f64>>, gradient: &mut Gradient) {
        let ReversePass { graph, network, transposed, reach } = of;
        for (index, layer) in network.layers().iter().enumerate().rev() {
            let (l, width, inputs, terms) = (index + 1, layer.outputs(), layer.inputs(), layer.passing.terms());
            let above = std::mem::take(&mut upstream[index]);
            if above.iter().all(|&by| by == 0.0) {
                continue;
            }
            for &m in reach.nodes(l + 1) {
                let by = &above[m as usize * width..][..width];
                add_scaled(bias_row(&mut gradient.bias[index], width, m as usize), 1.0, by);
            }
            let mut sent = vec![0.0; graph.node_count() * terms * width];
            let senders = sent.par_chunks_mut(terms * width).enumerate();
            senders.filter(|(n, _)| reach.needs(l, *n)).for_each(|(n, row)| {
                for (m, entries) in transposed.passing(l).row(n) {
                    for (k, &a) in entries.iter().enumerate().filter(|entry| *entry.1 != 0.0) {
                        add_scaled(&mut row[k * width..][..width], a, &above[m * width..][..width]);
                    }
                }
            });
            let sent_by = |n: usize, k: usize| &sent[(n * terms + k) * width..][..width];
            let weight = &mut gradient.weight[index];
            if l == 1 {
                weight.par_chunks_mut(width).enumerate().for_each(|(at, row)| {
                    let (k, d) = (at / inputs, at % inputs);
                    for &n in transposed.attributes.row(d).iter().filter(|&&n| reach.needs(1, n as usize)) {
                        let factor = self.dropout.map_or(1.0, |dropout| dropout.factor(1, n as usize, d));
                        add_scaled(row, factor * graph.entry(n as usize), sent_by(n as usize, k));
                    }
                });
                return;
            }
            for &n in reach.nodes(l) {
                let n = n as usize;
                self.inputs(graph, l, n, |i, h| {
                    for k in 0..terms {
                        add_scaled(&mut weight[(k * inputs + i) * width..][..width], h, sent_by(n, k));
                    }
                });
            }
            let rows = upstream[index - 1].par_chunks_mut(inputs).enumerate();
            rows.filter(|(n, _)| reach.needs(l, *n)).for_each(|(n, row)| {
                for (i, (slot, &z)) in row.iter_mut().zip(self.row(l, n)).enumerate() {
                    if z > 0.0 || self.is_linear(l, i) {
                        let factor = self.dropout.map_or(1.0, |dropout| dropout.factor(l, n, i));
                        for k in 0..terms {
                            *slot += factor * dot(layer.weight.row(k * inputs + i), sent_by(n, k));
                        }
                    }
                }
            });
        }
    }
}
