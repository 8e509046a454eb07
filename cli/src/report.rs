//! `gcnproof report`: makes one HTML page from result files.

use std::path::{Path, PathBuf};

use clap::Args;
use gcnproof_files::GraphOptions;
use gcnproof_report::Report as Pages;
use gcnproof_report::group::Groups;
use gcnproof_report::landscape::Landscape;
use gcnproof_report::models::Models;
use gcnproof_report::origin::Origin;
use gcnproof_report::source::Sources;
use miette::{Result, miette};
use serde_json::json;

use super::input::{GraphArguments, PassingArguments};
use super::run::{Format, untouched};

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
    /// Results of certify, radius, collective and validate (.parquet, .jsonl, .csv), training logs (.jsonl), folders of studies
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
        let html =
            self.out.extension().is_some_and(|end| end.eq_ignore_ascii_case("html") || end.eq_ignore_ascii_case("htm"));
        if !html {
            return Err(miette!(help = "end the name in .html", "--out {}: the page is HTML", self.out.display()));
        }
        if let Some(path) = self.results.iter().find(|path| !path.exists()) {
            return Err(miette!(
                help = "give files that gcnproof wrote with --out, training logs, or the folder of a study",
                "{}: there is no such file or folder",
                path.display()
            ));
        }
        check_results(&self.results)?;
        untouched(&self.out, self.force, None)?;
        let sources = Sources::read(&self.results)?;
        let (path, options) = match (&self.graph, &sources.graph) {
            (Some(path), _) => (Some(path.clone()), self.options.options()),
            // The copy in a study was written after all repairs.
            (None, copy) => (copy.clone(), GraphOptions::default()),
        };
        let name = match (&self.graph, &sources.graph_name) {
            (None, Some(name)) => name.clone(),
            _ => path
                .as_ref()
                .and_then(|path| path.file_stem())
                .map_or_else(String::new, |s| s.to_string_lossy().into_owned()),
        };
        let kept = sources.models.clone();
        let mut groups = Groups::new(sources)?;
        let landscape = match &path {
            Some(path) => Some(Landscape::read(path, &name, &options, groups.graph.as_deref())?),
            None => None,
        };
        if let Some(landscape) = &landscape {
            groups.measure(landscape);
        }
        if landscape.is_none() && !self.models.is_empty() {
            return Err(miette!(help = "give the graph as well: --graph FILE", "--model needs the graph"));
        }
        let models = Models::read(&self.models, &kept, &self.passing.rules()?, &groups, landscape.as_ref())?;
        let title = self.title.unwrap_or_else(|| match &landscape {
            Some(landscape) => format!("Robustness of graph convolutional networks on {}", landscape.name),
            None => "Robustness of graph convolutional networks".to_string(),
        });
        let written = Pages { title, groups, landscape, models, origin: Origin::here() }.write(&self.out)?;
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

/// Graphs and models stand behind options of their own.
fn check_results(paths: &[PathBuf]) -> Result<()> {
    let ends = |path: &Path, end: &str| path.extension().is_some_and(|found| found.eq_ignore_ascii_case(end));
    let other = |path: &&PathBuf| ends(path, "npz") || ends(path, "safetensors");
    let Some(path) = paths.iter().find(other) else { return Ok(()) };
    let is_graph = ends(path, "npz") && gcnproof_files::read_model(path).is_err();
    let (what, option) = if is_graph { ("graph", "--graph") } else { ("model", "--graph GRAPH --model") };
    Err(miette!(
        help = format!(
            "run `gcnproof certify GRAPH MODEL -Q 12 --out results.parquet` first, then `gcnproof report results.parquet {option} {}`",
            path.display()
        ),
        "{}: is a {what}, but a report is made of results",
        path.display()
    ))
}
