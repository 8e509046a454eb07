//! What an attacker may do to the edges of a graph: which may be removed or inserted, and how many, in all and at a
//! node.

use std::collections::{BTreeMap, BTreeSet};

use thiserror::Error;

use crate::problem::graph::Graph;
use crate::problem::matrix::PatternRows;

/// An edge between two nodes: undirected with the smaller id first, or where edges are directed from the first node to
/// the second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub struct Edge(pub u32, pub u32);

impl Edge {
    /// The edge between two nodes, in either order.
    pub fn between(a: u32, b: u32) -> Edge {
        Edge(a.min(b), a.max(b))
    }
}

/// What may be done to edges.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum EdgeKind {
    /// Edges are removed.
    #[default]
    Remove,
    /// Edges are inserted.
    Insert,
    /// Both.
    Change,
}

impl EdgeKind {
    /// The name used in options and files.
    pub fn name(self) -> &'static str {
        match self {
            EdgeKind::Remove => "remove",
            EdgeKind::Insert => "insert",
            EdgeKind::Change => "change",
        }
    }

    /// May edges be removed?
    pub fn removes(self) -> bool {
        self != EdgeKind::Insert
    }

    /// May edges be inserted?
    pub fn inserts(self) -> bool {
        self != EdgeKind::Remove
    }
}

/// Which edges may be inserted, of those that the graph does not have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Candidates {
    /// All.
    #[default]
    All,
    /// Between nodes at most so many edges apart; directed, from nodes whose messages already arrive by so many edges.
    Within(usize),
    /// These.
    Listed(BTreeSet<Edge>),
}

/// At most [`global`](EdgeBudget::global) edges are changed in all, at most [`local(n)`](EdgeBudget::local) at node `n`
/// (a change counts at both ends, of a directed edge at its receiver), none that is frozen is removed; and by default
/// every node that has edges keeps one of them (docs/math.md (18.2), (24.1)).
#[derive(Clone, Debug, PartialEq)]
pub struct EdgeBudget {
    global: usize,
    local: Vec<u32>,
    keep_one: bool,
    frozen: BTreeSet<Edge>,
    kind: EdgeKind,
    directed: bool,
    candidates: Candidates,
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
    /// A candidate cannot be inserted.
    #[error(
        "{from}–{to} is no candidate for an insertion: its ends must be two different nodes of one graph without an edge between them"
    )]
    Candidate {
        /// One end.
        from: i64,
        /// The other.
        to: i64,
    },
}

impl EdgeBudget {
    /// `global` changes in all, and the same number `local` at every node; removals, if nothing else is said.
    pub fn uniform(graph: &Graph, global: usize, local: usize) -> EdgeBudget {
        let local = vec![u32::try_from(local).unwrap_or(u32::MAX); graph.node_count()];
        let (kind, candidates) = (EdgeKind::default(), Candidates::default());
        EdgeBudget { global, local, keep_one: true, frozen: BTreeSet::new(), kind, directed: false, candidates }
    }

    /// What is done to edges.
    pub fn kind(mut self, kind: EdgeKind) -> EdgeBudget {
        self.kind = kind;
        self
    }

    /// Is each direction of an edge an edge of its own? To be said before edges are frozen or listed.
    pub fn directed(mut self, directed: bool) -> EdgeBudget {
        self.directed = directed;
        self
    }

    /// Lets only edges between nodes at most so many edges apart be inserted.
    pub fn within(mut self, hops: usize) -> EdgeBudget {
        self.candidates = Candidates::Within(hops);
        self
    }

    /// Lets only these edges be inserted, each given by its ends, in any order unless edges are directed.
    ///
    /// # Errors
    /// If one of them cannot be.
    pub fn listed(mut self, graph: &Graph, edges: &[(i64, i64)]) -> Result<EdgeBudget, EdgeBudgetError> {
        let mut listed = BTreeSet::new();
        for &(from, to) in edges {
            let fits = |edge: &Edge| graph.companions(edge.0).contains(&edge.1) && !self.is_there(graph, *edge);
            let edge = self.edge(graph, from, to).filter(fits);
            listed.insert(edge.ok_or(EdgeBudgetError::Candidate { from, to })?);
        }
        self.candidates = Candidates::Listed(listed);
        Ok(self)
    }

