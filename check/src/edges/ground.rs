//! The relevant edges of a target, and the nodes at their ends.

use super::budget::neighbours;
use super::statement::RemovalStatement;
use crate::ids::Edge;

/// The part of a graph on which the logits of one node depend. Nodes and edges go by place; places ascend with ids.
pub struct Ground {
    /// The ids of the nodes.
    pub ids: Vec<u32>,
    /// The place of the target.
    pub target: usize,
    /// Is a node the target, a neighbour of it, or one of those?
    pub inner: Vec<bool>,
    /// The relevant edges, by places.
    pub edges: Vec<[usize; 2]>,
    /// The relevant edges at a node: the other end, and the edge.
    pub at: Vec<Vec<(usize, usize)>>,
    /// All edges at a node, relevant or not.
    pub degree: Vec<usize>,
    /// How many may be removed at a node.
    pub cap: Vec<usize>,
    /// Can an edge never be removed?
    pub frozen: Vec<bool>,
}

impl Ground {
    /// Of a node, which must exist.
    pub fn new(statement: &RemovalStatement, node: u32) -> Ground {
        let adjacency = &statement.graph.adjacency;
        let first: Vec<u32> = neighbours(adjacency, node).collect();
        let second: Vec<u32> = first.iter().flat_map(|&m| neighbours(adjacency, m)).collect();
        let mut inner: Vec<u32> = first.iter().chain(&second).copied().chain([node]).collect();
        inner.sort_unstable();
        inner.dedup();
        let mut ends: Vec<u32> = first.iter().copied().chain([node]).collect();
        if statement.network.rule.reads_sender() {
            ends.extend(second);
        }
        ends.sort_unstable();
        ends.dedup();
        let sorted = |v: u32, x: u32| (v.min(x), v.max(x));
        let mut edges: Vec<Edge> =
            ends.iter().flat_map(|&v| neighbours(adjacency, v).map(move |x| sorted(v, x))).collect();
        edges.sort_unstable();
        edges.dedup();
        let mut ids: Vec<u32> = edges.iter().flat_map(|&(i, j)| [i, j]).chain([node]).collect();
        ids.sort_unstable();
        ids.dedup();
        let place = |id: u32| ids.partition_point(|&other| other < id);
        let mut ground = Ground {
            target: place(node),
            inner: ids.iter().map(|id| inner.binary_search(id).is_ok()).collect(),
            edges: edges.iter().map(|&(i, j)| [place(i), place(j)]).collect(),
            at: vec![Vec::new(); ids.len()],
            degree: ids.iter().map(|&id| neighbours(adjacency, id).count()).collect(),
            cap: ids.iter().map(|&id| statement.budget.cap(id)).collect(),
            frozen: edges.iter().map(|&edge| statement.budget.is_frozen(edge)).collect(),
            ids,
        };
        for (edge, &[i, j]) in ground.edges.iter().enumerate() {
            ground.at[i].push((j, edge));
            ground.at[j].push((i, edge));
        }
        ground
    }

    /// A node's place, if it is at an end of a relevant edge or the target.
    pub fn place(&self, id: u32) -> Option<usize> {
        self.ids.binary_search(&id).ok()
    }

    /// A relevant edge by the ids of its ends, the smaller one first.
    pub fn edge(&self, edge: Edge) -> Option<usize> {
        let (i, j) = edge;
        let ends = [self.place(i)?, self.place(j)?];
        self.edges.binary_search(&ends).ok()
    }
}
