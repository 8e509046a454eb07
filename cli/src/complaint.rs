//! What clap finds wrong with the command line, where more can be said of it: options of other commands, and values
//! that are no numbers.

use std::error::Error as _;

use clap::Command;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use miette::{Report, miette};

use super::combination::{conflict, missing_companion};
use super::spelling::{is_called, is_slip, left_over, meant, said_otherwise};

/// A better message, if there is one; `said` are the words behind the name of the program.
pub fn complaint(error: &clap::Error, command: &Command, said: &[&str]) -> Option<Report> {
    let name = *said.first()?;
    let own = command.find_subcommand(name)?;
    let word = text(error, ContextKind::InvalidArg)?;
    match error.kind() {
        ErrorKind::UnknownArgument if word.starts_with('-') => unknown_option(error, &word, command, own),
        ErrorKind::UnknownArgument => Some(left_over(&word, own, said)),
        ErrorKind::MissingRequiredArgument => missing_companion(&word, name, said),
        ErrorKind::ArgumentConflict => Some(conflict(&word, text(error, ContextKind::PriorArg).as_deref(), own, said)),
        ErrorKind::ValueValidation => no_number(error, name),
        ErrorKind::InvalidValue => other_attack(error).or_else(|| other_format(error)),
        _ => None,
    }
}

/// What an error says of one thing.
fn text(error: &clap::Error, kind: ContextKind) -> Option<String> {
    match error.get(kind)? {
        ContextValue::String(text) => Some(text.clone()),
        ContextValue::Strings(texts) => texts.first().cloned(),
        _ => None,
    }
}

/// Options about changed edges, which some commands do not decide.
const EDGES: [&str; 11] = [
    "-E",
    "-e",
    "--edges",
    "--edges-global",
    "--edges-local",
    "--edges-local-file",
    "--keep-one-edge",
    "--freeze-edges",
    "--directed-edges",
    "--candidates",
    "--candidates-within",
];

/// An option that the command does not have: another command may.
fn unknown_option(error: &clap::Error, option: &str, command: &Command, own: &Command) -> Option<Report> {
    let name = own.get_name();
    let others: Vec<&str> = command
        .get_subcommands()
        .filter(|other| other.get_arguments().any(|arg| !arg.is_hide_set() && is_called(arg, option)))
        .map(Command::get_name)
        .collect();
    if let Some(meant) = meant(own, option) {
        return Some(miette!(help = format!("it is {meant}"), "{name} has no option {option}"));
    }
    if let Some(said) = said_otherwise(own, option) {
        return Some(miette!(help = said, "{name} has no option {option}"));
    }
    let help = match (name, option) {
        ("collective" | "study" | "validate" | "export" | "train", option) if EDGES.contains(&option) => {
            return Some(miette!(
                help = "changed edges are decided node by node: `gcnproof certify GRAPH MODEL --edges remove -E 5`; \
                        insert and change in the place of remove",
                "{option}: {name} is about flips of attributes, not about edges"
            ));
        }
        ("radius", "--proofs") => {
            "radius writes no proofs: `gcnproof certify GRAPH MODEL -Q N --proofs FILE` does, for one Q".into()
        }
        ("explain", "--out") => "explain writes to standard output: `gcnproof explain … --format json > FILE`".into(),
        (_, "--quiet" | "--silent" | "-s") => {
            "notes and progress go to standard error: `2> /dev/null` hides them, and `--format json` is for programs"
                .into()
        }
        ("explain", "--threads") => "explain decides one node, on one thread: leave the option out".into(),
        _ if !others.is_empty() => {
            format!("it is an option of {}; `gcnproof {name} --help` lists those of {name}", others.join(", "))
        }
        // A slip of the keyboard: clap knows the option that is meant.
        _ if text(error, ContextKind::SuggestedArg).is_some_and(|known| is_slip(option, &known)) => return None,
        _ => format!("`gcnproof {name} --help` lists its options"),
    };
    Some(miette!(help = help, "{name} has no option {option}"))
}

/// A value that is no number, or none that fits.
fn no_number(error: &clap::Error, name: &str) -> Option<Report> {
    let problem = error.source()?.to_string();
    let (option, value) = (text(error, ContextKind::InvalidArg)?, text(error, ContextKind::InvalidValue)?);
    let option = option.split_whitespace().next()?;
    let is_real = problem.contains("float literal");
    // What clap says of a number outside a range: "0 is not in 1..=1024".
    let range = problem.split_once(" is not in ").and_then(|(_, range)| range.split_once("..="));
    let least = range.and_then(|(least, _)| least.parse::<u64>().ok()).unwrap_or(0);
    let outside = range.is_some();
    if !outside
        && !is_real
        && !problem.contains("digit")
        && !problem.contains("number too")
        && !problem.contains("integer")
    {
        return None;
    }
    let wanted = if is_real { "a number".to_string() } else { format!("a whole number, {least} or more") };
    let help = match (name, option) {
        ("explain" | "export", "--node") => {
            "give the id of one node, from 0; `gcnproof certify --nodes` takes lists".into()
        }
        (_, "--class" | "--reference") => {
            "give the number of a class, from 0; `gcnproof inspect GRAPH` tells how many there are".into()
        }
        _ => format!("give {wanted}"),
    };
    Some(match value.parse::<f64>() {
        Ok(number) if number < least as f64 => miette!(help = help, "{option} {value}: '{value}' is less than {least}"),
        _ if outside || problem.contains("too large") => {
            let most = range.map_or(String::new(), |(_, most)| format!(", {most} at most"));
            miette!(help = format!("give a smaller number{most}"), "{option} {value}: is too large")
        }
        _ => miette!(help = help, "{option} {value}: '{value}' is not {wanted}"),
    })
}

/// What is done to edges, in other words.
fn other_attack(error: &clap::Error) -> Option<Report> {
    let (option, value) = (text(error, ContextKind::InvalidArg)?, text(error, ContextKind::InvalidValue)?);
    if !option.starts_with("--edges") || value.is_empty() {
        return None;
    }
    let help = match value.parse::<u64>() {
        Ok(number) => format!(
            "say what is done, and how often at most: --edges remove -E {number}; insert or change in the place of remove"
        ),
        Err(_) => {
            "give --edges remove, --edges insert, or --edges change for edges that are removed or inserted".into()
        }
    };
    Some(miette!(help = help, "--edges {value}: an attack removes edges, inserts them, or does both"))
}

/// Formats of numbers that are described by their unit roundoff.
fn other_format(error: &clap::Error) -> Option<Report> {
    let (option, value) = (text(error, ContextKind::InvalidArg)?, text(error, ContextKind::InvalidValue)?);
    if !option.starts_with("--deployed") {
        return None;
    }
    Some(match value.to_lowercase().as_str() {
        "bfloat16" | "bf16" => miette!(
            help = "give --deployed float32 --unit-roundoff 2^-8: bfloat16 has the range of float32",
            "--deployed {value}: this format is described by its unit roundoff"
        ),
        _ => miette!(
            help = "give --deployed float32, and for a shorter format with the same range its --unit-roundoff, \
                    such as 2^-8 for bfloat16",
            "--deployed {value}: verdicts are for float32, or for formats with the range of float32"
        ),
    })
}
