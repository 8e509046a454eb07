//! The budget: which flips an attacker may make, in all and per node, and what is left of it in a branch.

use std::sync::Arc;

use gcnproof_files::Categories;
use thiserror::Error;

use crate::problem::flip::Flip;
use crate::problem::graph::Graph;
use crate::problem::matrix::PatternRows;
use crate::problem::ranges::Ranges;

/// Which way an attribute may be flipped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// Absent attributes may be added, present ones removed.
    #[default]
    Both,
    /// Only `0 → 1`.
    Add,
    /// Only `1 → 0`.
    Remove,
}

impl Direction {
    /// May an absent attribute be added?
    pub fn adds(self) -> bool {
        self != Direction::Remove
    }

    /// May a present attribute be removed?
    pub fn removes(self) -> bool {
        self != Direction::Add
    }
}

/// The local budget as a user states it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LocalBudget {
    /// So many flips per node.
    Flips(usize),
    /// A percentage of the attributes, rounded down, at least one unless it is 0 %.
    Percent(f64),
}

impl LocalBudget {
    /// The number of flips this means for `dimension` attributes.
    pub fn flips(self, dimension: usize) -> usize {
        match self {
            LocalBudget::Flips(q) => q,
            LocalBudget::Percent(0.0) => 0,
            LocalBudget::Percent(p) => ((dimension as f64 * p / 100.0 + 1e-9).floor() as usize).max(1),
        }
    }
}

impl std::str::FromStr for LocalBudget {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "'{text}' is neither a number of flips (12) nor a share of the attributes (1%, or 0.01 for the same)"
            )
        };
        if let Some(percent) = text.strip_suffix('%') {
            let p: f64 = percent.trim().parse().map_err(|_| wrong())?;
            return match p {
                0.0..=100.0 => Ok(LocalBudget::Percent(p)),
                _ if p > 100.0 => Err(format!(
                    "'{text}' is more than all attributes of a node: give a percentage from 0% to 100%, or a number of flips"
                )),
                _ => Err(wrong()),
            };
        }
        // As in Python, a number with a point is a share, and below 1.
        match text.trim().parse() {
            Ok(flips) => Ok(LocalBudget::Flips(flips)),
            Err(_) => match text.trim().parse::<f64>() {
                Ok(share @ 0.0..1.0) => Ok(LocalBudget::Percent(100.0 * share)),
                _ => Err(wrong()),
            },
        }
    }
}

/// What the attacker may do: at most [`global`](Budget::global) flips in all, at most [`local(n)`](Budget::local) in
/// the row of node `n`, only in the given direction, never in a frozen row or column (docs/math.md (1.2)).
///
/// Admissible sets of flips are closed under taking subsets; the anchored bound rests on that.
#[derive(Clone, Debug, PartialEq)]
pub struct Budget {
    global: usize,
    local: Vec<u32>,
    direction: Direction,
    /// `true` where an attribute cannot be touched; empty when none is frozen.
    frozen: Vec<bool>,
    /// Where attributes are one-hot, what may be changed in which row, and what not together.
    categories: Option<Arc<Categories>>,
    /// Where attributes are moved within ranges instead of flipped, these.
    ranges: Option<Arc<Ranges>>,
}

/// A budget that does not fit its graph.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum BudgetError {
    /// The list of local budgets has another length than the graph.
    #[error("{given} local budgets were given for {nodes} nodes")]
    Length {
        /// Entries given.
        given: usize,
        /// Nodes of the graph.
        nodes: usize,
    },
    /// A local budget is negative.
    #[error("the local budget of node {node} is {value}: it must not be negative")]
    Negative {
        /// Its id, from 0.
        node: usize,
        /// What was given.
        value: i64,
    },
    /// A frozen node or attribute does not exist.
    #[error("{what} {id} cannot be frozen: there are only {count} (ids start at 0)")]
    OutOfRange {
        /// `node` or `attribute`.
        what: &'static str,
        /// The id given.
        id: i64,
        /// How many there are.
        count: usize,
    },
}

impl Budget {
    /// The same local budget `q` for every node.
    pub fn uniform(graph: &Graph, global: usize, local: usize) -> Budget {
        Budget::uniform_of(graph.node_count(), graph.budget_columns(), global, local)
    }

    /// The same for a graph of so many nodes and attributes.
    #[doc(hidden)]
    pub fn uniform_of(nodes: usize, attributes: usize, global: usize, local: usize) -> Budget {
        let local = local.min(attributes) as u32;
        let local = vec![local; nodes];
        Budget { global, local, direction: Direction::Both, frozen: Vec::new(), categories: None, ranges: None }
    }

    /// A local budget `q_n` for every node, in the order of their ids.
    pub fn per_node(graph: &Graph, global: usize, local: &[i64]) -> Result<Budget, BudgetError> {
        Budget::per_node_of(graph.node_count(), graph.budget_columns(), global, local)
    }

