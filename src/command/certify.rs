//! `gcnproof certify`: a verdict for every node.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use clap::{Args, ValueEnum};
use gcnproof::internals::bound::workspace::Workspace;
use gcnproof::internals::record::NodeRecord;
use gcnproof::internals::record::description::{self, CertifyRun, Description, Identity, NodeSet};
use gcnproof::{Bound, Budget, Certifier, Graph, Network, NodeResult};
use gcnproof_check::Checker;
use gcnproof_check::format::Convention;
use miette::{Result, miette};
use rayon::prelude::*;
use serde_json::json;

use super::effort::EffortArguments;
use super::input::{self, Input, LocalArguments};
use super::logits::LogitsArguments;
use super::minima;
use super::proofs::Proofs;
use super::run::{Format, RunArguments, certifier, stopped};
use super::summary;

/// Certify the nodes of a graph: no attack within the budget changes the class, or here is one.
#[derive(Args, Debug)]
#[command(group = clap::ArgGroup::new("written").multiple(true))]
#[command(after_help = "Examples:
  gcnproof certify cora.npz gcn.safetensors -Q 12 -q 1%
  gcnproof certify cora.npz gcn.safetensors -Q 5 -q 2 --flips add --nodes 0-99 --out results.parquet
  gcnproof certify cora.npz gcn.safetensors -Q 12 --out results.jsonl --resume
  gcnproof certify cora.npz gcn.safetensors -Q 12 --complete          (goes on until every node is decided)
  gcnproof certify cora.npz gcn.safetensors -Q 12 --nodes 7 --minimize (the exact worst-case margins)
  gcnproof certify cora.npz gcn.safetensors -Q 12 --nodes 7 --minimize --exact-margins --format json   (as fractions)
  gcnproof certify cora.npz gcn.safetensors -Q 12 --complete --proofs proofs.jsonl.zst   (see gcnproof check)
  gcnproof certify graph.npz gcn.safetensors -Q 12 --nodes graph.npz:test_mask --logits logits.npy
  gcnproof certify graph.npz model.npz -Q 3 --message-passing mean,laplacian.npz --format json

