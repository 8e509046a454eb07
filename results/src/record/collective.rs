//! Rows of `collective`: one per budget.

use gcnproof::internals::certify::contradiction::Contradiction;
use gcnproof::internals::collective::curve::Outcome;
use gcnproof::internals::problem::flip::Flip;
use serde::{Deserialize, Serialize};

use crate::{Column, Kind};

/// What `collective` says of a budget.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CollectiveRecord {
    /// Flips in all.
    pub q_global: u64,
    /// Predictions that count.
    pub counted: u64,
    /// Of these, no perturbation breaks more.
    pub bound: u64,
    /// The bound before it was rounded down.
    pub fractional_bound: f64,
    /// Predictions that no perturbation within the budget breaks, each by itself.
    pub robust: u64,
    /// Predictions that the perturbation below breaks.
    pub broken: u64,
    /// Were all perturbations listed?
    pub listed: bool,
    /// The perturbation.
    pub flips: Vec<Flip>,
    /// The nodes that it breaks.
    pub broken_nodes: Vec<u64>,
    /// Seconds until the bound was found.
    pub bound_seconds: f64,
    /// Seconds until the perturbation was found.
    pub attack_seconds: f64,
    /// Two steps that contradict each other, if some did: such a row is not written.
    #[serde(skip)]
    pub contradiction: Option<Contradiction>,
}

impl CollectiveRecord {
    /// The columns of a file of such rows.
    pub const SCHEMA: &'static [Column] = &[
        Column { name: "q_global", kind: Kind::Integer },
        Column { name: "counted", kind: Kind::Integer },
        Column { name: "bound", kind: Kind::Integer },
        Column { name: "fractional_bound", kind: Kind::Float },
        Column { name: "robust", kind: Kind::Integer },
        Column { name: "broken", kind: Kind::Integer },
        Column { name: "listed", kind: Kind::Boolean },
        Column { name: "flips", kind: Kind::Flips },
        Column { name: "broken_nodes", kind: Kind::Integers },
        Column { name: "bound_seconds", kind: Kind::Float },
        Column { name: "attack_seconds", kind: Kind::Float },
    ];

    /// The row of a budget.
    pub fn new(outcome: &Outcome) -> CollectiveRecord {
        CollectiveRecord {
            q_global: outcome.global as u64,
            counted: outcome.counted as u64,
            bound: outcome.bound as u64,
            fractional_bound: outcome.fractional,
            robust: outcome.safe as u64,
            broken: outcome.broken.len() as u64,
            listed: outcome.listed,
            flips: outcome.flips.clone(),
            broken_nodes: outcome.broken.iter().map(|&node| node as u64).collect(),
            bound_seconds: outcome.seconds.0,
            attack_seconds: outcome.seconds.1,
            contradiction: outcome.contradiction.clone(),
        }
    }
}
