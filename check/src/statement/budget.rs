//! The budget: which sets of flips are admissible. Subsets of admissible sets are admissible.

use gcnproof_files::GraphFile;

use crate::format::{BudgetStatement, Direction, Local, RowSide};
use crate::ids::Flip;
use crate::verdict::Reason;

/// At most [`Budget::global`] flips in all and [`Budget::local`] in a row, and only permitted ones.
pub struct Budget<'a> {
    graph: &'a GraphFile,
    /// `Q`.
    pub global: usize,
    local: Vec<usize>,
    direction: Direction,
    frozen: Vec<bool>,
    /// The attributes of the file that the header freezes.
    pub(crate) frozen_attributes: Vec<u32>,
}

impl<'a> Budget<'a> {
    /// The budget of a header on a graph.
    ///
    /// # Errors
    /// If it does not fit the graph.
    pub fn new(statement: &BudgetStatement, graph: &'a GraphFile) -> Result<Budget<'a>, Reason> {
        let (nodes, attributes) = (graph.attributes.rows, graph.attributes.columns);
        // More flips than attributes mean nothing more, so the numbers stay small whatever the header says.
        let flips = |count: u64| usize::try_from(count).unwrap_or(usize::MAX);
        let local = match &statement.local {
            Local::Uniform(q) => vec![flips(*q).min(attributes); nodes],
            Local::PerNode(q) if q.len() == nodes => q.iter().map(|&q| flips(q).min(attributes)).collect(),
            Local::PerNode(q) => {
                return Err(Reason::Header(format!("{} local budgets for {nodes} nodes", q.len())));
            }
        };
        let known = graph.categories.as_ref().map_or(attributes, |categories| categories.attributes());
        let mut frozen = vec![false; known];
        if let Some(pair) = statement.frozen_attributes.windows(2).find(|pair| pair[0] >= pair[1]) {
            return Err(Reason::Header(format!("frozen attribute {} is listed twice or out of order", pair[1])));
        }
        for &attribute in &statement.frozen_attributes {
            *frozen
                .get_mut(attribute as usize)
                .ok_or_else(|| Reason::Header(format!("frozen attribute {attribute} does not exist")))? = true;
        }
        let global = flips(statement.global).min(nodes.saturating_mul(attributes));
        let mut direction = statement.direction;
        if let Some(categories) = &graph.categories {
            if direction != Direction::Both {
                return Err(Reason::Header("categories are changed, neither added nor removed".into()));
            }
            // A change of categories is an attribute that is added; those of the file stay as they are.
            let is_frozen = |of: Option<u32>| of.is_some_and(|of| frozen[of as usize]);
            let changes = categories.changes().iter().map(|change| is_frozen(change.old) || is_frozen(change.new));
            frozen = std::iter::repeat_n(true, known).chain(changes).collect();
            direction = Direction::Add;
        }
        let frozen_attributes = statement.frozen_attributes.clone();
        Ok(Budget { graph, global, local, direction, frozen, frozen_attributes })
    }

    /// `q_n`.
    pub fn local(&self, node: u32) -> usize {
        self.local[node as usize]
    }

    /// Which way attributes may be flipped.
    pub(crate) fn direction(&self) -> Direction {
        self.direction
    }

    /// Is this attribute, which must exist, in no permitted flip?
    pub fn is_frozen(&self, attribute: u32) -> bool {
        self.frozen[attribute as usize]
    }

    /// May absent attributes be added?
    pub fn adds(&self) -> bool {
        self.direction != Direction::Remove
    }

    /// May present attributes be removed?
    pub fn removes(&self) -> bool {
        self.direction != Direction::Add
    }

    /// What rows may have of each group of categories, if these are changed.
    pub(crate) fn options(&self) -> Option<Vec<Vec<Option<u32>>>> {
        let categories = self.graph.categories.as_ref()?;
        let mut frozen = vec![false; categories.attributes()];
        self.frozen_attributes.iter().for_each(|&attribute| frozen[attribute as usize] = true);
        Some(categories.options(&frozen))
    }

    /// May this entry be flipped, given whether the attribute is present? Both ids must exist.
    pub fn permits(&self, flip: Flip, present: bool) -> bool {
        let (node, attribute) = flip;
        let forbidden = if present { Direction::Add } else { Direction::Remove };
        self.local(node) > 0
            && !self.frozen[attribute as usize]
            && self.direction != forbidden
            && self.graph.categories.as_ref().is_none_or(|categories| categories.applies(node, attribute))
    }

    /// Are two of these flips changes of the same group in the same row?
    pub fn exclusive(&self, flips: &[Flip]) -> bool {
        let Some(categories) = &self.graph.categories else { return false };
        let rows = flips.chunk_by(|a, b| a.0 == b.0);
        let both = |row: &[Flip], one: &Flip| row.iter().any(|other| categories.exclude_each_other(one.1, other.1));
        rows.into_iter().any(|row| row.iter().any(|one| both(row, one)))
    }

    /// Refuses a flip whose node or attribute does not exist, or that is not permitted.
    ///
    /// # Errors
    /// [`Reason::Flip`].
    pub fn require(&self, flip: Flip) -> Result<(), Reason> {
        let (node, attribute) = (flip.0 as usize, flip.1);
        let exists = node < self.local.len() && (attribute as usize) < self.frozen.len();
        if exists && self.permits(flip, self.graph.attributes.contains(node, attribute)) {
            Ok(())
        } else {
            Err(Reason::Flip(flip))
        }
    }
}

/// What a path through a tree has decided about flips.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Decided {
    /// `F₁`: made, ascending.
    pub flipped: Vec<Flip>,
    /// `F₀ ∪ F₁`: no longer free, ascending.
    pub fixed: Vec<Flip>,
    /// How many attributes are added to and removed from some normalised rows, each row once.
    pub rows: Vec<RowLimits>,
}

