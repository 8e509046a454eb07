//! Limits of time that were not honoured, and contradictions that were not reported.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use gcnproof::{Contradiction, Subject, embedded};
use gcnproof_cli::run::{Format, RunArguments};
use gcnproof_cli::{output, run};
use gcnproof_files::write::{write_graph_npz, write_model_safetensors};
use gcnproof_files::{DenseMatrix, GraphFile, LayerFile, Pattern, Precision};
use gcnproof_results::record::collective::CollectiveRecord;
use gcnproof_results::record::consistent::Row;
use gcnproof_results::record::description::Description;
use gcnproof_results::record::edges::{EdgeRadiusRecord, EdgeRecord};
use gcnproof_results::record::{NodeRecord, RadiusRecord};
use gcnproof_run::reproduction;
use gcnproof_verify::random::Stream;
use serde_json::{Value, json};

use crate::{folder, gcnproof, text};

/// What took minutes takes seconds; the machine may be busy.
const SOON: Duration = Duration::from_secs(12);

/// A random graph with a network of these widths, in a folder.
fn write_problem(folder: &Path, nodes: usize, edges: usize, attributes: usize, widths: &[usize]) {
    let mut random = Stream::new(7);
    let mut neighbours = vec![Vec::new(); nodes];
    for _ in 0..edges {
        let (i, j) = (random.below(nodes), random.below(nodes));
        if i != j && !neighbours[i].contains(&(j as u32)) {
            neighbours[i].push(j as u32);
            neighbours[j].push(i as u32);
        }
    }
    let pattern = |columns: usize, mut rows: Vec<Vec<u32>>| {
        rows.iter_mut().for_each(|row| row.sort_unstable());
        let mut offsets = vec![0];
        rows.iter().for_each(|row| offsets.push(offsets[offsets.len() - 1] + row.len()));
        Pattern { rows: rows.len(), columns, offsets, indices: rows.concat() }
    };
    let rows = (0..nodes).map(|_| (0..attributes as u32).filter(|_| random.chance(6)).collect()).collect();
    let graph = GraphFile::new(pattern(nodes, neighbours), pattern(attributes, rows), None);
    write_graph_npz(&folder.join("g.npz"), &graph).unwrap();
    let layer = |pair: &[usize]| LayerFile {
        weight: DenseMatrix {
            rows: pair[0],
            columns: pair[1],
            values: (0..pair[0] * pair[1]).map(|_| random.real() / (pair[0] as f64).sqrt()).collect(),
        },
        bias: vec![0.05; pair[1]],
        operators: Vec::new(),
        linear: Vec::new(),
        weight_name: String::new(),
        bias_name: None,
    };
    let layers: Vec<LayerFile> = [&[attributes], widths].concat().windows(2).map(layer).collect();
    write_model_safetensors(&folder.join("m.safetensors"), &layers, Precision::F64, &BTreeMap::new()).unwrap();
}

/// Five layers, whose activation bounds took minutes before any clock was looked at; and many attributes, units and
/// classes.
#[test]
fn time_limits_end_preparation_bounds_and_searches() {
    for (nodes, edges, attributes, widths) in
        [(300, 4_500, 250, &[32, 32, 32, 32, 4][..]), (150, 1_200, 3_000, &[384, 24])]
    {
        let folder = tempfile::tempdir().unwrap();
        write_problem(folder.path(), nodes, edges, attributes, widths);
        let arguments = ["certify", "g.npz", "m.safetensors", "-Q", "12", "--complete", "--time-limit", "1"];
        let start = Instant::now();
        let done = gcnproof(folder.path(), &[&arguments[..], &["--nodes", "0", "--format", "json"]].concat());
        let seconds = start.elapsed();
        assert!(done.status.success(), "{}", text(&done));
        let answer: Value = serde_json::from_slice(&done.stdout).unwrap();
        println!("{nodes} nodes: {} after {seconds:?}", answer["rows"][0]["reason"]);
        assert!(seconds < SOON, "{nodes} nodes: {seconds:?}");
    }
}

