//! Are all perturbations asked about among those stated? Only what can be used counts: a budget that other limits make
//! void means nothing.

use gcnproof_files::GraphFile;

use crate::edges::{RemovalBudget, neighbours};
use crate::format::{BudgetStatement, Direction, Local};
use crate::statement::Budget;

/// Entries that may be flipped, whatever the local budgets.
struct Permitted<'a> {
    graph: &'a GraphFile,
    /// None: no flip at all.
    direction: Option<Direction>,
    frozen: Vec<bool>,
    /// Attributes that are not frozen.
    free: usize,
}

impl<'a> Permitted<'a> {
    fn new(graph: &'a GraphFile, direction: Option<Direction>, frozen: impl Fn(u32) -> bool) -> Permitted<'a> {
        let frozen: Vec<bool> = (0..graph.attributes.columns as u32).map(frozen).collect();
        let free = frozen.iter().filter(|frozen| !**frozen).count();
        Permitted { graph, direction, frozen, free }
    }

    /// How many in the row of a node.
    fn at(&self, node: u32) -> usize {
        let row = self.graph.attributes.row(node as usize);
        let present = || row.iter().filter(|&&attribute| !self.frozen[attribute as usize]).count();
        match self.direction {
            None => 0,
            Some(Direction::Both) => self.free,
            Some(Direction::Add) => self.free - present(),
            Some(Direction::Remove) => present(),
        }
    }
}

/// The directions that both permit.
fn common(one: Direction, other: Direction) -> Option<Direction> {
    match (one, other) {
        (Direction::Both, which) | (which, Direction::Both) => Some(which),
        (one, other) => (one == other).then_some(one),
    }
}

/// A budget of flips, and in the rows of how many nodes at most; of any number if left out.
pub(crate) struct FlipLimits<'a> {
    pub(crate) budget: &'a Budget<'a>,
    pub(crate) nodes: Option<u64>,
}

/// Why not all flips asked about are among those stated; nothing if they are.
pub(crate) fn uncovered_flips(graph: &GraphFile, asked: &FlipLimits, stated: &FlipLimits) -> Vec<String> {
    let mut reasons = Vec::new();
    let (FlipLimits { budget: asked, nodes: asked_nodes }, FlipLimits { budget: stated, nodes: stated_nodes }) =
        (asked, stated);
    let directions = common(asked.direction(), stated.direction());
    let ours = Permitted::new(graph, Some(asked.direction()), |d| asked.is_frozen(d));
    let both = Permitted::new(graph, directions, |d| asked.is_frozen(d) || stated.is_frozen(d));
    let mut most = Vec::new();
    let (mut other, mut local) = (false, false);
    for node in 0..graph.attributes.rows as u32 {
        if asked.local(node) == 0 || asked.global == 0 || *asked_nodes == Some(0) {
            continue;
        }
        let free = ours.at(node);
        let flips = asked.local(node).min(free).min(asked.global);
        if flips == 0 {
            continue;
        }
        most.push(flips);
        if !other && both.at(node) < free {
            other = true;
            let (ours, theirs) = (asked.direction(), stated.direction());
            reasons.push(match directions == Some(ours) {
                true => format!("flips at node {node} are asked about of attributes that are frozen as stated"),
                false => format!("asked about flips of direction {ours}, stated direction {theirs}"),
            });
        }
        if !local && flips > stated.local(node) {
            local = true;
            let (most, stated) = (asked.local(node), stated.local(node));
            let some = if flips < most { format!(", of which {flips} can be used") } else { String::new() };
            reasons.push(format!("asked about q = {most} at node {node}{some}, stated q = {stated}"));
        }
    }
    most.sort_unstable_by(|a, b| b.cmp(a));
    let nodes = asked_nodes.map_or(usize::MAX, |most| usize::try_from(most).unwrap_or(usize::MAX));
    let nodes = nodes.min(most.len()).min(asked.global);
    let all = most[..nodes].iter().fold(0usize, |sum, &flips| sum.saturating_add(flips)).min(asked.global);
    if all > stated.global {
        reasons.push(format!("asked about Q = {all}, stated Q = {}", stated.global));
    }
    if let Some(stated) = stated_nodes.filter(|&stated| (nodes as u64) > stated) {
        reasons.push(format!("asked about flips in {nodes} nodes, stated in at most {stated}"));
    }
    reasons
}

