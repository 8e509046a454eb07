//! The weights of the first layer in the orders in which the fast path reads them.

use crate::directed::{Stored, Up, norm};
use crate::statement::Network;

/// The network, and its first weights ordered.
pub(crate) struct FastNetwork<'a> {
    pub(crate) exact: &'a Network<'a>,
    /// `W(l)`, input by input, and `b(l)`.
    layers: Vec<(Vec<Stored>, Vec<Stored>)>,
    /// For every unit of layer 2 the weights of all attributes.
    pub(crate) columns: Vec<Vec<Stored>>,
    /// For every unit of layer 2 the largest size of a weight.
    pub(crate) largest: Vec<Stored>,
    /// The attributes by falling norm of their weights, with a float not below that norm.
    pub(crate) by_norm: Vec<(u32, Up)>,
    /// The weights in that order, one attribute after the other.
    pub(crate) by_norm_weights: Vec<Stored>,
}

impl<'a> FastNetwork<'a> {
    pub(crate) fn new(exact: &'a Network<'a>) -> FastNetwork<'a> {
        let layers = exact.model.layers.iter();
        let layers: Vec<_> =
            layers.map(|layer| (Stored::all(&layer.weight.values), Stored::all(&layer.bias))).collect();
        let (first, width) = (&layers[0].0, exact.widths[2]);
        let row = |d: usize| &first[d * width..][..width];
        let rows = exact.graph.attributes.columns;
        let columns: Vec<Vec<Stored>> = (0..width).map(|unit| (0..rows).map(|d| row(d)[unit]).collect()).collect();
        let largest = columns.iter().map(|column| {
            let sizes = column.iter().map(|w| w.size());
            sizes.max_by(|a, b| a.order(*b)).unwrap_or(Stored::ZERO)
        });
        let largest = largest.collect();
        let row_norm = |d: usize| norm(row(d).iter().map(|w| Up::from(w.size())));
        let mut by_norm: Vec<(u32, Up)> = (0..rows).map(|d| (d as u32, row_norm(d))).collect();
        by_norm.sort_by(|a, b| b.1.order(a.1));
        let by_norm_weights = by_norm.iter().flat_map(|&(d, _)| row(d as usize)).copied().collect();
        FastNetwork { exact, largest, columns, by_norm, by_norm_weights, layers }
    }

    /// The weights of an attribute.
    pub(crate) fn row(&self, attribute: u32) -> &[Stored] {
        let width = self.columns.len();
        &self.layers[0].0[attribute as usize * width..][..width]
    }

    /// `W(l)` of input `i` and output `j`.
    pub(crate) fn weight(&self, l: usize, i: usize, j: usize) -> Stored {
        self.layers[l - 1].0[i * self.exact.widths[l + 1] + j]
    }

    /// `b(l)` of output `j`.
    pub(crate) fn bias(&self, l: usize, j: usize) -> Stored {
        self.layers[l - 1].1[j]
    }
}
