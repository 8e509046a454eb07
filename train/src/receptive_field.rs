//! The rows of each representation on which the logits of a set of targets depend.

use gcnproof::internals::problem::network::Network;

/// The rows needed, representation by representation.
#[derive(Clone, Debug)]
pub struct ReceptiveField {
    nodes: Vec<Vec<u32>>,
    needed: Vec<Vec<bool>>,
}

impl ReceptiveField {
    /// What the logits of the targets depend on.
    pub fn of(network: &Network, targets: &[u32]) -> ReceptiveField {
        let count = network.node_count();
        let mut top = vec![false; count];
        targets.iter().for_each(|&t| top[t as usize] = true);
        let mut needed = vec![top];
        for layer in network.layers().iter().rev() {
            let mut below = vec![false; count];
            for m in listed(&needed[needed.len() - 1]) {
                layer.passing.row(m as usize).for_each(|(n, _)| below[n] = true);
            }
            needed.push(below);
        }
        needed.reverse();
        ReceptiveField { nodes: needed.iter().map(|rows| listed(rows).collect()).collect(), needed }
    }

    /// The rows of representation `l`, rising.
    pub fn nodes(&self, l: usize) -> &[u32] {
        &self.nodes[l - 1]
    }

    /// Is this row of representation `l` needed?
    #[inline]
    pub fn needs(&self, l: usize, node: usize) -> bool {
        self.needed[l - 1][node]
    }
}

fn listed(rows: &[bool]) -> impl Iterator<Item = u32> + '_ {
    rows.iter().enumerate().filter(|(_, needed)| **needed).map(|(n, _)| n as u32)
}
