//! The call about one attack for the whole graph.

use std::path::PathBuf;

use gcnproof::internals::collective::families::Rows as BoundRows;
use gcnproof_cli::proposer::Solver;
use gcnproof_results::record::description::Class;
use gcnproof_run::budgets::{Budgets, budgets as read_budgets};
use gcnproof_run::collective_run::Question;
use gcnproof_run::known_radii::KnownRadii;
use pyo3::prelude::*;
use serde_json::json;

use crate::asked::{Attacker, Search, files};
use crate::call::call;
use crate::calls::{facts, selected};
use crate::errors::{from_report, wrong};
use crate::inputs::{Graph, Network};
use crate::rows::{Kind, Rows};

/// Budgets: as the command line takes them, or as numbers.
#[derive(FromPyObject)]
pub enum Asked {
    /// `0-1000:50`.
    List(String),
    /// Numbers of flips.
    Numbers(Vec<usize>),
}

impl Asked {
    fn budgets(self, py: Python) -> PyResult<Budgets> {
        let remedy = "give numbers of flips: a list, a range, or a text such as '0-1000:50'";
        match self {
            Asked::List(list) => read_budgets(&list).map_err(|problem| wrong(py, &problem, remedy)),
            Asked::Numbers(numbers) => {
                Budgets::new(numbers).map_err(|problem| wrong(py, &format!("budgets: {problem}"), remedy))
            }
        }
    }
}

/// What is known of single nodes.
#[derive(FromPyObject)]
pub enum Singles<'py> {
    /// Rows of `radius` in memory.
    Rows(PyRef<'py, Rows>),
    /// A file of them.
    File(PathBuf),
}

impl Singles<'_> {
    fn radii(self, py: Python) -> PyResult<KnownRadii> {
        match self {
            Singles::File(path) => KnownRadii::read(&path).map_err(|report| from_report(py, &report)),
            Singles::Rows(rows) => match &rows.kind {
                Kind::Radii(radii) => Ok(KnownRadii::new("radii", rows.fingerprint.clone(), radii.clone())),
                _ => Err(wrong(py, "radii are rows of another kind", "give what gcnproof.radius returned")),
            },
        }
    }
}

/// For every budget a bound on the predictions that one perturbation breaks, and a perturbation.
#[pyfunction]
#[allow(clippy::too_many_arguments)]
pub fn collective<'py>(
    py: Python<'py>,
    graph: &Graph,
    network: &Network,
    budgets: Asked,
    attacker: Attacker,
    attacked_nodes: Option<usize>,
    search: Search,
    nodes: Option<Vec<i64>>,
    class_: &str,
    radii: Option<Singles<'py>>,
    rows: &str,
    solver: &str,
    swaps: Option<usize>,
    threads: Option<usize>,
    progress: Option<&Bound<'py, PyAny>>,
    proofs: Option<PathBuf>,
    out: Option<PathBuf>,
    resume: bool,
    force: bool,
) -> PyResult<(Rows, Bound<'py, PyAny>)> {
    let budgets = budgets.budgets(py)?;
    let budget = attacker.budget(py, &graph.0, 0)?;
    let (effort, effort_record) = search.effort(py)?;
    let exhaustive = search.is_complete();
    let nodes = nodes.map(|nodes| selected(py, graph, Some(nodes))).transpose()?;
    let class = match class_ {
        "predicted" => Class::Predicted,
        "labels" => Class::Labels,
        other => return Err(wrong(py, &format!("class_={other:?}"), "give 'predicted' or 'labels'")),
    };
    let rows = match rows {
        "all" => BoundRows::All,
        "count" if proofs.is_some() => {
            return Err(wrong(py, "rows='count' with proofs", "proofs choose what the bound rests on: leave rows out"));
        }
        "count" => BoundRows::Count,
        other => return Err(wrong(py, &format!("rows={other:?}"), "give 'all' or 'count'")),
    };
    let solver = match solver {
        "own" => Solver::Own,
        "highs" => Solver::Highs,
        other => return Err(wrong(py, &format!("solver={other:?}"), "give 'own' or 'highs'")),
    };
    let solver = solver.proposer().map_err(|report| from_report(py, &report))?;
    let radii = radii.map(|radii| radii.radii(py)).transpose()?;
    // Proofs alone can be overwritten, but not gone on with: rows say what is done.
    let mut run = files(py, out, resume, force && proofs.is_none())?;
    run.force = force;
    let (graph, total) = (graph.0.clone(), budgets.numbers().len());
    let (network, identity, rules) = (network.network.clone(), network.identity.clone(), network.rules.clone());
    let work = move || {
        let question = Question {
            graph: &graph,
            graph_name: "the graph".into(),
            network: &network,
            identity: &identity,
            rules,
            budgets,
            budget,
            attacked_nodes,
            nodes,
            class,
            radii,
            rows,
            solver,
            effort,
            effort_record,
            exhaustive,
            swaps,
            proofs: proofs.as_deref(),
            run: &run,
        };
        question.execute()
    };
    let done = call(py, threads, progress, work)?;
    let found = &done.value;
    let facts = facts(py, &done, json!({ "seconds": found.seconds, "interrupted": found.interrupted }))?;
    let found = done.value;
    Ok((Rows::new(Kind::Collective(found.rows), &found.description, total), facts))
}
