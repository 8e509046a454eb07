//! What a call asks for: budget, effort, files. Python has brought arguments into plain forms.

use std::path::PathBuf;
use std::time::Duration;

use gcnproof::internals::deployed::execution::precision;
use gcnproof::{Bound, Budget, Direction, Effort, Execution, Graph, LocalBudget, Margins};
use gcnproof_cli::run::run;
use gcnproof_results::record::description::{EffortRecord, Level};
use gcnproof_run::effort::{limits, usual_seconds};
use gcnproof_run::run::Run;
use numpy::{AllowTypeChange, PyArrayLike1};
use pyo3::prelude::*;

use crate::errors::{raise, wrong};

/// `q`: a number of flips, a share of the attributes, or a number for each node.
#[derive(FromPyObject)]
pub enum Local<'py> {
    /// So many flips.
    Flips(usize),
    /// A share.
    Share(f64),
    /// Node by node.
    PerNode(PyArrayLike1<'py, i64, AllowTypeChange>),
}

/// The attacker's means.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Attacker<'py> {
    q: Local<'py>,
    flips: String,
    freeze_nodes: Vec<i64>,
    freeze_attributes: Vec<i64>,
}

impl Attacker<'_> {
    /// As the library takes them.
    pub fn budget(&self, py: Python, graph: &Graph, global: usize) -> PyResult<Budget> {
        let refused = |error: gcnproof::BudgetError| raise(py, "InputError", &error.to_string(), None);
        let budget = match &self.q {
            Local::Flips(q) => Budget::uniform(graph, global, *q),
            Local::Share(share) => {
                let q = LocalBudget::Percent(100.0 * share).flips(graph.attribute_count());
                Budget::uniform(graph, global, q)
            }
            Local::PerNode(local) => {
                let local: Vec<i64> = local.as_array().iter().copied().collect();
                Budget::per_node(graph, global, &local).map_err(refused)?
            }
        };
        let direction = match self.flips.as_str() {
            "both" => Direction::Both,
            "add" => Direction::Add,
            "remove" => Direction::Remove,
            other => return Err(wrong(py, &format!("flips={other:?}"), "give 'both', 'add' or 'remove'")),
        };
        let mut budget = budget.with_direction(direction).freeze_nodes(&self.freeze_nodes).map_err(refused)?;
        if !self.freeze_attributes.is_empty() {
            budget = budget.freeze_attributes(graph, &self.freeze_attributes).map_err(refused)?;
        }
        Ok(budget)
    }
}

/// How far to go.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Search {
    /// Nothing: a search with the usual limit.
    complete: Option<bool>,
    minimize: bool,
    exact_margins: bool,
    time_limit: Option<f64>,
    margins: String,
    deployed: Option<String>,
    operator_error: Option<u32>,
    flush_subnormals: bool,
    unit_roundoff: Option<f64>,
}

impl Search {
    /// How the network runs, if that is asked about.
    pub fn execution(&self, py: Python) -> PyResult<Option<Execution>> {
        let options = self.operator_error.is_some() || self.flush_subnormals || self.unit_roundoff.is_some();
        match self.deployed.as_deref() {
            None if options => {
                let message = "operator_error, flush_subnormals and unit_roundoff speak of a network that is deployed";
                Err(wrong(py, message, "say deployed='float32', or leave them out"))
            }
            None => Ok(None),
            Some("float32") => {
                let bits = self.unit_roundoff.map(|unit| precision(&unit.to_string())).transpose();
                let bits = bits.map_err(|problem| wrong(py, &problem, "float32 has 2**-24"))?;
                Ok(Some(Execution {
                    precision: bits.unwrap_or(Execution::FLOAT32.precision),
                    operator_error: self.operator_error,
                    flush_subnormals: self.flush_subnormals,
                }))
            }
            Some(other) => Err(wrong(py, &format!("deployed={other:?}"), "give 'float32'")),
        }
    }

    /// Was a complete search asked for by that name?
    pub fn is_complete(&self) -> bool {
        self.complete == Some(true)
    }

    /// As the library takes it, and for the record.
    pub fn effort(&self, py: Python) -> PyResult<(Effort, EffortRecord)> {
        if let Some(seconds) = self.time_limit
            && Duration::try_from_secs_f64(seconds).is_err()
        {
            return Err(wrong(py, &format!("time_limit={seconds}"), "give a number of seconds, 0 or more"));
        }
        let mut time_limit = self.time_limit;
        let effort = match (self.complete, self.minimize) {
            (Some(true), true) => {
                return Err(wrong(py, "complete and minimize are asked for", "minimize decides every node, too"));
            }
            (_, true) => Effort::Minimize { limits: limits(time_limit, None), gap: 0.0 },
            (Some(false), _) if time_limit.is_some() => {
                let message = "time_limit limits a search, and without one it does nothing";
                return Err(wrong(py, message, "say complete=True or minimize=True, or leave it out"));
            }
            (Some(false), _) => Effort::Bounds,
            (complete, _) => {
                time_limit = time_limit.or_else(|| usual_seconds(complete.is_some()));
                Effort::Complete(limits(time_limit, None))
            }
        };
        let margins = match self.margins.as_str() {
            "tight" => Margins::Tight,
            // Exact minima leave nothing to be fast about.
            "fast" if self.minimize => Margins::Tight,
            "fast" => Margins::Fast,
            other => return Err(wrong(py, &format!("margins={other:?}"), "give 'fast' or 'tight'")),
        };
        let exact_margins = self.exact_margins && self.minimize;
        let level = Level::from(effort);
        Ok((effort, EffortRecord { level, time_limit, node_limit: None, gap: None, margins, exact_margins }))
    }
}

/// Which bounds certify.
pub fn bound(py: Python, name: &str) -> PyResult<Bound> {
    match name {
        "paper" => Ok(Bound::Paper),
        "anchored" => Ok(Bound::Anchored),
        "best" => Ok(Bound::Best),
        other => Err(wrong(py, &format!("bound={other:?}"), "give 'best', 'paper' or 'anchored'")),
    }
}

/// Where rows go.
pub fn files(py: Python, out: Option<PathBuf>, resume: bool, force: bool) -> PyResult<Run> {
    if out.is_none() && (resume || force) {
        let what = if resume { "resume" } else { "force" };
        return Err(wrong(py, &format!("{what}=True without a file"), "say where rows go: out='results.parquet'"));
    }
    if resume && force {
        return Err(wrong(py, "resume and force", "say one of them"));
    }
    Ok(run(out, resume, force))
}
