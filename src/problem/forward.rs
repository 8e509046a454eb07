//! The forward pass on the unperturbed graph, in f64 with a proven error for every entry.

use std::ops::Range;

use rayon::prelude::*;

use crate::number::rounding::{Enclosure, FLOOR, error_of, magnitude_of};
use crate::problem::graph::Graph;
use crate::problem::matrix::PatternRows;
use crate::problem::network::{Layer, Network};
use crate::problem::places::Places;

/// The pre-activations `Ĥ(l)` of all nodes or of some, row-major, with the error of each entry.
#[derive(Clone, Debug, Default)]
pub struct Representation {
    /// Units per node.
    pub width: usize,
    /// Computed values.
    pub value: Vec<f64>,
    /// How far each may be from the exact one.
    pub error: Vec<f64>,
    /// The row of each node.
    pub rows: Places,
}

impl Representation {
    /// The values of a node.
    pub fn row(&self, node: usize) -> &[f64] {
        &self.value[self.rows.get(node) * self.width..][..self.width]
    }

    /// How far each of the values of a node may be from the exact one.
    pub fn errors(&self, node: usize) -> &[f64] {
        &self.error[self.rows.get(node) * self.width..][..self.width]
    }

    /// A value with its error.
    pub fn entry(&self, node: usize, unit: usize) -> Enclosure {
        let at = self.rows.get(node) * self.width + unit;
        Enclosure { value: self.value[at], error: self.error[at] }
    }

    /// The class with the largest logit, where the errors leave no doubt which one it is.
    pub fn clear_maximum(&self, node: usize) -> Option<usize> {
        let best = (0..self.width).max_by(|&a, &b| self.row(node)[a].total_cmp(&self.row(node)[b]))?;
        let floor = self.entry(node, best).lower();
        (0..self.width).all(|k| k == best || self.entry(node, k).upper() < floor).then_some(best)
    }

    /// The rows of some nodes alone, in a graph with so many.
    fn of_nodes(&self, nodes: &[u32], count: usize) -> Representation {
        let rows = |of: fn(&Representation, usize) -> &[f64]| {
            nodes.iter().flat_map(|&node| of(self, node as usize)).copied().collect()
        };
        let (value, error) = (rows(Representation::row), rows(Representation::errors));
        Representation { width: self.width, value, error, rows: Places::of(nodes, count) }
    }
}

/// What is summed per node and term before messages are passed: `H W_k`, `|H||W_k|`, and the inherited error `e|W_k|`.
struct SentRows {
    value: Vec<f64>,
    magnitude: Vec<f64>,
    inherited: Vec<f64>,
    /// The row of each node.
    rows: Places,
}

/// Sums of one row, their sizes, and their errors or those that they inherit.
struct RowTotals<'a> {
    value: &'a mut [f64],
    magnitude: &'a mut [f64],
    error: &'a mut [f64],
}

/// `Ĥ(2), …, Ĥ(L)` of the whole graph (docs/math.md (1.1)).
pub fn forward(graph: &Graph, network: &Network) -> Vec<Representation> {
    let mut representations: Vec<Representation> = Vec::with_capacity(network.layers().len());
    for (index, layer) in network.layers().iter().enumerate() {
        representations.push(match representations.last() {
            None => first(graph, network, None),
            Some(previous) => {
                let sent = send_hidden(previous, &network.layers()[index - 1], layer);
                pass(layer, &sent, |_| previous.width)
            }
        });
    }
    representations
}

/// Units of `Ĥ(2)` that are evaluated together where it is not kept: what a node sends to them is a line of the cache.
const TOGETHER: usize = 8;