    /// The same for a graph of so many nodes and attributes.
    #[doc(hidden)]
    pub fn per_node_of(nodes: usize, attributes: usize, global: usize, local: &[i64]) -> Result<Budget, BudgetError> {
        if local.len() != nodes {
            return Err(BudgetError::Length { given: local.len(), nodes });
        }
        let mut budget = Budget::uniform_of(nodes, attributes, global, 0);
        for (node, (&value, slot)) in local.iter().zip(&mut budget.local).enumerate() {
            let value = usize::try_from(value).map_err(|_| BudgetError::Negative { node, value })?;
            *slot = value.min(attributes) as u32;
        }
        Ok(budget)
    }

    /// The same budget for some of the nodes, in this order.
    #[doc(hidden)]
    pub fn restricted(&self, nodes: &[u32]) -> Budget {
        Budget { local: nodes.iter().map(|&node| self.local[node as usize]).collect(), ..self.clone() }
    }

    /// The same budget for the categories of a graph, if it has any. A frozen attribute is then neither lost nor got.
    #[must_use]
    #[doc(hidden)]
    pub fn of_categories(self, graph: &Graph) -> Budget {
        Budget { categories: graph.categories().cloned(), ..self }
    }

    /// Attributes are moved within these ranges instead of flipped.
    #[must_use]
    pub fn with_ranges(self, ranges: Ranges) -> Budget {
        Budget { ranges: Some(Arc::new(ranges)), ..self }
    }

    /// The ranges that attributes are moved within, if they are not flipped.
    pub fn ranges(&self) -> Option<&Ranges> {
        self.ranges.as_deref()
    }

    /// Restricts the flips to one direction.
    pub fn with_direction(mut self, direction: Direction) -> Budget {
        self.direction = direction;
        self
    }

    /// Forbids every flip in the rows of these nodes.
    pub fn freeze_nodes(mut self, nodes: &[i64]) -> Result<Budget, BudgetError> {
        let count = self.local.len();
        for &id in nodes {
            let slot = usize::try_from(id).ok().and_then(|n| self.local.get_mut(n));
            *slot.ok_or(BudgetError::OutOfRange { what: "node", id, count })? = 0;
        }
        Ok(self)
    }

    /// Forbids every flip of these attributes.
    pub fn freeze_attributes(mut self, graph: &Graph, attributes: &[i64]) -> Result<Budget, BudgetError> {
        self.frozen.resize(graph.budget_columns(), false);
        let count = graph.own_attribute_count();
        for &id in attributes {
            let slot = usize::try_from(id).ok().and_then(|d| self.frozen[..count].get_mut(d));
            *slot.ok_or(BudgetError::OutOfRange { what: "attribute", id, count })? = true;
        }
        Ok(self)
    }

    /// The same budget with another `Q`.
    pub fn with_global(&self, global: usize) -> Budget {
        Budget { global, ..self.clone() }
    }

    /// `Q`: flips in all.
    pub fn global(&self) -> usize {
        self.global
    }

    /// `q_n`: flips in the row of node `n`, never more than `D`; 0 for a frozen node.
    pub fn local(&self, node: usize) -> usize {
        self.local[node] as usize
    }

    /// All local budgets.
    pub fn locals(&self) -> &[u32] {
        &self.local
    }

    /// The permitted direction. Changes of categories are attributes that are added.
    pub fn direction(&self) -> Direction {
        if self.categories.is_some() { Direction::Add } else { self.direction }
    }

    /// The direction that was asked for.
    pub fn stated_direction(&self) -> Direction {
        self.direction
    }

    /// Is this attribute untouchable? Of one-hot attributes only changes of categories can be touched.
    pub fn is_frozen(&self, attribute: usize) -> bool {
        let stated = |attribute: usize| self.frozen.get(attribute).copied().unwrap_or(false);
        let Some(categories) = &self.categories else { return stated(attribute) };
        let frozen = |of: Option<u32>| of.is_some_and(|of| stated(of as usize));
        categories.change(attribute as u32).is_none_or(|change| frozen(change.old) || frozen(change.new))
    }

    /// One flag per attribute; empty when none is frozen.
    pub fn frozen_attributes(&self) -> &[bool] {
        &self.frozen
    }

    /// May this entry be flipped at all, given whether the attribute is present?
    pub fn permits(&self, node: usize, attribute: usize, present: bool) -> bool {
        self.local[node] > 0
            && !self.is_frozen(attribute)
            && self.categories.as_ref().is_none_or(|categories| categories.applies(node as u32, attribute as u32))
            && if present { self.direction().removes() } else { self.direction().adds() }
    }

