//! A described term: its weights, which stand in the chain, and the sizes of what was folded into them.

use gcnproof_files::{DescribedLayer, Place};

use crate::problem::matrix::Weights;
use crate::problem::network::Network;

/// The numbers of a term.
#[derive(Clone, Copy)]
pub(super) struct TermWeights<'a> {
    chain: &'a Weights,
    place: Place,
    outputs: usize,
    magnitude: Option<&'a [f64]>,
}

impl<'a> TermWeights<'a> {
    /// Those of a term of a layer.
    pub(super) fn new(network: &'a Network, layer: &'a DescribedLayer, term: usize) -> TermWeights<'a> {
        let of = &layer.terms[term];
        let chain = &network.layers()[of.weight.layer].weight;
        TermWeights { chain, place: of.weight, outputs: layer.outputs, magnitude: of.magnitude.as_deref() }
    }

    /// The weights of an input.
    pub(super) fn row(&self, input: usize) -> &'a [f64] {
        &self.chain.row(self.place.row + input)[self.place.column..][..self.outputs]
    }

    /// At least the sum of the sizes of all products that stand for a weight: its own size where nothing was folded
    /// into it.
    pub(super) fn size(&self, input: usize, output: usize) -> f64 {
        match self.magnitude {
            Some(magnitude) => magnitude[input * self.outputs + output],
            None => self.row(input)[output].abs(),
        }
    }

    /// Weights and sizes of an input.
    pub(super) fn sized(self, input: usize) -> impl Iterator<Item = (f64, f64)> + 'a {
        let magnitude = self.magnitude.map(|magnitude| &magnitude[input * self.outputs..][..self.outputs]);
        self.row(input).iter().enumerate().map(move |(j, &w)| (w, magnitude.map_or(w.abs(), |sizes| sizes[j])))
    }
}

/// `|b|` of a node, or what was folded into it.
pub(super) fn bias_sizes<'a>(network: &'a Network, layer: &'a DescribedLayer, node: usize) -> Vec<f64> {
    let own = || bias(network, layer, node).iter().map(|b| b.abs()).collect();
    layer.bias_magnitude.as_ref().map_or_else(own, |magnitude| match magnitude.len() == layer.outputs {
        true => magnitude.clone(),
        false => magnitude[node * layer.outputs..][..layer.outputs].to_vec(),
    })
}

/// The biases of a node.
pub(super) fn bias<'a>(network: &'a Network, layer: &DescribedLayer, node: usize) -> &'a [f64] {
    &network.layers()[layer.layer].bias.row(node)[layer.first..][..layer.outputs]
}
