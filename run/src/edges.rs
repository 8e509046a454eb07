//! Runs about removed edges: a verdict for every node of a list.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use gcnproof::edges::{EdgeBudget, EdgeCertifier, EdgeError, EdgeMinimum, EdgeProblem, EdgeResult, edge_header};
use gcnproof::{Effort, Graph, Network, Operator};
use gcnproof_check::edges::Checker;
use gcnproof_check::edges::format::Header;
use gcnproof_check::format::Convention;
use gcnproof_results::record::description::{Class, Description, EffortRecord, Identity, NodeSet};
use gcnproof_results::record::edges::{EdgeBudgetRecord, EdgeRecord, EdgeRun};
use miette::{Result, miette};
use rayon::prelude::*;

use super::edge_proofs::EdgeProofs;
use super::host::Host;
use super::ids::Ids;
use super::proofs::Written;
use super::run::Run;
use super::verdicts::check_labels;

/// Puts graph, network and budget together.
///
/// # Errors
/// If removed edges are not decided for such a network.
pub fn problem(run: &Run, graph: &Graph, network: &Network, budget: EdgeBudget) -> Result<EdgeProblem> {
    run.host.remember(graph, network);
    EdgeProblem::new(graph.clone(), network.clone(), budget).map_err(|error| {
        let help = match &error {
            EdgeError::Operator { .. } => {
                "give a model, or --message-passing, with rules that the graph's edges determine"
            }
            EdgeError::Depth { .. } => "give a model with one hidden layer",
            EdgeError::Terms { .. } => "give a model whose first layer passes messages in one term",
            _ => "give a graph, a model and a budget that belong together",
        };
        miette!(help = help, "--edges remove: {error}")
    })
}

/// What is asked.
pub struct EdgeVerdicts<'a> {
    /// The graph.
    pub graph: &'a Graph,
    /// The network on it.
    pub network: &'a Network,
    /// Digests of both, for the record.
    pub identity: &'a Identity,
    /// The rules of message passing as they were given, for the header of proofs.
    pub rules: Vec<Operator>,
    /// What an attacker may do.
    pub budget: EdgeBudget,
    /// The nodes, in rising order.
    pub nodes: &'a [usize],
    /// The class that is to be kept.
    pub class: Class,
    /// How far to go.
    pub effort: Effort,
    /// The same for the record.
    pub effort_record: EffortRecord,
    /// Where proofs go.
    pub proofs: Option<&'a Path>,
    /// Where rows go.
    pub run: &'a Run,
}

/// What was found.
pub struct EdgeFound {
    /// A row for every node.
    pub rows: Vec<EdgeRecord>,
    /// The exact minima of the class pairs of a node, where they were asked for.
    pub minima: BTreeMap<u64, Vec<Option<EdgeMinimum>>>,
    /// What was written of proofs.
    pub proofs: Option<Written>,
    /// Was the run interrupted?
    pub interrupted: bool,
    /// Wall-clock seconds.
    pub seconds: f64,
    /// What the run was.
    pub description: Description,
}

