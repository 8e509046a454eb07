//! A graph after some changes.

use std::collections::BTreeMap;

use gcnproof_files::Pattern;

use crate::edges::budget::neighbours;
use crate::ids::Edge;

/// Rows that are others than those of the file.
pub struct ChangedGraph<'a> {
    adjacency: &'a Pattern,
    rows: BTreeMap<u32, Vec<u32>>,
}

impl<'a> ChangedGraph<'a> {
    /// An edge that the graph has is removed, another inserted.
    pub fn new<'e>(
        adjacency: &'a Pattern,
        directed: bool,
        changes: impl Iterator<Item = &'e Edge>,
    ) -> ChangedGraph<'a> {
        let mut rows: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for &(from, to) in changes {
            let back = (!directed).then_some((to, from));
            for (from, to) in std::iter::once((from, to)).chain(back) {
                let row = rows.entry(to).or_insert_with(|| neighbours(adjacency, to).collect());
                match row.binary_search(&from) {
                    Ok(place) => {
                        row.remove(place);
                    }
                    Err(place) => row.insert(place, from),
                }
            }
        }
        ChangedGraph { adjacency, rows }
    }

    /// Whom a node receives from, itself left out, ascending.
    pub fn row(&self, node: u32) -> Vec<u32> {
        self.rows.get(&node).cloned().unwrap_or_else(|| neighbours(self.adjacency, node).collect())
    }

    /// How many those are.
    pub fn degree(&self, node: u32) -> usize {
        match self.rows.get(&node) {
            Some(row) => row.len(),
            None => {
                let node_id = node as usize;
                self.adjacency.row(node_id).len() - usize::from(self.adjacency.contains(node_id, node))
            }
        }
    }

    /// Nodes whose rows are others than in the file.
    pub fn changed(&self) -> impl Iterator<Item = u32> + '_ {
        self.rows.keys().copied()
    }
}
