//! `gcnproof study`: the runs behind a report, for one graph and several models.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use clap::Args;
use gcnproof::{Graph, Limits, Network};
use gcnproof_files::write::write_graph_npz;
use gcnproof_files::{GraphFile, GraphOptions, read_graph};
use gcnproof_report::origin::{command_line, date};
use gcnproof_results::record::RadiusRecord;
use gcnproof_results::record::study::{Manifest, graph_path, manifest_path, names};
use gcnproof_run::reproduction::write_model;
use gcnproof_run::run::make_folder;
use gcnproof_run::study_run::{Plan, Results, Subject};
use miette::{Result, miette};
use serde_json::{Value, json};

use super::effort;
use super::input::{self, FileArguments, Input, LocalArguments};
use super::run::{Format, RunArguments, host, untouched};

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
        self.run(None).prepare()?;
        untouched(&manifest_path(&self.out), self.force, Some(self.resume))?;
        make_folder(&self.out)?;
        let graph_name =
            self.graph.file_stem().map_or_else(|| "graph".into(), |stem| stem.to_string_lossy().into_owned());
        // A study that goes on keeps what it has; a manifest that cannot be read is written anew.
        let known = if self.force { None } else { Manifest::load(&self.out).ok() };
        let mut manifest = known.unwrap_or_else(|| Manifest::new(&graph_name));
        let version = env!("CARGO_PKG_VERSION");
        manifest.note(&command_line(), &format!("{}, gcnproof {version}", date(SystemTime::now())));
        let mut told = Vec::new();
        let mut interrupted = false;
        for (at, (path, name)) in self.models.iter().zip(names(&self.models)).enumerate() {
            let input = Input { graph: self.graph.clone(), model: path.clone(), files: self.files.clone() };
            let (graph, network, identity) = input.read()?;
            let (budget, budget_record) = self.local.budget(&graph, self.global)?;
            if at == 0 {
                self.copy(&graph)?;
            }
            let plan = Plan {
                global: self.global,
                max_global: self.max_global,
                nodes: input::nodes(self.nodes.as_deref(), &graph)?,
                complete: self.complete,
                limits: Limits {
                    time: Duration::try_from_secs_f64(self.time_limit).unwrap_or_default(),
                    ..Limits::default()
                },
                sample: (self.sample, self.seed),
                folder: Some(self.out.clone()),
                force: self.force,
                host: host(),
            };
            let subject = Subject { name: &name, graph: &graph, network: &network, identity, budget, budget_record };
            let before = std::fs::read(manifest_path(&self.out)).ok();
            // Before the work, so that a study can be looked at while it runs and after it was stopped.
            manifest.add(&name, plan.files(&name));
            keep_model(&mut manifest, &self.out, &name, &network)?;
            manifest.save(&self.out)?;
            // What was refused is no part of the study.
            let results = plan.execute(&subject).inspect_err(|_| {
                let _ = before.as_ref().map(|bytes| std::fs::write(manifest_path(&self.out), bytes));
            })?;
            interrupted |= results.interrupted;
            told.push(tell(&name, &results, self.max_global));
            if interrupted {
                break;
            }
        }
        match self.format {
            Format::Json => say!("{}", json!({ "folder": self.out, "models": told }))?,
            Format::Table => print_table(&told, &self.out)?,
        }
        Ok(if interrupted { 130 } else { 0 })
    }

    /// Puts a copy of the graph into the folder, unless that is the folder of another graph.
    fn copy(&self, graph: &Graph) -> Result<()> {
        let path = graph_path(&self.out);
        let other = |file: &GraphFile| file.digest != graph.digest();
        if !self.force && read_graph(&path, &GraphOptions::default()).is_ok_and(|file| other(&file)) {
            return Err(miette!(
                help = "choose another --out, or overwrite it by --force",
                "{}: holds a study of another graph",
                self.out.display()
            ));
        }
        Ok(write_graph_npz(&path, &graph.file())?)
    }

    fn run(&self, out: Option<PathBuf>) -> RunArguments {
        RunArguments { out, resume: false, force: self.force, format: self.format, threads: self.threads }
    }
}

/// Keeps a model beside its results: a report weighs flips with it.
pub fn keep_model(manifest: &mut Manifest, folder: &Path, name: &str, network: &Network) -> Result<()> {
    let path = folder.join(manifest.keep(name));
    Ok(write_model(&path, network)?)
}

/// The numbers of one model, for people and machines.
fn tell(name: &str, results: &Results, limit: usize) -> Value {
    // Nodes that are certified up to the largest Q tried count with it: the mean is then a lower bound.
    let capped = |rows: &[RadiusRecord]| {
        let at_limit = rows.iter().filter(|row| row.certified >= Some(limit as u64)).count();
        at_limit as f64 / rows.len().max(1) as f64
    };
    let mean = |rows: &[RadiusRecord]| {
        rows.iter().filter_map(|row| row.certified).sum::<u64>() as f64 / rows.len().max(1) as f64
    };
    let radii: Vec<Value> = results
        .radii
        .iter()
        .map(|(step, rows)| {
            let seconds: f64 = rows.iter().map(|row| row.seconds).sum();
            json!({ "by": step, "mean_certified_q": mean(rows), "share_at_limit": capped(rows), "limit": limit, "seconds": seconds })
        })
        .collect();
    let count = |name: &str| results.verdicts.iter().filter(|row| row.verdict.name() == name).count();
    json!({
        "model": name, "nodes": results.verdicts.len(), "robust": count("robust"), "non_robust": count("non_robust"),
        "undecided": count("undecided"), "radii": radii,
    })
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