    /// Are categories changed instead of attributes flipped?
    pub fn has_categories(&self) -> bool {
        self.categories.is_some()
    }

    /// Are these changes of the same group in the same row?
    fn excludes(&self, one: Flip, other: Flip) -> bool {
        let categories = self.categories.as_ref().filter(|_| one.node == other.node);
        categories.is_some_and(|categories| categories.exclude_each_other(one.attribute, other.attribute))
    }

    /// Can a flip not be made because of others that are, or because the row has not the category that it replaces?
    fn rules_out(&self, made: &[Flip], flip: Flip) -> bool {
        self.categories.as_ref().is_some_and(|categories| {
            !categories.applies(flip.node, flip.attribute) || made.iter().any(|made| self.excludes(*made, flip))
        })
    }

    /// The same flips without those that others before them exclude.
    pub(crate) fn compatible(&self, mut flips: Vec<Flip>) -> Vec<Flip> {
        if self.categories.is_some() {
            let mut at = 0;
            while at < flips.len() {
                match self.rules_out(&flips[..at], flips[at]) {
                    true => drop(flips.remove(at)),
                    false => at += 1,
                }
            }
        }
        flips
    }

    /// May these flips be made together?
    pub fn admits(&self, graph: &Graph, flips: &[Flip]) -> bool {
        let mut sorted = flips.to_vec();
        sorted.sort_unstable();
        let permitted = |flip: &Flip| {
            let (node, attribute) = (flip.node as usize, flip.attribute as usize);
            node < graph.node_count()
                && attribute < graph.attribute_count()
                && self.permits(node, attribute, graph.attributes().contains(node, flip.attribute))
        };
        let few = |of_node: &[Flip]| of_node.len() <= self.local(of_node[0].node as usize);
        let together = |flip: &Flip| !sorted.iter().any(|other| self.excludes(*other, *flip));
        sorted.len() <= self.global
            && sorted.windows(2).all(|pair| pair[0] != pair[1])
            && sorted.iter().all(permitted)
            && (self.categories.is_none() || sorted.iter().all(together))
            && sorted.chunk_by(|x, y| x.node == y.node).all(few)
    }
}

/// What one branch of a search has fixed: flips that are made, and flips that are not (docs/math.md §1.2).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Decided {
    /// Made: they use up budget.
    pub flipped: Vec<Flip>,
    /// Not made.
    pub kept: Vec<Flip>,
    /// How many attributes are added to and removed from some normalised rows, each row listed once.
    pub rows: Vec<RowLimits>,
}

/// What is done to the attributes of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowSide {
    /// Some are added.
    Added,
    /// Some are removed.
    Removed,
}

/// How many attributes are added to a row and removed from it, by all flips of a branch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowLimits {
    /// The row.
    pub node: u32,
    /// The attributes that it has without any flip, ascending.
    present: Vec<u32>,
    /// At least so many, and at most: added, and removed.
    limits: [[usize; 2]; 2],
}

impl RowLimits {
    /// How many attributes flips add to the row, and how many they remove.
    fn made(&self, flips: &[Flip]) -> [usize; 2] {
        let mut made = [0, 0];
        for flip in flips.iter().filter(|flip| flip.node == self.node) {
            made[usize::from(self.present.binary_search(&flip.attribute).is_ok())] += 1;
        }
        made
    }

    /// What the limits leave after some flips; none if these are too many.
    fn left(&self, flips: &[Flip]) -> Option<[[usize; 2]; 2]> {
        let made = self.made(flips);
        let left = |side: usize| {
            let [least, most] = self.limits[side];
            Some([least.saturating_sub(made[side]), most.checked_sub(made[side])?])
        };
        Some([left(0)?, left(1)?])
    }
}

impl Decided {
    /// `Q` that is left; `None` if more was used than there is.
    pub fn global(&self, budget: &Budget) -> Option<usize> {
        budget.global().checked_sub(self.flipped.len())
    }

    /// `q_n` that is left; `None` if more was used than there is.
    pub fn local(&self, budget: &Budget, node: u32) -> Option<usize> {
        budget.local(node as usize).checked_sub(self.used(node))
    }

    fn used(&self, node: u32) -> usize {
        self.flipped.iter().filter(|flip| flip.node == node).count()
    }

    fn limits(&self, node: u32) -> Option<&RowLimits> {
        self.rows.iter().find(|limits| limits.node == node)
    }

    /// Is anything decided of the row of a node?
    pub fn touches(&self, node: u32) -> bool {
        self.limits(node).is_some() || self.flipped.iter().chain(&self.kept).any(|flip| flip.node == node)
    }

    /// How many flips must still be made in the row of a node.
    pub fn least(&self, node: u32) -> usize {
        self.row_limits(node).iter().map(|limits| limits[0]).sum()
    }

