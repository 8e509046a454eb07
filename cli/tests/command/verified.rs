//! The verified checker: it accepts what the other checker accepts, on all kinds of networks, and never what is false.
//!
//! Skipped aloud where it is not built (`make verified`).

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use gcnproof_check::format::{Line, NodeProof};
use gcnproof_check::{Checker, Judge, Options, Statement, Verdict, check, find_program, verify};
use gcnproof_files::write::write_graph_npz;
use gcnproof_files::{GraphOptions, Normalisation, read_graph, read_matrix, read_model};

use super::graphs;

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}

/// The program, or word that the test is skipped.
fn program() -> Option<PathBuf> {
    match find_program() {
        Ok(program) => Some(program),
        Err(problem) => {
            println!("SKIPPED: {problem}");
            None
        }
    }
}

/// Certifies some nodes and has the proofs judged by both checkers, which must agree; returns the verdicts: robust,
/// non-robust, ties.
fn agree(graph: &Path, model: &Path, arguments: &[&str]) -> [usize; 3] {
    let scratch = tempfile::tempdir().unwrap();
    let proofs = scratch.path().join("p.jsonl");
    let mut command = Command::new(env!("CARGO_BIN_EXE_gcnproof"));
    command.arg("certify").args([graph, model]).args(arguments).arg("--proofs").arg(&proofs);
    let certified = command.output().unwrap();
    assert!(certified.status.success(), "{}: {}", model.display(), String::from_utf8_lossy(&certified.stderr));
    let (graph, model_file) = (read_graph(graph, &GraphOptions::default()).unwrap(), read_model(model).unwrap());
    let options = Options::default();
    let summary = check(&graph, &model_file, &options, std::fs::File::open(&proofs).unwrap(), |_| {});
    assert!(summary.success(), "{}: {summary}", model.display());
    let found = verify(&graph, &model_file, &options, &proofs, &summary, None).unwrap();
    assert!(found.success() && found.asked == summary.proved(), "{}: {found}", model.display());
    found.agreed
}

#[test]
fn proofs_of_the_embedded_graph_are_verified() {
    if program().is_none() {
        return;
    }
    let fixture = |name: &str| root().join("fixtures").join(name);
    for model in ["cora_standard.safetensors", "cora_robust.safetensors"] {
        let nodes = ["-Q", "12", "-q", "1%", "--complete", "--nodes", "0-29,700-769"];
        let [robust, broken, _] = agree(&fixture("cora.npz"), &fixture(model), &nodes);
        assert!(robust > 10 && broken > 10 && robust + broken == 100, "{robust} {broken}");
    }
    let [robust, broken, _] = agree(
        &fixture("cora.npz"),
        &fixture("cora_pyg_3layer.safetensors"),
        &["-Q", "2", "-q", "1%", "--nodes", "0-2"],
    );
    assert!(robust + broken >= 2, "{robust} {broken}");
}

/// Several terms, overlapping operators, linear units, biases by node, skips.
#[test]
fn proofs_about_sums_of_terms_are_verified() {
    if program().is_none() {
        return;
    }
    let (mut networks, mut sum) = (0, [0; 3]);
    for entry in std::fs::read_dir(root().join("fixtures/pyg")).unwrap() {
        let folder = entry.unwrap().path();
        let budget = ["-Q", "2", "-q", "1", "--complete", "--time-limit", "20"];
        let agreed = agree(&folder.join("graph.npz"), &folder.join("model.safetensors"), &budget);
        networks += 1;
        (0..3).for_each(|at| sum[at] += agreed[at]);
    }
    assert!(networks >= 27 && sum[0] > 50 && sum[1] > 50, "{networks} networks, {sum:?}");
}

