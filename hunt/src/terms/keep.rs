//! The files of a finding about a described network.

use std::fmt::Write;

use serde_json::Value;

use crate::area::Area;
use crate::keep::Files;
use crate::record::{Record, Wrong, commands, nodes, proof_file, told};
use crate::terms::case::TermCase;

/// A finding about a node, as files: its component, or the whole case if there is a proof, whose ids it names. `effort`
/// are options of `certify`.
pub fn record(area: Area, case: &TermCase, wrong: Wrong, effort: &str, proof: Option<(&Value, &str)>) -> Record {
    let Wrong { kind, node, message } = wrong;
    let range = case.base.component_of(node.min(case.base.nodes() - 1));
    let (case, node) = match (proof, case.part(range.clone())) {
        (None, Ok(part)) => (part, node - range.start),
        _ => (case.clone(), node),
    };
    let Files { list: mut files, budget, .. } =
        Files::with(&case.base, case.network.tensors().file(&case.network.text()));
    files.extend(proof.map(|(header, line)| proof_file(header, line, &files)));
    let mut text = commands(node, &case.base.origin, &format!("{budget} {effort}"), proof.is_some());
    text += "\n## What is true of the exact network (brute force, from the description)\n\n";
    for (node, truth) in case.oracle().all().iter().enumerate().take(40) {
        text += &told(node, truth, "");
    }
    let _ = writeln!(text, "\n## The problem\n\nbudget {:?}", case.base.budget);
    text += &nodes(&case.base.graph, 40);
    let _ = writeln!(text, "\n{}\n\n{:?}", case.network.text(), case.network);
    Record { area, kind, message, files, text }
}
