//! `gcnproof collective` from the outside: rows, resuming, refusals, and the known curve.

use gcnproof_results::read;
use gcnproof_results::record::collective::CollectiveRecord;

use crate::{gcnproof, text};

const GRAPH: &str = "../fixtures/cora.npz";
const MODEL: &str = "../fixtures/cora_pyg.safetensors";

/// Rows of a file without what differs from run to run.
fn rows(path: &std::path::Path) -> Vec<CollectiveRecord> {
    let mut rows: Vec<CollectiveRecord> = read(path, CollectiveRecord::SCHEMA).unwrap();
    for row in &mut rows {
        (row.bound_seconds, row.attack_seconds) = (0.0, 0.0);
    }
    rows
}

#[test]
fn the_command_writes_a_row_per_budget_and_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let radii = folder.path().join("radii.jsonl");
    let radii = radii.to_str().unwrap();
    let done = gcnproof(&["radius", GRAPH, MODEL, "-q", "2", "--max-Q", "6", "--nodes", "0-199", "--out", radii]);
    assert!(done.status.success(), "{}", text(&done.stderr));
    let arguments = ["collective", GRAPH, MODEL, "-q", "2", "--nodes", "0-199", "--radii", radii, "--swaps", "2000"];
    let mut all = Vec::new();
    for extension in ["parquet", "jsonl", "csv"] {
        let out = folder.path().join(format!("rows.{extension}"));
        let out_name = out.to_str().unwrap();
        let done = gcnproof(&[&arguments[..], &["--budgets", "0-6:3", "--out", out_name]].concat());
        assert!(done.status.success(), "{}", text(&done.stderr));
        assert!(text(&done.stdout).contains("certified"), "{}", text(&done.stdout));
        // What is there is kept, and another run does not go on with it.
        let again = gcnproof(&[&arguments[..], &["--budgets", "0,3,6", "--out", out_name, "--resume"]].concat());
        assert!(again.status.success() && text(&again.stderr).contains("3 of 3 rows"), "{}", text(&again.stderr));
        let other = gcnproof(&[&arguments[..], &["--budgets", "0,2,6", "--out", out_name, "--resume"]].concat());
        assert!(other.status.code() == Some(2) && text(&other.stderr).contains("budgets"), "{}", text(&other.stderr));
        all.push(rows(&out));
    }
    let budgets: Vec<u64> = all[0].iter().map(|row| row.q_global).collect();
    assert_eq!(budgets, [0, 3, 6]);
    assert_eq!(all[0], all[1]);
    assert_eq!(all[0], all[2]);
    for row in &all[0] {
        assert!(row.broken <= row.bound && row.bound + row.robust <= row.counted && row.counted == 200, "{row:?}");
        assert!(row.flips.len() as u64 <= row.q_global && row.broken_nodes.len() as u64 == row.broken);
    }
    assert!(all[0].last().unwrap().broken > 0);
}

#[test]
fn only_right_predictions_count_with_labels() {
    let run = |class: &str| -> serde_json::Value {
        let nodes = "0-99";
        let done = gcnproof(&[
            "collective",
            GRAPH,
            MODEL,
            "-Q",
            "3",
            "-q",
            "1",
            "--nodes",
            nodes,
            "--class",
            class,
            "--swaps",
            "500",
            "--format",
            "json",
        ]);
        assert!(done.status.success(), "{}", text(&done.stderr));
        serde_json::from_slice(&done.stdout).unwrap()
    };
    let (all, right) = (run("predicted"), run("labels"));
    let count = |value: &serde_json::Value, key: &str| value["rows"][0][key].as_u64().unwrap();
    assert_eq!(count(&all, "counted"), 100);
    assert!(count(&right, "counted") < 100 && count(&right, "bound") <= count(&all, "bound"));
    assert_eq!(right["run"]["class"], "labels");
}

