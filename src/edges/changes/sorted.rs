//! Nodes by what they add to a unit of the first hidden layer, at most.

use crate::edges::changes::span::up;

/// For every term and unit of the first layer: those that add most first, and those that take most first.
#[derive(Debug)]
pub(crate) struct Sorted {
    pub(crate) lists: Vec<[Vec<Reached>; 2]>,
}

/// A sender, and its message times its part of the entry, rounded away from 0.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reached {
    pub(crate) node: u32,
    pub(crate) most: f64,
}

impl Sorted {
    /// The sum of the `count` largest of a list whose nodes are not in a row, nor the node itself.
    pub(crate) fn top(&self, at: usize, side: usize, count: usize, row: &[u32], node: u32) -> f64 {
        let new = self.lists[at][side].iter().filter(|of| of.node != node && row.binary_search(&of.node).is_err());
        new.take(count).fold(0.0, |sum, of| if sum == 0.0 { of.most } else { up(sum + of.most) })
    }
}
