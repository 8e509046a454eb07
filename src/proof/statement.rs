//! The statement that all proofs of a run share, and the line of one node.

use gcnproof_check::format::{
    BudgetStatement, Claim, Convention, Direction as FlipDirection, Header, LONGEST_REASON, Line, Local, NodeProof,
    RangeClaim, RangeLimits, RangeNodeProof, RangesStatement, Unproved, VERSION,
};
use gcnproof_check::ranges::Checker as RangeChecker;
use gcnproof_check::{Accepted, Checker, matrix_digest};
use gcnproof_files::{LayerFile, ModelFile, Precision};

use super::mend::mend;
use super::{Evidence, Missing};
use crate::problem::budget::{Budget, Direction};
use crate::problem::matrix::plain;
use crate::problem::network::{Layer, Network, Operator};
use crate::problem::ranges::Ranges;
use crate::ranges::proof::number;

/// What a rule of message passing is called: by its name, or by the content of its matrix.
pub fn rule_name(rule: &Operator) -> String {
    match rule {
        Operator::Matrix(matrix) => format!("matrix:{}", matrix_digest(&plain(matrix))),
        Operator::Polynomial(rule, coefficients) => {
            let coefficients: Vec<String> = coefficients.iter().map(f64::to_string).collect();
            format!("poly({};{})", rule_name(rule), coefficients.join(","))
        }
        rule => rule.name(),
    }
}

/// What the rules of a network's layers are called, those of the terms of a layer with ` & ` between.
pub fn rule_names(network: &Network) -> Vec<String> {
    let terms = |layer: &Layer| layer.operators.iter().map(rule_name).collect::<Vec<_>>().join(" & ");
    network.own_layers().map(terms).collect()
}

/// The rules of all layers by name; `rules` is one for all layers, or one per layer, where the model does not say.
pub(crate) fn passing(network: &Network, rules: &[Operator]) -> Vec<String> {
    if network.is_named() {
        return rule_names(network);
    }
    let names: Vec<String> = rules.iter().map(rule_name).collect();
    match names.as_slice() {
        [one] => vec![one.clone(); network.layers().len()],
        _ => names,
    }
}

/// Local budgets, as one number where they are all the same.
pub(crate) fn local(locals: &[u32]) -> Local {
    match locals.first() {
        Some(&q) if locals.iter().all(|&other| other == q) => Local::Uniform(u64::from(q)),
        _ => Local::PerNode(locals.iter().map(|&q| u64::from(q)).collect()),
    }
}

/// The header of a file of proofs. `rules` is one for all layers, or one per layer.
pub fn header(
    (graph, model): (&str, &str),
    (network, rules): (&Network, &[Operator]),
    budget: &Budget,
    classes: Convention,
) -> Header {
    let direction = match budget.stated_direction() {
        Direction::Both => FlipDirection::Both,
        Direction::Add => FlipDirection::Add,
        Direction::Remove => FlipDirection::Remove,
    };
    let frozen = budget.frozen_attributes().iter().enumerate().filter(|(_, frozen)| **frozen);
    Header {
        version: VERSION,
        graph: graph.to_string(),
        model: model.to_string(),
        message_passing: passing(network, rules),
        budget: BudgetStatement {
            global: budget.global() as u64,
            local: local(budget.locals()),
            direction,
            frozen_attributes: frozen.map(|(d, _)| d as u32).collect(),
        },
        classes,
        deployed: None,
        ranges: ranges(budget),
    }
}

/// The network as the checker reads it from the model's file.
pub fn model_file(network: &Network, digest: &str) -> ModelFile {
    let layer = |layer: &Layer| LayerFile {
        weight: layer.weight.plain(),
        bias: layer.bias.values().to_vec(),
        operators: if network.is_named() { layer.operators.iter().map(rule_name).collect() } else { Vec::new() },
        linear: layer.linear.clone(),
        weight_name: String::new(),
        bias_name: None,
    };
    ModelFile {
        layers: network.own_layers().map(layer).collect(),
        described: Some((**network.described()).clone()),
        matrices: Vec::new(),
        fixed_edges: network.has_fixed_edges(),
        digest: digest.to_string(),
        precision: Precision::F64,
        metadata: Default::default(),
        notes: Vec::new(),
    }
}

/// A verdict that is to be shown.
#[derive(Clone, Copy, Debug)]
pub struct Shown<'a> {
    /// The node.
    pub node: u32,
    /// The class that is to be kept.
    pub class: u32,
    /// What the verdict rests on, if it was kept.
    pub evidence: Option<&'a Evidence>,
    /// The name of the verdict's reason.
    pub reason: &'a str,
}

/// The line of a node. Every proof is shown to the checker first: what it would reject is mended, or not written, and
/// then the line says that there is no proof, and why.
pub fn line(verdict: &Shown, checker: &Checker) -> Accepted<Line> {
    let Shown { node: id, class, evidence, reason } = *verdict;
    let unproved =
        |why: Missing, details: &str| Accepted::from(Unproved { id, reason: short(&format!("{why}{details}")) });
    let Some(evidence) = evidence else { return unproved(Missing::NotAskedFor, "") };
    let claim = match &evidence.claim {
        Ok(claim) => claim.clone(),
        Err(missing) => return unproved(*missing, &format!(" ({reason})")),
    };
    let refused = match checker.accept(NodeProof { id, class, claim }) {
        Ok(line) => return line,
        Err(refused) => *refused,
    };
    let Claim::Robust(trees) = refused.proof.claim else {
        return unproved(Missing::Witness, &format!(": {}", refused.fault.reason));
    };
    // Each leaf of a mended tree is accepted; that the whole costs no more than a line may is seen only now.
    let mended = mend(checker, id, class, trees).and_then(|trees| {
        let claim = Claim::Robust(trees);
        checker.accept(NodeProof { id, class, claim }).map_err(|refused| refused.fault.reason)
    });
    mended.unwrap_or_else(|reason| unproved(evidence.missing.unwrap_or(Missing::NoLeaf), &format!(": {reason}")))
}

/// The same of a node whose attributes are moved within ranges.
pub(crate) fn ranged_line(
    id: u32,
    class: u32,
    claim: Result<&RangeClaim, Missing>,
    reason: &str,
    checker: &RangeChecker,
) -> Accepted<Line> {
    let unproved =
        |why: Missing, details: String| Accepted::from(Unproved { id, reason: short(&format!("{why}{details}")) });
    let claim = match claim {
        Ok(claim) => claim,
        Err(missing) => return unproved(missing, format!(" ({reason})")),
    };
    checker.accept(RangeNodeProof { id, class, claim: claim.clone() }).unwrap_or_else(|refused| {
        let missing = match refused.proof.claim {
            RangeClaim::Robust(_) => Missing::NoLeaf,
            RangeClaim::NonRobust(_) => Missing::Witness,
        };
        unproved(missing, format!(": {}", refused.fault.reason))
    })
}

/// The ranges of a budget, as a header states them.
fn ranges(budget: &Budget) -> Option<RangesStatement> {
    let all = |numbers: &[f64]| numbers.iter().map(|&x| number(x)).collect();
    budget.ranges().map(|ranges| match ranges {
        Ranges::Ball(radius) => RangesStatement::Epsilon(number(*radius)),
        Ranges::Between { low, high } => RangesStatement::Between(RangeLimits { low: all(low), high: all(high) }),
    })
}

/// A reason no longer than the format allows.
pub(crate) fn short(reason: &str) -> String {
    let mut end = reason.len().min(LONGEST_REASON);
    while !reason.is_char_boundary(end) {
        end -= 1;
    }
    reason[..end].to_string()
}
