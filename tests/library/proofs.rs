//! Proofs: what the certifier writes down is accepted by the checker, and says the same of every node.

use std::path::{Path, PathBuf};

use gcnproof::internals::bound::workspace::Workspace;
use gcnproof::proof::{Missing, Mode, ProofError, ProofFile, header, model_file};
use gcnproof::{
    Bound, Budget, Certifier, Direction, Effort, Graph, Limits, LocalBudget, Network, NodeResult, Operator, Reason,
    Verdict,
};
use gcnproof_check::format::{Claim, ClassProof, Convention, Line, NodeProof, Step, Witness};
use gcnproof_check::{Checker, Options, Statement, Summary, Verdict as Judgement, check};
use gcnproof_files::{DenseMatrix, GraphFile, GraphOptions, read_graph, read_model};
use gcnproof_verify::random::Stream;
use rayon::prelude::*;

use crate::common::{self, certifier_of};

fn limits(nodes: usize) -> Limits {
    Limits { nodes, ..Limits::default() }
}

/// What the checker must say of a node.
fn expected(result: &NodeResult) -> Option<Judgement> {
    match (result.verdict, result.reason) {
        (Verdict::Robust, _) => Some(Judgement::Robust),
        (Verdict::NonRobust, Reason::Tie) => Some(Judgement::Tie),
        (Verdict::NonRobust, _) => Some(Judgement::NonRobust),
        (Verdict::Undecided, _) => None,
    }
}

/// The line of a node. If it is a proof, the checker says what the certifier said, in intervals and in exact numbers.
fn judged(certifier: &Certifier, result: &NodeResult) -> Line {
    let (graph, gcn) = (certifier.graph(), certifier.network());
    let matrices: Vec<_> = gcn.own_matrices();
    let rules: Vec<Operator> = gcn.layers().iter().map(|layer| layer.operators[0].clone()).collect();
    let header = header(("", ""), (gcn, &rules), certifier.budget(), Convention::Predicted);
    let model = model_file(gcn, "");
    let file = graph.file();
    let statement = Statement::new(&file, &model, &header, &matrices).unwrap();
    let checkers = [false, true].map(|exact| Checker::new(&statement, exact));
    let line = result.proof_line(&checkers[0]).into_line();
    if let Line::Node(proof) = &line {
        for checker in &checkers {
            assert_eq!(checker.check(proof).ok(), expected(result), "{result:?} {proof:?}");
        }
    }
    line
}

/// Random tiny problems of every depth, message passing, direction and effort, ties and exact verdicts among them.
#[test]
fn random_problems_are_proved_and_the_proofs_accepted() {
    let counts = (0..6_000u64)
        .into_par_iter()
        .map_init(Workspace::default, |workspace, seed| {
            let problem = common::problem(7_000_000 + seed, 2 + (seed % 4) as usize);
            let effort = match seed / 4 % 5 {
                0 => Effort::Bounds,
                1 => Effort::Optimal,
                2 => Effort::Minimize { limits: limits(2_000), gap: 1e-10 },
                _ => Effort::Complete(limits(2_000)),
            };
            let bound = [Bound::Best, Bound::Best, Bound::Paper, Bound::Anchored][(seed / 20 % 4) as usize];
            let plain = certifier_of(&problem.graph, &problem.gcn, problem.budget.clone(), bound).with_effort(effort);
            let node = (seed / 7) as usize % problem.graph.node_count();
            let without = plain.certify_node(node, workspace);
            let certifier = plain.with_proofs();
            let result = certifier.certify_node(node, workspace);
            // Writing proofs changes no verdict, bound or witness.
            assert_eq!(
                format!("{:?}", {
                    let mut bare = result.clone();
                    bare.evidence = None;
                    bare
                }),
                format!("{without:?}"),
                "{seed}"
            );
            match judged(&certifier, &result) {
                Line::Node(proof) => {
                    let tree = match &proof.claim {
                        Claim::Robust(trees) => trees.iter().any(|tree| tree.tree.len() > 1),
                        Claim::NonRobust(_) => false,
                    };
                    let flips = match &proof.claim {
                        Claim::Robust(trees) => {
                            trees.iter().any(|t| t.tree.iter().any(|step| matches!(step, Step::Flip(..))))
                        }
                        Claim::NonRobust(_) => false,
                    };
                    let robust = usize::from(result.verdict == Verdict::Robust);
                    let tie = usize::from(result.reason == Reason::Tie);
                    [robust, 1 - robust, usize::from(tree), usize::from(flips), tie, 0, 0]
                }
                Line::Unproved(unproved) if result.verdict == Verdict::Undecided => {
                    assert!(unproved.reason.contains("undecided"), "{unproved:?}");
                    [0, 0, 0, 0, 0, 1, 0]
                }
                Line::Unproved(unproved) => {
                    println!("seed {seed}: no proof: {}; {:?} {:?}", unproved.reason, result.verdict, result.margins);
                    [0, 0, 0, 0, 0, 0, 1]
                }
                other => panic!("{other:?}"),
            }
        })
        .reduce(|| [0; 7], |a, b| std::array::from_fn(|at| a[at] + b[at]));
    let [robust, broken, trees, flips, ties, undecided, unproved] = counts;
    println!(
        "{robust} robust ({trees} with a tree, {flips} with flip splits), {broken} non-robust ({ties} ties), \
         {undecided} undecided, {unproved} decided without proof"
    );
    assert!(robust > 1_000 && broken > 1_000 && ties > 100, "{counts:?}");
    // Some are certified with little effort, and stay open.
    assert!(undecided < 20 && unproved == 0, "{counts:?}");
}

