//! `gcnproof check`: are these proofs right?

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use gcnproof::model::MessagePassing;
use gcnproof_check::format::{Direction, Local};
use gcnproof_check::{Options, Summary, Verdict, check, matrix_digest};
use gcnproof_files::{read_matrix, read_model};
use miette::{IntoDiagnostic, Result, WrapErr, miette};
use serde_json::{Value, json};

use super::input::GraphArguments;
use super::run::{Format, progress_bar};

/// Check proofs: replay every one in exact arithmetic, with code that shares no arithmetic with the certifier.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  gcnproof certify cora.npz gcn.safetensors -Q 12 --complete --proofs proofs.jsonl.zst
  gcnproof check cora.npz gcn.safetensors proofs.jsonl.zst
  gcnproof check graph.npz model.npz proofs.jsonl --message-passing mean,laplacian.npz --format json

Exit codes: 0 everything is accepted, 1 something is rejected, 2 wrong usage or input.")]
pub struct Check {
    /// The graph (.npz with adj_*, attr_* and labels)
    graph: PathBuf,
    /// The trained model (.safetensors or .npz)
    model: PathBuf,
    /// The proofs (.jsonl or .jsonl.zst; check/FORMAT.md)
    proofs: PathBuf,
    #[command(flatten)]
    options: GraphArguments,
    /// Insist on this message passing, one rule or one per layer: needed only where a matrix file takes part
    #[arg(long, value_name = "RULE", value_delimiter = ',', help_heading = "Model")]
    message_passing: Vec<String>,
    /// Exact integers from the start: slow
    #[arg(long)]
    exact: bool,
    /// Standard output: a table or JSON
    #[arg(long, value_enum, default_value = "table", help_heading = "Output")]
    format: Format,
    /// Threads [default: all cores]
    #[arg(long, value_name = "N", help_heading = "Output", value_parser = clap::value_parser!(u16).range(1..))]
    threads: Option<u16>,
}

/// Rejections that a table shows; JSON has all that the checker keeps.
const SHOWN: usize = 20;

impl Check {
    /// Runs the command. Returns the exit code.
    pub fn execute(self) -> Result<u8> {
        if let Some(threads) = self.threads {
            rayon::ThreadPoolBuilder::new().num_threads(threads.into()).build_global().into_diagnostic()?;
        }
        let graph = self.options.read(&self.graph)?;
        let model = read_model(&self.model)?;
        let mut options = Options { exact_only: self.exact, ..Options::default() };
        let rules = self.message_passing.iter().map(|rule| named(rule, &mut options)).collect::<Result<Vec<_>>>()?;
        let unreadable = || format!("{} cannot be read", self.proofs.display());
        let reader = File::open(&self.proofs).into_diagnostic().wrap_err_with(unreadable)?;
        let bar = progress_bar(graph.node_count());
        let start = std::time::Instant::now();
        let summary = check(graph.file(), &model, &options, reader, |nodes| bar.set_position(nodes));
        bar.finish_and_clear();
        if let (false, Some(header)) = (rules.is_empty(), &summary.header) {
            let stated = &header.message_passing;
            if !(rules == *stated || (rules.len() == 1 && stated.iter().all(|rule| *rule == rules[0]))) {
                let stated = stated.join(",");
                return Err(miette!(
                    help = "leave --message-passing out, or give the rules that the proofs are about",
                    "the proofs are about message passing {stated}"
                ));
            }
        }
        match self.format {
            Format::Json => println!("{}", machine(&summary)),
            Format::Table => table(&summary, start.elapsed().as_secs_f64()),
        }
        Ok(if summary.accepted() { 0 } else { 1 })
    }
}

/// A rule as a header names it; a matrix file is read and named by its digest.
fn named(rule: &str, options: &mut Options) -> Result<String> {
    match rule.parse::<MessagePassing>() {
        Ok(rule) => Ok(rule.name().to_string()),
        Err(unknown) if !Path::new(rule).exists() => Err(miette!(
            help = "give one of the rules, or the path of a matrix file",
            "{unknown}, and no such file exists"
        )),
        Err(_) => {
            let matrix = read_matrix(rule.as_ref())?;
            let name = format!("matrix:{}", matrix_digest(&matrix));
            options.matrices.push(Arc::new(matrix));
            Ok(name)
        }
    }
}

const VERDICTS: [(Verdict, &str); 3] =
    [(Verdict::Robust, "robust"), (Verdict::NonRobust, "non_robust"), (Verdict::Tie, "tie")];

fn machine(summary: &Summary) -> Value {
    let name = |verdict: Verdict| VERDICTS.iter().find(|one| one.0 == verdict).map(|one| one.1);
    let nodes = summary.verdicts.iter().enumerate();
    json!({
        "statement": summary.header,
        "accepted": VERDICTS.map(|(verdict, name)| (name, summary.count(verdict)))
            .into_iter().collect::<std::collections::BTreeMap<_, _>>(),
        "nodes": summary.verdicts.len(),
        "without_proof": summary.unproved,
        "reasons_without_proof": summary.unproved_reasons,
        "rejected": summary.rejected,
        "rejections": summary.rejections.iter().map(|one| json!({
            "line": one.line, "node": one.node, "class": one.fault.class, "tree_node": one.fault.step,
            "reason": one.fault.reason.to_string(),
        })).collect::<Vec<_>>(),
        "verdicts": nodes.filter_map(|(node, verdict)| Some(json!([node, name((*verdict)?)])))
            .collect::<Vec<_>>(),
    })
}

fn table(summary: &Summary, seconds: f64) {
    if let Some(header) = &summary.header {
        let budget = &header.budget;
        let local = match &budget.local {
            Local::Uniform(q) => q.to_string(),
            Local::PerNode(_) => "its own number".to_string(),
        };
        let direction = match budget.direction {
            Direction::Both => "both",
            Direction::Add => "add",
            Direction::Remove => "remove",
        };
        println!("statement   Q = {} flips in all, q = {local} per node, {direction}", budget.global);
        if !budget.frozen_attributes.is_empty() {
            println!("            {} attributes cannot be touched", budget.frozen_attributes.len());
        }
        println!("            message passing {}", header.message_passing.join(","));
        println!("            classes: {}", format!("{:?}", header.classes).to_lowercase());
    }
    let [robust, non_robust, ties] = VERDICTS.map(|(verdict, _)| summary.count(verdict));
    let (proved, nodes) = (robust + non_robust + ties, summary.verdicts.len());
    println!("accepted    {proved}: {robust} robust, {non_robust} non-robust, {ties} ties");
    println!("rejected    {}", summary.rejected);
    for rejection in summary.rejections.iter().take(SHOWN) {
        println!("            {rejection}");
    }
    println!("covered     {proved} of {nodes} nodes");
    if summary.unproved > 0 {
        println!("            {} nodes come with a reason why they have no proof, such as", summary.unproved);
    }
    for one in summary.unproved_reasons.iter().take(3) {
        println!("            node {}: {:?}", one.id, one.reason);
    }
    println!("{seconds:.2} s");
}
