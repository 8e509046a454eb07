//! Runs work over nodes in parallel, with progress, an output file that is valid at every instant, and a stop on Ctrl-C.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, mpsc};
use std::time::Duration;

use clap::{Args, ValueEnum};
use gcnproof::{Budget, Certifier, CertifierBuilder, Graph, Network, Problem};
use gcnproof_results::record::consistent::Row;
use gcnproof_results::record::description::Description;
use gcnproof_results::{Column, Journal, Mode, ResultError, Sidecar};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use miette::{IntoDiagnostic, Result, miette};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::output;
use super::reproduction::{keep, remember};

/// How standard output is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Tables for people
    #[default]
    Table,
    /// One JSON object for machines
    Json,
}

/// Where rows go.
#[derive(Args, Clone, Debug)]
pub struct RunArguments {
    /// Write one row per node to this file: .parquet, .jsonl or .csv
    #[arg(long, value_name = "FILE", help_heading = "Output", group = "written")]
    pub out: Option<PathBuf>,
    /// Go on with an interrupted run of the same command
    #[arg(long, requires = "out", help_heading = "Output")]
    pub resume: bool,
    /// Overwrite what is there, finished or not
    #[arg(long, requires = "written", conflicts_with = "resume", help_heading = "Output")]
    pub force: bool,
    /// Standard output: a table or JSON
    #[arg(long, value_enum, default_value = "table", help_heading = "Output")]
    pub format: Format,
    /// Threads [default: all cores]
    #[arg(long, value_name = "N", help_heading = "Output", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
}

/// Set by Ctrl-C: what is running finishes, what is done is kept.
static STOP: AtomicBool = AtomicBool::new(false);

/// Is there something that Ctrl-C must not lose? Before that, it ends the program at once.
static WORKING: AtomicBool = AtomicBool::new(false);

/// How long a run that was told to stop may go on with what it is at. Then it ends in the middle of it, and keeps what is done.
const PATIENCE: Duration = Duration::from_millis(700);

/// From now on there is something to be kept.
pub fn begin() {
    WORKING.store(true, Ordering::Relaxed);
}

/// Stops the run after what is running, as Ctrl-C does.
pub fn stop() {
    STOP.store(true, Ordering::Relaxed);
}

/// Gets ready for another run inside the same program.
pub fn start() {
    STOP.store(false, Ordering::Relaxed);
    *bar() = None;
}

/// Has the user asked to stop?
pub fn stopped() -> bool {
    STOP.load(Ordering::Relaxed)
}

/// A certifier of parts that have been read together, so that they fit; it stops on Ctrl-C.
///
/// # Panics
/// If they do not fit.
pub fn certifier(graph: &Graph, network: &Network, budget: Budget) -> CertifierBuilder {
    remember(graph, network);
    let problem = Problem::new(graph.clone(), network.clone(), budget).expect("the readers have checked the sizes");
    Certifier::builder(problem).stop(stopped)
}

/// Rows on their way to a file, or only to memory.
struct Rows<T: Serialize> {
    journal: Option<Journal<T>>,
    memory: Vec<T>,
    key: fn(&T) -> u64,
}

impl<T: Serialize + DeserializeOwned + Clone> Rows<T> {
    fn push(&mut self, row: T) -> Result<()> {
        match &mut self.journal {
            Some(journal) => journal.push(row)?,
            None => self.memory.push(row),
        }
        Ok(())
    }

    fn finish(mut self) -> Result<Vec<T>> {
        match self.journal {
            Some(journal) => Ok(journal.finish()?),
            None => {
                self.memory.sort_by_key(self.key);
                Ok(self.memory)
            }
        }
    }
}

impl RunArguments {
    /// See [`prepare`].
    pub fn prepare(&self) -> Result<()> {
        prepare(self.threads)
    }

    /// What is to happen to files that are there.
    pub fn mode(&self) -> Mode {
        match (self.resume, self.force) {
            (true, _) => Mode::Resume,
            (_, true) => Mode::Force,
            _ => Mode::Fresh,
        }
    }

