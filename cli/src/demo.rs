//! `gcnproof demo`: certifies the embedded Cora graph and prints or writes a report.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use clap::Args;
use gcnproof::internals::problem::matrix::PatternRows;
use gcnproof::{Budget, Flip, Graph, Limits, Verdict, embedded, radii};
use gcnproof_files::write::write_graph_npz;
use gcnproof_report::Report;
use gcnproof_report::group::Groups;
use gcnproof_report::landscape::{Landscape, class_name};
use gcnproof_report::models::Models;
use gcnproof_report::origin::{Origin, command_line, date};
use gcnproof_report::source::Sources;
use gcnproof_results::record::NodeRecord;
use gcnproof_results::record::description::{BudgetRecord, Identity};
use gcnproof_results::record::study::{Manifest, graph_path};
use gcnproof_run::ids::Ids;
use gcnproof_run::outputs::Kind;
use gcnproof_run::run::make_folder;
use gcnproof_run::study::{check_folder, keep_model};
use gcnproof_run::study_run::{Plan, Results, Subject};
use miette::{IntoDiagnostic, Result};

use super::run::{certifier, host, prepare, stopped};
use super::summary::{Group, Summary};

/// Certify the embedded Cora citation graph: no arguments, no files, a few seconds.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  gcnproof demo
  gcnproof demo --out demo     (and a report of it, demo/report.html)

Exit codes: 0 done, 2 wrong usage or input, 130 interrupted (with --out, --resume goes on).")]
pub struct Demo {
    /// Write a study and its report into this folder
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Go on with an interrupted demo in that folder
    #[arg(long, requires = "out")]
    resume: bool,
    /// Overwrite what is in that folder
    #[arg(long, requires = "out", conflicts_with = "resume")]
    force: bool,
}

const GLOBAL: usize = 12;

/// How far the curves of the report go: a few seconds' worth.
const MAX_GLOBAL: usize = 12;

/// Nodes of the report's sample of class pairs.
const SAMPLE: usize = 12;

impl Demo {
    /// Runs the command. Returns the exit code.
    pub fn execute(self) -> Result<u8> {
        prepare(None)?;
        let (graph, network) = embedded::cora();
        if let Some(folder) = &self.out {
            check_folder(folder, &["standard", "robust"].map(String::from), self.force, self.resume)?;
            Kind::Page.check(&page(folder))?;
            make_folder(folder)?;
        }
        let local = graph.attribute_count() / 100;
        say!(
            "Cora: {} papers, {} citations, {} words; a GCN says what each paper is about.\n\
             An attacker may add or remove {GLOBAL} words in all, at most {local} per paper, in the paper or around it.\n\
             Can the class of a paper be changed?\n",
            graph.node_count(),
            (0..graph.node_count()).map(|n| graph.degree(n)).sum::<usize>() / 2,
            graph.attribute_count()
        )?;
        let start = Instant::now();
        let budget = Budget::uniform(&graph, GLOBAL, local);
        let record = BudgetRecord::new(&budget);
        let mut plan = Plan {
            global: GLOBAL,
            max_global: MAX_GLOBAL,
            nodes: (0..graph.node_count()).collect(),
            complete: true,
            limits: Limits { time: Duration::from_secs(10), ..Limits::default() },
            sample: (SAMPLE, 1),
            folder: self.out.clone(),
            force: self.force,
            host: host(),
        };
        let trained = embedded::robust(&graph);
        let [standard, robust] = [("standard", &network), ("robust", &trained)].map(|(name, network)| Subject {
            name,
            graph: &graph,
            network,
            identity: Identity {
                graph: graph.digest().to_string(),
                model: name.into(),
                message_passing: vec!["gcn".into()],
                part: None,
            },
            budget: budget.clone(),
            budget_record: record.clone(),
        });
        let labelled = Ids::new(&graph, None).labelled(None, &graph)?;
        let (rows, interrupted) = plan.verdicts(&standard)?;
        if interrupted {
            return Ok(130);
        }
        let summary = Summary::new(rows.iter(), &labelled, start.elapsed().as_secs_f64(), rows.len());
        put!("{}", summary.table(&record.with_global(GLOBAL), false, None))?;
        say!("")?;
        if let Some(row) = rows.iter().filter(|r| r.verdict == Verdict::Robust).max_by_key(|r| r.degree) {
            tell_robust(&graph, row)?;
        }
        let mut broken: Vec<&NodeRecord> =
            rows.iter().filter(|r| r.verdict == Verdict::NonRobust && !r.witness.is_empty()).collect();
        // The lowest margin under attack is the easiest to break: a handful of them has one that few flips break.
        broken.sort_by(|x, y| lowest(x).total_cmp(&lowest(y)));
        let easiest: Vec<usize> = broken.iter().take(20).map(|row| row.node as usize).collect();
        let certifier = certifier(&graph, &network, budget).build();
        let radii = radii(&certifier, &easiest, GLOBAL, stopped, |_, _| ()).into_diagnostic()?;
        if stopped() {
            return Ok(130);
        }
        if let Some((node, radius)) = radii.iter().min_by_key(|(node, radius)| (radius.attacked, **node))
            && let Some(row) = rows.iter().find(|row| row.node == *node as u64)
        {
            tell_broken(&graph, row, &radius.witness)?;
        }
        let (trained, interrupted) = plan.verdicts(&robust)?;
        if interrupted {
            return Ok(130);
        }
        tell_trained(&summary.all, &Summary::new(trained.iter(), &labelled, 0.0, trained.len()).all)?;
        say!(
            "\nEvery `robust` holds in exact arithmetic for the stored weights, and every `non-robust` comes with its flips.\n\
             Your own:  gcnproof train GRAPH.npz --loss rh-u -Q 12 -q 1% --out MODEL.safetensors\n\
             \x20          gcnproof certify GRAPH.npz MODEL.safetensors -Q 12 -q 1% --out results.parquet"
        )?;
        match &self.out {
            Some(folder) => {
                // Verdicts take what they need; curves and sample may leave something open rather than keep people
                // waiting.
                plan.limits.time = Duration::from_millis(500);
                if write_report(&plan, &[standard, robust], folder)? {
                    return Ok(130);
                }
            }
            None => say!("As pictures:  gcnproof demo --out demo  (then open demo/report.html)")?,
        }
        Ok(0)
    }
}

