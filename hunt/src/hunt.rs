//! The search loop: cases one after the other on all cores, counts, and findings that are made small and kept.

use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use gcnproof_files::Normalisation;

use crate::area::Area;
use crate::binary;
use crate::changes;
use crate::collective;
use crate::deployed;
use crate::edges;
use crate::finding::{Counts, Finding, Kind};
use crate::generate::{LAYERS, generate_deep};
use crate::joint;
use crate::keep::keep;
use crate::moved;
use crate::questions;
use crate::random::Random;
use crate::ranges;
use crate::record::Record;
use crate::shrink::shrink;
use crate::solve::solve;
use crate::stage::look;
use crate::terms;
use crate::terms::generate::Numbers;
use crate::tested::{How, STOP, stopped};
use crate::tight;

/// What a hunt is told.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The seed of everything.
    pub seed: u64,
    /// What is attacked.
    pub areas: Vec<Area>,
    /// Stops after so much time.
    pub time: Option<Duration>,
    /// Stops after so many problems.
    pub problems: Option<u64>,
    /// Weight layers of networks in the area of flips, each number as often as it is listed.
    pub layers: Vec<usize>,
    /// Components of one graph.
    pub components: usize,
    pub threads: usize,
    /// Where findings go; nowhere, if they are only counted.
    pub out: Option<PathBuf>,
    /// Findings of one kind that are made small and kept.
    pub kept: u64,
    /// Cases in which checkers differ: of so many every proof on which they do is kept.
    pub differing: u64,
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
            || settings.problems.is_some_and(|limit| counts.all_problems() >= limit)
    };
    let work = || {
        let _done = CaseDone(&working);
        while !over() {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if settings.only.is_some_and(|only| number != only) {
                break;
            }
            let area = area_of(settings, number);
            let start = Instant::now();
            let found = one(settings, area, number, &counts);
            Counts::add(&counts.area(area).nanoseconds, start.elapsed().as_nanos() as usize);
            let differs = found.iter().any(|finding| finding.kind().is_difference());
            // Why checkers differ shows in many proofs side by side, not in a few of the first case.
            let whole = differs && counts.differing.fetch_add(1, Ordering::Relaxed) < settings.differing;
            for finding in found {
                let before = counts.find(finding.kind());
                counts.area(area).find(finding.kind());
                let end = format!("{}-{}-{number}-{before}", area.name(), settings.seed);
                if before < settings.kept && !stopped() {
                    treat(settings, finding, area, &end, &folders, say);
                } else if whole && finding.kind().is_difference() {
                    keep_only(settings, &finding, &end, &folders, say);
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
                counts.gather();
                let (problems, shown) = (counts.all_problems(), counts.all_shown());
                let seconds = start.elapsed().as_secs_f64();
                let findings = counts.findings_by_kind();
                say(&format!("{seconds:>5.0} s problems {problems} tampered or forged {shown} | {findings}"));
            }
        }
    });
    counts.gather();
    let seconds = start.elapsed().as_secs_f64();
    if settings.areas.contains(&Area::Flips) {
        say(&format!("flips in detail: {counts}"));
        say(&counts.speeds());
    }
    counts.by_area().iter().for_each(|line| say(line));
    let (problems, shown) = (counts.all_problems(), counts.all_shown());
    let rate = problems as f64 / seconds;
    say(&format!(
        "in all: problems {problems} ({rate:.0} a second, {seconds:.0} s), tampered or forged {shown}, {}",
        counts.findings_by_kind()
    ));
    counts
}

/// Something found in some area.
enum Found {
    /// On a chain of layers: it can be made smaller.
    Flips(Box<Finding>),
    /// Elsewhere.
    Other(Record),
}

impl Found {
    fn kind(&self) -> Kind {
        match self {
            Found::Flips(finding) => finding.kind,
            Found::Other(record) => record.kind,
        }
    }
}

/// What a case is about: by chance, each area as often as its weight says.
fn area_of(settings: &Settings, number: u64) -> Area {
    let all: usize = settings.areas.iter().map(|area| area.weight()).sum();
    let mut left = Random::new(settings.seed ^ 0xa4ea, number).below(all.max(1));
    for &area in &settings.areas {
        if left < area.weight() {
            return area;
        }
        left -= area.weight();
    }
    Area::Flips
}

/// Says that a thread is done, even if it panics.
struct CaseDone<'a>(&'a AtomicU64);

