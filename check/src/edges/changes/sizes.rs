//! How the sizes of nodes can change, and what of a changed entry each change at its ends is charged (`FORMAT-EDGES.md`
//! §8.4).

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

use super::graph::ChangedGraph;
use super::network::ChangeNetwork;
use super::path::{ChangePath, OpenChange};
use crate::edges::rule::EdgeRule;
use crate::number::{Interval, Stored};

/// Open changes of one row.
#[derive(Default)]
struct Row {
    /// Place of the change, and whom the node receives from by it or no more.
    changes: Vec<(usize, u32)>,
    insertions: usize,
    removals: usize,
    /// At most so many at once.
    cap: usize,
}

/// The open changes of a leaf, by the rows that they change.
pub struct Sizes<'a> {
    pub network: &'a ChangeNetwork<'a>,
    pub graph: &'a ChangedGraph<'a>,
    pub open: &'a [OpenChange],
    /// At most so many changes.
    pub budget: usize,
    rows: BTreeMap<u32, Row>,
    /// With lists: changes of rows of other nodes than these are not all named.
    near: Option<&'a BTreeSet<u32>>,
    path: &'a ChangePath<'a>,
}

impl<'a> Sizes<'a> {
    pub fn new(
        network: &'a ChangeNetwork<'a>,
        graph: &'a ChangedGraph<'a>,
        path: &'a ChangePath<'a>,
        open: &'a [OpenChange],
        near: Option<&'a BTreeSet<u32>>,
    ) -> Sizes<'a> {
        let mut rows: BTreeMap<u32, Row> = BTreeMap::new();
        for (place, change) in open.iter().enumerate() {
            let (from, to) = change.edge;
            let back = (!network.directed).then_some((to, from));
            for (from, to) in std::iter::once((from, to)).chain(back) {
                let row = rows.entry(to).or_default();
                row.changes.push((place, from));
                row.insertions += usize::from(change.inserts);
                row.removals += usize::from(!change.inserts);
                row.cap = path.cap(to);
            }
        }
        Sizes { network, graph, open, budget: path.left(), rows, near, path }
    }

    /// Is not every change of this row named? Then all are insertions.
    fn is_outside(&self, node: u32) -> bool {
        self.near.is_some_and(|near| !near.contains(&node))
    }

    /// The open changes of a node's row, with the other end.
    pub fn at(&self, node: u32) -> &[(usize, u32)] {
        self.rows.get(&node).map_or(&[], |row| &row.changes)
    }

    /// Does a change insert an edge?
    pub fn inserts(&self, place: usize) -> bool {
        self.open[place].inserts
    }

    fn sign(&self, place: usize) -> i64 {
        if self.inserts(place) { 1 } else { -1 }
    }

    /// Changes of a node's degree by at most `most` changes.
    fn shifts(&self, node: u32, most: usize) -> RangeInclusive<i64> {
        if self.is_outside(node) {
            return 0..=most.min(self.path.cap(node)).min(self.network.graph.adjacency.rows) as i64;
        }
        let Some(row) = self.rows.get(&node) else { return 0..=0 };
        let most = most.min(row.cap);
        -(most.min(row.removals) as i64)..=most.min(row.insertions) as i64
    }

    /// Changes of a node's degree by any set.
    pub fn all_shifts(&self, node: u32) -> RangeInclusive<i64> {
        self.shifts(node, self.budget)
    }

    /// The same by sets that hold a change.
    pub fn shifts_with(&self, node: u32, place: usize) -> RangeInclusive<i64> {
        let Some(row) = self.rows.get(&node).filter(|row| row.changes.iter().any(|of| of.0 == place)) else {
            return self.shifts(node, self.budget.saturating_sub(1));
        };
        let (sign, others) = (self.sign(place), row.cap.saturating_sub(1));
        if self.is_outside(node) {
            return sign..=sign + others.min(self.network.graph.adjacency.rows) as i64;
        }
        let removals = others.min(row.removals - usize::from(sign < 0)) as i64;
        let insertions = others.min(row.insertions - usize::from(sign > 0)) as i64;
        sign - removals..=sign + insertions
    }

    /// The size of a node whose degree has changed.
    pub fn size(&self, rule: EdgeRule, node: u32, shift: i64) -> usize {
        let degree = self.graph.degree(node) as i64 + shift;
        self.network.size(rule, node, usize::try_from(degree).unwrap_or(0))
    }

    /// The entries from a sender to a receiver of some size, over changes of the sender's degree.
    pub fn entry(&self, rule: EdgeRule, receiver: usize, sender: u32, shifts: RangeInclusive<i64>) -> Interval {
        if !rule.reads_sender() {
            return rule.entry(receiver, 1).into();
        }
        hull(shifts.map(|shift| rule.entry(receiver, self.size(rule, sender, shift)).into()))
    }

    /// What each change at the receiver bears of an entry's difference when the receiver's degree changes by `shift`,
    /// which is not 0; over changes of the sender's degree.
    pub fn borne_by_receiver(&self, rule: EdgeRule, receiver: u32, shift: i64, sender: u32) -> Interval {
        let (before, after) = (self.size(rule, receiver, 0), self.size(rule, receiver, shift));
        let share = |there: usize| quotient(rule.entry(after, there), rule.entry(before, there), shift);
        if !rule.reads_sender() {
            return share(1);
        }
        hull(self.all_shifts(sender).map(|other| share(self.size(rule, sender, other))))
    }

    /// The same of the entry from a node to itself.
    pub fn borne_by_own(&self, rule: EdgeRule, node: u32, shift: i64) -> Interval {
        let degree = self.graph.degree(node) as i64;
        let entry = |degree: i64| self.network.own_entry(rule, node, usize::try_from(degree).unwrap_or(0));
        quotient(entry(degree + shift), entry(degree), shift)
    }

    /// What a change at the sender bears, the receiver being as it is on the path. Where changes at the sender can
    /// cancel, all bear the same.
    pub fn borne_by_sender(&self, rule: EdgeRule, receiver: u32, sender: u32, place: usize) -> Interval {
        let cancel = |row: &Row| row.cap >= 2 && row.insertions > 0 && row.removals > 0;
        let shifts = match self.rows.get(&sender) {
            Some(row) if cancel(row) => self.all_shifts(sender),
            _ => self.shifts_with(sender, place),
        };
        let here = self.size(rule, receiver, 0);
        let entry = |shift: i64| rule.entry(here, self.size(rule, sender, shift));
        hull(shifts.filter(|&shift| shift != 0).map(|shift| quotient(entry(shift), entry(0), shift)))
    }
}

fn quotient(after: Stored, before: Stored, shift: i64) -> Interval {
    Interval::from(after).minus(before.into()).over(shift)
}

/// The smallest interval around some; 0 if there are none.
fn hull(intervals: impl Iterator<Item = Interval>) -> Interval {
    intervals.reduce(Interval::hull).unwrap_or(Interval::ZERO)
}