    /// Opens the output and runs `work` on the keys that it does not hold yet. `work` hands each row to its second
    /// argument as soon as it is done. Returns all rows in order, and whether the run was interrupted.
    pub fn rows<T>(
        &self,
        schema: &'static [Column],
        description: &Description,
        keys: &[u64],
        key: fn(&T) -> u64,
        work: impl FnOnce(&[u64], &(dyn Fn(T) + Sync)),
    ) -> Result<(Vec<T>, bool)>
    where
        T: Row + Serialize + DeserializeOwned + Clone + Send,
    {
        self.rows_again(schema, description, keys, key, |_| false, work)
    }

    /// The same, and `again` says which keys are to be worked on although their row is there.
    pub fn rows_again<T>(
        &self,
        schema: &'static [Column],
        description: &Description,
        keys: &[u64],
        key: fn(&T) -> u64,
        again: impl Fn(u64) -> bool,
        work: impl FnOnce(&[u64], &(dyn Fn(T) + Sync)),
    ) -> Result<(Vec<T>, bool)>
    where
        T: Row + Serialize + DeserializeOwned + Clone + Send,
    {
        if let Some(path) = self.out.as_ref().filter(|_| self.resume) {
            same_nodes(path, description)?;
        }
        let journal = match &self.out {
            None => None,
            Some(path) => Some(Journal::open(path, schema, key, description.fingerprint(), keys.len(), self.mode())?),
        };
        let done: BTreeSet<u64> = journal.iter().flat_map(|journal| journal.done().keys().copied()).collect();
        let open: Vec<u64> = keys.iter().copied().filter(|key| !done.contains(key) || again(*key)).collect();
        let there = keys.iter().filter(|key| done.contains(key)).count();
        if self.resume && there > 0 {
            note!("resuming: {there} of {} rows are there already", keys.len());
        }
        let bar = progress_bar(open.len(), 0);
        let rows = Mutex::new((Rows { journal, memory: Vec::new(), key }, Ok(())));
        let push = |row: T| {
            bar.inc(1);
            let mut rows = rows.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            if rows.1.is_ok() {
                let checked =
                    row.check().map_err(|contradiction| keep(contradiction, description, self.out.as_deref()));
                rows.1 = checked.and_then(|()| rows.0.push(row));
                // A disk that is full does not get better, nor a program that contradicts itself: stop, and say so below.
                if rows.1.is_err() {
                    stop();
                }
            }
        };
        begin();
        guarded(
            || work(&open, &push),
            || {
                bar.finish_and_clear();
                let mut rows = rows.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
                let Some(journal) = &mut rows.0.journal else { return };
                let saved = journal.checkpoint();
                if let (Ok(()), Some(path)) = (saved, &self.out) {
                    interrupted_after(path, journal.done().len(), keys.len());
                }
            },
        );
        bar.finish_and_clear();
        let (rows, outcome) = rows.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
        outcome?;
        let interrupted = stopped();
        // A journal with rows missing knows that it is not complete, and can be resumed.
        let rows = rows.finish()?;
        if interrupted && let Some(path) = &self.out {
            interrupted_after(path, rows.len(), keys.len());
        }
        Ok((rows, interrupted))
    }
}

fn interrupted_after(path: &Path, done: usize, of: usize) {
    note!("interrupted: {} holds {done} of {of} rows; --resume goes on", path.display());
}

/// The exit code of a run that was interrupted.
const INTERRUPTED: i32 = 130;

/// Works. If that is told to stop and does not within [`PATIENCE`], because it is in the middle of something that no clock is looked at in, `save` is called and the
/// program ends. Inside another program the call ends, and the work does when it can.
fn guarded(work: impl FnOnce(), save: impl FnOnce() + Send) {
    if output::is_captured() {
        return work();
    }
    let (sender, receiver) = mpsc::channel::<()>();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            // The sender goes away when the work is over.
            let over = |time| !matches!(receiver.recv_timeout(time), Err(mpsc::RecvTimeoutError::Timeout));
            while !stopped() {
                if over(LOOK) {
                    return;
                }
            }
            if !over(PATIENCE) {
                save();
                std::process::exit(INTERRUPTED);
            }
        });
        work();
        drop(sender);
    });
}

/// Time between two looks at Ctrl-C.
const LOOK: Duration = Duration::from_millis(50);

