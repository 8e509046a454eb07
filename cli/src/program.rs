//! The program: which commands there are, and how one is run.

use std::ffi::OsString;
use std::io::Write;

use clap::{Parser, Subcommand};

use super::arguments::{Refusal, parse};
use super::output;

/// Exact robustness verification of graph convolutional networks.
///
/// Given a graph, a trained network and what an attacker may do to attributes or edges, says for every node, or for
/// every graph of many, whether any such attack changes its class: robust (proved in exact arithmetic), non-robust
/// (with the attack), or undecided.
#[derive(Parser, Debug)]
#[command(name = "gcnproof", version, max_term_width = 120)]
#[command(after_help = "Start here:  gcnproof demo")]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

/// The commands, and how each is run.
macro_rules! commands {
    ($($(#[$meta:meta])* $name:ident($type:ty),)*) => {
        #[derive(Subcommand, Debug)]
        enum Command {
            $($(#[$meta])* $name($type),)*
        }

        impl Cli {
            /// Runs the command. Returns the exit code.
            ///
            /// # Errors
            /// What the command could not do.
            pub fn execute(self) -> miette::Result<u8> {
                match self.command {
                    $($(#[$meta])* Command::$name(command) => command.execute(),)*
                }
            }
        }
    };
}

commands! {
    Certify(Box<super::certify::Certify>),
    Check(Box<super::check::Check>),
    Radius(Box<super::radius::Radius>),
    Collective(Box<super::collective::Collective>),
    Study(Box<super::study::Study>),
    Report(Box<super::report::Report>),
    Summary(Box<super::tally::Tally>),
    Explain(Box<super::explain::Explain>),
    Inspect(Box<super::inspect::Inspect>),
    Train(Box<super::train::Train>),
    Reproduce(Box<super::reproduce::Reproduce>),
    Partition(Box<super::partition::Partition>),
    Join(Box<super::join::Join>),
    #[cfg(feature = "laboratory")]
    Validate(Box<super::validate::Validate>),
    #[cfg(feature = "laboratory")]
    Export(Box<super::export::Export>),
    #[cfg(not(feature = "laboratory"))]
    Validate(Unavailable),
    #[cfg(not(feature = "laboratory"))]
    Export(Unavailable),
    Demo(super::demo::Demo),
}

/// A command of the laboratory in a build without it: it says how to get one.
#[cfg(not(feature = "laboratory"))]
#[derive(clap::Args, Debug)]
#[command(hide = true, disable_help_flag = true)]
struct Unavailable {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
    _arguments: Vec<String>,
}

#[cfg(not(feature = "laboratory"))]
impl Unavailable {
    fn execute(self) -> miette::Result<u8> {
        Err(miette::miette!(
            help = "build it with `make build`, or `cargo install --path cli --features laboratory` (needs HiGHS)",
            "validate and export belong to the laboratory, which this build of gcnproof does not have"
        ))
    }
}

/// Runs what stands on the command line, and says what goes wrong. Returns the exit code.
pub fn run() -> u8 {
    let words: Vec<OsString> = std::env::args_os().collect();
    match parse::<Cli>(&words) {
        Ok(cli) => cli.execute().unwrap_or_else(|report| output::fail(&report)),
        Err(Refusal::Told(report)) => output::fail(&report),
        // Help and version are asked for and go to standard output; complaints to standard error.
        Err(Refusal::Usage(error)) => {
            let printed = error.print().and_then(|()| std::io::stdout().flush());
            let code = u8::try_from(error.exit_code()).unwrap_or(2);
            printed.map_or_else(|failure| output::fail(&output::unwritten(failure)), |()| code)
        }
    }
}
