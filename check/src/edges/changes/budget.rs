//! The budget: which sets of changes are admissible. Subsets of admissible sets are admissible.

use std::collections::BTreeMap;

use gcnproof_files::{GraphFile, Pattern};

use crate::edges::budget::neighbours;
use crate::edges::line::{Candidates, ChangeKind, Changes, Removals, most_candidates};
use crate::format::Local;
use crate::ids::Edge;
use crate::verdict::Reason;

/// At most so many changes in all and at a node, removals of edges that are not frozen and insertions of candidates.
pub struct ChangeBudget {
    /// `E`.
    pub global: usize,
    pub kind: ChangeKind,
    pub directed: bool,
    pub candidates: Option<Candidates>,
    /// `e`, by node.
    local: Vec<usize>,
    /// How many of its edges a node can lose.
    losable: Vec<usize>,
    frozen: Vec<Edge>,
}

impl ChangeBudget {
    /// The budget of a header on a graph.
    ///
    /// # Errors
    /// If it does not fit the graph.
    pub fn new(stated: &Removals, changes: &Changes, graph: &GraphFile) -> Result<ChangeBudget, Reason> {
        let adjacency = &graph.adjacency;
        let nodes = adjacency.rows;
        let count = |x: u64| usize::try_from(x).unwrap_or(usize::MAX);
        let local = match &stated.local {
            Local::Uniform(e) => vec![count(*e); nodes],
            Local::PerNode(list) if list.len() == nodes => list.iter().map(|&e| count(e)).collect(),
            Local::PerNode(list) => {
                return Err(Reason::Header(format!("{} local budgets for {nodes} nodes", list.len())));
            }
        };
        let losable = (0..nodes as u32).map(|node| {
            let degree = neighbours(adjacency, node).count();
            if stated.keep_one { degree.saturating_sub(1) } else { degree }
        });
        let most = nodes.saturating_mul(nodes);
        let Changes { kind, directed, candidates } = changes.clone();
        let budget = ChangeBudget {
            global: count(stated.global).min(most),
            kind,
            directed,
            candidates,
            local,
            losable: losable.collect(),
            frozen: stated.frozen.clone(),
        };
        ascending("frozen edge", &stated.frozen)?;
        if let Some(edge) =
            stated.frozen.iter().find(|&&edge| !budget.is_pair(edge, nodes) || !is_there(adjacency, edge))
        {
            return Err(Reason::Header(format!("frozen edge {edge:?} is no edge of the graph")));
        }
        if let Some(Candidates::Listed(listed)) = &budget.candidates {
            ascending("candidate", listed)?;
            if listed.len() > most_candidates(nodes) {
                return Err(Reason::Header(format!("{} candidates, more than 64 for every node", listed.len())));
            }
            let fits =
                |&edge: &Edge| budget.is_pair(edge, nodes) && share_graph(graph, edge) && !is_there(adjacency, edge);
            if let Some(edge) = listed.iter().find(|edge| !fits(edge)) {
                return Err(Reason::Header(format!(
                    "candidate {edge:?} is no pair of nodes of a graph without an edge"
                )));
            }
        }
        Ok(budget)
    }

    /// Two different nodes of a graph, the smaller one first unless edges are directed.
    pub fn is_pair(&self, (i, j): Edge, nodes: usize) -> bool {
        i != j && (self.directed || i < j) && (i.max(j) as usize) < nodes
    }

    /// The nodes at which a change counts: both ends, or the receiver.
    pub fn counted(&self, (from, to): Edge) -> impl Iterator<Item = u32> + use<> {
        std::iter::once(to).chain((!self.directed).then_some(from))
    }

    /// Changes at a node, and removals among them, at most.
    pub fn at(&self, node: u32) -> [usize; 2] {
        [self.local[node as usize], self.losable[node as usize]]
    }

    /// May an edge be changed, numbers left aside?
    pub fn permits(&self, graph: &GraphFile, edge: Edge) -> bool {
        let adjacency = &graph.adjacency;
        if !self.is_pair(edge, adjacency.rows) {
            return false;
        }
        if is_there(adjacency, edge) {
            return self.kind.removes() && self.frozen.binary_search(&edge).is_err();
        }
        self.kind.inserts()
            && match &self.candidates {
                None => share_graph(graph, edge),
                Some(Candidates::Listed(listed)) => listed.binary_search(&edge).is_ok(),
                Some(Candidates::Within(hops)) => within(adjacency, edge.1, *hops).binary_search(&edge.0).is_ok(),
            }
    }

