//! Files that answered another question than the user's, or chose the question themselves.

use crate::{folder, gcnproof, text};

/// The exit code of `check`, with what it says.
fn check(name: &str, arguments: &[&str]) -> (Option<i32>, String) {
    let output = gcnproof(&folder(name), &[&["check"], arguments].concat());
    (output.status.code(), text(&output))
}

/// A plain model names no operator: the file's own, which sends no message at all, is not the user's.
#[test]
fn the_operator_of_a_plain_model_is_the_users() {
    let files = ["g.npz", "m.npz", "p.jsonl"];
    let question = ["--expect-Q", "3", "--expect-q", "3", "--expect-nodes", "all", "--expect-classes", "predicted"];
    let asked = [&files[..], &question, &["--expect-deployed", "exact"]].concat();
    let (code, told) = check("rule_stated_by_file", &asked);
    assert!(code == Some(1) && told.contains("asked about message passing gcn"), "{told}");
    // Who asks about that operator gets the answer.
    let (code, told) = check("rule_stated_by_file", &[&asked[..], &["--message-passing", "poly(gcn;0)"]].concat());
    assert!(code == Some(0) && told.contains("proved"), "{told}");
    // Without a question nothing is proved, and the statement is told in a sentence.
    let (code, told) = check("rule_stated_by_file", &files);
    assert!(code == Some(4) && told.starts_with("The file states: "), "{told}");
    assert!(told.contains("no question was asked"), "{told}");
}

/// K(3,3): with local budgets of 3 on one side and 0 on the other no edge can be removed, and the nodes are not robust
/// against 4 removals.
#[test]
fn local_budgets_that_leave_nothing_to_remove_answer_no_question() {
    let files = ["g.npz", "m.safetensors", "p.jsonl"];
    let question = ["--expect-E", "4", "--expect-last-edges", "--expect-nodes", "all"];
    let (code, told) = check("expect_E_vacuous", &[&files[..], &question].concat());
    assert!(code == Some(1) && told.contains("at node 3"), "{told}");
    // It is the answer to its own question.
    let own = ["--edges", "remove", "-E", "4", "--edges-local-file", "local.txt", "--keep-one-edge=false"];
    let (code, told) = check("expect_E_vacuous", &[&files[..], &own].concat());
    assert_eq!(code, Some(0), "{told}");
    assert!(told.contains("no edge at all can be removed"), "{told}");
}

/// Of no prediction at most 0 are broken.
#[test]
fn a_claim_about_no_node_is_no_bound_for_the_graph() {
    let files = ["g.npz", "m.safetensors", "f.jsonl"];
    let question = ["--expect-Q", "2", "--expect-q", "2"];
    let (code, told) = check("collective_vacuous", &[&files[..], &question, &["--expect-bound", "0"]].concat());
    assert!(code == Some(1) && told.contains("node 0"), "{told}");
    // The proof that `collective` writes is about all nodes.
    let own = ["g.npz", "m.safetensors", "P/Q-2.jsonl"];
    let (code, told) = check("collective_vacuous", &[&own[..], &question, &["--expect-bound", "99"]].concat());
    assert_eq!(code, Some(0), "{told}");
}

