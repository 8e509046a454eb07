//! Every number that can be typed on the command line, at the ends of its range and beyond: a result or a clear
//! refusal, never a panic, an absurd allocation or an endless loop. And the small problems on which the program once
//! gave up.

use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

const GRAPH: &str = "../fixtures/exact/radius_panic_graph.npz";
const MODEL: &str = "../fixtures/exact/radius_panic_model.npz";

const NUMBERS: [&str; 18] = [
    "0",
    "1",
    "2",
    "4294967295",
    "4294967296",
    "9223372036854775807",
    "9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "0.5",
    "1e-320",
    "1e300",
    "1e999",
    "nan",
    "inf",
    "-1",
    "-inf",
    "",
];

/// Runs the program, at most for a while.
fn run(arguments: &[&str]) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_gcnproof"))
        .args(arguments)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let start = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if start.elapsed() > Duration::from_secs(60) {
            child.kill().unwrap();
            panic!("{arguments:?} does not end");
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    child.wait_with_output().unwrap()
}

/// Done, or refused with a message.
fn is_answered(arguments: &[&str]) {
    let output = run(arguments);
    let message = String::from_utf8_lossy(&output.stderr);
    let code = output.status.code();
    assert!(!message.contains("panicked"), "{arguments:?}: {message}");
    assert!(matches!(code, Some(0 | 2)), "{arguments:?}: {code:?} {message}");
    assert!(code == Some(0) || !message.trim().is_empty(), "{arguments:?}: refused without a word");
}

/// All numbers in place of `X`.
fn try_all(template: &[&str]) {
    for number in NUMBERS {
        let arguments: Vec<String> = template.iter().map(|part| part.replace('X', number)).collect();
        is_answered(&arguments.iter().map(String::as_str).collect::<Vec<_>>());
    }
}

#[test]
fn certify_answers_every_number() {
    for effort in ["--complete", "--minimize"] {
        for option in ["-Q=X", "--local=X", "--local=X%", "--time-limit=X", "--node-limit=X"] {
            let global = if option == "-Q=X" { option } else { "-Q=2" };
            let rest = if option == "-Q=X" { "--local=1" } else { option };
            try_all(&["certify", GRAPH, MODEL, global, rest, effort]);
        }
    }
    for option in ["--gap=X", "--threads=X"] {
        try_all(&["certify", GRAPH, MODEL, "-Q=1", "--minimize", option]);
    }
    for option in ["--nodes=X", "--nodes=0-X", "--freeze-nodes=0-X", "--freeze-attributes=0-X", "--labelled=0-X"] {
        try_all(&["certify", GRAPH, MODEL, "-Q=1", option]);
    }
}

#[test]
fn local_files_may_hold_any_number() {
    let folder = tempfile::tempdir().unwrap();
    for number in NUMBERS {
        let file = folder.path().join("q.txt");
        std::fs::write(&file, format!("{number}\n").repeat(3)).unwrap();
        is_answered(&["certify", GRAPH, MODEL, "-Q", "2", "--complete", "--local-file", file.to_str().unwrap()]);
    }
}

#[test]
fn radius_answers_every_number() {
    let folder = tempfile::tempdir().unwrap();
    for option in ["--max-Q=X", "--local=X", "--time-limit=X", "--node-limit=X", "--nodes=X"] {
        try_all(&["radius", GRAPH, MODEL, option]);
        try_all(&["radius", GRAPH, MODEL, option, "--complete"]);
    }
    for format in ["jsonl", "csv", "parquet"] {
        let out = folder.path().join(format!("radius.{format}"));
        try_all(&[
            "radius",
            GRAPH,
            MODEL,
            "-q=3",
            "--complete",
            "--max-Q=X",
            "--force",
            "--out",
            out.to_str().unwrap(),
        ]);
    }
}