/// The logits of the whole graph alone, of a network with one hidden layer: the same numbers as those of [`forward`],
/// but `Ĥ(2)`, which takes several times as much memory as the rest of a large graph, is evaluated a few units at a
/// time and not kept.
pub fn forward_logits(graph: &Graph, network: &Network) -> Representation {
    let [first, last] = network.layers() else { return forward(graph, network).pop().unwrap_or_default() };
    let (width, terms, nodes) = (last.outputs(), last.passing.terms(), graph.node_count());
    let mut sent = SentRows::zeros(nodes * width * terms, nodes * width * terms);
    for start in (0..first.outputs()).step_by(TOGETHER) {
        let units = start..(start + TOGETHER).min(first.outputs());
        let of_attributes = send_attributes(graph, first, units.clone(), None);
        let few = units.len();
        let rows = sent.value.par_chunks_mut(width * terms).zip(sent.magnitude.par_chunks_mut(width * terms));
        let rows = rows.zip(sent.inherited.par_chunks_mut(width * terms)).enumerate();
        let buffers = || (vec![0.0; few], vec![0.0; few], vec![0.0; few]);
        rows.for_each_init(buffers, |(value, error, size), (m, ((sent, magnitude), inherited))| {
            error.fill(0.0);
            let sums = RowTotals { value: &mut *value, magnitude: size, error: &mut *error };
            pass_row(first, &of_attributes, m, units.clone(), |n| attribute_roundings(graph, n), sums);
            for k in 0..terms {
                let of_term = k * width..(k + 1) * width;
                let (value_to, magnitude_to) = (&mut sent[of_term.clone()], &mut magnitude[of_term.clone()]);
                let sums = RowTotals { value: value_to, magnitude: magnitude_to, error: &mut inherited[of_term] };
                send_row(value, error, start, first, k, last, sums);
            }
        });
    }
    pass(last, &sent, |_| first.outputs())
}

/// The representations of a network with one hidden layer, for the nodes of one slice or of several: `Ĥ(2)` of the
/// nodes `hidden`, and the rows of the logits of `targets`.
pub fn forward_of(
    graph: &Graph,
    network: &Network,
    logits: &Representation,
    hidden: &[u32],
    targets: &[u32],
) -> Vec<Representation> {
    vec![first(graph, network, Some(hidden)), logits.of_nodes(targets, graph.node_count())]
}

/// `Ĥ(2)` of all nodes or of some.
fn first(graph: &Graph, network: &Network, nodes: Option<&[u32]>) -> Representation {
    let (layer, senders) = (&network.layers()[0], nodes.map(|nodes| network.senders(1, nodes)));
    let sent = send_attributes(graph, layer, 0..layer.outputs(), senders.as_deref());
    pass_to(layer, &sent, nodes, |n| attribute_roundings(graph, n))
}

/// How many roundings what a row of attributes sends has passed: one for each attribute, and one where it is
/// normalised.
fn attribute_roundings(graph: &Graph, node: usize) -> usize {
    graph.attributes().row(node).len() + usize::from(graph.normalisation().is_some())
}

