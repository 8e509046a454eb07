//! Says what checking a file of proofs costs, beside what it may cost: every limit is meant to be far away from any
//! honest file.
//!
//! `cargo run --release -p gcnproof-check --example cost -- GRAPH MODEL PROOFS [--exact]`

use std::error::Error;
use std::fs::File;

use gcnproof_check::work::{Limits, Steps};
use gcnproof_check::{Options, check};
use gcnproof_files::{GraphOptions, read_graph, read_model};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [graph, model, proofs, rest @ ..] = arguments.as_slice() else { return Err("GRAPH MODEL PROOFS".into()) };
    let graph = read_graph(
        graph.as_ref(),
        &GraphOptions { binarize: true, symmetrize: true, unweight: true, ..GraphOptions::default() },
    )?;
    let model = read_model(model.as_ref())?;
    let options = Options { exact_only: !rest.is_empty(), limits: Limits::NONE, ..Options::default() };
    let start = std::time::Instant::now();
    let summary = check(&graph, &model, &options, File::open(proofs)?, |_| {});
    let seconds = start.elapsed().as_secs_f64();
    let Steps { all, line, wasted, bounds } = summary.steps;
    let limits = Limits::default();
    let file = limits.file + limits.node * graph.attributes.rows as u64;
    let share =
        |cost: u64, limit: u64| format!("{cost} steps, 1/{:.0} of the limit", limit as f64 / cost.max(1) as f64);
    println!("{} proved, {} rejected, {seconds:.1} s", summary.proved(), summary.rejected);
    println!("all lines            {all} steps");
    println!("most expensive line  {}", share(line, limits.line));
    println!("in vain or shared    {}", share(wasted, file));
    println!("bounds of units      {bounds} steps");
    Ok(())
}
