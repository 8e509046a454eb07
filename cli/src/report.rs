//! `gcnproof report`: makes one HTML page from result files.

use std::path::PathBuf;

use clap::Args;
use gcnproof_report::origin::Origin;
use gcnproof_run::page::{Page, PageGraph};
use miette::Result;
use serde_json::json;

use super::input::{GraphArguments, PassingArguments};
use super::run::Format;

/// Draw a self-contained HTML page from results: nine figures, and an explorer with a map and a table of all nodes.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  gcnproof study cora.npz gcn.safetensors --complete --out study && gcnproof report study --out report.html
  gcnproof report results.parquet --graph cora.npz --model gcn.safetensors --out report.html
  gcnproof report curve.parquet radii.jsonl --graph cora.npz --out report.html   (of collective, and of radius with the same -q)
  gcnproof report study pairs.parquet training.jsonl --out report.html   (with solvers' numbers and a training log)

The page needs no network. A link to a node: report.html#node=194. Each figure is also written as SVG, with its numbers as CSV, into report-figures/.
Exit codes: 0 done, 2 wrong usage or input.")]
pub struct Report {
    /// Results of certify, radius, collective and validate (.parquet, .jsonl, .csv), training logs (.jsonl), folders of
    /// studies
    #[arg(required = true, value_name = "RESULTS")]
    results: Vec<PathBuf>,
    /// The page
    #[arg(long, value_name = "FILE", default_value = "report.html", help_heading = "Output")]
    out: PathBuf,
    /// The graph of the results, for names, distances and purity [default: the study's own copy]
    #[arg(long, value_name = "FILE", help_heading = "Graph")]
    graph: Option<PathBuf>,
    #[command(flatten)]
    options: GraphArguments,
    /// The models of the results, for what each flip contributes [default: the study's own copies]
    #[arg(long = "model", value_name = "FILE", help_heading = "Model")]
    models: Vec<PathBuf>,
    #[command(flatten)]
    passing: PassingArguments,
    /// Overwrite the page and its figures
    #[arg(long, help_heading = "Output")]
    force: bool,
    /// The heading of the page
    #[arg(long, value_name = "TEXT", help_heading = "Output")]
    title: Option<String>,
    /// Standard output: a table or JSON
    #[arg(long, value_enum, default_value = "table", help_heading = "Output")]
    format: Format,
}

impl Report {
    /// Runs the command. Returns the exit code.
    pub fn execute(self) -> Result<u8> {
        let graph = self.graph.map(|path| PageGraph::File(path, self.options.options()));
        let page = Page {
            results: self.results,
            out: self.out,
            force: self.force,
            title: self.title,
            graph,
            models: self.models,
            networks: Vec::new(),
            rules: self.passing.rules()?,
            origin: Origin::here(),
        };
        let written = page.make()?;
        match self.format {
            Format::Json => say!(
                "{}",
                json!({
                    "page": written.page, "bytes": written.bytes, "figures": written.figures, "drawn": written.drawn,
                    "missing": written.missing.iter().map(|(number, why)| json!({ "figure": number, "why": why })).collect::<Vec<_>>(),
                })
            )?,
            Format::Table => {
                say!("{} ({:.1} MB)", written.page.display(), written.bytes as f64 / 1e6)?;
                say!("{} figures as SVG and CSV in {}", written.drawn, written.figures.display())?;
                for (number, why) in &written.missing {
                    say!("figure {number} is missing: {why}")?;
                }
            }
        }
        Ok(0)
    }
}
