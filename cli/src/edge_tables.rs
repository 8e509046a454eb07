//! Tables for people about removed edges: the end of `certify --edges`, and one node in detail.

use std::collections::BTreeMap;
use std::fmt::Write;

use gcnproof::edges::{Edge, EdgeReason, EdgeResult};
use gcnproof::{Graph, Verdict};
use gcnproof_report::landscape::class_name;
use gcnproof_results::record::description::{EffortRecord, LocalRecord};
use gcnproof_results::record::edges::EdgeBudgetRecord;
use gcnproof_results::record::node::{Record, Tabled};
use serde::Serialize;

use super::summary::limit_line;

/// Edges shown of one attack.
const EDGES: usize = 6;

/// The summary of a run.
#[derive(Clone, Debug, Serialize)]
pub struct EdgeSummary {
    /// What rows are about: nodes or graphs.
    #[serde(skip)]
    pub targets: &'static str,
    /// Nodes.
    pub nodes: usize,
    /// Certified robust.
    pub robust: usize,
    /// Broken by a witness.
    pub non_robust: usize,
    /// Neither.
    pub undecided: usize,
    /// Non-robust nodes whose witness reaches exactly zero.
    pub ties: usize,
    /// What decided how many nodes.
    pub reasons: BTreeMap<&'static str, usize>,
    /// Nodes attacked with so many edges.
    pub witness_sizes: BTreeMap<usize, usize>,
    /// The largest search.
    pub largest_search: u64,
    /// Mean seconds of a node.
    pub seconds_per_node: f64,
    /// Wall-clock seconds.
    pub seconds: f64,
}

impl EdgeSummary {
    /// Counts rows.
    pub fn new<A: Tabled<Reason = EdgeReason>>(rows: &[Record<A>], seconds: f64) -> EdgeSummary {
        let count = |verdict| rows.iter().filter(|row| row.verdict == verdict).count();
        let (mut reasons, mut witness_sizes) = (BTreeMap::new(), BTreeMap::new());
        for row in rows {
            *reasons.entry(row.reason.name()).or_default() += 1;
            if let Some(size) = row.witness_size() {
                *witness_sizes.entry(size as usize).or_default() += 1;
            }
        }
        EdgeSummary {
            targets: if rows.first().is_some_and(|row| row.graphs) { "graphs" } else { "nodes" },
            nodes: rows.len(),
            robust: count(Verdict::Robust),
            non_robust: count(Verdict::NonRobust),
            undecided: count(Verdict::Undecided),
            ties: rows.iter().filter(|row| row.reason == EdgeReason::Tie).count(),
            reasons,
            witness_sizes,
            largest_search: rows.iter().map(|row| row.search_nodes).max().unwrap_or(0),
            seconds_per_node: rows.iter().map(|row| row.seconds).sum::<f64>() / rows.len().max(1) as f64,
            seconds,
        }
    }

    /// For people.
    pub fn table(&self, budget: &EdgeBudgetRecord, effort: EffortRecord) -> String {
        self.table_of(&words(budget), "edges", effort)
    }

    /// The same with a budget in words, whose changes are called so.
    pub fn table_of(&self, budget: &str, changes: &str, effort: EffortRecord) -> String {
        let mut text = format!("{budget}\n\n");
        let share = |count: usize| 100.0 * count as f64 / self.nodes.max(1) as f64;
        for (name, count) in [("robust", self.robust), ("non-robust", self.non_robust), ("undecided", self.undecided)] {
            let _ = writeln!(text, "{name:<12}{count:>8}  {:>5.1} %", share(count));
        }
        let _ = writeln!(text, "{:<12}{:>8}\n", self.targets, self.nodes);
        for (reason, count) in &self.reasons {
            let _ = writeln!(text, "  {:<22}{count:>8}", reason.replace('_', " "));
        }
        if !self.witness_sizes.is_empty() {
            let sizes: Vec<String> =
                self.witness_sizes.iter().map(|(size, count)| format!("{size}: {count}")).collect();
            let _ = writeln!(text, "\n{changes} of a witness: {}   {}", self.targets, sizes.join("  "));
        }
        let _ = writeln!(
            text,
            "\n{:.2} s, {:.2} ms a {}; the largest search has {} branches",
            self.seconds,
            1e3 * self.seconds_per_node,
            self.targets.trim_end_matches('s'),
            self.largest_search
        );
        text +=
            &limit_line(self.reasons.get(EdgeReason::Limit.name()).copied().unwrap_or(0), self.targets, Some(effort));
        text
    }
}

