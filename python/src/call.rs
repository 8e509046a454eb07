//! Runs work beside Python: without its lock, with its signals and its progress bar.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use gcnproof_cli::{output, run};
use miette::{IntoDiagnostic, Result};
use pyo3::prelude::*;
use serde_json::Value;

use crate::errors::{bug, from_report};
use crate::objects::object;
use crate::rows::Rows;

/// One call works at a time: each takes all cores, and there is one flag that stops them.
static WORKING: Mutex<()> = Mutex::new(());

/// Time between two looks at signals and progress.
const LOOK: Duration = Duration::from_millis(50);

/// How long an interrupted call waits for its work to end. What takes longer ends on its own, and files are valid at
/// every moment.
const PATIENCE: Duration = Duration::from_millis(700);

/// The stack of the thread that works: as much as a main thread has.
const STACK: usize = 8 << 20;

/// What a call leaves behind.
pub struct Done<T> {
    /// The result.
    pub value: T,
    /// What was noted.
    pub notes: Vec<String>,
    /// Ctrl-C, or another exception of Python, in the middle of it: the result is what was done until then.
    interruption: Option<PyErr>,
}

impl<T> Done<T> {
    /// The same, where a part of a result is none.
    pub fn whole(self) -> PyResult<Done<T>> {
        match self.interruption {
            Some(interruption) => Err(interruption),
            None => Ok(self),
        }
    }
}

/// The rows of a run, and what else there is to say of it.
pub struct Answer {
    /// The rows.
    pub rows: Rows,
    /// The rest.
    pub facts: Value,
}

/// Runs what has rows as its result. An interruption carries those that are done, as `partial`.
pub fn answer<'py>(
    py: Python<'py>,
    threads: Option<usize>,
    progress: Option<&Bound<'py, PyAny>>,
    work: impl FnOnce() -> Result<Answer> + Send + 'static,
) -> PyResult<(Rows, Bound<'py, PyAny>)> {
    let done = call(py, threads, progress, work)?;
    let facts = object(py, &done.value.facts)?;
    facts.set_item("notes", done.notes)?;
    match done.interruption {
        None => Ok((done.value.rows, facts)),
        Some(interruption) => {
            interruption.value(py).setattr("partial", (done.value.rows, facts))?;
            Err(interruption)
        }
    }
}

/// Runs `work`. `progress` is called with what is done, of how much, and a message. Ctrl-C ends the call within a
/// second.
pub fn call<T: Send + 'static>(
    py: Python,
    threads: Option<usize>,
    progress: Option<&Bound<PyAny>>,
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> PyResult<Done<T>> {
    let (sender, receiver) = mpsc::channel();
    let receiver = Mutex::new(receiver);
    // It waits for its turn; then it works, or is told not to begin. Either it sees the cancellation, or the canceller
    // sees that it has begun and stops it.
    let begun = Arc::new(AtomicBool::new(false));
    let cancelled = Arc::new(AtomicBool::new(false));
    let (beginning, cancel) = (begun.clone(), cancelled.clone());
    let body = move || {
        let _turn = WORKING.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        run::start();
        beginning.store(true, Ordering::SeqCst);
        if cancel.load(Ordering::SeqCst) {
            return;
        }
        output::capture();
        let value = in_pool(threads, work);
        let said = output::capture();
        beginning.store(false, Ordering::SeqCst);
        // Nobody may be waiting any more.
        let done = |value| Done { value, notes: said.notes, interruption: None };
        let _ = sender.send(value.map(done));
    };
    let worker = std::thread::Builder::new().name("gcnproof".into()).stack_size(STACK).spawn(body);
    worker.map_err(|error| bug(&format!("no thread could be started: {error}")))?;
    let (outcome, interruption) = match watch(py, &receiver, progress) {
        Ok(outcome) => (outcome, py.check_signals().and_then(|()| tell(progress, &mut None)).err()),
        Err(interruption) => {
            cancelled.store(true, Ordering::SeqCst);
            if !begun.load(Ordering::SeqCst) {
                return Err(interruption);
            }
            run::stop();
            match py.detach(|| wait(&receiver, PATIENCE)) {
                Ok(outcome) => (outcome, Some(interruption)),
                Err(_) => return Err(interruption),
            }
        }
    };
    match (outcome, interruption) {
        (Ok(done), interruption) => Ok(Done { interruption, ..done }),
        (Err(_), Some(interruption)) => Err(interruption),
        (Err(report), None) => Err(from_report(py, &report)),
    }
}

/// Waits for the outcome, or for an exception of Python: Ctrl-C, or one in the progress bar.
fn watch<T: Send>(
    py: Python,
    receiver: &Mutex<Receiver<Result<Done<T>>>>,
    progress: Option<&Bound<PyAny>>,
) -> PyResult<Result<Done<T>>> {
    let mut told = None;
    loop {
        match py.detach(|| wait(receiver, LOOK)) {
            Ok(outcome) => return Ok(outcome),
            Err(RecvTimeoutError::Disconnected) => return Err(bug("the work ended in a panic")),
            Err(RecvTimeoutError::Timeout) => py.check_signals()?,
        }
        tell(progress, &mut told)?;
    }
}

/// Tells how far the run is, if that is news.
fn tell(progress: Option<&Bound<PyAny>>, told: &mut Option<(u64, u64, String)>) -> PyResult<()> {
    if let (Some(bar), Some(position)) = (progress, run::position())
        && told.as_ref() != Some(&position)
    {
        bar.call1(position.clone())?;
        *told = Some(position);
    }
    Ok(())
}

/// Waits for the outcome, but not for ever.
fn wait<T>(receiver: &Mutex<Receiver<T>>, time: Duration) -> std::result::Result<T, RecvTimeoutError> {
    receiver.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).recv_timeout(time)
}

/// In a pool of its own, if a number of threads is given.
fn in_pool<T: Send>(threads: Option<usize>, work: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    match threads {
        None => work(),
        Some(threads) => rayon::ThreadPoolBuilder::new().num_threads(threads).build().into_diagnostic()?.install(work),
    }
}
