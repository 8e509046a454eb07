//! The words of the command line: parsed, with numbers below 0 as values, and compared for files that would overwrite
//! each other.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::{Arg, ArgMatches, Command, CommandFactory, FromArgMatches};
use gcnproof_run::outputs::{NamedFile, check_distinct, check_folder};
use miette::Report;

use super::complaint::complaint;
use super::spelling::dashed;

/// Why the words are no command.
pub enum Refusal {
    /// In the words of clap; help and version are among them.
    Usage(clap::Error),
    /// In ours.
    Told(Report),
}

/// Parses the words, of which the first is the program.
pub fn parse<C: CommandFactory + FromArgMatches>(words: &[OsString]) -> Result<C, Refusal> {
    let mut command = C::command().mut_subcommands(|command| command.mut_args(with_negative_numbers));
    command.build();
    let said: Vec<&str> = words.iter().skip(1).filter_map(|word| word.to_str()).collect();
    // Such words may make a command, but not the one that is meant.
    if let Some(report) = dashed(&command, &said) {
        return Err(Refusal::Told(report));
    }
    let parsed = command.clone().try_get_matches_from(words).and_then(|matches| {
        let cli = C::from_arg_matches(&matches).map_err(|error| error.format(&mut command))?;
        Ok((cli, matches))
    });
    match parsed {
        Ok((cli, matches)) => check_files(&command, &matches).map(|()| cli).map_err(Refusal::Told),
        Err(error) => Err(complaint(&error, &command, &said).map_or_else(|| Refusal::Usage(error), Refusal::Told)),
    }
}

/// `-1` after an option is its value, and what reads the value says what is wrong with it.
fn with_negative_numbers(arg: Arg) -> Arg {
    if arg.is_positional() || !arg.get_action().takes_values() { arg } else { arg.allow_negative_numbers(true) }
}

/// Options that name files to be written.
const WRITTEN: [&str; 5] = ["out", "proofs", "log", "checkpoint", "expand"];

/// Refuses to write two things to one file, or over a file that the command reads.
fn check_files(command: &Command, matches: &ArgMatches) -> miette::Result<()> {
    let Some((name, matches)) = matches.subcommand() else { return Ok(()) };
    let Some(command) = command.find_subcommand(name) else { return Ok(()) };
    let (mut written, mut read) = (Vec::new(), Vec::new());
    for arg in command.get_arguments() {
        let id = arg.get_id().as_str();
        let Ok(Some(values)) = matches.try_get_raw(id) else { continue };
        let is_written = !arg.is_positional() && WRITTEN.contains(&id);
        for value in values {
            let path = PathBuf::from(value);
            if is_written {
                let file = NamedFile { option: name_of(arg), path };
                // A page may have a folder made for it, as studies and parts have.
                if is_file(arg) && name != "report" {
                    check_folder(&file)?;
                }
                written.push(file);
            } else if let Some(path) = existing(&path) {
                read.push(NamedFile { option: name_of(arg), path });
            }
        }
    }
    check_distinct(&written, &read)
}

/// The file that a value names, by itself or before the name of an array.
fn existing(value: &Path) -> Option<PathBuf> {
    let file = value.to_str().and_then(|text| text.rsplit_once(':')).map(|(file, _)| PathBuf::from(file));
    [Some(value.to_owned()), file].into_iter().flatten().find(|path| path.is_file())
}

/// Is the value of an option the name of a file, and not of a folder?
fn is_file(arg: &Arg) -> bool {
    arg.get_value_names().is_some_and(|names| names.iter().any(|name| name == "FILE"))
}

fn name_of(arg: &Arg) -> String {
    arg.get_long().map_or_else(|| arg.get_id().as_str().to_uppercase(), |long| format!("--{long}"))
}
