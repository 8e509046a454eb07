//! The network of a case after some removals, in one kind of number (`check/FORMAT-EDGES.md` §1, from its text alone).

use std::ops::Range;

use crate::edges::case::{Edge, EdgeCase};
use crate::exact::{Number, least_exponent};
use crate::scale::{largest, usual};

/// A rule of message passing as a function of sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EdgeRule {
    kind: Normalization,
    with_self: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Normalization {
    Root,
    Mean,
    Sum,
    Identity,
}

impl EdgeRule {
    /// A rule by its name; none for polynomials and matrices.
    pub fn named(name: &str) -> Option<EdgeRule> {
        let (kind, with_self) = match name {
            "gcn" => (Normalization::Root, true),
            "gcn-self" => (Normalization::Root, false),
            "mean" => (Normalization::Mean, false),
            "mean+self" => (Normalization::Mean, true),
            "sum" => (Normalization::Sum, false),
            "sum+self" => (Normalization::Sum, true),
            "identity" => (Normalization::Identity, true),
            _ => return None,
        };
        Some(EdgeRule { kind, with_self })
    }

    /// The entry between a receiver and a sender of these sizes.
    fn entry(self, receiver: usize, sender: usize) -> f64 {
        if receiver == 0 || sender == 0 {
            return 0.0;
        }
        match self.kind {
            Normalization::Root => 1.0 / (receiver as f64 * sender as f64).sqrt(),
            Normalization::Mean => 1.0 / receiver as f64,
            Normalization::Sum | Normalization::Identity => 1.0,
        }
    }
}

struct EdgeTerm<N> {
    rule: EdgeRule,
    /// Entries by the sizes of receiver and sender.
    entries: Vec<N>,
    weight: Vec<N>,
}

struct EdgeLayer<N> {
    terms: Vec<EdgeTerm<N>>,
    bias: Vec<N>,
    /// Has every node its own bias?
    by_node: bool,
    linear: Vec<bool>,
    inputs: usize,
    outputs: usize,
}

/// The network; integers stand for themselves times a power of two.
pub struct EdgeNetwork<N> {
    layers: [EdgeLayer<N>; 2],
    /// Sizes go from 0 to one less than this.
    sizes: usize,
    /// The exponent of the logits.
    pub exponent: i32,
}

/// At which exponents all numbers are integers, and how large they get.
pub struct EdgeScale {
    /// For each layer: entries, weights, results.
    exponents: [[i32; 3]; 2],
    sizes: usize,
    /// A bound of the bits of every intermediate integer.
    pub bits: f64,
    /// Are all numbers so ordinary that floats neither overflow nor underflow?
    pub moderate: bool,
}

/// All entries that a rule can have at these sizes.
fn entries(rule: EdgeRule, sizes: usize) -> Vec<f64> {
    (0..sizes * sizes).map(|at| rule.entry(at / sizes, at % sizes)).collect()
}

fn rules(case: &EdgeCase, layer: usize) -> Vec<EdgeRule> {
    case.operators(layer).iter().filter_map(|name| EdgeRule::named(name)).collect()
}

impl EdgeScale {
    /// Of a case.
    pub fn new(case: &EdgeCase) -> EdgeScale {
        let longest = (0..case.nodes()).map(|i| case.graph.adjacency.row(i).len()).max().unwrap_or(0);
        let sizes = longest + 2;
        let mut scale = EdgeScale { exponents: [[0; 3]; 2], sizes, bits: 0.0, moderate: true };
        let (mut below, mut size) = (0, 0.0f64);
        for (number, layer) in case.model.layers.iter().enumerate() {
            let entries: Vec<f64> = rules(case, number).into_iter().flat_map(|rule| entries(rule, sizes)).collect();
            let entry = least_exponent(entries.iter().copied()).unwrap_or(0);
            let mut weight = least_exponent(layer.weight.values.iter().copied()).unwrap_or(0);
            if let Some(bias) = least_exponent(layer.bias.iter().copied()) {
                weight = weight.min(bias - entry - below);
            }
            let result = entry + weight + below;
            let sent = size + (layer.weight.rows.max(1) as f64).log2() + largest(&layer.weight.values, weight);
            let received = sent + (sizes as f64).log2() + largest(&entries, entry);
            size = received.max(largest(&layer.bias, result)) + 1.0;
            scale.bits = scale.bits.max(size + 1.0);
            scale.exponents[number] = [entry, weight, result];
            below = result;
            scale.moderate &= layer.weight.values.iter().chain(&layer.bias).all(usual);
        }
        scale
    }
}

impl<N: Number> EdgeNetwork<N> {
    /// The network of a case at these exponents.
    pub fn new(case: &EdgeCase, scale: &EdgeScale) -> EdgeNetwork<N> {
        let layer = |number: usize| {
            let file = &case.model.layers[number];
            let [entry, weight, result] = scale.exponents[number];
            let rules = rules(case, number);
            let (inputs, outputs) = (file.weight.rows / rules.len().max(1), file.weight.columns);
            let term = |(k, &rule): (usize, &EdgeRule)| EdgeTerm {
                rule,
                entries: entries(rule, scale.sizes).into_iter().map(|a| N::scaled(a, entry)).collect(),
                weight: file.weight.values[k * inputs * outputs..(k + 1) * inputs * outputs]
                    .iter()
                    .map(|&w| N::scaled(w, weight))
                    .collect(),
            };
            EdgeLayer {
                terms: rules.iter().enumerate().map(term).collect(),
                bias: file.bias.iter().map(|&b| N::scaled(b, result)).collect(),
                by_node: file.bias.len() > outputs,
                linear: if file.linear.is_empty() { vec![false; outputs] } else { file.linear.clone() },
                inputs,
                outputs,
            }
        };
        EdgeNetwork { layers: [layer(0), layer(1)], sizes: scale.sizes, exponent: scale.exponents[1][2] }
    }