/// Rows divided by their sums, and attributes that are categories.
#[test]
fn proofs_about_divided_rows_and_categories_are_verified() {
    if program().is_none() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let fixture = |name: &str| root().join("fixtures").join(name);
    for (bits, normalisation) in [(32, Normalisation::Float32), (64, Normalisation::Float64)] {
        let graph = at(&format!("divided{bits}.npz"));
        let cora = read_graph(&fixture("cora.npz"), &GraphOptions::default()).unwrap();
        write_graph_npz(&graph, &cora.normalised(normalisation)).unwrap();
        let budget = ["-Q", "2", "-q", "1", "--nodes", "0-9"];
        let [robust, broken, _] = agree(&graph, &fixture("cora_standard.safetensors"), &budget);
        assert!(robust + broken >= 5, "{robust} {broken}");
    }
    let (graph, model) = (at("categories.npz"), at("model.safetensors"));
    write_graph_npz(&graph, &graphs::batch().grouped(&[0, 0]).unwrap()).unwrap();
    graphs::write(&model, &graphs::network("pool-sum"));
    let found = agree(&graph, &model, &["-Q", "2", "-q", "1", "--complete"]);
    assert_eq!(found.iter().sum::<usize>(), 3, "{found:?}");
}

#[test]
fn proofs_on_quantised_weights_are_verified() {
    if program().is_none() {
        return;
    }
    for (name, budget, rule) in [
        ("own_proof_min_141", &["-Q", "1", "--local-file"][..], "mean+self"),
        ("own_proof_min_6983", &["-Q", "2", "--local-file"], "sum"),
        ("own_proof_min_8107", &["-Q", "2", "-q", "1"], "sum"),
    ] {
        let folder = root().join("fixtures/repro").join(name);
        let local = folder.join("q.txt");
        let mut arguments = [budget, &["--message-passing", rule, "--complete"]].concat();
        if budget.contains(&"--local-file") {
            arguments.insert(3, local.to_str().unwrap());
        }
        agree(&folder.join("g.npz"), &folder.join("m.npz"), &arguments);
    }
}

/// Proofs about the network as it runs: of flips, categories and moved attributes, on layers that read any earlier
/// ones.
#[test]
fn proofs_about_executions_are_verified() {
    if program().is_none() {
        return;
    }
    let at = |name: &str| root().join("fixtures").join(name);
    let arguments = ["-Q", "12", "-q", "1%", "--complete", "--nodes", "0-19", "--deployed", "float32"];
    let [robust, broken, _] = agree(&at("cora.npz"), &at("cora_standard.safetensors"), &arguments);
    assert!(robust > 3 && broken > 3 && robust + broken == 20, "{robust} {broken}");
    let scratch = tempfile::tempdir().unwrap();
    let divided = scratch.path().join("divided.npz");
    let cora = read_graph(&at("cora.npz"), &GraphOptions::default()).unwrap();
    write_graph_npz(&divided, &cora.clone().normalised(Normalisation::Float32)).unwrap();
    let arguments = ["-Q", "2", "-q", "1", "--nodes", "0-9", "--deployed", "float32"];
    let [robust, broken, _] = agree(&divided, &at("cora_standard.safetensors"), &arguments);
    assert!(robust + broken >= 5, "{robust} {broken}");
    let [graph, model] = ["categories.npz", "model.safetensors"].map(|name| scratch.path().join(name));
    write_graph_npz(&graph, &graphs::batch().grouped(&[0, 0]).unwrap()).unwrap();
    graphs::write(&model, &graphs::network("pool-sum"));
    let arguments = ["-Q", "2", "-q", "1", "--complete", "--deployed", "float32"];
    let [robust, broken, _] = agree(&graph, &model, &arguments);
    assert!(robust + broken == 3, "{robust} {broken}");
    // Quotients of more bits than the execution has are rounded when they are read.
    write_graph_npz(&divided, &cora.normalised(Normalisation::Float64)).unwrap();
    let arguments = ["-Q", "2", "-q", "1", "--nodes", "0-9", "--deployed", "float32"];
    let [robust, broken, _] = agree(&divided, &at("cora_standard.safetensors"), &arguments);
    assert!(robust + broken >= 5, "{robust} {broken}");
    let folder = at("pyg").join("gcn");
    let arguments = ["-Q", "2", "-q", "1", "--epsilon", "0.25", "--complete", "--deployed", "float32"];
    let [robust, broken, _] = agree(&folder.join("graph.npz"), &folder.join("model.safetensors"), &arguments);
    assert!(robust > 0 && broken > 0, "{robust} {broken}");
    for network in ["gcn", "gin", "sage-mean", "graphconv-add", "rgcn", "appnp"] {
        let folder = at("pyg").join(network);
        let arguments = ["-Q", "2", "-q", "1", "--complete", "--deployed", "float32", "--flush-subnormals"];
        let [robust, broken, ties] = agree(&folder.join("graph.npz"), &folder.join("model.safetensors"), &arguments);
        assert!(robust > 0 && broken > 0 && ties == 0, "{network}: {robust} {broken} {ties}");
    }
}

