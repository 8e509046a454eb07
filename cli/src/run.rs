//! What the runs of this process share: options of output, progress, threads, and a stop on Ctrl-C. `gcnproof-run` does
//! the work.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, mpsc};
use std::time::Duration;

use clap::{Args, ValueEnum};
use gcnproof::{Budget, CertifierBuilder, Graph, Network};
use gcnproof_report::origin::command_line;
use gcnproof_run::host::{Host, Progress};
pub use gcnproof_run::outputs::untouched;
use gcnproof_run::run::Run;
use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use miette::{IntoDiagnostic, Result};

use super::output;

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
    #[arg(long, requires = "written", conflicts_with = "resume", help_heading = "Output", hide_short_help = true)]
    pub force: bool,
    /// Standard output: a table or JSON
    #[arg(long, value_enum, default_value = "table", help_heading = "Output", hide_short_help = true)]
    pub format: Format,
    /// Threads [default: all cores]
    #[arg(long, value_name = "N", help_heading = "Output", hide_short_help = true, value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
}

/// Set by Ctrl-C: what is running finishes, what is done is kept.
static STOP: AtomicBool = AtomicBool::new(false);

/// Is there something that Ctrl-C must not lose? Before that, it ends the program at once.
static WORKING: AtomicBool = AtomicBool::new(false);

/// How long a run that was told to stop may go on with what it is at. Then it ends in the middle of it, and keeps what
/// is done.
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

/// The program itself, or the one that runs commands inside itself: there is one run at a time in each.
struct Process;

/// The problem that the run is about, once it is known.
static PROBLEM: Mutex<Option<(Graph, Network)>> = Mutex::new(None);

fn problem() -> MutexGuard<'static, Option<(Graph, Network)>> {
    PROBLEM.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// A bar as the run sees it.
struct Shown {
    bar: ProgressBar,
    /// The bar that counts again afterwards.
    before: Option<ProgressBar>,
}

impl Progress for Shown {
    fn advance(&self) {
        self.bar.inc(1);
    }

    fn tell(&self, message: String) {
        self.bar.set_message(message);
    }

    fn finish(&self) {
        self.bar.finish_and_clear();
        if self.before.is_some() {
            bar().clone_from(&self.before);
        }
    }
}

impl Host for Process {
    fn is_stopped(&self) -> bool {
        stopped()
    }

    fn stop(&self) {
        stop();
    }

    fn note(&self, line: &str) {
        note!("{line}");
    }

    fn begin(&self, length: usize, before: usize) -> Box<dyn Progress> {
        let bar = progress_bar(length, before as u64);
        begin();
        Box::new(Shown { bar, before: None })
    }

    fn stage(&self, length: usize, what: &'static str) -> Box<dyn Progress> {
        let before = bar().clone();
        let own = progress_bar(length, 0);
        own.set_message(what);
        Box::new(Shown { bar: own, before })
    }

    fn guard(&self, work: Box<dyn FnOnce() + '_>, save: Box<dyn FnOnce() + Send + '_>) {
        guarded(work, save);
    }

    fn remember(&self, graph: &Graph, network: &Network) {
        *problem() = Some((graph.clone(), network.clone()));
    }

    fn remembered(&self) -> Option<(Graph, Network)> {
        problem().clone()
    }

    fn add_to_reproduction(&self, folder: &Path, results: Option<&Path>) -> Result<String> {
        if output::is_captured() {
            return Ok(String::new());
        }
        Ok(format!("the command: {}\n", command_line()) + &copies(folder, results)?)
    }
}

/// The process as the host of runs.
pub fn host() -> Arc<dyn Host> {
    Arc::new(Process)
}

/// A run of this process that writes to a file, or only to memory.
pub fn run(out: Option<PathBuf>, resume: bool, force: bool) -> Run {
    Run { out, proofs: None, resume, force, host: host() }
}

/// See [`Run::certifier`].
///
/// # Panics
/// If the parts do not fit.
pub fn certifier(graph: &Graph, network: &Network, budget: Budget) -> CertifierBuilder {
    run(None, false, false).certifier(graph, network, budget)
}

impl RunArguments {
    /// See [`prepare`].
    pub fn prepare(&self) -> Result<()> {
        prepare(self.threads)
    }

    /// The run that the arguments describe.
    pub fn run(&self) -> Run {
        run(self.out.clone(), self.resume, self.force)
    }
}

/// The exit code of a run that was interrupted.
const INTERRUPTED: i32 = 130;

/// Works. If that is told to stop and does not within [`PATIENCE`], because it is in the middle of something that no
/// clock is looked at in, `save` is called and the program ends. Inside another program the call ends, and the work
/// does when it can.
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

/// Sets the number of threads and the reaction to Ctrl-C. To be called once, before any work. A program that runs
/// commands inside itself has its own threads, and its own reaction.
pub fn prepare(threads: Option<u16>) -> Result<()> {
    if output::is_captured() {
        return Ok(());
    }
    if let Some(threads) = threads {
        rayon::ThreadPoolBuilder::new().num_threads(threads.into()).build_global().into_diagnostic()?;
    }
    // A second Ctrl-C ends the program at once, as does one before there is anything to lose; the file is valid all the
    // same.
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

/// A bar with rate and time left; indicatif hides it when standard error is not a terminal. What was done `before` this
/// run does not count for the rate.
pub fn progress_bar(length: usize, before: u64) -> ProgressBar {
    if output::is_captured() {
        let hidden = ProgressBar::with_draw_target(Some(length as u64), ProgressDrawTarget::hidden());
        return bar().insert(hidden.with_position(before)).clone();
    }
    let bar = ProgressBar::new(length as u64).with_position(before);
    let style = ProgressStyle::with_template("{bar:40} {pos}/{len}  {pace}  {msg}");
    let style = style.unwrap_or_else(|_| ProgressStyle::default_bar());
    bar.set_style(style.with_key("pace", move |state: &ProgressState, text: &mut dyn Write| {
        let done = state.pos().saturating_sub(before);
        let _ = text.write_str(&pace(done, state.elapsed().as_secs_f64(), state.eta()));
    }));
    bar.reset_eta();
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}

/// Files of the command line that are copied, at most so many bytes each: larger ones are named.
const LARGEST: u64 = 1 << 30;

/// Copies the files that the command line names, but for the results. Returns a line about each.
fn copies(folder: &Path, results: Option<&Path>) -> Result<String> {
    let mut told = String::new();
    let named = std::env::args_os().skip(1).map(PathBuf::from).filter(|path| path.is_file());
    for (number, path) in named.filter(|path| Some(path.as_path()) != results).enumerate() {
        let Some(name) = path.file_name() else { continue };
        if std::fs::metadata(&path).into_diagnostic()?.len() > LARGEST {
            told += &format!("{}: too large to be copied\n", path.display());
            continue;
        }
        let copy = format!("{number}-{}", name.to_string_lossy());
        std::fs::copy(&path, folder.join(&copy)).into_diagnostic()?;
        told += &format!("{copy}: {}\n", path.display());
    }
    Ok(told)
}

/// The rate and the time left; before the first thing is done nobody knows them.
pub fn pace(done: u64, seconds: f64, left: Duration) -> String {
    if done == 0 { "…".into() } else { format!("{}  {} left", rate(done, seconds), HumanDuration(left)) }
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
