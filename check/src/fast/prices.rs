//! Prices that are floats.

use crate::format::exact::ExactPrices;
use crate::number::{Down, Stored};

/// `ρ` of every flip and `η` of those of some nodes, ascending by node; none is negative.
#[derive(Clone, Debug, Default)]
pub(crate) struct FloatPrices {
    pub(crate) every: Stored,
    pub(crate) nodes: Vec<(u32, Stored)>,
}

impl FloatPrices {
    /// Not above `ρ + η_n`.
    pub(crate) fn of(&self, node: u32) -> Down {
        let own = self.nodes.binary_search_by_key(&node, |entry| entry.0);
        own.map_or(Down::from(self.every), |at| Down::from(self.every).plus(self.nodes[at].1.into()))
    }

    pub(crate) fn exact(&self) -> ExactPrices {
        let nodes = self.nodes.iter().map(|(node, price)| (*node, price.exact())).collect();
        ExactPrices { every: self.every.exact(), nodes }
    }
}