/// Powers of an operator are computed hop by hop: their entries are wrong by more than those of the rule itself.
#[test]
fn deployed_polynomials_are_expected_with_the_errors_of_their_hops() {
    for model in ["gcn", "sum"] {
        let model = format!("{model}.safetensors");
        let scratch = tempfile::tempdir().unwrap();
        let file = |name: &str| scratch.path().join(name).to_str().unwrap().to_string();
        let (own, weak) = (file("own.jsonl"), file("weak.jsonl"));
        let problem = ["g.npz", &model];
        let budget = ["-Q", "1", "-q", "1", "--deployed", "float32"];
        let certify = [&["certify"], &problem[..], &budget, &["--complete", "--proofs", &own]].concat();
        let certified = gcnproof(&folder("expect_deployed_poly"), &certify);
        assert!(certified.status.success(), "{}", text(&certified));
        let question = ["--expect-Q", "1", "--expect-q", "1", "--expect-deployed", "float32"];
        let asked = |proofs: &str| check("expect_deployed_poly", &[&problem[..], &[proofs], &question].concat());
        let (code, told) = asked(&own);
        assert_eq!(code, Some(0), "{told}");
        let stated = std::fs::read_to_string(&own).unwrap();
        let (before, rest) = stated.split_once(r#""operator_error":[["#).unwrap();
        let (error, after) = rest.split_once(']').unwrap();
        let less = error.parse::<u32>().unwrap() - 1;
        std::fs::write(&weak, format!("{before}\"operator_error\":[[{less}]{after}")).unwrap();
        let (code, told) = asked(&weak);
        assert!(code == Some(1) && told.contains(&format!("within {error} units")), "{told}");
    }
    let (code, told) = check(
        "expect_deployed_poly",
        &["g.npz", "gcn.safetensors", "p.jsonl", "--expect-Q", "1", "--expect-q", "1", "--expect-deployed", "float32"],
    );
    assert_eq!(code, Some(1), "{told}");
}

/// The rim of a part lacks neighbours and their attributes: what is proved of it there is false of the graph.
#[test]
fn a_part_answers_for_its_own_nodes_only() {
    let files = ["parts/part-0.npz", "m.npz"];
    let (code, told) = check("part_rim", &[&files[..], &["x.jsonl"]].concat());
    assert!(code == Some(1) && told.contains("does not own"), "{told}");
    assert!(told.contains("part 1 of 2"), "{told}");
    let question = ["-Q", "1", "-q", "1"];
    let (code, told) = check("part_rim", &[&files[..], &["p0.jsonl"], &question].concat());
    assert!(code == Some(0) && told.contains("part 1 of 2"), "{told}");
    // Nodes of the whole graph that another part answers for are not proved here.
    let (code, told) = check("part_rim", &[&files[..], &["p0.jsonl"], &question, &["--nodes", "all"]].concat());
    assert!(code == Some(1) && told.contains("another part"), "{told}");
}

/// A coefficient is the number that it is, however it is written.
#[test]
fn coefficients_are_compared_as_numbers() {
    for model in ["a", "b", "c", "d", "e", "f", "g", "h"] {
        let scratch = tempfile::tempdir().unwrap();
        let proofs = scratch.path().join("p.jsonl");
        let (model, proofs) = (format!("{model}.safetensors"), proofs.to_str().unwrap());
        let budget = ["-Q", "0", "-q", "0"];
        let certify = [&["certify", "g.npz", &model], &budget[..], &["--complete", "--proofs", proofs]].concat();
        let certified = gcnproof(&folder("poly_text"), &certify);
        assert!(certified.status.success(), "{}", text(&certified));
        let (code, told) = check("poly_text", &[&["g.npz", &model, proofs], &budget[..]].concat());
        assert_eq!(code, Some(0), "{model}: {told}");
    }
}

/// What is no file of proofs at all is told as that.
#[test]
fn other_files_in_the_place_of_proofs_are_named() {
    let scratch = tempfile::tempdir().unwrap();
    let rows = |name: &str| scratch.path().join(name).to_str().unwrap().to_string();
    for (name, what) in [("rows.jsonl", "results"), ("rows.parquet", "results"), ("rows.csv", "results")] {
        let certify = ["certify", "g.npz", "b.safetensors", "-Q", "0", "-q", "0", "--out", &rows(name)];
        assert!(gcnproof(&folder("poly_text"), &certify).status.success());
        let (code, told) = check("poly_text", &["g.npz", "b.safetensors", &rows(name)]);
        assert!(code == Some(2) && told.contains(what), "{name}: {told}");
    }
    for (file, what) in [("g.npz", "a graph"), ("b.safetensors", "a model")] {
        let (code, told) = check("poly_text", &["g.npz", "b.safetensors", file]);
        assert!(code == Some(2) && told.contains(what), "{file}: {told}");
    }
}
