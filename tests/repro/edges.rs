//! Removed edges: false verdicts, and proofs on which the two paths of the checker disagreed.

// Of the checker: what its two paths accept, and what a leaf costs.
mod checked {
    use std::path::Path;
    use std::time::{Duration, Instant};

    use crate::{folder, gcnproof, text};

    /// Are all proofs of a file accepted, by floats and by exact numbers?
    fn assert_accepted_by_both(folder: &Path, proofs: &str, nodes: usize) {
        for exact in [None, Some("--exact")] {
            let mut arguments = vec!["check", "g.npz", "m.safetensors", proofs, "--unweight", "--expect-nodes", "all"];
            arguments.extend(exact);
            let told = text(&gcnproof(folder, &arguments));
            assert!(told.contains(&format!("accepted    {nodes}:")) && told.contains("rejected    0"), "{told}");
        }
    }

    /// An anchor of 2⁻⁵⁴ that floats took for −2⁻⁵⁴: they accepted what exact numbers refused. Now its sign decides nothing.
    #[test]
    fn own_proofs_are_accepted_by_floats_and_by_exact_numbers() {
        let folder = folder("edges_fast_against_exact");
        // As version 0.2 wrote them.
        assert_accepted_by_both(&folder, "p.jsonl", 64);
        let scratch = tempfile::tempdir().unwrap();
        let proofs = scratch.path().join("p.jsonl");
        let proofs = proofs.to_str().unwrap();
        let question = ["--unweight", "--edges", "remove", "--keep-one-edge=true", "-E", "7"];
        let certified = gcnproof(
            &folder,
            &[&["certify", "g.npz", "m.safetensors"], &question[..], &["--complete", "--proofs", proofs]].concat(),
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
