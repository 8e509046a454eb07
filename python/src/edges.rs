//! The calls about removed edges: certify, radius, explain.

use std::path::PathBuf;
use std::time::Instant;

use gcnproof::edges::{EdgeBudget, EdgeCertifier, Edges};
use gcnproof_cli::edge_tables;
use gcnproof_cli::run::run;
use gcnproof_results::record::description::Class;
use gcnproof_results::record::edges::{EdgeBudgetRecord, EdgeRecord};
use gcnproof_run::edges::problem;
use miette::IntoDiagnostic;
use numpy::{AllowTypeChange, PyArrayLike1};
use pyo3::prelude::*;
use serde_json::json;

use crate::asked::Search;
use crate::call::call;
use crate::calls::selected;
use crate::errors::raise;
use crate::inputs::{Graph, Network};
use crate::objects::object;
use crate::question::{Around, Owned, class};
use crate::rows::Rows;

/// `e`: a number of removed edges at every node, or one for each.
#[derive(FromPyObject)]
pub enum Local<'py> {
    /// So many.
    Uniform(usize),
    /// Node by node.
    PerNode(PyArrayLike1<'py, i64, AllowTypeChange>),
}

/// The attacker's means where edges are removed.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Remover<'py> {
    e: Option<Local<'py>>,
    keep_one_edge: bool,
    freeze_nodes: Vec<i64>,
    freeze_edges: Vec<(i64, i64)>,
}

impl Remover<'_> {
    /// As the library takes them.
    pub fn budget(&self, py: Python, graph: &gcnproof::Graph, global: usize) -> PyResult<EdgeBudget> {
        let refused = |error: gcnproof::edges::EdgeBudgetError| {
            raise(py, "InputError", &error.to_string(), Some("give a budget that belongs to the graph"))
        };
        let budget = match &self.e {
            None => EdgeBudget::uniform(graph, global, u32::MAX as usize),
            Some(Local::Uniform(e)) => EdgeBudget::uniform(graph, global, *e),
            Some(Local::PerNode(local)) => {
                let local: Vec<i64> = local.as_array().iter().copied().collect();
                EdgeBudget::per_node(graph, global, &local).map_err(refused)?
            }
        };
        let budget = budget.keep_one(self.keep_one_edge).freeze_nodes(&self.freeze_nodes).map_err(refused)?;
        budget.freeze_edges(graph, &self.freeze_edges).map_err(refused)
    }
}

/// A verdict for every node.
#[pyfunction]
#[allow(clippy::too_many_arguments)]
pub fn certify_edges<'py>(
    py: Python<'py>,
    graph: &Graph,
    network: &Network,
    global_: usize,
    remover: Remover,
    search: Search,
    nodes: Option<Vec<i64>>,
    class_: &str,
    threads: Option<usize>,
    progress: Option<&Bound<'py, PyAny>>,
    proofs: Option<PathBuf>,
    out: Option<PathBuf>,
    resume: bool,
    force: bool,
) -> PyResult<(Rows, Bound<'py, PyAny>)> {
    let budget = remover.budget(py, &graph.0, global_)?;
    let (effort, effort_record) = search.effort(py)?;
    let nodes = selected(py, graph, nodes)?;
    let owned: Owned<Edges> = Owned {
        graph: graph.0.clone(),
        network: network.network.clone(),
        identity: network.identity.clone(),
        rules: network.rules.clone(),
        budget,
        nodes,
        class: class(py, class_)?,
        effort,
        effort_record,
        options: (),
    };
    owned.verdicts(py, proofs, Around { threads, progress, out, resume, force })
}

/// For every node the largest certified and the smallest attacked `E`.
#[pyfunction]
#[allow(clippy::too_many_arguments)]
pub fn radius_edges<'py>(
    py: Python<'py>,
    graph: &Graph,
    network: &Network,
    max_global: usize,
    remover: Remover,
    search: Search,
    nodes: Option<Vec<i64>>,
    threads: Option<usize>,
    progress: Option<&Bound<'py, PyAny>>,
    out: Option<PathBuf>,
    resume: bool,
    force: bool,
) -> PyResult<(Rows, Bound<'py, PyAny>)> {
    let budget = remover.budget(py, &graph.0, 0)?;
    let (effort, effort_record) = search.effort(py)?;
    let owned: Owned<Edges> = Owned {
        nodes: selected(py, graph, nodes)?,
        graph: graph.0.clone(),
        network: network.network.clone(),
        identity: network.identity.clone(),
        rules: network.rules.clone(),
        budget,
        class: Class::Predicted,
        effort,
        effort_record,
        options: (),
    };
    owned.radii(py, max_global.min(i64::MAX as usize), Around { threads, progress, out, resume, force })
}

/// The exact worst case of a node: as a dictionary, and as text.
#[pyfunction]
#[allow(clippy::too_many_arguments)]
pub fn explain_edges<'py>(
    py: Python<'py>,
    graph: &Graph,
    network: &Network,
    node: i64,
    global_: usize,
    remover: Remover,
    search: Search,
    threads: Option<usize>,
) -> PyResult<(Bound<'py, PyAny>, String)> {
    let node = selected(py, graph, Some(vec![node]))?[0];
    let budget = remover.budget(py, &graph.0, global_)?;
    let (effort, _) = search.effort(py)?;
    let (graph, network) = (graph.0.clone(), network.network.clone());
    let work = move || {
        let record = EdgeBudgetRecord::new(&budget, true);
        let run = run(None, false, false);
        let certifier = EdgeCertifier::new(problem(&run, &graph, &network, budget)?).effort(effort).stop(run.stopped());
        let start = Instant::now();
        let result = certifier.one(node).into_diagnostic()?;
        let seconds = start.elapsed().as_secs_f64();
        let text = edge_tables::explained(&graph, &result, &record);
        let minima = result.minima.clone();
        let worst: Vec<_> = minima.iter().map(|known| known.as_ref().map(|known| &known.changes)).collect();
        let mut told = json!({ "worst_edges": worst, "edges": record });
        let row = EdgeRecord::new(&graph, result, seconds).with_exact_margins(&minima);
        if let (Some(told), Ok(serde_json::Value::Object(row))) = (told.as_object_mut(), serde_json::to_value(&row)) {
            told.extend(row);
        }
        Ok((told, text))
    };
    let done = call(py, threads, None, work)?;
    Ok((object(py, &done.value.0)?, done.value.1))
}
