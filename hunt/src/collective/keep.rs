//! The files of a finding about one attack for the whole graph.

use std::fmt::Write;

use serde_json::{Value, json};

use crate::area::Area;
use crate::case::{Case, Rule};
use crate::collective::truth::{Scope, Worst};
use crate::finding::Kind;
use crate::keep::{describe, npy};
use crate::record::Record;
use crate::terms::keep::options;

/// A finding about a graph, as files; `proof` is a whole file.
pub fn record(
    case: &Case,
    scope: &Scope,
    truth: &Worst,
    (kind, message): (Kind, String),
    proof: Option<&str>,
) -> Record {
    let graph = gcnproof_files::write::graph_npz("g.npz", &case.graph).unwrap_or_default();
    let model = gcnproof_files::write::model_safetensors(
        "m.safetensors",
        case.layers(),
        gcnproof_files::Precision::F64,
        &Default::default(),
    )
    .unwrap_or_default();
    let mut files = vec![("g.npz".to_string(), graph), ("m.safetensors".to_string(), model)];
    let mut names = Vec::new();
    for (number, rule) in case.rules.iter().enumerate() {
        match rule {
            Rule::Named(name) => names.push(name.to_string()),
            Rule::Matrix(matrix) => {
                let name = format!("mp{}.npy", number + 1);
                files.push((name.clone(), npy(matrix)));
                names.push(name);
            }
        }
    }
    let (budget, list) = options(case);
    files.extend(list);
    let budget = budget.replacen(&format!("-Q {} ", case.budget.global), "", 1);
    let mut text = format!("Made from {}.\n\nIn this folder:\n\n", case.origin);
    let rows = scope.attacked_nodes.map(|most| format!(" --attacked-nodes {most}")).unwrap_or_default();
    let nodes = scope
        .nodes
        .as_ref()
        .map(|nodes| format!(" --nodes {}", nodes.iter().map(usize::to_string).collect::<Vec<_>>().join(",")));
    let _ = writeln!(
        text,
        "    gcnproof collective g.npz m.safetensors --message-passing {} --budgets {} {budget}{rows}{} --proofs proofs",
        names.join(","),
        case.budget.global,
        nodes.unwrap_or_default()
    );
    if let Some(proof) = proof {
        let mut lines: Vec<String> = proof.lines().map(str::to_string).collect();
        if let Some(first) = lines.first_mut()
            && let Ok(mut header) = serde_json::from_str::<Value>(first)
        {
            let digest =
                gcnproof_files::parse_graph("g.npz", &files[0].1, &Default::default()).map(|graph| graph.digest);
            let model = gcnproof_files::parse_model("m.safetensors", &files[1].1).map(|model| model.digest);
            header["collective"]["graph"] = json!(digest.unwrap_or_default());
            header["collective"]["model"] = json!(model.unwrap_or_default());
            *first = header.to_string();
        }
        files.push(("false.jsonl".into(), (lines.join("\n") + "\n").into_bytes()));
        text += "    gcnproof check g.npz m.safetensors false.jsonl           (and with --exact)\n";
    }
    let _ = writeln!(
        text,
        "\n## What is true (brute force)\n\n{} of {} predictions that count can be broken, by {:?}; predicted {:?}, counted {:?}\n",
        truth.broken,
        truth.counted.len(),
        truth.flips,
        truth.predicted,
        truth.counted
    );
    text += "## The problem\n\n";
    text += &describe(case);
    Record { area: Area::Collective, kind, message, files, text }
}
