//! Proofs against flips and changed edges at once as lines of a file (`check/FORMAT-EDGES.md` §9). Every one is shown
//! to the checker first.

use gcnproof_check::edges::format::{Attack, Claim, Header, JOINT_VERSION, Line, NodeProof};
use gcnproof_check::format::{Convention, Unproved};
use gcnproof_check::joint::Checker;
use gcnproof_check::{Accepted, Reason};

use crate::certify::verdict::Verdict;
use crate::edges::joint::budget::JointBudget;
use crate::edges::joint::certifier::JointCertifier;
use crate::edges::joint::verdict::JointResult;
use crate::edges::proof::{edge_header, stated_changes};
use crate::problem::network::{Network, Operator};
use crate::proof::{Missing, header, mended, short};

/// The statement that all proofs of a file share, for a graph and a model by their digests. `rules` is one for all
/// layers, or one per layer, where the model does not say.
pub fn joint_header(
    digests: (&str, &str),
    of: (&Network, &[Operator]),
    budget: &JointBudget,
    classes: Convention,
) -> Header {
    let mut stated = edge_header(digests, of, &budget.edges, classes);
    stated.edges.changes = Some(stated_changes(&budget.edges));
    let flips = Some(header(digests, of, &budget.flips, classes).budget);
    Header { version: JOINT_VERSION, attack: Attack::FlipsAndEdgeChanges, flips, ..stated }
}

impl JointCertifier {
    /// The line of a node that this certifier has decided with [`proofs`](JointCertifier::proofs). The checker sees the
    /// proof first: trees over flips that it would reject get more splits, and what it still rejects is not written;
    /// then the line says that there is no proof, and why.
    pub fn proof_line(&self, result: &JointResult, checker: &Checker) -> Accepted<Line> {
        let (id, class) = (result.node as u32, result.reference as u32);
        let unproved =
            |why: Missing, details: &str| Accepted::from(Unproved { id, reason: short(&format!("{why}{details}")) });
        let Some(claim) = result.evidence.clone() else {
            let why = match result.verdict {
                Verdict::Undecided => Missing::Undecided,
                // A limit was hit before all trees were there.
                _ if self.keeps_proofs() => Missing::SearchNotOver,
                _ => Missing::NotAskedFor,
            };
            return unproved(why, &format!(" ({})", result.reason.name()));
        };
        let refused = match checker.accept(NodeProof { id, class, claim }) {
            Ok(line) => return line,
            Err(refused) => *refused,
        };
        let why = match (&refused.proof.claim, &refused.fault.reason) {
            (Claim::NonRobust(_), _) => Missing::Witness,
            (Claim::Robust(_), Reason::Bound(_)) => {
                let accepted = checker
                    .mended(refused.proof, mended)
                    .and_then(|proof| checker.accept(proof).map_err(|refused| refused.fault.reason));
                return accepted.unwrap_or_else(|reason| unproved(Missing::NoLeaf, &format!(": {reason}")));
            }
            (Claim::Robust(_), _) => Missing::NoLeaf,
        };
        unproved(why, &format!(": {}", refused.fault.reason))
    }
}