#[test]
fn what_does_not_belong_together_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let radii = folder.path().join("radii.jsonl");
    let radii = radii.to_str().unwrap();
    let done = gcnproof(&["radius", GRAPH, MODEL, "-q", "2", "--max-Q", "3", "--nodes", "0-9", "--out", radii]);
    assert!(done.status.success(), "{}", text(&done.stderr));
    let collective = |graph: &str, model: &str, q: &str, nodes: &str, budgets: &str, radii: &str| {
        let done =
            gcnproof(&["collective", graph, model, "-q", q, "--nodes", nodes, "--budgets", budgets, "--radii", radii]);
        (done.status.code(), text(&done.stderr).replace("\n  │ ", " "))
    };
    for (words, (code, error)) in [
        ("local budget", collective(GRAPH, MODEL, "3", "0-9", "2", radii)),
        ("another model", collective(GRAPH, "../fixtures/cora_pyg_3layer.safetensors", "2", "0-9", "2", radii)),
        ("no radius of node 10", collective(GRAPH, MODEL, "2", "0-19", "2", radii)),
        ("gcnproof radius", collective(GRAPH, MODEL, "2", "0-9", "2", GRAPH)),
        ("no such file", collective(GRAPH, MODEL, "2", "0-9", "2", "nosuch.jsonl")),
        ("no list of budgets", collective(GRAPH, MODEL, "2", "0-9", "5-3", radii)),
        ("no list of budgets", collective(GRAPH, MODEL, "2", "0-9", "many", radii)),
        ("no list of budgets", collective(GRAPH, MODEL, "2", "0-9", "0-10:0", radii)),
    ] {
        assert_eq!(code, Some(2), "{words}: {error}");
        assert!(error.contains(words), "{words}: {error}");
    }
}

/// With the published weights, if the folder of data is named.
#[test]
fn the_count_program_reproduces_the_known_curve() {
    let Some(data) = std::env::var_os("GCNPROOF_DATA").map(std::path::PathBuf::from) else {
        println!("skipped: GCNPROOF_DATA does not name the folder with data/ and models/");
        return;
    };
    if std::env::var_os("GCNPROOF_FULL").is_none() {
        println!("skipped: all radii of Citeseer take minutes (GCNPROOF_FULL=1)");
        return;
    }
    let name = |path: &str| data.join(path).to_str().unwrap().to_string();
    let (graph, model) = (name("data/citeseer.npz"), name("models/citeseer_authors.npz"));
    let folder = tempfile::tempdir().unwrap();
    let radii = folder.path().join("radii.jsonl").to_str().unwrap().to_string();
    // No node withstands 100 flips, so that these are the radii for larger budgets as well.
    let arguments = ["radius", &graph, &model, "-q", "100%", "--max-Q", "100", "--complete", "--out", &radii];
    let done = gcnproof(&arguments);
    assert!(done.status.success(), "{}", text(&done.stderr));
    let run = |rows: &str, budgets: &str, swaps: &[&str]| -> serde_json::Value {
        let arguments = ["collective", &graph, &model, "-q", "100%", "--radii", &radii, "--format", "json"];
        let done = gcnproof(&[&arguments[..], &["--rows", rows, "--budgets", budgets], swaps].concat());
        assert!(done.status.success(), "{}", text(&done.stderr));
        serde_json::from_slice(&done.stdout).unwrap()
    };
    let bounds = |value: &serde_json::Value| -> Vec<u64> {
        value["rows"].as_array().unwrap().iter().map(|row| row["bound"].as_u64().unwrap()).collect()
    };
    let count = run("count", "0,20,50,100,200,350,500,750,1000", &["--swaps", "1000"]);
    let by_count = bounds(&count);
    for (found, known) in by_count[1..5].iter().zip([284u64, 552, 809, 1134]) {
        assert!(found.abs_diff(known) <= 1, "{by_count:?}");
    }
    let area = count["summary"]["area"].as_f64().unwrap();
    println!("counts: {by_count:?}, area {area:.2}");
    assert!((area - 526.0).abs() < 0.6, "{area}");
    let all = run("all", "20,100", &[]);
    for row in all["rows"].as_array().unwrap() {
        let number = |key: &str| row[key].as_u64().unwrap();
        println!("Q = {}: at most {}, at least {}", number("q_global"), number("bound"), number("broken"));
        // Less than 2 % of the nodes are unknown.
        assert!(number("broken") <= number("bound") && (number("bound") - number("broken")) * 50 < 3312, "{row}");
    }
}

/// Proofs of rows of weights had covers: the choice of rows was overridden wherever proofs were asked for.
#[test]
fn rows_of_weights_are_proved_without_covers() {
    let folder = tempfile::tempdir().unwrap();
    let proofs = folder.path().join("proofs");
    let arguments = ["collective", GRAPH, MODEL, "-q", "1%", "--budgets", "5", "--bounds-only", "--proofs"];
    for (rows, has_covers) in [("all", true), ("weights", false)] {
        let given = [&arguments[..], &[proofs.to_str().unwrap(), "--rows", rows, "--force"]].concat();
        assert_eq!(gcnproof(&given).status.code(), Some(0), "{given:?}");
        let text = std::fs::read_to_string(proofs.join("Q-5.jsonl")).unwrap();
        assert_eq!(text.contains("\"covers\""), has_covers, "{rows}");
    }
}
