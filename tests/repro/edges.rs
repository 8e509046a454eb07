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

/// `--minimize` called a base margin of some 10⁻¹⁷ the exact minimum, and the node robust: a line under a unit whose sign no float knows does not
/// pass through its anchor.
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
