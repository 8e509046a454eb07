//! Errors of results files, each with its remedy.

use std::path::Path;

use miette::Diagnostic;
use thiserror::Error;

use super::column::Column;

/// What is wrong with a results file. Every variant names the file, the place within it, and the
/// remedy (as the diagnostic's help text).
///
/// In every variant `file` is the file, `problem` what is wrong, `remedy` what to do about it and `source`
/// what the operating system said.
#[allow(missing_docs)]
#[derive(Debug, Error, Diagnostic)]
#[non_exhaustive]
pub enum ResultError {
    /// The extension belongs to none of the three formats.
    #[error("{file}: the extension does not say which format is meant")]
    #[diagnostic(help("end the name in `.parquet`, `.jsonl` or `.csv`"))]
    UnknownFormat { file: String },
    /// The operating system would not give us the file.
    #[error("{file}: cannot be read: {source}")]
    #[diagnostic(help("check that the path is right and that you may read it"))]
    Unreadable { file: String, source: std::io::Error },
    /// The operating system would not take the file.
    #[error("{file}: cannot be written: {source}")]
    #[diagnostic(help(
        "check that the folder exists, that you may write into it, and that the disk is not full; \
         rows that were written before, if any, are whole, and `--resume` goes on after them"
    ))]
    Unwritable { file: String, source: std::io::Error },
    /// The library that writes the format refused the rows.
    #[error("{file}: the rows cannot be encoded: {problem}")]
    #[diagnostic(help("choose an `--out` with another extension, and report this as a bug of gcnproof"))]
    Unencodable {
        file: String,
        /// What the library said.
        problem: String,
    },
    /// A row that should be written does not have the columns of its table.
    #[error("{file}: {place}: the row does not fit its table: {problem}")]
    #[diagnostic(help("this is a bug of gcnproof, not of your data: please report it"))]
    Misfit {
        file: String,
        /// The row and the column.
        place: String,
        /// What does not fit.
        problem: String,
    },
    /// The file is a table, but another one.
    #[error("{file}: the columns are {found}, not {wanted}")]
    #[diagnostic(help(
        "this is the table of another command or of another version of gcnproof: \
         choose another file"
    ))]
    OtherColumns {
        file: String,
        /// The columns that are there.
        found: String,
        /// The columns that should be there.
        wanted: String,
    },
    /// The file is no table, though its name says so.
    #[error("{file}: {problem}")]
    #[diagnostic(help("{remedy}"))]
    NoTable { file: String, problem: &'static str, remedy: &'static str },
    /// The file breaks off or contradicts its format or its columns.
    #[error("{file}: {place}: damaged: {problem}")]
    #[diagnostic(help("{remedy}"))]
    Damaged {
        file: String,
        /// The line, or the row and the column.
        place: String,
        problem: String,
        remedy: &'static str,
    },
    /// The sidecar, which says what run a results file belongs to, cannot be understood.
    #[error("{file}: {place}: damaged: {problem}")]
    #[diagnostic(help("without this file nobody knows what run the results beside it belong to: {remedy}"))]
    DamagedSidecar {
        file: String,
        /// The line and the column.
        place: String,
        problem: String,
        remedy: &'static str,
    },
    /// Going on would overwrite the rows of a run that was interrupted.
    #[error("{file}: holds {done} of the {total} rows of a run that was interrupted")]
    #[diagnostic(help("go on with that run by `--resume`, or overwrite it by `--force`"))]
    Unfinished {
        file: String,
        /// The rows that the sidecar counts.
        done: usize,
        /// The rows of the whole run.
        total: usize,
    },
    /// Going on would overwrite the rows of a run that is finished.
    #[error("{file}: holds the {total} rows of a finished run")]
    #[diagnostic(help(
        "choose another `--out`, overwrite it by `--force`, or see its results again by `--resume` with the same command"
    ))]
    Finished {
        file: String,
        /// Its rows.
        total: usize,
    },
    /// There are rows, but no sidecar says what run they belong to.
    #[error("{file}: holds something already, and there is no `{sidecar}` to say what run it belongs to")]
    #[diagnostic(help("choose another `--out`, or overwrite the file by `--force`"))]
    Unknown {
        file: String,
        /// The sidecar that is missing.
        sidecar: String,
    },
    /// The file is no table of ours.
    #[error("{file}: is not a table of results that gcnproof wrote, and is not overwritten")]
    #[diagnostic(help("choose another `--out`, or move the file away"))]
    Foreign { file: String },
    /// What stands in the place of a sidecar is none of ours.
    #[error("{file}: is not a description of a run that gcnproof wrote, and is not overwritten")]
    #[diagnostic(help("results have such a file beside them: choose another `--out`, or move this one away"))]
    ForeignSidecar { file: String },
    /// The file belongs to a run with other settings or inputs.
    #[error("{file}: belongs to another run: {differences}")]
    #[diagnostic(help(
        "give the same options and inputs as that run, choose another `--out`, or overwrite the file by `--force`"
    ))]
    OtherRun {
        file: String,
        /// The differing keys, each with its value in the file and its value now.
        differences: String,
    },
    /// Another process is writing the same file.
    #[error("{file}: another run is writing to it at this moment")]
    #[diagnostic(help("wait for the other run or stop it, or choose another `--out`"))]
    Busy { file: String },
}

impl ResultError {
    /// The same where the file is to be written, and not only read.
    pub(super) fn of_output(self) -> ResultError {
        match self {
            ResultError::DamagedSidecar { file, place, problem, .. } => {
                let remedy = "restore it from a copy, choose another `--out`, or overwrite the results with `--force`";
                ResultError::DamagedSidecar { file, place, problem, remedy }
            }
            other => other,
        }
    }
}

/// The name of a file in a complaint.
pub(super) fn name(path: &Path) -> String {
    path.display().to_string()
}

/// Turns the operating system's refusal to read `path` into a complaint.
pub(super) fn unreadable(path: &Path) -> impl FnOnce(std::io::Error) -> ResultError {
    move |source| ResultError::Unreadable { file: name(path), source }
}

/// Turns the operating system's refusal to write `path` into a complaint.
pub fn unwritable(path: &Path) -> impl FnOnce(std::io::Error) -> ResultError {
    move |source| ResultError::Unwritable { file: name(path), source }
}

/// The complaint about a table with other columns.
pub(super) fn other_columns<'a>(path: &Path, schema: &[Column], found: impl Iterator<Item = &'a str>) -> ResultError {
    let list = |names: Vec<&str>| format!("{:.400}", names.join(", "));
    let wanted = list(schema.iter().map(|column| column.name).collect());
    ResultError::OtherColumns { file: name(path), found: list(found.collect()), wanted }
}
