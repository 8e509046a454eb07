//! Real files: Cora and its models always, the larger graphs where the user has them.
//!
//! The expected digests were computed by an independent program (Python with numpy and scipy) from
//! the byte layouts documented at `GraphFile::digest` and `ModelFile::digest`.

use gcnproof_files::*;
use std::io::Write;
use std::path::{Path, PathBuf};

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures").join(name)
}

/// A file beside or below the folder that `GCNPROOF_DATA` names, or a clear word that there is none.
fn shared(kind: &str, name: &str) -> Option<PathBuf> {
    let folder = std::env::var_os("GCNPROOF_DATA").map(PathBuf::from).filter(|folder| folder.is_dir());
    let Some(folder) = folder else {
        skipped(name, "GCNPROOF_DATA names no folder with the other graphs and models");
        return None;
    };
    let places = [folder.join(name), folder.join(kind).join(name), folder.join("..").join(kind).join(name)];
    let found = places.into_iter().find(|path| path.is_file());
    if found.is_none() {
        skipped(name, &format!("it is not in {}", folder.display()));
    }
    found
}

/// Straight to the terminal, because the harness swallows what a passing test prints.
fn skipped(name: &str, reason: &str) {
    let _ = writeln!(std::io::stderr(), "SKIPPED {name}: {reason}");
}

/// Nodes, undirected edges, attributes, classes, and the digest.
type Facts = (usize, usize, usize, u32, &'static str);

#[track_caller]
fn check_graph(path: &Path, (nodes, edges, attributes, classes, digest): Facts) -> GraphFile {
    let graph = read_graph(path, &GraphOptions::default()).unwrap();
    assert_eq!(graph.adjacency.rows, nodes);
    assert_eq!(graph.adjacency.entries(), 2 * edges);
    assert_eq!(graph.attributes.columns, attributes);
    let labels = graph.labels.as_ref().unwrap();
    assert_eq!(labels.iter().flatten().max(), Some(&(classes - 1)));
    assert_eq!(graph.digest, digest, "{}", path.display());
    graph
}

#[test]
fn cora() {
    let facts = (2708, 5278, 1433, 7, "cd8a572ff12c02e9fca2fdb8e488e11038b886e65e4865edd460377022f04bf5");
    let graph = check_graph(&fixture("cora.npz"), facts);
    assert_eq!(graph.attributes.entries(), 49216);
    let degrees = (0..2708).map(|node| graph.adjacency.row(node).len());
    assert_eq!(degrees.max(), Some(168));
    assert_eq!(graph.node_names.as_ref().unwrap().len(), 2708);
    assert_eq!(graph.class_names.as_ref().unwrap().len(), 7);
    assert_eq!(graph.notes, Vec::<String>::new());
    // Written by us, it is the same graph.
    let bytes = write::graph_npz("again.npz", &graph).unwrap();
    assert_eq!(parse_graph("again.npz", &bytes, &GraphOptions::default()).unwrap(), graph);
    // A graph is no model, and the complaint says so.
    assert!(matches!(read_model(&fixture("cora.npz")), Err(FileError::UnknownScheme { .. })));
}

#[test]
fn models_for_cora() {
    let two = read_model(&fixture("cora_pyg.safetensors")).unwrap();
    let shapes = |model: &ModelFile| -> Vec<_> {
        model.layers.iter().map(|layer| (layer.weight.rows, layer.weight.columns)).collect()
    };
    assert_eq!(shapes(&two), [(1433, 32), (32, 7)]);
    assert_eq!(two.precision, Precision::F32);
    assert_eq!(two.digest, "5b4d3e8a9f57ebbb854bde80179385a014a1277870222bb2e0ee2b72c1de7a79");
    let three = read_model(&fixture("cora_pyg_3layer.safetensors")).unwrap();
    assert_eq!(shapes(&three), [(1433, 16), (16, 16), (16, 7)]);
    assert_eq!(three.digest, "f6aeaad8e3396820135af04a9cf8966ccf079875c02192f8c8d971e7a3648051");
    // Swapping two layers of equal size fits, so only the digest can tell.
    let mut swapped = three.layers.clone();
    swapped[1].weight = swapped[1].weight.transpose();
    let bytes = write::model_safetensors("m", &swapped, Precision::F32, &three.metadata).unwrap();
    assert_ne!(parse_model("m", &bytes).unwrap().digest, three.digest);
}

#[test]
fn the_other_graphs() {
    let facts: [(&str, Facts); 6] = [
        ("pubmed.npz", (19717, 44324, 500, 3, "ccdcaf3972f1fcc3fdfe6b9d3cf755550eb3151ec2198c76698561ad7bd23fd4")),
        ("cora_ml.npz", (2995, 8158, 2879, 7, "b0e463247156bccfc446cf55204a6e8e0181d99626d6e8bcb62de445db386a0d")),
        ("citeseer.npz", (3312, 4536, 3703, 6, "d9777055c4b342066873662fa6c417342c471ad272ef8105f3cf223eb692ece5")),
        (
            "coauthor_cs.npz",
            (18333, 81894, 6805, 15, "91384f8a02285b04b2a14c10be72d55029f4e019c85e1e91af1d1fca5116949c"),
        ),
        (
            "amazon_photo.npz",
            (7650, 119081, 745, 8, "68d3f0043cb7114dfa8a216a7f2863060d8716d22759c5d49a88206887d9c319"),
        ),
        ("wisconsin.npz", (251, 450, 1703, 5, "db46f13142f8f1a9fdba237b1d25183969834e6d6e849f90881ae63b5da409f4")),
    ];
    for (name, facts) in facts {
        if let Some(path) = shared("data", name) {
            check_graph(&path, facts);
        }
    }
}

#[test]
fn the_other_models() {
    for (name, input, digest) in [
        ("pubmed_pyg.safetensors", 500, "ffb43f280f7c42130b086d6fe82924d63ef66ee6d3471d95583aa92e3d47f572"),
        ("coauthor_cs_pyg.safetensors", 6805, "75bbf3862afcd72a2db294e4e09344527da2825ff74c61358cad17a7bce467b8"),
        ("amazon_photo_pyg.safetensors", 745, "77d6efd8a94b20660170732a3311778a50f57adcd7790fe01a0a271dede83b1f"),
        ("cora_ml_ce.npz", 2879, "4630dfecc3bf79bc14aa0cb12ddb49b82055d0a9b1cb89a120690929144371b1"),
        ("cora_ml_robust.npz", 2879, "399a20df008e89ce2fcd5692f3d9488daa13b23c6ef87451cdc58fce8b2cea57"),
        ("citeseer_ce.npz", 3703, "a560c3c652bbcddc31ee55d987f1695e14c0f65df130ff58c7a4f0f0d6f1a7f1"),
    ] {
        if let Some(path) = shared("models", name) {
            let model = read_model(&path).unwrap();
            assert_eq!(model.layers[0].weight.rows, input);
            assert_eq!(model.digest, digest, "{name}");
        }
    }
}
