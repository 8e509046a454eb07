//! The rows and proofs of a run that several machines share, where they come together: the file that `certify(out=…)` writes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard};
use std::time::Instant;

use gcnproof_check::Accepted;
use gcnproof_check::format::{Header, Line};
use gcnproof_results::record::description::Description;
use gcnproof_results::record::{NodeRecord, RadiusRecord};
use gcnproof_results::{Column, Journal};
use gcnproof_run::proofs::Proofs;
use gcnproof_run::run::{Run, same_nodes};
use miette::{IntoDiagnostic, Result, miette};
use numpy::{IntoPyArray, PyArray1};
use pyo3::prelude::*;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;

use crate::errors::{bug, from_report};
use crate::objects::object;
use crate::rows::{Kind, Rows};

/// Rows in a file, or only in memory.
enum Store<T: Serialize> {
    File(Box<Journal<T>>),
    Memory(BTreeMap<u64, T>),
}

/// Rows by what they are about.
enum Table {
    Verdicts(Store<NodeRecord>),
    Radii(Store<RadiusRecord>),
}

/// What has come in so far.
struct State {
    table: Table,
    proofs: Option<Proofs<Header>>,
    nodes: BTreeSet<u64>,
    /// Nodes without a row, or without their proof.
    open: BTreeSet<u64>,
    description: Description,
    start: Instant,
    computed: usize,
}

/// Where the rows of a run come together. It holds the locks of its files.
#[pyclass(frozen, module = "gcnproof._native")]
pub struct Gathering(Mutex<Option<State>>);

impl<T: Serialize + DeserializeOwned + Clone> Store<T> {
    fn open(
        schema: &'static [Column],
        key: fn(&T) -> u64,
        description: &Description,
        total: usize,
        run: &Run,
    ) -> Result<Store<T>> {
        let Some(path) = &run.out else { return Ok(Store::Memory(BTreeMap::new())) };
        if run.resume {
            same_nodes(path, description)?;
        }
        let journal = Journal::open(path, schema, key, description.fingerprint(), total, run.mode())?;
        Ok(Store::File(Box::new(journal)))
    }

    fn done(&self) -> &BTreeMap<u64, T> {
        match self {
            Store::File(journal) => journal.done(),
            Store::Memory(rows) => rows,
        }
    }

    fn push(&mut self, key: u64, row: T) -> Result<()> {
        match self {
            Store::File(journal) => journal.push(row)?,
            Store::Memory(rows) => drop(rows.insert(key, row)),
        }
        Ok(())
    }

    fn finish(self) -> Result<Vec<T>> {
        match self {
            Store::File(journal) => Ok(journal.finish()?),
            Store::Memory(rows) => Ok(rows.into_values().collect()),
        }
    }
}

impl Gathering {
    /// Of verdicts.
    pub fn verdicts(
        schema: &'static [Column],
        description: Description,
        nodes: &[usize],
        proofs: Option<Proofs<Header>>,
        run: &Run,
    ) -> Result<Gathering> {
        let table = Store::open(schema, |row: &NodeRecord| row.node, &description, nodes.len(), run)?;
        Ok(Gathering::new(Table::Verdicts(table), description, nodes, proofs))
    }

    /// Of radii.
    pub fn radii(description: Description, nodes: &[usize], run: &Run) -> Result<Gathering> {
        let key = |row: &RadiusRecord| row.node;
        let table = Store::open(RadiusRecord::SCHEMA, key, &description, nodes.len(), run)?;
        Ok(Gathering::new(Table::Radii(table), description, nodes, None))
    }

    fn new(table: Table, description: Description, nodes: &[usize], proofs: Option<Proofs<Header>>) -> Gathering {
        let nodes: BTreeSet<u64> = nodes.iter().map(|&node| node as u64).collect();
        let has = |node: u64| match &table {
            Table::Verdicts(rows) => rows.done().contains_key(&node),
            Table::Radii(rows) => rows.done().contains_key(&node),
        };
        let proved = |node: u64| proofs.as_ref().is_none_or(|proofs| proofs.has(node));
        let open = nodes.iter().copied().filter(|&node| !has(node) || !proved(node)).collect();
        let state = State { table, proofs, nodes, open, description, start: Instant::now(), computed: 0 };
        Gathering(Mutex::new(Some(state)))
    }