/// Ctrl-C in the middle of what took minutes: the program ends, with the rows that it has.
#[cfg(unix)]
/// A bound that the clock cut short left the flips of another branch behind: a witness of 3 flips where 2 are
/// permitted, which ended the run.
#[test]
fn no_witness_exceeds_the_budget_when_time_is_up() {
    for hundredths in 1..25 {
        let limit = format!("{}", f64::from(hundredths) / 100.0);
        let arguments =
            ["certify", "g.npz", "m.safetensors", "-Q", "2", "-q", "1", "--deployed", "float32", "--complete"];
        let done = gcnproof(&folder("late_witness"), &[&arguments[..], &["--time-limit", &limit]].concat());
        assert_eq!(done.status.code(), Some(0), "{limit} s: {}", text(&done));
    }
}

#[test]
fn an_interruption_ends_whatever_is_running() {
    let folder = tempfile::tempdir().unwrap();
    write_problem(folder.path(), 300, 4_500, 250, &[32, 32, 32, 32, 4]);
    for command in [
        &["certify", "-Q", "12", "--complete", "--out", "a.jsonl"][..],
        &["radius", "--complete", "--out", "b.jsonl"],
        &["collective", "-Q", "9", "--out", "c.jsonl"],
    ] {
        let arguments = [&command[..1], &["g.npz", "m.safetensors"], &command[1..]].concat();
        let mut child = Command::new(env!("CARGO_BIN_EXE_gcnproof"))
            .current_dir(folder.path())
            .args(&arguments)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_secs(2));
        assert!(child.try_wait().unwrap().is_none(), "{arguments:?} was over too soon to be interrupted");
        assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
        let start = Instant::now();
        assert_eq!(child.wait().unwrap().code(), Some(130), "{arguments:?}");
        assert!(start.elapsed() < SOON, "{arguments:?}: {:?}", start.elapsed());
    }
}

/// Rows of a run on a small problem.
fn answer(arguments: &[&str]) -> Value {
    let done = gcnproof(&folder("own_proof_min_8107"), &[arguments, &["--format", "json"]].concat());
    assert!(done.status.success(), "{}", text(&done));
    serde_json::from_slice(&done.stdout).unwrap()
}

/// A row changed in some columns.
fn changed<T: serde::de::DeserializeOwned>(row: &Value, changes: &Value) -> T {
    let mut row = row.clone();
    for (column, value) in changes.as_object().unwrap() {
        row[column] = value.clone();
    }
    serde_json::from_value(row).unwrap()
}