/// A network with two classes on a path of three nodes whose worst margin is `margin`, as far as floats can tell;
/// `None` if the search does not find it in time.
fn tight(seed: u64, margin: f64, workspace: &mut Workspace) -> Option<common::Problem> {
    let mut random = Stream::new(seed);
    let attributes = (0..3).map(|_| (0..5).filter(|_| random.chance(45)).collect()).collect();
    let graph = common::graph(vec![vec![1], vec![0, 2], vec![1]], attributes, 5);
    let mut widths = vec![5, 5];
    widths.extend((0..seed % 3).map(|_| 3));
    widths.push(2);
    let mut layers: Vec<(DenseMatrix, Vec<f64>)> = Vec::new();
    for pair in widths.windows(2) {
        let values = (0..pair[0] * pair[1]).map(|_| random.real()).collect();
        let bias = (0..pair[1]).map(|_| 0.3 * random.real()).collect();
        layers.push((DenseMatrix { rows: pair[0], columns: pair[1], values }, bias));
    }
    let rule = [Operator::Gcn, Operator::SumWithSelf, Operator::MeanWithSelf][random.below(3)].clone();
    let budget = Budget::uniform(&graph, 3, 2);
    let gcn = Network::from_file(common::model(layers.clone()), std::slice::from_ref(&rule), &graph).unwrap();
    let effort = Effort::Minimize { limits: limits(3_000), gap: 1e-10 };
    let certifier = certifier_of(&graph, &gcn, budget.clone(), Bound::Best).with_effort(effort);
    let result = certifier.certify_class(1, 0, 0, workspace);
    if result.limit_hit {
        return None;
    }
    layers.last_mut()?.1[0] -= result.margins[0].upper - margin;
    let gcn = Network::from_file(common::model(layers), &[rule], &graph).unwrap();
    Some(common::Problem { graph, gcn, budget, dyadic: false })
}

