//! Proofs against removed edges as lines of a file (`check/FORMAT-EDGES.md`). Every one is shown to the checker first.

use gcnproof_check::edges::Checker;
use gcnproof_check::edges::format::{
    Attack, CHANGES_VERSION, Candidates as Stated, ChangeKind, Changes, Claim, ClassProof, Header, Line, NodeProof,
    Removals, VERSION, Witness,
};
use gcnproof_check::format::{Convention, Unproved};
use gcnproof_check::{Accepted, Reason, Refused};

use crate::certify::verdict::Verdict;
use crate::edges::budget::{Candidates, EdgeBudget, EdgeKind};
use crate::edges::certifier::EdgeCertifier;
use crate::edges::element::element;
use crate::edges::mend::Mend;
use crate::edges::problem::is_changes;
use crate::edges::search::Step;
use crate::edges::verdict::{EdgeClaim, EdgeResult};
use crate::problem::network::{Network, Operator};
use crate::problem::pace::Pace;
use crate::proof::{Missing, local, passing, short};

/// The statement that all proofs of a file share, for a graph and a model by their digests. `rules` is one for all
/// layers, or one per layer, where the model does not say.
pub fn edge_header(
    (graph, model): (&str, &str),
    (network, rules): (&Network, &[Operator]),
    budget: &EdgeBudget,
    classes: Convention,
) -> Header {
    let changes = is_changes(network, budget).then(|| stated_changes(budget));
    let (version, attack) = match changes {
        Some(_) => (CHANGES_VERSION, Attack::EdgeChanges),
        None => (VERSION, Attack::EdgeRemovals),
    };
    Header {
        version,
        attack,
        graph: graph.to_string(),
        model: model.to_string(),
        message_passing: passing(network, rules),
        edges: Removals {
            global: budget.global() as u64,
            local: local(budget.locals()),
            keep_one: budget.keeps_one(),
            frozen: budget.frozen().iter().map(|edge| (edge.0, edge.1)).collect(),
            changes,
        },
        flips: None,
        classes,
    }
}

/// What is done to edges, as a header says it.
pub(super) fn stated_changes(budget: &EdgeBudget) -> Changes {
    Changes {
        kind: match budget.changes() {
            EdgeKind::Remove => ChangeKind::Remove,
            EdgeKind::Insert => ChangeKind::Insert,
            EdgeKind::Change => ChangeKind::Change,
        },
        directed: budget.is_directed(),
        candidates: match budget.candidates() {
            _ if !budget.changes().inserts() => None,
            Candidates::All => None,
            Candidates::Within(hops) => Some(Stated::Within(*hops as u64)),
            Candidates::Listed(edges) => Some(Stated::Listed(edges.iter().map(|edge| (edge.0, edge.1)).collect())),
        },
    }
}

fn stated(claim: &EdgeClaim) -> Claim {
    match claim {
        EdgeClaim::Robust(trees) => {
            let tree = |(class, tree): &(usize, Vec<Step>)| ClassProof {
                class: *class as u32,
                tree: tree.iter().map(element).collect(),
            };
            Claim::Robust(trees.iter().map(tree).collect())
        }
        EdgeClaim::NonRobust(class, edges) => Claim::NonRobust(Witness {
            class: *class as u32,
            edges: edges.iter().map(|edge| (edge.0, edge.1)).collect(),
            flips: Vec::new(),
        }),
    }
}

impl EdgeCertifier {
    /// The line of a node that this certifier has decided with [`proofs`](EdgeCertifier::proofs). The checker sees the
    /// proof first: what it would reject gets more splits, or is not written, and then the line says that there is no
    /// proof, and why.
    pub fn proof_line(&self, result: &EdgeResult, checker: &Checker) -> Accepted<Line> {
        let (id, class) = (result.node as u32, result.reference as u32);
        let unproved =
            |why: Missing, details: &str| Accepted::from(Unproved { id, reason: short(&format!("{why}{details}")) });
        let Some(claim) = &result.evidence else {
            let why = match result.verdict {
                Verdict::Undecided => Missing::Undecided,
                // A limit was hit before the tree was there.
                _ if self.proofs => Missing::SearchNotOver,
                _ => Missing::NotAskedFor,
            };
            return unproved(why, &format!(" ({})", result.reason.name()));
        };
        let mut proof = NodeProof { id, class, claim: stated(claim) };
        let mut mend = Mend::new(self.problem(), result, Pace::new(self.clock()));
        loop {
            let Refused { proof: refused, fault } = match checker.accept(proof) {
                Ok(line) => return line,
                Err(refused) => *refused,
            };
            proof = refused;
            let Claim::Robust(trees) = &mut proof.claim else {
                return unproved(Missing::Witness, &format!(": {}", fault.reason));
            };
            let refused = unproved(Missing::NoLeaf, &format!(": {}", fault.reason));
            let place = trees.iter_mut().find(|tree| Some(tree.class) == fault.class).zip(fault.step);
            let (Reason::Bound(_), Some((tree, step))) = (&fault.reason, place) else { return refused };
            // A bound that floats have shown with room to spare needs no splits.
            if self.problem().stack().is_some() || !mend.split(tree, step) {
                return refused;
            }
        }
    }
}
