//! Removed edges: false verdicts, and proofs on which the two paths of the checker disagreed.

use std::path::Path;

use serde_json::Value;

use crate::{folder, gcnproof, text};

/// Problems whose smallest margin is 0, although sums of floats near 1 hide that it is not some 10⁻¹⁷.
const TIES: [(&str, &[&str]); 2] = [
    (
        "edges_minimize_false_robust",
        &[
            "--keep-one-edge=true",
            "--edges-local-file",
            "loc.txt",
            "--freeze-edges",
            "fe.txt",
            "--class",
            "labels",
            "-E",
            "7",
            "--nodes",
            "8",
        ],
    ),
    ("edges_minimize_false_robust_2", &["--freeze-nodes", "11,15,21", "-E", "2", "--nodes", "11"]),
];

fn certify(folder: &Path, options: &[&str], effort: &[&str]) -> (Option<i32>, Value) {
    let problem = ["certify", "g.npz", "m.safetensors", "--unweight", "--edges", "remove", "--format", "json"];
    let output = gcnproof(folder, &[&problem[..], options, effort].concat());
    let answer = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", text(&output)));
    (output.status.code(), answer)
}

/// `--minimize` called a base margin of some 10⁻¹⁷ the exact minimum, and the node robust: a line under a unit whose
/// sign no float knows does not pass through its anchor.
#[test]
fn a_tie_at_the_scale_of_rounding_is_found() {
    for (name, options) in TIES {
        let folder = folder(name);
        for effort in [&["--complete"][..], &["--minimize", "--exact-margins"]] {
            let (_, answer) = certify(&folder, options, effort);
            let row = &answer["rows"][0];
            assert_eq!((&row["verdict"], &row["reason"]), (&"non_robust".into(), &"tie".into()), "{name}: {row}");
            if effort.len() == 2 {
                let exact = row["exact_margins"].as_str().unwrap();
                assert!(exact.split(' ').any(|margin| margin == "0"), "{name}: {row}");
            }
        }
    }
}

/// Budgets beyond what can be changed: sizes that overflowed, memory and time that grew with the budget.
#[test]
fn no_more_changes_are_made_than_there_are() {
    let folder = folder("more_changes_than_edges");
    let rows = |name: &str, kind: &[&str], most: &str| {
        let (graph, model) = (format!("{name}.npz"), format!("{name}.safetensors"));
        let problem = ["certify", &graph, &model, "--threads", "1", "--format", "json", "--edges"];
        let output = gcnproof(&folder, &[&problem[..], kind, &["-E", most]].concat());
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", text(&output)));
        let row = |row: &Value| [row["verdict"].clone(), row["witness_edges"].clone()];
        answer["rows"].as_array().unwrap().iter().map(row).collect::<Vec<_>>()
    };
    let kinds = [&["insert"][..], &["change"], &["remove"], &["insert", "-Q", "1"]];
    for (name, kind) in kinds.iter().map(|kind| ("nodes", *kind)).chain([("graph", &["remove"][..])]) {
        let expected = rows(name, kind, "30");
        for most in ["1000000000000", "4611686018427387904", "18446744073709551615"] {
            assert_eq!(rows(name, kind, most), expected, "{name} {kind:?} {most}");
        }
    }
}

/// Every node that `--minimize` decides has a proof, which both paths of the checker accept.
#[test]
fn exact_minima_come_with_proofs() {
    let scratch = tempfile::tempdir().unwrap();
    for (name, options) in TIES {
        let folder = folder(name);
        let proofs = scratch.path().join(format!("{name}.jsonl"));
        let proofs = proofs.to_str().unwrap();
        let all: Vec<&str> = options.iter().take_while(|option| **option != "--nodes").copied().collect();
        let (_, answer) = certify(&folder, &all, &["--minimize", "--proofs", proofs]);
        let count = answer["rows"].as_array().unwrap().len();
        let decided = |row: &&Value| row["verdict"] != "undecided";
        assert_eq!(answer["rows"].as_array().unwrap().iter().filter(decided).count(), count, "{name}");
        for exact in [None, Some("--exact")] {
            let mut arguments = vec!["check", "g.npz", "m.safetensors", proofs, "--unweight"];
            arguments.extend(exact);
            let checked = gcnproof(&folder, &arguments);
            assert!(
                text(&checked).contains(&format!("covered     {count} of {count} nodes")),
                "{name}: {}",
                text(&checked)
            );
        }
    }
}

