//! The statement that all proofs of a run share, and the line of one node.

use gcnproof_check::format::{
    BudgetStatement, Claim, Convention, Direction as FlipDirection, Header, LONGEST_REASON, Line, Local, NodeProof,
    Unproved, VERSION,
};
use gcnproof_check::{Checker, matrix_digest};
use gcnproof_files::{LayerFile, ModelFile, Precision};

use super::mend::mend;
use crate::budget::{Budget, Direction};
use crate::model::{Gcn, MessagePassing};
use crate::verdict::NodeResult;

/// The header of a file of proofs. `rules` is one for all layers, or one per layer.
pub fn header(
    (graph, model): (&str, &str),
    (gcn, rules): (&Gcn, &[MessagePassing]),
    budget: &Budget,
    classes: Convention,
) -> Header {
    let name = |rule: &MessagePassing| match rule {
        MessagePassing::Matrix(matrix) => format!("matrix:{}", matrix_digest(matrix)),
        rule => rule.name().to_string(),
    };
    let mut message_passing: Vec<String> = rules.iter().map(name).collect();
    if let [one] = message_passing.as_slice() {
        message_passing = vec![one.clone(); gcn.layers().len()];
    }
    let locals = budget.locals();
    let uniform = locals.windows(2).all(|pair| pair[0] == pair[1]);
    let local = match locals.first() {
        Some(&q) if uniform => Local::Uniform(u64::from(q)),
        _ => Local::PerNode(locals.iter().map(|&q| u64::from(q)).collect()),
    };
    let direction = match budget.direction() {
        Direction::Both => FlipDirection::Both,
        Direction::Add => FlipDirection::Add,
        Direction::Remove => FlipDirection::Remove,
    };
    let frozen = budget.frozen_attributes().iter().enumerate().filter(|(_, frozen)| **frozen);
    Header {
        version: VERSION,
        graph: graph.to_string(),
        model: model.to_string(),
        message_passing,
        budget: BudgetStatement {
            global: budget.global() as u64,
            local,
            direction,
            frozen_attributes: frozen.map(|(d, _)| d as u32).collect(),
        },
        classes,
    }
}

/// The network as the checker reads it from the model's file.
pub fn model_file(gcn: &Gcn, digest: &str) -> ModelFile {
    let layer = |layer: &crate::model::Layer| LayerFile {
        weight: layer.weight.clone(),
        bias: layer.bias.clone(),
        weight_name: String::new(),
        bias_name: None,
    };
    ModelFile {
        layers: gcn.layers().iter().map(layer).collect(),
        digest: digest.to_string(),
        precision: Precision::F64,
        metadata: Default::default(),
        notes: Vec::new(),
    }
}

/// The line of a node. Every proof is shown to the checker first: what it would reject is mended, or not written, and then the line
/// says that there is no proof, and why.
pub fn line(result: &NodeResult, checker: &Checker) -> Line {
    let (id, class) = (result.node as u32, result.reference as u32);
    let unproved = |reason: &str| Line::Unproved(Unproved { id, reason: short(reason) });
    let Some(evidence) = &result.evidence else { return unproved("proofs were not asked for") };
    let claim = match &evidence.claim {
        Ok(claim) => claim.clone(),
        Err(reason) => return unproved(&format!("{reason} ({})", result.reason.name())),
    };
    let proof = NodeProof { id, class, claim };
    let fault = match checker.check(&proof) {
        Ok(_) => return Line::Node(proof),
        Err(fault) => fault,
    };
    match proof.claim {
        Claim::Robust(trees) => match mend(checker, id, class, trees) {
            Ok(trees) => Line::Node(NodeProof { id, class, claim: Claim::Robust(trees) }),
            Err(reason) => unproved(&format!("robust by a bound that no leaf of the format shows: {reason}")),
        },
        Claim::NonRobust(_) => unproved(&format!("the checker does not accept the witness: {}", fault.reason)),
    }
}

fn short(reason: &str) -> String {
    let mut end = reason.len().min(LONGEST_REASON);
    while !reason.is_char_boundary(end) {
        end -= 1;
    }
    reason[..end].to_string()
}
