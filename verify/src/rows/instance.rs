//! `RowInstance`: the problem as plain data, and the naive forward pass on it.

use crate::layer::Layer;
use crate::matrix::Dense;

/// A change of one row: an attribute that it gets, one that it loses, or both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowChange {
    /// The row.
    pub node: usize,
    /// The attribute that it gets.
    pub added: Option<usize>,
    /// The attribute that it loses.
    pub removed: Option<usize>,
    /// Of the changes of a row with the same group one can be made, at most.
    pub group: Option<usize>,
}

impl RowChange {
    /// What it adds to the entries of its row.
    pub(super) fn parts(self) -> impl Iterator<Item = (usize, f64)> {
        self.added.map(|d| (d, 1.0)).into_iter().chain(self.removed.map(|d| (d, -1.0)))
    }

    /// Ones that the row has more after it.
    pub(super) fn more(self) -> i64 {
        i64::from(self.added.is_some()) - i64::from(self.removed.is_some())
    }
}

/// One target and one pair of classes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RowInstance {
    /// The layers; the last makes one row of logits.
    pub layers: Vec<Layer>,
    /// The attributes, 0 and 1, a row for each node.
    pub bits: Dense,
    /// What an attribute that a row has counts in it, by the number of attributes that the row has; empty where that is
    /// 1.
    pub scales: Vec<f64>,
    /// What the attacker may do.
    pub changes: Vec<RowChange>,
    /// How many changes may be made in each row.
    pub local_budget: Vec<usize>,
    /// How many in all.
    pub global_budget: usize,
    /// The coefficients of the logits in the margin.
    pub objective: Vec<f64>,
}

impl RowInstance {
    /// What an attribute counts in a row with so many.
    pub fn scale(&self, count: usize) -> f64 {
        self.scales.get(count).copied().unwrap_or(1.0)
    }

    /// How many attributes a row has.
    pub fn count(&self, node: usize) -> usize {
        self.bits.row(node).iter().filter(|bit| **bit != 0.0).count()
    }

    /// May these changes, by their places, be made together?
    pub fn admits(&self, made: &[usize]) -> bool {
        let of_row = |node: usize| made.iter().filter(move |at| self.changes[**at].node == node).count();
        let excluded = |at: &usize, other: &usize| {
            let (one, two) = (self.changes[*at], self.changes[*other]);
            at == other || one.node == two.node && one.group.is_some() && one.group == two.group
        };
        made.len() <= self.global_budget
            && (0..self.bits.rows).all(|node| of_row(node) <= self.local_budget[node])
            && made.iter().enumerate().all(|(at, one)| made[..at].iter().all(|other| !excluded(one, other)))
    }

    /// The margin after some changes, in plain f64.
    pub fn forward(&self, made: &[usize]) -> f64 {
        let mut changed = RowInstance { changes: Vec::new(), ..self.clone() };
        for change in made.iter().map(|&at| self.changes[at]) {
            change.parts().for_each(|(d, by)| *changed.bits.at_mut(change.node, d) += by);
        }
        let mut hidden = changed.entries();
        for (index, layer) in self.layers.iter().enumerate() {
            let next = layer.pre_activations(&hidden);
            hidden = if index + 1 < self.layers.len() { layer.activated(&next) } else { next };
        }
        self.objective.iter().zip(&hidden.values).map(|(c, logit)| c * logit).sum()
    }

    /// What the network reads.
    pub(super) fn entries(&self) -> Dense {
        let mut entries = self.bits.clone();
        for node in 0..entries.rows {
            let scale = self.scale(self.count(node));
            (0..entries.columns).for_each(|d| *entries.at_mut(node, d) *= scale);
        }
        entries
    }
}
