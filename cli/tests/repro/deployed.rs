//! Problems about the network as it runs.

use std::path::Path;

use serde_json::Value;

use crate::{folder, gcnproof, text};

/// The lines of a file of proofs or rows.
/// The lines of a file of rows or proofs; no two runs take the same time.
fn lines(path: &Path) -> Vec<Value> {
    let timeless = |line: &str| {
        let mut line: Value = serde_json::from_str(line).unwrap();
        line.as_object_mut().unwrap().remove("seconds");
        line
    };
    std::fs::read_to_string(path).unwrap().lines().map(timeless).collect()
}

/// Executions of these described networks give node 0 another class, but the bound was that of the chain: a term that
/// reads `x` above the first layer was computed weights first only, and terms with one operator and several sources
/// counted as one.
#[test]
fn executions_of_the_described_network_are_inside_the_error() {
    let scratch = tempfile::tempdir().unwrap();
    for (name, frozen) in [("deployed_skip_from_x", "0,1,2"), ("deployed_merged_terms", "0,1")] {
        let folder = folder(name);
        let [rows, proofs, forged] =
            ["rows.jsonl", "proofs.jsonl", "forged.jsonl"].map(|file| scratch.path().join(file));
        let mut arguments =
            vec!["certify", "g.npz", "m.safetensors", "-Q", "1", "-q", "1", "--freeze-attributes", frozen];
        arguments.extend(["--nodes", "0", "--deployed", "float32", "--complete", "--threads", "1", "--force"]);
        arguments.extend(["--out", rows.to_str().unwrap(), "--proofs", proofs.to_str().unwrap()]);
        let certified = gcnproof(&folder, &arguments);
        assert!(certified.status.success(), "{name}: {}", text(&certified));
        let row = &lines(&rows)[0];
        assert_eq!(
            (&row["verdict"], &row["deployed"]),
            (&"robust".into(), &"rounding_dependent".into()),
            "{name}: {row}"
        );
        // The proof that once was accepted, in a file that states the model as it is called now.
        let (mut header, old) = (lines(&proofs).swap_remove(0), lines(&folder.join("p.jsonl")));
        header["header"]["deployed"] = old[0]["header"]["deployed"].clone();
        let file = [header, old[1].clone(), old[2].clone()].map(|line| format!("{line}\n")).concat();
        std::fs::write(&forged, file).unwrap();
        for more in [&[][..], &["--exact"]] {
            let check = ["check", "g.npz", "m.safetensors", forged.to_str().unwrap()];
            let refused = gcnproof(&folder, &[&check[..], more].concat());
            assert_eq!(refused.status.code(), Some(1), "{name}: {}", text(&refused));
            assert!(text(&refused).contains("the bound is not above"), "{name}: {}", text(&refused));
        }
    }
}

/// Another node's entry of 2⁷⁰ was in the checker's bound and not in the certifier's: the row said non-robust, and no
/// proof was written.
#[test]
fn a_witness_is_judged_by_its_own_rows() {
    let (folder, scratch) = (folder("deployed_witness_slice"), tempfile::tempdir().unwrap());
    let [rows, proofs] = ["rows.jsonl", "proofs.jsonl"].map(|file| scratch.path().join(file));
    let mut arguments = vec!["certify", "g.npz", "m.safetensors", "-Q", "1", "-q", "1", "--nodes", "0"];
    arguments.extend(["--deployed", "float32", "--complete", "--out", rows.to_str().unwrap()]);
    arguments.extend(["--proofs", proofs.to_str().unwrap()]);
    let certified = gcnproof(&folder, &arguments);
    assert!(certified.status.success(), "{}", text(&certified));
    assert_eq!(lines(&rows)[0]["deployed"], "non_robust");
    assert!(lines(&proofs)[1].get("node").is_some(), "{:?}", lines(&proofs));
    let checked = gcnproof(&folder, &["check", "g.npz", "m.safetensors", proofs.to_str().unwrap()]);
    assert!(text(&checked).contains("1 non-robust"), "{}", text(&checked));
}

/// Without flips the margin is 0, and one flip takes it below: the search for margins below minus the error found that
/// flip, the row kept the tie as its reason, and the run stopped with a contradiction.
#[test]
fn what_is_found_below_a_tie_takes_its_place() {
    let (folder, scratch) = (folder("deployed_tie"), tempfile::tempdir().unwrap());
    let [rows, proofs] = ["rows.jsonl", "proofs.jsonl"].map(|file| scratch.path().join(file));
    let mut arguments = vec!["certify", "g.npz", "m.safetensors", "-Q", "1", "-q", "2", "--nodes", "0"];
    arguments.extend(["--class", "labels", "--deployed", "float32"]);
    arguments.extend(["--out", rows.to_str().unwrap(), "--proofs", proofs.to_str().unwrap()]);
    let certified = gcnproof(&folder, &arguments);
    assert!(certified.status.success(), "{}", text(&certified));
    let row = &lines(&rows)[0];
    assert_eq!((&row["verdict"], &row["reason"]), (&"non_robust".into(), &"witness".into()), "{row}");
    assert_eq!(row["witness"], serde_json::json!([[0, 3]]));
    assert_eq!(row["deployed"], "non_robust");
}

/// The usual error of a polynomial depends on the longest row of the graph, which a part does not have: rows differed
/// from the whole run's, and the proofs of parts could not be joined.
#[test]
fn polynomials_have_one_error_on_all_parts() {
    let (folder, scratch) = (folder("parts_deployed_poly"), tempfile::tempdir().unwrap());
    let at = |name: &str| scratch.path().join(name).to_str().unwrap().to_owned();
    let parts = at("parts");
    let cut = gcnproof(&folder, &["partition", "g.npz", "m.safetensors", "--parts", "2", "--out", &parts]);
    assert!(cut.status.success(), "{}", text(&cut));
    let certify = |graph: &str, name: &str| {
        let [rows, proofs] = ["rows", "proofs"].map(|what| at(&format!("{what}-{name}.jsonl")));
        let mut arguments = vec!["certify", graph, "m.safetensors", "-Q", "1", "--local-file", "q.txt", "--complete"];
        arguments.extend(["--flips", "add", "--class", "labels", "--deployed", "float32"]);
        arguments.extend(["--out", &rows, "--proofs", &proofs]);
        let certified = gcnproof(&folder, &arguments);
        assert!(certified.status.success(), "{}", text(&certified));
        [rows, proofs]
    };
    let whole = certify("g.npz", "whole");
    let pieces = [0, 1].map(|number| certify(&format!("{parts}/part-{number}.npz"), &number.to_string()));
    for (what, more) in [(0, &[][..]), (1, &["--parts", parts.as_str()])] {
        let joined = at(&format!("joined-{what}.jsonl"));
        let join = ["join", &pieces[0][what], &pieces[1][what], "--out", &joined];
        let done = gcnproof(&folder, &[&join[..], more].concat());
        assert!(done.status.success(), "{}", text(&done));
        // Rows of the whole graph are in order, those of parts one part after the other.
        let sorted = |path: &str| {
            let mut lines = lines(Path::new(path));
            lines.sort_by_key(|line| line["node"]["id"].as_u64().or(line["node"].as_u64()));
            lines
        };
        assert_eq!(sorted(&joined), sorted(&whole[what]));
    }
}
