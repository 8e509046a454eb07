//! The search loop: cases one after the other on all cores, counts, and findings that are made small and kept.

use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::binary;
use crate::finding::{Counts, Finding};
use crate::generate::generate;
use crate::keep::keep;
use crate::player::{How, STOP, stopped};
use crate::random::Random;
use crate::shrink::shrink;
use crate::stage::{look, solve};

/// What a hunt is told.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The seed of everything.
    pub seed: u64,
    /// Stops after so much time.
    pub time: Option<Duration>,
    /// Stops after so many problems.
    pub problems: Option<u64>,
    /// Components of one graph.
    pub components: usize,
    /// Threads.
    pub threads: usize,
    /// Where findings go; nowhere, if they are only counted.
    pub out: Option<PathBuf>,
    /// Findings of one kind that are made small and kept.
    pub kept: u64,
    /// How long one finding is made smaller.
    pub patience: Duration,
    /// Only the case of this number.
    pub only: Option<u64>,
    /// One component in so many is attacked with false proofs.
    pub attacked: usize,
    /// The program `gcnproof`, to be run on files now and then.
    pub program: Option<PathBuf>,
    /// The verified checker.
    pub verified: Option<PathBuf>,
}

/// Runs a hunt until its end, or until [`STOP`]; `say` gets lines for people.
pub fn hunt(settings: &Settings, say: &(dyn Fn(&str) + Sync)) -> Counts {
    let counts = Counts::default();
    let start = Instant::now();
    let next = AtomicU64::new(settings.only.unwrap_or(0));
    let folders = Mutex::new(());
    let working = AtomicU64::new(settings.threads as u64);
    let over = || {
        stopped()
            || settings.time.is_some_and(|time| start.elapsed() >= time)
            || settings.problems.is_some_and(|limit| Counts::get(&counts.problems) >= limit)
    };
    let work = || {
        let _done = Done(&working);
        while !over() {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if settings.only.is_some_and(|only| number != only) {
                break;
            }
            for finding in one(settings, number, &counts) {
                let before = counts.find(finding.kind);
                if before < settings.kept && !stopped() {
                    treat(settings, finding, number, before, &folders, say);
                }
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..settings.threads {
            // A pool of one thread each: what the program does in parallel stays on this thread.
            scope.spawn(|| match rayon::ThreadPoolBuilder::new().num_threads(1).build() {
                Ok(pool) => pool.install(work),
                Err(_) => work(),
            });
        }
        let mut last = Instant::now();
        while working.load(Ordering::Relaxed) > 0 {
            std::thread::sleep(Duration::from_millis(50));
            if settings.time.is_some_and(|time| start.elapsed() >= time) {
                STOP.store(true, Ordering::Relaxed);
            }
            if last.elapsed() >= Duration::from_secs(5) {
                last = Instant::now();
                say(&format!("{:>5.0} s {counts}", start.elapsed().as_secs_f64()));
            }
        }
    });
    say(&format!("{:>5.0} s {counts}", start.elapsed().as_secs_f64()));
    let seconds = start.elapsed().as_secs_f64();
    say(&format!("{:.0} problems a second; {}", Counts::get(&counts.problems) as f64 / seconds, counts.speeds()));
    counts
}

/// Says that a thread is done, even if it panics.
struct Done<'a>(&'a AtomicU64);

impl Drop for Done<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// One case.
fn one(settings: &Settings, number: u64, counts: &Counts) -> Vec<Finding> {
    let mut random = Random::new(settings.seed ^ 0x5eed, number);
    // Every sixteenth graph is a large one.
    let components =
        if number % 16 == 7 { settings.components } else { 1 + random.below(settings.components.min(300)) };
    let case = Counts::time(&counts.generating, || generate(settings.seed, number, components));
    let how = random.pick(&[
        How::Complete,
        How::Complete,
        How::Complete,
        How::Minimize,
        How::Optimal,
        How::Best,
        How::Paper,
        How::Anchored,
    ]);
    // Components of a large graph share a model: there fewer are attacked.
    let every = if components > 1000 { settings.attacked * 4 } else { settings.attacked };
    let attacks = components.div_ceil(every.max(1));
    let attacks = if settings.attacked == 0 { 0 } else { attacks };
    let mut findings = look(&case, how, attacks, settings.verified.as_deref(), &mut random, counts);
    if let Some(program) = settings.program.as_ref().filter(|_| number % 32 == 5) {
        let end = case.components[case.components.len().min(60) - 1].end;
        let mut part = case.part(0..end);
        part.components = case.components.iter().take_while(|range| range.end <= end).cloned().collect();
        let truths = solve(&part, counts);
        let folder = std::env::temp_dir().join(format!("gcnproof-hunt-{}-{number}", std::process::id()));
        findings.extend(binary::run(program, &part, how, &truths, &folder, counts));
    }
    findings
}

/// Makes a finding small and keeps it.
fn treat(
    settings: &Settings,
    finding: Finding,
    number: u64,
    before: u64,
    folders: &Mutex<()>,
    say: &(dyn Fn(&str) + Sync),
) {
    let small = shrink(finding.clone(), settings.patience);
    let name = format!("{}-{}-{number}-{before}", small.kind.name(), settings.seed);
    let _one_at_a_time = folders.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let place = match &settings.out {
        None => String::new(),
        Some(out) => match keep(&small, &finding, out, &name) {
            Ok(folder) => format!(" -> {}", folder.display()),
            Err(error) => format!(" (cannot be kept: {error})"),
        },
    };
    say(&format!("FOUND {}: {}{place}", small.kind.name(), small.message));
}
