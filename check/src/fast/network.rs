//! The stored weights of the first layer in the orders that the fast path walks them.

use crate::core::network::Network;
use crate::directed::{Stored, Up, norm};

/// The network, and its first weights ordered.
pub(crate) struct FastNetwork<'a> {
    pub(crate) exact: &'a Network<'a>,
    /// For every unit of layer 2 the weights of all attributes.
    pub(crate) columns: Vec<Vec<Stored>>,
    /// For every unit of layer 2 the largest size of a weight.
    pub(crate) largest: Vec<Stored>,
    /// The attributes by falling norm of their weights, with a float not below that norm.
    pub(crate) by_norm: Vec<(u32, Up)>,
    /// The weights in that order, one attribute after the other.
    pub(crate) by_norm_weights: Vec<f64>,
}

impl<'a> FastNetwork<'a> {
    pub(crate) fn new(exact: &'a Network<'a>) -> FastNetwork<'a> {
        let first = &exact.model.layers[0].weight;
        let column = |unit: usize| (0..first.rows).map(|d| Stored::new(first.get(d, unit))).collect();
        let columns: Vec<Vec<Stored>> = (0..first.columns).map(column).collect();
        let largest = columns.iter().map(|column| {
            let sizes = column.iter().map(|w| w.size());
            sizes.max_by(|a, b| a.order(*b)).unwrap_or(Stored::ZERO)
        });
        let row_norm = |d: usize| norm(first.row(d).iter().map(|&w| Up::from(Stored::new(w).size())));
        let mut by_norm: Vec<(u32, Up)> = (0..first.rows).map(|d| (d as u32, row_norm(d))).collect();
        by_norm.sort_by(|a, b| b.1.order(a.1));
        let by_norm_weights = by_norm.iter().flat_map(|&(d, _)| first.row(d as usize)).copied().collect();
        FastNetwork { exact, largest: largest.collect(), columns, by_norm, by_norm_weights }
    }

    /// `W(l)` of input `i` and output `j`.
    pub(crate) fn weight(&self, l: usize, i: usize, j: usize) -> Stored {
        Stored::new(self.exact.model.layers[l - 1].weight.get(i, j))
    }

    /// `b(l)` of output `j`.
    pub(crate) fn bias(&self, l: usize, j: usize) -> Stored {
        Stored::new(self.exact.model.layers[l - 1].bias[j])
    }
}
