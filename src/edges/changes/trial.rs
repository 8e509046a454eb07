//! One change of a whole graph in plain floats: what it does to every hidden unit. Rounding errors are bounded for all
//! of them at once ([`Floats::slack`]), so that nothing is carried beside a number.

use crate::edges::changes::menu::{ChangeMenu, EdgeFlip};
use crate::edges::changes::span::Span;
use crate::edges::changes::stack::Stack;

/// Layers with hidden units of nodes, at most.
const DEEPEST: usize = 3;

/// Not below what products lose that are too small for a float, all of a sum together.
pub(crate) const TINY: f64 = 1e-300;

/// How messages of a term run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Flow {
    /// None do.
    Own,
    /// Their sum.
    Sum,
    /// Their mean.
    Mean,
}

/// A term: how its messages run, and the entry of a node with itself.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FloatTerm {
    pub(crate) flow: Flow,
    pub(crate) own: f64,
}

/// A graph that is classified, on the path, in floats. Nodes are counted from the first of the graph.
#[derive(Clone)]
pub(crate) struct Floats<'a> {
    pub(crate) stack: &'a Stack,
    pub(crate) first: u32,
    /// Who a node receives from.
    pub(crate) rows: Vec<Vec<usize>>,
    /// By hidden layer.
    pub(crate) terms: Vec<Vec<FloatTerm>>,
    /// What nodes send, by layer, node, term and output.
    pub(crate) sent: Vec<Vec<f64>>,
    /// Pre-activations, by layer, node and unit.
    pub(crate) sums: Vec<Vec<f64>>,
    /// Not below what messages of the first layer are off.
    pub(crate) off: f64,
}

/// What one change does.
pub(crate) struct Trial {
    /// By hidden layer.
    pub(crate) levels: Vec<Level>,
}

/// The nodes whose pre-activations a change reaches in a layer.
#[derive(Default)]
pub(crate) struct Level {
    pub(crate) nodes: Vec<usize>,
    pub(crate) sums: Vec<f64>,
    /// What the term along edges receives.
    pub(crate) received: Vec<f64>,
    /// What they send in the next layer; nothing in the last.
    pub(crate) sent: Vec<f64>,
}

impl Level {
    pub(crate) fn place(&self, node: usize) -> Option<usize> {
        self.nodes.iter().position(|&other| other == node)
    }
}

/// The entry along edges of a row with so many.
pub(crate) fn share(flow: Flow, size: usize) -> f64 {
    match flow {
        Flow::Own => 0.0,
        Flow::Sum => 1.0,
        Flow::Mean if size == 0 => 0.0,
        Flow::Mean => 1.0 / size as f64,
    }
}

