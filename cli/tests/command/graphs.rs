//! Networks that classify graphs: files, verdicts, proofs, radii, explanations, the report, and what is refused by
//! name.

use std::collections::BTreeMap;
use std::path::Path;

use gcnproof_files::write::{write_graph_npz, write_model_safetensors};
use gcnproof_files::{DenseMatrix, GraphFile, LayerFile, Pattern, Precision};
use serde_json::Value;

use super::{gcnproof, text};

/// Three graphs: a line of three nodes, one node, a pair. Two attributes.
fn graphs() -> GraphFile {
    let adjacency =
        Pattern { rows: 6, columns: 6, offsets: vec![0, 1, 3, 4, 4, 5, 6], indices: vec![1, 0, 2, 1, 5, 4] };
    let attributes = Pattern { rows: 6, columns: 2, offsets: vec![0, 1, 1, 2, 3, 4, 5], indices: vec![0, 0, 1, 0, 1] };
    GraphFile::new(adjacency, attributes, None)
}

pub fn batch() -> GraphFile {
    let labels = vec![Some(0), Some(1), None];
    GraphFile { labels: Some(labels), ..graphs() }.batched(vec![0, 0, 0, 1, 2, 2]).unwrap()
}

fn layer(operators: &[&str], rows: usize, columns: usize, values: &[f64], bias: &[f64]) -> LayerFile {
    LayerFile {
        weight: DenseMatrix { rows, columns, values: values.to_vec() },
        bias: bias.to_vec(),
        operators: operators.iter().map(|&rule| rule.to_owned()).collect(),
        ..LayerFile::default()
    }
}

/// relu((A + I) X W + b), pooled, and a linear head.
pub fn network(readout: &str) -> Vec<LayerFile> {
    let first = [1.0, -0.5, -1.0, 0.75, 0.5, 0.25, -0.25, 1.0];
    vec![
        layer(&["sum", "identity"], 4, 2, &first, &[0.125, -0.25]),
        layer(&[readout], 2, 2, &[1.0, -1.0, -0.5, 0.5], &[0.0, 0.25]),
    ]
}

pub fn write(path: &Path, layers: &[LayerFile]) {
    write_model_safetensors(path, layers, Precision::F64, &BTreeMap::new()).unwrap();
}

#[test]
fn graphs_are_certified_proved_and_shown() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (graph, model) = (at("graphs.npz"), at("model.safetensors"));
    write_graph_npz(Path::new(&graph), &batch()).unwrap();
    for readout in ["pool-sum", "pool-mean"] {
        write(Path::new(&model), &network(readout));
        let (rows, proofs) = (at(&format!("{readout}.jsonl")), at(&format!("{readout}.proofs.jsonl")));
        let budget = ["-Q", "2", "-q", "1"];
        let done = gcnproof(
            &[&["certify", &graph, &model, "--complete", "--out", &rows, "--proofs", &proofs], &budget[..]].concat(),
        );
        assert!(done.status.success() && text(&done.stdout).contains("graphs"), "{}", text(&done.stderr));
        let written: Vec<Value> =
            std::fs::read_to_string(&rows).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let of = |name: &str| written.iter().map(|row| row[name].clone()).collect::<Vec<Value>>();
        assert_eq!(of("graph"), [0, 1, 2]);
        assert_eq!(of("edges"), [2, 0, 1]);
        assert_eq!(of("neighbourhood"), [3, 1, 2]);
        assert_eq!(of("label"), [Value::from(0), Value::from(1), Value::Null]);
        assert!(written.iter().all(|row| row.get("node").is_none() && row["verdict"] != "undecided"));
        let check = gcnproof(&[&["check", &graph, &model, &proofs], &budget[..]].concat());
        assert!(check.status.success() && text(&check.stdout).contains("3 of 3 graphs"), "{}", text(&check.stdout));
        // A proof of one graph says nothing about another, nor about a node.
        let lines = std::fs::read_to_string(&proofs).unwrap();
        for wrong in ["\"id\":1", "\"id\":4"] {
            let moved = lines.replace("\"id\":2", wrong);
            std::fs::write(at("moved.jsonl"), moved).unwrap();
            let check = gcnproof(&[&["check", &graph, &model, &at("moved.jsonl")], &budget[..]].concat());
            assert_eq!(check.status.code(), Some(1), "{}", text(&check.stdout));
        }
        // Another batch is another graph.
        write_graph_npz(Path::new(&at("other.npz")), &graphs().batched(vec![0, 0, 0, 1, 2, 2]).unwrap()).unwrap();
        let check = gcnproof(&[&["check", &at("other.npz"), &model, &proofs], &budget[..]].concat());
        assert_eq!(check.status.code(), Some(1), "{}", text(&check.stdout));
        let radius = gcnproof(&["radius", &graph, &model, "-q", "1", "--max-Q", "3", "--format", "json"]);
        let radius: Value = serde_json::from_slice(&radius.stdout).unwrap();
        for (row, radius) in written.iter().zip(radius["rows"].as_array().unwrap()) {
            assert_eq!(row["verdict"] == "robust", radius["certified"].as_u64() >= Some(2), "{row} {radius}");
            assert_eq!(row["graph"], radius["graph"]);
        }
        let told = gcnproof(&["explain", &graph, &model, "--graph", "2", "-Q", "2", "-q", "1"]);
        assert!(text(&told.stdout).starts_with("graph 2"), "{}", text(&told.stderr));
        let page = at(&format!("{readout}.html"));
        let report = gcnproof(&["report", &rows, "--graph", &graph, "--model", &model, "--out", &page]);
        assert!(report.status.success(), "{}", text(&report.stderr));
        let page = std::fs::read_to_string(page).unwrap();
        assert!(page.contains("all 3 graphs") && page.contains("<h2>Graphs</h2>"));
        assert!(page.contains("share of graphs") && !page.contains("share of nodes"));
        assert_eq!(page.contains("Graphs that break"), of("verdict").contains(&Value::from("non_robust")));
    }
}

