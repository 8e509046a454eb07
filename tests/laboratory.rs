//! `gcnproof validate` and `export` from the outside, and the awkward targets of the laboratory.
#![cfg(feature = "laboratory")]
#![allow(missing_docs)]

mod common;

use common::certifier_of;

use std::process::{Command, Output};

use gcnproof::laboratory::measurement::{Settings, pairs};
use gcnproof::{Bound, Budget, Network, Operator};
use gcnproof_files::{DenseMatrix, SparseMatrix};

const FIXTURE: [&str; 2] = ["fixtures/integrality/graph.npz", "fixtures/integrality/model.safetensors"];

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

fn settings() -> Settings {
    Settings { max_cells: 1 << 20, full_cells: 1 << 20, max_integers: 1000, seconds: 10.0, milp_seconds: 10.0 }
}

/// Two nodes, the first of which nobody sends a message; and nothing to flip when nobody is allowed to.
#[test]
fn targets_without_neighbours_and_programs_without_columns_have_rows() {
    let matrix = SparseMatrix { rows: 2, columns: 2, offsets: vec![0, 0, 1], indices: vec![0], values: vec![1.0] };
    let dense = |rows, columns, values| DenseMatrix { rows, columns, values };
    let graph = common::graph(vec![vec![1], vec![0]], vec![vec![0], vec![]], 2);
    let layers = vec![
        (dense(2, 2, vec![1.0, -1.0, 0.5, 2.0]), vec![0.25, -0.25]),
        (dense(2, 2, vec![1.0, 0.0, 0.0, 1.0]), vec![0.5, 0.0]),
    ];
    let gcn = Network::from_file(common::model(layers), &[Operator::from_plain(matrix).unwrap()], &graph).unwrap();
    for global in [0, 2] {
        let certifier = certifier_of(&graph, &gcn, Budget::uniform(&graph, global, 1), Bound::Best);
        for node in 0..2 {
            let reference = certifier.predicted(node);
            let rows = pairs(&certifier, &settings(), node, &[1 - reference]);
            assert_eq!((rows.len(), &rows[0].violation), (1, &None), "{rows:?}");
            let row = &rows[0];
            let lps = [&row.lp_highs_status, &row.lp_good_lp_status, &row.lp_minilp_status, &row.lp_clarabel_status];
            for status in lps.into_iter().chain([&row.ilp_status]) {
                assert_eq!(status.as_deref(), Some("optimal"), "{row:?}");
            }
            assert_eq!(row.milp_status.as_deref(), Some("optimal"), "{row:?}");
        }
    }
}

/// No time and no room: every row has its bounds and its witness, and says why there is nothing else.
#[test]
fn limits_leave_rows_with_a_status() {
    let (graph, gcn) = gcnproof::embedded::cora();
    let certifier = certifier_of(&graph, &gcn, Budget::uniform(&graph, 12, 14), Bound::Best);
    let reference = certifier.predicted(5);
    let classes: Vec<usize> = (0..7).filter(|&class| class != reference).collect();
    for (limits, wanted) in [
        (Settings { max_cells: 1000, ..settings() }, "too_large"),
        (Settings { seconds: 0.0, milp_seconds: 0.0, ..settings() }, "time_limit"),
    ] {
        let rows = pairs(&certifier, &limits, 5, &classes[..2]);
        assert_eq!(rows.len(), 2);
        for row in rows {
            assert_eq!(row.lp_highs_status.as_deref(), Some(wanted), "{row:?}");
            assert!(row.lp_highs.is_none() && row.violation.is_none());
            assert!(row.dual_default.is_some() && row.anchored.is_some() && row.witness.is_some());
        }
    }
}
