//! What nodes send in the first layer: messages in f64 with their sizes, from which every error bound is made.

use crate::number::rounding::{FLOOR, gamma};
use crate::problem::graph::Graph;
use crate::problem::matrix::PatternRows;
use crate::problem::network::Network;

/// Numbers beyond this are left to exact arithmetic.
const LARGE: f64 = 1e100;

/// What nodes send in the first layer, in f64: `Y_n` along edges, and `b_n + Z_n` to themselves. The sizes are sums of
/// absolute values; an error is at most `eps` times the size.
#[derive(Debug, Default)]
pub(crate) struct Messages {
    pub(crate) width: usize,
    pub(crate) sent: Vec<f64>,
    pub(crate) sent_size: Vec<f64>,
    /// Sums of the sizes of a node.
    pub(crate) total: Vec<f64>,
    pub(crate) own: Vec<f64>,
    pub(crate) own_size: Vec<f64>,
    /// Relative error of everything that is computed from messages: see [`Messages::new`].
    pub(crate) eps: f64,
    /// Are all numbers so small that nothing overflows?
    pub(crate) safe: bool,
}

impl Messages {
    /// Of a network on a graph; `term` is the term of the first layer that passes along edges.
    pub(crate) fn new(graph: &Graph, network: &Network, term: Option<usize>) -> Messages {
        let (layer, last) = (&network.layers()[0], &network.layers()[1]);
        let (nodes, width) = (graph.node_count(), layer.outputs());
        let zeros = || vec![0.0; nodes * width];
        let mut messages = Messages {
            width,
            sent: zeros(),
            sent_size: zeros(),
            own: zeros(),
            own_size: zeros(),
            ..Messages::default()
        };
        let (mut longest, mut widest) = (0, 0);
        for n in 0..nodes {
            let present = graph.attributes().row(n);
            let entry = graph.entry(n);
            (longest, widest) = (longest.max(present.len()), widest.max(graph.degree(n)));
            let range = n * width..(n + 1) * width;
            for (j, &b) in layer.bias.row(n).iter().enumerate() {
                messages.own[range.start + j] = b;
                messages.own_size[range.start + j] = b.abs() + FLOOR;
            }
            for k in 0..layer.passing.terms() {
                let (into, size) = match Some(k) == term {
                    true => (&mut messages.sent[range.clone()], &mut messages.sent_size[range.clone()]),
                    false => (&mut messages.own[range.clone()], &mut messages.own_size[range.clone()]),
                };
                for &d in present {
                    for ((x, s), &w) in
                        into.iter_mut().zip(size.iter_mut()).zip(layer.weight.row(k * layer.inputs() + d as usize))
                    {
                        let w = entry * w;
                        *x += w;
                        // What is zero throughout stays without error.
                        *s += if w == 0.0 { 0.0 } else { w.abs() + FLOOR };
                    }
                }
            }
            messages.total.push(messages.sent_size[range].iter().sum::<f64>());
        }
        // Roundings on the way of any number: attributes and their entries, messages, units, terms, and some more.
        let operations =
            2 * layer.passing.terms() * longest + 2 * widest + (last.passing.terms() + 2) * (width + 2) + 64;
        messages.eps = gamma(4 * operations);
        let small = |values: &[f64]| values.iter().all(|x| x.abs() < LARGE);
        messages.safe = small(&messages.sent_size)
            && small(&messages.own_size)
            && small(last.weight.values())
            && small(last.bias.values())
            && messages.eps < 1e-6;
        messages
    }

    pub(crate) fn sent(&self, node: u32) -> &[f64] {
        &self.sent[node as usize * self.width..][..self.width]
    }

    pub(crate) fn sent_size(&self, node: u32) -> &[f64] {
        &self.sent_size[node as usize * self.width..][..self.width]
    }

    pub(crate) fn own(&self, node: u32) -> &[f64] {
        &self.own[node as usize * self.width..][..self.width]
    }

    pub(crate) fn own_size(&self, node: u32) -> &[f64] {
        &self.own_size[node as usize * self.width..][..self.width]
    }
}