#[test]
fn study_and_explain_answer_every_number() {
    let folder = tempfile::tempdir().unwrap();
    for (at, option) in ["-Q=X", "--Q-max=X", "--local=X", "--sample=X", "--time-limit=X"].iter().enumerate() {
        for number in NUMBERS {
            let out = folder.path().join(format!("{at}-{number}"));
            let option = option.replace('X', number);
            is_answered(&["study", GRAPH, MODEL, &option, "--complete", "--out", out.to_str().unwrap()]);
        }
    }
    for option in ["-Q=X", "--local=X", "--time-limit=X"] {
        try_all(&["explain", GRAPH, MODEL, "--node=0", option]);
    }
    try_all(&["explain", GRAPH, MODEL, "--node=X"]);
}

#[test]
fn train_answers_every_number() {
    // A graph with labels of several classes.
    let graph = "../fixtures/exact/undecided_min_graph.npz";
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("model.safetensors");
    for option in [
        "-Q=X",
        "--local=X",
        "--local=X%",
        "--epochs=X",
        "--warm-up=X",
        "--patience=X",
        "--checkpoint-every=X",
        "--batch=X",
        "--layers=X",
        "--depth=X",
        "--seed=X",
        "--split=X",
        "--split=X%",
        "--labelled=0-X",
        "--learning-rate=X",
        "--weight-decay=X",
        "--hinge-weight=X",
        "--bias-spread=X",
        "--margin-labelled=X",
        "--margin-unlabelled=X",
        "--threads=X",
    ] {
        let rest = ["--epochs=3", "--warm-up=2"]
            .into_iter()
            .filter(|other| other.split('=').next() != option.split('=').next());
        let base = ["train", graph, "--loss=rh-u", "--force", "--out", out.to_str().unwrap(), option];
        try_all(&base.into_iter().chain(rest).collect::<Vec<_>>());
    }
}

#[cfg(feature = "laboratory")]
#[test]
fn validate_and_export_answer_every_number() {
    for option in [
        "-Q=X",
        "--local=X",
        "--sample=X",
        "--seed=X",
        "--nodes=X",
        "--max-cells=X",
        "--full-cells=X",
        "--max-integers=X",
        "--time-limit=X",
        "--milp-limit=X",
        "--exact-limit=X",
        "--threads=X",
    ] {
        let global = if option == "-Q=X" { &[][..] } else { &["-Q=1"] };
        try_all(&[&["validate", GRAPH, MODEL, option], global].concat());
    }
    try_all(&["validate", "--hunt=bounds", "--seconds=0.1", "--seed=X"]);
    // Longer hunts last as long as they are told to.
    for seconds in ["0", "0.1", "1e-320", "1e300", "1e999", "nan", "inf", "-1", "-inf", ""] {
        is_answered(&["validate", "--hunt=bounds", &format!("--seconds={seconds}")]);
    }
    for program in ["--program=lp", "--program=ilp", "--program=milp"] {
        for option in ["-Q=X", "--local=X", "--node=X", "--class=X", "--reference=X"] {
            let given = |other: &&str| other.split('=').next() != option.split('=').next();
            let rest = ["-Q=1", "--node=0", "--class=1"].into_iter().filter(given);
            try_all(&["export", GRAPH, MODEL, program, option].into_iter().chain(rest).collect::<Vec<_>>());
        }
    }
}

#[test]
fn reproduce_answers_every_number() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::copy("../fixtures/exact/undecided_min_graph.npz", folder.path().join("citeseer.npz")).unwrap();
    let base = ["reproduce", "table1", "--graphs=citeseer", "--losses=ce", "--data", folder.path().to_str().unwrap()];
    for option in ["--splits=X", "--threads=X"] {
        let fewer = if option == "--splits=X" { &[][..] } else { &["--splits=1"] };
        try_all(&[&base[..], &[option], fewer].concat());
    }
}

