//! Questions about flips and changed edges at once.

use gcnproof::edges::{EdgeError, Joint, JointCertifier, JointProblem, JointResult, joint_header};
use gcnproof::proof::model_file;
use gcnproof::{Effort, Flip};
use gcnproof_check::edges::format::Header;
use gcnproof_check::format::Convention;
use gcnproof_check::joint::{Checker, Statement};
use gcnproof_results::record::description::{BudgetRecord, Description, NodeSet};
use gcnproof_results::record::edges::EdgeBudgetRecord;
use gcnproof_results::record::joint::JointRun;
use miette::{Result, miette};

use super::flips::nothing_to_attack;
use super::proofs::not_understood;
use super::question::{Answered, NodeQuestion, Prove};
use super::scope::instead;

/// Which of both attackers can be asked alone about what is refused here.
const ALONE: &str = "leave it out; or ask about one of both alone: flips (-Q and -q), or edges (--edges and -E)";

impl Answered for Joint {
    type Header = Header;
    type Decider = JointCertifier;
    /// The budget of flips, for the record.
    type Options = BudgetRecord;
    type Prepared = JointProblem;

    fn prepare(question: &NodeQuestion<Joint>) -> Result<JointProblem> {
        if matches!(question.effort, Effort::Minimize { .. }) {
            let what = "exact minima are not found for attacks on attributes and edges at once";
            return Err(miette!(help = ALONE, "--minimize: {what}"));
        }
        question.run.host.remember(question.graph, question.network);
        let kind = question.budget.edges.changes().name();
        let problem = JointProblem::new(question.graph.clone(), question.network.clone(), question.budget.clone());
        problem.map_err(|error| {
            let help = match &error {
                EdgeError::Operator { .. } => {
                    "give a model, or --message-passing, with rules that the graph's edges determine; or ask about flips \
                     alone (-Q and -q)"
                }
                EdgeError::Fixed => {
                    "in Python give the module itself, gcnproof.certify(model, data, Edges(…)), which reads it on other edges too; flips \
                     alone (-Q, -q) take this network"
                }
                EdgeError::Problem(error) if instead(error).is_some() => instead(error).unwrap_or_default(),
                _ => "give a graph, a model and budgets that belong together",
            };
            miette!(help = help, "-Q together with --edges {kind}: {error}")
        })
    }

    fn decider(question: &NodeQuestion<Joint>, problem: JointProblem, proofs: bool) -> JointCertifier {
        JointCertifier::new(problem).effort(question.effort).proofs(proofs).stop(question.run.stopped())
    }

    fn description(question: &NodeQuestion<Joint>) -> Description {
        Description::CertifyJoint(JointRun {
            input: question.identity.clone(),
            budget: question.options.with_global(question.budget.flips.global()),
            edges: EdgeBudgetRecord::new(&question.budget.edges, true),
            effort: question.effort_record,
            class: question.class,
            nodes: question.nodes.len(),
            node_set: NodeSet::new(&question.named_nodes(), question.ids.count()),
        })
    }

    fn radius_description(question: &NodeQuestion<Joint>, _: usize) -> Description {
        Joint::description(question)
    }

    fn note(question: &NodeQuestion<Joint>) -> Option<String> {
        let flips = nothing_to_attack(&question.budget.flips);
        let edges = question.budget.edges.locals().iter().all(|&e| e == 0);
        match (flips, edges) {
            (Some(nothing), true) => Some(nothing),
            (Some(_), false) => Some("note: no attribute can be flipped: only changes of edges are decided".into()),
            (None, true) => Some("note: no edge can be changed: only flips of attributes are decided".into()),
            (None, false) => None,
        }
    }

    fn header(question: &NodeQuestion<Joint>, classes: Convention) -> Header {
        let digests = (question.graph.digest(), question.identity.model.as_str());
        joint_header(digests, (question.network, &question.rules), &question.budget, classes)
    }

    fn proving<R>(question: &NodeQuestion<Joint>, header: &Header, work: impl FnOnce(&Prove<Joint>) -> R) -> Result<R> {
        let (file, model) = (question.graph.file(), model_file(question.network, &header.model));
        let statement = Statement::new(&file, &model, header).map_err(not_understood)?;
        let checker = Checker::new(&statement, false);
        Ok(work(&|certifier: &JointCertifier, result: &JointResult| certifier.proof_line(result, &checker)))
    }

    fn renamed(flip: Flip, name: impl Fn(u32) -> u32) -> Flip {
        Flip { node: name(flip.node), ..flip }
    }
}
