//! `gcnproof check`: what it can insist on, what it says of files that prove little, and its exit codes.

use std::path::Path;
use std::process::{Command, Output};

use gcnproof_results::record::NodeRecord;
use serde_json::Value;

const FOLDER: &str = "../check/tests/checker/statements";

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
        ("z.jsonl", &[], 4, "no flip at all is permitted"),
        ("z.jsonl", &[], 4, "no question was asked"),
        ("z.jsonl", &["-Q", "1", "--nodes", "2"], 1, "asked about q = 1 at node 0, stated q = 0"),
        (
            "z.jsonl",
            &["--expect-Q", "2", "--expect-q", "0"],
            1,
            "2 of 3 nodes asked about have no proof that answers: 0, 1",
        ),
        ("z.jsonl", &["-Q", "2", "-q", "0", "--nodes", "2"], 0, "proved: the file answers the question"),
        ("z.jsonl", &["-Q", "0", "--class", "labels"], 1, "asked about the label of a node"),
        ("z.jsonl", &["--message-passing", "mean"], 1, "asked about message passing mean,mean, stated"),
        ("z.jsonl", &["-Q", "0", "--message-passing", "gcn", "--expect-nodes", "2"], 0, "proved"),
        ("z.jsonl", &["-Q", "0", "--expect-direction", "add", "--nodes", "2"], 0, "proved"),
        ("z.jsonl", &["--expect-nodes", "all"], 2, "a question needs a budget"),
        ("z.jsonl", &["-Q", "1", "--expect-nodes", "0-3"], 2, "there is no node 3"),
        ("z.jsonl", &["-Q", "1", "--expect-nodes", "two"], 2, "expected ids and ranges"),
        ("z.jsonl", &["-Q", "1", "--expect-classes", "true"], 2, "expected predicted or labels"),
        ("z.jsonl", &["-E", "1", "--keep-one-edge=false"], 1, "asked about changed edges"),
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
    let value = json("z.jsonl", &["-Q", "0"]);
    assert_eq!([&value["asked"], &value["proved"], &value["success"]], [true, false, false]);
    assert_eq!(value["answers"], serde_json::json!([[2, "robust"]]));
    assert_eq!([&value["exit_code"], &json("z.jsonl", &[])["exit_code"]], [1, 4]);
    assert!(json("z.jsonl", &[])["proved"].is_null());
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

/// What certify writes answers the question that it was asked, and the rules of a check are told by all who check.
#[test]
fn the_rules_are_written_once() {
    let rules = gcnproof_check::RULES;
    let help =
        |arguments: &[&str]| told(&Command::new(env!("CARGO_BIN_EXE_gcnproof")).args(arguments).output().unwrap()).1;
    assert!(help(&["check", "--help"]).contains(rules));
    let python = std::fs::read_to_string("../python/gcnproof/calls.py").unwrap();
    assert!(python.contains("_native.RULES"));
    for word in &gcnproof_check::WORDS {
        let name = format!("--{}", word.long);
        assert!(help(&["check", "--help"]).contains(&name), "{name}");
        let of_check = ["bound", "attacked-nodes", "expect-last-edges"];
        assert!(of_check.contains(&word.long) || help(&["certify", "--help"]).contains(&name), "{name}");
    }
}

