//! Options for attacks on edges, and the work of `certify --edges`: a verdict for every node of a list.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Instant;

use clap::{Args, ValueEnum};
use gcnproof::edges::{EdgeBudget, EdgeCertifier, EdgeError, EdgeMinimum, EdgeProblem, EdgeResult, edge_header};
use gcnproof::{Effort, Graph, Network, Operator};
use gcnproof_check::edges::Checker;
use gcnproof_check::edges::format::Header;
use gcnproof_check::format::Convention;
use gcnproof_files::read_integers;
use gcnproof_results::record::description::{Class, Description, EffortRecord, Identity, NodeSet};
use gcnproof_results::record::edges::{EdgeBudgetRecord, EdgeRecord, EdgeRun};
use miette::{IntoDiagnostic, Result, WrapErr, miette};
use rayon::prelude::*;

use super::edge_proofs::EdgeProofs;
use super::ids::Ids;
use super::input::identifiers;
use super::proofs::Written;
use super::reproduction::remember;
use super::run::{RunArguments, stop, stopped};
use super::verdicts::check_labels;

/// What may be done to edges.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum EdgeAttack {
    /// Edges are removed
    Remove,
    /// Edges are added: not decided
    Add,
    /// Both: not decided
    Both,
}

/// The attacker's means where edges are attacked, except for `E`.
#[derive(Args, Clone, Debug)]
pub struct EdgeArguments {
    /// Attack edges instead of attributes: remove (operators are recomputed from the edges that are left)
    #[arg(
        long,
        value_enum,
        value_name = "ATTACK",
        help_heading = "Edges",
        conflicts_with_all = ["local", "local_file", "flips", "freeze_attributes", "deployed"]
    )]
    pub edges: Option<EdgeAttack>,
    /// Removed edges per node, at both ends of each [default: no limit of its own]
    #[arg(short = 'e', long = "edges-local", value_name = "N", requires = "edges", value_parser = removals, help_heading = "Edges")]
    pub edges_local: Option<usize>,
    /// A file with one local budget of removed edges per node (text, one per line, or .npy); replaces -e
    #[arg(long, value_name = "FILE", requires = "edges", conflicts_with = "edges_local", help_heading = "Edges")]
    pub edges_local_file: Option<PathBuf>,
    /// Does every node that has edges keep one?
    #[arg(
        long,
        value_name = "true|false",
        requires = "edges",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "true",
        help_heading = "Edges"
    )]
    pub keep_one_edge: Option<bool>,
    /// A file with edges that cannot be removed: the ids of both ends one after the other (text, one per line, or .npy)
    #[arg(long, value_name = "FILE", requires = "edges", help_heading = "Edges")]
    pub freeze_edges: Option<PathBuf>,
}

/// A number of removals.
pub fn removals(text: &str) -> std::result::Result<usize, String> {
    text.parse().map_err(|_| format!("'{text}' is not a number of edges: give a whole number, 0 or more"))
}

impl EdgeArguments {
    /// Are edges attacked?
    ///
    /// # Errors
    /// If in a way that is not decided.
    pub fn wanted(&self) -> Result<bool> {
        match self.edges {
            None => Ok(false),
            Some(EdgeAttack::Remove) => Ok(true),
            Some(other) => {
                let name = if other == EdgeAttack::Add { "add" } else { "both" };
                Err(miette!(
                    help = "give --edges remove",
                    "--edges {name}: attacks that add edges are not decided, and nothing is approximated in their place"
                ))
            }
        }
    }

