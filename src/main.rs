//! The command line of gcnproof.

mod command;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

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
    Demo(command::demo::Demo),
}

fn main() -> ExitCode {
    let outcome = match Cli::parse().command {
        Command::Certify(command) => command.execute(),
        Command::Check(command) => command.execute(),
        Command::Radius(command) => command.execute(),
        Command::Study(command) => command.execute(),
        Command::Report(command) => command.execute(),
        Command::Explain(command) => command.execute(),
        Command::Inspect(command) => command.execute(),
        Command::Train(command) => command.execute(),
        Command::Reproduce(command) => command.execute(),
        #[cfg(feature = "laboratory")]
        Command::Validate(command) => command.execute(),
        #[cfg(feature = "laboratory")]
        Command::Export(command) => command.execute(),
        Command::Demo(command) => command.execute(),
    };
    match outcome {
        Ok(code) => ExitCode::from(code),
        Err(report) => {
            eprintln!("{report:?}");
            ExitCode::from(2)
        }
    }
}
