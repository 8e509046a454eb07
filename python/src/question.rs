//! Questions about nodes, whatever the attacker: they own what they need, because another thread answers them.

use std::path::PathBuf;
use std::sync::Arc;

use gcnproof::edges::Edges;
use gcnproof::{Effort, Flips, Graph, Network, Operator};
use gcnproof_results::record::description::{Class, EffortRecord, Identity};
use gcnproof_results::record::node::Record;
use gcnproof_results::record::radius::RadiusRow;
use gcnproof_run::ids::Ids;
use gcnproof_run::question::{Answered, NodeQuestion, check_proofs_name};
use gcnproof_run::run::Run;
use pyo3::prelude::*;
use serde_json::json;

use crate::asked::files;
use crate::call::call;
use crate::calls::facts;
use crate::errors::{from_report, wrong};
use crate::rows::{Kind, Rows};

/// An attacker whose rows Python sees.
pub trait Shown: Answered {
    /// Rows of verdicts.
    fn nodes(rows: Vec<Record<Self>>) -> Kind;

    /// Rows of radii.
    fn radii(rows: Vec<RadiusRow<Self>>) -> Kind;
}

impl Shown for Flips {
    fn nodes(rows: Vec<Record<Flips>>) -> Kind {
        Kind::Nodes(rows)
    }

    fn radii(rows: Vec<RadiusRow<Flips>>) -> Kind {
        Kind::Radii(rows)
    }
}

impl Shown for Edges {
    fn nodes(rows: Vec<Record<Edges>>) -> Kind {
        Kind::EdgeNodes(rows)
    }

    fn radii(rows: Vec<RadiusRow<Edges>>) -> Kind {
        Kind::EdgeRadii(rows)
    }
}

/// What is asked of some nodes.
pub struct Owned<A: Answered> {
    /// The graph.
    pub graph: Arc<Graph>,
    /// The network on it.
    pub network: Arc<Network>,
    /// Digests of both.
    pub identity: Identity,
    /// The rules of message passing as they were given.
    pub rules: Vec<Operator>,
    /// What an attacker may do.
    pub budget: A::Budget,
    /// The nodes, in rising order.
    pub nodes: Vec<usize>,
    /// The class that is to be kept.
    pub class: Class,
    /// How far to go.
    pub effort: Effort,
    /// The same for the record.
    pub effort_record: EffortRecord,
    /// What only questions about this attacker say.
    pub options: A::Options,
}

/// Who listens, and where files go.
pub struct Around<'a, 'py> {
    /// How many threads, if not all.
    pub threads: Option<usize>,
    /// Who is told of progress.
    pub progress: Option<&'a Bound<'py, PyAny>>,
    /// The file of rows.
    pub out: Option<PathBuf>,
    /// Continue an interrupted run?
    pub resume: bool,
    /// Overwrite what is there?
    pub force: bool,
}

/// The class that is to be kept.
pub fn class(py: Python, name: &str) -> PyResult<Class> {
    match name {
        "predicted" => Ok(Class::Predicted),
        "labels" => Ok(Class::Labels),
        other => Err(wrong(py, &format!("class_={other:?}"), "give 'predicted' or 'labels'")),
    }
}

impl<A: Shown> Owned<A> {
    fn question<'a>(&'a self, run: &'a Run) -> NodeQuestion<'a, A> {
        NodeQuestion {
            graph: &self.graph,
            network: &self.network,
            identity: &self.identity,
            rules: self.rules.clone(),
            budget: self.budget.clone(),
            nodes: &self.nodes,
            ids: Ids::new(&self.graph, None),
            class: self.class,
            effort: self.effort,
            effort_record: self.effort_record,
            options: self.options.clone(),
            run,
        }
    }

    /// A verdict for every node.
    pub fn verdicts<'py>(
        self,
        py: Python<'py>,
        proofs: Option<PathBuf>,
        around: Around<'_, 'py>,
    ) -> PyResult<(Rows, Bound<'py, PyAny>)> {
        let Around { threads, progress, out, resume, force } = around;
        if let Some(path) = &proofs {
            check_proofs_name(path).map_err(|report| from_report(py, &report))?;
        }
        // Proofs alone can be overwritten, but not gone on with: rows say what is done.
        let mut run = files(py, out, resume, force && proofs.is_none())?;
        run.force = force;
        let total = self.nodes.len();
        let done = call(py, threads, progress, move || self.question(&run).verdicts(proofs.as_deref()))?;
        let found = &done.value;
        let more = json!({
            "seconds": found.seconds, "computed": found.computed, "interrupted": found.interrupted, "proofs": found.proofs,
        });
        let facts = facts(py, &done, more)?;
        let found = done.value;
        Ok((Rows::new(A::nodes(found.rows), &found.description, total), facts))
    }

    /// For every node the largest certified and the smallest attacked global budget.
    pub fn radii<'py>(
        self,
        py: Python<'py>,
        limit: usize,
        around: Around<'_, 'py>,
    ) -> PyResult<(Rows, Bound<'py, PyAny>)> {
        let Around { threads, progress, out, resume, force } = around;
        let run = files(py, out, resume, force)?;
        let total = self.nodes.len();
        let done = call(py, threads, progress, move || self.question(&run).radii(limit))?;
        let found = &done.value;
        let facts = facts(py, &done, json!({ "seconds": found.seconds, "interrupted": found.interrupted }))?;
        let found = done.value;
        Ok((Rows::new(A::radii(found.rows), &found.description, total), facts))
    }
}