/// Executions of networks whose layers read others than the one below.
#[test]
fn executions_of_layers_that_read_others_are_verified() {
    if program().is_none() {
        return;
    }
    for network in ["jumping-knowledge", "residual"] {
        let folder = root().join("fixtures/pyg").join(network);
        let arguments = ["-Q", "1", "-q", "1", "--deployed", "float32"];
        let [robust, broken, _] = agree(&folder.join("graph.npz"), &folder.join("model.safetensors"), &arguments);
        assert!(robust + broken >= 10, "{network}: {robust} {broken}");
    }
}

/// A margin of −2·10⁻⁴¹, lost by floats that underflow: an older checker accepted this proof.
#[test]
fn the_false_proof_is_rejected_and_the_witness_accepted() {
    let Some(program) = program() else { return };
    let folder = root().join("fixtures/repro/false_accept_underflow");
    let graph = read_graph(&folder.join("g.npz"), &GraphOptions::default()).unwrap();
    let model = read_model(&folder.join("m.npz")).unwrap();
    let matrices = [Arc::new(read_matrix(&folder.join("mp.npz")).unwrap())];
    for (file, expected) in [("false.jsonl", None), ("p.jsonl", Some(Verdict::NonRobust))] {
        let text = std::fs::read_to_string(folder.join(file)).unwrap();
        let mut lines = text.lines();
        let Line::Header(header) = Line::read(lines.next().unwrap().as_bytes(), usize::MAX).unwrap() else { panic!() };
        let statement = Statement::new(&graph, &model, &header, &matrices).unwrap();
        let checker = Checker::new(&statement, false);
        let mut judge = Judge::start(&program, &checker).unwrap();
        let proof: NodeProof = lines.next().unwrap().parse().unwrap();
        assert_eq!(judge.ask(&checker, &proof).unwrap().0, expected, "{file}");
    }
}