/// The same of attributes that are moved, and a proof answers for no more than it states.
#[test]
fn proofs_about_ranges_answer_what_they_state() {
    let folder = tempfile::tempdir().unwrap();
    let proofs = folder.path().join("p.jsonl");
    let proofs = proofs.to_str().unwrap();
    let run =
        |arguments: &[&str]| told(&Command::new(env!("CARGO_BIN_EXE_gcnproof")).args(arguments).output().unwrap());
    let (graph, model) = ("../fixtures/cora.npz", "../fixtures/cora_pyg.safetensors");
    let budget = ["-Q", "4", "-q", "2", "--nodes", "0-5"];
    let asked = [&["certify", graph, model, "--epsilon", "0.25", "--proofs", proofs], &budget[..]].concat();
    let (code, text) = run(&asked);
    assert_eq!(code, 0, "{text}");
    let check = |more: &[&str]| run(&[&["check", graph, model, proofs], &budget[..], more].concat());
    let (code, text) = check(&["--epsilon", "0.25"]);
    assert_eq!(code, 0, "{text}");
    assert!(text.contains("moved by at most 0.25") && text.contains("robust"), "{text}");
    assert_eq!(check(&["--epsilon", "0.25", "--exact"]).0, 0);
    for (other, words) in [
        (&["--epsilon", "0.5"][..], "larger epsilon"),
        (&["--ranges", "observed"], "--epsilon, the other about --ranges"),
        (&[], "asked about flips of attributes"),
    ] {
        let (code, text) = check(other);
        assert!(code == 1 && text.contains(words), "{other:?}: {code} {text}");
    }
    let (code, text) = run(&["check", graph, model, proofs]);
    assert!(code == 4 && text.contains("whatever attributes are moved by at most 0.25"), "{code} {text}");
    // A header that states less makes another statement of every robust node, and a smaller one is true as well; more
    // is not.
    let whole = std::fs::read_to_string(proofs).unwrap();
    let forged = whole.replacen("\"1p-2\"", "\"3p0\"", 1);
    assert_ne!(whole, forged);
    std::fs::write(proofs, forged).unwrap();
    let (code, text) = check(&["--epsilon", "3"]);
    assert!(code == 1 && text.contains("the bound is not above 0"), "{code} {text}");
}

/// As the network runs: proofs say so, and one about the exact network is no answer to a question about executions.
#[test]
fn proofs_about_ranges_are_about_executions_if_they_say_so() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name).to_str().unwrap().to_string();
    let run =
        |arguments: &[&str]| told(&Command::new(env!("CARGO_BIN_EXE_gcnproof")).args(arguments).output().unwrap());
    let (graph, model) = ("../fixtures/cora.npz", "../fixtures/cora_pyg.safetensors");
    let asked = ["-Q", "4", "-q", "2", "--nodes", "0-5", "--epsilon", "0.25"];
    let (deployed, exact) = (file("deployed.jsonl"), file("exact.jsonl"));
    let float32 = ["--deployed", "float32"];
    let rows = file("rows.parquet");
    let certify = ["certify", graph, model, "--proofs", &deployed, "--out", &rows];
    let (code, text) = run(&[&certify, &asked[..], &float32].concat());
    assert!(code == 0 && text.contains("as deployed: "), "{text}");
    let rows: Vec<NodeRecord> = gcnproof_results::read(rows.as_ref(), NodeRecord::ranged_schema(true)).unwrap();
    for row in &rows {
        let values = row.own.witness_values.as_deref().unwrap_or_default().split_whitespace();
        let is_float32 = |value: &str| value.parse::<f64>().is_ok_and(|x| f64::from(x as f32) == x);
        assert!(row.own.deployed.is_some() && values.clone().all(is_float32), "{row:?}");
        assert!(row.own.rounding.iter().flatten().all(|pair| pair.upper.is_some_and(|error| error < 0.01)), "{row:?}");
    }
    assert_eq!(run(&[&["certify", graph, model, "--proofs", &exact], &asked[..]].concat()).0, 0);
    let check = |proofs: &str, more: &[&str]| run(&[&["check", graph, model, proofs], &asked[..], more].concat());
    let (code, text) = check(&deployed, &float32);
    assert!(code == 0 && text.contains("as deployed, for every execution in"), "{code} {text}");
    assert_eq!(check(&deployed, &[]).0, 0);
    assert_eq!(check(&exact, &[]).0, 0);
    for (proofs, more) in [(&exact, &float32[..]), (&deployed, &["--deployed", "float32", "--operator-error", "500"])] {
        let (code, text) = check(proofs, more);
        assert_eq!(code, 1, "{text}");
    }
    let (code, text) = run(&["check", graph, model, &deployed]);
    assert!(code == 4 && text.contains("in every execution in"), "{code} {text}");
    let (code, text) = run(&[
        &["radius", graph, model, "-q", "1", "--max-Q", "2", "--nodes", "0-2", "--epsilon", "0.25"],
        &float32[..],
    ]
    .concat());
    assert_eq!(code, 0, "{text}");
    let explain =
        ["explain", graph, model, "-Q", "2", "-q", "1", "--epsilon", "0.25", "--node", "1", "--time-limit", "5"];
    let (code, text) = run(&[&explain, &float32[..]].concat());
    assert!(code == 0 && text.contains("as deployed: ") && text.contains("rounding ±"), "{text}");
}

