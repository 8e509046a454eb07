//! The files of a finding about removed edges: one component, with ids that start at 0.

use std::fmt::Write;

use gcnproof_files::Precision;
use gcnproof_files::write::{graph_npz, model_safetensors};
use serde_json::Value;

use crate::area::Area;
use crate::edges::case::EdgeCase;
use crate::edges::truth::EdgeOracle;
use crate::record::{Record, RecordFile, Wrong, commands, nodes, proof_file, told};
use crate::tested::How;

/// A finding about a node, as files. A proof is `{"header":…}` and the line of a node; it is kept with the whole case,
/// whose ids it names.
pub fn record(case: &EdgeCase, how: How, wrong: Wrong, proof: Option<(&Value, &str)>) -> Record {
    let Wrong { kind, node, message } = wrong;
    let (case, node) = match proof {
        Some(_) => (case.clone(), node),
        None => {
            let range = case.component_of(node);
            (case.part(range.clone()), node - range.start)
        }
    };
    let (mut files, options) = files(&case);
    let effort = if how == How::Best { "" } else { how.options() };
    let mut text = commands(node, &case.origin, &format!("{options} {effort}"), proof.is_some());
    files.extend(proof.map(|(header, line)| proof_file(header, line, &files)));
    text += "\n## What is true (brute force)\n\n";
    for (node, truth) in EdgeOracle::new(&case).all().iter().enumerate().take(40) {
        text += &told(node, &truth.of, &format!(", removals needed {:?}", truth.needed));
    }
    let _ = writeln!(text, "\n## The problem\n\nbudget {:?}", case.budget);
    text += &nodes(&case.graph, 40);
    for (number, layer) in case.model.layers.iter().enumerate() {
        let _ = writeln!(
            text,
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
    Record { area: Area::Edges, kind, message, files, text }
}

/// Graph, model and lists of a case, and the options of `gcnproof certify` about it.
fn files(case: &EdgeCase) -> (Vec<RecordFile>, String) {
    let mut files = vec![("g.npz".to_string(), graph_npz("g.npz", &case.graph).unwrap_or_default())];
    let named = case.model.layers.iter().any(|layer| !layer.operators.is_empty());
    // Layers that name operators are written with their description.
    let model = model_safetensors("m.safetensors", &case.model.layers, Precision::F64, &Default::default());
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
        let list: String = budget.frozen.iter().map(|(i, j)| format!("{i},{j}\n")).collect();
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
