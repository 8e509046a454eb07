//! The command line with `--deployed`: rows in all formats, proofs, radii, explanations, wrong usage.

use std::process::Output;

use gcnproof::{DeployedVerdict, Verdict};
use gcnproof_results::read;
use gcnproof_results::record::NodeRecord;
use serde_json::Value;

use crate::gcnproof;

const GRAPH: &str = "../fixtures/cora.npz";
const MODEL: &str = "../fixtures/cora_pyg.safetensors";

fn certified(more: &[&str]) -> Output {
    let mut arguments = vec!["certify", GRAPH, MODEL, "-Q", "5", "--nodes", "0-59,100"];
    arguments.extend(more);
    let done = gcnproof(&arguments);
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    done
}

fn rows(more: &[&str], extension: &str, deployed: bool) -> Vec<NodeRecord> {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join(format!("rows.{extension}"));
    certified(&[more, &["--out", out.to_str().unwrap()]].concat());
    let mut rows: Vec<NodeRecord> = read(&out, NodeRecord::schema(false, deployed)).unwrap();
    rows.iter_mut().for_each(|row| row.seconds = 0.0);
    rows
}

#[test]
fn rows_have_verdicts_as_deployed_in_every_format_and_only_when_asked() {
    let asked = ["--deployed", "float32"];
    let found = rows(&asked, "parquet", true);
    assert_eq!(found, rows(&asked, "jsonl", true));
    assert_eq!(found, rows(&asked, "csv", true));
    let exact = rows(&[], "parquet", false);
    for (with, without) in found.iter().zip(&exact) {
        assert_eq!((with.verdict, with.reason), (without.verdict, without.reason));
        assert_eq!((without.own.deployed, &without.own.rounding, without.own.prediction_depends), (None, &None, None));
        let errors: Vec<f64> = with.own.rounding.iter().flatten().map(|pair| pair.upper.unwrap()).collect();
        assert!(errors.len() == 6 && errors.iter().all(|&error| error > 0.0 && error < 0.01), "{errors:?}");
        match with.own.deployed {
            Some(DeployedVerdict::Robust) => {
                assert_eq!(with.verdict, Verdict::Robust);
                let lower = with.margins.iter().map(|margin| margin.lower.unwrap());
                assert!(lower.zip(&errors).all(|(lower, error)| lower > *error));
            }
            Some(DeployedVerdict::NonRobust) => assert_eq!(with.verdict, Verdict::NonRobust),
            other => assert!(other.is_some()),
        }
    }
    assert!(found.iter().any(|row| row.own.deployed == Some(DeployedVerdict::Robust)));
    assert!(found.iter().any(|row| row.own.deployed == Some(DeployedVerdict::NonRobust)));
    let json: Value = serde_json::from_slice(&certified(&["--format", "json"]).stdout).unwrap();
    assert!(json["rows"][0].get("deployed").is_none() && json["summary"].get("deployed").is_none());
    assert!(json["run"].get("deployed").is_none());
    let json: Value =
        serde_json::from_slice(&certified(&["--format", "json", "--deployed", "float32"]).stdout).unwrap();
    assert_eq!(json["run"]["deployed"]["precision"], 24);
    assert!(json["summary"]["deployed"]["robust"].as_u64().unwrap() > 0);
}

#[test]
fn proofs_state_what_they_are_about() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_string();
    let (deployed, exact) = (path("deployed.jsonl"), path("exact.jsonl"));
    certified(&["--deployed", "float32", "--proofs", &deployed]);
    certified(&["--proofs", &exact]);
    let check = |file: &str, more: &[&str]| {
        let question = [&["check", GRAPH, MODEL, file, "-Q", "5", "--format", "json"], more].concat();
        let answer: Value = serde_json::from_slice(&gcnproof(&question).stdout).unwrap();
        (answer["answers"].as_array().unwrap().len(), answer["checked"] == true)
    };
    let (all, _) = check(&exact, &[]);
    let (some, _) = check(&deployed, &["--deployed", "float32"]);
    assert!(some > 0 && some <= all, "{some} {all}");
    // What holds for every execution holds for exact arithmetic, but not the other way round.
    assert_eq!(check(&deployed, &["--deployed", "exact"]), (some, true));
    assert_eq!(check(&exact, &["--expect-deployed", "float32"]), (0, false));
    // Larger errors than stated are another question.
    assert_eq!(check(&deployed, &["--deployed", "float32", "--operator-error", "9"]), (0, false));
    assert_eq!(check(&deployed, &["--deployed", "float32", "--unit-roundoff", "2^-8"]), (0, false));
    assert_eq!(check(&deployed, &["--deployed", "float32", "--flush-subnormals"]), (0, false));
    let told = gcnproof(&["check", GRAPH, MODEL, &deployed]);
    let told = String::from_utf8_lossy(&told.stdout);
    assert!(told.contains("as deployed, for every execution in float32"), "{told}");
}

