//! The files of a finding about executions on moved attributes.

use std::fmt::Write;

use gcnproof::Ranges;
use gcnproof_files::write::graph_npz;
use serde_json::Value;

use crate::area::Area;
use crate::moved::case::MovedCase;
use crate::record::{Record, RecordFile, Wrong, commands, proof_file};
use crate::tested::How;

/// A finding about a node, as files; a proof is `{"header":…}` and the line of a node.
pub fn record(case: &MovedCase, how: How, wrong: Wrong, proof: Option<(&Value, &str)>) -> Record {
    let Wrong { kind, node, message } = wrong;
    let network = &case.network.network;
    let graph = case.ranges.graph().ok().and_then(|graph| graph_npz("g.npz", &graph).ok()).unwrap_or_default();
    let mut files: Vec<RecordFile> =
        vec![("g.npz".into(), graph), ("m.safetensors".into(), network.tensors().file(&network.text()))];
    let local: String = case.ranges.local.iter().map(|q| format!("{q}\n")).collect();
    files.push(("q.txt".into(), local.into_bytes()));
    files.extend(proof.map(|(header, line)| proof_file(header, line, &files)));
    let mut text = commands(node, &case.ranges.changes.origin, &options(case, how), proof.is_some());
    let _ = writeln!(text, "\n## The problem\n\n{:?}", case.execution);
    let ranges = &case.ranges;
    let _ = writeln!(text, "{:?} {} {:?} frozen {:?}", ranges.ranges, ranges.global, ranges.local, ranges.frozen);
    for (node, row) in ranges.values.iter().enumerate() {
        let neighbours = ranges.changes.graph.adjacency.row(node);
        let _ = writeln!(text, "node {node}: neighbours {neighbours:?}, attributes {row:?}");
    }
    let _ = writeln!(text, "\n{}\n\n{network:?}", network.text());
    Record { area: Area::Moved, kind, message, files, text }
}

/// The options of `certify`. Limits of attributes have to be made a file of numpy, with `low` and `high`.
fn options(case: &MovedCase, how: How) -> String {
    let (ranges, execution) = (&case.ranges, &case.execution);
    let mut text = format!("-Q {} --local-file q.txt", ranges.global);
    let _ = match &ranges.ranges {
        Ranges::Ball(radius) => write!(text, " --epsilon {radius:e}"),
        Ranges::Between { .. } => write!(text, " --ranges limits.npz"),
    };
    if !ranges.frozen.is_empty() {
        let frozen: Vec<String> = ranges.frozen.iter().map(u32::to_string).collect();
        let _ = write!(text, " --freeze-attributes {}", frozen.join(","));
    }
    let _ = write!(text, " {}", crate::deployed::program::options(*execution, how));
    text
}
