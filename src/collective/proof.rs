//! Proofs about one attack for the whole graph, in the lines of `check/FORMAT-COLLECTIVE.md`. A proof claims what the
//! checker has found its lines to show.

use std::collections::BTreeSet;

use gcnproof_check::collective::format::{Claim, Cover, Header, Proof, Share as ShareLine, VERSION};
use gcnproof_check::collective::{Statement, accept};
use gcnproof_check::format::{Claim as NodeClaim, Header as NodeHeader, Line as NodeLine, NodeProof};
use gcnproof_check::{Accepted, Checker, Reason, Statement as NodeStatement};
use gcnproof_files::{GraphFile, ModelFile};
use rayon::prelude::*;

use crate::bound::workspace::Workspace;
use crate::certify::certifier::Certifier;
use crate::collective::curve::{Collective, CoverShare, Outcome, Share};
use crate::collective::families::RowKind;
use crate::collective::row::ONE;

/// The files that a proof is about, and which predictions count.
pub struct ProofSubject<'a> {
    /// The graph as its file has it: the checker reads nothing else of it.
    pub graph: &'a GraphFile,
    /// The model as its file has it.
    pub model: &'a ModelFile,
    /// The header of proofs about single nodes under the same budget.
    pub header: NodeHeader,
    /// Nodes whose attributes one attacker may change, at most.
    pub attacked_nodes: Option<usize>,
    /// The nodes that count before labels take some away, if not all.
    pub nodes: Option<&'a [usize]>,
}

/// A bound that the checker has accepted.
#[derive(Debug)]
pub struct Proved {
    /// The bound that the lines show, and an attack.
    pub outcome: Outcome,
    /// The lines of the file; none where two steps contradict each other.
    pub proof: Option<Accepted<Proof>>,
}

/// How far above the certifier's sum the checker's may lie, relatively and absolutely, before it computes exactly what
/// it had rounded. Only time depends on it.
const SLACK: [f64; 2] = [1e-6, 1e-4];

/// The same of whole numbers, where components are rounded by themselves.
const APART: usize = 2;

impl Collective<'_> {
    /// A bound that can be proved and an attack for `global` flips: the claim is what the checker says that the lines
    /// show. `None` if the work was stopped.
    ///
    /// # Errors
    /// If the checker refuses the header, or cannot judge the claim.
    pub fn prove(&self, certifier: &Certifier, global: usize, subject: ProofSubject) -> Result<Option<Proved>, Reason> {
        let ProofSubject { graph, model, header, attacked_nodes, nodes } = subject;
        let matrices = certifier.network().own_matrices();
        let header = Header {
            version: VERSION,
            graph: header.graph,
            model: header.model,
            message_passing: header.message_passing,
            budget: header.budget,
            attacked_nodes: attacked_nodes.map(|count| count as u64),
            classes: header.classes,
            nodes: nodes.map(|nodes| nodes.iter().map(|&node| node as u32).collect()),
        };
        let statement = Statement::new(graph, model, &header, &matrices)?;
        let safe = self.prove_safe(certifier, global, statement.of_single_nodes());
        let proved: BTreeSet<usize> = safe.iter().filter_map(|line| Some(robust(line)?.id as usize)).collect();
        let Some(mut outcome) = self.provable(global, &proved) else { return Ok(None) };
        if outcome.contradiction.is_some() {
            return Ok(Some(Proved { outcome, proof: None }));
        }
        let shares = share_lines(&outcome, |node| certifier.predicted(node));
        let expected = match outcome.in_components {
            // Each component may be rounded otherwise.
            true => outcome.bound + APART,
            false => ((outcome.fractional * (1.0 + SLACK[0]) + SLACK[1]).floor() as usize).max(outcome.bound),
        };
        let ((price, prices), components) = (outcome.prices.clone(), outcome.in_components);
        let claim = Claim { lines: 0, bound: expected as u64, price, prices, components };
        let proof = accept(&statement, header, safe, shares, claim)?;
        outcome.state_bound(usize::try_from(proof.claim.bound).unwrap_or(usize::MAX));
        let proof = Some(proof).filter(|_| outcome.contradiction.is_none());
        Ok(Some(Proved { outcome, proof }))
    }

    /// Accepted proofs of nodes that no `global` flips break.
    fn prove_safe(&self, certifier: &Certifier, global: usize, statement: &NodeStatement) -> Vec<Accepted<NodeLine>> {
        let checker = Checker::new(statement, false);
        let safe = self.safe(global);
        let targets: Vec<usize> = safe.iter().map(|(node, _)| *node).collect();
        let certifier = certifier.at_global(global).with_proofs().for_targets(&targets);
        let prove = |workspace: &mut Workspace, &(node, class): &(usize, usize)| -> Option<Accepted<NodeLine>> {
            if self.is_stopped() {
                return None;
            }
            let result = certifier.certify_class(node, class, class, workspace);
            Some(result.proof_line(&checker)).filter(|line| robust(line).is_some())
        };
        safe.par_iter().map_init(Workspace::default, prove).flatten().collect()
    }
}

/// The proof that a node is robust, if a line is one.
fn robust(line: &NodeLine) -> Option<&NodeProof> {
    match line {
        NodeLine::Node(proof @ NodeProof { claim: NodeClaim::Robust(_), .. }) => Some(proof),
        _ => None,
    }
}

/// The multipliers of nodes that may be broken.
fn share_lines(outcome: &Outcome, class_of: impl Fn(usize) -> usize) -> Vec<ShareLine> {
    let line = |Share { node, rows, covers }: &Share| {
        let of = |kind: RowKind| rows.iter().filter(|row| row.0 == kind).map(|row| row.1.min(ONE)).sum();
        let (weight, size) = (of(RowKind::Weight), of(RowKind::Size));
        let (id, class) = (*node as u32, class_of(*node) as u32);
        let cover = |CoverShare { multiplier, made }: &CoverShare| Cover {
            weight: *multiplier,
            made: made.iter().map(|flip| (flip.node, flip.attribute)).collect(),
        };
        let covers: Vec<Cover> = covers.iter().map(cover).collect();
        let useful = weight > 0 || size > 0 || !covers.is_empty();
        useful.then_some(ShareLine { id, class, weight, size, leaves: Vec::new(), covers })
    };
    outcome.shares.iter().filter_map(line).collect()
}
