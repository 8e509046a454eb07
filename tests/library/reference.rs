//! The forward pass against PyTorch Geometric's own logits, two and three weight layers.

use std::path::{Path, PathBuf};

use gcnproof::internals::problem::forward::forward;
use gcnproof::{Graph, Network, Operator};
use gcnproof_files::{read_array, read_graph, read_model};

/// Largest difference between our logits and theirs, relative to `max(1, |logit|)`: theirs are computed in single
/// precision, whose rounding grows with the logits.
fn difference(graph: &Path, model: &Path, logits: &Path) -> f64 {
    let graph = Graph::from_file(read_graph(graph, &Default::default()).unwrap());
    let gcn = Network::from_file(read_model(model).unwrap(), &[Operator::Gcn], &graph).unwrap();
    let representations = forward(&graph, &gcn);
    let ours = representations.last().unwrap();
    let theirs = read_array(logits, "logits").unwrap();
    assert_eq!((theirs.rows, theirs.columns), (graph.node_count(), gcn.class_count()));
    ours.value.iter().zip(&theirs.values).map(|(x, y)| (x - y).abs() / y.abs().max(1.0)).fold(0.0, f64::max)
}

#[test]
fn logits_are_those_of_pytorch_geometric() {
    // The first two were trained there, the others here.
    for name in ["cora_pyg", "cora_pyg_3layer", "cora_standard", "cora_robust"] {
        let fixture = |file: String| PathBuf::from("fixtures").join(file);
        let model = fixture(format!("{name}.safetensors"));
        let d = difference(&fixture("cora.npz".into()), &model, &fixture(format!("{name}_logits.npz")));
        println!("{name}: largest difference {d:.1e}");
        assert!(d < 1e-5, "{name}: {d}");
    }
}

#[test]
fn logits_of_the_larger_graphs() {
    let Some(folder) = std::env::var_os("GCNPROOF_DATA").map(PathBuf::from) else {
        println!("SKIPPED: GCNPROOF_DATA names no folder with the larger graphs (data/) and models (models/)");
        return;
    };
    for name in ["pubmed", "coauthor_cs", "amazon_photo"] {
        let graph = folder.join("data").join(format!("{name}.npz"));
        let model = |suffix: &str| folder.join("models").join(format!("{name}_pyg{suffix}"));
        if !graph.exists() {
            println!("SKIPPED {name}: {} does not exist", graph.display());
            continue;
        }
        let d = difference(&graph, &model(".safetensors"), &model("_logits.npz"));
        println!("{name}: largest difference {d:.1e}");
        assert!(d < 1e-5, "{name}: {d}");
    }
}
