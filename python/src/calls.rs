//! The call `check`, and what this module is. Questions about nodes have a class of their own (`question`).

use std::path::PathBuf;

use gcnproof_check::format::Convention;
use gcnproof_check::work::Limits;
use gcnproof_check::{Attack as Attacked, Options, Question};
use gcnproof_cli::check as checking;
use gcnproof_cli::run::{stop, stopped};
use gcnproof_results::record::description::Class;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::asked::Asked;
use crate::attack::{Attack, Means};
use crate::call::call;
use crate::errors::wrong;
use crate::inputs::{Graph, Network};
use crate::objects::object;

/// What a file of proofs is asked.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Claim<'py> {
    attack: Attack<'py>,
    asked: Asked,
    bound: Option<u64>,
    attacked_nodes: Option<u64>,
}

impl Claim<'_> {
    /// As the checker takes it.
    fn question(&self, py: Python, graph: &Graph, network: &Network) -> PyResult<Question> {
        let classes = match self.asked.class(py)? {
            Class::Predicted => Convention::Predicted,
            Class::Labels => Convention::Labels,
        };
        let (digests, of) = (("", ""), (&*network.network, network.rules.as_slice()));
        let attack = match &self.attack {
            Attack::Flips(means) => {
                let budget = means.budget(py, &graph.0, means.global())?;
                let gcnproof_check::format::Header { budget, ranges, .. } =
                    gcnproof::proof::header(digests, of, &budget, classes);
                let execution = self.asked.execution(py)?.map(|execution| gcnproof_check::Execution {
                    precision: execution.precision,
                    operator_error: execution.operator_error,
                    flush_subnormals: execution.flush_subnormals,
                });
                match (ranges, self.bound, execution) {
                    // Python refuses a bound beside ranges.
                    (Some(ranges), _, execution) => Attacked::Ranges(budget, ranges, execution),
                    (None, None, execution) => Attacked::Flips(budget, execution),
                    (None, Some(bound), None) => {
                        Attacked::Collective { budget, attacked_nodes: self.attacked_nodes, bound }
                    }
                    (None, Some(_), Some(_)) => {
                        let message = "deployed together with bound: one attack is bounded in exact arithmetic only";
                        return Err(wrong(py, message, "leave one of them out"));
                    }
                }
            }
            Attack::Edges(means) => {
                let budget = means.budget(py, &graph.0, means.global())?;
                Attacked::Removals(gcnproof::edges::edge_header(digests, of, &budget, classes).edges)
            }
            Attack::Joint(means) => {
                let budget = means.budget(py, &graph.0, means.global())?;
                let edges = gcnproof::edges::edge_header(digests, of, &budget.edges, classes).edges;
                Attacked::Joint(gcnproof::proof::header(digests, of, &budget.flips, classes).budget, edges)
            }
        };
        let nodes = self.asked.named(py, graph)?;
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
    claim: Option<Claim>,
    exact: bool,
    work_limit: u64,
    threads: Option<usize>,
    progress: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let question = claim.map(|claim| claim.question(py, graph, network)).transpose()?;
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
    object(py, &call(py, threads, progress, work)?.whole()?.value)
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
