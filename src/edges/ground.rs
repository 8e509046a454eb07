//! The surroundings of a target: its relevant edges, and which of them are free once some are removed and some are
//! kept.

use crate::edges::budget::Edge;
use crate::edges::problem::EdgeProblem;

/// A target with everything that removed edges can change about it. Nodes have numbers of their own: 0 is the target,
/// then its neighbours, then theirs, then the other ends of relevant edges.
#[derive(Debug)]
pub(crate) struct EdgeTarget {
    /// The ids of the nodes in the graph.
    pub(crate) ids: Vec<u32>,
    /// The target and its neighbours are `0 .. near`.
    pub(crate) near: usize,
    /// Nodes within two edges are `0 .. middle`.
    pub(crate) middle: usize,
    /// The ends of the relevant edges (docs/math.md (18.3)).
    pub(crate) edges: Vec<[u32; 2]>,
    /// Relevant edges at each node.
    pub(crate) at: Vec<Vec<u32>>,
    /// All edges at each node, relevant or not.
    pub(crate) degree: Vec<u32>,
    /// How many of them it may lose.
    pub(crate) cap: Vec<u32>,
    pub(crate) looped: Vec<bool>,
    frozen: Vec<bool>,
}

impl EdgeTarget {
    pub(crate) fn new(problem: &EdgeProblem, node: u32) -> EdgeTarget {
        let graph = problem.graph();
        let mut number = vec![u32::MAX; graph.node_count()];
        let mut ids = vec![node];
        number[node as usize] = 0;
        let mut reached = 1;
        let mut visited = 0;
        let mut ring = |ids: &mut Vec<u32>, until: usize| {
            while visited < until {
                for other in problem.neighbours(ids[visited]) {
                    if number[other as usize] == u32::MAX {
                        number[other as usize] = ids.len() as u32;
                        ids.push(other);
                    }
                }
                visited += 1;
            }
            ids.len()
        };
        let near = ring(&mut ids, reached);
        reached = near;
        let middle = ring(&mut ids, reached);
        let inner = if problem.rule().reads_sender() { middle } else { near };
        if problem.rule().reads_sender() {
            ring(&mut ids, middle);
        }
        let mut edges = Vec::new();
        let mut at = vec![Vec::new(); ids.len()];
        for v in 0..inner {
            for other in problem.neighbours(ids[v]) {
                let w = number[other as usize] as usize;
                // An edge between two of the inner nodes is seen twice.
                if w > v {
                    at[v].push(edges.len() as u32);
                    at[w].push(edges.len() as u32);
                    edges.push([v as u32, w as u32]);
                }
            }
        }
        let budget = problem.budget();
        let count = |value: usize| u32::try_from(value).unwrap_or(u32::MAX);
        EdgeTarget {
            near,
            middle,
            degree: ids.iter().map(|&v| count(graph.degree(v as usize))).collect(),
            cap: ids.iter().map(|&v| count(budget.cap(graph, v as usize))).collect(),
            looped: ids.iter().map(|&v| problem.looped(v)).collect(),
            frozen: edges
                .iter()
                .map(|&[a, b]| budget.frozen().contains(&Edge::between(ids[a as usize], ids[b as usize])))
                .collect(),
            ids,
            edges,
            at,
        }
    }

    /// An edge by the ids of its ends.
    pub(crate) fn edge(&self, edge: u32) -> Edge {
        let [a, b] = self.edges[edge as usize];
        Edge::between(self.ids[a as usize], self.ids[b as usize])
    }

    /// The other end of an edge.
    pub(crate) fn across(&self, edge: u32, from: u32) -> u32 {
        let [a, b] = self.edges[edge as usize];
        if a == from { b } else { a }
    }
}

/// What a branch has decided: edges that are removed, and edges that are kept.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Path {
    pub(crate) removed: Vec<u32>,
    pub(crate) kept: Vec<u32>,
    /// How many decisions that were: groups are kept together.
    pub(crate) splits: usize,
}

/// The surroundings of a target on a path.
#[derive(Debug)]
pub(crate) struct Ground<'a> {
    pub(crate) target: &'a EdgeTarget,
    /// Removals that are left in all; no more than there are free edges.
    pub(crate) budget: usize,
    /// Edges left at each node.
    pub(crate) degree: Vec<u32>,
    /// Removals left at each node.
    pub(crate) cap: Vec<u32>,
    pub(crate) gone: Vec<bool>,
    /// Edges that can still be removed.
    pub(crate) free: Vec<bool>,
    /// How many of them each node has.
    pub(crate) free_at: Vec<u32>,
}

