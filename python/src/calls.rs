//! The calls: certify, radius, explain, check, and any command.

use std::ffi::OsString;
use std::path::PathBuf;

use gcnproof::Flips;
use gcnproof_check::format::Convention;
use gcnproof_check::work::Limits;
use gcnproof_check::{Attack, Options, Question};
use gcnproof_cli::run::{certifier, stop, stopped};
use gcnproof_cli::{check as checking, explain as explaining, program};
use gcnproof_results::record::description::Class;
use gcnproof_run::flips::FlipOptions;
use miette::IntoDiagnostic;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::asked::{Attacker, Search, bound as bounds};
use crate::call::{Done, call};
use crate::edges::Remover;
use crate::errors::wrong;
use crate::inputs::{Graph, Network};
use crate::objects::object;
use crate::question::{Around, Owned, class};
use crate::rows::Rows;

/// Nodes that exist, in rising order.
pub fn selected(py: Python, graph: &Graph, nodes: Option<Vec<i64>>) -> PyResult<Vec<usize>> {
    let count = graph.0.node_count();
    let Some(nodes) = nodes else { return Ok((0..count).collect()) };
    let id = |node: i64| {
        let known = usize::try_from(node).ok().filter(|&node| node < count);
        known.ok_or_else(|| {
            let message = format!("there is no node {node}: the last one is {}", count.saturating_sub(1));
            wrong(py, &message, "ids run from 0")
        })
    };
    let mut nodes = nodes.into_iter().map(id).collect::<PyResult<Vec<usize>>>()?;
    nodes.sort_unstable();
    nodes.dedup();
    if nodes.is_empty() {
        return Err(wrong(py, "no node is selected", "a mask needs at least one true entry"));
    }
    Ok(nodes)
}

/// The same, told how the network runs.
pub fn as_deployed(
    certifier: gcnproof::CertifierBuilder,
    deployed: Option<gcnproof::Execution>,
) -> gcnproof::CertifierBuilder {
    match deployed {
        Some(execution) => certifier.deployed(execution),
        None => certifier,
    }
}

/// What else there is to say of a run.
pub fn facts<'py, T>(py: Python<'py>, done: &Done<T>, more: serde_json::Value) -> PyResult<Bound<'py, PyAny>> {
    let facts = object(py, &more)?;
    facts.set_item("notes", done.notes.clone())?;
    Ok(facts)
}

/// A verdict for every node.
#[pyfunction]
#[allow(clippy::too_many_arguments)]
pub fn certify<'py>(
    py: Python<'py>,
    graph: &Graph,
    network: &Network,
    global_: usize,
    attacker: Attacker,
    search: Search,
    nodes: Option<Vec<i64>>,
    class_: &str,
    bound: &str,
    threads: Option<usize>,
    progress: Option<&Bound<'py, PyAny>>,
    proofs: Option<PathBuf>,
    out: Option<PathBuf>,
    resume: bool,
    force: bool,
) -> PyResult<(Rows, Bound<'py, PyAny>)> {
    let budget = attacker.budget(py, &graph.0, global_)?;
    let (effort, effort_record) = search.effort(py)?;
    let deployed = search.execution(py)?;
    let nodes = selected(py, graph, nodes)?;
    let bound = bounds(py, bound)?;
    let owned: Owned<Flips> = Owned {
        graph: graph.0.clone(),
        network: network.network.clone(),
        identity: network.identity.clone(),
        rules: network.rules.clone(),
        options: FlipOptions { bound, deployed, ..FlipOptions::new(&budget) },
        budget,
        nodes,
        class: class(py, class_)?,
        effort,
        effort_record,
    };
    owned.verdicts(py, proofs, Around { threads, progress, out, resume, force })
}

/// For every node the largest certified and the smallest attacked `Q`.
#[pyfunction]
#[allow(clippy::too_many_arguments)]
pub fn radius<'py>(
    py: Python<'py>,
    graph: &Graph,
    network: &Network,
    max_global: usize,
    attacker: Attacker,
    search: Search,
    nodes: Option<Vec<i64>>,
    threads: Option<usize>,
    progress: Option<&Bound<'py, PyAny>>,
    out: Option<PathBuf>,
    resume: bool,
    force: bool,
) -> PyResult<(Rows, Bound<'py, PyAny>)> {
    let budget = attacker.budget(py, &graph.0, 0)?;
    let (effort, effort_record) = search.effort(py)?;
    let deployed = search.execution(py)?;
    let owned: Owned<Flips> = Owned {
        nodes: selected(py, graph, nodes)?,
        graph: graph.0.clone(),
        network: network.network.clone(),
        identity: network.identity.clone(),
        rules: network.rules.clone(),
        options: FlipOptions { deployed, ..FlipOptions::new(&budget) },
        budget,
        class: Class::Predicted,
        effort,
        effort_record,
    };
    owned.radii(py, max_global, Around { threads, progress, out, resume, force })
}

