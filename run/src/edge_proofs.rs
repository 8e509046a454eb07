//! The file of proofs of a run about removed edges: shared by all threads, resumed, and counted at the end.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

use gcnproof::edges::{EdgeCertifier, EdgeResult};
use gcnproof::proof::{ProofError, ProofFile, model_file};
use gcnproof::{Network, Verdict};
use gcnproof_check::edges::format::Header;
use gcnproof_check::edges::{Checker, Statement};
use gcnproof_files::{GraphFile, ModelFile};
use gcnproof_results::record::edges::EdgeRecord;
use miette::{Result, miette};

use super::host::Host;
use super::proofs::Written;
use super::run::Run;

/// A file of proofs, shared by all threads.
pub struct EdgeProofs {
    path: PathBuf,
    header: Header,
    host: Arc<dyn Host>,
    model: ModelFile,
    state: Mutex<(ProofFile<Header>, Result<(), ProofError>)>,
}

impl EdgeProofs {
    /// Opens the file; nothing in it is changed yet.
    ///
    /// # Errors
    /// If it cannot be used, or must not be overwritten.
    pub fn open(path: &Path, header: Header, network: &Network, run: &Run) -> Result<EdgeProofs> {
        Ok(EdgeProofs {
            path: path.to_owned(),
            model: model_file(network, &header.model),
            state: Mutex::new((ProofFile::open(path, &header, run.mode())?, Ok(()))),
            header,
            host: run.host.clone(),
        })
    }

    /// What the proofs state, as the checker reads it.
    ///
    /// # Errors
    /// If it does not understand our own header.
    pub fn statement<'a>(&'a self, graph: &'a GraphFile) -> Result<Statement<'a>> {
        Statement::new(graph, &self.model, &self.header)
            .map_err(|reason| miette!(help = "this is a bug of gcnproof: please report it", "--proofs: {reason}"))
    }

    fn state(&self) -> MutexGuard<'_, (ProofFile<Header>, Result<(), ProofError>)> {
        self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Has this node a line already?
    pub fn has(&self, node: u64) -> bool {
        u32::try_from(node).is_ok_and(|node| self.state().0.done().contains(&node))
    }

    /// Writes the line of a node. A disk that is full does not get better: the run stops, and [`EdgeProofs::finish`] says so.
    pub fn push(&self, certifier: &EdgeCertifier, result: &EdgeResult, checker: &Checker) {
        let line = certifier.proof_line(result, checker);
        let (file, outcome) = &mut *self.state();
        if outcome.is_ok() {
            *outcome = file.push(&line);
            if outcome.is_err() {
                self.host.stop();
            }
        }
    }

    /// Writes what is left, and counts.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn finish(self, complete: bool, rows: &[EdgeRecord]) -> Result<Written> {
        let (mut file, outcome) = self.state.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
        outcome?;
        file.finish(complete)?;
        let robust = rows.iter().filter(|row| row.verdict == Verdict::Robust).count();
        Ok(Written::new(self.path, &file, robust))
    }
}
