//! The proofs of `gcnproof collective`: one file for each budget.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use gcnproof::internals::bound::workspace::Workspace;
use gcnproof::internals::collective::curve::{Collective, Outcome};
use gcnproof::internals::collective::evidence::{Header, lines, stated_bound};
use gcnproof::proof::{header, model_file};
use gcnproof::{Certifier, Flip, Graph, Network, Operator};
use gcnproof_check::format::{Claim, Convention, Line, NodeProof};
use gcnproof_check::{Checker, Statement};
use gcnproof_files::GraphFile;
use miette::{IntoDiagnostic, Result, WrapErr, miette};
use rayon::prelude::*;

use super::run::stopped;

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
    /// Finds a bound that can be proved and an attack, and writes the proof. Nothing if the run is stopped.
    pub fn prove(
        &self,
        work: &Collective,
        certifier: &Certifier,
        global: usize,
        before: &[Flip],
    ) -> Result<Option<Outcome>> {
        let at_global = certifier.at_global(global).with_proofs();
        let digests = (self.graph.digest(), self.model.as_str());
        let statement = header(digests, (self.network, &self.rules), at_global.budget(), self.classes);
        let model = model_file(self.network, &self.model);
        let matrices = self.network.own_matrices();
        let checked = Statement::new(&self.file, &model, &statement, &matrices)
            .map_err(|reason| miette!(help = "this is a bug of gcnproof: please report it", "--proofs: {reason}"))?;
        let checker = Checker::new(&checked, false);
        let safe = work.safe(global);
        let targets: Vec<usize> = safe.iter().map(|(node, _)| *node).collect();
        let at_targets = at_global.for_targets(&targets);
        let prove = |workspace: &mut Workspace, &(node, class): &(usize, usize)| -> Option<NodeProof> {
            if stopped() {
                return None;
            }
            let result = at_targets.certify_class(node, class, class, workspace);
            match result.proof_line(&checker) {
                Line::Node(proof) if matches!(proof.claim, Claim::Robust(_)) => Some(proof),
                _ => None,
            }
        };
        let mut proved: Vec<NodeProof> = safe.par_iter().map_init(Workspace::default, prove).flatten().collect();
        proved.sort_by_key(|proof| proof.id);
        let nodes: BTreeSet<usize> = proved.iter().map(|proof| proof.id as usize).collect();
        let Some(mut outcome) = work.provable(global, before, &nodes) else { return Ok(None) };
        // The row says so, and the run ends there.
        if outcome.contradiction.is_some() {
            return Ok(Some(outcome));
        }
        outcome.bound = stated_bound(&outcome);
        let header = Header::new(statement, self.attacked_nodes, self.nodes.as_deref());
        let mut text = Vec::new();
        for line in lines(header, proved, &outcome, |node| certifier.predicted(node)) {
            serde_json::to_writer(&mut text, &line).into_diagnostic()?;
            text.push(b'\n');
        }
        let path = file_of(&self.folder, global);
        std::fs::write(&path, text)
            .into_diagnostic()
            .wrap_err_with(|| format!("{}: the proof cannot be written", path.display()))?;
        Ok(Some(outcome))
    }
}
