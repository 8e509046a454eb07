//! The weights of the first layer in the orders in which the fast path reads them.

use std::ops::Deref;
use std::sync::Arc;

use super::row_bound::RowBound;
use crate::number::{Down, Interval, Stored, Up, norm, step};
use crate::statement::{Link, Network};

/// The network, and its first weights ordered. Where a layer has several terms, their weights are side by side: `K·out`
/// numbers for each input.
pub(crate) struct FastNetwork<'a> {
    pub(crate) exact: &'a Network<'a>,
    weights: Arc<FastWeights>,
}

/// What of it does not depend on edges.
pub(crate) struct FastWeights {
    /// `W(l)`, input by input, and `b(l)`.
    layers: Vec<(Vec<Stored>, Vec<Stored>)>,
    /// For every unit of layer 2, of one term after the other, the weights of all attributes.
    pub(crate) columns: Vec<Vec<Stored>>,
    /// For every column the largest size of a weight.
    pub(crate) largest: Vec<Stored>,
    /// The attributes by falling norm of their weights, with a float not below that norm.
    pub(crate) by_norm: Vec<(u32, Up)>,
    /// The weights in that order, one attribute after the other.
    pub(crate) by_norm_weights: Vec<Stored>,
}

impl Deref for FastNetwork<'_> {
    type Target = FastWeights;

    fn deref(&self) -> &FastWeights {
        &self.weights
    }
}

impl FastWeights {
    /// Not below the norm of the weights of any attribute.
    pub(crate) fn largest_norm(&self) -> Up {
        self.by_norm.first().map_or(Up::ZERO, |first| first.1)
    }

    /// The places among the first `count` falling norms of those attributes whose flips of a row may lose more than a
    /// price; `present` are the attributes of the row, ascending.
    pub(crate) fn exceeding(&self, bound: &RowBound, present: &[u32], count: usize, price: Down) -> Vec<u32> {
        let (slopes, width) = (bound.slopes(self.largest_norm()), self.columns.len().max(1));
        let ordered = (0u32..).zip(self.by_norm_weights.chunks_exact(width).zip(&self.by_norm));
        step((count * width) as u64);
        let exceeds = |&(_, (weights, &(d, norm))): &(u32, (&[Stored], &(u32, Up)))| {
            slopes.loss_above(weights, norm, present.binary_search(&d).is_ok(), price).is_some()
        };
        ordered.take(count).filter(exceeds).map(|(at, _)| at).collect()
    }
}

impl<'a> FastNetwork<'a> {
    pub(crate) fn new(exact: &'a Network<'a>) -> FastNetwork<'a> {
        let first = std::iter::once(&*exact.first);
        let weights = first.chain(exact.model.layers[1..].iter().map(|layer| &layer.weight));
        let layers: Vec<_> = exact
            .model
            .layers
            .iter()
            .zip(weights)
            .zip(&exact.terms[1..])
            .map(|((layer, weight), &terms)| {
                let (inputs, outputs) = (weight.rows / terms, weight.columns);
                let row = |input: usize, term: usize| &weight.values[(term * inputs + input) * outputs..][..outputs];
                let rows = (0..inputs).flat_map(|input| (0..terms).map(move |term| (input, term)));
                (rows.flat_map(|(input, term)| Stored::all(row(input, term))).collect(), Stored::all(&layer.bias))
            })
            .collect();
        let (first, width): (&Vec<Stored>, usize) = (&layers[0].0, exact.terms[1] * exact.widths[2]);
        let row = |d: usize| &first[d * width..][..width];
        let rows = exact.graph.attributes.columns;
        let columns: Vec<Vec<Stored>> = (0..width).map(|unit| (0..rows).map(|d| row(d)[unit]).collect()).collect();
        let largest = columns.iter().map(|column| {
            let sizes = column.iter().map(|w| w.size());
            sizes.max_by(|a, b| a.order(*b)).unwrap_or(Stored::ZERO)
        });
        let largest = largest.collect();
        let row_norm = |d: usize| norm(row(d).iter().map(|w| Up::from(w.size())));
        let mut by_norm: Vec<(u32, Up)> = (0..).zip((0..rows).map(row_norm)).collect();
        by_norm.sort_by(|a, b| b.1.order(a.1));
        let by_norm_weights = by_norm.iter().flat_map(|&(d, _)| row(d as usize)).copied().collect();
        let weights = FastWeights { largest, columns, by_norm, by_norm_weights, layers };
        FastNetwork { exact, weights: Arc::new(weights) }
    }

    /// The same network on a graph with other edges.
    pub(super) fn on<'b>(&self, exact: &'b Network<'b>) -> FastNetwork<'b> {
        FastNetwork { exact, weights: self.weights.clone() }
    }

    /// Units of layer 2, of one term.
    pub(crate) fn width(&self) -> usize {
        self.exact.widths[2]
    }

    /// The weights of an attribute, of all terms.
    pub(crate) fn row(&self, attribute: u32) -> &[Stored] {
        let width = self.columns.len();
        &self.layers[0].0[attribute as usize * width..][..width]
    }

    /// `W(l)` of input `i` to all outputs, of all terms.
    pub(crate) fn weights(&self, l: usize, i: usize) -> &[Stored] {
        let width = self.exact.terms[l] * self.exact.widths[l + 1];
        &self.layers[l - 1].0[i * width..][..width]
    }

    /// `b(l)` of a node.
    pub(crate) fn bias(&self, l: usize, node: u32) -> &[Stored] {
        let (bias, outputs) = (&self.layers[l - 1].1, self.exact.widths[l + 1]);
        if bias.len() == outputs { bias } else { &bias[node as usize * outputs..][..outputs] }
    }

    /// What adding an attribute changes in a unit of layer 2 along the links of a pair of nodes.
    #[inline]
    pub(crate) fn change(&self, pair: &[Link], unit: usize, attribute: u32) -> Interval {
        let (width, weights) = (self.width(), self.row(attribute));
        let weight = |link: &Link| weights[link.part(width).start + unit];
        match pair {
            [link] => Interval::from(weight(link)).scaled(link.entry),
            _ => Interval::inner(pair.iter().map(|link| (link.entry, weight(link)))),
        }
    }
}
