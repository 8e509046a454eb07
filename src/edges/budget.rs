//! What an attacker may do to the edges of a graph: how many may be removed, in all and at a node, and which not.

use std::collections::BTreeSet;

use thiserror::Error;

use crate::problem::graph::Graph;
use crate::problem::matrix::PatternRows;

/// An undirected edge between two nodes, the smaller id first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub struct Edge(pub u32, pub u32);

impl Edge {
    /// The edge between two nodes, in either order.
    pub fn between(a: u32, b: u32) -> Edge {
        Edge(a.min(b), a.max(b))
    }
}

/// At most [`global`](EdgeBudget::global) edges are removed in all, at most [`local(n)`](EdgeBudget::local) at node `n` (a removal counts at
/// both ends), none that is frozen; and by default every node that has edges keeps one (docs/math.md (18.2)).
#[derive(Clone, Debug, PartialEq)]
pub struct EdgeBudget {
    global: usize,
    local: Vec<u32>,
    keep_one: bool,
    frozen: BTreeSet<Edge>,
}

/// A budget of edges that does not fit its graph.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum EdgeBudgetError {
    /// The list of local budgets has another length than the graph.
    #[error("{given} local budgets of edges were given for {nodes} nodes")]
    Length {
        /// Entries given.
        given: usize,
        /// Nodes of the graph.
        nodes: usize,
    },
    /// A local budget is negative.
    #[error("the local budget of edges of node {node} is {value}: it must not be negative")]
    Negative {
        /// The node.
        node: usize,
        /// What was given.
        value: i64,
    },
    /// A frozen node does not exist.
    #[error("node {id} cannot be frozen: there are only {count} (ids start at 0)")]
    Node {
        /// The id given.
        id: i64,
        /// Nodes of the graph.
        count: usize,
    },
    /// A frozen edge leads from a node to itself.
    #[error("{node}–{node} cannot be frozen: an edge has two different ends, and self-loops are never removed")]
    Loop {
        /// The node.
        node: i64,
    },
    /// A frozen edge is none of the graph.
    #[error("the edge {from}–{to} cannot be frozen: the graph has no such edge")]
    Edge {
        /// One end.
        from: i64,
        /// The other.
        to: i64,
    },
}

impl EdgeBudget {
    /// `global` removals in all, and the same number `local` at every node.
    pub fn uniform(graph: &Graph, global: usize, local: usize) -> EdgeBudget {
        let local = u32::try_from(local).unwrap_or(u32::MAX);
        EdgeBudget { global, local: vec![local; graph.node_count()], keep_one: true, frozen: BTreeSet::new() }
    }

    /// One local budget per node.
    ///
    /// # Errors
    /// If there are more or fewer than nodes, or one is negative.
    pub fn per_node(graph: &Graph, global: usize, local: &[i64]) -> Result<EdgeBudget, EdgeBudgetError> {
        if local.len() != graph.node_count() {
            return Err(EdgeBudgetError::Length { given: local.len(), nodes: graph.node_count() });
        }
        let mut budget = EdgeBudget::uniform(graph, global, 0);
        for (node, (&value, slot)) in local.iter().zip(&mut budget.local).enumerate() {
            let value = u64::try_from(value).map_err(|_| EdgeBudgetError::Negative { node, value })?;
            *slot = u32::try_from(value).unwrap_or(u32::MAX);
        }
        Ok(budget)
    }

    /// Does every node that has edges keep one? It does by default.
    pub fn keep_one(mut self, keep_one: bool) -> EdgeBudget {
        self.keep_one = keep_one;
        self
    }

    /// Forbids removals at these nodes.
    ///
    /// # Errors
    /// If there is no such node.
    pub fn freeze_nodes(mut self, nodes: &[i64]) -> Result<EdgeBudget, EdgeBudgetError> {
        let count = self.local.len();
        for &id in nodes {
            let slot = usize::try_from(id).ok().and_then(|n| self.local.get_mut(n));
            *slot.ok_or(EdgeBudgetError::Node { id, count })? = 0;
        }
        Ok(self)
    }

    /// Forbids the removal of these edges, each given by its ends in any order.
    ///
    /// # Errors
    /// If the graph has no such edge between two different nodes.
    pub fn freeze_edges(mut self, graph: &Graph, edges: &[(i64, i64)]) -> Result<EdgeBudget, EdgeBudgetError> {
        let count = graph.node_count();
        for &(from, to) in edges {
            if from == to {
                return Err(EdgeBudgetError::Loop { node: from });
            }
            let id = |id: i64| u32::try_from(id).ok().filter(|&id| (id as usize) < count);
            let (a, b) = id(from).zip(id(to)).ok_or(EdgeBudgetError::Edge { from, to })?;
            if !graph.adjacency().contains(a as usize, b) {
                return Err(EdgeBudgetError::Edge { from, to });
            }
            self.frozen.insert(Edge::between(a, b));
        }
        Ok(self)
    }

    /// The same budget with another `E`.
    pub fn with_global(&self, global: usize) -> EdgeBudget {
        EdgeBudget { global, ..self.clone() }
    }

    /// `E`: removals in all.
    pub fn global(&self) -> usize {
        self.global
    }

    /// `e_n`: removals at node `n`.
    pub fn local(&self, node: usize) -> usize {
        self.local[node] as usize
    }

    /// All local budgets.
    pub fn locals(&self) -> &[u32] {
        &self.local
    }

    /// Does every node that has edges keep one?
    pub fn keeps_one(&self) -> bool {
        self.keep_one
    }

    /// Edges that cannot be removed.
    pub fn frozen(&self) -> &BTreeSet<Edge> {
        &self.frozen
    }

    /// How many of its edges a node can lose.
    pub fn cap(&self, graph: &Graph, node: usize) -> usize {
        let most = graph.degree(node);
        self.local(node).min(if self.keep_one { most.saturating_sub(1) } else { most })
    }

    /// May all of these edges be removed together?
    pub fn admits(&self, graph: &Graph, edges: &[Edge]) -> bool {
        let different: BTreeSet<&Edge> = edges.iter().collect();
        let there = |e: &Edge| {
            e.0 != e.1 && (e.0 as usize) < graph.node_count() && graph.adjacency().contains(e.0 as usize, e.1)
        };
        let within =
            |node: u32| edges.iter().filter(|e| e.0 == node || e.1 == node).count() <= self.cap(graph, node as usize);
        different.len() == edges.len()
            && edges.len() <= self.global
            && edges.iter().all(|e| there(e) && !self.frozen.contains(e) && within(e.0) && within(e.1))
    }
}
