//! The operators of a layer, row by row: which entries of which terms lead from a node to the nodes that it receives
//! from.

use std::sync::Arc;

use gcnproof_files::SparseMatrix;

use crate::number::Stored;

/// An entry of the operator of one term.
#[derive(Clone, Copy, Debug)]
pub struct Link {
    /// The node at the other end; within a slice its place.
    pub at: u32,
    /// The term, counted from 0.
    pub term: u32,
    /// `A_k[m, n]`.
    pub entry: Stored,
}

impl Link {
    /// The place at the other end.
    pub fn place(&self) -> usize {
        self.at as usize
    }

    /// Where the numbers of the link's term are among those of all terms side by side, `width` for each.
    pub fn part(&self, width: usize) -> std::ops::Range<usize> {
        let start = self.term as usize * width;
        start..start + width
    }
}

/// A row, cut where the other end changes: the links of a piece are of different terms, and what passes along them is
/// added up.
pub fn pairs(row: &[Link]) -> impl Iterator<Item = &[Link]> {
    row.chunk_by(|a, b| a.at == b.at)
}

/// The operators of all terms of a layer.
pub struct Links {
    offsets: Vec<usize>,
    links: Vec<Link>,
}

impl Links {
    /// From the operators of the terms, which are square and of the same size, their column ids ascending.
    pub fn new(operators: &[Arc<SparseMatrix>]) -> Links {
        let rows = operators.first().map_or(0, |operator| operator.rows);
        let mut links = Links { offsets: vec![0], links: Vec::new() };
        for row in 0..rows {
            let start = links.links.len();
            for (term, operator) in (0..).zip(operators) {
                let (columns, values) = operator.row(row);
                let entries = columns.iter().zip(values);
                links.links.extend(entries.map(|(&at, &x)| Link { at, term, entry: Stored::new(x) }));
            }
            links.links[start..].sort_by_key(|link| (link.at, link.term));
            links.offsets.push(links.links.len());
        }
        links
    }

    /// What a node receives from, by node and then by term.
    pub fn row(&self, node: u32) -> &[Link] {
        let node = node as usize;
        &self.links[self.offsets[node]..self.offsets[node + 1]]
    }
}