Exit codes: 0 done (whatever the verdicts), 2 wrong usage or input, 130 interrupted (resume with --resume).")]
pub struct Certify {
    #[command(flatten)]
    input: Input,
    /// Flips in all
    #[arg(short = 'Q', long = "global", value_name = "N", value_parser = input::flips, help_heading = "Budget")]
    global: usize,
    #[command(flatten)]
    local: LocalArguments,
    /// Only these nodes: ids and ranges (3,17,20-25), a file with ids or a mask, or an array as FILE.npz:NAME
    #[arg(long, value_name = "IDS|FILE")]
    nodes: Option<String>,
    /// Which bound certifies
    #[arg(long, value_enum, default_value = "best")]
    bound: BoundChoice,
    /// The class that is to be kept
    #[arg(long, value_enum, default_value = "predicted")]
    class: Class,
    #[command(flatten)]
    effort: EffortArguments,
    #[command(flatten)]
    logits: LogitsArguments,
    /// The nodes that count as labelled in the summary: the same as for --nodes [default: those with a label]
    #[arg(long, value_name = "IDS|FILE")]
    labelled: Option<String>,
    /// Write a proof of every verdict to this file (.jsonl, or .jsonl.zst); `gcnproof check` checks it
    #[arg(long, value_name = "FILE", help_heading = "Output", group = "written")]
    proofs: Option<PathBuf>,
    #[command(flatten)]
    run: RunArguments,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum BoundChoice {
    /// The paper's dual at its default Ω
    Paper,
    /// The bound anchored at the unperturbed graph
    Anchored,
    /// Both, and where neither settles a class pair, mixtures of chord and capped bound
    Best,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Class {
    /// The class that the model predicts
    Predicted,
    /// The label in the graph
    Labels,
}

impl Certify {
    /// Runs the command. Returns the exit code.
    pub fn execute(self) -> Result<u8> {
        self.run.prepare()?;
        self.effort.check()?;
        self.check_proofs_name()?;
        let (graph, network, identity) = self.input.read()?;
        self.logits.insist(&graph, &network)?;
        let (budget, budget_record) = self.local.budget(&graph, self.global)?;
        let budget_record = budget_record.with_global(self.global);
        let nodes = self.nodes(&graph)?;
        let labelled = summary::labelled(self.labelled.as_deref(), &graph)?;
        let bound = match self.bound {
            BoundChoice::Paper => Bound::Paper,
            BoundChoice::Anchored => Bound::Anchored,
            BoundChoice::Best => Bound::Best,
        };
        if self.class == Class::Labels {
            check_labels(&graph, &nodes, network.class_count())?;
        }
        let description = Description::Certify(CertifyRun {
            input: identity.clone(),
            budget: budget_record.clone(),
            bound: Some(bound),
            effort: Some(self.effort.record()),
            class: Some(match self.class {
                Class::Predicted => description::Class::Predicted,
                Class::Labels => description::Class::Labels,
            }),
            nodes: nodes.len(),
            node_set: NodeSet::new(&nodes, graph.node_count()),
        });
        let start = std::time::Instant::now();
        let keys: Vec<u64> = nodes.iter().map(|&n| n as u64).collect();
        let proofs = self.proofs(&graph, &network, &identity, &budget)?;
        let file = proofs.as_ref().map(|_| graph.file());
        let statement = proofs.as_ref().zip(file.as_ref()).map(|(proofs, file)| proofs.statement(file)).transpose()?;
        let checker = statement.as_ref().map(|statement| Checker::new(statement, false));
        let schema = if self.effort.exact_margins { NodeRecord::EXACT_SCHEMA } else { NodeRecord::SCHEMA };
        let found = Mutex::new(BTreeMap::new());
        let computed = AtomicUsize::new(0);
        let (rows, interrupted) = self.run.rows_again(
            schema,
            &description,
            &keys,
            |row: &NodeRecord| row.node,
            |node| proofs.as_ref().is_some_and(|proofs| !proofs.has(node)),
            |open, done| {
                if open.is_empty() {
                    return;
                }
                let certifier = certifier(&graph, &network, budget).bound(bound).effort(self.effort.effort());
                let certifier = certifier.proofs(proofs.is_some()).build();
                open.par_iter().for_each_init(Workspace::default, |workspace, &node| {
                    if stopped() {
                        return;
                    }
                    let start = std::time::Instant::now();
                    let result = certify_one(&certifier, node as usize, self.class, workspace);
                    let seconds = start.elapsed().as_secs_f64();
                    // Cut short, not undecided: --resume will ask again.
                    if stopped() && result.limit_hit {
                        return;
                    }
                    // First the proof, then the row: a row without its proof would be done again, but may not come back.
                    if let (Some(proofs), Some(checker)) = (&proofs, &checker) {
                        proofs.push(&result, checker);
                    }
                    let minima = result.minima.clone();
                    let mut row = NodeRecord::new(certifier.graph(), result, seconds);
                    if self.effort.exact_margins {
                        row = row.with_exact_margins(&minima);
                    }
                    if self.effort.minimizes() {
                        let mut found = found.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
                        found.insert(node, minima);
                    }
                    computed.fetch_add(1, Ordering::Relaxed);
                    done(row);
                });
            },
        )?;
        let proofs = proofs.map(|proofs| proofs.finish(!interrupted, &rows)).transpose()?;
        let seconds = start.elapsed().as_secs_f64();
        let summary = summary::Summary::new(&rows, &labelled, seconds, computed.into_inner());
        match self.run.format {
            Format::Table => {
                if self.effort.minimizes() {
                    let found = found.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
                    put!("{}", minima::table(&rows, &found))?;
                }
                put!("{}", summary.table(&budget_record))?;
                if interrupted {
                    say!(
                        "interrupted after {} of {} nodes: all shares and means are of these alone",
                        rows.len(),
                        nodes.len()
                    )?;
                }
                if let Some(proofs) = &proofs {
                    put!("{proofs}")?;
                }
            }
            Format::Json => {
                let mut output =
                    json!({ "run": description, "interrupted": interrupted, "summary": summary, "rows": rows });
                if let Some(proofs) = proofs {
                    output["proofs"] = json!(proofs);
                }
                say!("{output}")?;
            }
        }
        Ok(if interrupted { 130 } else { 0 })
    }

    fn nodes(&self, graph: &Graph) -> Result<Vec<usize>> {
        input::nodes(self.nodes.as_deref(), graph)
    }

    /// The name of a file says what is in it, here as elsewhere.
    fn check_proofs_name(&self) -> Result<()> {
        let name = |path: &PathBuf| path.to_string_lossy().to_lowercase();
        match self
            .proofs
            .as_ref()
            .filter(|path| !(name(path).ends_with(".jsonl") || name(path).ends_with(".jsonl.zst")))
        {
            None => Ok(()),
            Some(path) => Err(miette!(
                help = "end the name in .jsonl (JSON lines) or .jsonl.zst (compressed)",
                "--proofs {}: the name does not say that it holds JSON lines",
                path.display()
            )),
        }
    }

    /// The file of proofs, if one is asked for.
    fn proofs(&self, graph: &Graph, network: &Network, identity: &Identity, budget: &Budget) -> Result<Option<Proofs>> {
        let Some(path) = &self.proofs else { return Ok(None) };
        let classes = match self.class {
            Class::Predicted => Convention::Predicted,
            Class::Labels => Convention::Labels,
        };
        let digests = (graph.digest(), identity.model.as_str());
        let rules = self.input.passing.rules()?;
        let header = gcnproof::proof::header(digests, (network, &rules), budget, classes);
        Ok(Some(Proofs::open(path, header, network, self.run.mode())?))
    }
}

fn certify_one(certifier: &Certifier, node: usize, class: Class, workspace: &mut Workspace) -> NodeResult {
    match (class, certifier.graph().label(node)) {
        (Class::Labels, Some(label)) => {
            certifier.certify_class(node, label as usize, certifier.predicted(node), workspace)
        }
        _ => certifier.certify_node(node, workspace),
    }
}

/// `--class labels` needs a usable label for every node asked for.
fn check_labels(graph: &Graph, nodes: &[usize], classes: usize) -> Result<()> {
    for &node in nodes {
        match graph.label(node) {
            Some(label) if (label as usize) < classes => {}
            Some(label) => {
                return Err(miette!(
                    help = "use --class predicted, or name other nodes with --nodes",
                    "--class labels: node {node} has label {label}, but the model has {classes} classes"
                ));
            }
            None => {
                return Err(miette!(
                    help = "use --class predicted, or name only labelled nodes with --nodes",
                    "--class labels: node {node} has no label"
                ));
            }
        }
    }
    Ok(())
}
