//! Questions about removed and inserted edges.

use gcnproof::edges::{
    Candidates, Edge, EdgeBudget, EdgeCertifier, EdgeError, EdgeKind, EdgeProblem, EdgeResult, Edges, edge_header,
};
use gcnproof::proof::model_file;
use gcnproof::{Graph, Network};
use gcnproof_check::edges::format::Header;
use gcnproof_check::edges::{Checker, Statement};
use gcnproof_check::format::Convention;
use gcnproof_results::record::description::{Description, NodeSet};
use gcnproof_results::record::edges::{EdgeBudgetRecord, EdgeRun};
use miette::{Result, miette};

use super::proofs::not_understood;
use super::question::{Answered, NodeQuestion, Prove};
use super::run::Run;
use super::scope::instead;

/// Puts graph, network and budget together.
///
/// # Errors
/// If changed edges are not decided for such a network.
pub fn problem(run: &Run, graph: &Graph, network: &Network, budget: EdgeBudget) -> Result<EdgeProblem> {
    run.host.remember(graph, network);
    let kind = budget.changes().name();
    EdgeProblem::new(graph.clone(), network.clone(), budget).map_err(|error| {
        let help = match &error {
            EdgeError::Operator { .. } => {
                "give a model, or --message-passing, with rules that the graph's edges determine"
            }
            EdgeError::Fixed => {
                "in Python give the module itself, gcnproof.certify(model, data, Edges(…)), which reads it on other edges too; flips of \
                 attributes (-Q, -q) take this network"
            }
            EdgeError::Problem(error) if instead(error).is_some() => instead(error).unwrap_or_default(),
            EdgeError::Directed { .. } => {
                "give a model that adds self-loops (gcn), sums or averages; or leave directed edges out"
            }
            _ => "give a graph, a model and a budget that belong together",
        };
        miette!(help = help, "--edges {kind}: {error}")
    })
}

impl NodeQuestion<'_, Edges> {
    fn described(&self, limit: Option<usize>) -> EdgeRun {
        EdgeRun {
            input: self.identity.clone(),
            edges: EdgeBudgetRecord::new(&self.budget, limit.is_none()),
            max_global: limit.map(|limit| limit.min(i64::MAX as usize) as u64),
            effort: self.effort_record,
            class: self.class,
            nodes: self.nodes.len(),
            node_set: NodeSet::new(&self.named_nodes(), self.ids.count()),
        }
    }
}

impl Answered for Edges {
    type Header = Header;
    type Decider = EdgeCertifier;
    type Options = ();
    type Prepared = EdgeProblem;

    fn prepare(question: &NodeQuestion<Edges>) -> Result<EdgeProblem> {
        problem(question.run, question.graph, question.network, question.budget.clone())
    }

    fn decider(question: &NodeQuestion<Edges>, problem: EdgeProblem, proofs: bool) -> EdgeCertifier {
        EdgeCertifier::new(problem).effort(question.effort).proofs(proofs).stop(question.run.stopped())
    }

    fn description(question: &NodeQuestion<Edges>) -> Description {
        Description::CertifyEdges(question.described(None))
    }

    fn radius_description(question: &NodeQuestion<Edges>, limit: usize) -> Description {
        Description::RadiusEdges(question.described(Some(limit)))
    }

    fn note(question: &NodeQuestion<Edges>) -> Option<String> {
        let kind = question.budget.changes();
        let done = match kind {
            EdgeKind::Remove => "no node may lose an edge",
            EdgeKind::Insert => "no node may get an edge",
            EdgeKind::Change => "no node may lose or get an edge",
        };
        let budget = &question.budget;
        let tie = "so every node keeps its class unless two classes tie";
        if budget.locals().iter().all(|&e| e == 0) {
            return Some(format!("note: nothing can be attacked: {done} (e = 0, or all nodes are frozen), {tie}"));
        }
        // Nodes one edge apart have that edge already.
        let without = match budget.candidates() {
            Candidates::All => return None,
            Candidates::Within(hops) if *hops < 2 => "nodes at most one edge apart are linked already",
            Candidates::Listed(edges) if edges.is_empty() => "the list of candidates is empty",
            _ => return None,
        };
        match kind {
            EdgeKind::Remove => None,
            EdgeKind::Insert => {
                Some(format!("note: nothing can be attacked: no edge may be inserted ({without}), {tie}"))
            }
            EdgeKind::Change => Some(format!("note: no edge may be inserted ({without}): only removals are decided")),
        }
    }

    fn header(question: &NodeQuestion<Edges>, classes: Convention) -> Header {
        let digests = (question.graph.digest(), question.identity.model.as_str());
        edge_header(digests, (question.network, &question.rules), &question.budget, classes)
    }

    fn proving<R>(question: &NodeQuestion<Edges>, header: &Header, work: impl FnOnce(&Prove<Edges>) -> R) -> Result<R> {
        let (file, model) = (question.graph.file(), model_file(question.network, &header.model));
        let statement = Statement::new(&file, &model, header).map_err(not_understood)?;
        let checker = Checker::new(&statement, false);
        Ok(work(&|certifier: &EdgeCertifier, result: &EdgeResult| certifier.proof_line(result, &checker)))
    }

    fn renamed(edge: Edge, name: impl Fn(u32) -> u32) -> Edge {
        // A directed edge keeps its direction; parts of graphs, whose rows have other names, are not asked about edges.
        Edge(name(edge.0), name(edge.1))
    }
}
