//! Proofs about the network as it runs: accepted where the verdict says so, and never taken for proofs about the exact
//! network.

use gcnproof::internals::bound::workspace::Workspace;
use gcnproof::proof::{header, model_file};
use gcnproof::{Certifier, DeployedVerdict, Effort, Execution, Limits, Network, Operator, Problem};
use gcnproof_check::format::{Claim, ClassProof, Convention, Deployed, Header, Line, NodeProof, Witness};
use gcnproof_check::{Checker, Reason, Statement, Verdict};

use crate::{cases, sums};

fn rules(network: &Network) -> Vec<Operator> {
    network.layers().iter().map(|layer| layer.operators[0].clone()).collect()
}

pub fn stated(problem: &Problem, execution: Option<Execution>) -> Header {
    let (graph, network) = (problem.graph(), problem.network());
    let mut header = header((graph.digest(), ""), (network, &rules(network)), problem.budget(), Convention::Predicted);
    header.deployed = execution.map(|execution| Deployed {
        precision: execution.precision,
        operator_error: execution.operator_errors(graph, network),
        flush_subnormals: execution.flush_subnormals,
    });
    header
}

/// Asks the checker of a header.
pub fn with_checker<T>(problem: &Problem, header: &Header, exact: bool, ask: impl FnOnce(&Checker) -> T) -> T {
    let (graph, model) = (problem.graph().file(), model_file(problem.network(), ""));
    let statement = Statement::new(&graph, &model, header, &problem.network().own_matrices()).unwrap();
    ask(&Checker::new(&statement, exact))
}

fn refused(problem: &Problem, header: &Header) -> Reason {
    let (graph, model) = (problem.graph().file(), model_file(problem.network(), ""));
    match Statement::new(&graph, &model, header, &problem.network().own_matrices()) {
        Err(reason) => reason,
        Ok(_) => panic!("{header:?} is accepted"),
    }
}

#[test]
fn proofs_show_what_holds_as_deployed() {
    show(cases::case);
}

#[test]
fn proofs_about_divided_rows_show_what_holds_as_deployed() {
    show(cases::divided_rows);
}

#[test]
fn proofs_about_categories_show_what_holds_as_deployed() {
    show(cases::categories);
}

fn show(case: fn(u64) -> (Problem, Execution)) {
    let limits = Limits { nodes: 2000, ..Limits::default() };
    let (mut proved, mut unproved, mut coarse) = (0, 0, 0);
    for seed in 0..120 {
        let (problem, execution) = case(seed);
        let builder = Certifier::builder(problem.clone()).effort(Effort::Complete(limits));
        let certifier = builder.deployed(execution).proofs(true).build();
        let header = stated(&problem, Some(execution));
        let lines: Vec<(DeployedVerdict, Line)> = with_checker(&problem, &header, seed % 2 == 0, |checker| {
            let line = |node| {
                let result = certifier.certify_node(node, &mut Workspace::default());
                (result.deployed.as_ref().unwrap().verdict, result.proof_line(checker).into_line())
            };
            (0..problem.graph().node_count()).map(line).collect()
        });
        // The core alone, and a header that speaks of another format.
        let exact = stated(&problem, None);
        let fewer = stated(&problem, Some(Execution { precision: 7, ..execution }));
        for (verdict, line) in lines {
            let Line::Node(proof) = line else {
                unproved += usize::from(matches!(verdict, DeployedVerdict::Robust | DeployedVerdict::NonRobust));
                continue;
            };
            proved += 1;
            let expected = match verdict {
                DeployedVerdict::Robust => Verdict::Robust,
                DeployedVerdict::NonRobust => Verdict::NonRobust,
                other => panic!("seed {seed}: a proof of {other:?}"),
            };
            let judged = with_checker(&problem, &header, true, |checker| checker.check(&proof));
            assert_eq!(judged.unwrap(), expected, "seed {seed}");
            // What every execution does, the exact network does too.
            assert_eq!(with_checker(&problem, &exact, true, |checker| checker.check(&proof)).unwrap(), expected);
            coarse += usize::from(with_checker(&problem, &fewer, false, |checker| checker.check(&proof)).is_err());
        }
    }
    println!("{proved} proofs, {unproved} verdicts without; {coarse} do not hold with 7 bits");
    assert!(proved > 150 && unproved * 20 <= proved && coarse > 20, "{proved} {unproved} {coarse}");
}

#[test]
fn a_proof_about_the_exact_network_is_none_about_executions() {
    let (u, tiny) = (0.5f64.powi(24), 0.5f64.powi(47));
    let problem = sums(&[[1.0, 1.0], [u, 2.0 * u - tiny], [u, 0.0]], 0);
    let proof = NodeProof { id: 0, class: 0, claim: Claim::Robust(vec![ClassProof::anchored(1)]) };
    for exact_only in [false, true] {
        let judged = |execution| {
            with_checker(&problem, &stated(&problem, execution), exact_only, |checker| checker.check(&proof))
        };
        assert_eq!(judged(None).unwrap(), Verdict::Robust);
        assert!(matches!(judged(Some(Execution::FLOAT32)).unwrap_err().reason, Reason::Bound(_)));
        let double = Execution { precision: 53, ..Execution::FLOAT32 };
        assert_eq!(judged(Some(double)).unwrap(), Verdict::Robust);
    }
}

