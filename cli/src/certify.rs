//! `gcnproof certify`: a verdict for every node.

use std::collections::BTreeSet;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use gcnproof::edges::{Edges, Joint, JointBudget};
use gcnproof::{Bound, Flips};
use gcnproof_results::record::description;
use gcnproof_results::record::kept::KeptRows;
use gcnproof_run::flips::FlipOptions;
use gcnproof_run::ids::Ids;
use gcnproof_run::proofs::Written;
use gcnproof_run::question::{self, NodeQuestion};
use miette::{IntoDiagnostic, Report, Result, miette};
use serde::Serialize;

use super::deployed::DeployedArguments;
use super::edges::{self, EdgeArguments};
use super::effort::EffortArguments;
use super::input::{self, Input, LocalArguments};
use super::logits::{LogitsArguments, refuse_logits};
use super::ranges::RangeArguments;
use super::run::{Format, RunArguments};
use super::told::Told;

/// Certify the nodes of a graph: no attack within the budget changes the class, or here is one.
#[derive(Args, Debug)]
#[command(group = clap::ArgGroup::new("written").multiple(true))]
#[command(mut_arg("local", |arg| arg.requires("global")))]
#[command(mut_arg("epsilon", |arg| arg.conflicts_with("edges")))]
#[command(mut_arg("ranges", |arg| arg.conflicts_with("edges")))]
#[command(mut_arg("local_file", |arg| arg.requires("global")))]
#[command(mut_arg("flips", |arg| arg.requires("global")))]
#[command(mut_arg("freeze_attributes", |arg| arg.requires("global")))]
#[command(override_usage = "gcnproof certify [OPTIONS] -Q <N> <GRAPH> <MODEL>")]
#[command(after_help = "Examples:
  gcnproof certify cora.npz gcn.safetensors -Q 12 -q 1%
  gcnproof certify cora.npz gcn.safetensors -Q 12 --nodes 0-99 --out results.parquet
  gcnproof certify cora.npz gcn.safetensors --edges remove -E 5 -e 3

All options: gcnproof certify --help")]
#[command(after_long_help = "Examples:
  gcnproof certify cora.npz gcn.safetensors -Q 12 -q 1%
  gcnproof certify cora.npz gcn.safetensors -Q 5 -q 2 --flips add --nodes 0-99 --out results.parquet
  gcnproof certify cora.npz gcn.safetensors -Q 12 --out results.jsonl --resume
  gcnproof certify cora.npz gcn.safetensors -Q 12 --bounds-only       (the quick pass: some nodes stay undecided)
  gcnproof certify cora.npz gcn.safetensors -Q 12 --complete          (without a time limit for a node)
  gcnproof certify cora.npz gcn.safetensors -Q 12 --nodes 7 --minimize (the exact worst-case margins)
  gcnproof certify cora.npz gcn.safetensors -Q 12 --nodes 7 --minimize --exact-margins --format json   (as fractions)
  gcnproof certify cora.npz gcn.safetensors -Q 12 --proofs proofs.jsonl.zst   (see gcnproof check)
  gcnproof certify cora.npz gcn.safetensors -Q 12 --deployed float32  (verdicts for every execution in float32)
  gcnproof certify graph.npz gcn.safetensors -Q 12 --nodes graph.npz:test_mask --logits logits.npy
  gcnproof certify cora.npz gcn.safetensors --edges remove -E 5 -e 3   (the attacker removes edges)
  gcnproof certify cora.npz gcn.safetensors -Q 3 -q 1 --edges change -E 2 --candidates-within 2   (flips and edges at once)
  gcnproof certify graph.npz model.npz -Q 3 --message-passing mean,laplacian.npz --format json

