//! The files of a finding about a described network.

use std::fmt::Write;

use gcnproof_files::write::graph_npz;
use serde_json::{Value, json};

use crate::area::Area;
use crate::case::{Case, Way};
use crate::finding::Kind;
use crate::record::Record;
use crate::terms::case::TermCase;
use crate::terms::truth::TermOracle;

/// A finding about a node, as files: its component, or the whole case if there is a proof, whose ids it names. `effort` are options of `certify`.
pub fn record(
    area: Area,
    case: &TermCase,
    (kind, node, message): (Kind, usize, String),
    effort: &str,
    proof: Option<(&Value, &str)>,
) -> Record {
    let range = case.base.component_of(node.min(case.base.nodes() - 1));
    let (case, node) = match (proof, case.part(range.clone())) {
        (None, Ok(part)) => (part, node - range.start),
        _ => (case.clone(), node),
    };
    let (mut files, options) = files(&case);
    if let Some((header, line)) = proof {
        let mut header = header.clone();
        header["header"]["graph"] = json!(digest(&files[0].1));
        let count = line.lines().count();
        files.push(("false.jsonl".into(), format!("{header}\n{line}\n{{\"end\":{count}}}\n").into_bytes()));
    }
    let checked = if proof.is_some() { "false.jsonl" } else { "p.jsonl" };
    let mut text = format!("Node {node}. Made from {}.\n\nIn this folder:\n\n", case.base.origin);
    let _ =
        writeln!(text, "    gcnproof certify g.npz m.safetensors {options} {effort} --proofs p.jsonl --format json");
    let _ = writeln!(text, "    gcnproof check g.npz m.safetensors {checked}           (and with --exact)");
    text += "\n## What is true of the exact network (brute force, from the description)\n\n";
    for (node, truth) in TermOracle::new(&case).all().iter().enumerate().take(40) {
        let margins: Vec<String> =
            truth.margins.iter().map(|m| m.as_ref().map_or("-".into(), |m| format!("{:e}", m.approximate()))).collect();
        let (predicted, reference, robust) = (truth.predicted, truth.reference, truth.robust());
        let margins = margins.join(" ");
        let _ = writeln!(
            text,
            "node {node}: predicted {predicted}, reference {reference:?}, robust {robust:?}, smallest margins {margins}"
        );
    }
    let _ = writeln!(text, "\n## The problem\n\nbudget {:?}", case.base.budget);
    for node in 0..case.base.nodes().min(40) {
        let graph = &case.base.graph;
        let label = graph.labels.as_ref().map(|labels| labels[node]);
        let (neighbours, attributes) = (graph.adjacency.row(node), graph.attributes.row(node));
        let _ = writeln!(text, "node {node}: neighbours {neighbours:?}, attributes {attributes:?}, label {label:?}");
    }
    let _ = writeln!(text, "\n{}\n\n{:?}", case.network.text(), case.network);
    Record { area, kind, message, files, text }
}

fn digest(graph: &[u8]) -> String {
    gcnproof_files::parse_graph("g.npz", graph, &Default::default()).map(|graph| graph.digest).unwrap_or_default()
}

/// Graph, model and budgets, and the options of `gcnproof certify` about them.
pub fn files(case: &TermCase) -> (Vec<(String, Vec<u8>)>, String) {
    let mut files = vec![
        ("g.npz".to_string(), graph_npz("g.npz", &case.base.graph).unwrap_or_default()),
        ("m.safetensors".to_string(), case.network.tensors().file(&case.network.text())),
    ];
    let (options, list) = options(&case.base);
    files.extend(list);
    (files, options)
}

/// The options about a budget, and the file of local budgets where they differ.
pub fn options(case: &Case) -> (String, Option<(String, Vec<u8>)>) {
    let budget = &case.budget;
    let mut options = format!("-Q {}", budget.global);
    let mut list = None;
    if budget.local.windows(2).all(|pair| pair[0] == pair[1]) {
        let _ = write!(options, " -q {}", budget.local.first().copied().unwrap_or(0));
    } else {
        let text: String = budget.local.iter().map(|q| format!("{q}\n")).collect();
        list = Some(("q.txt".to_string(), text.into_bytes()));
        options += " --local-file q.txt";
    }
    match budget.way {
        Way::Both => {}
        Way::Add => options += " --flips add",
        Way::Remove => options += " --flips remove",
    }
    let frozen: Vec<String> = (0..budget.frozen.len()).filter(|&d| budget.frozen[d]).map(|d| d.to_string()).collect();
    if !frozen.is_empty() {
        let _ = write!(options, " --freeze-attributes {}", frozen.join(","));
    }
    if case.labels {
        options += " --class labels";
    }
    (options, list)
}
