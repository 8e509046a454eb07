//! `gcnproof certify`: a verdict for every node.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use gcnproof::internals::record::{NodeRecord, description};
use gcnproof::{Bound, Graph};
use miette::{IntoDiagnostic, Result};
use serde::Serialize;

use super::deployed::DeployedArguments;
use super::effort::EffortArguments;
use super::input::{self, Input, LocalArguments};
use super::logits::LogitsArguments;
use super::minima;
use super::proofs::Written;
use super::run::{Format, RunArguments};
use super::summary;
use super::verdicts::{self, Found, Verdicts};

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
  gcnproof certify cora.npz gcn.safetensors -Q 12 --deployed float32  (verdicts for every execution in float32)
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
    deployed: DeployedArguments,
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

/// Standard output for machines.
#[derive(Serialize)]
struct Output<'a> {
    run: &'a description::Description,
    interrupted: bool,
    summary: &'a summary::Summary,
    rows: &'a [NodeRecord],
    #[serde(skip_serializing_if = "Option::is_none")]
    proofs: Option<Written>,
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
        self.proofs.as_deref().map_or(Ok(()), verdicts::check_proofs_name)?;
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
        let minimizes = self.effort.minimizes();
        let found = Verdicts {
            graph: &graph,
            network: &network,
            identity: &identity,
            rules: self.input.passing.rules()?,
            budget,
            nodes: &nodes,
            bound,
            class: match self.class {
                Class::Predicted => description::Class::Predicted,
                Class::Labels => description::Class::Labels,
            },
            effort: self.effort.effort(),
            effort_record: self.effort.record(),
            deployed: self.deployed.execution(),
            proofs: self.proofs.as_deref(),
            run: &self.run,
        };
        let Found { rows, minima, proofs, interrupted, seconds, computed, description } = found.execute()?;
        let summary = summary::Summary::new(&rows, &labelled, seconds, computed);
        match self.run.format {
            Format::Table => {
                if minimizes {
                    put!("{}", minima::table(&rows, &minima))?;
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
                let output = Output { run: &description, interrupted, summary: &summary, rows: &rows, proofs };
                say!("{}", serde_json::to_string(&output).into_diagnostic()?)?;
            }
        }
        Ok(if interrupted { 130 } else { 0 })
    }

    fn nodes(&self, graph: &Graph) -> Result<Vec<usize>> {
        input::nodes(self.nodes.as_deref(), graph)
    }
}