/// Why not all removals asked about are among those stated; nothing if they are. The graph has every edge in both
/// directions.
pub(crate) fn uncovered_removals(graph: &GraphFile, asked: &RemovalBudget, stated: &RemovalBudget) -> Vec<String> {
    let mut reasons = Vec::new();
    let (mut frozen, mut local, mut ends) = (false, false, 0usize);
    for node in 0..graph.adjacency.rows as u32 {
        let removable = |&other: &u32| asked.cap(other) > 0 && !asked.is_frozen((node.min(other), node.max(other)));
        let cap = if asked.global == 0 { 0 } else { asked.cap(node) };
        let others: Vec<u32> = match cap {
            0 => continue,
            _ => neighbours(&graph.adjacency, node).filter(removable).collect(),
        };
        ends += cap.min(others.len());
        let removals = cap.min(others.len()).min(asked.global);
        let unmovable = others.iter().map(|&other| (node.min(other), node.max(other))).find(|&e| stated.is_frozen(e));
        if let (false, Some((i, j))) = (frozen, unmovable) {
            frozen = true;
            reasons.push(format!("removals of edge {i}-{j} are asked about, which is frozen as stated"));
        }
        if !local && removals > stated.cap(node) {
            local = true;
            let stated = stated.cap(node);
            reasons.push(format!("asked about {removals} removals at node {node}, stated at most {stated}"));
        }
    }
    // Every removal has two ends. There may be sets of fewer only: then we ask for more than is needed.
    let all = (ends / 2).min(asked.global);
    if all > stated.global {
        reasons.push(format!("asked about E = {all}, stated E = {}", stated.global));
    }
    reasons
}

/// Does a budget permit a flip at all?
pub(crate) fn flippable(graph: &GraphFile, budget: &Budget) -> bool {
    let permitted = Permitted::new(graph, Some(budget.direction()), |d| budget.is_frozen(d));
    let mut nodes = 0..graph.attributes.rows as u32;
    budget.global > 0 && nodes.any(|node| budget.local(node) > 0 && permitted.at(node) > 0)
}

/// Does a budget permit a removal at all?
pub(crate) fn removable(graph: &GraphFile, budget: &RemovalBudget) -> bool {
    let free = |node: u32, other: u32| budget.cap(other) > 0 && !budget.is_frozen((node.min(other), node.max(other)));
    let mut nodes = (0..graph.adjacency.rows as u32).filter(|&node| budget.cap(node) > 0);
    budget.global > 0 && nodes.any(|node| neighbours(&graph.adjacency, node).any(|other| free(node, other)))
}

/// How many flips the local budgets leave room for.
pub(crate) struct Room {
    /// The smallest budget; `None` if the graph has no nodes.
    pub(crate) smallest: Option<u64>,
    /// The largest budget, 0 if the graph has no nodes.
    pub(crate) largest: u64,
    /// `Σ min(q_n, D)`.
    pub(crate) sum: u128,
}

impl Room {
    /// Of a header that may not fit the graph.
    pub(crate) fn new(budget: &BudgetStatement, nodes: u64, attributes: u64) -> Room {
        match &budget.local {
            Local::Uniform(q) => Room {
                smallest: (nodes > 0).then_some(*q),
                largest: if nodes > 0 { *q } else { 0 },
                sum: u128::from(nodes) * u128::from((*q).min(attributes)),
            },
            Local::PerNode(list) => Room {
                smallest: list.iter().copied().min(),
                largest: list.iter().copied().max().unwrap_or(0),
                sum: list.iter().map(|&q| u128::from(q.min(attributes))).sum(),
            },
        }
    }
}
