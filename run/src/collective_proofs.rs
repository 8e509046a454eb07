//! The proofs of `gcnproof collective`: one file for each budget.

use std::path::{Path, PathBuf};

use gcnproof::collective::{Collective, Outcome, ProofSubject, Proved};
use gcnproof::proof::{header, model_file, write_collective};
use gcnproof::{Certifier, Graph, Network, Operator};
use gcnproof_check::format::Convention;
use gcnproof_files::GraphFile;
use miette::{IntoDiagnostic, Result, WrapErr};

use super::proofs::not_understood;

/// Where proofs go, and what they are about.
pub struct CollectiveFiles<'a> {
    pub folder: Folder,
    pub graph: &'a Graph,
    pub network: &'a Network,
    pub file: GraphFile,
    /// Digest of the model.
    pub model: String,
    pub rules: Vec<Operator>,
    pub classes: Convention,
    pub attacked_nodes: Option<usize>,
    /// The nodes that count before labels take some away, if not all.
    pub nodes: Option<Vec<usize>>,
}

/// A folder of proofs, one file for each budget.
#[derive(Clone, Debug, PartialEq)]
pub struct Folder {
    /// Where the files of all budgets are.
    pub path: PathBuf,
    compressed: bool,
}

impl Folder {
    /// A folder by its name, or by that of its files, `Q-N.jsonl` or `Q-N.jsonl.zst`.
    pub fn new(named: &Path) -> Folder {
        let parent = named.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        match named.file_name().and_then(|name| name.to_str()) {
            Some("Q-N.jsonl") => Folder { path: parent.to_owned(), compressed: false },
            Some("Q-N.jsonl.zst") => Folder { path: parent.to_owned(), compressed: true },
            _ => Folder { path: named.to_owned(), compressed: false },
        }
    }

    /// The file of a budget.
    pub fn file_of(&self, global: usize) -> PathBuf {
        let end = if self.compressed { ".zst" } else { "" };
        self.path.join(format!("Q-{global}.jsonl{end}"))
    }
}

impl CollectiveFiles<'_> {
    /// Finds a bound that can be proved and an attack, and writes the proof, which the checker has accepted. Nothing if
    /// the run is stopped.
    pub fn prove(&self, work: &Collective, certifier: &Certifier, global: usize) -> Result<Option<Outcome>> {
        let at_global = certifier.at_global(global);
        let digests = (self.graph.digest(), self.model.as_str());
        let subject = ProofSubject {
            graph: &self.file,
            model: &model_file(self.network, &self.model),
            header: header(digests, (self.network, &self.rules), at_global.budget(), self.classes),
            attacked_nodes: self.attacked_nodes,
            nodes: self.nodes.as_deref(),
        };
        let proved = work.prove(certifier, global, subject).map_err(not_understood)?;
        let Some(Proved { outcome, proof }) = proved else { return Ok(None) };
        // Without a proof the row says why, and the run ends there.
        if let Some(proof) = proof {
            let path = self.folder.file_of(global);
            write_collective(&path, proof)
                .into_diagnostic()
                .wrap_err_with(|| format!("{}: the proof cannot be written", path.display()))?;
        }
        Ok(Some(outcome))
    }
}
