//! Tables about attributes that are moved within ranges.

use std::fmt::Write;

use gcnproof::{Graph, NodeResult, Reason, Verdict};
use gcnproof_report::landscape::class_name;
use gcnproof_results::record::description::BudgetRecord;

use super::summary::budget_words;

/// What the verdict on a target rests on.
pub fn explained(graph: &Graph, result: &NodeResult, budget: &BudgetRecord) -> String {
    let mut text = String::new();
    let class = |class: usize| class_name(Some(graph), class as u64);
    let (node, graphs) = (result.node, graph.batch().is_some());
    let target = if graphs { "graph" } else { "node" };
    let label = graph.label(node).map_or("no label".into(), |label| format!("label {}", class(label as usize)));
    let _ = writeln!(text, "{target} {node}: predicted {}, {label}", class(result.predicted));
    let _ = writeln!(text, "budget: {}", budget_words(budget, false));
    let _ = writeln!(text, "neighbourhood: its logits depend on {} nodes\n", result.relevant);
    let limit = if result.limit_hit { ", a limit was hit" } else { "" };
    let _ = writeln!(
        text,
        "verdict: {} (by {}{limit}), {} branches\n",
        result.verdict.name().replace('_', "-"),
        result.reason.name().replace('_', " "),
        result.search_nodes
    );
    if let Some(deployed) = &result.deployed {
        let verdict = deployed.verdict.name().replace('_', "-");
        let depends =
            if deployed.prediction_depends { ", and the prediction itself may depend on rounding" } else { "" };
        let _ = writeln!(text, "as deployed: {verdict}{depends}\n");
    }
    let errors = result.deployed.as_ref().map(|deployed| &deployed.errors);
    let rounding = if errors.is_some() { format!("{:>14}", "rounding ±") } else { String::new() };
    let _ = writeln!(text, "{:<28}{:>22}{:>22}{rounding}", "margin over", "worst case ≥", "worst case ≤");
    for (at, margin) in result.margins.iter().enumerate() {
        let shown: String = class(margin.class).chars().take(27).collect();
        let error = errors.map_or(String::new(), |errors| format!("{:>14.1e}", errors[at]));
        let _ = writeln!(text, "{shown:<28}{:>22.6}{:>22.6}{error}", margin.lower, margin.upper);
    }
    if result.verdict == Verdict::NonRobust {
        let ties = if result.reason == Reason::Tie { " or ties" } else { "" };
        let _ = writeln!(text, "\nwith these values the class changes{ties}:");
        for (entry, new) in result.witness.iter().zip(result.details.values.as_deref().unwrap_or_default()) {
            let row = graph.row_values(entry.node as usize);
            let old = row.iter().find(|of| of.0 == entry.attribute).map_or(0.0, |of| of.1);
            let names = graph.attribute_names().and_then(|names| names.get(entry.attribute as usize));
            let name = names.map_or_else(|| format!("attribute {}", entry.attribute), ToString::to_string);
            let _ = writeln!(text, "  node {:<8} {name}: {old} becomes {new}", entry.node);
        }
    }
    text
}