/// What the verdict on a node rests on: as a dictionary, and as text.
#[pyfunction]
#[allow(clippy::too_many_arguments)]
pub fn explain<'py>(
    py: Python<'py>,
    graph: &Graph,
    network: &Network,
    node: i64,
    global_: usize,
    attacker: Attacker,
    search: Search,
    threads: Option<usize>,
) -> PyResult<(Bound<'py, PyAny>, String)> {
    let node = selected(py, graph, Some(vec![node]))?[0];
    let budget = attacker.budget(py, &graph.0, global_)?;
    let (effort, _) = search.effort(py)?;
    let deployed = search.execution(py)?;
    let (graph, network) = (graph.0.clone(), network.network.clone());
    let work = move || {
        let certifier = as_deployed(certifier(&graph, &network, budget).effort(effort), deployed).build();
        let told = gcnproof::explain(&certifier, node).into_diagnostic()?;
        let text = explaining::text(&graph, &told, global_, certifier.budget().local(node));
        Ok((serde_json::to_value(&told).into_diagnostic()?, text))
    };
    let done = call(py, threads, None, work)?;
    Ok((object(py, &done.value.0)?, done.value.1))
}

/// Runs a command as the command line would: exit code, what it wrote, and what it noted.
#[pyfunction]
pub fn command<'py>(
    py: Python<'py>,
    words: Vec<OsString>,
    threads: Option<usize>,
    progress: Option<&Bound<'py, PyAny>>,
) -> PyResult<(u8, String, Vec<String>)> {
    let done = call(py, threads, progress, move || program::run_inside(words))?;
    Ok((done.value, done.output, done.notes))
}

/// What a file of proofs is asked.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Asked<'py> {
    global_: usize,
    attacker: Option<Attacker<'py>>,
    remover: Option<Remover<'py>>,
    bound: Option<u64>,
    attacked_nodes: Option<u64>,
    class_: String,
    nodes: Option<Vec<i64>>,
    search: Search,
}

impl Asked<'_> {
    /// As the checker takes it.
    fn question(&self, py: Python, graph: &Graph, network: &Network) -> PyResult<Question> {
        let classes: Convention = self
            .class_
            .parse()
            .map_err(|_| wrong(py, &format!("class_={:?}", self.class_), "give 'predicted' or 'labels'"))?;
        let (digests, of) = (("", ""), (&*network.network, network.rules.as_slice()));
        let attack = match (&self.attacker, &self.remover, self.bound) {
            (Some(attacker), _, bound) => {
                let budget = attacker.budget(py, &graph.0, self.global_)?;
                let budget = gcnproof::proof::header(digests, of, &budget, classes).budget;
                match (bound, self.search.execution(py)?) {
                    (None, execution) => Attack::Flips(
                        budget,
                        execution.map(|execution| gcnproof_check::Execution {
                            precision: execution.precision,
                            operator_error: execution.operator_error,
                            flush_subnormals: execution.flush_subnormals,
                        }),
                    ),
                    (Some(bound), None) => Attack::Collective { budget, attacked_nodes: self.attacked_nodes, bound },
                    (Some(_), Some(_)) => {
                        let message = "deployed together with bound: one attack is bounded in exact arithmetic only";
                        return Err(wrong(py, message, "leave one of them out"));
                    }
                }
            }
            (None, Some(remover), _) => {
                let budget = remover.budget(py, &graph.0, self.global_)?;
                Attack::Removals(gcnproof::edges::edge_header(digests, of, &budget, classes).edges)
            }
            (None, None, _) => return Err(wrong(py, "a question without a budget", "give Q or E")),
        };
        let nodes = self.nodes.clone().map(|nodes| selected(py, graph, Some(nodes))).transpose()?;
        let nodes = nodes.map(|nodes| nodes.into_iter().map(|node| node as u32).collect());
        Ok(Question { classes, nodes, ..Question::new(attack) })
    }
}

/// Checks a file of proofs against a graph and a network in memory.
#[pyfunction]
#[allow(clippy::too_many_arguments)]
pub fn check<'py>(
    py: Python<'py>,
    graph: &Graph,
    network: &Network,
    proofs: PathBuf,
    asked: Option<Asked>,
    exact: bool,
    work_limit: u64,
    threads: Option<usize>,
    progress: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let question = asked.map(|asked| asked.question(py, graph, network)).transpose()?;
    let model = gcnproof::proof::model_file(&network.network, &network.identity.model);
    // The network is the one in memory, whatever a file says of its message passing.
    let budget = gcnproof::Budget::uniform(&graph.0, 0, 0);
    let of = (&*network.network, network.rules.as_slice());
    let message_passing = gcnproof::proof::header(("", ""), of, &budget, Convention::Predicted).message_passing;
    let matrices = network.network.own_matrices();
    let limits = Limits::factor(work_limit);
    let options = Options {
        exact_only: exact,
        matrices,
        message_passing,
        question,
        limits,
        stop: Some(stopped),
        ..Options::default()
    };
    let graph = graph.0.clone();
    let work = move || checking::summary(&graph, &model, &options, &proofs);
    let done = call(py, threads, progress, work)?;
    object(py, &done.value)
}

/// What this module is, for the Python layer and for those who ask.
#[pyfunction]
pub fn build<'py>(py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
    let facts = PyDict::new(py);
    facts.set_item("version", env!("CARGO_PKG_VERSION"))?;
    facts.set_item("laboratory", cfg!(feature = "laboratory"))?;
    Ok(facts)
}

/// Stops what is running, as Ctrl-C does.
#[pyfunction]
pub fn interrupt() {
    stop();
}
