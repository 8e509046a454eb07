//! The file of proofs of a run: shared by all threads, resumed, and counted at the end.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

use gcnproof::Verdict;
use gcnproof::proof::{FileHeader, Missing, ProofError, ProofFile};
use gcnproof_check::{Accepted, Reason};
use miette::{Report, Result, miette};
use serde::Serialize;

use super::host::Host;
use super::outputs::{NamedFile, check_folder};
use super::run::Run;

/// A file of proofs, shared by all threads. Its header says what they are about.
pub struct Proofs<H: FileHeader> {
    path: PathBuf,
    header: H,
    host: Arc<dyn Host>,
    state: Mutex<(ProofFile<H>, Result<(), ProofError>)>,
}

/// What was written.
#[derive(Debug, Serialize)]
pub struct Written {
    file: PathBuf,
    proofs: usize,
    /// Nodes without proof, by reason.
    without_proof: BTreeMap<Missing, usize>,
    bytes: u64,
    bytes_per_robust_node: Option<f64>,
}

impl<H: FileHeader> Proofs<H> {
    /// Opens the file; nothing in it is changed yet.
    ///
    /// # Errors
    /// If it cannot be used, or must not be overwritten.
    pub fn open(path: &Path, header: H, run: &Run) -> Result<Proofs<H>> {
        check_folder(&NamedFile { option: "--proofs".into(), path: path.to_owned() })?;
        Ok(Proofs {
            path: path.to_owned(),
            state: Mutex::new((ProofFile::open(path, &header, run.mode())?, Ok(()))),
            header,
            host: run.host.clone(),
        })
    }

    /// What the proofs state.
    pub fn header(&self) -> &H {
        &self.header
    }

    /// Has this node a line already?
    pub fn has(&self, node: u64) -> bool {
        u32::try_from(node).is_ok_and(|node| self.state().0.done().contains(&node))
    }

    /// Writes the line of a node. A disk that is full does not get better: the run stops, and [`Proofs::finish`] says
    /// so.
    pub fn add(&self, line: &Accepted<H::Line>) {
        let (file, outcome) = &mut *self.state();
        if outcome.is_ok() {
            *outcome = file.push(line);
            if outcome.is_err() {
                self.host.stop();
            }
        }
    }

    /// Writes what is left, and counts.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn finish(self, complete: bool, verdicts: impl Iterator<Item = Verdict>) -> Result<Written> {
        let (mut file, outcome) = self.state.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
        outcome?;
        file.finish(complete)?;
        let robust = verdicts.filter(|&verdict| verdict == Verdict::Robust).count();
        Ok(Written::new(self.path, &file, robust))
    }

    fn state(&self) -> MutexGuard<'_, (ProofFile<H>, Result<(), ProofError>)> {
        self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

/// The checker does not understand our own header.
pub(super) fn not_understood(reason: Reason) -> Report {
    miette!(help = "this is a bug of gcnproof: please report it", "--proofs: {reason}")
}

impl Written {
    /// What is in a file; so many of its nodes are robust.
    pub fn new<H: FileHeader>(path: PathBuf, file: &ProofFile<H>, robust: usize) -> Written {
        let without: usize = file.unproved().values().sum();
        Written {
            file: path,
            proofs: file.done().len() - without,
            without_proof: file.unproved().clone(),
            bytes: file.bytes(),
            bytes_per_robust_node: (robust > 0).then(|| file.bytes() as f64 / robust as f64),
        }
    }
}

impl fmt::Display for Written {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        writeln!(f, "{} proofs, {} bytes: {}", self.proofs, self.bytes, self.file.display())?;
        for (reason, count) in &self.without_proof {
            writeln!(f, "{count} nodes without proof: {reason}")?;
        }
        Ok(())
    }
}
