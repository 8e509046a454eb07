//! Lines about attributes that are numbers and are moved within ranges (`FORMAT-RANGES.md`).

use serde::{Deserialize, Serialize};

use super::Number;

/// The values that entries may get.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RangesStatement {
    /// Those at most so far from their own.
    Epsilon(Number),
    /// Those between two numbers for each attribute, among which their own is.
    Between(RangeLimits),
}

/// The limits of all attributes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RangeLimits {
    /// By attribute.
    pub low: Vec<Number>,
    /// By attribute.
    pub high: Vec<Number>,
}

/// The proof of one node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RangeNodeProof {
    /// Its row in the graph.
    pub id: u32,
    /// The class that it keeps or loses.
    pub class: u32,
    /// Only what the header states is proved.
    pub claim: RangeClaim,
}

/// What is proved of a node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RangeClaim {
    /// No admissible change makes another class as large: one tree for each other class, classes ascending.
    Robust(Vec<RangeClassProof>),
    /// These changes do.
    NonRobust(RangeWitness),
}

/// Why one other class stays below.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RangeClassProof {
    /// Another class than that of the proof.
    pub class: u32,
    /// A binary tree in preorder: a split is followed by its first and then its second subtree.
    pub tree: Vec<RangeStep>,
}

/// A node of a tree.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RangeStep {
    /// `[layer, node, unit]`: first its pre-activation is `≥ 0`, then `≤ 0`.
    Unit(u32, u32, u32),
    /// `[node, attribute]`: first it is not changed, then it is.
    Entry(u32, u32),
    /// `[node, attribute, value]` of an entry that is changed: first it is at most this, then at least.
    Value(u32, u32, Number),
    /// A bound above 0.
    Lines(Box<RangeLines>),
}

/// `[layer, node, unit, number]`.
pub type UnitNumber = (u32, u32, u32, Number);

/// The lines of a leaf; each list ascending by layer, node and unit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RangeLines {
    /// In `[0, 1]`: slopes of lines below units that differ from the default.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub slopes: Vec<UnitNumber>,
    /// At least 0: prices of units that the path splits.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub prices: Vec<UnitNumber>,
}

/// A change after which the other class is as large or larger.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RangeWitness {
    /// Another class than that of the proof.
    pub class: u32,
    /// `[node, attribute, value]` of every entry that is changed, ascending.
    pub entries: Vec<(u32, u32, Number)>,
}
