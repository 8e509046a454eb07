//! What changes do to the entries of a row: how far a node's size can go, and what of a difference each change at it is
//! charged (docs/math.md (24.4)).

use std::collections::HashMap;
use std::ops::RangeInclusive;

use crate::edges::budget::Edge;
use crate::edges::changes::menu::ChangeMenu;
use crate::edges::changes::span::Span;
use crate::edges::rule::Rule;

/// Open changes of a node's row.
#[derive(Clone, Debug, Default)]
pub(crate) struct Incoming {
    /// The change, and the other end.
    pub(crate) flips: Vec<(u32, u32)>,
    plus: usize,
    minus: usize,
    /// So many of them at once, at most.
    cap: usize,
}

/// Some of the sets of insertions: so many at the target, and no other one at a node that they link to it unless it may
/// be chained (docs/math.md §24.9).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Case {
    pub(crate) at_target: usize,
    pub(crate) chained: bool,
}

/// The open changes by the nodes whose rows they change.
pub(crate) struct Entries<'a> {
    pub(crate) menu: &'a ChangeMenu<'a>,
    into: HashMap<u32, Incoming>,
    /// The sets that are asked about, if these are not all.
    case: Option<Case>,
}

impl<'a> Entries<'a> {
    pub(crate) fn new(menu: &'a ChangeMenu<'a>, case: Option<Case>) -> Entries<'a> {
        let mut into: HashMap<u32, Incoming> = HashMap::new();
        for (at, flip) in menu.flips.iter().enumerate() {
            for arc in menu.setting.arcs(flip.edge) {
                let incoming = into.entry(arc.to).or_default();
                incoming.flips.push((at as u32, arc.from));
                if flip.inserts {
                    incoming.plus += 1;
                } else {
                    incoming.minus += 1;
                }
            }
        }
        into.iter_mut().for_each(|(&node, incoming)| incoming.cap = menu.cap(node));
        Entries { menu, into, case }
    }

    /// May a node that an insertion links to the target have another one?
    pub(crate) fn chained(&self) -> bool {
        self.case.is_none_or(|case| case.chained)
    }

    /// Insertions at the target beside one of them, at least.
    pub(crate) fn linking(&self) -> usize {
        self.case.map_or(0, |case| case.at_target.saturating_sub(1))
    }

    /// The changes of a node's row.
    pub(crate) fn at(&self, node: u32) -> &[(u32, u32)] {
        self.into.get(&node).map_or(&[], |incoming| &incoming.flips)
    }

    /// Are insertions at a node bounded by lists, and not named one by one?
    fn is_outside(&self, node: u32) -> bool {
        self.menu.near.as_ref().is_some_and(|near| !near.contains(&node))
    }

    /// So many insertions, or as many as there are nodes.
    fn elsewhere(&self, count: usize) -> i64 {
        count.min(self.menu.setting.stack.graph.node_count()) as i64
    }

    /// 1 for an insertion, −1 for a removal.
    pub(crate) fn sign(&self, flip: u32) -> i64 {
        if self.menu.flips[flip as usize].inserts { 1 } else { -1 }
    }

    /// By how much the number of a node's edges can change, at most so many changes being made there.
    fn net(&self, node: u32, most: usize) -> RangeInclusive<i64> {
        if let Some(case) = self.case.filter(|_| node == self.menu.target) {
            return case.at_target as i64..=case.at_target as i64;
        }
        if self.is_outside(node) {
            return 0..=self.elsewhere(most.min(self.menu.cap(node)));
        }
        let Some(incoming) = self.into.get(&node) else { return 0..=0 };
        let most = most.min(incoming.cap);
        -(incoming.minus.min(most) as i64)..=incoming.plus.min(most) as i64
    }

    /// The same for all sets.
    pub(crate) fn any(&self, node: u32) -> RangeInclusive<i64> {
        self.net(node, self.menu.budget)
    }

    /// The same for sets with a change, which may be one of the node's row.
    pub(crate) fn given(&self, node: u32, flip: u32) -> RangeInclusive<i64> {
        if let Some(case) = self.case {
            let Edge(one, other) = self.menu.flips[flip as usize].edge;
            match self.menu.target {
                target if node == target => return self.any(node),
                target if !case.chained && (one == target || other == target) && (one == node || other == node) => {
                    return 1..=1;
                }
                _ => {}
            }
        }
        let Some(incoming) = self.into.get(&node) else { return self.net(node, self.menu.budget.saturating_sub(1)) };
        let inside = self.menu.setting.arcs(self.menu.flips[flip as usize].edge).any(|arc| arc.to == node);
        if !inside {
            return self.net(node, self.menu.budget.saturating_sub(1));
        }
        let (sign, most) = (self.sign(flip), incoming.cap.saturating_sub(1));
        if self.is_outside(node) {
            return sign..=sign + self.elsewhere(most);
        }
        let others = |count: usize, same: bool| count.saturating_sub(usize::from(same)).min(most) as i64;
        sign - others(incoming.minus, sign < 0)..=sign + others(incoming.plus, sign > 0)
    }

    /// Can some changes of a node's row cancel, as far as its size goes?
    pub(crate) fn cancel(&self, node: u32) -> bool {
        self.into.get(&node).is_some_and(|incoming| incoming.cap >= 2 && incoming.plus > 0 && incoming.minus > 0)
    }

    pub(crate) fn size(&self, rule: Rule, node: u32, net: i64) -> usize {
        let degree = self.menu.world.degree(node) as i64 + net;
        self.menu.setting.stack.size(rule, node, usize::try_from(degree).unwrap_or(0))
    }

    /// The entry along an edge of the graph on the path.
    pub(crate) fn along(&self, rule: Rule, receiver: u32, sender: u32) -> f64 {
        let there = if rule.reads_sender() { self.size(rule, sender, 0) } else { 1 };
        rule.entry(self.size(rule, receiver, 0), there)
    }

    /// The entry along an edge whose receiver has a size, over sizes of the sender.
    pub(crate) fn entry(&self, rule: Rule, receiver: usize, sender: u32, nets: RangeInclusive<i64>) -> Span {
        if !rule.reads_size() {
            return Span::of(1.0);
        }
        if !rule.reads_sender() {
            return Span::of(rule.entry(receiver, 1));
        }
        let entries = nets.map(|net| Span::of(rule.entry(receiver, self.size(rule, sender, net))));
        entries.reduce(Span::hull).unwrap_or(Span::ZERO)
    }

    /// What each change at the receiver is charged of a difference of an entry, the size of the receiver changing by
    /// `net`, which is not 0: the difference by `net`, over sizes of the sender.
    pub(crate) fn received(&self, rule: Rule, receiver: u32, net: i64, sender: u32) -> Span {
        let (before, after) = (self.size(rule, receiver, 0), self.size(rule, receiver, net));
        let quotient = |there: usize| {
            let difference = Span::of(rule.entry(after, there)).minus(Span::of(rule.entry(before, there)));
            difference.over(net as f64)
        };
        if !rule.reads_sender() {
            return quotient(1);
        }
        let quotients = self.any(sender).map(|net| quotient(self.size(rule, sender, net)));
        quotients.reduce(Span::hull).unwrap_or(Span::ZERO)
    }

    /// The same of the entry of a node with itself.
    pub(crate) fn own(&self, rule: Rule, node: u32, net: i64) -> Span {
        let looped = self.menu.setting.stack.looped(node);
        let degree = self.menu.world.degree(node) as i64;
        let entry = |degree: i64| Span::of(rule.own_entry(usize::try_from(degree).unwrap_or(0), looped));
        entry(degree + net).minus(entry(degree)).over(net as f64)
    }

    /// What a change at the sender is charged, the receiver being as it is: the difference by the change of size, over
    /// those that there can be.
    pub(crate) fn sent(&self, rule: Rule, receiver: u32, sender: u32, flip: u32) -> Span {
        let nets = if self.cancel(sender) { self.any(sender) } else { self.given(sender, flip) };
        let (here, before) = (self.size(rule, receiver, 0), self.size(rule, sender, 0));
        let quotient = |net: i64| {
            let after = rule.entry(here, self.size(rule, sender, net));
            Span::of(after).minus(Span::of(rule.entry(here, before))).over(net as f64)
        };
        nets.filter(|&net| net != 0).map(quotient).reduce(Span::hull).unwrap_or(Span::ZERO)
    }
}