    /// Two different nodes of the graph as the ends of an edge.
    fn edge(&self, graph: &Graph, from: i64, to: i64) -> Option<Edge> {
        let id = |id: i64| u32::try_from(id).ok().filter(|&id| (id as usize) < graph.node_count());
        let (a, b) = id(from).zip(id(to)).filter(|(a, b)| a != b)?;
        Some(if self.directed { Edge(a, b) } else { Edge::between(a, b) })
    }

    /// Has the graph this edge between two different nodes? Rows hold senders.
    pub(crate) fn is_there(&self, graph: &Graph, edge: Edge) -> bool {
        graph.adjacency().contains(edge.1 as usize, edge.0)
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
        for &(from, to) in edges {
            if from == to {
                return Err(EdgeBudgetError::Loop { node: from });
            }
            let edge = self.edge(graph, from, to).filter(|&edge| self.is_there(graph, edge));
            self.frozen.insert(edge.ok_or(EdgeBudgetError::Edge { from, to })?);
        }
        Ok(self)
    }

    /// The same budget with another `E`.
    pub fn with_global(&self, global: usize) -> EdgeBudget {
        EdgeBudget { global, ..self.clone() }
    }

    /// The same, with no more changes in all than the graph permits: beyond, work would grow and nothing else. Budgets
    /// of `FEW` are kept as they are, so that leaves of proofs speak of the number that a header states.
    pub(crate) fn capped(self, graph: &Graph) -> EdgeBudget {
        const FEW: usize = 1000;
        let nodes = graph.node_count();
        let removals = if self.kind.removes() { graph.adjacency().nnz() } else { 0 };
        let insertions = match &self.candidates {
            _ if !self.kind.inserts() => 0,
            Candidates::Listed(edges) => edges.len(),
            Candidates::All | Candidates::Within(_) => nodes.saturating_mul(nodes),
        };
        let global = self.global.min(removals.saturating_add(insertions).max(FEW));
        EdgeBudget { global, ..self }
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

    /// What is done to edges.
    pub fn changes(&self) -> EdgeKind {
        self.kind
    }

    /// Is each direction of an edge an edge of its own?
    pub fn is_directed(&self) -> bool {
        self.directed
    }

    /// Which edges may be inserted.
    pub fn candidates(&self) -> &Candidates {
        &self.candidates
    }

    /// Is nothing but the removal of undirected edges permitted?
    pub fn removes_only(&self) -> bool {
        self.kind == EdgeKind::Remove && !self.directed
    }

    /// The nodes at which a change of an edge counts.
    pub fn counted(&self, edge: Edge) -> impl Iterator<Item = u32> + use<> {
        std::iter::once(edge.1).chain((!self.directed).then_some(edge.0))
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

    /// How many of its edges a node can lose, whatever else is changed there.
    pub fn losable(&self, graph: &Graph, node: usize) -> usize {
        let most = graph.degree(node);
        if self.keep_one { most.saturating_sub(1) } else { most }
    }

    /// May this edge, by itself, be changed, as far as it is not a question of numbers?
    pub fn permits(&self, graph: &Graph, edge: Edge) -> bool {
        let ordered = self.directed || edge.0 < edge.1;
        let nodes = graph.node_count();
        if edge.0 == edge.1 || !ordered || edge.0 as usize >= nodes || edge.1 as usize >= nodes {
            return false;
        }
        if self.is_there(graph, edge) {
            return self.kind.removes() && !self.frozen.contains(&edge);
        }
        self.kind.inserts()
            && match &self.candidates {
                Candidates::All => graph.companions(edge.0).contains(&edge.1),
                Candidates::Listed(edges) => edges.contains(&edge),
                Candidates::Within(hops) => graph.rings(edge.1).take(hops + 1).any(|ring| ring.contains(&edge.0)),
            }
    }

    /// May all of these edges be changed together?
    pub fn admits(&self, graph: &Graph, edges: &[Edge]) -> bool {
        let different: BTreeSet<&Edge> = edges.iter().collect();
        if different.len() != edges.len() || edges.len() > self.global {
            return false;
        }
        // Changes and removals at each node.
        let mut counts: BTreeMap<u32, [usize; 2]> = BTreeMap::new();
        for &edge in edges {
            if !self.permits(graph, edge) {
                return false;
            }
            let removal = usize::from(self.is_there(graph, edge));
            for node in self.counted(edge) {
                let count = counts.entry(node).or_default();
                *count = [count[0] + 1, count[1] + removal];
            }
        }
        counts.iter().all(|(&node, &[changes, removals])| {
            changes <= self.local(node as usize) && removals <= self.losable(graph, node as usize)
        })
    }
}
