//! The files of a finding about a chain of layers whose rules have names.

use gcnproof_files::write::{graph_npz, model_safetensors};
use gcnproof_files::{GraphFile, LayerFile, Precision};
use serde_json::Value;

use crate::record::{RecordFile, proof_file};

/// Graph and model, and the file of a line under its header (`{"header":…}`), so that it can be shown again.
pub fn files(graph: &GraphFile, layers: &[LayerFile], header: &Value, line: Option<&str>) -> Vec<RecordFile> {
    let model = model_safetensors("m.safetensors", layers, Precision::F64, &Default::default());
    let mut files: Vec<RecordFile> = vec![
        ("g.npz".into(), graph_npz("g.npz", graph).unwrap_or_default()),
        ("m.safetensors".into(), model.unwrap_or_default()),
    ];
    files.extend(line.filter(|_| header.is_object()).map(|line| proof_file(header, line, &files)));
    files
}