    /// `X_n W_k` of the nodes of a component, term after term.
    pub fn messages(&self, case: &EdgeCase, range: &Range<usize>) -> Vec<Vec<N>> {
        let layer = &self.layers[0];
        let message = |term: &EdgeTerm<N>| {
            let mut sums = vec![N::zero(); range.len() * layer.outputs];
            for (at, node) in range.clone().enumerate() {
                for &d in case.graph.attributes.row(node) {
                    for j in 0..layer.outputs {
                        sums[at * layer.outputs + j].add(&term.weight[d as usize * layer.outputs + j]);
                    }
                }
            }
            sums
        };
        layer.terms.iter().map(message).collect()
    }

    /// What one layer makes of messages that have been multiplied by its weights.
    fn pass(&self, layer: &EdgeLayer<N>, left: &Remaining, first: usize, sent: &[Vec<N>]) -> Vec<N> {
        let width = layer.outputs;
        let mut sums = Vec::with_capacity(left.neighbours.len() * width);
        for (i, neighbours) in left.neighbours.iter().enumerate() {
            let start = sums.len();
            let bias = if layer.by_node { (first + i) * width } else { 0 };
            sums.extend(layer.bias[bias..bias + width].iter().cloned());
            for (term, sent) in layer.terms.iter().zip(sent) {
                if term.rule.kind == Normalization::Identity {
                    let one = &term.entries[self.sizes + 1];
                    (0..width).for_each(|j| sums[start + j].add_product(one, &sent[i * width + j]));
                    continue;
                }
                let own = |n: usize| usize::from(term.rule.with_self || left.looped[n]);
                let size = |n: usize| left.neighbours[n].len() + own(n);
                let itself = (own(i) == 1).then_some(i);
                for n in neighbours.iter().copied().chain(itself) {
                    let entry = &term.entries[size(i) * self.sizes + size(n)];
                    (0..width).for_each(|j| sums[start + j].add_product(entry, &sent[n * width + j]));
                }
            }
        }
        sums
    }

    /// The pre-activations of all hidden units of a component.
    pub fn hidden(&self, left: &Remaining, first: usize, messages: &[Vec<N>]) -> Vec<N> {
        self.pass(&self.layers[0], left, first, messages)
    }

    /// The logits of all nodes of a component, of which these edges are left; `messages` are those of
    /// [`EdgeNetwork::messages`].
    pub fn logits(&self, left: &Remaining, first: usize, messages: &[Vec<N>]) -> Vec<N> {
        let [below, above] = &self.layers;
        let mut hidden = self.hidden(left, first, messages);
        for row in hidden.chunks_exact_mut(below.outputs) {
            row.iter_mut().zip(&below.linear).filter(|(_, linear)| !**linear).for_each(|(h, _)| h.rectify());
        }
        let send = |term: &EdgeTerm<N>| {
            let mut sent = vec![N::zero(); left.neighbours.len() * above.outputs];
            for (i, row) in hidden.chunks_exact(above.inputs).enumerate() {
                for (h, weights) in row.iter().zip(term.weight.chunks_exact(above.outputs)) {
                    if !h.is_zero() {
                        (0..above.outputs).for_each(|j| sent[i * above.outputs + j].add_product(h, &weights[j]));
                    }
                }
            }
            sent
        };
        let sent: Vec<Vec<N>> = above.terms.iter().map(send).collect();
        self.pass(above, left, first, &sent)
    }
}

impl EdgeNetwork<f64> {
    /// A bound of every logit after any removals if all numbers were taken without their signs. Entries are at most 1.
    pub fn magnitude(&self) -> f64 {
        let mut now = 1.0;
        for layer in &self.layers {
            let weights: f64 = layer.terms.iter().flat_map(|term| &term.weight).map(|w| w.abs()).sum();
            let bias = layer.bias.iter().fold(0.0, |most: f64, b| most.max(b.abs()));
            now = now * weights * self.sizes as f64 + bias;
        }
        now
    }
}

/// The edges that are left in a component, with ids that start at 0.
pub struct Remaining {
    /// The neighbours of every node, itself left out.
    pub neighbours: Vec<Vec<usize>>,
    /// Has a node a self-loop?
    pub looped: Vec<bool>,
}

impl Remaining {
    /// A component without some edges.
    pub fn new(case: &EdgeCase, range: &Range<usize>, removed: &[Edge]) -> Remaining {
        let first = range.start;
        let gone = |i: usize, j: u32| removed.contains(&((i as u32).min(j), (i as u32).max(j)));
        let row = |i: usize| {
            let row = case.graph.adjacency.row(i).iter().copied();
            row.filter(|&j| j as usize != i && !gone(i, j)).map(|j| j as usize - first).collect()
        };
        Remaining {
            neighbours: range.clone().map(row).collect(),
            looped: range.clone().map(|i| case.graph.adjacency.contains(i, i as u32)).collect(),
        }
    }

    /// Removes an edge of the component.
    pub fn cut(&mut self, a: usize, b: usize) {
        self.neighbours[a].retain(|&n| n != b);
        self.neighbours[b].retain(|&n| n != a);
    }

    /// Puts it back.
    pub fn join(&mut self, a: usize, b: usize) {
        self.neighbours[a].push(b);
        self.neighbours[b].push(a);
    }
}
