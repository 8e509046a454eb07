//! The command `gcnproof-hunt`: searches until it is stopped, and prints what it has looked at.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::Ordering;
use std::time::Duration;

use clap::Parser;
use gcnproof_hunt::area::{AREAS, Area};
use gcnproof_hunt::generate::LAYERS;
use gcnproof_hunt::hunt::{Settings, hunt};
use gcnproof_hunt::resources;
use gcnproof_hunt::resources::child::Limits;
use gcnproof_hunt::tested::STOP;

/// Searches for small problems on which gcnproof or its checker is wrong, until stopped by Ctrl-C.
#[derive(Parser)]
struct Arguments {
    /// The seed of all problems [default: from the clock]
    #[arg(long)]
    seed: Option<u64>,
    /// What is attacked: flips, terms, rows, categories, graphs, edges, changes, joint, ranges, collective, deployed,
    /// moved, questions
    #[arg(long, value_delimiter = ',', default_values_t = AREAS.map(|area| area.name().to_string()))]
    attackers: Vec<String>,
    /// Stop after so many seconds
    #[arg(long)]
    seconds: Option<f64>,
    /// Stop after so many problems
    #[arg(long)]
    problems: Option<u64>,
    /// Weight layers of networks in the area of flips, 1 to 8: one of these [default: mostly 2]
    #[arg(long, value_delimiter = ',', value_parser = clap::value_parser!(u8).range(1..=8))]
    layers: Vec<u8>,
    /// Components of a large graph (one graph in sixteen is large)
    #[arg(long, default_value_t = 20_000)]
    components: usize,
    /// Threads [default: all cores]
    #[arg(long)]
    threads: Option<usize>,
    /// The folder for what is found
    #[arg(long, default_value = "target/hunt")]
    out: PathBuf,
    /// Findings of one kind that are made small and kept; more are counted
    #[arg(long, default_value_t = 5)]
    kept: u64,
    /// Cases in which checkers differ, of which every proof on which they do is kept as it was found
    #[arg(long, default_value_t = 200)]
    differing: u64,
    /// Only the case of this number (the second number in the name of a finding's folder)
    #[arg(long)]
    only: Option<u64>,
    /// One component in so many is attacked with false proofs; 0: none
    #[arg(long, default_value_t = 20)]
    attacked: usize,
    /// Instead of problems, show small files with large costs to the checker, each in a process of its own; --problems
    /// counts files
    #[arg(long)]
    resources: bool,
    /// With --resources: more seconds than this are a finding; eight times as many with --exact
    #[arg(long, default_value_t = 20.0, requires = "resources")]
    file_seconds: f64,
    /// With --resources: more megabytes than this are a finding
    #[arg(long, default_value_t = 1000, requires = "resources")]
    file_megabytes: u64,
    /// With --resources: the program gcnproof-check [default: the one beside this program]
    #[arg(long, requires = "resources")]
    checker: Option<PathBuf>,
    /// The program gcnproof, run on files now and then [default: the one beside this program]
    #[arg(long)]
    program: Option<PathBuf>,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let clock = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |time| time.as_secs());
    let areas: Vec<Area> = match arguments.attackers.iter().map(|name| name.parse()).collect() {
        Ok(areas) => areas,
        Err(problem) => {
            let problem: String = problem;
            eprintln!("gcnproof-hunt: --attackers: {problem}");
            return ExitCode::from(2);
        }
    };
    let time = arguments.seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    let threads = arguments.threads.or(std::thread::available_parallelism().ok().map(usize::from)).unwrap_or(1).max(1);
    if let Err(error) = ctrlc::set_handler(|| STOP.store(true, Ordering::Relaxed)) {
        eprintln!("gcnproof-hunt: Ctrl-C cannot be caught: {error}");
    }
    let say = |line: &str| {
        println!("{line}");
        let _ = std::io::stdout().flush();
    };
    if arguments.resources {
        let Some(program) = arguments.checker.or_else(|| gcnproof_hunt::binary::beside("gcnproof-check")) else {
            eprintln!("gcnproof-hunt: --resources needs gcnproof-check: build it, or name it with --checker");
            return ExitCode::from(2);
        };
        let settings = resources::ResourceSettings {
            seed: arguments.seed.unwrap_or(clock),
            time,
            files: arguments.problems,
            threads,
            out: Some(arguments.out),
            kept: arguments.kept,
            only: arguments.only,
            program,
            limits: Limits {
                time: Duration::from_secs_f64(arguments.file_seconds.clamp(0.1, 3600.0)),
                memory: arguments.file_megabytes << 20,
                space: (arguments.file_megabytes << 20) * 6,
            },
        };
        say(&format!("seed {}, {threads} processes at a time", settings.seed));
        return if resources::run(&settings, &say) == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    }
    let settings = Settings {
        areas,
        seed: arguments.seed.unwrap_or(clock),
        time,
        problems: arguments.problems,
        layers: match arguments.layers.as_slice() {
            [] => LAYERS.to_vec(),
            chosen => chosen.iter().copied().map(usize::from).collect(),
        },
        components: arguments.components.max(1),
        threads,
        out: Some(arguments.out),
        kept: arguments.kept,
        differing: arguments.differing,
        patience: Duration::from_secs(10),
        only: arguments.only,
        attacked: arguments.attacked,
        program: arguments.program.or_else(|| gcnproof_hunt::binary::beside("gcnproof")),
        verified: match gcnproof_check::find_program() {
            Ok(program) => Some(program),
            Err(problem) => {
                println!("without the verified checker: {problem}");
                None
            }
        },
    };
    println!("seed {}, {} threads", settings.seed, settings.threads);
    let counts = hunt(&settings, &say);
    if counts.findings() == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