impl<'a> Ground<'a> {
    /// `None` if the path removes more than the budget `global` admits.
    pub(crate) fn new(target: &'a EdgeTarget, global: usize, path: &Path) -> Option<Ground<'a>> {
        let left = global.checked_sub(path.removed.len())?;
        let (mut degree, mut cap) = (target.degree.clone(), target.cap.clone());
        let mut gone = vec![false; target.edges.len()];
        for &edge in &path.removed {
            gone[edge as usize] = true;
            for end in target.edges[edge as usize] {
                degree[end as usize] -= 1;
                cap[end as usize] = cap[end as usize].checked_sub(1)?;
            }
        }
        let mut free: Vec<bool> = target
            .edges
            .iter()
            .enumerate()
            .map(|(e, &[a, b])| left > 0 && !target.frozen[e] && !gone[e] && cap[a as usize] > 0 && cap[b as usize] > 0)
            .collect();
        path.kept.iter().for_each(|&edge| free[edge as usize] = false);
        let mut free_at = vec![0; target.ids.len()];
        for (_, ends) in free.iter().zip(&target.edges).filter(|(free, _)| **free) {
            ends.iter().for_each(|&end| free_at[end as usize] += 1);
        }
        let budget = left.min(free.iter().filter(|free| **free).count());
        Some(Ground { target, budget, degree, cap, gone, free, free_at })
    }

    /// All edges that can still be removed.
    pub(crate) fn free_edges(&self) -> impl Iterator<Item = u32> + '_ {
        (0..self.free.len() as u32).filter(|&edge| self.free[edge as usize])
    }

    /// The inner end of a free edge that leads to a node whose own edges matter to nobody and whose limit binds nobody.
    fn outer(&self, edge: u32) -> Option<u32> {
        let [n, x] = self.target.edges[edge as usize];
        let at = x as usize;
        (at >= self.target.middle && self.cap[at] >= self.free_at[at]).then_some(n)
    }

    /// The edges that may be kept together with this one where it is kept, since each could take its place
    /// (docs/math.md (18.12)).
    pub(crate) fn group(&self, edge: u32) -> Vec<u32> {
        match self.outer(edge) {
            None => vec![edge],
            Some(n) => {
                let at = self.target.at[n as usize].iter().copied();
                at.filter(|&other| self.free[other as usize] && self.outer(other) == Some(n)).collect()
            }
        }
    }

    /// May these free edges be removed together?
    pub(crate) fn admits(&self, edges: &[u32]) -> bool {
        if edges.len() > self.budget || !edges.iter().all(|&edge| self.free[edge as usize]) {
            return false;
        }
        let mut ends: Vec<u32> = edges.iter().flat_map(|&edge| self.target.edges[edge as usize]).collect();
        ends.sort_unstable();
        ends.chunk_by(|x, y| x == y).all(|end| end.len() <= self.cap[end[0] as usize] as usize)
    }
}

#[cfg(test)]
mod tests {
    use nalgebra::DMatrix;

    use super::*;
    use crate::edges::budget::EdgeBudget;
    use crate::problem::graph::Graph;
    use crate::problem::network::{Layer, Network, Operator};

    /// 0 is the target, 1 its neighbour, 2 and 3 are neighbours of that; 4 hangs on 2 and 3, 5 and 6 on 2 and on 7.
    fn problem(at_four: i64) -> EdgeProblem {
        let edges = [(0, 1), (1, 2), (1, 3), (2, 4), (3, 4), (2, 5), (2, 6), (5, 7), (6, 7)];
        let graph = Graph::from_lists(&edges, &vec![vec![0]; 8], 1).unwrap();
        let layer =
            |columns| Layer::new(&Operator::Gcn, &graph, &DMatrix::from_element(1, columns, 1.0), &vec![0.0; columns]);
        let network = Network::new(vec![layer(1), layer(2)]).unwrap();
        let mut local = vec![3; 8];
        local[4] = at_four;
        let budget = EdgeBudget::per_node(&graph, 4, &local).unwrap().keep_one(false);
        EdgeProblem::new(graph, network, budget).unwrap()
    }

    fn group(problem: &EdgeProblem, edge: Edge, removed: &[Edge]) -> Vec<Edge> {
        let target = EdgeTarget::new(problem, 0);
        let number = |edge: &Edge| (0..target.edges.len() as u32).find(|&e| target.edge(e) == *edge).unwrap();
        let path = Path { removed: removed.iter().map(number).collect(), kept: Vec::new(), splits: removed.len() };
        let ground = Ground::new(&target, problem.budget().global(), &path).unwrap();
        let mut group: Vec<Edge> = ground.group(number(&edge)).into_iter().map(|e| target.edge(e)).collect();
        group.sort_unstable();
        group
    }

    /// An edge stands for another only if the limit at its far end can never forbid it.
    #[test]
    fn edges_take_each_others_place_only_where_no_limit_binds() {
        let (free, bound) = (problem(3), problem(1));
        let outer = [Edge(2, 4), Edge(2, 5), Edge(2, 6)];
        assert_eq!(group(&free, Edge(2, 4), &[]), outer);
        assert_eq!(group(&free, Edge(2, 6), &[]), outer);
        assert_eq!(group(&bound, Edge(2, 4), &[]), [Edge(2, 4)]);
        assert_eq!(group(&bound, Edge(2, 5), &[]), outer[1..]);
        // Removed edges have no place to give.
        assert_eq!(group(&free, Edge(2, 4), &[Edge(2, 5)]), [Edge(2, 4), Edge(2, 6)]);
        // An edge at a neighbour of the target is no outer one.
        assert_eq!(group(&free, Edge(1, 2), &[]), [Edge(1, 2)]);
    }

    #[test]
    fn edges_farther_away_are_not_relevant() {
        let problem = problem(3);
        let target = EdgeTarget::new(&problem, 0);
        let relevant: Vec<Edge> = (0..target.edges.len() as u32).map(|e| target.edge(e)).collect();
        assert_eq!(relevant.len(), 7);
        assert!(!relevant.contains(&Edge(5, 7)) && !relevant.contains(&Edge(6, 7)));
    }
}
