//! The rows and proofs of a run that several machines share, where they come together: the file that `certify(out=…)`
//! writes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard};
use std::time::Instant;

use gcnproof::proof::FileHeader;
use gcnproof_check::Accepted;
use gcnproof_results::record::description::Description;
use gcnproof_results::record::node::Record;
use gcnproof_results::record::radius::RadiusRow;
use gcnproof_results::{Column, Journal};
use gcnproof_run::proofs::{Proofs, Written};
use gcnproof_run::question::NodeQuestion;
use gcnproof_run::run::Run;
use miette::{IntoDiagnostic, Result, miette};
use numpy::{IntoPyArray, PyArray1};
use pyo3::prelude::*;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;

use crate::attack::Shown;
use crate::errors::{bug, from_report};
use crate::objects::object;
use crate::rows::{Kind, Rows};

/// Rows in a file, or only in memory.
enum Store<T: Serialize> {
    File(Box<Journal<T>>),
    Memory(BTreeMap<u64, T>),
}

/// The rows by their kind, and what was written of proofs; whether all rows are there is said.
type End<H, T> = fn(Option<Proofs<H>>, bool, Vec<T>) -> Result<(Kind, Option<Written>)>;

/// The rows of a run about one attacker, and their proofs where there are some.
struct Table<A: Shown, T: Serialize> {
    store: Store<T>,
    key: fn(&T) -> u64,
    proofs: Option<Proofs<A::Header>>,
    /// Writes what is left of the proofs, once all rows are there.
    end: End<A::Header, T>,
    description: Description,
}

/// Rows that come in, whatever they are about.
pub trait Gathered: Send {
    /// Is the node's row there, and its proof?
    fn has(&self, node: u64) -> bool;

    /// Takes rows as JSON lines, each of one of these nodes, and lines of proofs. Returns the nodes.
    fn push(&mut self, rows: &[u8], proofs: &[u8], nodes: &BTreeSet<u64>) -> Result<Vec<u64>>;

    /// Writes what is left.
    fn finish(self: Box<Self>, complete: bool, total: usize) -> Result<(Rows, Option<Written>)>;
}

/// What has come in so far.
struct State {
    rows: Box<dyn Gathered>,
    nodes: BTreeSet<u64>,
    /// Nodes without a row, or without their proof.
    open: BTreeSet<u64>,
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

fn lines(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    bytes.split(|&byte| byte == b'\n').filter(|line| !line.is_empty())
}

impl<A: Shown, T: Serialize + DeserializeOwned + Clone + Send> Gathered for Table<A, T> {
    fn has(&self, node: u64) -> bool {
        self.store.done().contains_key(&node) && self.proofs.as_ref().is_none_or(|proofs| proofs.has(node))
    }

    fn push(&mut self, rows: &[u8], proofs: &[u8], nodes: &BTreeSet<u64>) -> Result<Vec<u64>> {
        // First the proof, then the row: a row without its proof is done again, but may not come back.
        if let Some(file) = &self.proofs {
            for line in lines(proofs) {
                let line = A::Header::read(line).ok_or_else(|| miette!("a worker sent no proof"))?;
                // The checker has accepted it on the machine that sent it.
                file.add(&Accepted::copied(line));
            }
        }
        let mut done = Vec::new();
        for line in lines(rows) {
            let row: T = serde_json::from_slice(line).into_diagnostic()?;
            let node = (self.key)(&row);
            if !nodes.contains(&node) {
                return Err(miette!("a worker sent a row of node {node}, which was not asked for"));
            }
            self.store.push(node, row)?;
            done.push(node);
        }
        Ok(done)
    }

    fn finish(self: Box<Self>, complete: bool, total: usize) -> Result<(Rows, Option<Written>)> {
        let (kind, written) = (self.end)(self.proofs, complete, self.store.finish()?)?;
        Ok((Rows::new(kind, &self.description, total), written))
    }
}

impl Gathering {
    /// Of verdicts.
    pub fn verdicts<A: Shown>(
        question: &NodeQuestion<A>,
        description: Description,
        proofs: Option<Proofs<A::Header>>,
    ) -> Result<Box<dyn Gathered>> {
        let schema = question.columns(A::schema(question.effort_record.exact_margins, A::is_deployed(question)));
        let key = |row: &Record<A>| row.node;
        let store = Store::open(schema, key, &description, question.nodes.len(), question.run)?;
        Ok(Box::new(Table::<A, Record<A>> {
            store,
            key,
            proofs,
            end: |proofs, complete, rows| {
                let written =
                    proofs.map(|proofs| proofs.finish(complete, rows.iter().map(|row| row.verdict))).transpose()?;
                Ok((A::nodes(rows), written))
            },
            description,
        }))
    }

    /// Of radii.
    pub fn radii<A: Shown>(question: &NodeQuestion<A>, description: Description) -> Result<Box<dyn Gathered>> {
        let key = |row: &RadiusRow<A>| row.node;
        let store = Store::open(
            question.columns(RadiusRow::<A>::SCHEMA),
            key,
            &description,
            question.nodes.len(),
            question.run,
        )?;
        Ok(Box::new(Table::<A, RadiusRow<A>> {
            store,
            key,
            proofs: None,
            end: |_, _, rows| Ok((A::radii(rows), None)),
            description,
        }))
    }

    /// Of rows about these nodes.
    pub fn new(rows: Box<dyn Gathered>, nodes: &[usize]) -> Gathering {
        let nodes: BTreeSet<u64> = nodes.iter().map(|&node| node as u64).collect();
        let open = nodes.iter().copied().filter(|&node| !rows.has(node)).collect();
        Gathering(Mutex::new(Some(State { rows, nodes, open, start: Instant::now(), computed: 0 })))
    }

    fn state(&self) -> MutexGuard<'_, Option<State>> {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

fn over() -> PyErr {
    bug("the files of this run are closed")
}

impl State {
    fn push(&mut self, rows: &[u8], proofs: &[u8]) -> Result<()> {
        for node in self.rows.push(rows, proofs, &self.nodes)? {
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

    /// Takes rows and proofs of some nodes in, as `Question.work` returns them.
    fn push(&self, py: Python, rows: &[u8], proofs: &[u8]) -> PyResult<()> {
        py.detach(|| self.state().as_mut().map(|state| state.push(rows, proofs)))
            .ok_or_else(over)?
            .map_err(|report| from_report(py, &report))
    }

    /// Writes what is left and closes the files. A run with rows missing can be resumed.
    fn finish<'py>(&self, py: Python<'py>) -> PyResult<(Rows, Bound<'py, PyAny>)> {
        let State { rows, nodes, open, start, computed } = self.state().take().ok_or_else(over)?;
        let complete = open.is_empty();
        let finished = py.detach(|| rows.finish(complete, nodes.len()));
        let (rows, written) = finished.map_err(|report| from_report(py, &report))?;
        let seconds = start.elapsed().as_secs_f64();
        let facts = json!({ "seconds": seconds, "computed": computed, "interrupted": !complete, "proofs": written, "notes": [] });
        Ok((rows, object(py, &facts)?))
    }
}
