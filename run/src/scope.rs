//! Which attacks are decided on which attributes. A remedy that names another attack is made here, so that none of them
//! leads to the next refusal.

use gcnproof::ProblemError;
use gcnproof_files::FileError;
use miette::{Report, miette};

/// What can be asked where an attack is not decided because of the attributes; nothing where the error is about
/// something else.
pub fn instead(error: &ProblemError) -> Option<&'static str> {
    Some(match error {
        ProblemError::Normalised { .. } => {
            "ask about flips alone (-Q and -q), about moved attributes (-Q, and --epsilon or --ranges), or about edges alone (--edges \
             and -E)"
        }
        ProblemError::Categories { .. } => {
            "ask about changes of categories alone (-Q and -q); a graph without groups (`attr_groups`) has flips, moved attributes and \
             changed edges"
        }
        ProblemError::Numbers { .. } => {
            "ask about moved attributes (-Q, and --epsilon or --ranges), or about edges alone (--edges and -E)"
        }
        ProblemError::Ranged { .. } => "leave --epsilon and --ranges out",
        _ => return None,
    })
}

/// The error about attributes that are numbers, where a command is about flips alone: `certify` decides what it does
/// not.
pub fn only_flips(command: &str, report: Report) -> Report {
    match report.downcast_ref::<FileError>() {
        Some(error @ FileError::NotBinary { .. }) => miette!(
            help = format!(
                "{command} is about flips of 0/1 attributes alone: --binarize reads every nonzero as 1. Of a model that was trained on \
                 numbers, `gcnproof certify` decides moved attributes (-Q, and --epsilon or --ranges) and changed edges (--edges and -E)"
            ),
            "{error}"
        ),
        _ => report,
    }
}