#[test]
fn a_witness_inside_the_error_is_none() {
    let step = 0.5f64.powi(26);
    let problem = sums(&[[1.0, 0.0], [0.5 + step, 0.0], [0.0, 1.0]], 1);
    let proof = |attribute| NodeProof {
        id: 0,
        class: 0,
        claim: Claim::NonRobust(Witness { class: 1, flips: vec![(0, attribute)] }),
    };
    let weak = sums(&[[1.0, 0.0], [0.0, 1.0 - step]], 1);
    let deployed = stated(&problem, Some(Execution::FLOAT32));
    for exact_only in [false, true] {
        let judged = with_checker(&problem, &deployed, exact_only, |checker| checker.check(&proof(0)));
        assert_eq!(judged.unwrap(), Verdict::NonRobust);
        // Nothing changes a class by less than its error.
        let tie = sums(&[[1.0, 0.0], [0.0, 1.0], [step, 0.0]], 1);
        let flips = NodeProof { id: 0, class: 0, claim: Claim::NonRobust(Witness { class: 1, flips: vec![(0, 2)] }) };
        let exact = with_checker(&tie, &stated(&tie, None), exact_only, |checker| checker.check(&flips));
        assert_eq!(exact.unwrap(), Verdict::Tie);
        let header = stated(&tie, Some(Execution::FLOAT32));
        let judged = with_checker(&tie, &header, exact_only, |checker| checker.check(&flips));
        assert!(matches!(judged.unwrap_err().reason, Reason::Margin(_)));
        let none = NodeProof { id: 0, class: 0, claim: Claim::NonRobust(Witness { class: 1, flips: Vec::new() }) };
        let header = stated(&weak, Some(Execution::FLOAT32));
        let judged = with_checker(&weak, &header, exact_only, |checker| checker.check(&none));
        assert!(matches!(judged.unwrap_err().reason, Reason::Margin(_)));
    }
}

#[test]
fn what_leaves_the_range_has_no_proof() {
    let problem = sums(&[[3e38, 0.0], [3e38, 1.0]], 0);
    let proof = NodeProof { id: 0, class: 0, claim: Claim::Robust(vec![ClassProof::anchored(1)]) };
    let judged =
        |execution| with_checker(&problem, &stated(&problem, execution), true, |checker| checker.check(&proof));
    assert_eq!(judged(None).unwrap(), Verdict::Robust);
    assert_eq!(judged(Some(Execution::FLOAT32)).unwrap_err().reason, Reason::Rounding);
}

#[test]
fn headers_say_what_executions_may_do_or_are_refused() {
    let problem = sums(&[[1.0, 0.0], [0.5, 0.0]], 1);
    let header = stated(&problem, Some(Execution::FLOAT32));
    let changed = |change: &dyn Fn(&mut Deployed)| {
        let mut header = header.clone();
        header.deployed.iter_mut().for_each(change);
        refused(&problem, &header)
    };
    assert!(matches!(changed(&|deployed| deployed.precision = 1), Reason::Header(_)));
    assert!(matches!(changed(&|deployed| deployed.precision = 54), Reason::Header(_)));
    assert!(matches!(changed(&|deployed| deployed.operator_error.clear()), Reason::Header(_)));
    assert!(matches!(changed(&|deployed| deployed.operator_error[0].push(0)), Reason::Header(_)));
    assert!(matches!(refused(&problem, &Header { version: 1, ..header.clone() }), Reason::Version(_)));
    let mut bytes = Vec::new();
    Line::Header(header.clone()).write(&mut bytes).unwrap();
    let text = String::from_utf8(bytes).unwrap();
    let read = |text: &str| Line::read(text.trim_end().as_bytes(), 100);
    assert_eq!(read(&text).unwrap(), Line::Header(header.clone()));
    for (from, to) in [
        ("\"precision\":24", "\"precision\":-24"),
        ("\"precision\":24", "\"precision\":24.0"),
        ("\"precision\":24,", ""),
        ("\"precision\":24", "\"precision\":24,\"format\":\"float32\""),
        ("\"operator_error\":[[0]]", "\"operator_error\":[[-1]]"),
        ("\"operator_error\":[[0]]", "\"operator_error\":[0]"),
        ("\"operator_error\":[[0]]", "\"operator_error\":null"),
        ("\"deployed\":{", "\"deployed\":null,\"more\":{"),
    ] {
        assert!(text.contains(from), "{text}");
        assert!(read(&text.replace(from, to)).is_err(), "{to}");
    }
}