/// Problems that are robust by a hair need trees, with splits of units and of flips.
#[test]
fn narrow_verdicts_are_proved_by_trees() {
    let counts = (0..600u64)
        .into_par_iter()
        .map_init(Workspace::default, |workspace, seed| {
            let margin = [1e-3, 1e-6, -1e-6][(seed / 3 % 3) as usize];
            let Some(problem) = tight(seed, margin, workspace) else { return [0; 4] };
            let certifier = certifier_of(&problem.graph, &problem.gcn, problem.budget.clone(), Bound::Best)
                .with_effort(Effort::Complete(limits(3_000)))
                .with_proofs();
            let result = certifier.certify_node(1, workspace);
            match judged(&certifier, &result) {
                Line::Node(proof) => {
                    let Claim::Robust(trees) = &proof.claim else { return [0, 0, 0, 1] };
                    let has = |wanted: fn(&Step) -> bool| usize::from(trees[0].tree.iter().any(wanted));
                    [1, has(|step| matches!(step, Step::Unit(..))), has(|step| matches!(step, Step::Flip(..))), 0]
                }
                other => {
                    assert_eq!(result.verdict, Verdict::Undecided, "seed {seed}: {other:?}");
                    [0; 4]
                }
            }
        })
        .reduce(|| [0; 4], |a, b| std::array::from_fn(|at| a[at] + b[at]));
    let [robust, units, flips, broken] = counts;
    println!("{robust} robust ({units} with unit splits, {flips} with flip splits), {broken} non-robust");
    assert!(robust > 150 && units > 20 && flips > 20 && broken > 50, "{counts:?}");
}

/// Margins that cancellation hides from floats: `1e16 − 1e16 ± m`. The certifier is right about each, its proof is
/// accepted, and a hand-made proof of the opposite is rejected.
#[test]
fn cancellation_misleads_neither_the_certifier_nor_the_checker() {
    let mut workspace = Workspace::default();
    let mut proved = 0;
    for hidden in [false, true] {
        for m in [1e-17, -1e-17, 3e-300, -3e-300, 1.0, -1.0] {
            for global in [0, 1, 2] {
                // Attribute 3 is absent and takes a quarter of the margin away.
                let graph = common::graph(vec![vec![]], vec![vec![0, 1, 2]], 4);
                let first = DenseMatrix { rows: 4, columns: 1, values: vec![1e16, -1e16, m, -0.25 * m.abs()] };
                let layers = if hidden {
                    // relu(z) − relu(−z) = z.
                    let both = first.values.iter().flat_map(|&w| [w, -w]).collect();
                    let both = DenseMatrix { rows: 4, columns: 2, values: both };
                    let second = DenseMatrix { rows: 2, columns: 2, values: vec![1.0, 0.0, -1.0, 0.0] };
                    vec![(both, vec![0.0; 2]), (second, vec![0.0; 2])]
                } else {
                    let values = first.values.iter().flat_map(|&w| [w, 0.0]).collect();
                    vec![(DenseMatrix { rows: 4, columns: 2, values }, vec![0.0; 2])]
                };
                let gcn = Network::from_file(common::model(layers), &[Operator::Identity], &graph).unwrap();
                let budget = Budget::uniform(&graph, global, 2).with_direction(Direction::Add);
                let certifier = certifier_of(&graph, &gcn, budget, Bound::Best).with_effort(complete()).with_proofs();
                let result = certifier.certify_class(0, 0, 0, &mut workspace);
                let verdict = if m > 0.0 { Verdict::Robust } else { Verdict::NonRobust };
                assert_eq!(result.verdict, verdict, "{hidden} {m} {global}");
                let graph = GraphFile { labels: Some(vec![Some(0)]), ..graph.file().clone() };
                let rules = [Operator::Identity];
                let header = header(("", ""), (&gcn, &rules), certifier.budget(), Convention::Labels);
                let model = model_file(&gcn, "");
                let statement = Statement::new(&graph, &model, &header, &[]).unwrap();
                let checker = Checker::new(&statement, false);
                match result.proof_line(&checker).into_line() {
                    Line::Node(proof) => {
                        assert_eq!(checker.check(&proof).ok(), expected(&result), "{hidden} {m} {global}");
                        proved += 1;
                    }
                    other => println!("no proof: {hidden} {m} {global}: {other:?}"),
                }
                let claim = if m > 0.0 {
                    let flips = (0..global.min(1) as u32).map(|_| (0, 3)).collect();
                    Claim::NonRobust(Witness { class: 1, flips })
                } else {
                    Claim::Robust(vec![ClassProof::anchored(1)])
                };
                assert!(checker.check(&NodeProof { id: 0, class: 0, claim }).is_err(), "{hidden} {m} {global}");
            }
        }
    }
    println!("{proved} of 36 proved");
    assert!(proved >= 34, "{proved}");
}