impl EdgeVerdicts<'_> {
    /// Runs it.
    ///
    /// # Errors
    /// If the network is not decided, labels are missing, or a file cannot be written.
    pub fn execute(self) -> Result<EdgeFound> {
        let EdgeVerdicts { graph, network, class, .. } = self;
        if class == Class::Labels {
            check_labels(graph, self.nodes, Ids::new(graph, None), network.class_count())?;
        }
        let problem = problem(self.run, graph, network, self.budget.clone())?;
        let description = Description::CertifyEdges(EdgeRun {
            input: self.identity.clone(),
            edges: EdgeBudgetRecord::new(&self.budget, true),
            max_global: None,
            effort: self.effort_record,
            class,
            nodes: self.nodes.len(),
            node_set: NodeSet::new(self.nodes, graph.node_count()),
        });
        let start = Instant::now();
        let keys: Vec<u64> = self.nodes.iter().map(|&n| n as u64).collect();
        let open = |path| EdgeProofs::open(path, self.header(), network, self.run);
        let proofs = self.proofs.map(open).transpose()?;
        let file = proofs.as_ref().map(|_| graph.file());
        let statement = proofs.as_ref().zip(file.as_ref()).map(|(proofs, file)| proofs.statement(file)).transpose()?;
        let checker = statement.as_ref().map(|statement| Checker::new(statement, false));
        let exact_margins = self.effort_record.exact_margins;
        let minimizes = matches!(self.effort, Effort::Minimize { .. });
        let schema = if exact_margins { EdgeRecord::EXACT_SCHEMA } else { EdgeRecord::SCHEMA };
        let (found, contradictions) = (Mutex::new(BTreeMap::new()), Contradictions::new(self.run));
        let certifier =
            EdgeCertifier::new(problem).effort(self.effort).proofs(proofs.is_some()).stop(self.run.stopped());
        let (rows, interrupted) = self.run.rows_again(
            schema,
            &description,
            &keys,
            |row: &EdgeRecord| row.node,
            |node| proofs.as_ref().is_some_and(|proofs| !proofs.has(node)),
            |open, done| {
                open.par_iter().with_max_len(1).for_each(|&node| {
                    if self.run.is_stopped() {
                        return;
                    }
                    let start = Instant::now();
                    let Some(result) = contradictions.none_in(certify_one(&certifier, node as usize, class)) else {
                        return;
                    };
                    let seconds = start.elapsed().as_secs_f64();
                    // Cut short, not undecided: --resume will ask again.
                    if self.run.is_stopped() && result.limit_hit {
                        return;
                    }
                    // First the proof, then the row: a row without its proof would be done again, but may not come back.
                    if let (Some(proofs), Some(checker)) = (&proofs, &checker) {
                        proofs.push(&certifier, &result, checker);
                    }
                    let minima = result.minima.clone();
                    let mut row = EdgeRecord::new(graph, result, seconds);
                    if exact_margins {
                        row = row.with_exact_margins(&minima);
                    }
                    if minimizes {
                        found.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).insert(node, minima);
                    }
                    done(row);
                });
            },
        )?;
        contradictions.finish()?;
        let proofs = proofs.map(|proofs| proofs.finish(!interrupted, &rows)).transpose()?;
        Ok(EdgeFound {
            rows,
            minima: found.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner()),
            proofs,
            interrupted,
            seconds: start.elapsed().as_secs_f64(),
            description,
        })
    }

    fn header(&self) -> Header {
        let digests = (self.graph.digest(), self.identity.model.as_str());
        let classes = if self.class == Class::Labels { Convention::Labels } else { Convention::Predicted };
        edge_header(digests, (self.network, &self.rules), &self.budget, classes)
    }
}

fn certify_one(certifier: &EdgeCertifier, node: usize, class: Class) -> Result<EdgeResult, EdgeError> {
    match (class, certifier.problem().graph().label(node)) {
        (Class::Labels, Some(label)) => certifier.for_class(node, label as usize),
        _ => certifier.one(node),
    }
}

/// The first result that contradicts itself, of all threads: it stops the run.
pub struct Contradictions {
    first: Mutex<Option<EdgeError>>,
    host: Arc<dyn Host>,
}

impl Contradictions {
    /// None so far.
    pub fn new(run: &Run) -> Contradictions {
        Contradictions { first: Mutex::new(None), host: run.host.clone() }
    }

    /// Has somebody asked to stop?
    pub fn is_stopped(&self) -> bool {
        self.host.is_stopped()
    }

    /// What was found, unless that is an error.
    pub fn none_in<T>(&self, found: Result<T, EdgeError>) -> Option<T> {
        let error = match found {
            Ok(found) => return Some(found),
            Err(error) => error,
        };
        self.first.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).get_or_insert(error);
        self.host.stop();
        None
    }

    /// After the run.
    ///
    /// # Errors
    /// If there was one.
    pub fn finish(self) -> Result<()> {
        match self.first.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner()) {
            None => Ok(()),
            Some(error) => Err(miette!(
                help = "this is a bug of gcnproof: please report it with the graph, the model and the command",
                "--edges remove: {error}"
            )),
        }
    }
}
