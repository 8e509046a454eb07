//! Changes of categories in certificates (docs/math.md §23).
//!
//! A change is an attribute that no row has: its weights are those of the new category less those of the old one,
//! `W'_(g,o,c) = W_c − W_o` (23.2), and so is what a loss gains per unit of them.

use gcnproof::internals::problem::matrix::Weights;
use gcnproof::internals::problem::network::Network;
use gcnproof_files::{Categories, CategoryChange};

use super::gradient::{Gradient, add_scaled};

/// The same network with a first layer that takes changes of categories as well.
pub(crate) fn widened(network: &Network, categories: &Categories) -> Network {
    let mut wide = network.clone();
    let first = &mut wide.layers_mut()[0];
    let (inputs, outputs, terms) = (first.inputs(), first.outputs(), first.passing.terms());
    let rows = terms * (inputs + categories.changes().len());
    let mut values = Vec::with_capacity(rows * outputs);
    for term in 0..terms {
        values.extend_from_slice(&first.weight.values()[term * inputs * outputs..][..inputs * outputs]);
        for &CategoryChange { old, new, .. } in categories.changes() {
            let at = values.len();
            values.resize(at + outputs, 0.0);
            for (of, sign) in [(new, 1.0), (old, -1.0)] {
                if let Some(of) = of {
                    add_scaled(&mut values[at..], sign, first.weight.row(term * inputs + of as usize));
                }
            }
        }
    }
    first.weight = Weights::from_rows(rows, outputs, values);
    wide
}

/// Adds the gradient of the widened network to that of the network.
pub(crate) fn add_gradient(network: &Network, categories: &Categories, wide: &Gradient, into: &mut Gradient) {
    let layer = &network.layers()[0];
    let (inputs, outputs, terms) = (layer.inputs(), layer.outputs(), layer.passing.terms());
    let length = (inputs + categories.changes().len()) * outputs;
    for term in 0..terms {
        let own = &mut into.weight[0][term * inputs * outputs..][..inputs * outputs];
        let (plain, changes) = wide.weight[0][term * length..][..length].split_at(inputs * outputs);
        add_scaled(own, 1.0, plain);
        for (change, by) in categories.changes().iter().zip(changes.chunks_exact(outputs)) {
            for (of, sign) in [(change.new, 1.0), (change.old, -1.0)] {
                if let Some(of) = of {
                    add_scaled(&mut own[of as usize * outputs..][..outputs], sign, by);
                }
            }
        }
    }
    let others = into.weight[1..].iter_mut().zip(&wide.weight[1..]).chain(into.bias.iter_mut().zip(&wide.bias));
    others.for_each(|(own, by)| add_scaled(own, 1.0, by));
}