/// Certifies nodes, writes the file, and lets the checker read it with the model's own file.
fn round_trip(
    path: &Path,
    files: (&Path, &Path),
    (global, effort): (usize, Effort),
    nodes: impl Fn(usize) -> bool + Sync,
) -> (Vec<NodeResult>, Summary, u64) {
    let lenient = GraphOptions { binarize: true, symmetrize: true, unweight: true, ..GraphOptions::default() };
    let graph = Graph::from_file(read_graph(files.0, &lenient).unwrap());
    let model = read_model(files.1).unwrap();
    let gcn = Network::from_file(model.clone(), &[Operator::Gcn], &graph).unwrap();
    let local = LocalBudget::Percent(1.0).flips(graph.attribute_count());
    let budget = Budget::uniform(&graph, global, local);
    let certifier = certifier_of(&graph, &gcn, budget, Bound::Best).with_effort(effort).with_proofs();
    let nodes: Vec<usize> = (0..graph.node_count()).filter(|&node| nodes(node)).collect();
    let results: Vec<NodeResult> = nodes
        .par_iter()
        .map_init(Workspace::default, |workspace, &node| certifier.certify_node(node, workspace))
        .collect();
    let digests = (graph.digest(), model.digest.as_str());
    let header = header(digests, (&gcn, &[Operator::Gcn]), certifier.budget(), Convention::Predicted);
    let file = graph.file();
    let statement = Statement::new(&file, &model, &header, &[]).unwrap();
    let checker = Checker::new(&statement, false);
    let mut file = ProofFile::open(path, &header, Mode::Force).unwrap();
    for result in &results {
        file.push(&result.proof_line(&checker)).unwrap();
    }
    file.finish(true).unwrap();
    let bytes = file.bytes();
    let summary = check(&graph.file(), &model, &Options::default(), std::fs::File::open(path).unwrap(), |_| {});
    (results, summary, bytes)
}

/// Everything is accepted, and the verdicts are the same on every node.
fn assert_agreement(results: &[NodeResult], summary: &Summary) {
    assert!(summary.accepted(), "{:?}", summary.rejections.first().map(ToString::to_string));
    for result in results {
        assert_eq!(summary.verdicts[result.node], expected(result), "{result:?}");
    }
    let undecided = results.iter().filter(|result| result.verdict == Verdict::Undecided).count();
    assert_eq!(summary.unproved as usize, undecided);
}

fn complete() -> Effort {
    Effort::Complete(limits(100_000))
}

#[test]
fn every_verdict_on_cora_is_proved_and_accepted() {
    let folder = tempfile::tempdir().unwrap();
    let files = (Path::new("fixtures/cora.npz"), Path::new("fixtures/cora_pyg.safetensors"));
    for (name, global, effort) in [
        ("complete.jsonl.zst", 12, complete()),
        ("bounds.jsonl", 12, Effort::Bounds),
        ("optimal.jsonl.zst", 5, Effort::Optimal),
    ] {
        let (results, summary, bytes) = round_trip(&folder.path().join(name), files, (global, effort), |_| true);
        assert_agreement(&results, &summary);
        let robust = summary.count(Judgement::Robust);
        println!("{name}: {robust} robust, {bytes} bytes, {} per robust node", bytes / robust as u64);
        assert!(robust > 700 && (!name.ends_with("zst") || bytes / (robust as u64) < 4096));
        assert!(effort == Effort::Bounds || global != 12 || summary.unproved == 0);
    }
}

/// A deep network, whose activation bounds the checker must find as tight as the certifier did.
#[test]
fn a_network_with_three_weight_layers_is_proved() {
    let folder = tempfile::tempdir().unwrap();
    let files = (Path::new("fixtures/cora.npz"), Path::new("fixtures/cora_pyg_3layer.safetensors"));
    if !files.1.exists() {
        println!("skipped: no such fixture");
        return;
    }
    let path = folder.path().join("deep.jsonl.zst");
    let effort = Effort::Complete(limits(40));
    let (results, summary, _) = round_trip(&path, files, (6, effort), |node| node % 36 == 0);
    assert_agreement(&results, &summary);
    assert!(summary.count(Judgement::Robust) > 10, "{}", summary.count(Judgement::Robust));
}