impl Drop for CaseDone<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// One case.
fn one(settings: &Settings, area: Area, number: u64, counts: &Counts) -> Vec<Found> {
    let mut random = Random::new(settings.seed ^ 0x5eed, number);
    // Components of a large graph share a model: there fewer are attacked.
    let attacks = |components: usize| match settings.attacked {
        0 => 0,
        every => components.div_ceil(if components > 1000 { every * 4 } else { every }),
    };
    let records = match area {
        Area::Flips => {
            // Every sixteenth graph is a large one.
            let large = number % 16 == 7;
            let components = if large { settings.components } else { 1 + random.below(settings.components.min(300)) };
            let found = flips(settings, number, components, attacks(components), &mut random, counts);
            return found.into_iter().map(|finding| Found::Flips(Box::new(finding))).collect();
        }
        Area::Edges => {
            let components = 1 + random.below(settings.components.min(200));
            let case = edges::generate::generate(settings.seed, number, components);
            edges::look::look(&case, attacks(components), settings.verified.as_deref(), &mut random, counts.area(area))
        }
        Area::Changes => {
            let mut records = Vec::new();
            for part in 0..20 {
                let case = changes::case::generate(settings.seed, number * 20 + part);
                let verified = settings.verified.as_deref();
                records.extend(changes::look::look(&case, verified, &mut random, counts.area(area)));
                if stopped() {
                    break;
                }
            }
            records
        }
        Area::Joint => {
            let mut records = Vec::new();
            for part in 0..20 {
                let case = joint::case::generate(settings.seed, number * 20 + part);
                let verified = settings.verified.as_deref();
                records.extend(joint::look::look(&case, verified, &mut random, counts.area(area)));
                if stopped() {
                    break;
                }
            }
            records
        }
        Area::Ranges => {
            let mut records = Vec::new();
            for part in 0..20 {
                let (case, truths) = ranges::generate::generate(settings.seed, number * 20 + part);
                let verified = settings.verified.as_deref();
                records.extend(ranges::look::look(&case, &truths, verified, &mut random, counts.area(area)));
                if stopped() {
                    break;
                }
            }
            records
        }
        Area::Moved => {
            let mut records = Vec::new();
            for part in 0..10 {
                let number = number * 10 + part;
                records.extend(match moved::generate::generate(settings.seed, number) {
                    Ok(case) => moved::look::look(case, settings.verified.as_deref(), &mut random, counts.area(area)),
                    Err(problem) => refused(area, number, &problem),
                });
                if stopped() {
                    break;
                }
            }
            records
        }
        Area::Terms | Area::Rows | Area::Categories | Area::Deployed => {
            let numbers = if area == Area::Deployed { Numbers::Float32 } else { Numbers::Any };
            let components = 1 + random.below(settings.components.min(if area == Area::Terms { 120 } else { 40 }));
            // Executions are of all of them.
            let of = match area {
                Area::Deployed => random.pick(&[Area::Terms, Area::Terms, Area::Rows, Area::Categories]),
                area => area,
            };
            let normalisation = match of {
                Area::Rows => random.pick(&[Normalisation::Float32, Normalisation::Float64]),
                _ => Normalisation::None,
            };
            let categories = of == Area::Categories;
            let (attacks, verified) = (attacks(components), settings.verified.as_deref());
            match terms::generate::generate(settings.seed, number, components, numbers, normalisation, categories) {
                Ok(case) if area != Area::Deployed => {
                    terms::look::look(area, &case, attacks, verified, &mut random, counts.area(area))
                }
                Ok(case) => deployed::look::look(&case, attacks + 1, verified, &mut random, counts.area(area)),
                Err(problem) => refused(area, number, &problem),
            }
        }
        Area::Graphs => {
            let mut records = Vec::new();
            // A batch is one small problem.
            for part in 0..16 {
                records.extend(match terms::graphs::generate(settings.seed, number * 16 + part) {
                    Ok(case) => {
                        let attacks = usize::from(settings.attacked > 0 && random.below(settings.attacked.min(4)) == 0);
                        let verified = settings.verified.as_deref();
                        terms::look::look(area, &case, attacks, verified, &mut random, counts.area(area))
                    }
                    Err(problem) => refused(area, number, &problem),
                });
                if stopped() {
                    break;
                }
            }
            records
        }
        Area::Collective => {
            let mut records = Vec::new();
            for graph in 0..10 {
                let number = number * 10 + graph;
                let Some((case, scope)) = collective::look::graph(settings.seed, number, &mut random) else { continue };
                let verified = settings.verified.as_deref();
                records.extend(collective::look::look(&case, &scope, verified, &mut random, counts.area(area)));
                if stopped() {
                    break;
                }
            }
            records
        }
        Area::Questions => {
            let counts = counts.area(area);
            Counts::add(&counts.cases, 1);
            let mut records = Vec::new();
            for part in 0..8 {
                let number = number * 8 + part;
                records.extend(match random.below(6) {
                    0 | 1 => questions::flips::look(settings.seed, number, &mut random, counts),
                    5 => questions::executions::look(settings.seed, number, &mut random, counts),
                    2 | 3 => questions::edges::look(settings.seed, number, &mut random, counts),
                    _ => questions::collective::look(settings.seed, number, &mut random, counts),
                });
                if stopped() {
                    break;
                }
            }
            records
        }
    };
    records.into_iter().map(Found::Other).collect()
}