/// `X W_k` for some of the units: sums of rows of `W_k`, times the entry of a normalised row; of all nodes, or of those
/// that send.
fn send_attributes(graph: &Graph, layer: &Layer, units: Range<usize>, senders: Option<&[u32]>) -> SentRows {
    let (width, terms) = (units.len(), layer.passing.terms());
    let count = senders.map_or(graph.node_count(), <[u32]>::len);
    let rows = senders.map_or(Places::Own, |senders| Places::of(senders, graph.node_count()));
    let mut sent = SentRows { rows, ..SentRows::zeros(count * width * terms, 0) };
    let attributes = graph.attributes();
    sent.value.par_chunks_mut(width).zip(sent.magnitude.par_chunks_mut(width)).enumerate().for_each(
        |(at, (value, magnitude))| {
            let (n, first) = (at / terms, at % terms * layer.inputs());
            let n = senders.map_or(n, |senders| senders[n] as usize);
            for &d in attributes.row(n) {
                let weights = &layer.weight.row(first + d as usize)[units.clone()];
                for ((v, m), &w) in value.iter_mut().zip(magnitude.iter_mut()).zip(weights) {
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
        let n = at / terms;
        send_row(
            previous.row(n),
            previous.errors(n),
            0,
            below,
            at % terms,
            layer,
            RowTotals { value, magnitude, error: inherited },
        );
    });
    sent
}

/// Adds what some units of a node send through a term: those from `start` on, with these values and errors.
fn send_row(
    values: &[f64],
    errors: &[f64],
    start: usize,
    below: &Layer,
    term: usize,
    layer: &Layer,
    RowTotals { value, magnitude, error }: RowTotals,
) {
    let first = term * layer.inputs();
    for (i, (&z, &e)) in (start..).zip(values.iter().zip(errors)) {
        let h = if below.is_linear(i) { z } else { z.max(0.0) };
        for (j, &w) in layer.weight.row(first + i).iter().enumerate() {
            value[j] += h * w;
            magnitude[j] += (h * w).abs();
            error[j] += e * w.abs() + f64::MIN_POSITIVE;
        }
    }
}

/// `Σ_k A_k (…) + b`. `terms` bounds the roundings that what a node sends has seen. No node counts but those of the
/// row: on a part of the graph, values and errors are the same.
fn pass(layer: &Layer, sent: &SentRows, terms: impl Fn(usize) -> usize + Sync) -> Representation {
    pass_to(layer, sent, None, terms)
}

/// The same for some nodes.
fn pass_to(
    layer: &Layer,
    sent: &SentRows,
    nodes: Option<&[u32]>,
    terms: impl Fn(usize) -> usize + Sync,
) -> Representation {
    let width = layer.outputs();
    let count = nodes.map_or(layer.passing.nodes(), <[u32]>::len);
    let rows = nodes.map_or(Places::Own, |nodes| Places::of(nodes, layer.passing.nodes()));
    let mut result = Representation { width, value: vec![0.0; count * width], error: vec![0.0; count * width], rows };
    let rows = result.value.par_chunks_mut(width).zip(result.error.par_chunks_mut(width)).enumerate();
    rows.for_each_init(
        || vec![0.0; width],
        |magnitude, (m, (value, error))| {
            let m = nodes.map_or(m, |nodes| nodes[m] as usize);
            pass_row(layer, sent, m, 0..width, &terms, RowTotals { value, magnitude, error });
        },
    );
    result
}

/// One row, of some of the units; errors begin with zeros.
fn pass_row(
    layer: &Layer,
    sent: &SentRows,
    m: usize,
    units: Range<usize>,
    terms: impl Fn(usize) -> usize,
    RowTotals { value, magnitude, error }: RowTotals,
) {
    let (width, count) = (units.len(), layer.passing.terms());
    let bias = &layer.bias.row(m)[units];
    value.copy_from_slice(bias);
    magnitude.iter_mut().zip(bias).for_each(|(magnitude, b)| *magnitude = b.abs());
    let mut most = 0;
    for (n, entries) in layer.passing.row(m) {
        most = most.max(terms(n));
        let n = sent.rows.get(n);
        for (k, &a) in entries.iter().enumerate() {
            let at = (n * count + k) * width;
            let (values, sizes) = (&sent.value[at..at + width], &sent.magnitude[at..at + width]);
            for ((value, magnitude), (&v, &size)) in
                value.iter_mut().zip(magnitude.iter_mut()).zip(values.iter().zip(sizes))
            {
                *value += a * v;
                *magnitude += a.abs() * size;
            }
            // What attributes send is exact but for its own sum.
            for (error, inherited) in error.iter_mut().zip(sent.inherited.iter().skip(at)) {
                *error += a.abs() * inherited;
            }
        }
    }
    for (e, &size) in error.iter_mut().zip(&*magnitude) {
        // The inherited part is a short sum of non-negative terms: a relative 1e-9 covers its own rounding.
        *e = *e * (1.0 + 1e-9) + error_of(roundings(layer, m, most), size);
    }
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
        let (value, magnitude, inherited) = (vec![0.0; length], vec![FLOOR; length], vec![0.0; inherited]);
        SentRows { value, magnitude, inherited, rows: Places::Own }
    }
}

#[cfg(test)]
mod tests {
    use super::{forward, forward_logits, forward_of};
    use crate::problem::embedded;

    #[test]
    fn logits_alone_and_some_rows_are_those_of_the_whole_pass() {
        let (graph, network) = embedded::cora();
        let whole = forward(&graph, &network);
        let [hidden, logits] = whole.as_slice() else { panic!("a network with one hidden layer") };
        let alone = forward_logits(&graph, &network);
        assert_eq!((&alone.value, &alone.error), (&logits.value, &logits.error));
        let nodes: Vec<u32> = (3..graph.node_count() as u32).step_by(61).collect();
        let targets = [nodes[1], nodes[7]];
        let some = forward_of(&graph, &network, &alone, &nodes, &targets);
        for &node in &nodes {
            let node = node as usize;
            assert_eq!((some[0].row(node), some[0].errors(node)), (hidden.row(node), hidden.errors(node)));
        }
        for node in targets.map(|node| node as usize) {
            assert_eq!((some[1].row(node), some[1].errors(node)), (logits.row(node), logits.errors(node)));
            assert_eq!(some[1].clear_maximum(node), logits.clear_maximum(node));
        }
    }
}
