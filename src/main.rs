//! The command line of gcnproof.

// Both end a program by a panic where nobody reads them any more; `command::output` does not.
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod command;

use std::io::Write;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use command::output;

/// Exact robustness verification of graph convolutional networks.
///
/// Given a graph with binary node attributes, a trained GCN and a budget of attribute flips, says for every node whether
/// any such attack changes its class: robust (proved in exact arithmetic), non-robust (with the attack), or undecided.
#[derive(Parser, Debug)]
#[command(name = "gcnproof", version, max_term_width = 120)]
#[command(after_help = "Start here:  gcnproof demo")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    Certify(Box<command::certify::Certify>),
    Check(Box<command::check::Check>),
    Radius(Box<command::radius::Radius>),
    Study(Box<command::study::Study>),
    Report(Box<command::report::Report>),
    Explain(Box<command::explain::Explain>),
    Inspect(Box<command::inspect::Inspect>),
    Train(Box<command::train::Train>),
    Reproduce(Box<command::reproduce::Reproduce>),
    #[cfg(feature = "laboratory")]
    Validate(Box<command::validate::Validate>),
    #[cfg(feature = "laboratory")]
    Export(Box<command::export::Export>),
    #[cfg(not(feature = "laboratory"))]
    #[command(hide = true)]
    Validate(Unavailable),
    #[cfg(not(feature = "laboratory"))]
    #[command(hide = true)]
    Export(Unavailable),
    Demo(command::demo::Demo),
}

/// A command of the laboratory in a build without it: it says how to get one.
#[cfg(not(feature = "laboratory"))]
#[derive(clap::Args, Debug)]
#[command(disable_help_flag = true)]
struct Unavailable {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
    _arguments: Vec<String>,
}

#[cfg(not(feature = "laboratory"))]
impl Unavailable {
    fn execute(self) -> miette::Result<u8> {
        Err(miette::miette!(
            help = "build it with `make build`, or `cargo install --path . --features laboratory` (needs HiGHS)",
            "validate and export belong to the laboratory, which this build of gcnproof does not have"
        ))
    }
}

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        // Help and version are asked for and go to standard output; complaints to standard error.
        Err(error) => {
            let printed = error.print().and_then(|()| std::io::stdout().flush());
            let code = u8::try_from(error.exit_code()).unwrap_or(2);
            return ExitCode::from(printed.map_or_else(|failure| output::fail(&output::unwritten(failure)), |()| code));
        }
    };
    let outcome = match cli.command {
        Command::Certify(command) => command.execute(),
        Command::Check(command) => command.execute(),
        Command::Radius(command) => command.execute(),
        Command::Study(command) => command.execute(),
        Command::Report(command) => command.execute(),
        Command::Explain(command) => command.execute(),
        Command::Inspect(command) => command.execute(),
        Command::Train(command) => command.execute(),
        Command::Reproduce(command) => command.execute(),
        Command::Validate(command) => command.execute(),
        Command::Export(command) => command.execute(),
        Command::Demo(command) => command.execute(),
    };
    ExitCode::from(outcome.unwrap_or_else(|report| output::fail(&report)))
}
