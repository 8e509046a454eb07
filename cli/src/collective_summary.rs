//! What the perturbations of `gcnproof collective` use, in words and as JSON: how many nodes and attributes, and which
//! of them most.

use std::fmt::Write;

use gcnproof::Graph;
use gcnproof_report::landscape::attribute_name;
use gcnproof_results::record::attackers::{Attackers, SHOWN, Uses};
use gcnproof_results::record::collective::CollectiveRecord;
use serde_json::{Value, json};

/// A few lines about the perturbation of one budget.
pub fn words(row: &CollectiveRecord, graph: &Graph) -> String {
    let used = Attackers::new(&row.flips, Some(graph));
    let mut text = format!(
        "the perturbation of Q = {}: {} added and {} removed, {} in {}\n",
        row.q_global,
        used.all.added,
        used.all.removed,
        counted(used.attributes.len(), "different attribute"),
        counted(used.nodes.len(), "node")
    );
    let nodes = used.nodes.iter().take(SHOWN).map(|(node, uses)| format!("{node} ({})", uses.flips()));
    let _ = writeln!(text, "  most flips in nodes: {}{}", list(nodes), rest(used.nodes.len()));
    let attribute =
        |(attribute, uses): &(u32, Uses)| format!("{} ({})", attribute_name(Some(graph), *attribute), deeds(*uses));
    let attributes = used.attributes.iter().take(SHOWN).map(attribute);
    let _ = writeln!(text, "  most flips of attributes: {}{}", list(attributes), rest(used.attributes.len()));
    text
}

/// The same of every budget, for programs.
pub fn attacks(rows: &[CollectiveRecord], graph: &Graph) -> Vec<Value> {
    let names = graph.attribute_names();
    let attack = |row: &CollectiveRecord| {
        let used = Attackers::new(&row.flips, Some(graph));
        let node = |(node, uses): &(u32, Uses)| json!({ "node": node, "added": uses.added, "removed": uses.removed });
        let attribute = |(attribute, uses): &(u32, Uses)| {
            let mut told = json!({ "attribute": attribute, "added": uses.added, "removed": uses.removed });
            if let Some(name) = names.and_then(|names| names.get(*attribute as usize)) {
                told["name"] = json!(name);
            }
            told
        };
        json!({
            "q_global": row.q_global,
            "flips": row.flips.len(),
            "added": used.all.added,
            "removed": used.all.removed,
            "nodes": used.nodes.len(),
            "attributes": used.attributes.len(),
            "most_used_nodes": used.nodes.iter().take(SHOWN).map(node).collect::<Vec<_>>(),
            "most_used_attributes": used.attributes.iter().take(SHOWN).map(attribute).collect::<Vec<_>>(),
        })
    };
    rows.iter().map(attack).collect()
}

/// `1 node`, `2 nodes`.
pub fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// Additions and removals apart; what is none is left out.
pub fn deeds(uses: Uses) -> String {
    let parts = [(uses.added, "added"), (uses.removed, "removed"), (uses.unknown, "flipped")];
    list(parts.iter().filter(|part| part.0 > 0).map(|(count, what)| format!("{count} {what}")))
}

fn list(parts: impl Iterator<Item = String>) -> String {
    parts.collect::<Vec<_>>().join(", ")
}

/// How many more there are than are named.
pub fn rest(count: usize) -> String {
    if count > SHOWN { format!(", and {} more", count - SHOWN) } else { String::new() }
}