    /// Accepts an admissible set of changes, ascending.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn require(&self, graph: &GraphFile, edges: &[Edge]) -> Result<(), Reason> {
        let mut counts: BTreeMap<u32, [usize; 2]> = BTreeMap::new();
        for (at, &edge) in edges.iter().enumerate() {
            if at > 0 && edges[at - 1] >= edge {
                return Err(Reason::EdgeOrder(edge));
            }
            if !self.permits(graph, edge) {
                return Err(Reason::Change(edge));
            }
            for node in self.counted(edge) {
                let count = counts.entry(node).or_default();
                count[0] += 1;
                count[1] += usize::from(is_there(&graph.adjacency, edge));
            }
        }
        let within = counts.iter().all(|(&node, count)| count[0] <= self.at(node)[0] && count[1] <= self.at(node)[1]);
        if within && edges.len() <= self.global { Ok(()) } else { Err(Reason::Changes) }
    }

    /// Why not all changes that another budget admits are among those of this one; nothing if they are. It may ask for
    /// more than is needed.
    pub(crate) fn uncovered(&self, asked: &ChangeBudget) -> Vec<String> {
        let mut reasons = Vec::new();
        if asked.directed != self.directed {
            let words = |directed: bool| if directed { "directed" } else { "undirected" };
            reasons.push(format!(
                "asked about {} edges, stated about {} ones",
                words(asked.directed),
                words(self.directed)
            ));
        }
        if asked.kind.removes() && !self.kind.removes() {
            reasons.push("asked about removals, stated about insertions only".into());
        }
        if asked.kind.inserts() && !self.kind.inserts() {
            reasons.push("asked about insertions, stated about removals only".into());
        }
        let covered = match (&self.candidates, &asked.candidates) {
            (None, _) => true,
            (Some(Candidates::Within(stated)), Some(Candidates::Within(asked))) => asked <= stated,
            (Some(Candidates::Listed(stated)), Some(Candidates::Listed(asked))) => {
                asked.iter().all(|edge| stated.binary_search(edge).is_ok())
            }
            _ => false,
        };
        if asked.kind.inserts() && !covered {
            reasons.push("asked about insertions of more edges than are candidates as stated".into());
        }
        if let Some(edge) =
            self.frozen.iter().find(|edge| asked.kind.removes() && asked.frozen.binary_search(edge).is_err())
        {
            reasons.push(format!("removals of edge {}-{} are asked about, which is frozen as stated", edge.0, edge.1));
        }
        for node in 0..self.local.len() as u32 {
            let ([asked_changes, asked_losses], [changes, losses]) = (asked.at(node), self.at(node));
            if asked_changes.min(asked.global) > changes {
                reasons.push(format!("asked about {asked_changes} changes at node {node}, stated at most {changes}"));
                break;
            }
            if asked.kind.removes() && asked_losses.min(asked.global).min(asked_changes) > losses {
                reasons.push(format!("asked about {asked_losses} removals at node {node}, stated at most {losses}"));
                break;
            }
        }
        if asked.global > self.global {
            reasons.push(format!("asked about E = {}, stated E = {}", asked.global, self.global));
        }
        reasons
    }

    /// Is no change permitted at all, as far as numbers say it?
    pub(crate) fn is_void(&self) -> bool {
        self.global == 0 || self.local.iter().all(|&e| e == 0)
    }
}

/// Has the graph this edge? Rows hold those whom a node receives from.
pub fn is_there(adjacency: &Pattern, (from, to): Edge) -> bool {
    adjacency.contains(to as usize, from)
}

/// Are both ends, which must exist, nodes of the same graph? All are where nodes are classified.
pub fn share_graph(graph: &GraphFile, (from, to): Edge) -> bool {
    graph.batch.as_ref().is_none_or(|batch| batch[from as usize] == batch[to as usize])
}

fn ascending(what: &str, edges: &[Edge]) -> Result<(), Reason> {
    match edges.windows(2).find(|pair| pair[0] >= pair[1]) {
        Some(pair) => Err(Reason::Header(format!("{what} {:?} is listed twice or out of order", pair[1]))),
        None => Ok(()),
    }
}

/// The nodes at most so many edges behind a node, ascending, itself among them.
pub fn within(adjacency: &Pattern, node: u32, hops: u64) -> Vec<u32> {
    let (mut found, mut ring) = (std::collections::BTreeSet::from([node]), vec![node]);
    let mut left = hops;
    while left > 0 && !ring.is_empty() {
        left -= 1;
        let next: Vec<u32> = ring.iter().flat_map(|&v| neighbours(adjacency, v)).collect();
        ring = next.into_iter().filter(|&u| found.insert(u)).collect();
    }
    found.into_iter().collect()
}
