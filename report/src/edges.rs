//! What only reports about changed edges say.

use gcnproof::edges::{Edge, Edges};
use gcnproof::internals::problem::matrix::PatternRows;
use gcnproof::{Attacker, Words};
use gcnproof_results::record::description::LocalRecord;
use gcnproof_results::record::edges::EdgeBudgetRecord;

use super::landscape::Landscape;

/// What attackers may do to edges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EdgeAttack {
    /// Remove them.
    Remove,
    /// Insert them.
    Insert,
    /// Both.
    Change,
}

/// What an attack does to one edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EdgeChange {
    /// The graph has it.
    Removed,
    /// The graph does not have it.
    Inserted,
    /// Which of both is not known: there is no graph.
    Changed,
}

impl EdgeAttack {
    /// What a run was about.
    pub fn of(budget: &EdgeBudgetRecord) -> EdgeAttack {
        match budget.attack.as_str() {
            "insert" => EdgeAttack::Insert,
            "change" => EdgeAttack::Change,
            _ => EdgeAttack::Remove,
        }
    }

    /// What its changes and budgets are called.
    pub fn words(self) -> &'static Words {
        const INSERTED: Words = Words { change: "inserted edge", changes: "inserted edges", ..Edges::WORDS };
        const CHANGED: Words = Words { change: "changed edge", changes: "changed edges", ..Edges::WORDS };
        match self {
            EdgeAttack::Remove => &Edges::WORDS,
            EdgeAttack::Insert => &INSERTED,
            EdgeAttack::Change => &CHANGED,
        }
    }

    /// What attackers do, in a word.
    pub fn verb(self) -> &'static str {
        match self {
            EdgeAttack::Remove => "remove",
            EdgeAttack::Insert => "insert",
            EdgeAttack::Change => "change",
        }
    }

    /// What an attack does to an edge.
    pub fn change(self, edge: Edge, landscape: Option<&Landscape>) -> EdgeChange {
        match (self, landscape.map(Landscape::graph)) {
            (EdgeAttack::Remove, _) => EdgeChange::Removed,
            (EdgeAttack::Insert, _) => EdgeChange::Inserted,
            (EdgeAttack::Change, None) => EdgeChange::Changed,
            // A row of the adjacency belongs to a receiver, the second end.
            (EdgeAttack::Change, Some(graph)) if (edge.1 as usize) < graph.node_count() => {
                match graph.adjacency().contains(edge.1 as usize, edge.0) {
                    true => EdgeChange::Removed,
                    false => EdgeChange::Inserted,
                }
            }
            (EdgeAttack::Change, Some(_)) => EdgeChange::Changed,
        }
    }
}

/// Nodes within two edges of a node: all that the logits of a network with one hidden layer depend on. Of a graph all
/// of its nodes, where graphs are classified.
pub fn measure(landscape: &Landscape, node: u64) -> u64 {
    let graph = landscape.graph();
    if graph.batch().is_some() {
        let there = usize::try_from(node).ok().filter(|target| *target < graph.target_count());
        return there.map_or(0, |target| graph.nodes_of(target).len() as u64);
    }
    let Some(node) = u32::try_from(node).ok().filter(|node| (*node as usize) < graph.node_count()) else { return 0 };
    graph.rings(node).take(3).map(|ring| ring.len() as u64).sum()
}

/// The budget in a few words; `E` among them only where it is said.
pub fn budget(budget: &EdgeBudgetRecord) -> String {
    let local = match &budget.local {
        LocalRecord::PerNode(_) => "e by node".to_string(),
        LocalRecord::Uniform(e) if *e >= u64::from(u32::MAX) => "any number of edges at a node".to_string(),
        LocalRecord::Uniform(e) => format!("e = {e}"),
    };
    let last = if budget.keep_one { ", every node keeps an edge" } else { ", last edges too" };
    let frozen = budget.frozen.len();
    let frozen = if frozen > 0 { format!(", {frozen} edges frozen") } else { String::new() };
    let done = match EdgeAttack::of(budget) {
        EdgeAttack::Remove => "removed",
        EdgeAttack::Insert => "inserted",
        EdgeAttack::Change => "removed or inserted",
    };
    let global = budget.global.map_or(String::new(), |most| format!("E = {most}, "));
    format!("{done} edges, {global}{local}{last}{frozen}")
}
