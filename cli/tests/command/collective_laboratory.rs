//! HiGHS proposes multipliers of one attack for the whole graph, from the outside.
#![cfg(feature = "laboratory")]

use std::process::Output;

/// What a solver's tolerances and the rounding of shares to multiples of 2⁻²⁴ make of a number.
const TOLERANCE: f64 = 1e-5;

const GRAPH: &str = "../fixtures/cora.npz";
const MODEL: &str = "../fixtures/cora_standard.safetensors";

fn gcnproof(arguments: &[&str]) -> Output {
    let program = std::process::Command::new(env!("CARGO_BIN_EXE_gcnproof"))
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .args(arguments)
        .output();
    program.expect("the program starts")
}

#[test]
fn highs_proposes_on_the_command_line() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("rows.jsonl");
    let out = out.to_str().unwrap();
    let base = ["collective", GRAPH, MODEL, "-Q", "0,3,8", "-q", "2", "--nodes", "0-299", "--swaps", "200"];
    let run = |more: &[&str]| -> serde_json::Value {
        let done = gcnproof(&[&base[..], &["--format", "json"], more].concat());
        assert!(done.status.success(), "{done:?}");
        serde_json::from_slice(&done.stdout).unwrap()
    };
    let ours = run(&["--rows", "count"]);
    let theirs = run(&["--rows", "count", "--solver", "highs", "--out", out]);
    assert_eq!(theirs["run"]["solver"], "highs");
    assert!(ours["run"].get("solver").is_none());
    for (ours, theirs) in ours["rows"].as_array().unwrap().iter().zip(theirs["rows"].as_array().unwrap()) {
        let (x, y) = (ours["fractional_bound"].as_f64().unwrap(), theirs["fractional_bound"].as_f64().unwrap());
        // HiGHS' multipliers are optimal, ours nearly.
        assert!(y <= x + TOLERANCE * (1.0 + x) && x <= y * 1.005 + TOLERANCE, "{ours} {theirs}");
        assert_eq!(ours["flips"], theirs["flips"]);
    }
    let refused = |more: &[&str], words: &str| {
        let done = gcnproof(&[&base[..], more].concat());
        let error = String::from_utf8_lossy(&done.stderr).replace("\n  │ ", " ");
        assert!(done.status.code() == Some(2) && error.contains(words), "{error}");
    };
    // A run of one solver does not go on with the rows of another.
    refused(&["--rows", "count", "--out", out, "--resume"], "solver");
    refused(&["--solver", "highs"], "--rows count");
    refused(&["--solver", "cplex"], "invalid value");
}
