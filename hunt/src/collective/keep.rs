//! The files of a finding about one attack for the whole graph.

use std::fmt::Write;

use serde_json::Value;

use crate::area::Area;
use crate::case::Case;
use crate::collective::truth::{Scope, Worst};
use crate::finding::Kind;
use crate::keep::{Files, describe};
use crate::record::{Record, with_digests};

/// A finding about a graph, as files; `proof` is a whole file.
pub fn record(case: &Case, scope: &Scope, truth: &Worst, kind: Kind, message: String, proof: Option<&str>) -> Record {
    let Files { list: mut files, budget, passing } = Files::new(case);
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
        passing,
        case.budget.global,
        nodes.unwrap_or_default()
    );
    if let Some(proof) = proof {
        let mut lines: Vec<String> = proof.lines().map(str::to_string).collect();
        if let Some(first) = lines.first_mut()
            && let Ok(mut header) = serde_json::from_str::<Value>(first)
        {
            with_digests(&mut header["collective"], &files);
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
