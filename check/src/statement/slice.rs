//! The slice: the nodes that one target depends on.

use super::links::{Link, Links};
use super::network::Network;

/// Steps for a link, whatever passes along it.
const STEP: u64 = 16;

/// The problem of one target. Nodes ascend within a representation, and rows and columns go by place.
pub struct Slice {
    nodes: Vec<Vec<u32>>,
    passing: Vec<Vec<Vec<Link>>>,
    reached: Vec<Vec<Link>>,
}

impl Slice {
    /// Cuts out what representation `top` of `target` depends on, along the entries of all operators of the layers
    /// `top−1 … 1`.
    pub fn new(network: &Network, top: usize, target: u32) -> Slice {
        Slice::along(network.layers[..top - 1].iter().map(|layer| &*layer.links), target)
    }

    /// The same along the entries of some layers, of which there is at least one.
    pub fn along<'l>(layers: impl DoubleEndedIterator<Item = &'l Links>, target: u32) -> Slice {
        let mut nodes = vec![vec![target]];
        let mut passing = Vec::new();
        for links in layers.rev() {
            let rows = &nodes[nodes.len() - 1];
            let mut columns: Vec<u32> = Vec::new();
            for &m in rows {
                columns.extend(links.row(m).iter().map(|link| link.at));
            }
            columns.sort_unstable();
            columns.dedup();
            let place = |n: u32| columns.partition_point(|&other| other < n) as u32;
            let local = |link: &Link| Link { at: place(link.at), ..*link };
            passing.push(rows.iter().map(|&m| links.row(m).iter().map(local).collect()).collect());
            nodes.push(columns);
        }
        nodes.reverse();
        passing.reverse();
        let mut reached = vec![Vec::new(); nodes[0].len()];
        let first: &Vec<Vec<Link>> = &passing[0];
        for (m, row) in first.iter().enumerate() {
            row.iter().for_each(|link| reached[link.place()].push(Link { at: m as u32, ..*link }));
        }
        Slice { nodes, passing, reached }
    }

    /// The representation of the target: `L`, or less where it is a hidden unit.
    pub fn top(&self) -> usize {
        self.nodes.len()
    }

    /// Flips of the neighbourhood, times the links of layer 1 along which each is sent, times the units that it may
    /// change.
    pub fn flips(&self, network: &Network) -> u64 {
        let links = self.passing(1).iter().map(|row| row.len() as u64).sum::<u64>();
        links.saturating_mul((network.rows.len() * network.widths[2]) as u64)
    }

    /// Bytes of what a leaf holds of the rows of layer 2, a quarter of the most: for each link and unit, prices of its
    /// flips in both directions.
    pub fn bytes(&self, network: &Network) -> u64 {
        let links = self.passing(1).iter().map(|row| row.len() as u64).sum::<u64>();
        links.saturating_mul(16 * network.widths[2] as u64 + 32)
    }

    /// Steps of a pass along all links, about.
    pub fn steps(&self) -> u64 {
        let links = self.passing.iter().flatten().map(|row| row.len() as u64 + 1).sum::<u64>();
        links * STEP
    }

    /// The nodes of representation `l`, ascending.
    pub fn nodes(&self, l: usize) -> &[u32] {
        &self.nodes[l - 1]
    }

    /// The operators of layer `l`: for each node of representation `l + 1`, links to places in representation `l`.
    pub fn passing(&self, l: usize) -> &[Vec<Link>] {
        &self.passing[l - 1]
    }

    /// The columns of the operators of layer 1: for a place in representation 1, links to places in representation 2,
    /// by place and then by term.
    pub fn reached(&self, place: usize) -> &[Link] {
        &self.reached[place]
    }

    /// Where a node stands in representation `l`, if it does.
    pub fn place(&self, l: usize, node: u32) -> Option<usize> {
        self.nodes(l).binary_search(&node).ok()
    }
}