/// A description that is refused: a bug of the generator or of the reader.
fn refused(area: Area, number: u64, problem: &str) -> Vec<Record> {
    let (kind, message) = (Kind::Crash, format!("a description is refused: {problem}"));
    vec![Record { area, kind, message, files: Vec::new(), text: format!("case {number}\n") }]
}

/// One case of flipped attributes on a chain of layers.
fn flips(
    settings: &Settings,
    number: u64,
    components: usize,
    attacks: usize,
    random: &mut Random,
    counts: &Counts,
) -> Vec<Finding> {
    // Where depth is asked for, mostly networks that need good bounds.
    let is_tight = settings.layers != LAYERS && number % 4 != 3;
    let components = if is_tight { components.min(40) } else { components };
    let case = Counts::time(&counts.generating, || match is_tight {
        true => tight::generate(settings.seed, number, components, &settings.layers),
        false => generate_deep(settings.seed, number, components, &settings.layers),
    });
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
    let area = counts.area(Area::Flips);
    Counts::add(&area.cases, 1);
    Counts::add(&area.problems, components);
    let mut findings = look(&case, how, attacks, settings.verified.as_deref(), random, counts);
    if let Some(program) = settings.program.as_ref().filter(|_| number % 32 == 5 && !stopped()) {
        let end = case.components[case.components.len().min(60) - 1].end;
        let mut part = case.part(0..end);
        part.components = case.components.iter().take_while(|range| range.end <= end).cloned().collect();
        let truths = solve(&part, counts);
        if truths.len() < part.nodes() {
            return findings;
        }
        let folder = std::env::temp_dir().join(format!("gcnproof-hunt-{}-{number}", std::process::id()));
        findings.extend(binary::run(program, &part, how, &truths, &folder, counts));
    }
    findings
}

/// Keeps a finding as it was found, in a folder whose name has this end.
fn keep_only(settings: &Settings, finding: &Found, end: &str, folders: &Mutex<()>, say: &(dyn Fn(&str) + Sync)) {
    let Some(out) = settings.out.as_deref() else { return };
    let _one_at_a_time = folders.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let name = format!("{}-{end}", finding.kind().name());
    let kept = match finding {
        Found::Flips(finding) => keep(finding, finding, out, &name),
        Found::Other(record) => record.keep(out, &name),
    };
    if let Err(error) = kept {
        say(&format!("{name} cannot be kept: {error}"));
    }
}

/// Makes a finding small where that is possible, and keeps it in a folder whose name has this end.
fn treat(settings: &Settings, finding: Found, area: Area, end: &str, folders: &Mutex<()>, say: &(dyn Fn(&str) + Sync)) {
    let name = |kind: Kind| format!("{}-{end}", kind.name());
    let out = settings.out.as_deref();
    let (kind, message, kept) = match finding {
        Found::Flips(finding) => {
            let small = shrink((*finding).clone(), settings.patience);
            let _one_at_a_time = folders.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            (small.kind, small.message.clone(), out.map(|out| keep(&small, &finding, out, &name(small.kind))))
        }
        Found::Other(record) => {
            let _one_at_a_time = folders.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            let kept = out.map(|out| record.keep(out, &name(record.kind)));
            (record.kind, record.message, kept)
        }
    };
    let place = match kept {
        None => String::new(),
        Some(Ok(folder)) => format!(" -> {}", folder.display()),
        Some(Err(error)) => format!(" (cannot be kept: {error})"),
    };
    let message: String = message.chars().take(400).collect();
    say(&format!("FOUND {} ({}): {message}{place}", kind.name(), area.name()));
}
