//! The command `gcnproof-hunt`: searches until it is stopped, and prints what it has looked at.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::Ordering;
use std::time::Duration;

use clap::Parser;
use gcnproof_hunt::hunt::{Settings, hunt};
use gcnproof_hunt::player::STOP;

/// Searches for small problems on which gcnproof or its checker is wrong, until stopped by Ctrl-C.
#[derive(Parser)]
struct Arguments {
    /// The seed of all problems [default: from the clock]
    #[arg(long)]
    seed: Option<u64>,
    /// Stop after so many seconds
    #[arg(long)]
    seconds: Option<f64>,
    /// Stop after so many problems
    #[arg(long)]
    problems: Option<u64>,
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
    /// Only the case of this number (the second number in the name of a finding's folder)
    #[arg(long)]
    only: Option<u64>,
    /// One component in so many is attacked with false proofs; 0: none
    #[arg(long, default_value_t = 20)]
    attacked: usize,
    /// The program gcnproof, run on files now and then [default: the one beside this program]
    #[arg(long)]
    program: Option<PathBuf>,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let clock = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |time| time.as_secs());
    let settings = Settings {
        seed: arguments.seed.unwrap_or(clock),
        time: arguments.seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()),
        problems: arguments.problems,
        components: arguments.components.max(1),
        threads: arguments.threads.or(std::thread::available_parallelism().ok().map(usize::from)).unwrap_or(1).max(1),
        out: Some(arguments.out),
        kept: arguments.kept,
        patience: Duration::from_secs(10),
        only: arguments.only,
        attacked: arguments.attacked,
        program: arguments.program.or_else(gcnproof_hunt::binary::beside),
        verified: match gcnproof_check::find_program() {
            Ok(program) => Some(program),
            Err(problem) => {
                println!("without the verified checker: {problem}");
                None
            }
        },
    };
    if let Err(error) = ctrlc::set_handler(|| STOP.store(true, Ordering::Relaxed)) {
        eprintln!("gcnproof-hunt: Ctrl-C cannot be caught: {error}");
    }
    println!("seed {}, {} threads", settings.seed, settings.threads);
    let counts = hunt(&settings, &|line| {
        println!("{line}");
        let _ = std::io::stdout().flush();
    });
    if counts.findings() == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