/// A budget in words.
pub fn words(budget: &EdgeBudgetRecord) -> String {
    let done = match budget.attack.as_str() {
        "insert" => "inserted",
        "change" => "removed or inserted",
        _ => "removed",
    };
    let directed = if budget.directed { "directed " } else { "" };
    let global = budget.global.map_or(String::new(), |e| format!("at most {e} {directed}edges {done} in all, "));
    let local = match &budget.local {
        LocalRecord::Uniform(e) if *e >= u64::from(u32::MAX) => "any number at a node".into(),
        LocalRecord::Uniform(e) => format!("{e} at a node"),
        LocalRecord::PerNode(_) => "at each node as many as its own limit".into(),
    };
    let keep = if budget.keep_one && budget.attack != "insert" { ", every node keeps one" } else { "" };
    let frozen = match budget.frozen.len() {
        0 => String::new(),
        count => format!(", {count} frozen"),
    };
    let candidates = match (&budget.candidates, budget.within) {
        (Some(list), _) => format!(", {} candidates for insertion", list.len()),
        (None, Some(hops)) => format!(", inserted between nodes at most {hops} edges apart"),
        (None, None) => String::new(),
    };
    format!("{global}{local}{keep}{frozen}{candidates}")
}

/// The first of some edges.
pub fn edges(edges: &[Edge]) -> String {
    let shown: Vec<String> = edges.iter().take(EDGES).map(|edge| format!("{}–{}", edge.0, edge.1)).collect();
    format!("{}: {}{}", edges.len(), shown.join(" "), if edges.len() > EDGES { " …" } else { "" })
}

/// One node in detail.
pub fn explained(graph: &Graph, result: &EdgeResult, budget: &EdgeBudgetRecord) -> String {
    let mut text = String::new();
    let class = |class: usize| class_name(Some(graph), class as u64);
    let node = result.node;
    let label = graph.label(node).map_or("no label".into(), |label| format!("label {}", class(label as usize)));
    let graphs = graph.batch().is_some();
    let target = if graphs { "graph" } else { "node" };
    let _ = writeln!(text, "{target} {node}: predicted {}, {label}", class(result.predicted));
    let _ = writeln!(text, "budget: {}", words(budget));
    let place = if graphs { "in it" } else { "at it" };
    let _ = writeln!(text, "edges: {} {place}, {} that matter to it\n", graph.links(node), result.relevant);
    let limit = if result.limit_hit { ", a limit was hit" } else { "" };
    let _ = writeln!(
        text,
        "verdict: {} (by {}{limit}), {} branches\n",
        result.verdict.name().replace('_', "-"),
        result.reason.name().replace('_', " "),
        result.search_nodes
    );
    let _ = writeln!(text, "{:<28}{:>22}{:>22}  edges that attain it", "margin over", "worst case ≥", "worst case ≤");
    for (margin, minimum) in result.margins.iter().zip(&result.minima) {
        let shown: String = class(margin.class).chars().take(27).collect();
        let set = minimum.as_ref().map_or_else(String::new, |minimum| edges(&minimum.changes));
        let _ = writeln!(text, "{shown:<28}{:>22.6}{:>22.6}  {set}", margin.lower, margin.upper);
    }
    if result.verdict == Verdict::NonRobust {
        let with = if budget.attack == "remove" { "without" } else { "with the changes of" };
        let _ = writeln!(
            text,
            "\n{with} {} the class changes{}{}:",
            if result.witness.len() == 1 {
                "this one edge".into()
            } else {
                format!("these {} edges", result.witness.len())
            },
            if result.reason == EdgeReason::Tie { " or ties" } else { "" },
            if result.witness.len() == 1 { "" } else { ", and none of them can be left out" }
        );
        for edge in &result.witness {
            let target = node as u32;
            let near = |v: u32| v == target || graph.adjacency().get(node, v as usize).is_some();
            let place = match (edge.0 == target || edge.1 == target, near(edge.0) || near(edge.1)) {
                _ if graphs => "in the graph",
                (true, _) => "at the node",
                (false, true) => "at a neighbour",
                _ if budget.attack == "remove" && !budget.directed => "two edges away",
                _ => "further away",
            };
            let inserted = graph.adjacency().get(edge.1 as usize, edge.0 as usize).is_none();
            let _ = writeln!(text, "  {}–{}  {place}{}", edge.0, edge.1, if inserted { ", inserted" } else { "" });
        }
    }
    text
}
