//! The slice: the nodes that one target depends on.

use super::network::Network;
use crate::directed::Stored;

/// The problem of one target. Nodes ascend within a representation, and rows and columns go by place.
pub struct Slice {
    nodes: Vec<Vec<u32>>,
    passing: Vec<Vec<Vec<(usize, Stored)>>>,
    reached: Vec<Vec<(usize, Stored)>>,
}

impl Slice {
    /// Cuts out what representation `top` of `target` depends on, along the non-zeros of `A(top−1) … A(1)`.
    pub fn new(network: &Network, top: usize, target: u32) -> Slice {
        let mut nodes = vec![vec![target]];
        let mut passing = Vec::new();
        for layer in network.layers[..top - 1].iter().rev() {
            let rows = &nodes[nodes.len() - 1];
            let mut columns: Vec<u32> = Vec::new();
            for &m in rows {
                columns.extend(layer.passing.row(m as usize).0);
            }
            columns.sort_unstable();
            columns.dedup();
            let local = rows.iter().map(|&m| {
                let (indices, values) = layer.passing.row(m as usize);
                let place = |n: &u32| columns.partition_point(|other| other < n);
                indices.iter().map(place).zip(values.iter().map(|&x| Stored::new(x))).collect()
            });
            passing.push(local.collect());
            nodes.push(columns);
        }
        nodes.reverse();
        passing.reverse();
        let mut reached = vec![Vec::new(); nodes[0].len()];
        let first: &Vec<Vec<(usize, Stored)>> = &passing[0];
        for (m, row) in first.iter().enumerate() {
            row.iter().for_each(|&(n, a)| reached[n].push((m, a)));
        }
        Slice { nodes, passing, reached }
    }

    /// The representation of the target: `L`, or less where it is a hidden unit.
    pub fn top(&self) -> usize {
        self.nodes.len()
    }

    /// The nodes of representation `l`, ascending.
    pub fn nodes(&self, l: usize) -> &[u32] {
        &self.nodes[l - 1]
    }

    /// `A(l)`: for each node of representation `l + 1`, places in representation `l` and entries.
    pub fn passing(&self, l: usize) -> &[Vec<(usize, Stored)>] {
        &self.passing[l - 1]
    }

    /// The columns of `A(1)`: for a place in representation 1, places in representation 2 and entries.
    pub fn reached(&self, place: usize) -> &[(usize, Stored)] {
        &self.reached[place]
    }

    /// Where a node stands in representation `l`, if it does.
    pub fn place(&self, l: usize, node: u32) -> Option<usize> {
        self.nodes(l).binary_search(&node).ok()
    }
}