/// Products of weights that overflow left a list shorter than the removals that were taken from it.
#[test]
fn weights_whose_products_overflow_are_decided() {
    let folder = folder("minimize_panic");
    let rows = |effort: &str| {
        let (code, answer) = certify(&folder, &["-E", "2"], &[effort]);
        assert_eq!(code, Some(0), "{answer}");
        answer["rows"].as_array().unwrap().iter().map(|row| row["verdict"].clone()).collect::<Vec<Value>>()
    };
    let complete = rows("--complete");
    assert!(complete.iter().all(|verdict| verdict != "undecided"), "{complete:?}");
    assert_eq!(rows("--minimize"), complete);
}
// Of the checker: what its two paths accept, and what a leaf costs.
mod checked {
    use std::path::Path;
    use std::time::{Duration, Instant};

    use crate::{folder, gcnproof, text};

    const QUESTION: [&str; 6] = ["--unweight", "--edges", "remove", "--keep-one-edge=true", "-E", "7"];

    /// Are all proofs of a file accepted, by floats and by exact numbers?
    fn assert_accepted_by_both(folder: &Path, proofs: &str, nodes: usize) {
        for exact in [None, Some("--exact")] {
            let mut arguments = vec!["check", "g.npz", "m.safetensors", proofs];
            arguments.extend(QUESTION);
            arguments.extend(exact);
            let checked = gcnproof(folder, &arguments);
            assert_eq!(checked.status.code(), Some(0), "{}", text(&checked));
            let told = text(&checked);
            assert!(told.contains(&format!("accepted    {nodes}:")) && told.contains("rejected    0"), "{told}");
        }
    }

    /// An anchor of 2⁻⁵⁴ that floats took for −2⁻⁵⁴: they accepted what exact numbers refused. Now its sign decides
    /// nothing.
    #[test]
    fn own_proofs_are_accepted_by_floats_and_by_exact_numbers() {
        let folder = folder("edges_fast_against_exact");
        // As version 0.2 wrote them.
        assert_accepted_by_both(&folder, "p.jsonl", 64);
        let scratch = tempfile::tempdir().unwrap();
        let proofs = scratch.path().join("p.jsonl");
        let proofs = proofs.to_str().unwrap();
        let certified = gcnproof(
            &folder,
            &[&["certify", "g.npz", "m.safetensors"], &QUESTION[..], &["--complete", "--proofs", proofs]].concat(),
        );
        assert!(certified.status.success(), "{}", text(&certified));
        assert_accepted_by_both(&folder, proofs, 64);
    }

    /// A leaf of 50 bytes about any number of removals at the node of Cora with the most edges: minutes before.
    #[test]
    fn leaves_without_a_budget_end_soon() {
        let fixtures = folder("..");
        let scratch = tempfile::tempdir().unwrap();
        let file = |name: &str| scratch.path().join(name).to_str().unwrap().to_string();
        let (small, huge) = (file("small.jsonl"), file("huge.jsonl"));
        let problem = ["cora.npz", "cora_standard.safetensors"];
        let question = ["--edges", "remove", "-E", "1", "--nodes", "1358", "--proofs", &small];
        let certified = gcnproof(&fixtures, &[&["certify"], &problem[..], &question[..]].concat());
        assert!(certified.status.success(), "{}", text(&certified));
        let lines = std::fs::read_to_string(&small).unwrap();
        let mut header: serde_json::Value = serde_json::from_str(lines.lines().next().unwrap()).unwrap();
        header["header"]["edges"] = serde_json::json!({"global": u64::MAX, "local": u64::MAX, "keep_one": false});
        let class = serde_json::from_str::<serde_json::Value>(lines.lines().nth(1).unwrap()).unwrap();
        let class = class["node"]["class"].as_u64().unwrap();
        let tree = |other: u64| serde_json::json!({"class": other, "tree": [{"prices": {}}]});
        let trees: Vec<_> = (0..7).filter(|&other| other != class).map(tree).collect();
        let node = serde_json::json!({"node": {"id": 1358, "class": class, "claim": {"robust": trees}}});
        std::fs::write(&huge, format!("{header}\n{node}\n{{\"end\":1}}\n")).unwrap();
        let started = Instant::now();
        let checked = gcnproof(&fixtures, &[&["check"], &problem[..], &[&huge]].concat());
        assert!(started.elapsed() < Duration::from_secs(120), "{:?}", started.elapsed());
        let told = text(&checked);
        assert!(told.contains("the bound is not above 0") || told.contains("too expensive"), "{told}");
    }
}