/// What the program cannot read it refuses, and says where and why.
#[test]
fn what_is_not_understood_is_refused_by_name() {
    let Some(program) = program() else { return };
    let statement = "gcnproof-verified 12\ngraph 1 1\n\n\nbatch \noperators 1\noperator identity\n0 3ff0000000000000\nlayers 1\nlayer 1 2 1 1 11\nterm 0\n\
                     3ff0000000000000 bff0000000000000\n3fe0000000000000 0\nbudget 1 both\neach 1\nfrozen \ngroups \nrows plain\nclasses predicted\nattack each\n";
    let attack = statement.replace("attack each", "attack any 0");
    let runs = |how: &str| statement.replace("attack each", &format!("attack each {how}\nruns chain\nwrong 1"));
    // Two nodes, one of them with the attribute, and the edge between them.
    let edges = "gcnproof-verified 12\ngraph 2 1\n0\n\n1\n0\nbatch \noperators 1\nrule gcn\nlayers 1\nlayer 1 2 1 1 11\nterm 0\n\
                 3ff0000000000000 bff0000000000000\n3fe0000000000000 0\nedges 1 undirected change lose-all\neach 1 1\nfrozen \ncandidates all\n\
                 flips none\nrows plain\nclasses predicted\nattack each\n";
    let joint = edges.replace("flips none\n", "flips too 1 both\neach 1 1\nfrozen \n");
    // Logits x + ½ and −x: the first class stays above.
    let leaf = "L 0 0 0 0 0 0 0 0 0 0";
    let share = |weight: &str, other: u32, covers: &str| {
        format!("{attack}share 0 {weight} 0 0 0 0 1 {other} {leaf} {covers}\nclaim 0 0 0 components\n")
    };
    for (input, answer, problem) in [
        (format!("{statement}node 0 0 robust 1 1 {leaf}\n"), "ready\nrobust\n", ""),
        (format!("{statement}node 0 1 robust 1 0 {leaf}\n"), "ready\nrejected\n", ""),
        (format!("{statement}node 0 0 robust 0\n"), "ready\nrejected\n", ""),
        (format!("{statement}node 0 0 witness 1 1 0 0\n"), "ready\nrejected\n", ""),
        (format!("{statement}node 7 0 robust 1 1 {leaf}\n"), "ready\nrejected: there is no such node\n", ""),
        (format!("{statement}node 0 0 robust 1 1 {leaf} 5\n"), "ready\nrejected: something follows the claim\n", ""),
        (format!("{statement}node 0 0 robust 1 1 F 0 0 {leaf}\n"), "ready\nrejected: a word is missing\n", ""),
        (format!("{statement}edges 0 0\n"), "ready\nrejected: 'edges' is no line\n", ""),
        (format!("{statement}claim 1 0 0 whole\n"), "ready\nrejected: 'claim' is no line\n", ""),
        (format!("{attack}claim 0 0 0 whole\n"), "ready\nrejected\n", ""),
        (format!("{attack}claim 0 0 0 components\n"), "ready\nrejected\n", ""),
        (format!("{attack}claim 0 0 0 upward\n"), "ready\nrejected: 'upward' is no way to round\n", ""),
        (format!("{attack}claim 1 0 0 whole\n"), "ready\nholds\n", ""),
        (format!("{attack}node 0 0 robust 1 1 {leaf}\nclaim 0 0 0 whole\n"), "ready\nrobust\nholds\n", ""),
        (format!("{attack}node 0 0 witness 1 1 0 0\n"), "ready\nrejected: 'robust' is missing\n", ""),
        // Losses of −1 and a constant of ½: flips have no weight.
        (share("0 16777216", 1, "0"), "ready\nshare\nholds\n", ""),
        (share("0 8388608", 1, "1 8388608 1 0 0"), "ready\nshare\nholds\n", ""),
        (share("0 16777217", 1, "0"), "ready\nrejected\nrejected\n", ""),
        (share("0 16777216", 1, "1 1 0"), "ready\nrejected\nrejected\n", ""),
        (share("0 16777216", 1, "1 -1 0"), "ready\nrejected\nrejected\n", ""),
        (share("1 16777216", 0, "0"), "ready\nrejected\nrejected\n", ""),
        // A margin of at least ½, which four bits do not keep; and one that is −½ after a flip, or 0.
        (format!("{}node 0 0 robust 1 1 {leaf}\n", runs("deployed 24 gradual")), "ready\nrobust\n", ""),
        (format!("{}node 0 0 robust 1 1 {leaf}\n", runs("deployed 24 flushed")), "ready\nrobust\n", ""),
        (format!("{}node 0 0 robust 1 1 {leaf}\n", runs("deployed 4 gradual")), "ready\nrejected\n", ""),
        (format!("{}node 0 0 witness 1 1 0 0\n", runs("deployed 24 gradual")), "ready\nrejected\n", ""),
        (
            runs("deployed 24 gradual").replace("3fe0000000000000 0\n", "0 3fe0000000000000\n")
                + "node 0 1 witness 0 1 0 0\n",
            "ready\nnon-robust\n",
            "",
        ),
        (
            runs("deployed 24 gradual").replace("3fe0000000000000 0\n", "0 4000000000000000\n")
                + "node 0 1 witness 0 1 0 0\n",
            "ready\nrejected\n",
            "",
        ),
        (runs("deployed 1 gradual"), "", "no such format"),
        (runs("deployed 24 gradual").replace("wrong 1", "wrong"), "", "not one error for each term"),
        (runs("deployed 24 gradual").replace("wrong 1", "wrong -1"), "", "'-1' is no count"),
        (runs("deployed 24"), "", "a word is missing"),
        (runs("deployed 24 never"), "", "'never' is unknown"),
        (runs("deployed 24 gradual 5"), "", "something follows how the network runs"),
        (runs("running 24 gradual"), "", "'deployed' is missing"),
        (runs("deployed 24 gradual").replace("runs chain", "node 0"), "", "'runs' is missing"),
        (runs("deployed 24 gradual").replace("runs chain", "runs 0"), "", "no layers run"),
        (runs("deployed 24 gradual").replace("runs chain", "runs 1\nstage 1 0 2 1 1 00"), "", "a layer stands nowhere"),
        (runs("deployed 24 gradual").replace("runs chain", "runs 1\nstage 0 0 2 1 1 0"), "", "not one activation"),
        (
            runs("deployed 24 gradual").replace("rows plain", "rows 64") + &format!("node 0 0 robust 1 1 {leaf}\n"),
            "ready\nrobust\n",
            "",
        ),
        (
            runs("deployed 24 gradual").replace("rows plain", "rows 32") + &format!("node 0 0 robust 1 1 {leaf}\n"),
            "ready\nrobust\n",
            "",
        ),
        (edges.replace("attack each", "attack each deployed 24 gradual"), "", "executions on changed edges"),
        (attack.replace("attack any 0", "attack any 1"), "", "a node is out of range"),
        (attack.replace("attack any 0", "attack some 0"), "", "an unknown attack"),
        (statement.replace("verified 12", "verified 11"), "", "line 1: not a statement of this version"),
        (statement.replace("0 3ff0000000000000\n", "4 3ff0000000000000\n"), "", "line 8: a node is out of range"),
        (
            statement.replace("0 3ff0000000000000\n", "0 3ff0000000000001\n"),
            "",
            "an entry is not that of the rule identity",
        ),
        (statement.replace("operator identity", "operator gat"), "", "an unknown rule 'gat'"),
        (statement.replace("bff0000000000000", "7ff0000000000000"), "", "a float is not finite"),
        (statement.replace("both", "sideways"), "", "an unknown direction"),
        (statement.replace("groups ", "groups 0 0"), "", "not one group for each attribute"),
        (statement.replace("rows plain", "rows 16"), "", "rows are neither plain nor divided in 32 or 64 bits"),
        (statement.replace("batch ", "batch 0 0"), "", "not one graph for each node"),
        (statement.replace("operator identity", "operator pool-sum"), "", "an unknown rule 'pool-sum'"),
        (statement.replace("classes predicted", "classes guessed"), "", "an unknown convention"),
        (statement.replace("budget 1 both", "luck 1 both"), "", "no budget of flips, of edges or of moved attributes"),
        (statement.replace("operator identity\n0 3ff0000000000000", "rule gcn"), "", "an operator without its entries"),
        (format!("{edges}node 0 0 robust 9 1 1 1 A\n"), "ready\nrobust\n", ""),
        (format!("{edges}node 0 0 robust 1 1 1 1 A\n"), "ready\ntoo many sets of changes\n", ""),
        (format!("{edges}node 0 1 robust 9 1 1 0 A\n"), "ready\nrejected\n", ""),
        (format!("{edges}node 0 0 robust 9 0\n"), "ready\nrejected\n", ""),
        (format!("{edges}node 0 0 robust 9 1 1 1 L\n"), "ready\nrejected: 'L' is no part of a tree\n", ""),
        (format!("{edges}node 2 0 robust 9 1 1 1 A\n"), "ready\nrejected: there is no such node\n", ""),
        (format!("{edges}node 0 0 witness 1 1 0 1\n"), "ready\nrejected\n", ""),
        (format!("{edges}node 0 0 witness 1 1 0 1 0\n"), "ready\nrejected: something follows the claim\n", ""),
        (format!("{joint}node 0 0 robust 9 1 1 1 A 1 0 0 1 1 {leaf}\n"), "ready\nrobust\n", ""),
        (format!("{joint}node 0 0 robust 1 1 1 1 A 1 0 0 1 1 {leaf}\n"), "ready\ntoo many sets of changes\n", ""),
        (format!("{joint}node 0 1 robust 9 1 1 0 A 1 0 0 1 0 {leaf}\n"), "ready\nrejected\n", ""),
        // Of the graph as it is nothing is said.
        (format!("{joint}node 0 0 robust 9 1 1 1 A 1 1 0 1 0 1 1 {leaf}\n"), "ready\nrejected\n", ""),
        (format!("{joint}node 0 0 robust 9 1 1 1 A 1 0 0 1 0 {leaf}\n"), "ready\nrejected\n", ""),
        (format!("{joint}node 0 0 robust 9 1 1 1 A\n"), "ready\nrejected: a word is missing\n", ""),
        (format!("{joint}node 0 0 witness 1 1 0 1 1 0 0\n"), "ready\nrejected\n", ""),
        (joint.replace("flips too", "flips also"), "", "'also' is unknown"),
        (joint.replace("rows plain", "rows 64"), "", "flips of divided rows beside changes of edges"),
        (edges.replace("rule gcn", "rule gat"), "", "the rule 'gat' does not follow from edges"),
        (edges.replace("undirected", "sideways"), "", "'sideways' is unknown"),
        (edges.replace("\n0\nbatch", "\n\nbatch"), "", "an edge has one direction only"),
        (edges.replace("frozen \n", "frozen 0 7\n"), "", "a node is out of range"),
        (edges.replace("candidates all", "candidates none"), "", "unknown candidates"),
        (
            edges.replace("attack each", "attack any 0"),
            "",
            "one attack on graphs, categories, divided rows, edges or ranges",
        ),
        (
            edges.replace("rule gcn", "rule gcn-self").replace("undirected", "directed"),
            "",
            "directed edges do not determine gcn-self",
        ),
    ] {
        let mut child =
            Command::new(&program).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        // It may have ended before it has read all.
        let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(
            (String::from_utf8_lossy(&output.stdout).as_ref(), output.status.code()),
            (answer, Some(if problem.is_empty() { 0 } else { 2 })),
            "{input}{said}"
        );
        assert!(said.contains(problem), "{said}");
    }
}

/// The theorems in the document are those of the sources, to the letter; and nothing in the sources is left unproved.
#[test]
fn the_document_has_the_theorems_of_the_sources() {
    let document = std::fs::read_to_string(root().join("docs/trust.md")).unwrap();
    let mut quoted = 0;
    for part in document.split("```coq\n").skip(1) {
        let (first, text) = part.split("```").next().unwrap().split_once('\n').unwrap();
        let file = first.trim_start_matches("(* ").trim_end_matches(" *)");
        let source = std::fs::read_to_string(root().join("check/verified").join(file)).unwrap();
        assert!(source.contains(text), "{file} has no such text:\n{text}");
        quoted += 1;
    }
    assert!(quoted >= 3, "{quoted}");
    for entry in std::fs::read_dir(root().join("check/verified")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "v") {
            let source = std::fs::read_to_string(&path).unwrap();
            for word in ["Admitted", "Axiom", "Parameter", "admit."] {
                assert!(!source.contains(word), "{}: {word}", path.display());
            }
        }
    }
}
