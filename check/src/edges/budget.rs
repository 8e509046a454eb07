//! The budget: which sets of removals are admissible. Subsets of admissible sets are admissible.

use gcnproof_files::Pattern;

use super::line::Removals;
use crate::format::Local;
use crate::ids::Edge;
use crate::verdict::Reason;

/// At most [`RemovalBudget::global`] removals in all and [`RemovalBudget::cap`] at a node, none of them of a frozen
/// edge.
pub struct RemovalBudget {
    /// `E`.
    pub global: usize,
    caps: Vec<usize>,
    frozen: Vec<Edge>,
}

/// The neighbours of a node but itself.
pub fn neighbours(adjacency: &Pattern, node: u32) -> impl Iterator<Item = u32> + '_ {
    adjacency.row(node as usize).iter().copied().filter(move |&other| other != node)
}

/// Is it an edge of the graph, the smaller end first?
pub fn is_edge(adjacency: &Pattern, edge: Edge) -> bool {
    let (i, j) = edge;
    i < j && (j as usize) < adjacency.rows && adjacency.contains(i as usize, j)
}

impl RemovalBudget {
    /// The budget of a header on a graph.
    ///
    /// # Errors
    /// If it does not fit the graph.
    pub fn new(removals: &Removals, adjacency: &Pattern) -> Result<RemovalBudget, Reason> {
        let nodes = adjacency.rows;
        // More removals than edges mean nothing more, so the numbers stay small whatever the header says.
        let count = |x: u64| usize::try_from(x).unwrap_or(usize::MAX);
        let local = |node: usize| match &removals.local {
            Local::Uniform(e) => count(*e),
            Local::PerNode(list) => count(list[node]),
        };
        if let Local::PerNode(list) = &removals.local
            && list.len() != nodes
        {
            return Err(Reason::Header(format!("{} local budgets for {nodes} nodes", list.len())));
        }
        let caps = (0..nodes).map(|node| {
            let degree = neighbours(adjacency, node as u32).count();
            local(node).min(if removals.keep_one { degree.saturating_sub(1) } else { degree })
        });
        let caps = caps.collect();
        if let Some(pair) = removals.frozen.windows(2).find(|pair| pair[0] >= pair[1]) {
            return Err(Reason::Header(format!("frozen edge {:?} is listed twice or out of order", pair[1])));
        }
        if let Some(edge) = removals.frozen.iter().find(|&&edge| !is_edge(adjacency, edge)) {
            return Err(Reason::Header(format!("frozen edge {edge:?} is no edge of the graph")));
        }
        let global = count(removals.global).min(adjacency.indices.len());
        Ok(RemovalBudget { global, caps, frozen: removals.frozen.clone() })
    }

    /// How many edges may be removed at a node.
    pub fn cap(&self, node: u32) -> usize {
        self.caps[node as usize]
    }

    /// Can this edge of the graph never be removed?
    pub fn is_frozen(&self, edge: Edge) -> bool {
        self.frozen.binary_search(&edge).is_ok()
    }

    /// Accepts an admissible set: edges of the graph, ascending.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn require(&self, adjacency: &Pattern, edges: &[Edge]) -> Result<(), Reason> {
        for (at, &edge) in edges.iter().enumerate() {
            if !is_edge(adjacency, edge) || self.is_frozen(edge) {
                return Err(Reason::Edge(edge));
            }
            if at > 0 && edges[at - 1] >= edge {
                return Err(Reason::EdgeOrder(edge));
            }
        }
        let mut ends: Vec<u32> = edges.iter().flat_map(|&(i, j)| [i, j]).collect();
        ends.sort_unstable();
        let within = ends.chunk_by(|a, b| a == b).all(|same| same.len() <= self.cap(same[0]));
        if within && edges.len() <= self.global { Ok(()) } else { Err(Reason::Removals) }
    }
}
