//! Small files with large costs: files of less than 4 kB, plain and compressed, shown to the real checker in a process
//! of its own with a limit on its memory and time.
//!
//! | module | what |
//! |---|---|
//! | [`stage`] | graphs and models that files are about |
//! | [`templates`] | files that ask for much work, and changed bytes of honest ones |
//! | [`child`] | one run of the checker, measured |
//! | [`zstd`] | frames of zstd, written by hand |

pub mod child;
pub mod stage;
pub mod templates;
pub mod zstd;

use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::area::Area;
use crate::finding::{Counts, Kind};
use crate::random::Random;
use crate::record::Record;
use crate::tested::stopped;

/// A file may take so many times as long with `--exact`.
const EXACT: u32 = 8;

/// What a search for expensive files is told.
#[derive(Clone, Debug)]
pub struct ResourceSettings {
    /// The seed of everything.
    pub seed: u64,
    /// Stops after so much time.
    pub time: Option<Duration>,
    /// Stops after so many files.
    pub files: Option<u64>,
    /// Processes at a time.
    pub threads: usize,
    /// Where findings go.
    pub out: Option<PathBuf>,
    /// Findings that are kept.
    pub kept: u64,
    /// Only the file of this number.
    pub only: Option<u64>,
    /// The program `gcnproof-check`.
    pub program: PathBuf,
    /// What a file may take: more is a finding.
    pub limits: child::Limits,
}

/// The most that some file took.
#[derive(Clone, Debug, Default)]
struct Most {
    time: (Duration, String),
    exact: Duration,
    memory: (u64, String),
}

/// Shows files until the end, or until everything is stopped; returns how many findings there were.
pub fn run(settings: &ResourceSettings, say: &(dyn Fn(&str) + Sync)) -> u64 {
    let start = Instant::now();
    let counts = Counts::default();
    let folder = std::env::temp_dir().join(format!("gcnproof-resources-{}", std::process::id()));
    let stages = match stage::write_all(&folder) {
        Ok(stages) => stages,
        Err(error) => {
            say(&format!("{}: {error}", folder.display()));
            return 1;
        }
    };
    let next = AtomicU64::new(settings.only.unwrap_or(0));
    let most = Mutex::new(Most::default());
    let shown = AtomicU64::new(0);
    let last = Mutex::new(Instant::now());
    let over = || {
        stopped()
            || settings.time.is_some_and(|time| start.elapsed() >= time)
            || settings.files.is_some_and(|limit| shown.load(Ordering::Relaxed) >= limit)
    };
    let work = || {
        while !over() {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if settings.only.is_some_and(|only| number != only) {
                break;
            }
            let mut random = Random::new(settings.seed ^ 0x4e50, number);
            let stage = &stages[random.below(stages.len())];
            let file = templates::file(stage, &mut random);
            let path = folder.join(format!("{number}.jsonl{}", if file.compressed { ".zst" } else { "" }));
            if std::fs::write(&path, &file.bytes).is_err() {
                continue;
            }
            let exact = random.percent(20);
            // Whoever asks for exact numbers alone asks for patience: the checker's limits are higher then.
            let time = if exact { settings.limits.time * EXACT } else { settings.limits.time };
            let limits = child::Limits { time, ..settings.limits };
            let cost = child::run(&settings.program, stage, &path, exact, limits);
            let _ = std::fs::remove_file(&path);
            shown.fetch_add(1, Ordering::Relaxed);
            let cost = match cost {
                Ok(cost) => cost,
                Err(problem) => {
                    say(&format!("{number}: {problem}"));
                    continue;
                }
            };
            let words =
                format!("{}{} on {}, case {number}", file.what, if exact { " (--exact)" } else { "" }, stage.name);
            let mut most = most.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            if exact {
                most.exact = most.exact.max(cost.time);
            } else if cost.time > most.time.0 {
                most.time = (cost.time, words.clone());
            }
            if cost.memory > most.memory.0 {
                most.memory = (cost.memory, words.clone());
            }
            let mut last = last.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            if last.elapsed() >= Duration::from_secs(5) {
                *last = Instant::now();
                say(&told(&most, shown.load(Ordering::Relaxed), start.elapsed(), &counts));
            }
            drop(last);
            if let Some(problem) = cost.beyond(limits) {
                let before = counts.find(if cost.crashed { Kind::Crash } else { Kind::Expensive });
                let kind = if cost.crashed { Kind::Crash } else { Kind::Expensive };
                let message = format!("{words}, {} bytes: {problem}", file.bytes.len());
                let name = format!("{}-resources-{}-{number}", kind.name(), settings.seed);
                let mut place = String::new();
                if let Some(out) = settings.out.as_ref().filter(|_| before < settings.kept) {
                    let record = record(stage, &file, kind, message.clone(), exact);
                    match record.keep(out, &name) {
                        Ok(folder) => place = format!(" -> {}", folder.display()),
                        Err(error) => place = format!(" (cannot be kept: {error})"),
                    }
                }
                say(&format!("FOUND {} (resources): {message}{place}", kind.name()));
            }
        }
    };
    std::thread::scope(|scope| {
        (0..settings.threads).for_each(|_| drop(scope.spawn(work)));
    });
    let most = most.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
    say(&told(&most, shown.load(Ordering::Relaxed), start.elapsed(), &counts));
    let _ = std::fs::remove_dir_all(&folder);
    counts.findings()
}

fn told(most: &Most, shown: u64, elapsed: Duration, counts: &Counts) -> String {
    format!(
        "{:>5.0} s files {shown} | largest time {:.2} s ({}), with --exact {:.2} s | largest memory {} MB ({}) | {}",
        elapsed.as_secs_f64(),
        most.time.0.as_secs_f64(),
        most.time.1,
        most.exact.as_secs_f64(),
        most.memory.0 >> 20,
        most.memory.1,
        counts.findings_by_kind()
    )
}

fn record(stage: &stage::Stage, file: &templates::File, kind: Kind, message: String, exact: bool) -> Record {
    let name = if file.compressed { "p.jsonl.zst" } else { "p.jsonl" };
    let exact = if exact { " --exact" } else { "" };
    let mut files = vec![(name.to_string(), file.bytes.clone())];
    for (name, path) in [("g.npz", &stage.graph), ("m.safetensors", &stage.model)] {
        files.extend(std::fs::read(path).ok().map(|bytes| (name.to_string(), bytes)));
    }
    let text =
        format!("In this folder:\n\n    gcnproof-check g.npz m.safetensors {name}{exact}\n\nOn {}.\n", stage.name);
    Record { area: Area::Flips, kind, message, files, text }
}
