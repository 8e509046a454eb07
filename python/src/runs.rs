//! The calls that write files: train, study, report, validate.

use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use gcnproof::{Limits, Operator};
use gcnproof_cli::run::host;
use gcnproof_report::origin::{Origin, date};
use gcnproof_results::record::study::names;
use gcnproof_run::input;
use gcnproof_run::page::{Page, PageGraph};
use gcnproof_run::study::{Study, StudyModel};
use gcnproof_run::study_run::Plan;
use gcnproof_run::training::{Training, TrainingFiles};
use gcnproof_train::kind::LayerKind;
use gcnproof_train::losses::Loss;
use gcnproof_train::settings::Settings;
use gcnproof_train::split::{Share, Split};
use miette::{IntoDiagnostic, Result, miette};
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use serde_json::{Map, Value, json};

use crate::asked::{Files, selected};
use crate::attack::{FlipMeans, Means};
use crate::call::{Done, call};
use crate::errors::from_report;
use crate::inputs::{Graph, Network};
use crate::objects::object;

/// A training.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct AskedTraining {
    /// The settings that are given, as a JSON object; `loss`, `seed`, `kind`, `layers` and `skip` are.
    settings: String,
    split: String,
    labelled: Option<Vec<i64>>,
    message_passing: Option<Vec<String>>,
    out: PathBuf,
    log: Option<PathBuf>,
    checkpoint: Option<PathBuf>,
    checkpoint_every: usize,
    resume: bool,
    force: bool,
}

/// The settings that are known to work for a loss, with those that are given in their places.
fn settings(given: &str) -> Result<Settings> {
    let given: Map<String, Value> = serde_json::from_str(given).into_diagnostic()?;
    let loss: Loss = serde_json::from_value(given["loss"].clone()).into_diagnostic()?;
    let kind: LayerKind = serde_json::from_value(given["kind"].clone()).into_diagnostic()?;
    let depth = given["layers"].as_u64().and_then(|depth| usize::try_from(depth).ok()).unwrap_or_default();
    let known = Settings::new(loss, given["seed"].as_u64().unwrap_or_default());
    let known = known.with_layers(kind, depth, given["skip"] == Value::Bool(true));
    let mut all = serde_json::to_value(known).into_diagnostic()?;
    if let Value::Object(all) = &mut all {
        all.extend(given);
    }
    serde_json::from_value(all).into_diagnostic()
}

/// The facts of a run that was not interrupted, and its notes.
fn facts<'py>(py: Python<'py>, done: Done<Option<Value>>) -> PyResult<Bound<'py, PyAny>> {
    let Done { value, notes, .. } = done.whole()?;
    let facts = object(py, &value.ok_or_else(|| PyKeyboardInterrupt::new_err(()))?)?;
    facts.set_item("notes", notes)?;
    Ok(facts)
}

/// Trains a network.
#[pyfunction]
pub fn train<'py>(
    py: Python<'py>,
    graph: &Graph,
    attack: FlipMeans,
    asked: AskedTraining,
    threads: Option<usize>,
    progress: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let budget = attack.budget(py, &graph.0, attack.global())?;
    let settings = settings(&asked.settings).map_err(|report| from_report(py, &report))?;
    let labelled = asked.labelled.as_ref().map(|ids| selected(py, &graph.0, ids)).transpose()?;
    let graph = graph.0.clone();
    let work = move || {
        let files = TrainingFiles {
            out: asked.out,
            log: asked.log,
            checkpoint: asked.checkpoint,
            checkpoint_every: asked.checkpoint_every,
            resume: asked.resume,
            force: asked.force,
        };
        files.check()?;
        settings.check()?;
        let (split, split_words) = match labelled {
            Some(nodes) => {
                (Split::new(&graph, nodes.into_iter().map(|node| node as u32).collect())?, "labelled".into())
            }
            None => {
                let share: Share = asked.split.parse().map_err(|problem| miette!("--split: {problem}"))?;
                (Split::draw(&graph, share, settings.seed)?, asked.split)
            }
        };
        // Kinds of layers other than GCN have their own rules.
        let (rules, passing) = match asked.message_passing {
            Some(rules) => (input::rules(&rules)?, rules.join(",")),
            None if settings.kind.is_gcn() => (vec![Operator::Gcn], "gcn".into()),
            None => (Vec::new(), String::new()),
        };
        let training = Training { graph: &graph, budget, split, split_words, settings, rules, passing, files };
        let trained = training.execute(&*host())?;
        Ok(trained.map(|trained| {
            json!({ "iterations": trained.iterations, "seconds": trained.seconds, "evaluation": trained.evaluation })
        }))
    };
    facts(py, call(py, threads, progress, work)?)
}

/// A study.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct AskedStudy {
    nodes: Option<Vec<i64>>,
    #[pyo3(item("max_Q"))]
    max_global: usize,
    complete: bool,
    time_limit: f64,
    sample: usize,
    seed: u64,
    graph_name: String,
    /// One for each network.
    names: Vec<String>,
    out: PathBuf,
    resume: bool,
    force: bool,
}

