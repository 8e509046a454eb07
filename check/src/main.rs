//! The command `gcnproof-check GRAPH MODEL PROOFS`.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use gcnproof_check::{Options, Summary, Verdict, check, matrix_digest};
use gcnproof_files::{GraphOptions, read_graph, read_matrix, read_model};

const HELP: &str = "\
Checks proofs of the robustness of a graph convolutional network.

Usage: gcnproof-check [OPTIONS] GRAPH MODEL PROOFS

  GRAPH    npz file           MODEL    safetensors or npz file
  PROOFS   JSON lines, plain or zstd (see FORMAT.md)

  --message-passing RULES   insist on these rules, one or one per layer with commas between: gcn, mean, mean+self,
                            sum, sum+self, identity, or a matrix file; needed only for matrix files
  --binarize, --symmetrize, --unweight   read the graph as the certifier did
  --exact                   exact integers from the start (slow)

Exit code: 0 if everything is accepted, 1 if anything is rejected, 2 if a file cannot be read.";

fn main() -> ExitCode {
    match run() {
        Ok(Some(summary)) => report(&summary),
        Ok(None) => {
            println!("{HELP}");
            ExitCode::SUCCESS
        }
        Err(problem) => {
            eprintln!("gcnproof-check: {problem}");
            ExitCode::from(2)
        }
    }
}

fn run() -> Result<Option<Summary>, String> {
    let mut files: Vec<PathBuf> = Vec::new();
    let (mut graph_options, mut options) = (GraphOptions::default(), Options::default());
    let mut arguments = std::env::args_os().skip(1);
    let mut rules: Option<Vec<String>> = None;
    while let Some(argument) = arguments.next() {
        match argument.to_str() {
            Some("--help" | "-h") => return Ok(None),
            Some("--binarize") => graph_options.binarize = true,
            Some("--symmetrize") => graph_options.symmetrize = true,
            Some("--unweight") => graph_options.unweight = true,
            Some("--exact") => options.exact_only = true,
            Some("--message-passing") => {
                let value = arguments.next().and_then(|value| value.into_string().ok());
                let value = value.ok_or("--message-passing needs rules")?;
                rules = Some(value.split(',').map(|rule| named(rule, &mut options)).collect::<Result<_, _>>()?);
            }
            Some(other) if other.starts_with("--") => return Err(format!("unknown option {other} (try --help)")),
            _ => files.push(argument.into()),
        }
    }
    let [graph, model, proofs] = files.as_slice() else {
        return Err("GRAPH, MODEL and PROOFS are needed (try --help)".into());
    };
    let graph = read_graph(graph, &graph_options).map_err(|error| error.to_string())?;
    let model = read_model(model).map_err(|error| error.to_string())?;
    let reader = std::fs::File::open(proofs).map_err(|error| format!("{}: {error}", proofs.display()))?;
    let summary = check(&graph, &model, &options, reader, |_| {});
    if let (Some(rules), Some(header)) = (rules, &summary.header) {
        let stated = &header.message_passing;
        if !(rules == *stated || (rules.len() == 1 && stated.iter().all(|rule| *rule == rules[0]))) {
            return Err(format!("the proofs are about message passing {}", stated.join(",")));
        }
    }
    Ok(Some(summary))
}

/// A rule as a header names it; a matrix file is read and named by its digest.
fn named(rule: &str, options: &mut Options) -> Result<String, String> {
    if ["gcn", "mean", "mean+self", "sum", "sum+self", "identity"].contains(&rule) {
        return Ok(rule.into());
    }
    let matrix = read_matrix(rule.as_ref()).map_err(|error| error.to_string())?;
    let name = format!("matrix:{}", matrix_digest(&matrix));
    options.matrices.push(Arc::new(matrix));
    Ok(name)
}

fn report(summary: &Summary) -> ExitCode {
    if let Some(header) = &summary.header {
        let budget = &header.budget;
        println!("message passing {}", header.message_passing.join(","));
        println!("budget          Q = {}, q = {:?}, direction {:?}", budget.global, budget.local, budget.direction);
        println!("classes         {:?}", header.classes);
    }
    let [robust, non_robust, ties] = [Verdict::Robust, Verdict::NonRobust, Verdict::Tie].map(|v| summary.count(v));
    let nodes = summary.verdicts.len();
    println!("accepted        {robust} robust, {non_robust} non-robust, {ties} ties");
    println!("without proof   {} of {nodes} nodes", nodes - robust - non_robust - ties);
    println!("                {} of them with a reason", summary.unproved);
    println!("rejected        {}", summary.rejected);
    for rejection in &summary.rejections {
        println!("  {rejection}");
    }
    if summary.accepted() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
