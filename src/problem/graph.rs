//! The graph: nodes with binary attributes, and what their labels are.

use std::collections::BTreeSet;
use std::sync::Arc;

pub use gcnproof_files::{GraphFile, Pattern};

/// A graph with binary node attributes. A clone shares its data.
#[derive(Clone, Debug)]
pub struct Graph {
    file: Arc<GraphFile>,
    degrees: Arc<[u32]>,
}

impl Graph {
    /// A graph as it was read.
    pub fn new(file: GraphFile) -> Graph {
        // A self-loop is not a neighbour.
        let degrees = (0..file.adjacency.rows)
            .map(|n| (file.adjacency.row(n).len() - usize::from(file.adjacency.contains(n, n as u32))) as u32)
            .collect();
        Graph { file: Arc::new(file), degrees }
    }

    /// `N`.
    pub fn node_count(&self) -> usize {
        self.file.adjacency.rows
    }

    /// `D`.
    pub fn attribute_count(&self) -> usize {
        self.file.attributes.columns
    }

    /// Who is linked to whom.
    pub fn adjacency(&self) -> &Pattern {
        &self.file.adjacency
    }

    /// `X`: the attributes present at each node.
    pub fn attributes(&self) -> &Pattern {
        &self.file.attributes
    }

    /// Neighbours of a node, itself not counted.
    pub fn degree(&self, node: usize) -> usize {
        self.degrees[node] as usize
    }

    /// The label of a node, if it has one.
    pub fn label(&self, node: usize) -> Option<u32> {
        self.file.labels.as_ref().and_then(|labels| labels[node])
    }

    /// Rings around a node, one after the other: the nodes at distance 0, 1, 2 …, until there are no more.
    pub fn rings(&self, node: u32) -> impl Iterator<Item = Vec<u32>> + '_ {
        let mut seen = BTreeSet::from([node]);
        let mut ring = vec![node];
        std::iter::from_fn(move || {
            let current = std::mem::take(&mut ring);
            for &from in &current {
                for &to in self.adjacency().row(from as usize) {
                    if seen.insert(to) {
                        ring.push(to);
                    }
                }
            }
            (!current.is_empty()).then_some(current)
        })
    }

    /// Everything the file said.
    pub fn file(&self) -> &GraphFile {
        &self.file
    }
}