#[test]
fn radii_and_explanations_speak_of_executions() {
    let radius = |more: &[&str]| {
        let arguments =
            [&["radius", GRAPH, MODEL, "--nodes", "0-19", "--max-Q", "30", "--format", "json"], more].concat();
        let value: Value = serde_json::from_slice(&gcnproof(&arguments).stdout).unwrap();
        let rows = value["rows"].as_array().unwrap();
        rows.iter().map(|row| row["certified"].as_u64().map_or(-1, |q| q as i64)).collect::<Vec<i64>>()
    };
    let (exact, deployed) = (radius(&[]), radius(&["--deployed", "float32"]));
    assert!(exact.iter().zip(&deployed).all(|(exact, deployed)| deployed <= exact), "{exact:?} {deployed:?}");
    // With four bits nothing holds.
    let coarse = radius(&["--deployed", "float32", "--unit-roundoff", "2^-4"]);
    assert!(coarse.iter().all(|&q| q == -1), "{coarse:?}");
    let told = gcnproof(&["explain", GRAPH, MODEL, "--node", "7", "--deployed", "float32"]);
    assert!(String::from_utf8_lossy(&told.stdout).contains("as deployed: "));
}

#[test]
fn models_of_float64_say_that_they_are_rounded() {
    let told = |model: &str| {
        let [graph, model] = ["graph.npz", "model.safetensors"].map(|name| format!("../fixtures/pyg/{model}/{name}"));
        let done = gcnproof(&["certify", &graph, &model, "-Q", "1", "-q", "1", "--deployed", "float32"]);
        assert!(done.status.success());
        String::from_utf8_lossy(&done.stderr).into_owned()
    };
    assert!(told("gcn").contains("layer 1, 2") && told("gcn").contains("rounded to it when deployed"));
    let done = certified(&["--deployed", "float32"]);
    assert!(!String::from_utf8_lossy(&done.stderr).contains("rounded"), "weights of float32 are not rounded");
    // Nothing is said where nobody asks how the network runs.
    let exact =
        gcnproof(&["certify", "../fixtures/pyg/gcn/graph.npz", "../fixtures/pyg/gcn/model.safetensors", "-Q", "1"]);
    assert!(!String::from_utf8_lossy(&exact.stderr).contains("rounded"));
}

#[test]
fn parts_of_a_graph_say_what_the_whole_says() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_string();
    let done = |arguments: &[&str]| {
        let done = gcnproof(arguments);
        assert!(done.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&done.stderr));
    };
    done(&["partition", GRAPH, MODEL, "--parts", "2", "--out", &path("parts")]);
    let certify = |graph: &str, name: &str| {
        let (rows, proofs) = (path(&format!("{name}.jsonl")), path(&format!("{name}-proofs.jsonl")));
        let options = ["-Q", "5", "--deployed", "float32", "--out", &rows, "--proofs", &proofs];
        done(&[&["certify", graph, MODEL][..], &options].concat());
    };
    certify(GRAPH, "whole");
    certify(&path("parts/part-0.npz"), "0");
    certify(&path("parts/part-1.npz"), "1");
    done(&["join", &path("0.jsonl"), &path("1.jsonl"), "--out", &path("joined.jsonl")]);
    let proofs = [path("0-proofs.jsonl"), path("1-proofs.jsonl"), path("joined-proofs.jsonl"), path("parts")];
    done(&["join", &proofs[0], &proofs[1], "--out", &proofs[2], "--parts", &proofs[3]]);
    let rows = |name: &str| {
        let mut rows: Vec<NodeRecord> = read(path(name).as_ref(), NodeRecord::schema(false, true)).unwrap();
        rows.iter_mut().for_each(|row| row.seconds = 0.0);
        rows
    };
    assert_eq!(rows("joined.jsonl"), rows("whole.jsonl"));
    let lines = |name: &str| {
        let text = std::fs::read_to_string(path(name)).unwrap();
        text.lines().map(str::to_owned).collect::<std::collections::BTreeSet<String>>()
    };
    assert_eq!(lines("joined-proofs.jsonl"), lines("whole-proofs.jsonl"));
}

#[test]
fn options_of_executions_need_an_execution() {
    for wrong in [
        &["--operator-error", "3"][..],
        &["--flush-subnormals"],
        &["--unit-roundoff", "2^-8"],
        &["--deployed", "float16"],
        &["--deployed", "float32", "--unit-roundoff", "0.3"],
        &["--deployed", "float32", "--operator-error", "-1"],
        &["--deployed", "float32", "--edges", "remove", "-E", "1"],
    ] {
        let done = gcnproof(&[&["certify", GRAPH, MODEL, "-Q", "1"], wrong].concat());
        assert_eq!(done.status.code(), Some(2), "{wrong:?}");
    }
}
