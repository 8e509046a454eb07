//! No proof is written that the checker has not accepted. The checkers of these tests read another network than the one
//! that was certified, so that much of what the certifier believes is wrong for them: of each kind of proof, what is
//! written must be accepted all the same.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use gcnproof::collective::{Collective, ProofSubject, Proved, Rows, Settings};
use gcnproof::edges::{
    EdgeBudget, EdgeCertifier, EdgeKind, EdgeProblem, JointBudget, JointCertifier, JointProblem, edge_header,
    joint_header,
};
use gcnproof::internals::bound::workspace::Workspace;
use gcnproof::internals::collective::base::bases;
use gcnproof::proof::{Mode, ProofFile, header, model_file, rule_names, write_collective};
use gcnproof::{Certifier, Effort, Execution, Limits, Problem, Verdict};
use gcnproof_check::format::{Convention, Deployed, Header, Line};
use gcnproof_check::{Accepted, Checker, Options, Statement, Summary, check, edges, joint};
use gcnproof_files::{GraphFile, ModelFile};
use tempfile::TempDir;

use crate::common;

const CASES: u64 = 240;

fn effort() -> Effort {
    Effort::Complete(Limits { nodes: 500, ..Limits::default() })
}

/// A problem, its graph's file, and a model that is not the one of its network.
struct Case {
    problem: Problem,
    graph: GraphFile,
    other: ModelFile,
}

fn cases() -> impl Iterator<Item = Case> {
    (0..CASES).map(|seed| {
        let common::Problem { graph, gcn, budget, .. } = common::problem(9_000_000 + seed, 2 + (seed % 3) as usize);
        let mut other = model_file(&gcn, "");
        if let Some(layer) = other.layers.last_mut() {
            layer.bias.iter_mut().step_by(2).for_each(|bias| *bias += 0.5);
        }
        let problem = Problem::new(graph, gcn, budget).unwrap();
        Case { graph: problem.graph().file(), problem, other }
    })
}

impl Case {
    fn header(&self, execution: Option<Execution>) -> Header {
        let (graph, network) = (self.problem.graph(), self.problem.network());
        let mut header = header((graph.digest(), ""), (network, &[]), self.problem.budget(), Convention::Predicted);
        header.message_passing = rule_names(network);
        header.deployed = execution.map(|execution| Deployed {
            precision: execution.precision,
            operator_error: execution.operator_errors(graph, network),
            flush_subnormals: execution.flush_subnormals,
        });
        header
    }

    /// What the checker says of a file, which must be all right.
    fn check(&self, path: &Path) -> Summary {
        let matrices = self.problem.network().own_matrices();
        let options = Options { matrices, ..Options::default() };
        let summary = check(&self.graph, &self.other, &options, File::open(path).unwrap(), |_| {});
        assert!(summary.accepted(), "{:?}", summary.rejections.first().map(ToString::to_string));
        summary
    }
}

/// Nodes that were decided, and how many of them have a proof.
#[derive(Debug, Default)]
struct Count {
    decided: usize,
    proved: usize,
}

impl Count {
    /// Some proofs must have been refused, and some not.
    fn check(self) {
        assert!(self.proved > 0 && self.proved < self.decided, "{self:?}");
    }
}

fn path(folder: &TempDir) -> PathBuf {
    folder.path().join("proofs.jsonl.zst")
}

fn flips(execution: Option<Execution>) {
    let folder = TempDir::new().unwrap();
    let mut count = Count::default();
    for case in cases() {
        let builder = Certifier::builder(case.problem.clone()).effort(effort()).proofs(true);
        let certifier = match execution {
            Some(execution) => builder.deployed(execution).build(),
            None => builder.build(),
        };
        let header = case.header(execution);
        let matrices = case.problem.network().own_matrices();
        // Not every network has bounds for its executions.
        let Ok(statement) = Statement::new(&case.graph, &case.other, &header, &matrices) else { continue };
        let checker = Checker::new(&statement, false);
        let mut file = ProofFile::open(&path(&folder), &header, Mode::Force).unwrap();
        for node in 0..case.problem.graph().node_count() {
            let result = certifier.certify_node(node, &mut Workspace::default());
            count.decided += usize::from(result.verdict != Verdict::Undecided);
            file.push(&result.proof_line(&checker)).unwrap();
        }
        file.finish(true).unwrap();
        drop(file);
        count.proved += case.check(&path(&folder)).proved();
    }
    count.check();
}

#[test]
fn no_proof_about_flips_is_written_unless_it_is_accepted() {
    flips(None);
}

#[test]
fn no_proof_about_a_network_as_it_runs_is_written_unless_it_is_accepted() {
    flips(Some(Execution::FLOAT32));
}