/// Smallest margins of attributes that are moved: both bounds are there, and `explain` has them as well.
#[test]
fn smallest_margins_of_moved_attributes_are_told() {
    let run =
        |arguments: &[&str]| told(&Command::new(env!("CARGO_BIN_EXE_gcnproof")).args(arguments).output().unwrap());
    let files = ["../fixtures/cora.npz", "../fixtures/cora_pyg.safetensors", "-Q", "2", "-q", "1", "--epsilon", "0.25"];
    let minimize = ["--nodes", "0-2", "--minimize", "--gap", "0.01", "--time-limit", "20", "--format", "json"];
    let (code, text) = run(&[&["certify"], &files[..], &minimize].concat());
    assert_eq!(code, 0, "{text}");
    let told: serde_json::Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    for row in told["rows"].as_array().unwrap() {
        for margin in row["margins"].as_array().unwrap() {
            let [lower, upper] = ["lower", "upper"].map(|name| margin[name].as_f64().unwrap());
            assert!(
                lower <= upper && (row["limit_hit"] == true || upper - lower <= 0.1 * (1.0 + upper.abs())),
                "{row}"
            );
        }
    }
    let (code, text) = run(&[&["explain"], &files[..], &["--node", "1", "--time-limit", "5"]].concat());
    assert!(code == 0 && text.contains("worst case ≥") && text.contains("moved by at most 0.25"), "{text}");
    let (code, text) = run(&[&["certify"], &files[..], &["--minimize", "--exact-margins"]].concat());
    assert!(code == 2 && text.contains("up to a gap"), "{text}");
}

/// What certify writes is what check is asked.
#[test]
fn own_proofs_answer_the_question_they_were_made_for() {
    let folder = tempfile::tempdir().unwrap();
    let proofs = folder.path().join("p.jsonl.zst");
    let proofs = proofs.to_str().unwrap();
    let run =
        |arguments: &[&str]| told(&Command::new(env!("CARGO_BIN_EXE_gcnproof")).args(arguments).output().unwrap());
    let (graph, model) = ("../fixtures/cora.npz", "../fixtures/cora_pyg.safetensors");
    let (code, text) =
        run(&["certify", graph, model, "-Q", "3", "-q", "2", "--nodes", "0-19", "--complete", "--proofs", proofs]);
    assert_eq!(code, 0, "{text}");
    let expected = ["--expect-Q", "3", "--expect-q", "2", "--expect-classes", "predicted", "--expect-nodes", "0-19"];
    let (code, text) = run(&[&["check", graph, model, proofs][..], &expected].concat());
    assert_eq!(code, 0, "{text}");
    assert!(text.contains("covered     20 of 2708 nodes") && text.contains("2688 not mentioned"), "{text}");
    assert!(text.contains("proved: the file answers the question"), "{text}");
    let (code, text) = run(&["check", graph, model, proofs, "-Q", "4", "-q", "2", "--nodes", "0-19"]);
    assert!(code == 1 && text.contains("asked about Q = 4, stated Q = 3: robust nodes do not answer"), "{text}");
    // The same proofs and another graph: both digests are named.
    let (code, text) =
        run(&["check", "../check/tests/checker/statements/g.npz", "../check/tests/checker/statements/m.npz", proofs]);
    let given = "3300a1addee58e72b8e5c190377a0f17d3befa2e8a7c09d4dc474ad84fc0657d";
    assert!(code == 1 && text.contains("another graph: its digest is") && text.contains(given), "{text}");
}
