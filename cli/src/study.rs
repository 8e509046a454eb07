//! `gcnproof study`: the runs behind a report, for one graph and several models.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use gcnproof::Limits;
use gcnproof_report::origin::command_line;
use gcnproof_results::record::study::names;
use gcnproof_run::study::{self, StudyModel, check_folder};
use gcnproof_run::study_run::Plan;
use miette::{Result, miette};
use serde_json::{Value, json};

use super::effort;
use super::input::{self, FileArguments, Input, LocalArguments};
use super::run::{Format, host, prepare};

/// Run what the figures of a report need: verdicts, radii by the paper's bound and by ours, a sample of class pairs.
///
/// A folder that holds a study is refused; --resume goes on with it, and what is there is not computed again.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  gcnproof study cora.npz gcn.safetensors --out study
  gcnproof study cora_ml.npz standard.npz robust.npz --max-Q 100 --complete --out study
  gcnproof study cora_ml.npz standard.npz robust.npz --max-Q 100 --complete --out study --resume      (after an interruption)
  gcnproof report study --out report.html

Exit codes: 0 done, 2 wrong usage or input, 130 interrupted (--resume goes on).")]
pub struct Study {
    /// The graph (.npz with adj_*, attr_* and labels, or with edge_index, x and y)
    graph: PathBuf,
    /// The trained models (.safetensors or .npz)
    #[arg(required = true, value_name = "MODEL")]
    models: Vec<PathBuf>,
    #[command(flatten)]
    files: FileArguments,
    /// Flips in all, for the verdicts and the sample of class pairs
    #[arg(short = 'Q', long = "global", value_name = "N", default_value_t = 12, value_parser = input::flips, help_heading = "Budget")]
    global: usize,
    /// The curves end at this Q
    #[arg(long = "max-Q", alias = "Q-max", value_name = "N", default_value_t = 40, value_parser = input::flips, help_heading = "Budget")]
    max_global: usize,
    #[command(flatten)]
    local: LocalArguments,
    /// Only these nodes: ids and ranges (3,17,20-25), a file with ids or a mask, or an array as FILE.npz:NAME
    #[arg(long, value_name = "IDS|FILE")]
    nodes: Option<String>,
    /// Find the exact curve as well: column generation and branch and price on what the bounds leave open
    #[arg(long, help_heading = "Effort")]
    complete: bool,
    /// Give a node up after so many seconds of search at one Q; it then stays undecided there
    #[arg(long, value_name = "SECONDS", default_value = "2", value_parser = effort::seconds, help_heading = "Effort")]
    time_limit: f64,
    /// Nodes whose class pairs are measured one by one, for the tightness histograms
    #[arg(long, value_name = "N", default_value_t = 100, help_heading = "Effort")]
    sample: usize,
    /// The seed of that sample
    #[arg(long, value_name = "S", default_value_t = 1, help_heading = "Effort")]
    seed: u64,
    /// The folder of the study
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    out: PathBuf,
    /// Go on with the study in the folder: what is there is not computed again
    #[arg(long, help_heading = "Output")]
    resume: bool,
    /// Compute everything anew
    #[arg(long, conflicts_with = "resume", help_heading = "Output")]
    force: bool,
    /// Standard output: a table or JSON
    #[arg(long, value_enum, default_value = "table", help_heading = "Output")]
    format: Format,
    /// Threads [default: all cores]
    #[arg(long, value_name = "N", help_heading = "Output", value_parser = clap::value_parser!(u16).range(1..))]
    threads: Option<u16>,
}

impl Study {
    /// Runs the command. Returns the exit code.
    pub fn execute(self) -> Result<u8> {
        prepare(self.threads)?;
        check_folder(&self.out, &names(&self.models), self.force, self.resume)?;
        let graph_name =
            self.graph.file_stem().map_or_else(|| "graph".into(), |stem| stem.to_string_lossy().into_owned());
        let mut read = None;
        let mut models = Vec::new();
        for (path, name) in self.models.iter().zip(names(&self.models)) {
            let input = Input { graph: self.graph.clone(), model: path.clone(), files: self.files.clone() };
            let (graph, network, identity) = input.read()?;
            models.push(StudyModel { name, network, identity });
            read = Some(graph);
        }
        // clap has asked for a model.
        let graph = read.ok_or_else(|| miette!("a model is needed"))?;
        let (budget, _) = self.local.budget(&graph, self.global)?;
        let time = Duration::try_from_secs_f64(self.time_limit).unwrap_or_default();
        let plan = Plan {
            global: self.global,
            max_global: self.max_global,
            nodes: input::nodes(self.nodes.as_deref(), &graph)?,
            complete: self.complete,
            limits: Limits { time, ..Limits::default() },
            sample: (self.sample, self.seed),
            folder: Some(self.out.clone()),
            force: self.force,
            host: host(),
        };
        let (folder, command) = (self.out.clone(), command_line());
        let study = study::Study { plan, folder, resume: self.resume, command, graph_name, graph: &graph, budget };
        let studied = study.execute(models)?;
        match self.format {
            Format::Json => say!("{}", json!({ "folder": self.out, "models": studied.models }))?,
            Format::Table => print_table(&studied.models, &self.out)?,
        }
        Ok(if studied.interrupted { 130 } else { 0 })
    }
}

fn print_table(told: &[Value], folder: &Path) -> Result<()> {
    say!("{:<28}{:>8}{:>9}{:>12}{:>11}   mean certified Q", "model", "nodes", "robust", "non-robust", "undecided")?;
    for model in told {
        let number = |key: &str| model[key].to_string();
        let radii = model["radii"].as_array().map_or(&[][..], |radii| radii);
        let text = |value: &Value| value.as_str().unwrap_or_default().to_string();
        let means: Vec<String> = radii
            .iter()
            .map(|run| {
                let at_limit = if run["share_at_limit"].as_f64() > Some(0.0) { "≥ " } else { "" };
                format!("{} {at_limit}{:.2}", text(&run["by"]), run["mean_certified_q"].as_f64().unwrap_or(f64::NAN))
            })
            .collect();
        let (nodes, robust, broken, open) =
            (number("nodes"), number("robust"), number("non_robust"), number("undecided"));
        say!("{:<28}{nodes:>8}{robust:>9}{broken:>12}{open:>11}   {}", text(&model["model"]), means.join(", "))?;
    }
    let capped = |model: &Value| {
        let runs = model["radii"].as_array().map_or(&[][..], |radii| radii);
        runs.iter().any(|run| run["share_at_limit"].as_f64() > Some(0.0))
    };
    if told.iter().any(capped) {
        say!("≥: nodes that are certified up to --max-Q count with it")?;
    }
    say!("\nnow:  gcnproof report {} --out report.html", folder.display())
}
