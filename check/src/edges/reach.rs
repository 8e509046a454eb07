//! How far removals can push a unit: bounds of the sums of all rises and of all falls.

use super::network::EdgeNetwork;
use super::number::{Scalar, sums_of_largest};
use crate::number::Stored;

/// A node that sends to the one whose units are pushed.
pub struct Sender {
    /// Its row in the graph.
    pub node: u32,
    /// The entry, if the edge between the two can be cut.
    pub cut: Option<Stored>,
    /// How much more the entry is at most for each removal elsewhere at the sender, and how many removals there can be.
    pub rate: Stored,
    pub most: usize,
}

/// `P` and `M` of a unit when exactly `cuts` edges to senders are cut, for each number of touches by other removals.
pub fn reach<N: Scalar>(
    network: &EdgeNetwork,
    senders: &[Sender],
    unit: usize,
    cuts: usize,
    touches: &[usize],
) -> Vec<[N; 2]> {
    // What rises, then what falls.
    let (mut by_cuts, mut elsewhere) = ([Vec::new(), Vec::new()], [Vec::new(), Vec::new()]);
    for sender in senders {
        let sent = &network.sent::<N>(sender.node)[unit];
        let parts = [sent.positive_part(), sent.negated().positive_part()];
        for (side, part) in parts.iter().enumerate().filter(|(_, part)| !part.is_zero()) {
            if let Some(entry) = sender.cut.filter(|_| cuts > 0) {
                by_cuts[1 - side].push((part.scaled(entry), 1));
            }
            if sender.most > 0 {
                elsewhere[side].push((part.scaled(sender.rate), sender.most));
            }
        }
    }
    let by_cuts = by_cuts.map(|list| sums_of_largest(list, &[cuts]).swap_remove(0));
    let [rises, falls] = elsewhere.map(|list| sums_of_largest(list, touches));
    let of = |(rise, fall): (N, N)| [by_cuts[0].plus(&rise), by_cuts[1].plus(&fall)];
    rises.into_iter().zip(falls).map(of).collect()
}