Exit codes: 0 done (whatever the verdicts), 2 wrong usage or input, 130 interrupted (resume with --resume).")]
pub struct Certify {
    #[command(flatten)]
    input: Input,
    /// Flips of attributes in all
    #[arg(short = 'Q', long = "global", value_name = "N", value_parser = input::flips, help_heading = "Budget", allow_negative_numbers = true)]
    global: Option<usize>,
    #[command(flatten)]
    local: LocalArguments,
    #[command(flatten)]
    ranges: RangeArguments,
    /// With --edges: changed edges in all
    #[arg(
        short = 'E',
        long = "edges-global",
        value_name = "N",
        conflicts_with_all = ["bound", "omega", "labelled"],
        value_parser = edges::removals,
        help_heading = "Edges",
        allow_negative_numbers = true
    )]
    edges_global: Option<usize>,
    #[command(flatten)]
    edges: EdgeArguments,
    /// Only these nodes, or graphs where these are classified: ids and ranges (3,17,20-25), a file with ids or a mask,
    /// or an array as FILE.npz:NAME
    #[arg(long, value_name = "IDS|FILE", help_heading = "Nodes", allow_negative_numbers = true)]
    nodes: Option<String>,
    /// What one bound alone certifies, without a search
    #[arg(long, value_enum, default_value = "best", help_heading = "Effort", hide_short_help = true)]
    bound: BoundChoice,
    /// The class that a robust node keeps
    #[arg(long, value_enum, default_value = "predicted", help_heading = "Nodes", hide_short_help = true)]
    class: Class,
    #[command(flatten)]
    effort: EffortArguments,
    #[command(flatten)]
    deployed: DeployedArguments,
    #[command(flatten)]
    logits: LogitsArguments,
    /// The nodes that count as labelled in the summary: the same as for --nodes [default: those with a label]
    #[arg(long, value_name = "IDS|FILE", help_heading = "Nodes", hide_short_help = true)]
    labelled: Option<String>,
    /// Write a proof of every verdict to this file (.jsonl, or .jsonl.zst); `gcnproof check` checks it
    #[arg(long, value_name = "FILE", help_heading = "Output", group = "written")]
    proofs: Option<PathBuf>,
    #[command(flatten)]
    run: RunArguments,
}

/// Standard output for machines.
#[derive(Serialize)]
#[serde(bound = "")]
struct Output<'a, A: Told> {
    run: &'a description::Description,
    interrupted: bool,
    summary: A::Summary,
    rows: &'a KeptRows<A>,
    #[serde(skip_serializing_if = "Option::is_none")]
    proofs: Option<&'a Written>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum BoundChoice {
    /// The paper's dual bound, with the multipliers that it proposes (Ω)
    Paper,
    /// Our bound that is exact on the unperturbed graph (docs/math.md, section 5)
    Anchored,
    /// Both, and mixtures of them where neither decides
    Best,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Class {
    /// The class that the model predicts
    Predicted,
    /// The label in the graph
    Labels,
}

impl Class {
    fn record(self) -> description::Class {
        match self {
            Class::Predicted => description::Class::Predicted,
            Class::Labels => description::Class::Labels,
        }
    }
}

impl Certify {
    /// Runs the command. Returns the exit code.
    pub fn execute(self) -> Result<u8> {
        self.run.prepare()?;
        self.effort.check(self.is_single())?;
        self.proofs.as_deref().map_or(Ok(()), question::check_proofs_name)?;
        match (self.edges.wanted(self.edges_global.map(|_| "-E"))?, self.global) {
            (false, _) => self.flip(),
            (true, None) => self.remove_edges(),
            (true, Some(global)) => self.do_both(global),
        }
    }

    /// Is the question what one bound certifies?
    fn is_single(&self) -> bool {
        !matches!(self.bound, BoundChoice::Best)
    }

    fn flip(self) -> Result<u8> {
        let global = self.global.ok_or_else(|| how_many_flips(self.ranges.wanted()))?;
        let (graph, network, identity, part) = self.input.read_or_part(self.ranges.wanted())?;
        let ids = Ids::new(&graph, part.as_ref());
        refuse_logits(part.as_ref(), &self.logits)?;
        self.logits.insist(&graph, &network)?;
        let (budget, budget_record) = self.local.budget_of(&graph, part.as_ref(), global)?;
        let budget = self.ranges.of(&graph, part.as_ref(), budget)?;
        let budget_record = budget_record.with_ranges(&budget);
        let nodes = input::asked(&ids, self.nodes.as_deref(), &graph, part.as_ref())?;
        let labelled = ids.labelled(self.labelled.as_deref(), &graph)?;
        let bound = match self.bound {
            BoundChoice::Paper => Bound::Paper,
            BoundChoice::Anchored => Bound::Anchored,
            BoundChoice::Best => Bound::Best,
        };
        let run = self.run.run();
        let question: NodeQuestion<Flips> = NodeQuestion {
            graph: &graph,
            network: &network,
            identity: &identity,
            rules: self.input.files.passing.rules()?,
            budget,
            nodes: &nodes,
            ids,
            class: self.class.record(),
            effort: self.effort.effort(self.is_single()),
            effort_record: self.effort.record(self.is_single()),
            options: FlipOptions { budget_record, bound, deployed: self.deployed.execution() },
            run: &run,
        };
        self.answer(question, &labelled)
    }