/// Runs what the figures of a report need.
#[pyfunction]
pub fn study<'py>(
    py: Python<'py>,
    graph: &Graph,
    networks: Vec<PyRef<'py, Network>>,
    attack: FlipMeans,
    asked: AskedStudy,
    threads: Option<usize>,
    progress: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let budget = attack.budget(py, &graph.0, attack.global())?;
    let count = graph.0.target_count();
    let nodes = asked.nodes.as_ref().map(|ids| selected(py, &graph.0, ids)).transpose()?;
    // As if each were a file of that name: legal, and different from each other.
    let files: Vec<PathBuf> =
        asked.names.iter().map(|name| format!("{}.model", name.replace('/', "_")).into()).collect();
    let models = names(&files).into_iter().zip(&networks).map(|(name, network)| StudyModel {
        name,
        network: (*network.network).clone(),
        identity: network.identity.clone(),
    });
    let (models, graph): (Vec<StudyModel>, _) = (models.collect(), graph.0.clone());
    let work = move || {
        let time = Duration::try_from_secs_f64(asked.time_limit).unwrap_or_default();
        let study = Study {
            plan: Plan {
                global: budget.global(),
                max_global: asked.max_global,
                nodes: nodes.unwrap_or_else(|| (0..count).collect()),
                complete: asked.complete,
                limits: Limits { time, ..Limits::default() },
                sample: (asked.sample, asked.seed),
                folder: Some(asked.out.clone()),
                force: asked.force,
                host: host(),
            },
            folder: asked.out,
            resume: asked.resume,
            command: "gcnproof.study(…)".into(),
            graph_name: asked.graph_name,
            graph: &graph,
            budget,
        };
        let studied = study.execute(models)?;
        Ok((!studied.interrupted).then(|| json!({ "models": studied.models })))
    };
    facts(py, call(py, threads, progress, work)?)
}

/// A page.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct AskedPage {
    results: Vec<PathBuf>,
    out: PathBuf,
    title: Option<String>,
    force: bool,
}

/// Makes the page of a report. Returns its path.
#[pyfunction]
pub fn report(py: Python, asked: AskedPage, graph: Option<&Graph>, network: Option<&Network>) -> PyResult<PathBuf> {
    let page = Page {
        results: asked.results,
        out: asked.out,
        force: asked.force,
        title: asked.title,
        graph: graph.map(|graph| PageGraph::Memory((*graph.0).clone())),
        models: Vec::new(),
        networks: network.iter().map(|network| (network.identity.clone(), (*network.network).clone())).collect(),
        rules: vec![Operator::Gcn],
        origin: Origin { date: date(SystemTime::now()), command: "gcnproof.report(…)".into() },
    };
    Ok(call(py, None, None, move || page.make())?.whole()?.value.page)
}

/// A validation.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
#[cfg_attr(not(feature = "laboratory"), allow(dead_code))]
pub struct AskedValidation {
    nodes: Option<Vec<i64>>,
    sample: usize,
    seed: u64,
    time_limit: f64,
    milp_limit: f64,
    exact_limit: f64,
    plots: Option<PathBuf>,
}

/// Compares the certifier with solvers.
#[cfg(feature = "laboratory")]
#[pyfunction]
#[allow(clippy::too_many_arguments)]
pub fn validate<'py>(
    py: Python<'py>,
    graph: &Graph,
    network: &Network,
    attack: FlipMeans,
    asked: AskedValidation,
    files: Files,
    threads: Option<usize>,
    progress: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    use gcnproof_laboratory::measurement::Settings;
    use gcnproof_laboratory::validation::Validation;

    let budget = attack.budget(py, &graph.0, attack.global())?;
    let count = graph.0.target_count();
    let nodes = asked.nodes.as_ref().map(|ids| selected(py, &graph.0, ids)).transpose()?;
    let run = files.run();
    let (graph, network, identity) = (graph.0.clone(), network.network.clone(), network.identity.clone());
    let work = move || {
        let validation = Validation {
            graph: &graph,
            network: &network,
            identity,
            budget,
            nodes: nodes.unwrap_or_else(|| (0..count).collect()),
            sample: asked.sample,
            seed: asked.seed,
            settings: Settings { seconds: asked.time_limit, milp_seconds: asked.milp_limit, ..Settings::default() },
            exact_limit: asked.exact_limit,
            plots: asked.plots,
            run: &run,
        };
        let found = validation.execute()?;
        let clean = found.report.clean();
        Ok((!found.interrupted).then(|| json!({ "ok": clean, "summary": found.report, "rows": found.rows })))
    };
    facts(py, call(py, threads, progress, work)?)
}

/// The same in a build without the laboratory, which Python does not call.
#[cfg(not(feature = "laboratory"))]
#[pyfunction]
#[allow(clippy::too_many_arguments)]
pub fn validate<'py>(
    graph: &Graph,
    network: &Network,
    attack: FlipMeans,
    asked: AskedValidation,
    files: Files,
    threads: Option<usize>,
    progress: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let _ = (graph, network, attack, asked, files, threads, progress);
    Err(crate::errors::bug("validate was called in a build without the laboratory"))
}