/// The page of a demo.
fn page(folder: &Path) -> PathBuf {
    folder.join("report.html")
}

/// The rest of the study, and a page of it. Returns whether that was interrupted.
fn write_report(plan: &Plan, subjects: &[Subject], folder: &Path) -> Result<bool> {
    let start = Instant::now();
    let mut manifest = Manifest::new("Cora");
    for subject in subjects {
        manifest.add(subject.name, plan.files(subject.name));
        manifest.keep(subject.name);
    }
    let when = format!("{}, gcnproof {}", date(SystemTime::now()), env!("CARGO_PKG_VERSION"));
    manifest.note(&command_line(), &when);
    // First of all: by its manifest a study knows its files again.
    manifest.save(folder)?;
    for subject in subjects {
        keep_model(&mut manifest, folder, subject.name, subject.network)?;
    }
    let graph = subjects[0].graph;
    write_graph_npz(&graph_path(folder), &graph.file())?;
    for subject in subjects {
        // The verdicts are there already.
        let mut results = Results::default();
        plan.curves(subject, &mut results)?;
        if results.interrupted {
            return Ok(true);
        }
    }
    let groups = Groups::new(Sources::read(&[folder.to_path_buf()])?)?;
    let landscape = Some(Landscape::new("Cora", graph.clone()));
    let title = "Robustness of two graph convolutional networks on Cora".to_string();
    let mut models = Models::default();
    for subject in subjects {
        models.add(subject.identity.clone(), subject.network.clone());
    }
    let written = Report { title, groups, landscape, models, origin: Origin::here() }.write(&page(folder))?;
    say!(
        "\nThe report ({:.1} s), to be opened in a browser: {}",
        start.elapsed().as_secs_f64(),
        written.page.display()
    )?;
    Ok(false)
}

fn tell_trained(standard: &Group, robust: &Group) -> Result<()> {
    let share = |group: &Group| 100.0 * group.robust as f64 / group.nodes.max(1) as f64;
    say!(
        "\nA network of the same shape, trained for this budget (gcnproof train --loss rh-u), makes {} papers robust: {:.1} %\n\
         instead of {:.1} %, {} undecided, at an accuracy of {:.3} instead of {:.3}.",
        robust.robust,
        share(robust),
        share(standard),
        robust.undecided,
        robust.accuracy.unwrap_or(f64::NAN),
        standard.accuracy.unwrap_or(f64::NAN),
    )
}

fn tell_robust(graph: &Graph, row: &NodeRecord) -> Result<()> {
    say!(
        "Paper {} ({}, cited or citing {} others) is robust: of all the ways to flip {GLOBAL} of {} entries around it,\n\
         none brings another class closer than {:.3} (logits).",
        row.node,
        class_name(Some(graph), row.predicted),
        row.degree,
        row.relevant as usize * graph.attribute_count(),
        row.worst_lower().unwrap_or(f64::NAN)
    )
}

/// The lowest margin that a perturbation of a node has reached.
fn lowest(row: &NodeRecord) -> f64 {
    row.margins.iter().filter_map(|margin| margin.upper).fold(f64::INFINITY, f64::min)
}

fn tell_broken(graph: &Graph, row: &NodeRecord, witness: &[Flip]) -> Result<()> {
    let flips: Vec<String> = witness.iter().map(|flip| describe(graph, row.node, flip)).collect();
    say!(
        "Paper {} ({}) is not: {} — and it is taken for something else.",
        row.node,
        class_name(Some(graph), row.predicted),
        flips.join(", "),
    )
}

fn describe(graph: &Graph, target: u64, flip: &Flip) -> String {
    let present = graph.attributes().contains(flip.node as usize, flip.attribute);
    let what = if present { "remove" } else { "add" };
    let place = if u64::from(flip.node) == target { "in it".to_string() } else { format!("in paper {}", flip.node) };
    format!("{what} word {} {place}", flip.attribute)
}