impl<'a> Floats<'a> {
    /// `None` where the network is another than this: one to three hidden layers of nodes, in each one term of sums or
    /// means along undirected edges and others without, and a readout.
    pub(crate) fn new(menu: &ChangeMenu<'a>) -> Option<Floats<'a>> {
        let stack = menu.setting.stack;
        let (last, hidden) = stack.rules.split_last()?;
        stack.graph.batch()?;
        let nodes = stack.graph.nodes_of(menu.target as usize);
        let first = nodes.start as u32;
        let plain = !stack.directed
            && menu.setting.flipped.is_none()
            && (1..=DEEPEST).contains(&hidden.len())
            && last.iter().all(|rule| rule.is_readout())
            && !nodes.clone().any(|node| stack.looped(node as u32));
        if !plain {
            return None;
        }
        let mut terms = Vec::new();
        for rules in hidden {
            let mut of_layer = Vec::new();
            for rule in rules {
                let flow = match rule {
                    rule if rule.is_readout() || rule.reads_sender() => return None,
                    rule if !rule.has_edges() => Flow::Own,
                    rule if !rule.reads_size() => Flow::Sum,
                    // A node that counts itself has an own entry that changes.
                    rule if rule.own(false) > 0 => return None,
                    _ => Flow::Mean,
                };
                of_layer.push(FloatTerm { flow, own: rule.own_entry(0, false) });
            }
            if of_layer.iter().filter(|term| term.flow != Flow::Own).count() != 1 {
                return None;
            }
            terms.push(of_layer);
        }
        let row = |node: usize| menu.world.row(node as u32).map(|other| (other - first) as usize).collect();
        let rows: Vec<Vec<usize>> = nodes.clone().map(row).collect();
        let spans = || nodes.clone().flat_map(|node| stack.sent::<Span>(0, node as u32).iter());
        let off = spans().map(|span| span.hi - span.lo).fold(0.0, f64::max);
        let sent = vec![spans().map(|span| span.lo).collect()];
        let mut floats = Floats { stack, first, rows, terms, sent, sums: Vec::new(), off };
        for layer in 0..hidden.len() {
            let width = floats.width(layer);
            let mut sums = Vec::with_capacity(floats.rows.len() * width);
            for node in 0..floats.rows.len() {
                let from = |u: usize| floats.message(layer, u);
                sums.extend(floats.sum(layer, node, &floats.rows[node], from).0);
            }
            if layer + 1 < hidden.len() {
                let sent = sums.chunks_exact(width).flat_map(|z| floats.behind(layer, z)).collect();
                floats.sent.push(sent);
            }
            floats.sums.push(sums);
        }
        Some(floats)
    }

    /// Units of a layer.
    pub(crate) fn width(&self, layer: usize) -> usize {
        self.stack.network.layers()[layer].outputs()
    }

    /// The term along edges.
    pub(crate) fn along(&self, layer: usize) -> usize {
        self.terms[layer].iter().position(|term| term.flow != Flow::Own).unwrap_or(0)
    }

    /// What a node sends in a layer on the path.
    pub(crate) fn message(&self, layer: usize, node: usize) -> &[f64] {
        let width = self.terms[layer].len() * self.width(layer);
        &self.sent[layer][node * width..][..width]
    }

    /// What a node sends in the layer above one that gives it these pre-activations.
    fn behind(&self, layer: usize, sums: &[f64]) -> Vec<f64> {
        let (before, of) = (&self.stack.network.layers()[layer], &self.stack.network.layers()[layer + 1]);
        let (inputs, outputs, terms) = (of.inputs(), of.outputs(), self.terms[layer + 1].len());
        let mut sent = vec![0.0; terms * outputs];
        for (unit, &z) in sums.iter().enumerate() {
            let h = if before.is_linear(unit) { z } else { z.max(0.0) };
            if h != 0.0 {
                for (k, slots) in sent.chunks_exact_mut(outputs).enumerate() {
                    let row = of.weight.row(k * inputs + unit);
                    slots.iter_mut().zip(row).for_each(|(slot, w)| *slot += h * w);
                }
            }
        }
        sent
    }

    /// Pre-activations of a node with a row, and what the term along edges gives of them.
    fn sum<'s>(
        &self,
        layer: usize,
        node: usize,
        row: &[usize],
        from: impl Fn(usize) -> &'s [f64],
    ) -> (Vec<f64>, Vec<f64>) {
        let (outputs, along) = (self.width(layer), self.along(layer));
        let bias = self.stack.network.layers()[layer].bias.row(node + self.first as usize);
        let mut received = vec![0.0; outputs];
        for &u in row {
            received.iter_mut().zip(&from(u)[along * outputs..]).for_each(|(sum, m)| *sum += m);
        }
        let entry = share(self.terms[layer][along].flow, row.len());
        received.iter_mut().for_each(|sum| *sum *= entry);
        let mut sums: Vec<f64> = bias.iter().zip(&received).map(|(b, m)| b + m).collect();
        for (k, term) in self.terms[layer].iter().enumerate().filter(|(_, term)| term.own != 0.0) {
            sums.iter_mut().zip(&from(node)[k * outputs..]).for_each(|(sum, m)| *sum += term.own * m);
        }
        (sums, received)
    }

    /// The ends of a change.
    pub(crate) fn ends(&self, flip: EdgeFlip) -> [usize; 2] {
        [flip.edge.0, flip.edge.1].map(|end| (end - self.first) as usize)
    }

    /// The row of a node after a change.
    fn row(&self, node: usize, ends: [usize; 2], inserts: bool) -> Vec<usize> {
        let mut row = self.rows[node].clone();
        for (end, other) in [(ends[0], ends[1]), (ends[1], ends[0])] {
            if end == node && inserts {
                row.push(other);
            } else if end == node {
                row.retain(|&u| u != other);
            }
        }
        row
    }

