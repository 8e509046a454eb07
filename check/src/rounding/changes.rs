//! What of an attacker rounding depends on: attributes are 0 and 1, and some are flipped, or they are numbers, and some are moved.

use super::layer::power;
use crate::number::Dyadic;
use crate::statement::{Budget, Network};

/// An attacker who changes entries of the attributes.
pub(crate) trait Changes {
    /// Roundings of a product that reads an attribute, beside those of its sums.
    fn products(&self, network: &Network) -> usize;

    /// Are rows divided by their sums after changes?
    fn divides(&self, network: &Network) -> bool;

    /// Changes in all.
    fn global(&self) -> usize;

    /// Changes in a row.
    fn local(&self, node: u32) -> usize;

    /// May entries that are 0 become others?
    fn adds(&self) -> bool;

    /// May entries that are not 0 become 0?
    fn removes(&self) -> bool;

    /// May an attribute be changed?
    fn is_free(&self, attribute: u32) -> bool;

    /// By how much an attribute is changed, at most.
    fn farthest(&self, attribute: u32) -> Dyadic;

    /// The entries of a row that are not 0, and what they are; none: 1.
    fn row(&self, network: &Network, node: u32) -> Vec<(u32, Option<Dyadic>)>;

    /// No entry is larger, whatever is changed.
    fn largest(&self, network: &Network) -> Dyadic;
}

impl Changes for Budget<'_> {
    fn products(&self, network: &Network) -> usize {
        // `1·w` and `a·1` are exact; a quotient may have to be rounded, and is multiplied twice.
        if network.is_normalised() { 3 } else { 1 }
    }

    fn divides(&self, network: &Network) -> bool {
        network.is_normalised()
    }

    fn global(&self) -> usize {
        self.global
    }

    fn local(&self, node: u32) -> usize {
        self.local(node)
    }

    fn adds(&self) -> bool {
        self.adds()
    }

    fn removes(&self) -> bool {
        self.removes()
    }

    fn is_free(&self, attribute: u32) -> bool {
        !self.is_frozen(attribute)
    }

    fn farthest(&self, _: u32) -> Dyadic {
        power(0)
    }

    fn row(&self, network: &Network, node: u32) -> Vec<(u32, Option<Dyadic>)> {
        network.graph.attributes.row(node as usize).iter().map(|&d| (d, None)).collect()
    }

    fn largest(&self, _: &Network) -> Dyadic {
        power(0)
    }
}
