//! `EdgeInstance`: the problem as plain data, and the naive forward pass on it.

/// How entries depend on the sizes of nodes: the numbers of their neighbours, themselves included where the rule says
/// so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passing {
    /// `1 / sqrt(size · size)`.
    Root,
    /// `1 / size` of the receiver.
    Mean,
    /// 1.
    Sum,
}

impl Passing {
    /// The entry by the sizes of receiver and sender, in plain f64.
    pub fn entry(self, receiver: usize, sender: usize) -> f64 {
        match self {
            Passing::Root => 1.0 / (receiver as f64 * sender as f64).sqrt(),
            Passing::Mean => 1.0 / receiver as f64,
            Passing::Sum => 1.0,
        }
    }
}

/// One target, one pair of classes, one hidden layer; every node passes to itself, so that no size is 0.
#[derive(Clone, Debug, PartialEq)]
pub struct EdgeInstance {
    /// The node whose margin is minimised, by its place in `sent`.
    pub target: usize,
    /// Undirected edges between two different nodes, each once.
    pub edges: Vec<(usize, usize)>,
    /// Which of them cannot be removed.
    pub frozen: Vec<bool>,
    /// How many may be removed in all.
    pub global: usize,
    /// How many may be removed at a node.
    pub cap: Vec<usize>,
    /// The message passing of the two layers.
    pub passing: [Passing; 2],
    /// What each node sends: its attributes times the first weights.
    pub sent: Vec<Vec<f64>>,
    /// What each node adds whatever is removed: its bias.
    pub fixed: Vec<Vec<f64>>,
    /// Hidden units that have no activation.
    pub linear: Vec<bool>,
    /// The difference of the second weights of the two classes, by hidden unit.
    pub weights: Vec<f64>,
    /// The difference of their biases.
    pub constant: f64,
}

impl EdgeInstance {
    /// Number of nodes.
    pub fn nodes(&self) -> usize {
        self.sent.len()
    }

    /// The edges at a node: the other end, and the edge.
    pub fn at(&self, node: usize) -> Vec<(usize, usize)> {
        let ends = self.edges.iter().enumerate();
        let other = |(edge, &(i, j)): (usize, &(usize, usize))| match node {
            _ if node == i => Some((j, edge)),
            _ if node == j => Some((i, edge)),
            _ => None,
        };
        ends.filter_map(other).collect()
    }

    /// The size of a node after so many removals there.
    pub fn size(&self, node: usize, removed: usize) -> usize {
        self.at(node).len() + 1 - removed
    }

    /// May these edges be removed together?
    pub fn admits(&self, removed: &[bool]) -> bool {
        let at = |node: usize| self.at(node).iter().filter(|link| removed[link.1]).count();
        let count = removed.iter().filter(|&&removed| removed).count();
        count <= self.global
            && removed.iter().zip(&self.frozen).all(|(&removed, &frozen)| !(removed && frozen))
            && (0..self.nodes()).all(|node| at(node) <= self.cap[node])
    }

    /// The margin after some removals, in plain f64.
    pub fn forward(&self, removed: &[bool]) -> f64 {
        let left = |node: usize| self.at(node).into_iter().filter(|link| !removed[link.1]);
        let size = |node: usize| left(node).count() + 1;
        let senders = |node: usize| left(node).map(|link| link.0).chain([node]);
        let value = |node: usize| -> f64 {
            let unit = |unit: usize| {
                let terms = senders(node).map(|n| self.passing[0].entry(size(node), size(n)) * self.sent[n][unit]);
                let z = self.fixed[node][unit] + terms.sum::<f64>();
                self.weights[unit] * if self.linear[unit] { z } else { z.max(0.0) }
            };
            (0..self.weights.len()).map(unit).sum()
        };
        let of = |m: usize| self.passing[1].entry(size(self.target), size(m)) * value(m);
        self.constant + senders(self.target).map(of).sum::<f64>()
    }
}