#[test]
fn no_proof_about_removed_edges_is_written_unless_it_is_accepted() {
    let folder = TempDir::new().unwrap();
    let mut count = Count::default();
    for case in cases() {
        let (graph, network) = (case.problem.graph(), case.problem.network());
        let budget = EdgeBudget::uniform(graph, 2, 2);
        // A matrix of its own is none of the rules that edges take part in.
        let Ok(problem) = EdgeProblem::new(graph.clone(), network.clone(), budget.clone()) else { continue };
        let certifier = EdgeCertifier::new(problem).effort(effort()).proofs(true);
        let mut header = edge_header((graph.digest(), ""), (network, &[]), &budget, Convention::Predicted);
        header.message_passing = rule_names(network);
        let statement = edges::Statement::new(&case.graph, &case.other, &header).unwrap();
        let checker = edges::Checker::new(&statement, false);
        let mut file = ProofFile::open(&path(&folder), &header, Mode::Force).unwrap();
        for node in 0..graph.node_count() {
            let result = certifier.one(node).unwrap();
            count.decided += usize::from(result.verdict != Verdict::Undecided);
            file.push(&certifier.proof_line(&result, &checker)).unwrap();
        }
        file.finish(true).unwrap();
        drop(file);
        count.proved += case.check(&path(&folder)).proved();
    }
    count.check();
}

#[test]
fn no_proof_about_flips_and_changed_edges_is_written_unless_it_is_accepted() {
    let folder = TempDir::new().unwrap();
    let mut count = Count::default();
    for case in cases().step_by(3) {
        let (graph, network) = (case.problem.graph(), case.problem.network());
        let flips = case.problem.budget().with_global(case.problem.budget().global().min(2));
        let budget = JointBudget { flips, edges: EdgeBudget::uniform(graph, 1, 1).kind(EdgeKind::Change) };
        let Ok(problem) = JointProblem::new(graph.clone(), network.clone(), budget.clone()) else { continue };
        let certifier = JointCertifier::new(problem).effort(effort()).proofs(true);
        let mut header = joint_header((graph.digest(), ""), (network, &[]), &budget, Convention::Predicted);
        header.message_passing = rule_names(network);
        let statement = joint::Statement::new(&case.graph, &case.other, &header).unwrap();
        let checker = joint::Checker::new(&statement, false);
        let mut file = ProofFile::open(&path(&folder), &header, Mode::Force).unwrap();
        for node in 0..graph.node_count() {
            let result = certifier.one(node).unwrap();
            count.decided += usize::from(result.verdict != Verdict::Undecided);
            file.push(&certifier.proof_line(&result, &checker)).unwrap();
        }
        file.finish(true).unwrap();
        drop(file);
        count.proved += case.check(&path(&folder)).proved();
    }
    count.check();
}

/// Also as compressed files, whose lines are the same.
#[test]
fn no_proof_about_one_attack_for_all_is_written_unless_it_is_accepted() {
    let folder = TempDir::new().unwrap();
    let (mut weaker, mut proved) = (0, 0);
    for case in cases() {
        let certifier = Certifier::builder(case.problem.clone()).effort(effort()).build();
        let global = case.problem.budget().global().min(3);
        let all: Vec<usize> = (0..case.problem.graph().node_count()).collect();
        let known = bases(&certifier, &all, global, || false, |_| ()).unwrap().unwrap();
        let known: Vec<_> = known.into_iter().map(|base| (base.clone(), certifier.predicted(base.node))).collect();
        let settings = Settings { rows: Rows::Provable, ..Settings::default() };
        let work = Collective::new(&certifier, &known, settings).unwrap();
        let mut header = case.header(None);
        header.budget.global = global as u64;
        let subject =
            ProofSubject { graph: &case.graph, model: &case.other, header, attacked_nodes: None, nodes: None };
        let Ok(Some(Proved { outcome, proof: Some(proof) })) = work.prove(&certifier, global, subject) else {
            continue;
        };
        let certified = work.at(global).unwrap().bound;
        let compressed = path(&folder);
        let plain = folder.path().join("proofs.jsonl");
        write_collective(&plain, proof.clone()).unwrap();
        write_collective(&compressed, proof).unwrap();
        for file in [&plain, &compressed] {
            let claim = case.check(file).collective.unwrap();
            assert!(claim.proved && claim.claimed == outcome.bound as u64, "{claim:?} {outcome:?}");
        }
        assert!(fs::read(&compressed).unwrap().starts_with(&[0x28, 0xb5, 0x2f, 0xfd]));
        proved += 1;
        weaker += usize::from(outcome.bound > certified);
    }
    assert!(proved > weaker && weaker > 0, "{weaker} of {proved}");
}

/// Where a type cannot tell: lines are taken for accepted without a checker in two places, and only in these, and lines
/// are serialized by one file each.
#[test]
fn only_copies_are_written_without_a_checker() {
    let mut copied = Vec::new();
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for folder in ["src", "results", "train", "report", "run", "laboratory", "cli", "python"] {
        let folder = if folder == "src" { root.join(folder) } else { root.join(folder).join("src") };
        for file in sources(&folder) {
            let text = fs::read_to_string(&file).unwrap();
            let name = file.strip_prefix(root).unwrap().display().to_string();
            copied.extend(text.matches("Accepted::copied(").map(|_| name.clone()));
        }
    }
    copied.sort();
    // Proofs of parts, and of other machines, whose own runs have shown them to the checker.
    assert_eq!(copied, ["python/src/gathering.rs", "src/proof/join.rs"]);
}

fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    found
}

/// What is made of a line keeps it.
#[test]
fn an_accepted_line_is_the_line() {
    let line = Line::End(3);
    assert_eq!(*Accepted::copied(line.clone()), line);
    assert_eq!(Accepted::copied(line.clone()).into_line(), line);
}
