//! What descriptions of runs are made of: graph and model, budgets, effort, and the class that is certified.

use gcnproof::Ranges;
use gcnproof::internals::certify::settings::{Effort, Margins};
use gcnproof::internals::problem::budget::{Budget, Direction};
use serde::{Deserialize, Serialize};

/// Which graph and model, by their content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// Digest of the graph.
    pub graph: String,
    /// Digest of the model, or its name where the program carries it.
    pub model: String,
    /// One rule for all layers or one per layer: its name, or the digest of its matrix.
    pub message_passing: Vec<String>,
    /// The part of the graph that was looked at, if not the whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<PartRecord>,
}

impl Identity {
    /// Are graphs classified, and not nodes?
    pub fn classifies_graphs(&self) -> bool {
        self.message_passing.iter().any(|rules| rules.split(" & ").any(|rule| rule.starts_with("pool-")))
    }
}

/// A part of a graph.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartRecord {
    /// Which one, from 0.
    pub number: usize,
    /// How many there are.
    pub of: usize,
    /// Digest of the part.
    pub graph: String,
}

/// What an attacker may do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BudgetRecord {
    /// `Q`, where the run is about one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub global: Option<u64>,
    /// `q`.
    pub local: LocalRecord,
    /// Which flips are possible.
    pub direction: Direction,
    /// Attributes that cannot be touched.
    pub frozen_attributes: Vec<usize>,
    /// The values that entries may get, where they are not flipped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ranges: Option<RangeRecord>,
}

/// The values that entries may get. Numbers are written so that reading them gives the same floats.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RangeRecord {
    /// Those at most so far from their own.
    Epsilon(String),
    /// Those between two numbers for each attribute.
    Between {
        /// By attribute.
        low: Vec<String>,
        /// By attribute.
        high: Vec<String>,
    },
}

impl RangeRecord {
    fn new(ranges: &Ranges) -> RangeRecord {
        let texts = |values: &[f64]| values.iter().map(|value| format!("{value:?}")).collect();
        match ranges {
            Ranges::Ball(radius) => RangeRecord::Epsilon(format!("{radius:?}")),
            Ranges::Between { low, high } => RangeRecord::Between { low: texts(low), high: texts(high) },
        }
    }
}

/// `q`: one for all nodes, or one for each.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum LocalRecord {
    /// The same for all.
    Uniform(u64),
    /// Node by node.
    PerNode(Vec<u64>),
}

/// Seconds after which the search for a node is given up where nobody says.
pub const USUAL_SECONDS: f64 = 5.0;

/// How far a run goes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct EffortRecord {
    /// Which searches.
    pub level: Level,
    /// Seconds per node, if limited.
    pub time_limit: Option<f64>,
    /// Tree nodes per class pair, if limited.
    pub node_limit: Option<usize>,
    /// Relative width of the intervals, if not 0.
    // Left out where they change nothing, so that older runs can be resumed; so is the next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gap: Option<f64>,
    /// Are path bounds enough?
    #[serde(default = "tight", skip_serializing_if = "is_tight")]
    pub margins: Margins,
    /// Are exact margins written?
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub exact_margins: bool,
}

/// What older runs took.
fn tight() -> Margins {
    Margins::Tight
}

/// Left out, so that older runs can be resumed.
fn is_tight(margins: &Margins) -> bool {
    *margins == Margins::Tight
}

/// An [`Effort`] without its limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// Bounds alone.
    Bounds,
    /// The optimum of the relaxation.
    Optimal,
    /// Branch and price.
    Complete,
    /// Exact margins.
    Minimize,
}

/// The class that is certified.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// The predicted one.
    Predicted,
    /// The label.
    Labels,
}

impl LocalRecord {
    /// Of the budgets of all nodes.
    pub fn new(locals: &[u32]) -> LocalRecord {
        match locals.first() {
            Some(&q) if locals.iter().all(|&other| other == q) => LocalRecord::Uniform(u64::from(q)),
            _ => LocalRecord::PerNode(locals.iter().map(|&q| u64::from(q)).collect()),
        }
    }
}

impl BudgetRecord {
    /// A budget but for its `Q`.
    pub fn new(budget: &Budget) -> BudgetRecord {
        let local = LocalRecord::new(budget.locals());
        let frozen = budget.frozen_attributes().iter().enumerate().filter(|(_, frozen)| **frozen);
        let frozen_attributes = frozen.map(|(attribute, _)| attribute).collect();
        let ranges = budget.ranges().map(RangeRecord::new);
        BudgetRecord { global: None, local, direction: budget.stated_direction(), frozen_attributes, ranges }
    }

    /// The same with the ranges of a budget.
    pub fn with_ranges(self, budget: &Budget) -> BudgetRecord {
        BudgetRecord { ranges: budget.ranges().map(RangeRecord::new), ..self }
    }

    /// The same with a `Q`.
    pub fn with_global(&self, global: usize) -> BudgetRecord {
        BudgetRecord { global: Some(global as u64), ..self.clone() }
    }

    /// The same without `Q`: what results of several `Q` have in common.
    pub fn without_global(&self) -> BudgetRecord {
        BudgetRecord { global: None, ..self.clone() }
    }
}

impl From<Effort> for Level {
    fn from(effort: Effort) -> Level {
        match effort {
            Effort::Bounds => Level::Bounds,
            Effort::Optimal => Level::Optimal,
            Effort::Complete(_) => Level::Complete,
            Effort::Minimize { .. } => Level::Minimize,
            other => unreachable!("{other:?} has no level"),
        }
    }
}
