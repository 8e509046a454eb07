//! What a path through a tree has decided about the relevant edges, and which of them are free.

use super::ground::Ground;

/// The edges that a path removes and those that it leaves alone.
pub struct State<'g> {
    pub ground: &'g Ground,
    /// `F₁`, by edge.
    pub removed: Vec<bool>,
    /// `F₀`, by edge.
    kept: Vec<bool>,
    /// `cap'`, by node.
    pub cap: Vec<usize>,
    /// Edges left at a node, relevant or not.
    pub left: Vec<usize>,
    /// `E'`.
    pub budget: usize,
}

impl<'g> State<'g> {
    /// Nothing is decided.
    pub fn new(ground: &'g Ground, budget: usize) -> State<'g> {
        let none = vec![false; ground.edges.len()];
        let (cap, left) = (ground.cap.clone(), ground.degree.clone());
        State { ground, removed: none.clone(), kept: none, cap, left, budget }
    }

    /// Is nothing decided?
    pub fn is_start(&self) -> bool {
        !self.removed.iter().chain(&self.kept).any(|&decided| decided)
    }

    /// May the edge still be removed?
    pub fn is_free(&self, edge: usize) -> bool {
        let decided = self.ground.frozen[edge] || self.removed[edge] || self.kept[edge];
        !decided && self.budget >= 1 && self.ground.edges[edge].iter().all(|&end| self.cap[end] >= 1)
    }

    /// Is a free edge outer at this end: does nothing depend on its other end, which has room for all its free edges?
    fn is_outer(&self, edge: usize, at: usize) -> bool {
        let [i, j] = self.ground.edges[edge];
        let other = if i == at { j } else { i };
        let free = self.ground.at[other].iter().filter(|link| self.is_free(link.1)).count();
        !self.ground.inner[other] && self.cap[other] >= free
    }

    /// A free edge, and all that are left alone with it.
    pub fn group(&self, edge: usize) -> Vec<usize> {
        let Some(&at) = self.ground.edges[edge].iter().find(|&&end| self.is_outer(edge, end)) else {
            return vec![edge];
        };
        let free = self.ground.at[at].iter().map(|link| link.1).filter(|&other| self.is_free(other));
        free.filter(|&other| self.is_outer(other, at)).collect()
    }

    /// Leaves edges alone, or makes them free again.
    pub fn keep(&mut self, edges: &[usize], kept: bool) {
        edges.iter().for_each(|&edge| self.kept[edge] = kept);
    }

    /// Removes a free edge.
    pub fn remove(&mut self, edge: usize) {
        self.removed[edge] = true;
        self.budget -= 1;
        for end in self.ground.edges[edge] {
            self.cap[end] -= 1;
            self.left[end] -= 1;
        }
    }

    /// Puts a removed edge back.
    pub fn restore(&mut self, edge: usize) {
        self.removed[edge] = false;
        self.budget += 1;
        for end in self.ground.edges[edge] {
            self.cap[end] += 1;
            self.left[end] += 1;
        }
    }
}
