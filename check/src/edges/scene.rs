//! A leaf's graph: the neighbours of the target, theirs, the edges that are free, and entries for any number of edges
//! left.

use std::ops::Range;

use super::network::EdgeNetwork;
use super::number::Scalar;
use super::rule::EdgeRule;
use super::state::State;
use crate::number::Stored;

/// A neighbour `n ≠ t` of a neighbour `m` of the target.
pub struct NeighbourLink {
    pub node: usize,
    pub edge: usize,
    /// Is `{m, n}` free?
    pub free: bool,
    /// Free edges at `n` but `{m, n}`.
    pub others: usize,
    /// Is `{t, n}` free?
    pub to_target: bool,
}

/// A neighbour `m` of the target.
pub struct Neighbour {
    pub node: usize,
    /// Is `{t, m}` free?
    pub free: bool,
    /// Free edges at `m` but `{t, m}`.
    pub others: usize,
    pub links: Vec<NeighbourLink>,
    /// `κ`: how many of its links one removal elsewhere can change.
    pub touched: usize,
}

/// A node with some of its edges removed.
#[derive(Clone, Copy, Debug)]
pub struct NodeState {
    pub id: u32,
    /// `d_v`: the edges that are left there.
    pub left: usize,
}

/// What a leaf is about.
pub struct Scene<'n, 's> {
    pub network: &'n EdgeNetwork<'n>,
    pub state: &'s State<'s>,
    /// By relevant edge: is it neither removed nor kept on the path?
    pub free: Vec<bool>,
    /// `B₀`.
    pub budget: usize,
    pub neighbours: Vec<Neighbour>,
    /// `κ` of the target.
    pub touched: usize,
    /// Free edges at the target.
    pub free_at_target: usize,
}

impl<'n, 's> Scene<'n, 's> {
    /// The graph of a path.
    pub fn new(network: &'n EdgeNetwork<'n>, state: &'s State<'s>) -> Scene<'n, 's> {
        let ground = state.ground;
        let free: Vec<bool> = (0..ground.edges.len()).map(|edge| state.is_free(edge)).collect();
        let free_at = |node: usize| ground.at[node].iter().filter(|link| free[link.1]).count();
        let counts: Vec<usize> = (0..ground.ids.len()).map(free_at).collect();
        let left = |node: usize| ground.at[node].iter().copied().filter(|link| !state.removed[link.1]);
        let mut to_target = vec![false; ground.ids.len()];
        left(ground.target).for_each(|(m, edge)| to_target[m] = free[edge]);
        // Does a free edge join two of these nodes?
        let mut marked = vec![false; ground.ids.len()];
        let mut touched = |nodes: &[usize]| {
            nodes.iter().for_each(|&node| marked[node] = true);
            let joins = |&node: &usize| ground.at[node].iter().any(|&(other, edge)| marked[other] && free[edge]);
            let joined = nodes.iter().any(joins);
            nodes.iter().for_each(|&node| marked[node] = false);
            if joined { 2 } else { 1 }
        };
        let mut neighbours = Vec::new();
        for (m, edge) in left(ground.target) {
            let links = left(m).filter(|link| link.0 != ground.target).map(|(n, edge)| NeighbourLink {
                node: n,
                edge,
                free: free[edge],
                others: counts[n] - usize::from(free[edge]),
                to_target: to_target[n],
            });
            let links: Vec<NeighbourLink> = links.collect();
            let senders: Vec<usize> = links.iter().map(|link| link.node).collect();
            let others = counts[m] - usize::from(free[edge]);
            neighbours.push(Neighbour { node: m, free: free[edge], others, touched: touched(&senders), links });
        }
        let around: Vec<usize> = neighbours.iter().map(|neighbour| neighbour.node).collect();
        let touched = touched(&around);
        let budget = state.budget.min(free.iter().filter(|&&free| free).count());
        Scene { network, state, budget, neighbours, touched, free_at_target: counts[ground.target], free }
    }

    pub fn target(&self) -> usize {
        self.state.ground.target
    }

    pub fn id(&self, node: usize) -> u32 {
        self.state.ground.ids[node]
    }

    /// `cap`: so many more edges may be removed at a node of the surroundings.
    pub fn cap(&self, node: usize) -> usize {
        self.state.cap[node]
    }

    /// `R_t`.
    pub fn most_at_target(&self) -> usize {
        self.cap(self.target()).min(self.free_at_target).min(self.budget)
    }

    /// How many removals there can be at a neighbour that is kept.
    pub fn most_at(&self, neighbour: &Neighbour) -> usize {
        self.cap(neighbour.node).min(neighbour.others).min(self.budget)
    }

    /// The free edges, but of those to nodes on which nothing depends only one at each node.
    pub fn listed(&self) -> Vec<usize> {
        let ground = self.state.ground;
        let mut alike = vec![false; ground.ids.len()];
        let is_new = |&edge: &usize| {
            let [i, j] = ground.edges[edge];
            let outer = [(i, j), (j, i)].into_iter().find(|ends| !ground.inner[ends.1]);
            outer.is_none_or(|(end, _)| !std::mem::replace(&mut alike[end], true))
        };
        (0..ground.edges.len()).filter(|&edge| self.free[edge]).filter(is_new).collect()
    }

    /// A node when `more` edges are removed there.
    pub fn with(&self, node: usize, more: usize) -> NodeState {
        NodeState { id: self.id(node), left: self.state.left[node] - more }
    }

    /// The entry of a rule along an edge.
    pub fn entry(&self, rule: EdgeRule, receiver: NodeState, sender: NodeState) -> Stored {
        if !rule.has_edges() {
            return Stored::ZERO;
        }
        let size = |node: NodeState| self.network.size(rule, node.id, node.left);
        rule.entry(size(receiver), size(sender))
    }

    /// `a(d_t − r_t, d_m − r)` of the first layer.
    pub fn center_entry(&self, neighbour: &Neighbour, removed: usize, more: usize) -> Stored {
        let target = self.with(self.target(), removed);
        self.entry(self.network.rule, target, self.with(neighbour.node, more))
    }

    /// The entry from a node to itself.
    pub fn own_entry(&self, rule: EdgeRule, node: NodeState) -> Stored {
        let size = self.network.size(rule, node.id, node.left);
        if self.network.own(rule, node.id) { rule.entry(size, size) } else { Stored::ZERO }
    }

    /// Adds an entry times what a node sends to some units.
    pub fn add<N: Scalar>(&self, entry: Stored, node: u32, units: Range<usize>, sums: &mut [N]) {
        if !entry.is_zero() {
            let sent = &self.network.sent::<N>(node)[units];
            sums.iter_mut().zip(sent).for_each(|(sum, y)| *sum = sum.plus(&y.scaled(entry)));
        }
    }
}