    /// The budget with a given `E`; `freeze_nodes` is the option of that name.
    ///
    /// # Errors
    /// If a file or a list does not fit the graph.
    pub fn budget(&self, graph: &Graph, global: usize, freeze_nodes: Option<&str>) -> Result<EdgeBudget> {
        let mut budget = match &self.edges_local_file {
            Some(path) => EdgeBudget::per_node(graph, global, &read_integers(path)?)
                .into_diagnostic()
                .wrap_err_with(|| format!("{} cannot be used as local budgets of edges", path.display()))?,
            None => EdgeBudget::uniform(graph, global, self.edges_local.unwrap_or(u32::MAX as usize)),
        };
        budget = budget.keep_one(self.keep_one_edge.unwrap_or(true));
        if let Some(list) = freeze_nodes {
            let nodes = identifiers(list, graph.node_count(), "nodes")?;
            budget = budget.freeze_nodes(&nodes).into_diagnostic().wrap_err("--freeze-nodes")?;
        }
        if let Some(path) = &self.freeze_edges {
            let ids = read_integers(path)?;
            if ids.len() % 2 == 1 {
                return Err(miette!(
                    help = "write the ids of both ends of each edge, one after the other",
                    "--freeze-edges {}: {} ids are no list of pairs",
                    path.display(),
                    ids.len()
                ));
            }
            let edges: Vec<(i64, i64)> = ids.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect();
            budget = budget
                .freeze_edges(graph, &edges)
                .into_diagnostic()
                .wrap_err_with(|| format!("--freeze-edges {}", path.display()))?;
        }
        Ok(budget)
    }
}

/// Puts graph, network and budget together.
///
/// # Errors
/// If removed edges are not decided for such a network.
pub fn problem(graph: &Graph, network: &Network, budget: EdgeBudget) -> Result<EdgeProblem> {
    remember(graph, network);
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
    pub run: &'a RunArguments,
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
        let problem = problem(graph, network, self.budget.clone())?;
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
        let open = |path| EdgeProofs::open(path, self.header(), network, self.run.mode());
        let proofs = self.proofs.map(open).transpose()?;
        let file = proofs.as_ref().map(|_| graph.file());
        let statement = proofs.as_ref().zip(file.as_ref()).map(|(proofs, file)| proofs.statement(file)).transpose()?;
        let checker = statement.as_ref().map(|statement| Checker::new(statement, false));
        let exact_margins = self.effort_record.exact_margins;
        let minimizes = matches!(self.effort, Effort::Minimize { .. });
        let schema = if exact_margins { EdgeRecord::EXACT_SCHEMA } else { EdgeRecord::SCHEMA };
        let (found, contradictions) = (Mutex::new(BTreeMap::new()), Contradictions::default());
        let certifier = EdgeCertifier::new(problem).effort(self.effort).proofs(proofs.is_some()).stop(stopped);
        let (rows, interrupted) = self.run.rows_again(
            schema,
            &description,
            &keys,
            |row: &EdgeRecord| row.node,
            |node| proofs.as_ref().is_some_and(|proofs| !proofs.has(node)),
            |open, done| {
                open.par_iter().with_max_len(1).for_each(|&node| {
                    if stopped() {
                        return;
                    }
                    let start = Instant::now();
                    let Some(result) = contradictions.none_in(certify_one(&certifier, node as usize, class)) else {
                        return;
                    };
                    let seconds = start.elapsed().as_secs_f64();
                    // Cut short, not undecided: --resume will ask again.
                    if stopped() && result.limit_hit {
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
#[derive(Default)]
pub struct Contradictions(Mutex<Option<EdgeError>>);

impl Contradictions {
    /// What was found, unless that is an error.
    pub fn none_in<T>(&self, found: Result<T, EdgeError>) -> Option<T> {
        let error = match found {
            Ok(found) => return Some(found),
            Err(error) => error,
        };
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).get_or_insert(error);
        stop();
        None
    }

    /// After the run.
    ///
    /// # Errors
    /// If there was one.
    pub fn finish(self) -> Result<()> {
        match self.0.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner()) {
            None => Ok(()),
            Some(error) => Err(miette!(
                help = "this is a bug of gcnproof: please report it with the graph, the model and the command",
                "--edges remove: {error}"
            )),
        }
    }
}
