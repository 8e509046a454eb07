//! `gcnproof report`: makes one HTML page from result files.

use std::path::{Path, PathBuf};

use clap::Args;
use gcnproof_files::GraphOptions;
use gcnproof_report::Report as Pages;
use gcnproof_report::error::ReportError;
use gcnproof_report::group::Groups;
use gcnproof_report::landscape::Landscape;
use gcnproof_report::models::Models;
use gcnproof_report::origin::Origin;
use gcnproof_report::source::Sources;
use gcnproof_results::contents::contents_of;
use gcnproof_run::input::no_graph;
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
        check_results(&self.results, "report")?;
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
            Some(path) => {
                Some(Landscape::read(path, &name, &options, groups.graph.as_deref()).map_err(|error| match error {
                    ReportError::Graph(error) => no_graph(path, error, "give a graph file"),
                    error => error.into(),
                })?)
            }
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

/// Looks for files that are no results before any is read: graphs and models stand behind options of their own.
///
/// # Errors
/// With what the first of them is.
pub fn check_results(paths: &[PathBuf], command: &str) -> Result<()> {
    paths.iter().filter(|path| path.is_file()).try_for_each(|path| check_one(path, command))
}

fn check_one(path: &Path, command: &str) -> Result<()> {
    let ends = |end: &str| path.extension().is_some_and(|found| found.eq_ignore_ascii_case(end));
    if ends("npz") || ends("safetensors") {
        let is_graph = ends("npz") && gcnproof_files::read_model(path).is_err();
        let (what, option) = if is_graph { ("graph", "--graph") } else { ("model", "--graph GRAPH --model") };
        let option =
            if command == "report" || is_graph { format!(" {option} {}", path.display()) } else { String::new() };
        return Err(miette!(
            help = format!(
                "run `gcnproof certify GRAPH MODEL -Q 12 --out results.parquet` first, then `gcnproof {command} \
                 results.parquet{option}`"
            ),
            "{}: is a {what}, but a {command} is made of results",
            path.display()
        ));
    }
    let Some(what) = contents_of(path) else { return Ok(()) };
    let name = path.display();
    if what == "a file of proofs" {
        return Err(miette!(
            help = format!(
                "`gcnproof check GRAPH MODEL {name}` checks proofs; results are what certify writes with --out"
            ),
            "{name}: is {what}, but a {command} is made of results"
        ));
    }
    if what.starts_with("a page") || what.starts_with("an array") {
        return Err(miette!(
            help = "give files that certify, radius or collective wrote with --out, or the folder of a study",
            "{name}: is {what}, but a {command} is made of results"
        ));
    }
    let end = match what {
        "a table of results (JSON lines)" | "a training log" => "jsonl",
        "a table of results (Parquet)" => "parquet",
        _ => "csv",
    };
    if ends(end) {
        return Ok(());
    }
    Err(miette!(
        help = format!(
            "rename it to {}, and its .run.json, if there is one, in the same way",
            path.with_extension(end).display()
        ),
        "{name}: is {what}, and its name says something else"
    ))
}