    /// One change on the graph of the path.
    pub(crate) fn trial(&self, flip: EdgeFlip) -> Trial {
        let ends = self.ends(flip);
        let mut levels: Vec<Level> = Vec::new();
        for layer in 0..self.terms.len() {
            let mut level = Level::default();
            let mut reached = vec![usize::MAX; self.rows.len()];
            match levels.last() {
                None => level.nodes.extend(ends),
                Some(below) => {
                    for (place, &node) in below.nodes.iter().enumerate() {
                        reached[node] = place;
                    }
                    level.nodes.extend(&below.nodes);
                    for &node in &below.nodes {
                        level.nodes.extend(self.row(node, ends, flip.inserts));
                    }
                    level.nodes.sort_unstable();
                    level.nodes.dedup();
                }
            }
            let width = self.terms[layer].len() * self.width(layer);
            let from = |u: usize| match levels.last() {
                Some(below) if reached[u] != usize::MAX => &below.sent[reached[u] * width..][..width],
                _ => self.message(layer, u),
            };
            for &node in &level.nodes {
                let (sums, received) = self.sum(layer, node, &self.row(node, ends, flip.inserts), from);
                if layer + 1 < self.terms.len() {
                    level.sent.extend(self.behind(layer, &sums));
                }
                level.sums.extend(sums);
                level.received.extend(received);
            }
            levels.push(level);
        }
        Trial { levels }
    }

    /// The largest message of each layer.
    pub(crate) fn largest(&self) -> Vec<f64> {
        self.sent.iter().map(|sent| sent.iter().fold(0.0, |most: f64, m| most.max(m.abs()))).collect()
    }

    /// The largest sum of absolute weights of an output of a layer.
    pub(crate) fn norm(&self, layer: usize) -> f64 {
        let of = &self.stack.network.layers()[layer];
        let (inputs, outputs) = (of.inputs(), of.outputs());
        let column = |at: usize| {
            let rows = at / outputs * inputs..(at / outputs + 1) * inputs;
            rows.map(|row| of.weight.row(row)[at % outputs].abs()).sum::<f64>()
        };
        (0..self.terms[layer].len() * outputs).map(column).fold(0.0, f64::max)
    }

    /// The largest absolute value of a bias of a layer.
    pub(crate) fn largest_bias(&self, layer: usize) -> f64 {
        let of = &self.stack.network.layers()[layer];
        let bias = (0..self.rows.len()).flat_map(|node| of.bias.row(node + self.first as usize));
        bias.fold(0.0f64, |most, b| most.max(b.abs()))
    }

    /// Not below the rounding error of a bound of `beside.rs` or `sets.rs`, for heads whose weights sum to this and so
    /// many changes; `largest` is the largest message of each layer that was seen.
    ///
    /// Every number there is a sum of products of numbers of the layer below, at most so often and so large as is
    /// counted here; activations and ranges add at most four errors of a pre-activation. The result is doubled, for
    /// what is rounded here.
    pub(crate) fn slack(&self, largest: &[f64], head: f64, budget: usize) -> f64 {
        let unit = 2.0 * f64::EPSILON;
        let most = (self.rows.iter().map(Vec::len).max().unwrap_or(0) + budget + 1) as f64;
        // Errors and sizes: of pre-activations, and of what a change does behind activations.
        let (mut off, mut size, mut change_off, mut change) = (0.0, 0.0, 0.0, 0.0);
        for (layer, terms) in self.terms.iter().enumerate() {
            let of = &self.stack.network.layers()[layer];
            let inputs = of.inputs();
            let entries: f64 =
                terms.iter().map(|term| term.own.abs() + if term.flow == Flow::Own { 0.0 } else { most }).sum();
            let count = unit * (2.0 * inputs as f64 + terms.len() as f64 * (most + 4.0) + 16.0);
            let (norm, bias) = (self.norm(layer), self.largest_bias(layer));
            let (below_off, below, below_change_off, below_change) = (off, size, change_off, change);
            let sent_off = TINY + if layer == 0 { self.off } else { norm * (below_off + count * below) };
            size = bias + entries * largest[layer];
            off = entries * sent_off + count * size + TINY;
            if layer == 0 {
                (change_off, change) = (4.0 * off, 2.0 * size);
                continue;
            }
            let linked = 5.0 * norm * below;
            let linked_off = 8.0 * norm * below_off + 4.0 * count * linked + TINY;
            let moved = norm * below_change;
            let moved_off = norm * below_change_off + 4.0 * count * moved + TINY;
            change = 2.0 * entries * (moved + linked) + 4.0 * size;
            change_off = 2.0 * entries * (moved_off + linked_off + sent_off) + 4.0 * count * change + 12.0 * off;
        }
        let nodes = self.rows.len() as f64 + 4.0;
        let width = self.terms.len().checked_sub(1).map_or(0, |layer| self.width(layer)) as f64;
        2.0 * head * nodes * (change_off + unit * (nodes * width + 16.0) * change) + TINY
    }
}

/// Multiplications of a trial, about.
pub(crate) fn work(floats: &Floats) -> usize {
    let of = |layer: usize| 8 * floats.width(layer) * floats.stack.network.layers()[layer].inputs();
    (0..floats.terms.len()).map(of).sum()
}