#[test]
fn edges_of_graphs_are_changed_inside_each() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (graph, model, proofs) = (at("graphs.npz"), at("model.safetensors"), at("proofs.jsonl"));
    write_graph_npz(Path::new(&graph), &batch()).unwrap();
    for readout in ["pool-sum", "pool-mean"] {
        write(Path::new(&model), &network(readout));
        for kind in ["remove", "insert", "change"] {
            let asked = ["--edges", kind, "-E", "2", "-e", "1", "--keep-one-edge", "false"];
            // Where nothing is removed, nothing is kept.
            let asked = if kind == "insert" { &asked[..6] } else { &asked[..] };
            let done = gcnproof(
                &[&["certify", &graph, &model, "--proofs", &proofs, "--force", "--format", "json"], asked].concat(),
            );
            assert!(done.status.success(), "{}", text(&done.stderr));
            let told: Value = serde_json::from_slice(&done.stdout).unwrap();
            let rows = told["rows"].as_array().unwrap();
            assert!(rows.len() == 3 && rows.iter().all(|row| row["verdict"] != "undecided"), "{told}");
            // Nodes of the graph alone are linked: 0 to 2, or 4 and 5; the second has one node.
            let nodes = [0..3, 3..4, 4..6];
            for row in rows {
                let graph = row["graph"].as_u64().unwrap() as usize;
                for end in row["witness"].as_array().into_iter().flatten().flat_map(|edge| edge.as_array().unwrap()) {
                    assert!(nodes[graph].contains(&end.as_u64().unwrap()), "{row}");
                }
            }
            let check = gcnproof(&[&["check", &graph, &model, &proofs], asked].concat());
            assert!(check.status.success() && text(&check.stdout).contains("3 of 3 graphs"), "{}", text(&check.stdout));
            let lines = std::fs::read_to_string(&proofs).unwrap();
            std::fs::write(at("moved.jsonl"), lines.replace("\"id\":2", "\"id\":4")).unwrap();
            let check = gcnproof(&[&["check", &graph, &model, &at("moved.jsonl")], asked].concat());
            assert_eq!(check.status.code(), Some(1), "{}", text(&check.stdout));
            let radius =
                gcnproof(&[&["radius", &graph, &model, "--max-E", "3", "--format", "json"], &asked[..2]].concat());
            assert!(radius.status.success(), "{}", text(&radius.stderr));
            let told = gcnproof(&[&["explain", &graph, &model, "--graph", "0"], asked].concat());
            assert!(text(&told.stdout).starts_with("graph 0"), "{}{}", text(&told.stdout), text(&told.stderr));
        }
        std::fs::write(at("across.txt"), "2 3\n").unwrap();
        let across = ["--edges", "insert", "-E", "1", "--candidates", &at("across.txt")];
        let done = gcnproof(&[&["certify", &graph, &model], &across[..]].concat());
        assert!(done.status.code() == Some(2) && text(&done.stderr).contains("no candidate"), "{}", text(&done.stderr));
    }
}

#[test]
fn what_does_not_fit_is_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let [graph, plain, model, nodes] = ["graphs.npz", "plain.npz", "model.safetensors", "nodes.safetensors"].map(at);
    write_graph_npz(Path::new(&graph), &batch()).unwrap();
    write_graph_npz(Path::new(&plain), &graphs()).unwrap();
    write(Path::new(&model), &network("pool-sum"));
    write(Path::new(&nodes), &network("sum"));
    let mixed = [network("pool-sum").remove(0), layer(&["pool-sum", "identity"], 4, 2, &[1.0; 8], &[0.0, 0.0])];
    write(Path::new(&at("mixed.safetensors")), &mixed);
    let deeper = [network("pool-sum"), vec![layer(&["sum"], 2, 2, &[1.0; 4], &[0.0, 0.0])]].concat();
    write(Path::new(&at("deeper.safetensors")), &deeper);
    for (arguments, word) in [
        (vec!["certify", &plain, &model, "-Q", "1"], "no `batch`"),
        (vec!["certify", &graph, &nodes, "-Q", "1"], "no readout"),
        (vec!["certify", &graph, &at("mixed.safetensors"), "-Q", "1"], "pool the nodes first"),
        (vec!["certify", &graph, &at("deeper.safetensors"), "-Q", "1"], "only `identity`"),
        (vec!["collective", &graph, &model, "-q", "1", "--budgets", "1"], "classifies graphs"),
        (vec!["certify", &graph, &model, "-Q", "1", "--nodes", "3"], "no graph 3"),
        (vec!["explain", &graph, &model, "--graph", "3"], "no graph 3"),
        (vec!["partition", &graph, "--hops", "2", "--parts", "2", "--out", &at("parts")], "not cut into parts"),
        (vec!["train", &graph, "--loss", "ce", "--out", &at("new.safetensors")], "classify nodes"),
        (
            vec!["certify", &plain, "../fixtures/cora_pyg.safetensors", "-Q", "1", "--message-passing", "pool-sum"],
            "belongs to the network",
        ),
    ] {
        let done = gcnproof(&arguments);
        let said = text(&done.stderr).split_whitespace().collect::<Vec<_>>().join(" ").replace("│ ", "");
        assert!(done.status.code() == Some(2) && said.contains(word), "{arguments:?}: {said}");
    }
}
