//! The lines of a proof about one attack for the whole graph (`check/FORMAT-COLLECTIVE.md`).

use gcnproof_check::format::{BudgetStatement, Convention, Header as Statement, NodeProof};
use serde::Serialize;

use crate::collective::curve::{Outcome, Share};
use crate::collective::families::Kind;
use crate::collective::row::ONE;

/// The version that is written.
const VERSION: u32 = 1;

/// A line.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Line {
    /// First line: what is claimed about what.
    Collective(Header),
    /// A node that no admissible perturbation breaks.
    Node(NodeProof),
    /// The multipliers of a node.
    Share(ShareLine),
    /// Last line: the claim.
    Claim(ClaimLine),
}

/// What is claimed about what.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Header {
    version: u32,
    graph: String,
    model: String,
    message_passing: Vec<String>,
    budget: BudgetStatement,
    #[serde(skip_serializing_if = "Option::is_none")]
    attacked_nodes: Option<u64>,
    classes: Convention,
    #[serde(skip_serializing_if = "Option::is_none")]
    nodes: Option<Vec<u32>>,
}

/// The multipliers of a node's rows, in multiples of `1/ONE`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ShareLine {
    id: u32,
    class: u32,
    #[serde(skip_serializing_if = "is_zero")]
    weight: u32,
    #[serde(skip_serializing_if = "is_zero")]
    size: u32,
}

/// How many predictions can be broken, and prices that show it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClaimLine {
    lines: u64,
    bound: u64,
    price: u64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    prices: Vec<(u32, u64)>,
}

fn is_zero(x: &u32) -> bool {
    *x == 0
}

impl Header {
    /// From the statement of ordinary proofs under the same budget; `nodes` are those that count before labels take some away, if not all.
    pub fn new(statement: Statement, attacked_nodes: Option<usize>, nodes: Option<&[usize]>) -> Header {
        let Statement { graph, model, message_passing, budget, classes, .. } = statement;
        Header {
            version: VERSION,
            graph,
            model,
            message_passing,
            budget,
            attacked_nodes: attacked_nodes.map(|count| count as u64),
            classes,
            nodes: nodes.map(|nodes| nodes.iter().map(|&node| node as u32).collect()),
        }
    }
}

/// What a checker's own rounding may add to a bound.
const SLACK: f64 = 1e-4;

/// The bound that a proof states: one whose sum is clearly below the next whole number, since a checker rounds in its own way.
pub fn stated_bound(outcome: &Outcome) -> usize {
    let clear = outcome.fractional + SLACK + outcome.fractional * SLACK * 0.01;
    (clear.floor() as usize).clamp(outcome.bound, outcome.counted.max(outcome.bound))
}

/// All lines of a proof: `class_of` tells the class that a node keeps.
pub fn lines(header: Header, safe: Vec<NodeProof>, outcome: &Outcome, class_of: impl Fn(usize) -> usize) -> Vec<Line> {
    let mut lines = vec![Line::Collective(header)];
    lines.extend(safe.into_iter().map(Line::Node));
    for Share { node, rows } in &outcome.shares {
        let of = |kind: Kind| rows.iter().filter(|row| row.0 == kind).map(|row| row.1.min(ONE)).sum();
        let (weight, size) = (of(Kind::Weight), of(Kind::Size));
        if weight > 0 || size > 0 {
            lines.push(Line::Share(ShareLine { id: *node as u32, class: class_of(*node) as u32, weight, size }));
        }
    }
    let (price, prices) = outcome.prices.clone();
    let (count, bound) = (lines.len() as u64 - 1, stated_bound(outcome) as u64);
    lines.push(Line::Claim(ClaimLine { lines: count, bound, price, prices }));
    lines
}
