//! The true network: exact pre-activations and logits of a slice after some flips.

use crate::number::Dyadic;
use crate::statement::{Decided, Network, Slice};

/// What a node of `V(1)` sends after some flips, before its row is divided by its number of attributes.
#[derive(Clone, Debug)]
pub struct Sent {
    /// The attributes that it has.
    pub count: usize,
    /// The sum of their rows of `W(1)`, of all terms, one after the other.
    pub sums: Vec<Dyadic>,
}

impl Sent {
    fn of(network: &Network, node: u32, flips: &Decided) -> Sent {
        let mut sent = Sent { count: 0, sums: vec![Dyadic::ZERO; network.terms[1] * network.widths[2]] };
        let flipped = |d: u32| flips.flipped.binary_search(&(node, d)).is_ok();
        let kept = network.graph.attributes.row(node as usize).iter().copied().filter(|&d| !flipped(d));
        for d in kept.chain(flips.flipped_in(node).filter(|&d| !network.has(node, d))) {
            sent.sums.iter_mut().zip(&network.layers[0].weight[d as usize]).for_each(|(sum, w)| *sum += w);
            sent.count += 1;
        }
        sent
    }

    /// Of all nodes of `V(1)`.
    pub fn all(network: &Network, slice: &Slice, flips: &Decided) -> Vec<Sent> {
        slice.nodes(1).iter().map(|&n| Sent::of(network, n, flips)).collect()
    }
}

/// `Ĥ(2)` of the nodes of `V(2)`, which receive this.
pub fn preactivations(network: &Network, slice: &Slice, sent: &[Sent]) -> Vec<Vec<Dyadic>> {
    let rows = slice.passing(1).iter().zip(slice.nodes(2)).map(|(row, &m)| {
        let mut sums = network.layers[0].bias(m).to_vec();
        for link in row {
            let Sent { count, sums: sent } = &sent[link.place()];
            let mut entry = link.entry.exact();
            if network.is_normalised() {
                entry = &entry * &network.scale(*count);
            }
            let sent = &sent[link.part(sums.len())];
            sums.iter_mut().zip(sent).for_each(|(sum, x)| *sum += &(&entry * x));
        }
        sums
    });
    rows.collect()
}

/// The logits of the target after some flips.
pub fn logits(network: &Network, slice: &Slice, flips: &Decided) -> Vec<Dyadic> {
    let mut z = preactivations(network, slice, &Sent::all(network, slice, flips));
    for l in 2..network.depth() {
        let (layer, inputs, outputs) = (&network.layers[l - 1], network.widths[l], network.widths[l + 1]);
        let next = slice.passing(l).iter().zip(slice.nodes(l + 1)).map(|(row, &m)| {
            // `Σ_n A_k H` of all terms, one after the other.
            let mut received = vec![Dyadic::ZERO; network.terms[l] * inputs];
            for link in row {
                let entry = link.entry.exact();
                let units = received[link.part(inputs)].iter_mut().zip(&z[link.place()]).enumerate();
                for (_, (sum, z)) in units.filter(|(unit, (_, z))| network.is_linear(l, *unit) || z.is_positive()) {
                    *sum += &(&entry * z);
                }
            }
            let mut sums = layer.bias(m).to_vec();
            for (at, received) in received.iter().enumerate() {
                let (term, input) = (at / inputs, at % inputs);
                let weights = &layer.weight[input][term * outputs..][..outputs];
                sums.iter_mut().zip(weights).for_each(|(sum, w)| *sum += &(received * w));
            }
            sums
        });
        z = next.collect();
    }
    z.swap_remove(0)
}
