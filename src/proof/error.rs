//! Errors of writing a file of proofs.

use miette::Diagnostic;
use thiserror::Error;

/// What is wrong with a file of proofs, and what to do about it.
#[derive(Debug, Error, Diagnostic)]
#[non_exhaustive]
pub enum ProofError {
    /// The operating system would not give us the file.
    #[error("{file}: cannot be read: {source}")]
    #[diagnostic(help("check that the path is right and that you may read it"))]
    Unreadable {
        /// The file.
        file: String,
        /// What the operating system said.
        source: std::io::Error,
    },
    /// The operating system would not take what we write.
    #[error("{file}: cannot be written: {source}")]
    #[diagnostic(help(
        "check that the folder exists, that you may write into it, and that the disk is not full; \
         proofs that were written before, if any, are whole, and `--resume` goes on after them"
    ))]
    Unwritable {
        /// The file.
        file: String,
        /// What the operating system said.
        source: std::io::Error,
    },
    /// Another run is writing it.
    #[error("{file}: another run is writing it")]
    #[diagnostic(help("wait until it is over, or choose another file"))]
    Locked {
        /// The file.
        file: String,
    },
    /// The file holds an unfinished run.
    #[error("{file}: holds {done} proofs of an unfinished run")]
    #[diagnostic(help("go on with it by `--resume`, overwrite it by `--force`, or choose another file"))]
    Unfinished {
        /// The file.
        file: String,
        /// Nodes that it has lines for.
        done: usize,
    },
    /// The file holds a finished run.
    #[error("{file}: holds {done} proofs of a finished run")]
    #[diagnostic(help("overwrite it by `--force`, or choose another file; with `--out` and `--resume` a run goes on"))]
    Finished {
        /// The file.
        file: String,
        /// Nodes that it has lines for.
        done: usize,
    },
    /// The file to be written is something else.
    #[error(
        "{file}: is not a file of proofs that gcnproof wrote, or is cut off in its first line, and is not overwritten"
    )]
    #[diagnostic(help("choose another file, or move this one away"))]
    Occupied {
        /// The file.
        file: String,
    },
    /// Proofs of parts that cannot be joined.
    #[error("{file}: cannot be joined: {problem}")]
    #[diagnostic(help("join finished files of proofs as `gcnproof certify --proofs` wrote them, one for each part"))]
    Unjoinable {
        /// The file.
        file: String,
        /// What is wrong with it.
        problem: String,
    },
    /// The file begins as one of proofs, and cannot be read.
    #[error("{file}: is not a file of proofs: {problem}")]
    #[diagnostic(help("overwrite it by `--force`, or choose another file"))]
    Foreign {
        /// The file.
        file: String,
        /// What is wrong with it.
        problem: String,
    },
    /// The proofs that are there are about something else.
    #[error("{file}: its proofs are of another run: {differences}")]
    #[diagnostic(help("repeat the command of that run, overwrite it by `--force`, or choose another file"))]
    OtherRun {
        /// The file.
        file: String,
        /// What differs, in words.
        differences: String,
    },
}
