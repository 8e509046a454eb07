//! Rows of attributes as the network reads them: 0/1, or 0/1 divided by the number of ones. In a normalised row every
//! flip changes all entries, so that what flips do is said of all flips of a row together.

use crate::problem::flip::Flip;
use crate::problem::graph::Graph;
use crate::problem::layer::Layer;
use crate::problem::matrix::PatternRows;
use crate::problem::slice::Slice;

/// Flips of one row that are made together: a single one, or where rows are normalised all of them.
#[derive(Clone, Debug, PartialEq)]
pub struct Move {
    first: Flip,
    more: Vec<Flip>,
}

impl From<Flip> for Move {
    fn from(first: Flip) -> Move {
        Move { first, more: Vec::new() }
    }
}

impl Move {
    /// The moves that a set of flips consists of: each flip by itself, or where rows are normalised one for each row.
    pub fn all(graph: &Graph, flips: &[Flip]) -> Vec<Move> {
        if !graph.normalisation().is_some() {
            return flips.iter().map(|&flip| flip.into()).collect();
        }
        let mut sorted = flips.to_vec();
        sorted.sort_unstable();
        sorted.chunk_by(|x, y| x.node == y.node).map(|row| Move { first: row[0], more: row[1..].to_vec() }).collect()
    }

    /// The node whose row is changed.
    pub fn node(&self) -> u32 {
        self.first.node
    }

    /// The first of its flips: the only one where rows are not normalised.
    pub fn first(&self) -> Flip {
        self.first
    }

    /// How many flips it makes: what it takes of the budget.
    pub fn cost(&self) -> usize {
        1 + self.more.len()
    }

    /// How many attributes it adds to the row, and how many it removes; it makes no flip that was made before.
    pub fn counts(&self, graph: &Graph) -> [usize; 2] {
        let present = |flip: &Flip| graph.attributes().contains(flip.node as usize, flip.attribute);
        let removed = self.flips().filter(present).count();
        [self.cost() - removed, removed]
    }

    /// Its flips.
    pub fn flips(&self) -> impl Iterator<Item = Flip> + '_ {
        std::iter::once(self.first).chain(self.more.iter().copied())
    }

    /// What it changes in the units of the nodes that it reaches, once the flips of `base` are made: local number of
    /// the node, and the change of each unit; in f64, as a suggestion.
    pub fn reached(&self, graph: &Graph, layer: &Layer, slice: &Slice, base: &[Flip]) -> Vec<(usize, Vec<UnitChange>)> {
        let Flip { node, attribute } = self.first;
        let sent = graph.normalisation().is_some().then(|| self.sent_change(graph, layer, base));
        let sign = if graph.attributes().contains(node as usize, attribute) { -1.0 } else { 1.0 };
        let mut single = Vec::new();
        let changes = |(_, m, entries): (usize, usize, &[f64])| {
            let changes = match &sent {
                Some(sent) => received(layer, sent, entries),
                None => {
                    layer.changes(sign, entries, attribute as usize, &mut single);
                    single.iter().map(|&change| change.into()).collect()
                }
            };
            (m, changes)
        };
        slice.rows_of(self.first).map(changes).collect()
    }

    /// What it changes in what a normalised row sends, term after term: all entries get another size, and each flip
    /// adds or removes one of the new size (docs/math.md (21.3)).
    fn sent_change(&self, graph: &Graph, layer: &Layer, base: &[Flip]) -> Vec<UnitChange> {
        let before: Vec<u32> = attributes_after(graph, self.node(), base).collect();
        let removed = self.flips().filter(|flip| before.contains(&flip.attribute)).count();
        let entry = |count: usize| graph.normalisation().entry(count);
        let after = entry(before.len() + self.cost() - 2 * removed);
        let mut whole = vec![0.0; layer.outputs() * layer.passing.terms()];
        for &d in &before {
            whole.iter_mut().zip(layer.weights_of(d as usize)).for_each(|(sum, w)| *sum += w);
        }
        let scaled = after - entry(before.len());
        let mut changes: Vec<UnitChange> = whole.into_iter().map(|sum| (scaled * sum).into()).collect();
        for flip in self.flips() {
            let size = if before.contains(&flip.attribute) { -after } else { after };
            let weights = layer.weights_of(flip.attribute as usize);
            changes.iter_mut().zip(weights).for_each(|(change, w)| change.add(size * w));
        }
        changes
    }
}

/// What a move changes in a unit, in parts: a bound with different slopes for rise and fall counts them one by one.
#[derive(Clone, Copy, Debug, Default)]
pub struct UnitChange {
    /// The parts that raise it.
    pub rise: f64,
    /// The parts that lower it.
    pub fall: f64,
}

impl From<f64> for UnitChange {
    fn from(change: f64) -> UnitChange {
        UnitChange { rise: change.max(0.0), fall: (-change).max(0.0) }
    }
}

impl UnitChange {
    /// All parts together.
    pub fn total(self) -> f64 {
        self.rise - self.fall
    }

    fn add(&mut self, part: f64) {
        *(if part > 0.0 { &mut self.rise } else { &mut self.fall }) += part.abs();
    }
}

/// What arrives at the units of a node that is reached with these entries, if so much is sent.
fn received(layer: &Layer, sent: &[UnitChange], entries: &[f64]) -> Vec<UnitChange> {
    let mut changes = vec![UnitChange::default(); layer.outputs()];
    for (&a, sent) in entries.iter().zip(sent.chunks_exact(layer.outputs().max(1))) {
        for (change, sent) in changes.iter_mut().zip(sent) {
            change.add(a * sent.rise);
            change.add(-a * sent.fall);
        }
    }
    changes
}

/// The attributes of a row after some flips of it, in no particular order.
pub fn attributes_after<'a>(graph: &'a Graph, node: u32, flips: &'a [Flip]) -> impl Iterator<Item = u32> + Clone + 'a {
    let row = graph.attributes().row(node as usize);
    let flipped = move |d: u32| flips.contains(&Flip { node, attribute: d });
    let kept = row.iter().copied().filter(move |&d| !flipped(d));
    let added = flips.iter().filter(move |flip| flip.node == node).map(|flip| flip.attribute);
    kept.chain(added.filter(move |d| row.binary_search(d).is_err()))
}

/// What a row sends: `X̃ W_k` term after term, with the size of what was summed.
#[derive(Debug, Default)]
pub struct Sent {
    /// The sums.
    pub value: Vec<f64>,
    /// The sums of the sizes of what was added.
    pub size: Vec<f64>,
}

impl Sent {
    /// Of a row after some flips; returns how many roundings a number has passed.
    pub fn fill(&mut self, graph: &Graph, layer: &Layer, node: u32, flips: &[Flip]) -> usize {
        let (width, terms) = (layer.outputs(), layer.passing.terms());
        for buffer in [&mut self.value, &mut self.size] {
            buffer.clear();
            buffer.resize(width * terms, 0.0);
        }
        let mut count = 0;
        for d in attributes_after(graph, node, flips) {
            count += 1;
            for k in 0..terms {
                let sums = self.value[k * width..].iter_mut().zip(&mut self.size[k * width..]);
                for ((value, size), &w) in sums.zip(layer.weight.row(k * layer.inputs() + d as usize)) {
                    *value += w;
                    *size += w.abs();
                }
            }
        }
        let entry = graph.normalisation().entry(count);
        self.value.iter_mut().chain(&mut self.size).for_each(|x| *x *= entry);
        count + 1
    }
}
