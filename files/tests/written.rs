//! The writers: what they write, the readers read back; what would be changed by writing is refused.

mod common;

use common::*;
use gcnproof_files::write::{write_graph_npz, write_model_safetensors};
use gcnproof_files::*;
use std::collections::BTreeMap;

#[test]
fn a_graph_survives() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("graph.npz");
    let named =
        small_graph().with("node_names", unicode(&["", "zwölf", "x"], 5)).with("class_names", unicode(&["a", "b"], 1));
    for npz in [small_graph(), small_graph().without("labels"), named] {
        let before = parse_graph("before.npz", &npz.bytes(), &GraphOptions::default()).unwrap();
        write_graph_npz(&path, &before).unwrap();
        let after = read_graph(&path, &GraphOptions::default()).unwrap();
        assert_eq!(before, after);
    }
    let mut broken = parse_graph("b.npz", &small_graph().bytes(), &GraphOptions::default()).unwrap();
    broken.node_names = Some(vec!["a\0".into(), "b".into(), "c".into()]);
    complete(&write_graph_npz(&path, &broken).unwrap_err(), "graph.npz", &["node_names", "NUL"]);
    broken.node_names = None;
    let nowhere = folder.path().join("no such folder").join("graph.npz");
    complete(&write_graph_npz(&nowhere, &broken).unwrap_err(), "graph.npz", &["cannot be written", "folder exists"]);
}

#[test]
fn a_model_survives_in_both_precisions() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.safetensors");
    let metadata = BTreeMap::from([("trained".to_owned(), "robustly".to_owned())]);
    let before = parse_model("before", &safetensors("", &small_model())).unwrap();
    for precision in [Precision::F32, Precision::F64] {
        write_model_safetensors(&path, &before.layers, precision, &metadata).unwrap();
        let after = read_model(&path).unwrap();
        assert_eq!(after.layers, before.layers);
        assert_eq!((after.digest, after.precision), (before.digest.clone(), precision));
        assert_eq!(after.metadata, metadata);
    }
    // The same model is the same file, whatever order a hash map has today.
    let many: BTreeMap<String, String> = (0..20).map(|i| (format!("key {i}"), "value".to_owned())).collect();
    let bytes = || write::model_safetensors("m", &before.layers, Precision::F32, &many).unwrap();
    assert_eq!(bytes(), bytes());
    assert_eq!(parse_model("m", &bytes()).unwrap().metadata, many);
    // 0.1 has no 32-bit twin: writing it as one would certify another model than is used.
    let mut layers = before.layers.clone();
    layers[1].bias[1] = 0.1;
    write_model_safetensors(&path, &layers, Precision::Mixed, &metadata).unwrap();
    assert_eq!(read_model(&path).unwrap().layers[1].bias[1], 0.1);
    let error = write_model_safetensors(&path, &layers, Precision::F32, &metadata).unwrap_err();
    complete(&error, "model.safetensors", &["convs.1.bias[1]", "0.1", "64 bits"]);
}