/// How many attributes a perturbation adds to a row and removes from it, by the flips of `F₁` and the free ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowLimits {
    /// The row.
    pub node: u32,
    /// The attributes that it has without any flip, ascending.
    present: Vec<u32>,
    /// At least so many, and at most: added, and removed.
    limits: [[usize; 2]; 2],
}

impl Decided {
    /// Some flips made, nothing else decided. `flips` must ascend.
    pub fn made(flips: &[Flip]) -> Decided {
        Decided { flipped: flips.to_vec(), fixed: flips.to_vec(), rows: Vec::new() }
    }

    /// The attributes of the flips made in a row.
    pub fn flipped_in(&self, node: u32) -> impl Iterator<Item = u32> + '_ {
        in_row(&self.flipped, node)
    }

    /// The attributes of a row that are no longer free.
    pub fn fixed_in(&self, node: u32) -> impl Iterator<Item = u32> + '_ {
        in_row(&self.fixed, node)
    }

    /// What is left of the budget in a row: `min(q'_n, Q')`; `None` where more was spent than there is.
    pub fn left(&self, budget: &Budget, node: u32) -> Option<usize> {
        let local = budget.local(node).checked_sub(self.flipped_in(node).count())?;
        Some(local.min(self.left_in_all(budget)?))
    }

    fn limits(&self, node: u32) -> Option<&RowLimits> {
        self.rows.iter().find(|limits| limits.node == node)
    }

    /// How many attributes free flips must add to a row and remove from it, at least and at most, where the path says
    /// something of it; `None` within that if `F₁` has too many.
    pub fn row_limits(&self, node: u32) -> Option<Option<[[usize; 2]; 2]>> {
        let RowLimits { present, limits, .. } = self.limits(node)?;
        let mut made = [0, 0];
        self.flipped_in(node).for_each(|d| made[usize::from(present.binary_search(&d).is_ok())] += 1);
        let left = |side: usize| {
            let [least, most] = limits[side];
            Some([least.saturating_sub(made[side]), most.checked_sub(made[side])?])
        };
        Some(left(0).zip(left(1)).map(|(added, removed)| [added, removed]))
    }

    /// `r_n`: how many flips must still be made in a row, at least.
    pub fn least(&self, node: u32) -> usize {
        let limits = self.row_limits(node).flatten();
        limits.map_or(0, |[added, removed]| added[0].saturating_add(removed[0]))
    }

    /// How many flips must still be made in all.
    pub fn least_in_all(&self) -> usize {
        self.rows.iter().fold(0, |sum, limits| sum.saturating_add(self.least(limits.node)))
    }

    /// At most `count` attributes are added to a row or removed from it, or more; `present` are those that it has
    /// without any flip.
    pub fn limit_row(&mut self, node: u32, present: &[u32], side: RowSide, count: usize, more: bool) {
        if self.limits(node).is_none() {
            self.rows.push(RowLimits { node, present: present.to_vec(), limits: [[0, usize::MAX]; 2] });
        }
        for limits in self.rows.iter_mut().filter(|limits| limits.node == node) {
            let [least, most] = &mut limits.limits[side as usize];
            if more {
                *least = (*least).max(count.saturating_add(1));
            } else {
                *most = (*most).min(count);
            }
        }
    }

    /// `Q'`; `None` where more was spent than there is.
    pub fn left_in_all(&self, budget: &Budget) -> Option<usize> {
        budget.global.checked_sub(self.flipped.len())
    }

    /// Is more spent than the budget has, in all or in one row, or must more be? Then no admissible perturbation takes
    /// this path.
    pub fn overspent(&self, budget: &Budget) -> bool {
        let mut rows = self.flipped.chunk_by(|a, b| a.0 == b.0);
        let impossible = |limits: &RowLimits| {
            let crossed = |both: [[usize; 2]; 2]| both.iter().any(|[least, most]| least > most);
            self.row_limits(limits.node).flatten().is_none_or(crossed)
                || self.left(budget, limits.node).is_none_or(|left| self.least(limits.node) > left)
        };
        self.left_in_all(budget).is_none_or(|left| self.least_in_all() > left)
            || budget.exclusive(&self.flipped)
            || rows.any(|row| row.len() > budget.local(row[0].0))
            || self.rows.iter().any(impossible)
    }
}

fn in_row(flips: &[Flip], node: u32) -> impl Iterator<Item = u32> + '_ {
    let start = flips.partition_point(|flip| flip.0 < node);
    flips[start..].iter().take_while(move |flip| flip.0 == node).map(|flip| flip.1)
}
