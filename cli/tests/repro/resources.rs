//! Small files that cost gigabytes or minutes.

use std::path::Path;
use std::time::{Duration, Instant};

use gcnproof_files::{DenseMatrix, GraphFile, LayerFile, Pattern, Precision};

use crate::{gcnproof, text};

/// A star: every node is linked to node 0 only.
fn star(nodes: usize, attributes: usize) -> GraphFile {
    let mut adjacency = Pattern { rows: nodes, columns: nodes, offsets: vec![0], indices: Vec::new() };
    let mut present = Pattern { rows: nodes, columns: attributes, offsets: vec![0], indices: Vec::new() };
    for i in 0..nodes {
        adjacency.indices.extend(if i == 0 { 1..nodes as u32 } else { 0..1 });
        adjacency.offsets.push(adjacency.indices.len());
        present.indices.push((i % attributes) as u32);
        present.offsets.push(i + 1);
    }
    GraphFile::new(adjacency, present, Some(vec![Some(0); nodes]))
}

/// Two layers whose weights repeat a few numbers.
fn layers(attributes: usize, hidden: usize) -> Vec<LayerFile> {
    let layer = |inputs: usize, outputs: usize| LayerFile {
        weight: DenseMatrix {
            rows: inputs,
            columns: outputs,
            values: (0..inputs * outputs).map(|at| f64::from(at as u32 * 7919 % 101) / 64.0 - 0.75).collect(),
        },
        bias: vec![0.125; outputs],
        operators: Vec::new(),
        linear: Vec::new(),
        weight_name: "W".into(),
        bias_name: None,
    };
    vec![layer(attributes, hidden), layer(hidden, 2)]
}

/// Writes graph and model; returns the beginning of a header about them.
fn write(folder: &Path, nodes: usize, attributes: usize, hidden: usize) -> String {
    let (graph, model) = (folder.join("g.npz"), folder.join("m.safetensors"));
    gcnproof_files::write::write_graph_npz(&graph, &star(nodes, attributes)).unwrap();
    gcnproof_files::write::write_model_safetensors(
        &model,
        &layers(attributes, hidden),
        Precision::F64,
        &Default::default(),
    )
    .unwrap();
    let graph = gcnproof_files::read_graph(&graph, &gcnproof_files::GraphOptions::default()).unwrap().digest;
    let model = gcnproof_files::read_model(&model).unwrap().digest;
    format!(r#"{{"header":{{"version":2,"graph":"{graph}","model":"{model}""#)
}

const REST: &str = r#""budget":{"global":3,"local":3,"direction":"both"},"classes":"labels"}}"#;

fn too_expensive(folder: &Path, file: &[u8]) -> String {
    std::fs::write(folder.join("p.jsonl"), file).unwrap();
    let start = Instant::now();
    let checked = gcnproof(folder, &["check", "g.npz", "m.safetensors", "p.jsonl"]);
    let said = text(&checked);
    assert_eq!(checked.status.code(), Some(3), "{said}");
    assert!(said.contains("too expensive: would take about"), "{said}");
    // It took minutes, or the memory of the machine; a machine that does other things may need more than a second.
    assert!(start.elapsed() < Duration::from_secs(60), "{said}");
    said
}

/// 384 bytes: the header states a square that has 900 million entries, and the checker took 11 GB for it. The
/// certifier, asked for it, says what it needs.
#[test]
fn the_square_of_a_star_is_not_computed() {
    let folder = tempfile::tempdir().unwrap();
    let start = write(folder.path(), 30_001, 4, 4);
    let square = "poly(gcn;0,0,1)";
    let node = r#"{"node":{"id":1,"class":0,"claim":{"robust":[{"class":1,"tree":[{"leaf":{}}]}]}}}"#;
    let file = format!("{start},\"message_passing\":[\"{square}\",\"gcn\"],{REST}\n{node}\n{{\"end\":1}}\n");
    assert!(file.len() < 500);
    too_expensive(folder.path(), file.as_bytes());
    let rules = format!("{square},gcn");
    let certified =
        gcnproof(folder.path(), &["certify", "g.npz", "m.safetensors", "-Q", "1", "--message-passing", &rules]);
    assert_eq!(certified.status.code(), Some(2), "{}", text(&certified));
    assert!(text(&certified).contains("may need 900060001 entries"), "{}", text(&certified));
    // 30,000 powers in the longest header.
    let powers = format!("poly(gcn;{}1)", "0,".repeat(30_000));
    let file = format!("{start},\"message_passing\":[\"{powers}\",\"gcn\"],{REST}\n{{\"end\":0}}\n");
    too_expensive(folder.path(), file.as_bytes());
}

/// 55 kB of envelopes with prices of 2^20000 and 2^−20000 took more than a minute for one leaf.
#[test]
fn numbers_of_forty_thousand_bits_are_too_expensive() {
    let folder = tempfile::tempdir().unwrap();
    let start = write(folder.path(), 100, 700, 16);
    let units = (0..100).flat_map(|m| (0..16).map(move |j| format!(r#"[{m},{j},"1p20000","1p-20000",[],[]]"#)));
    let envelopes = units.collect::<Vec<_>>().join(",");
    let tree = format!(r#"{{"class":1,"tree":[{{"hints":{{"envelopes":[{envelopes}]}}}}]}}"#);
    let node = format!(r#"{{"node":{{"id":0,"class":0,"claim":{{"robust":[{tree}]}}}}}}"#);
    let file = format!("{start},\"message_passing\":[\"gcn\",\"gcn\"],{REST}\n{node}\n{{\"end\":1}}\n");
    let said = too_expensive(folder.path(), file.as_bytes());
    assert!(said.contains("1 (neither accepted nor rejected)"), "{said}");
}

/// 716 bytes of zstd became 13 million empty lines, each of which was rejected by itself.
#[test]
fn empty_lines_end_the_check() {
    let folder = tempfile::tempdir().unwrap();
    let header = format!("{},\"message_passing\":[\"gcn\",\"gcn\"],{REST}\n", write(folder.path(), 100, 4, 4));
    // A frame with a window of 2²⁰ bytes: the header as it is, and a hundred blocks of 2¹⁷ line feeds.
    let block = |last: bool, kind: u32, size: usize| {
        (u32::from(last) | kind << 1 | (size as u32) << 3).to_le_bytes()[..3].to_vec()
    };
    let mut file = vec![0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x50];
    file.extend(block(false, 0, header.len()));
    file.extend(header.bytes());
    for at in 0..100 {
        file.extend(block(at == 99, 1, 1 << 17));
        file.push(b'\n');
    }
    assert!(file.len() < 1000);
    std::fs::write(folder.path().join("p.jsonl.zst"), &file).unwrap();
    let checked = gcnproof(folder.path(), &["check", "g.npz", "m.safetensors", "p.jsonl.zst", "--format", "json"]);
    let said = text(&checked);
    assert_eq!(checked.status.code(), Some(1), "{said}");
    // There is room for two lines of every node, and a thousand more.
    assert!(said.contains("\"rejected\":1225"), "{said}");
}
