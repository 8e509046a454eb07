//! `gcnproof validate` and `export` from the outside.
#![cfg(feature = "laboratory")]

use std::process::{Command, Output};

const FIXTURE: [&str; 2] = ["../fixtures/integrality/graph.npz", "../fixtures/integrality/model.safetensors"];

fn gcnproof(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gcnproof"));
    command.current_dir(env!("CARGO_MANIFEST_DIR")).args(arguments).output().expect("the program starts")
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn validate_tells_every_number_of_the_counterexample() {
    let folder = tempfile::tempdir().unwrap();
    let (rows, plots) = (folder.path().join("rows.jsonl"), folder.path().join("plots"));
    let output = [rows.to_str().unwrap(), plots.to_str().unwrap()];
    let mut arguments = vec!["validate", FIXTURE[0], FIXTURE[1], "-Q", "1", "-q", "1", "--format", "json"];
    arguments.extend(["--out", output[0], "--plots", output[1]]);
    let run = gcnproof(&arguments);
    assert_eq!(run.status.code(), Some(0), "{run:?}");
    let report: serde_json::Value = serde_json::from_str(&text(&run)).unwrap();
    let row = &report["rows"][0];
    let near = |name: &str, value: f64| {
        assert!((row[name].as_f64().unwrap() - value).abs() < 1e-6, "{name}: {}", row[name]);
    };
    for name in ["lp_good_lp", "lp_highs", "lp_minilp", "lp_clarabel", "lp_safe_bound", "dual_optimal"] {
        near(name, -0.25);
    }
    for name in ["ilp", "milp", "witness"] {
        near(name, 0.25);
    }
    near("gap_integrality", 0.5);
    assert_eq!(row["integrality_changes_verdict"], true);
    assert_eq!(row["form"], "appendix");
    assert_eq!(report["summary"]["integrality_changes_verdict"], 1);
    assert_eq!(report["summary"]["all_solvers_agree"], 1);
    assert_eq!(std::fs::read_dir(&plots).unwrap().count(), 10);

    // A finished run is not computed again, and its rows are not overwritten unasked.
    arguments.push("--resume");
    let again = gcnproof(&arguments);
    assert_eq!(again.status.code(), Some(0), "{again:?}");
    let resumed: serde_json::Value = serde_json::from_str(&text(&again)).unwrap();
    assert_eq!(resumed["rows"], report["rows"]);
}

#[test]
fn exports_are_programs_with_the_paper_s_names() {
    let base = ["export", FIXTURE[0], FIXTURE[1], "-Q", "1", "-q", "1", "--node", "0", "--class", "1"];
    let lp = text(&gcnproof(&base));
    for name in ["x_0_0", "gamma_plus_0_0", "local_eta_0", "global_rho", "Phi_2_0_0", "mu_2_0_1", "lambda_2_0_1"] {
        assert!(lp.contains(name), "{name}");
    }
    assert!(!lp.contains("General"));
    let milp = text(&gcnproof(&[&base[..], &["--program", "milp", "--form", "compact"]].concat()));
    assert!(milp.contains("General") && milp.contains("on_2_0_1") && !milp.contains("gamma_plus"));
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("pair.mps");
    let run = gcnproof(&[&base[..], &["--program", "ilp", "--out", file.to_str().unwrap()]].concat());
    assert_eq!(run.status.code(), Some(0), "{run:?}");
    let mps = std::fs::read_to_string(file).unwrap();
    assert!(mps.starts_with("* ") && mps.contains("\nNAME ") && mps.contains("'INTORG'") && mps.ends_with("ENDATA\n"));
    for wrong in [["--out", "pair.txt"], ["--reference", "1"], ["--reference", "9"]] {
        assert_eq!(gcnproof(&[&base[..], &wrong].concat()).status.code(), Some(2), "{wrong:?}");
    }
}

#[test]
fn a_hunt_finds_what_it_looks_for() {
    for statement in ["integrality", "bounds"] {
        let run = gcnproof(&["validate", "--hunt", statement, "--seconds", "4", "--format", "json"]);
        assert_eq!(run.status.code(), Some(0), "{run:?}");
        let found: serde_json::Value = serde_json::from_str(&text(&run)).unwrap();
        assert!(!found["counterexamples"].as_array().unwrap().is_empty(), "{statement}: {found}");
    }
}

#[test]
fn wrong_usage_is_told() {
    assert_eq!(gcnproof(&["validate"]).status.code(), Some(2));
    let run = gcnproof(&["validate", FIXTURE[0], FIXTURE[1], "-Q", "1", "--time-limit", "-1"]);
    assert_eq!(run.status.code(), Some(2), "{run:?}");
    assert_eq!(gcnproof(&["validate", "--hunt", "everything"]).status.code(), Some(2));
}
