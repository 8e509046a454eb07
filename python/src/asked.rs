//! What a call asks for: effort, nodes, files. Python has brought arguments into plain forms.

use std::path::PathBuf;
use std::time::Duration;

use gcnproof::internals::deployed::execution::precision;
use gcnproof::{Bound, Effort, Execution, Graph as PlainGraph, Margins};
use gcnproof_cli::run::run;
use gcnproof_results::record::description::{Class, EffortRecord, Level};
use gcnproof_run::effort::{limits, usual_seconds};
use gcnproof_run::run::Run;
use pyo3::prelude::*;

use crate::errors::wrong;
use crate::inputs::Graph;

/// What is asked of every node, whatever the attacker.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Asked {
    nodes: Option<Vec<i64>>,
    class_: String,
    /// Nothing: a search with the usual limit.
    complete: Option<bool>,
    minimize: bool,
    /// Are exact minima to be written as fractions?
    fractions: bool,
    time_limit: Option<f64>,
    bound: String,
    margins: String,
    deployed: Option<Deployed>,
    /// Radii up to the attacker's global budget, rather than verdicts?
    pub radii: bool,
}

/// How a network runs.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct Deployed {
    operator_error: Option<u32>,
    flush_subnormals: bool,
    unit_roundoff: Option<f64>,
}

impl Asked {
    /// The nodes that are named, in rising order; nothing for all of them.
    pub fn named(&self, py: Python, graph: &Graph) -> PyResult<Option<Vec<usize>>> {
        self.nodes.as_deref().map(|nodes| selected(py, &graph.0, nodes)).transpose()
    }

    /// The nodes, in rising order.
    pub fn nodes(&self, py: Python, graph: &Graph) -> PyResult<Vec<usize>> {
        Ok(self.named(py, graph)?.unwrap_or_else(|| (0..graph.0.target_count()).collect()))
    }

    /// The class that is to be kept.
    pub fn class(&self, py: Python) -> PyResult<Class> {
        match self.class_.as_str() {
            "predicted" => Ok(Class::Predicted),
            "labels" => Ok(Class::Labels),
            other => Err(wrong(py, &format!("class_={other:?}"), "give 'predicted' or 'labels'")),
        }
    }

    /// How the network runs, if that is asked about.
    pub fn execution(&self, py: Python) -> PyResult<Option<Execution>> {
        let Some(deployed) = &self.deployed else { return Ok(None) };
        let bits = deployed.unit_roundoff.map(|unit| precision(&unit.to_string())).transpose();
        let bits = bits.map_err(|problem| wrong(py, &problem, "float32 has 2**-24, bfloat16 2**-8"))?;
        Ok(Some(Execution {
            precision: bits.unwrap_or(Execution::FLOAT32.precision),
            operator_error: deployed.operator_error,
            flush_subnormals: deployed.flush_subnormals,
        }))
    }

    /// Was a complete search asked for by that name?
    pub fn is_complete(&self) -> bool {
        self.complete == Some(true)
    }

    /// How far to go: as the library takes it, and for the record.
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
        let (level, exact_margins) = (Level::from(effort), self.fractions);
        Ok((effort, EffortRecord { level, time_limit, node_limit: None, gap: None, margins, exact_margins }))
    }

    /// Which bounds certify.
    pub fn bound(&self, py: Python) -> PyResult<Bound> {
        match self.bound.as_str() {
            "paper" => Ok(Bound::Paper),
            "anchored" => Ok(Bound::Anchored),
            "best" => Ok(Bound::Best),
            other => Err(wrong(py, &format!("bound={other:?}"), "give 'best', 'paper' or 'anchored'")),
        }
    }
}

/// Nodes that exist, in rising order; or graphs, where these are classified.
pub fn selected(py: Python, graph: &PlainGraph, nodes: &[i64]) -> PyResult<Vec<usize>> {
    let (count, is_batch) = (graph.target_count(), graph.batch().is_some());
    let (what, help) = match is_batch {
        true => ("graph", "graphs are classified: ids are those of graphs, from 0"),
        false => ("node", "ids run from 0"),
    };
    let id = |&node: &i64| {
        let known = usize::try_from(node).ok().filter(|&node| node < count);
        known.ok_or_else(|| {
            let message = format!("there is no {what} {node}: the last one is {}", count.saturating_sub(1));
            wrong(py, &message, help)
        })
    };
    let mut nodes = nodes.iter().map(id).collect::<PyResult<Vec<usize>>>()?;
    nodes.sort_unstable();
    nodes.dedup();
    if nodes.is_empty() {
        return Err(wrong(py, &format!("no {what} is selected"), "give at least one id"));
    }
    Ok(nodes)
}

/// Where rows and proofs go.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Files {
    /// The file, or folder, of proofs.
    pub proofs: Option<PathBuf>,
    out: Option<PathBuf>,
    resume: bool,
    force: bool,
}

impl Files {
    /// The run that writes rows there.
    pub fn run(&self) -> Run {
        run(self.out.clone(), self.resume, self.force)
    }
}