#[test]
fn train_refuses_what_makes_no_sense() {
    let graph = "../fixtures/cora.npz";
    for (option, numbers) in [
        ("--hidden", &["0", "4294967296", "18446744073709551615", "-1", "nan"][..]),
        ("--layers", &["0", "4294967296", "18446744073709551615"]),
        ("--depth", &["0", "4294967296", "18446744073709551615"]),
        ("--batch", &["0", "-1"]),
        ("--learning-rate", &["0", "-1", "nan", "inf"]),
        ("--decay", &["-1", "2", "nan"]),
        ("--dropout", &["1", "-1", "nan", "inf"]),
        ("--weight-decay", &["-1", "nan", "inf"]),
        ("--hinge-weight", &["-1", "nan", "inf"]),
        ("--bias-spread", &["-1", "nan", "inf"]),
        ("--margin-labelled", &["-1", "nan", "inf"]),
        ("--margin-unlabelled", &["-1", "nan", "inf"]),
        ("--split", &["0", "-1", "nan%", "101%"]),
        ("--seed", &["-1", "nan", "18446744073709551616"]),
    ] {
        for number in numbers {
            let option = format!("{option}={number}");
            let output = run(&["train", graph, "--loss", "rh-u", &option, "--out", "/nonexistent/model.safetensors"]);
            let message = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.code() == Some(2) && !message.contains("panicked"), "{option}: {message}");
        }
    }
}

/// A three-layer network, where the first pricing of a class pair had nothing to be compared with.
#[cfg(feature = "laboratory")]
#[test]
fn validate_measures_deep_networks() {
    let files = ["../fixtures/cora.npz", "../fixtures/cora_pyg_3layer.safetensors"];
    let limits = ["--time-limit=1", "--milp-limit=0.1", "--exact-limit=0.1"];
    is_answered(&[&["validate", files[0], files[1], "-Q=3", "-q=1", "--sample=3", "--seed=2"], &limits[..]].concat());
}

fn json(arguments: &[&str]) -> serde_json::Value {
    let output = run(&[arguments, &["--format", "json"]].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The margin is positive and below the smallest positive float.
#[test]
fn a_margin_below_every_float_is_decided() {
    let files = ["../fixtures/exact/undecided_min_graph.npz", "../fixtures/exact/undecided_min_model.npz"];
    for effort in ["--complete", "--minimize"] {
        let found = json(&["certify", files[0], files[1], "-Q=0", "-q=3", "--message-passing=mean", effort]);
        assert_eq!(found["summary"]["all"]["robust"], 2, "{found}");
    }
}

/// Logits scaled by 2⁻³⁰: the margins are the neighbours of a fraction, whatever their size.
#[test]
fn minima_do_not_depend_on_the_scale() {
    let files = ["../fixtures/exact/minimize_scale_graph.npz", "../fixtures/exact/minimize_scale_model.npz"];
    let found = json(&["certify", files[0], files[1], "-Q=2", "-q=1", "--minimize", "--exact-margins"]);
    for row in found["rows"].as_array().unwrap() {
        let margins = row["margins"].as_array().unwrap();
        let fractions: Vec<&str> = row["exact_margins"].as_str().unwrap().split(' ').collect();
        assert_eq!(fractions.len(), margins.len(), "{row}");
        for (margin, fraction) in margins.iter().zip(fractions) {
            let (lower, upper) = (margin["lower"].as_f64().unwrap(), margin["upper"].as_f64().unwrap());
            assert!(lower == upper || lower.next_up() == upper, "{row}");
            assert!(
                fraction.contains('/') && fraction.trim_start_matches('-').starts_with(|c: char| c.is_ascii_digit())
            );
        }
    }
}

#[test]
fn the_largest_radius_is_a_number() {
    let found = json(&["radius", GRAPH, MODEL, "-q=3", "--complete", "--max-Q=18446744073709551615"]);
    assert!(found["summary"]["nodes"].as_u64().unwrap() > 0);
}
