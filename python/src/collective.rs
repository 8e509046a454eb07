//! The call about one attack for the whole graph.

use std::path::PathBuf;

use gcnproof::internals::collective::families::Rows as BoundRows;
use gcnproof_cli::proposer::Solver;
use gcnproof_run::budgets::{Budgets, budgets as read_budgets};
use gcnproof_run::collective_run::Question;
use gcnproof_run::known_radii::KnownRadii;
use pyo3::prelude::*;
use serde_json::json;

use crate::asked::{Asked, Files};
use crate::attack::{FlipMeans, Means};
use crate::call::{Answer, answer};
use crate::errors::{from_report, wrong};
use crate::inputs::{Graph, Network};
use crate::rows::{Kind, Rows};

/// Budgets: as the command line takes them, or as numbers.
#[derive(FromPyObject)]
pub enum Listed {
    /// `0-1000:50`.
    List(String),
    /// Numbers of flips.
    Numbers(Vec<usize>),
}

impl Listed {
    fn budgets(self, py: Python) -> PyResult<Budgets> {
        let remedy = "give numbers of flips: a list, a range, or a text such as '0-1000:50'";
        match self {
            Listed::List(list) => read_budgets(&list).map_err(|problem| wrong(py, &problem, remedy)),
            Listed::Numbers(numbers) => {
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

/// What only this call is asked.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Curve<'py> {
    budgets: Listed,
    attacked_nodes: Option<usize>,
    radii: Option<Singles<'py>>,
    rows: String,
    solver: String,
    swaps: Option<usize>,
}

/// For every budget a bound on the predictions that one perturbation breaks, and a perturbation.
#[pyfunction]
#[allow(clippy::too_many_arguments)]
pub fn collective<'py>(
    py: Python<'py>,
    graph: &Graph,
    network: &Network,
    attack: FlipMeans,
    asked: Asked,
    curve: Curve<'py>,
    files: Files,
    threads: Option<usize>,
    progress: Option<&Bound<'py, PyAny>>,
) -> PyResult<(Rows, Bound<'py, PyAny>)> {
    let budgets = curve.budgets.budgets(py)?;
    let budget = attack.budget(py, &graph.0, 0)?;
    let exhaustive = asked.is_complete();
    let (effort, effort_record) = asked.effort(py)?;
    let (nodes, class) = (asked.named(py, graph)?, asked.class(py)?);
    let rows = match curve.rows.as_str() {
        "all" => BoundRows::All,
        "count" if files.proofs.is_some() => {
            return Err(wrong(
                py,
                "rows='count' with proofs",
                "no proof states counts: leave rows out, or give 'weights'",
            ));
        }
        "count" => BoundRows::Count,
        "weights" => BoundRows::Weights,
        other => return Err(wrong(py, &format!("rows={other:?}"), "give 'all', 'count' or 'weights'")),
    };
    let solver = match curve.solver.as_str() {
        "own" => Solver::Own,
        "highs" => Solver::Highs,
        other => return Err(wrong(py, &format!("solver={other:?}"), "give 'own' or 'highs'")),
    };
    let solver = solver.proposer().map_err(|report| from_report(py, &report))?;
    let radii = curve.radii.map(|radii| radii.radii(py)).transpose()?;
    let run = files.run();
    let (graph, total) = (graph.0.clone(), budgets.numbers().len());
    let (network, identity, rules) = (network.network.clone(), network.identity.clone(), network.rules.clone());
    let (attacked_nodes, swaps) = (curve.attacked_nodes, curve.swaps);
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
            proofs: files.proofs.as_deref(),
            run: &run,
        };
        let found = question.execute()?;
        let facts = json!({ "seconds": found.seconds, "interrupted": found.interrupted });
        Ok(Answer { rows: Rows::new(Kind::Collective(found.rows), &found.description, total), facts })
    };
    answer(py, threads, progress, work)
}