    /// How many attributes may still be added to the row of a node, and removed from it: at least, and at most.
    pub fn row_limits(&self, node: u32) -> [[usize; 2]; 2] {
        let none = [[0, usize::MAX]; 2];
        self.limits(node).map_or(none, |limits| limits.left(&self.flipped).unwrap_or([[0, 0]; 2]))
    }

    /// How many attributes the flips made add to a row, and how many they remove.
    pub fn row_counts(&self, graph: &Graph, node: u32) -> [usize; 2] {
        let mut counts = [0, 0];
        for flip in self.flipped.iter().filter(|flip| flip.node == node) {
            counts[usize::from(graph.attributes().contains(node as usize, flip.attribute))] += 1;
        }
        counts
    }

    /// May so many attributes more be added to a row, and so many removed?
    pub fn allows(&self, node: u32, counts: [usize; 2]) -> bool {
        self.row_limits(node).iter().zip(counts).all(|([least, most], count)| (least..=most).contains(&&count))
    }

    /// How many flips must still be made in all.
    pub fn least_in_all(&self) -> usize {
        self.rows.iter().map(|limits| self.least(limits.node)).sum()
    }

    /// The same with at most, or more than, `count` attributes added to a row or removed from it, which has these
    /// without any flip.
    pub fn limit_row(&mut self, node: u32, present: &[u32], side: RowSide, count: usize, more: bool) {
        if self.limits(node).is_none() {
            let limits = [[0, usize::MAX]; 2];
            self.rows.push(RowLimits { node, present: present.to_vec(), limits });
        }
        for limits in self.rows.iter_mut().filter(|limits| limits.node == node) {
            let [least, most] = &mut limits.limits[side as usize];
            if more {
                *least = (*least).max(count + 1);
            } else {
                *most = (*most).min(count);
            }
        }
    }

    /// Has this flip been fixed, or can it not be made in the branch?
    pub fn fixes(&self, budget: &Budget, flip: Flip) -> bool {
        self.flipped.contains(&flip) || self.kept.contains(&flip) || budget.rules_out(&self.flipped, flip)
    }

    /// Do flips that are made exclude this one?
    pub fn excludes(&self, budget: &Budget, flip: Flip) -> bool {
        self.flipped.iter().any(|made| budget.excludes(*made, flip))
    }

    /// Are the flips made within the budget?
    pub fn admissible(&self, budget: &Budget) -> bool {
        let possible = |limits: &RowLimits| {
            let fits = limits.left(&self.flipped).is_some_and(|left| left.iter().all(|[least, most]| least <= most));
            fits && self.local(budget, limits.node).is_some_and(|local| self.least(limits.node) <= local)
        };
        self.global(budget).is_some_and(|global| self.least_in_all() <= global)
            && self.flipped.iter().all(|flip| self.local(budget, flip.node).is_some())
            && self.rows.iter().all(possible)
    }

    /// May these flips, which the budget admits, be made in the branch?
    pub fn contains(&self, flips: &[Flip]) -> bool {
        let within = |limits: &RowLimits| limits.left(flips).is_some_and(|[added, removed]| added[0] + removed[0] == 0);
        self.flipped.iter().all(|flip| flips.contains(flip))
            && !self.kept.iter().any(|flip| flips.contains(flip))
            && self.rows.iter().all(within)
    }
}

/// A budget of which a branch has already decided some flips.
#[derive(Clone, Copy, Debug)]
pub struct Remaining<'a> {
    /// The budget at the root of the search.
    pub budget: &'a Budget,
    /// The flips that the branch has made or ruled out.
    pub decided: &'a Decided,
}

impl Remaining<'_> {
    /// `Q` that is left; 0 if more was used than there is.
    pub fn global(&self) -> usize {
        self.decided.global(self.budget).unwrap_or(0)
    }

    /// `min(q_n, Q)` that is left; 0 if more was used than there is.
    pub fn local(&self, node: u32) -> usize {
        self.decided.local(self.budget, node).unwrap_or(0).min(self.global())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentages_round_down_but_not_to_zero() {
        let one: LocalBudget = "1%".parse().unwrap();
        assert_eq!([one.flips(2879), one.flips(1433), one.flips(99), one.flips(100)], [28, 14, 1, 1]);
        assert_eq!("0".parse::<LocalBudget>().unwrap().flips(50), 0);
        assert_eq!(["0%", "0.0%", "0.001%"].map(|text| text.parse::<LocalBudget>().unwrap().flips(1433)), [0, 0, 1]);
        assert!("200%".parse::<LocalBudget>().unwrap_err().contains("100%"));
        for wrong in ["", "x", "-1", "1.5", "%", "-1%", "101%", "nan%"] {
            assert!(wrong.parse::<LocalBudget>().is_err(), "{wrong}");
        }
    }
}
