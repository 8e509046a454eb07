//! `gcnproof check`: what it can insist on, what it says of files that prove little, and its exit codes.
#![allow(missing_docs)]

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

const FOLDER: &str = "check/tests/statements";

fn check(proofs: &str, more: &[&str]) -> Output {
    let command = &mut Command::new(env!("CARGO_BIN_EXE_gcnproof"));
    let file = |name: &str| Path::new(FOLDER).join(name);
    command.arg("check").arg(file("g.npz")).arg(file("m.npz")).arg(file(proofs)).args(more).output().unwrap()
}

fn told(output: &Output) -> (i32, String) {
    let text = String::from_utf8([&output.stdout[..], &output.stderr[..]].concat()).unwrap();
    (output.status.code().unwrap(), text)
}

#[test]
fn a_table_says_what_is_proved_and_what_not() {
    for (proofs, more, code, text) in [
        ("n.jsonl", &[][..], 1, "nothing is proved"),
        ("z.jsonl", &[], 0, "no flip at all is permitted"),
        ("z.jsonl", &["--expect-Q", "1"], 1, "stated local budgets for only 0 flips in all"),
        ("z.jsonl", &["--expect-Q", "3"], 1, "expected Q = 3 or more, stated Q = 2"),
        ("z.jsonl", &["--expect-q", "1"], 1, "expected q = 1 or more for every node, stated q = 0 for node 0"),
        ("z.jsonl", &["--expect-classes", "labels"], 1, "expected classes labels, stated classes predicted"),
        ("z.jsonl", &["--message-passing", "mean"], 1, "expected message passing mean, stated message passing gcn,gcn"),
        ("z.jsonl", &["--message-passing", "gcn", "--expect-nodes", "2"], 0, "everything in the file is accepted"),
        ("z.jsonl", &["--expect-direction", "add", "--allow-frozen"], 0, "everything in the file is accepted"),
        ("z.jsonl", &["--expect-nodes", "all"], 1, "without accepted proof are 2 of them: 0, 1"),
        ("z.jsonl", &["--expect-nodes", "0-3"], 2, "there is no node 3"),
        ("z.jsonl", &["--expect-nodes", "two"], 2, "expected all, or ids and ranges"),
        ("z.jsonl", &["--expect-classes", "true"], 2, "expected predicted or labels"),
        ("esc.jsonl", &[], 1, r"gcn\u{1b}[2J\u{1b}[Haccepted"),
        ("e901.jsonl", &[], 1, "the exponent 901 is out of range"),
        ("missing.jsonl", &[], 2, "cannot be read"),
        ("", &[], 2, "cannot be read"),
    ] {
        let (found, told) = told(&check(proofs, more));
        assert!(found == code && told.contains(text), "{proofs} {more:?}: {found} {told}");
        assert!(!told.contains("\u{1b}[2J"), "{proofs} {more:?}");
    }
}

#[test]
fn json_is_ascii_and_counts_truly() {
    let json = |proofs: &str, more: &[&str]| -> Value {
        let output = check(proofs, &[&["--format", "json"], more].concat());
        assert!(output.stdout.iter().all(|byte| (0x20..0x7f).contains(byte) || *byte == b'\n'));
        serde_json::from_slice(&output.stdout).unwrap()
    };
    let value = json("z.jsonl", &["--expect-nodes", "all"]);
    assert_eq!(value["success"], false);
    assert_eq!(value["checked"], true);
    assert_eq!(value["without_proof"], 2);
    assert_eq!(value["without_proof_not_mentioned"], 2);
    assert_eq!(value["unmet"].as_array().unwrap().len(), 1);
    assert_eq!(value["statement"]["budget"]["local"], serde_json::json!([0, 0, 0]));
    let value = json("e901.jsonl", &[]);
    assert_eq!([&value["without_proof"], &value["without_proof_rejected"], &value["rejected"]], [3, 1, 1]);
    let value = json("esc.jsonl", &[]);
    assert_eq!(value["checked"], false);
    assert_eq!(value["statement"]["message_passing"][0], "gcn\u{1b}[2J\u{1b}[Haccepted    3: 3 robust");
}

/// What certify writes is what check expects.
#[test]
fn own_proofs_meet_the_expectations_they_were_made_for() {
    let folder = tempfile::tempdir().unwrap();
    let proofs = folder.path().join("p.jsonl.zst");
    let proofs = proofs.to_str().unwrap();
    let run =
        |arguments: &[&str]| told(&Command::new(env!("CARGO_BIN_EXE_gcnproof")).args(arguments).output().unwrap());
    let (graph, model) = ("fixtures/cora.npz", "fixtures/cora_pyg.safetensors");
    let (code, text) =
        run(&["certify", graph, model, "-Q", "3", "-q", "2", "--nodes", "0-19", "--complete", "--proofs", proofs]);
    assert_eq!(code, 0, "{text}");
    let expected = ["--expect-Q", "3", "--expect-q", "2", "--expect-classes", "predicted", "--expect-nodes", "0-19"];
    let (code, text) = run(&[&["check", graph, model, proofs][..], &expected].concat());
    assert_eq!(code, 0, "{text}");
    assert!(text.contains("covered     20 of 2708 nodes") && text.contains("2688 not mentioned"), "{text}");
    let (code, text) = run(&["check", graph, model, proofs, "--expect-Q", "4"]);
    assert!(code == 1 && text.contains("expected Q = 4 or more, stated Q = 3"), "{text}");
    // The same proofs and another graph: both digests are named.
    let (code, text) = run(&["check", "check/tests/statements/g.npz", "check/tests/statements/m.npz", proofs]);
    let given = "3300a1addee58e72b8e5c190377a0f17d3befa2e8a7c09d4dc474ad84fc0657d";
    assert!(code == 1 && text.contains("another graph: its digest is") && text.contains(given), "{text}");
}