    fn remove_edges(self) -> Result<u8> {
        let global = self.changed_edges()?;
        let (graph, network, identity) = self.input.read_edges(self.edges.directed_edges)?;
        self.logits.insist(&graph, &network)?;
        let budget = self.edges.budget(&graph, global, self.local.freeze_nodes.as_deref())?;
        let nodes = input::nodes(self.nodes.as_deref(), &graph)?;
        let run = self.run.run();
        let question: NodeQuestion<Edges> = NodeQuestion {
            graph: &graph,
            network: &network,
            identity: &identity,
            rules: self.input.files.passing.rules()?,
            budget,
            nodes: &nodes,
            ids: Ids::new(&graph, None),
            class: self.class.record(),
            effort: self.effort.effort(self.is_single()),
            effort_record: self.effort.record(self.is_single()),
            options: (),
            run: &run,
        };
        self.answer(question, &BTreeSet::new())
    }

    /// Flips and changed edges at once.
    fn do_both(self, flips: usize) -> Result<u8> {
        let global = self.changed_edges()?;
        let (graph, network, identity) = self.input.read_edges(self.edges.directed_edges)?;
        self.logits.insist(&graph, &network)?;
        let (flips, options) = self.local.budget(&graph, flips)?;
        let edges = self.edges.budget(&graph, global, self.local.freeze_nodes.as_deref())?;
        let nodes = input::nodes(self.nodes.as_deref(), &graph)?;
        let run = self.run.run();
        let question: NodeQuestion<Joint> = NodeQuestion {
            graph: &graph,
            network: &network,
            identity: &identity,
            rules: self.input.files.passing.rules()?,
            budget: JointBudget { flips, edges },
            nodes: &nodes,
            ids: Ids::new(&graph, None),
            class: self.class.record(),
            effort: self.effort.effort(self.is_single()),
            effort_record: self.effort.record(self.is_single()),
            options,
            run: &run,
        };
        self.answer(question, &BTreeSet::new())
    }

    /// `E`.
    fn changed_edges(&self) -> Result<usize> {
        self.edges_global.ok_or_else(|| {
            miette!(
                help = "add -E and a number, and -e for the most at one node",
                "--edges {}: how many edges may be {} in all?",
                self.edges.name(),
                self.edges.done()
            )
        })
    }

    /// Runs it and tells what was found.
    fn answer<A: Told>(&self, question: NodeQuestion<A>, labelled: &BTreeSet<u64>) -> Result<u8> {
        let (asked, graph) = (question.nodes.len(), question.graph);
        let found = question.verdicts(self.proofs.as_deref())?;
        let summary = A::summary(&found, labelled);
        match self.run.format {
            Format::Table => {
                if self.effort.minimizes() {
                    put!("{}", A::minima(&found))?;
                }
                put!("{}", A::table(&summary, &found.description, graph))?;
                if found.interrupted {
                    let (done, targets) = (found.rows.len(), found.description.targets());
                    say!("interrupted after {done} of {asked} {targets}: {} of these alone", A::NUMBERS_ARE)?;
                }
                if let Some(proofs) = &found.proofs {
                    put!("{proofs}")?;
                }
            }
            Format::Json => {
                let output: Output<A> = Output {
                    run: &found.description,
                    interrupted: found.interrupted,
                    summary,
                    rows: &found.rows,
                    proofs: found.proofs.as_ref(),
                };
                say!("{}", serde_json::to_string(&output).into_diagnostic()?)?;
            }
        }
        Ok(if found.interrupted { 130 } else { 0 })
    }
}

/// Nobody has said how many attributes may be flipped, or moved.
pub fn how_many_flips(moved: bool) -> Report {
    if moved {
        return miette!(
            help = "add -Q and a number, such as -Q 12; -q is the most at one node (1% of its attributes if you do not say): \
                    `-Q 1000000000 -q 100%` moves all of them at once",
            "how many attributes may the attacker move in all?"
        );
    }
    miette!(
        help = "add -Q and a number, such as -Q 12; -q is the most at one node (1% of its attributes if you do not say); for \
                removed edges: --edges remove -E 5",
        "how many attributes may the attacker change in all?"
    )
}
