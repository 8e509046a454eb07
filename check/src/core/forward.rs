//! The true network: exact pre-activations and logits of a slice after some flips.

use super::budget::Decided;
use super::dyadic::Dyadic;
use super::network::Network;
use super::slice::Slice;

/// `(X' W(1))_n`: the sum of the rows of `W(1)` of the attributes that node `n` has after the flips.
fn sent(network: &Network, node: u32, flips: &Decided) -> Vec<Dyadic> {
    let weight = &network.layers[0].weight;
    let mut sums = vec![Dyadic::ZERO; network.widths[2]];
    for &d in network.graph.attributes.row(node as usize) {
        sums.iter_mut().zip(&weight[d as usize]).for_each(|(sum, w)| *sum += w);
    }
    for d in flips.flipped_in(node) {
        let present = network.has(node, d);
        for (sum, w) in sums.iter_mut().zip(&weight[d as usize]) {
            if present { *sum += &-w } else { *sum += w }
        }
    }
    sums
}

/// `Ĥ(2)` of the nodes of `V(2)` after some flips.
pub fn preactivations(network: &Network, slice: &Slice, flips: &Decided) -> Vec<Vec<Dyadic>> {
    let sent: Vec<Vec<Dyadic>> = slice.nodes(1).iter().map(|&n| sent(network, n, flips)).collect();
    let rows = slice.passing(1).iter().map(|row| {
        let mut sums = network.layers[0].bias.clone();
        for (n, entry) in row {
            let entry = entry.exact();
            sums.iter_mut().zip(&sent[*n]).for_each(|(sum, x)| *sum += &(&entry * x));
        }
        sums
    });
    rows.collect()
}

/// The logits of the target after some flips.
pub fn logits(network: &Network, slice: &Slice, flips: &Decided) -> Vec<Dyadic> {
    let mut z = preactivations(network, slice, flips);
    for l in 2..network.depth() {
        let layer = &network.layers[l - 1];
        let next = slice.passing(l).iter().map(|row| {
            let mut received = vec![Dyadic::ZERO; layer.weight.len()];
            for (n, entry) in row {
                let entry = entry.exact();
                for (sum, z) in received.iter_mut().zip(&z[*n]).filter(|(_, z)| z.is_positive()) {
                    *sum += &(&entry * z);
                }
            }
            let mut sums = layer.bias.clone();
            for (received, weights) in received.iter().zip(&layer.weight) {
                sums.iter_mut().zip(weights).for_each(|(sum, w)| *sum += &(received * w));
            }
            sums
        });
        z = next.collect();
    }
    z.swap_remove(0)
}