    fn state(&self) -> MutexGuard<'_, Option<State>> {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

fn over() -> PyErr {
    bug("the files of this run are closed")
}

/// Rows of JSON lines that belong to this run.
fn parse<T: DeserializeOwned>(lines: &[u8], nodes: &BTreeSet<u64>, key: fn(&T) -> u64) -> Result<Vec<(u64, T)>> {
    let mut found = Vec::new();
    for line in lines.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()) {
        let row: T = serde_json::from_slice(line).into_diagnostic()?;
        let node = key(&row);
        if !nodes.contains(&node) {
            return Err(miette!("a worker sent a row of node {node}, which was not asked for"));
        }
        found.push((node, row));
    }
    Ok(found)
}

impl State {
    fn push(&mut self, rows: &[u8], proofs: &[u8]) -> Result<()> {
        // First the proof, then the row: a row without its proof is done again, but may not come back.
        if let Some(file) = &self.proofs {
            for line in proofs.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()) {
                let line =
                    Line::read(line, usize::MAX).map_err(|reason| miette!("a worker sent no proof: {reason}"))?;
                // The checker has accepted it on the machine that sent it.
                file.add(&Accepted::copied(line));
            }
        }
        let mut done = Vec::new();
        match &mut self.table {
            Table::Verdicts(store) => {
                for (node, row) in parse(rows, &self.nodes, |row: &NodeRecord| row.node)? {
                    store.push(node, row)?;
                    done.push(node);
                }
            }
            Table::Radii(store) => {
                for (node, row) in parse(rows, &self.nodes, |row: &RadiusRecord| row.node)? {
                    store.push(node, row)?;
                    done.push(node);
                }
            }
        }
        for node in done {
            self.computed += usize::from(self.open.remove(&node));
        }
        Ok(())
    }
}

#[pymethods]
impl Gathering {
    /// The nodes that are still to be worked on, rising.
    fn open<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<i64>>> {
        let nodes: Vec<i64> = self.state().as_ref().ok_or_else(over)?.open.iter().map(|&node| node as i64).collect();
        Ok(nodes.into_pyarray(py))
    }

    /// Takes rows and proofs of some nodes in, as `Job.work` returns them.
    fn push(&self, py: Python, rows: &[u8], proofs: &[u8]) -> PyResult<()> {
        py.detach(|| self.state().as_mut().map(|state| state.push(rows, proofs)))
            .ok_or_else(over)?
            .map_err(|report| from_report(py, &report))
    }

    /// Writes what is left and closes the files. A run with rows missing can be resumed.
    fn finish<'py>(&self, py: Python<'py>) -> PyResult<(Rows, Bound<'py, PyAny>)> {
        let State { table, proofs, nodes, open, description, start, computed } =
            self.state().take().ok_or_else(over)?;
        let complete = open.is_empty();
        let finished = py.detach(|| -> Result<_> {
            let kind = match table {
                Table::Verdicts(store) => Kind::Nodes(store.finish()?),
                Table::Radii(store) => Kind::Radii(store.finish()?),
            };
            let written = match (proofs, &kind) {
                (Some(proofs), Kind::Nodes(rows)) => Some(proofs.finish(complete, rows)?),
                _ => None,
            };
            Ok((kind, written))
        });
        let (kind, written) = finished.map_err(|report| from_report(py, &report))?;
        let seconds = start.elapsed().as_secs_f64();
        let facts = json!({ "seconds": seconds, "computed": computed, "interrupted": !complete, "proofs": written, "notes": [] });
        Ok((Rows::new(kind, &description, nodes.len()), object(py, &facts)?))
    }
}
