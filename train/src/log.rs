//! The training log: one JSON object per line, a header first, then an iteration each.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use gcnproof_results::record::description::LocalRecord;
use gcnproof_results::{replace, unwritable};
use serde::{Deserialize, Serialize};

use super::error::TrainError;
use super::losses::Loss;
use super::objective::Report;

/// The first line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// The version of the format.
    pub gcnproof_training_log: u32,
    /// Digest of the graph.
    pub graph: String,
    /// What is minimised in the end.
    pub loss: Loss,
    /// Which certificate stands in it.
    pub bound: String,
    /// `q`: a number, or a list with one per node.
    pub local: LocalRecord,
    /// `Q`.
    pub global: usize,
    /// What all random numbers of the run follow from.
    pub seed: u64,
}

/// One iteration, with the fields of its [`Report`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Line {
    /// From 0.
    pub iteration: usize,
    /// Time spent on training so far, earlier runs that were resumed not counted.
    pub seconds: f64,
    /// Which loss was minimised.
    pub stage: Loss,
    /// Losses, margins and accuracies; null where not computed.
    #[serde(flatten)]
    pub report: Report,
}

/// A log that is being written.
pub struct Log {
    path: PathBuf,
    file: BufWriter<File>,
}

impl Log {
    /// Starts a log, or continues one: lines from iteration `from` on were written after the checkpoint and go.
    pub fn open(path: &Path, header: &Header, from: usize) -> Result<Log, TrainError> {
        let first = serde_json::to_string(header).unwrap_or_default();
        let kept = if from == 0 { String::new() } else { earlier(path, from) };
        replace(path, format!("{first}\n{kept}").as_bytes())?;
        let file = File::options().append(true).open(path).map_err(unwritable(path))?;
        Ok(Log { path: path.into(), file: BufWriter::new(file) })
    }

    /// Adds an iteration.
    pub fn push(&mut self, line: &Line) -> Result<(), TrainError> {
        let text = serde_json::to_string(line).unwrap_or_default();
        let written = writeln!(self.file, "{text}").and_then(|()| self.file.flush());
        Ok(written.map_err(unwritable(&self.path))?)
    }
}

/// The lines of iterations before `from`; none of a file that is not there or is something else.
fn earlier(path: &Path, from: usize) -> String {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let before = |line: &&str| serde_json::from_str::<Line>(line).is_ok_and(|line| line.iteration < from);
    text.lines().filter(before).map(|line| format!("{line}\n")).collect()
}