#[test]
fn larger_graphs_agree() {
    let Ok(folder) = std::env::var("GCNPROOF_DATA").map(PathBuf::from) else {
        println!("skipped: GCNPROOF_DATA is not set");
        return;
    };
    let out = tempfile::tempdir().unwrap();
    for (graph, model) in
        [("cora_ml", "cora_ml_ce.npz"), ("cora_ml", "cora_ml_robust.npz"), ("citeseer", "citeseer_ce.npz")]
    {
        let files = (folder.join(format!("data/{graph}.npz")), folder.join(format!("models/{model}")));
        let path = out.path().join("proofs.jsonl.zst");
        let (results, summary, bytes) = round_trip(&path, (&files.0, &files.1), (12, complete()), |_| true);
        assert_agreement(&results, &summary);
        let per_robust = bytes / summary.count(Judgement::Robust) as u64;
        println!("{model}: {} robust, {per_robust} bytes per robust node", summary.count(Judgement::Robust));
        assert!(summary.unproved == 0 && per_robust < 4096);
    }
}

/// An interrupted file is readable up to where it was cut, and goes on from there.
#[test]
fn a_file_that_was_cut_short_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let files = (Path::new("fixtures/cora.npz"), Path::new("fixtures/cora_pyg.safetensors"));
    for name in ["proofs.jsonl", "proofs.jsonl.zst"] {
        let path = folder.path().join(name);
        let (results, summary, _) =
            round_trip(&path, files, (12, Effort::Bounds), |node| node < 60 || node == 63 || node == 158);
        let whole = std::fs::read(&path).unwrap();
        let Some(gcnproof_check::Stated::Flips(header)) = summary.header.clone() else { panic!("{name}: no header") };
        let other = gcnproof_check::format::Header { classes: Convention::Labels, ..header.clone() };
        assert!(ProofFile::open(&path, &other, Mode::Resume).is_err());
        let (graph, model) = (read_graph(files.0, &GraphOptions::default()).unwrap(), read_model(files.1).unwrap());
        let statement = Statement::new(&graph, &model, &header, &[]).unwrap();
        let checker = Checker::new(&statement, false);
        for cut in (0..whole.len()).step_by(whole.len() / 13 + 1).chain([whole.len() - 1, whole.len()]) {
            std::fs::write(&path, &whole[..cut]).unwrap();
            if cut > 0 && cut < whole.len() - 4 {
                assert!(ProofFile::open(&path, &header, Mode::Fresh).is_err(), "{name} cut at {cut}");
            }
            let mut resumed = ProofFile::open(&path, &header, Mode::Resume);
            // A process that another test has just started shares our lock for a moment.
            while matches!(resumed, Err(ProofError::Locked { .. })) {
                std::thread::sleep(std::time::Duration::from_millis(10));
                resumed = ProofFile::open(&path, &header, Mode::Resume);
            }
            if resumed.is_err() {
                // Not even the header is whole: that is some other file.
                assert!(cut < 500, "{name} cut at {cut}");
                continue;
            }
            let mut file = resumed.unwrap();
            assert!(ProofFile::open(&path, &header, Mode::Force).is_err(), "two runs must not write at once");
            for result in &results {
                file.push(&result.proof_line(&checker)).unwrap();
            }
            file.finish(true).unwrap();
            // Reasons are counted alike, whether they were read or written.
            let undecided = results.iter().filter(|result| result.verdict == Verdict::Undecided).count();
            let counted: Vec<(Missing, usize)> = file.unproved().iter().map(|(&why, &count)| (why, count)).collect();
            assert!(undecided > 0 && counted == [(Missing::Undecided, undecided)], "{name} cut at {cut}: {counted:?}");
            drop(file);
            let again = check(&graph, &model, &Options::default(), std::fs::File::open(&path).unwrap(), |_| {});
            assert_agreement(&results, &again);
        }
    }
}
