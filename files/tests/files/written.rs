//! The writers: what they write, the readers read back; what would be changed by writing is refused.

use crate::common;

use common::*;
use gcnproof_files::write::{write_graph_npz, write_model_safetensors, write_part_npz};
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

#[test]
fn a_part_survives_and_is_no_graph() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("part-1.npz");
    let options = GraphOptions::default();
    let graph = parse_graph("before.npz", &small_graph().bytes(), &options).unwrap();
    let whole = "0123456789abcdef".repeat(4);
    let part = PartFile {
        nodes: vec![4, 7, 9],
        own: vec![1],
        number: 1,
        parts: 3,
        of: 10,
        hops: 0,
        longest: Some(LongestRows { neighbours: 5, with_self: 6 }),
        observed: Some(Observed {
            low: vec![0.0; graph.attributes.columns],
            high: vec![1.0; graph.attributes.columns],
        }),
        whole,
    };
    write_part_npz(&path, &graph, &part).unwrap();
    assert_eq!(read_graph_or_part(&path, &options).unwrap(), (graph.clone(), Some(part.clone())));
    assert_eq!((part.row(7), part.row(8), part.node(2), part.owns(1), part.owns(2)), (Some(1), None, 9, true, false));
    let error = read_graph(&path, &options).unwrap_err();
    complete(&error, "part-1.npz", &["part 2 of 3", "1 of its 10 nodes", "whole graph"]);
    write_graph_npz(&path, &graph).unwrap();
    assert_eq!(read_graph_or_part(&path, &options).unwrap(), (graph, None));
}

#[test]
fn a_wrong_part_is_refused() {
    let whole = unicode(&["0123456789abcdef".repeat(4).as_str()], 64);
    let fine = || {
        small_graph()
            .with("part_nodes", i64s(&[4, 7, 9]))
            .with("part_own", i64s(&[1]))
            .with("part_facts", i64s(&[1, 3, 10, 0]))
            .with("part_whole", whole.clone())
    };
    let read = |npz: Npz| parse_graph_or_part("part.npz", &npz.bytes(), &GraphOptions::default());
    assert!(read(fine()).unwrap().1.is_some());
    for (npz, words) in [
        (fine().without("part_own"), ["part_*", "not all"]),
        (fine().without("part_facts"), ["part_*", "not all"]),
        (fine().without("part_whole"), ["part_whole", "digest"]),
        (fine().with("part_whole", unicode(&["abc"], 3)), ["part_whole", "digest"]),
        (fine().with("part_nodes", i64s(&[4, 7])), ["part_nodes", "2 ids for 3 rows"]),
        (fine().with("part_nodes", i64s(&[4, 9, 7])), ["part_nodes", "rising"]),
        (fine().with("part_nodes", i64s(&[4, 7, 10])), ["part_nodes", "below 10"]),
        (fine().with("part_nodes", i64s(&[-4, 7, 9])), ["part_nodes", "below 10"]),
        (fine().with("part_own", i64s(&[3])), ["part_own", "below 3"]),
        (fine().with("part_own", i64s(&[])), ["part_own", "no nodes"]),
        (fine().with("part_facts", i64s(&[3, 3, 10, 0])), ["part_facts", "part 3 of 3"]),
        (fine().with("part_facts", i64s(&[1, 3, 10])), ["part_facts", "six numbers"]),
        (fine().with("part_facts", i64s(&[1, 3, 10, -1])), ["part_facts", "six numbers"]),
    ] {
        complete(&read(npz).unwrap_err(), "part.npz", &[words[0], words[1], "gcnproof partition"]);
    }
}
