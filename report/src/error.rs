//! Errors in the files that a report is made from.

use gcnproof_results::ResultError;
use gcnproof_results::record::study::StudyError;
use miette::Diagnostic;
use thiserror::Error;

/// Why there is no report.
///
/// In every variant `file` is the file and `problem` what is wrong.
#[allow(missing_docs)]
#[derive(Debug, Error, Diagnostic)]
#[non_exhaustive]
pub enum ReportError {
    /// A results file cannot be read.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Results(#[from] ResultError),
    /// A graph or a model cannot be read.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Graph(#[from] gcnproof_files::FileError),
    /// The file is none of those that a report can show.
    #[error("{file}: neither results of certify, radius, collective or validate nor a training log: {problem}")]
    #[diagnostic(help(
        "give .parquet, .jsonl or .csv files that gcnproof wrote with --out, a training log (.jsonl), or the folder of a study"
    ))]
    Unknown { file: String, problem: String },
    /// A study cannot be read or written.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Study(#[from] StudyError),
    /// A training log breaks off or contradicts its format.
    #[error("{file}: line {line}: {problem}")]
    #[diagnostic(help("a training log has one JSON object per line: mend or delete that line"))]
    TrainingLog {
        file: String,
        /// The line, from 1.
        line: usize,
        problem: String,
    },
    /// A row about one attack for the whole graph cannot be true.
    #[error("{file}: the row of Q = {budget}: {problem}")]
    #[diagnostic(help("the file was changed after it was written: run `gcnproof collective` again"))]
    Contradiction {
        file: String,
        /// `Q` of the row.
        budget: u64,
        /// What contradicts what.
        problem: String,
    },
    /// A node has more than one row.
    #[error("{file}: node {node} has two rows")]
    #[diagnostic(help(
        "the file was changed after it was written, perhaps by putting two files together: keep one row for each node; \
         `gcnproof join` puts the results of parts together"
    ))]
    Repeated {
        file: String,
        /// Which node.
        node: u64,
    },
    /// There is nothing to show.
    #[error("nothing to report: {files} no rows{yet}")]
    #[diagnostic(help("{remedy}"))]
    NoRows {
        /// Which files.
        files: String,
        /// Why there may be some later.
        yet: &'static str,
        /// What to do about it.
        remedy: &'static str,
    },
    /// The results belong to several graphs.
    #[error("the results belong to different graphs: {files}")]
    #[diagnostic(help("make one report for each graph"))]
    Graphs {
        /// Which files, by graph.
        files: String,
    },
    /// The results are about different attacks.
    #[error("the results are about different attacks: {files}")]
    #[diagnostic(help(
        "make one report of the runs about flips, one of those about moved attributes (--epsilon, --ranges), and one of those with --edges"
    ))]
    Attacks {
        /// Which files, by attack.
        files: String,
    },
    /// The graph is not the one that the results were computed on.
    #[error("{graph}: the results were computed on another graph ({file})")]
    #[diagnostic(help(
        "give the very graph of the results, with the same --binarize, --symmetrize and --unweight, or none at all"
    ))]
    OtherGraph {
        /// The graph file.
        graph: String,
        /// The results.
        file: String,
    },
    /// The model is not one that the results were computed with.
    #[error("{model}: none of the results was computed with this model")]
    #[diagnostic(help(
        "give the very models of the results, or none at all: only what each flip contributes needs them"
    ))]
    OtherModel {
        /// The model file.
        model: String,
    },
    /// A file cannot be written.
    #[error("{file}: cannot be written: {problem}")]
    #[diagnostic(help("check that you may write there and that the disk is not full"))]
    Unwritable { file: String, problem: String },
}
