//! The command line of gcnproof.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(gcnproof::command::program::run())
}