/// A run goes on with its own nodes only: rows of two sets in one file would be a third run that nobody asked for.
///
/// # Errors
/// If the file holds rows about others.
pub fn same_nodes(path: &Path, description: &Description) -> Result<()> {
    // What cannot be read is judged when the file is opened.
    let Ok(Some(sidecar)) = Sidecar::load(path) else { return Ok(()) };
    let Ok(before) = Description::read(&sidecar.fingerprint) else { return Ok(()) };
    match before.other_nodes(description).filter(|_| path.exists()) {
        Some(differences) => Err(ResultError::OtherRun { file: path.display().to_string(), differences }.into()),
        None => Ok(()),
    }
}

/// Sets the number of threads and the reaction to Ctrl-C. To be called once, before any work. A program that runs commands inside
/// itself has its own threads, and its own reaction.
pub fn prepare(threads: Option<u16>) -> Result<()> {
    if output::is_captured() {
        return Ok(());
    }
    if let Some(threads) = threads {
        rayon::ThreadPoolBuilder::new().num_threads(threads.into()).build_global().into_diagnostic()?;
    }
    // A second Ctrl-C ends the program at once, as does one before there is anything to lose; the file is valid all the same.
    ctrlc::set_handler(|| {
        if STOP.swap(true, Ordering::Relaxed) || !WORKING.load(Ordering::Relaxed) {
            std::process::exit(INTERRUPTED);
        }
    })
    .into_diagnostic()
}

/// The bar of the run, where nobody draws it.
static BAR: Mutex<Option<ProgressBar>> = Mutex::new(None);

fn bar() -> MutexGuard<'static, Option<ProgressBar>> {
    BAR.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// How far a run inside another program is: what is done, of how much, and what there is to say of it.
pub fn position() -> Option<(u64, u64, String)> {
    bar().as_ref().map(|bar| (bar.position(), bar.length().unwrap_or_default(), bar.message()))
}

/// A bar with rate and time left; indicatif hides it when standard error is not a terminal. What was done `before` this run
/// does not count for the rate.
pub fn progress_bar(length: usize, before: u64) -> ProgressBar {
    if output::is_captured() {
        let hidden = ProgressBar::with_draw_target(Some(length as u64), ProgressDrawTarget::hidden());
        return bar().insert(hidden.with_position(before)).clone();
    }
    let bar = ProgressBar::new(length as u64).with_position(before);
    let style = ProgressStyle::with_template("{bar:40} {pos}/{len}  {rate}  {eta} left  {msg}");
    let style = style.unwrap_or_else(|_| ProgressStyle::default_bar());
    bar.set_style(style.with_key("rate", move |state: &ProgressState, text: &mut dyn Write| {
        let _ = text.write_str(&rate(state.pos().saturating_sub(before), state.elapsed().as_secs_f64()));
    }));
    bar.reset_eta();
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}

/// Runs a stage of a run with a bar of its own; afterwards the bar of the run is again the one that is asked for.
pub fn stage<T>(length: usize, what: &'static str, work: impl FnOnce(&ProgressBar) -> T) -> T {
    let before = bar().clone();
    let own = progress_bar(length, 0);
    own.set_message(what);
    let found = work(&own);
    own.finish_and_clear();
    if before.is_some() {
        *bar() = before;
    }
    found
}

/// Makes a folder for output.
pub fn make_folder(folder: &Path) -> Result<()> {
    std::fs::create_dir_all(folder).map_err(|error| {
        miette!(help = "choose a place where you may write", "{}: the folder cannot be made: {error}", folder.display())
    })
}

/// So many things in so many seconds, as people read it: `0.25/s`, `7.4/s`, `1967/s`.
pub fn rate(count: u64, seconds: f64) -> String {
    let rate = count as f64 / seconds.max(1e-9);
    match rate {
        ..1.0 => format!("{rate:.2}/s"),
        ..100.0 => format!("{rate:.1}/s"),
        _ => format!("{rate:.0}/s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_have_few_digits() {
        let told = [(1, 4.0), (739191, 10000.0), (7, 0.94), (0, 0.0), (1967, 1.0)]
            .map(|(count, seconds)| rate(count, seconds));
        assert_eq!(told, ["0.25/s", "73.9/s", "7.4/s", "0.00/s", "1967/s"]);
    }
}
