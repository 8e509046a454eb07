//! The files of a finding about removed edges: one component, with ids that start at 0.

use std::fmt::Write;

use gcnproof_files::write::{graph_npz, model_safetensors};
use gcnproof_files::{LayerFile, Precision};
use serde_json::{Value, json};

use crate::area::Area;
use crate::edges::case::EdgeCase;
use crate::edges::truth::EdgeOracle;
use crate::finding::Kind;
use crate::player::How;
use crate::record::Record;

/// A finding about a node, as files. A proof is `{"header":…}` and the line of a node; it is kept with the whole case, whose ids it names.
pub fn record(
    case: &EdgeCase,
    how: How,
    (kind, node, message): (Kind, usize, String),
    proof: Option<(&Value, &str)>,
) -> Record {
    let (case, node) = match proof {
        Some(_) => (case.clone(), node),
        None => {
            let range = case.component_of(node);
            (case.part(range.clone()), node - range.start)
        }
    };
    let (files, options) = files(&case);
    let mut text = format!("Node {node}. Made from {}.\n\nIn this folder:\n\n", case.origin);
    let checked = match proof {
        Some(_) => "false.jsonl",
        None => "p.jsonl",
    };
    let effort = if how == How::Best { "" } else { how.options() };
    let _ =
        writeln!(text, "    gcnproof certify g.npz m.safetensors {options} {effort} --proofs p.jsonl --format json");
    let _ = writeln!(text, "    gcnproof check g.npz m.safetensors {checked}           (and with --exact)");
    let mut record = Record { area: Area::Edges, kind, message, files, text };
    if let Some((header, line)) = proof {
        let header = with_digests(header.clone(), &record.files);
        let count = line.lines().count();
        record.files.push(("false.jsonl".into(), format!("{header}\n{line}\n{{\"end\":{count}}}\n").into_bytes()));
    }
    record.text += "\n## What is true (brute force)\n\n";
    for (node, truth) in EdgeOracle::new(&case).all().iter().enumerate().take(40) {
        let margins: Vec<String> = truth
            .of
            .margins
            .iter()
            .map(|m| m.as_ref().map_or("-".into(), |m| format!("{:e}", m.approximate())))
            .collect();
        let _ = writeln!(
            record.text,
            "node {node}: predicted {}, reference {:?}, robust {:?}, removals needed {:?}, smallest margins {}",
            truth.of.predicted,
            truth.of.reference,
            truth.robust(),
            truth.needed,
            margins.join(" ")
        );
    }
    record.text += "\n## The problem\n\n";
    let _ = writeln!(record.text, "budget {:?}", case.budget);
    for node in 0..case.nodes().min(40) {
        let label = case.graph.labels.as_ref().map(|labels| labels[node]);
        let (neighbours, attributes) = (case.graph.adjacency.row(node), case.graph.attributes.row(node));
        let _ =
            writeln!(record.text, "node {node}: neighbours {neighbours:?}, attributes {attributes:?}, label {label:?}");
    }
    for (number, layer) in case.model.layers.iter().enumerate() {
        let _ = writeln!(
            record.text,
            "layer {}: {:?}, {}×{} weights {:?}, bias {:?}, linear {:?}",
            number + 1,
            case.operators(number),
            layer.weight.rows,
            layer.weight.columns,
            layer.weight.values,
            layer.bias,
            layer.linear
        );
    }
    record
}

/// The header with the digests of the files as they were written.
fn with_digests(mut header: Value, files: &[(String, Vec<u8>)]) -> Value {
    let bytes = |name: &str| files.iter().find(|file| file.0 == name).map(|file| file.1.as_slice()).unwrap_or_default();
    if let Ok(graph) = gcnproof_files::parse_graph("g.npz", bytes("g.npz"), &Default::default()) {
        header["header"]["graph"] = json!(graph.digest);
    }
    if let Ok(model) = gcnproof_files::parse_model("m.safetensors", bytes("m.safetensors")) {
        header["header"]["model"] = json!(model.digest);
    }
    header
}

/// Graph, model and lists of a case, and the options of `gcnproof certify` about it.
fn files(case: &EdgeCase) -> (Vec<(String, Vec<u8>)>, String) {
    let mut files = vec![("g.npz".to_string(), graph_npz("g.npz", &case.graph).unwrap_or_default())];
    let named = case.model.layers.iter().any(|layer| !layer.operators.is_empty());
    // Layers that name operators are written with their description.
    let layers: Vec<LayerFile> = case.model.layers.clone();
    let model = model_safetensors("m.safetensors", &layers, Precision::F64, &Default::default());
    files.push(("m.safetensors".into(), model.unwrap_or_default()));
    let budget = &case.budget;
    let mut options = format!("--edges remove -E {}", budget.global);
    if budget.local.windows(2).all(|pair| pair[0] == pair[1]) {
        let _ = write!(options, " -e {}", budget.local.first().copied().unwrap_or(0));
    } else {
        files.push(("e.txt".into(), budget.local.iter().map(|e| format!("{e}\n")).collect::<String>().into_bytes()));
        options += " --edges-local-file e.txt";
    }
    let _ = write!(options, " --keep-one-edge={}", budget.keep_one);
    if !budget.frozen.is_empty() {
        let list: String = budget.frozen.iter().map(|(i, j)| format!("{i}\n{j}\n")).collect();
        files.push(("frozen.txt".into(), list.into_bytes()));
        options += " --freeze-edges frozen.txt";
    }
    if case.labels {
        options += " --class labels";
    }
    if !named {
        let _ = write!(options, " --message-passing {}", case.rules.join(","));
    }
    (files, options)
}
