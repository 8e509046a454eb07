//! The file of proofs of a run: shared by all threads, resumed, and counted at the end.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

use gcnproof::proof::{FileHeader, Missing, ProofError, ProofFile, model_file};
use gcnproof::{Network, NodeResult, Verdict};
use gcnproof_check::format::{Header, Line};
use gcnproof_check::{Checker, Statement};
use gcnproof_files::{GraphFile, ModelFile, SparseMatrix};
use gcnproof_results::record::NodeRecord;
use miette::{Result, miette};
use serde::Serialize;

use super::host::Host;
use super::run::Run;

/// A file of proofs, shared by all threads.
pub struct Proofs {
    path: PathBuf,
    header: Header,
    host: Arc<dyn Host>,
    model: ModelFile,
    matrices: Vec<Arc<SparseMatrix>>,
    state: Mutex<(ProofFile, Result<(), ProofError>)>,
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

impl Proofs {
    /// Opens the file; nothing in it is changed yet.
    pub fn open(path: &Path, header: Header, network: &Network, run: &Run) -> Result<Proofs> {
        Ok(Proofs {
            path: path.to_owned(),
            model: model_file(network, &header.model),
            matrices: network.own_matrices(),
            state: Mutex::new((ProofFile::open(path, &header, run.mode())?, Ok(()))),
            header,
            host: run.host.clone(),
        })
    }

    /// What the proofs state, as the checker reads it.
    pub fn statement<'a>(&'a self, graph: &'a GraphFile) -> Result<Statement<'a>> {
        Statement::new(graph, &self.model, &self.header, &self.matrices)
            .map_err(|reason| miette!(help = "this is a bug of gcnproof: please report it", "--proofs: {reason}"))
    }

    /// Has this node a line already?
    pub fn has(&self, node: u64) -> bool {
        u32::try_from(node).is_ok_and(|node| self.state().0.done().contains(&node))
    }

    /// Writes the line of a node. A disk that is full does not get better: the run stops, and [`Proofs::finish`] says so.
    pub fn push(&self, result: &NodeResult, checker: &Checker) {
        self.add(&result.proof_line(checker));
    }

    /// Writes a line as it is.
    pub fn add(&self, line: &Line) {
        let (file, outcome) = &mut *self.state();
        if outcome.is_ok() {
            *outcome = file.push(line);
            if outcome.is_err() {
                self.host.stop();
            }
        }
    }

    /// Writes what is left, and counts.
    pub fn finish(self, complete: bool, rows: &[NodeRecord]) -> Result<Written> {
        let (mut file, outcome) = self.state.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
        outcome?;
        file.finish(complete)?;
        let robust = rows.iter().filter(|row| row.verdict == Verdict::Robust).count();
        Ok(Written::new(self.path, &file, robust))
    }

    fn state(&self) -> MutexGuard<'_, (ProofFile, Result<(), ProofError>)> {
        self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
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
