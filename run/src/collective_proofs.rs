//! The proofs of `gcnproof collective`: one file for each budget.

use std::fs::File;
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

use gcnproof::collective::{Collective, Outcome, Proved, Subject};
use gcnproof::proof::{header, model_file};
use gcnproof::{Certifier, Flip, Graph, Network, Operator};
use gcnproof_check::collective::format::Line;
use gcnproof_check::format::Convention;
use gcnproof_files::GraphFile;
use miette::{IntoDiagnostic, Result, WrapErr, miette};

/// Where proofs go, and what they are about.
pub struct Proofs<'a> {
    pub folder: PathBuf,
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

/// The file of a budget.
pub fn file_of(folder: &Path, global: usize) -> PathBuf {
    folder.join(format!("Q-{global}.jsonl"))
}

impl Proofs<'_> {
    /// Finds a bound that can be proved and an attack, and writes the proof, which the checker has accepted. Nothing if the run is stopped.
    pub fn prove(
        &self,
        work: &Collective,
        certifier: &Certifier,
        global: usize,
        before: &[Flip],
    ) -> Result<Option<Outcome>> {
        let at_global = certifier.at_global(global);
        let digests = (self.graph.digest(), self.model.as_str());
        let subject = Subject {
            graph: &self.file,
            model: &model_file(self.network, &self.model),
            header: header(digests, (self.network, &self.rules), at_global.budget(), self.classes),
            attacked_nodes: self.attacked_nodes,
            nodes: self.nodes.as_deref(),
        };
        let proved = work
            .prove(certifier, global, before, subject)
            .map_err(|reason| miette!(help = "this is a bug of gcnproof: please report it", "--proofs: {reason}"))?;
        let Some(Proved { outcome, lines }) = proved else { return Ok(None) };
        // Without lines the row says why, and the run ends there.
        if !lines.is_empty() {
            let path = file_of(&self.folder, global);
            write(&path, &lines)
                .into_diagnostic()
                .wrap_err_with(|| format!("{}: the proof cannot be written", path.display()))?;
        }
        Ok(Some(outcome))
    }
}

/// Writes a whole file or none.
fn write(path: &Path, lines: &[Line]) -> io::Result<()> {
    let beside = path.with_extension("partial");
    let mut to = BufWriter::new(File::create(&beside)?);
    lines.iter().try_for_each(|line| line.write(&mut to))?;
    to.into_inner()?.sync_all()?;
    std::fs::rename(beside, path)
}
