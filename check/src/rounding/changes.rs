//! What of an attacker rounding depends on: attributes are 0 and 1, and some are flipped or categories are changed, or
//! they are numbers, and some are moved.

use super::layer::power;
use crate::number::Dyadic;
use crate::statement::{Budget, Decided, DescribedWeights, Network, attributes};

/// An attacker who changes entries of the attributes.
pub(crate) trait ChangeCounts {
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

    /// How far single changes of a row move a unit, or raise the magnitude of its sum, at most: changes that a row can
    /// have together.
    fn steps(&self, network: &Network, weights: &DescribedWeights, unit: usize) -> Vec<Dyadic>;

    /// The entries of a row that are not 0, and what they are; none: 1. With the flips that are made, if these are.
    fn row(&self, network: &Network, node: u32, made: Option<&Decided>) -> Vec<(u32, Option<Dyadic>)>;

    /// No entry is larger, whatever is changed.
    fn largest(&self, network: &Network) -> Dyadic;
}

impl ChangeCounts for Budget<'_> {
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

    fn steps(&self, network: &Network, weights: &DescribedWeights, unit: usize) -> Vec<Dyadic> {
        let Some(options) = self.options() else {
            let free = (0..attributes(network)).filter(|&d| !self.is_frozen(d as u32));
            return free.map(|d| weights.size(d, unit)).collect();
        };
        // From the category that sends most to the one that sends least, or that has the largest magnitude to the one
        // of the smallest.
        let widest = |of: &dyn Fn(usize) -> Dyadic, group: &[Option<u32>]| {
            let sent = || group.iter().map(|option| option.map_or(Dyadic::ZERO, |d| of(d as usize)));
            sent().max().zip(sent().min()).map_or(Dyadic::ZERO, |(most, least)| &most - &least)
        };
        let step = |group: &Vec<Option<u32>>| {
            widest(&|d| weights.weight(d, unit).clone(), group).max(widest(&|d| weights.size(d, unit), group))
        };
        options.iter().map(step).collect()
    }

    fn row(&self, network: &Network, node: u32, made: Option<&Decided>) -> Vec<(u32, Option<Dyadic>)> {
        let mut present = network.graph.attributes.row(node as usize).to_vec();
        for flip in made.iter().flat_map(|made| made.flipped_in(node)) {
            let change = network.graph.categories.as_ref().and_then(|categories| categories.change(flip));
            let [old, new] = match change {
                Some(change) => [change.old, change.new],
                None if network.has(node, flip) => [Some(flip), None],
                None => [None, Some(flip)],
            };
            present.retain(|&d| Some(d) != old);
            present.extend(new);
        }
        present.into_iter().map(|d| (d, None)).collect()
    }

    fn largest(&self, _: &Network) -> Dyadic {
        power(0)
    }
}
