//! What only reports about removed edges say.

use gcnproof_results::record::description::LocalRecord;
use gcnproof_results::record::edges::EdgeBudgetRecord;

use super::landscape::Landscape;

/// Nodes within two edges of a node: all that the logits of a network with one hidden layer depend on.
pub fn measure(landscape: &Landscape, node: u64) -> u64 {
    let graph = landscape.graph();
    let Some(node) = u32::try_from(node).ok().filter(|node| (*node as usize) < graph.node_count()) else { return 0 };
    graph.rings(node).take(3).map(|ring| ring.len() as u64).sum()
}

/// The budget but for `E`, in a few words.
pub fn budget(budget: &EdgeBudgetRecord) -> String {
    let local = match &budget.local {
        LocalRecord::PerNode(_) => "e by node".to_string(),
        LocalRecord::Uniform(e) if *e >= u64::from(u32::MAX) => "any number of edges at a node".to_string(),
        LocalRecord::Uniform(e) => format!("e = {e}"),
    };
    let last = if budget.keep_one { ", every node keeps an edge" } else { ", last edges too" };
    let frozen = budget.frozen.len();
    let frozen = if frozen > 0 { format!(", {frozen} edges frozen") } else { String::new() };
    let done = match budget.attack.as_str() {
        "insert" => "inserted",
        "change" => "removed or inserted",
        _ => "removed",
    };
    format!("{done} edges, {local}{last}{frozen}")
}