/// Every row that is written follows from itself; changed in one column, it does not.
#[test]
fn rows_that_contradict_themselves_are_seen() {
    let flips = answer(&["certify", "g.npz", "m.npz", "-Q", "2", "-q", "1", "--complete", "--message-passing", "sum"]);
    let rows = flips["rows"].as_array().unwrap();
    for row in rows {
        changed::<NodeRecord>(row, &json!({})).check().unwrap();
    }
    let margin = |lower: f64, upper: f64| json!([{ "class": 1, "lower": lower, "upper": upper }]);
    let robust = json!({ "verdict": "robust", "reason": "paper_bound", "paper_certifies": true, "anchored_certifies": null,
        "limit_hit": false, "margins": margin(0.5, 1.0), "witness": [] });
    let broken = json!({ "verdict": "non_robust", "reason": "witness", "paper_certifies": false, "anchored_certifies": null,
        "limit_hit": false, "margins": margin(-1.0, -0.5), "witness": [[0, 0]] });
    let robust: Value = serde_json::to_value(changed::<NodeRecord>(&rows[0], &robust)).unwrap();
    let broken: Value = serde_json::to_value(changed::<NodeRecord>(&rows[0], &broken)).unwrap();
    let around = |error: f64| json!([{ "class": 1, "lower": -error, "upper": error }]);
    let right = [
        (&robust, json!({})),
        (&broken, json!({})),
        (&broken, json!({ "reason": "tie", "margins": margin(-1.0, 0.0) })),
        (&robust, json!({ "margins": margin(0.0, 5e-324) })),
        (&robust, json!({ "deployed": "robust", "rounding": around(0.25), "prediction_depends": false })),
        (&robust, json!({ "deployed": "rounding_dependent", "rounding": around(2.0), "prediction_depends": false })),
    ];
    for (row, changes) in right {
        changed::<NodeRecord>(row, &changes).check().unwrap_or_else(|error| panic!("{changes}: {error}"));
    }
    let wrong = [
        (&robust, json!({ "margins": margin(1.5, 1.0) }), "a lower bound of 1.5e0 contradicts"),
        (&robust, json!({ "margins": margin(-1.0, 0.0) }), "the verdict robust contradicts a perturbation"),
        (&robust, json!({ "margins": margin(-0.5, 1.0) }), "a best lower bound of -5e-1"),
        (&robust, json!({ "reason": "witness" }), "its reason witness"),
        (&robust, json!({ "witness": [[0, 0]] }), "a witness of 1"),
        (&robust, json!({ "verdict": "undecided", "reason": "limit" }), "that no limit was hit"),
        (&robust, json!({ "verdict": "undecided", "reason": "bound_not_positive" }), "positive lower bounds"),
        (&robust, json!({ "deployed": "non_robust", "rounding": around(0.1) }), "in exact arithmetic"),
        (&robust, json!({ "deployed": "robust", "rounding": around(0.75) }), "an error of 7.5e-1"),
        (
            &robust,
            json!({ "deployed": "robust", "rounding": [{ "class": 1, "lower": null, "upper": null }] }),
            "not known",
        ),
        (&broken, json!({ "margins": margin(-1.0, 0.5) }), "margins of all perturbations above 0"),
        (&broken, json!({ "reason": "tie" }), "a perturbation with a negative margin"),
        (&broken, json!({ "paper_certifies": true }), "positive for every class"),
        (&broken, json!({ "anchored_certifies": true }), "positive for every class"),
        (&broken, json!({ "deployed": "robust", "rounding": around(0.1) }), "the verdict robust as deployed"),
    ];
    for (row, changes, words) in wrong {
        let error = changed::<NodeRecord>(row, &changes).check().unwrap_err().to_string();
        assert!(error.contains(words) && error.starts_with("node "), "{changes}: {error}");
    }

    let radii =
        answer(&["radius", "g.npz", "m.npz", "-q", "1", "--max-Q", "3", "--complete", "--message-passing", "sum"]);
    for row in radii["rows"].as_array().unwrap() {
        changed::<RadiusRecord>(row, &json!({})).check().unwrap();
        let contradiction = json!({ "certified": 2, "attacked": 2, "witness": [[0, 0], [1, 0]] });
        assert!(changed::<RadiusRecord>(row, &contradiction).check().is_err());
        let short = json!({ "certified": 1, "attacked": 3, "witness": [[0, 0], [1, 0]] });
        assert!(changed::<RadiusRecord>(row, &short).check().is_err());
    }

    let collective = answer(&["collective", "g.npz", "m.npz", "-q", "1", "-Q", "2", "--message-passing", "sum"]);
    let row = &collective["rows"][0];
    changed::<CollectiveRecord>(row, &json!({})).check().unwrap();
    let base = json!({ "counted": 9, "robust": 2, "bound": 5, "fractional_bound": 5.5, "broken": 1, "broken_nodes": [4], "flips": [[0, 0]] });
    let row = serde_json::to_value(changed::<CollectiveRecord>(row, &base)).unwrap();
    changed::<CollectiveRecord>(&row, &json!({})).check().unwrap();
    for changes in [
        json!({ "bound": 0, "fractional_bound": 0.5 }),
        json!({ "bound": 8, "fractional_bound": 8.0 }),
        json!({ "broken_nodes": [4, 5] }),
        json!({ "fractional_bound": 4.5 }),
        json!({ "flips": [[0, 0], [1, 0], [2, 0]] }),
    ] {
        assert!(changed::<CollectiveRecord>(&row, &changes).check().is_err(), "{changes}");
    }

    let removals =
        ["../../cora.npz", "../../cora_pyg.safetensors", "--edges", "remove", "--nodes", "0-5", "--complete"];
    let edges = answer(&[&["certify"], &removals[..], &["-E", "1"]].concat());
    for row in edges["rows"].as_array().unwrap() {
        changed::<EdgeRecord>(row, &json!({})).check().unwrap();
        assert!(changed::<EdgeRecord>(row, &json!({ "margins": margin(2.0, 1.0) })).check().is_err());
    }
    let radii = answer(&[&["radius"], &removals[..], &["--max-E", "2"]].concat());
    for row in radii["rows"].as_array().unwrap() {
        changed::<EdgeRadiusRecord>(row, &json!({})).check().unwrap();
        let contradiction = json!({ "certified": 5, "attacked": 1, "witness": [[0, 1]] });
        assert!(changed::<EdgeRadiusRecord>(row, &contradiction).check().is_err());
    }
}

/// A row that two steps contradict each other about is not written: the run ends with a code of its own, keeps the rows
/// before it and the files to reproduce it, and can be resumed.
#[test]
fn a_contradiction_stops_the_run_and_keeps_its_files() {
    let scratch = tempfile::tempdir().unwrap();
    let answer = answer(&["certify", "g.npz", "m.npz", "-Q", "2", "-q", "1", "--complete", "--message-passing", "sum"]);
    let description = Description::read(&answer["run"]).unwrap();
    let rows: Vec<NodeRecord> = serde_json::from_value(answer["rows"].clone()).unwrap();
    let keys: Vec<u64> = rows.iter().map(|row| row.node).collect();
    let out = scratch.path().join("rows.jsonl");
    let mut arguments =
        RunArguments { out: Some(out.clone()), resume: false, force: false, format: Format::Table, threads: None };
    let (graph, network) = embedded::cora();
    run::host().remember(&graph, &network);
    let subject = Subject::Pair { node: 1, reference: 0, class: 1 };
    let mut bad = rows[1].clone();
    bad.contradiction = Some(Contradiction::new(subject, "a bound of 3", "a margin of 2"));
    let found = arguments.run().rows(
        NodeRecord::SCHEMA,
        &description,
        &keys,
        |row: &NodeRecord| row.node,
        |open, done| {
            assert_eq!(open, &keys[..]);
            done(rows[0].clone());
            done(bad);
            assert!(run::stopped());
            done(rows[2].clone());
        },
    );
    run::start();
    let report = found.unwrap_err();
    let words = output::words(&report).0;
    assert!(words.contains("node 1, class 0 against 1: a bound of 3 contradicts a margin of 2"), "{words}");
    assert_eq!(output::fail(&report), reproduction::EXIT);
    let kept = scratch.path().join("gcnproof-contradiction-1");
    assert!(words.contains(kept.to_str().unwrap()), "{words}");
    let told = std::fs::read_to_string(kept.join("contradiction.txt")).unwrap();
    assert!(told.contains("a bound of 3 contradicts a margin of 2"), "{told}");
    let run: Value = serde_json::from_str(&std::fs::read_to_string(kept.join("run.json")).unwrap()).unwrap();
    assert_eq!(Description::read(&run).unwrap().fingerprint(), description.fingerprint());
    let again = gcnproof(&kept, &["certify", "graph.npz", "model.safetensors", "-Q", "1", "--nodes", "0-9"]);
    assert!(again.status.success(), "{}", text(&again));
    // What was written before is there, and the run goes on with the others.
    arguments.resume = true;
    let (all, interrupted) = arguments
        .run()
        .rows(
            NodeRecord::SCHEMA,
            &description,
            &keys,
            |row: &NodeRecord| row.node,
            |open, done| {
                assert_eq!(open, &keys[1..]);
                rows[1..].iter().for_each(|row| done(row.clone()));
            },
        )
        .unwrap();
    assert!(!interrupted);
    assert_eq!(all.len(), rows.len());
}
