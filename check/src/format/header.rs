//! Reads and checks the first line of a file of proofs: files, digests, budget, classes.

use std::fmt;
use std::str::FromStr;

use serde::de::{Deserializer, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};

use super::ranges::RangesStatement;

/// The statement that all proofs of a file share.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Header {
    /// [`crate::format::OLDEST_VERSION`] to [`crate::format::VERSION`].
    pub version: u32,
    /// [`gcnproof_files::GraphFile::digest`].
    pub graph: String,
    /// [`gcnproof_files::ModelFile::digest`].
    pub model: String,
    /// One rule per weight layer: `gcn`, `gcn-self`, `mean`, `mean+self`, `sum`, `sum+self`, `identity`, `matrix:` and
    /// the digest of the matrix ([`crate::matrix_digest`]), or `poly(RULE;c0,c1,…)`. Where a layer of the model names
    /// the rules of its terms, exactly these, joined by ` & `.
    pub message_passing: Vec<String>,
    /// What the attacker may do.
    pub budget: BudgetStatement,
    /// Which class a node is to keep.
    pub classes: Convention,
    /// Stated if the proofs are about every execution of the network as it runs, and not about the exact network.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deployed: Option<Deployed>,
    /// Stated if attributes are moved within these ranges, and not flipped (`FORMAT-RANGES.md`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ranges: Option<RangesStatement>,
}

/// What an execution of the network may do (`FORMAT.md` §9).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Deployed {
    /// Bits of a significand: 24 for float32.
    pub precision: u32,
    /// By how many unit roundoffs operator entries may differ from the stored ones: for each layer one number for each
    /// term.
    pub operator_error: Vec<Vec<u32>>,
    /// May subnormal numbers be taken for zero?
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub flush_subnormals: bool,
}

impl fmt::Display for Deployed {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self.precision {
            24 => f.write_str("float32")?,
            bits => write!(f, "numbers of {bits} bits")?,
        }
        let errors: Vec<String> = self.operator_error.iter().flatten().take(8).map(u32::to_string).collect();
        write!(f, ", operator entries within {} units", errors.join(", "))?;
        f.write_str(if self.flush_subnormals { ", subnormals may be flushed" } else { "" })
    }
}

/// What the attacker may do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BudgetStatement {
    /// `Q`: flips in all.
    pub global: u64,
    /// `q`: flips per node.
    pub local: Local,
    /// Which way attributes may be flipped.
    pub direction: Direction,
    /// Attributes that cannot be flipped, ascending.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub frozen_attributes: Vec<u32>,
}

/// `q`, the same everywhere or one number per node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Local {
    /// So many flips in every row.
    Uniform(u64),
    /// `q_n` for `n = 0, 1, …`.
    PerNode(Vec<u64>),
}

/// By hand, because what serde derives would first keep a copy of the list that takes 32 bytes for each number.
impl<'de> Deserialize<'de> for Local {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Local, D::Error> {
        struct Budgets;
        impl<'de> Visitor<'de> for Budgets {
            type Value = Local;

            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("a number or a list of numbers")
            }

            fn visit_u64<E>(self, q: u64) -> Result<Local, E> {
                Ok(Local::Uniform(q))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Local, A::Error> {
                let mut budgets = Vec::new();
                while let Some(q) = list.next_element()? {
                    budgets.push(q);
                }
                Ok(Local::PerNode(budgets))
            }
        }
        deserializer.deserialize_any(Budgets)
    }
}

/// Which way attributes may be flipped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// Absent attributes may be added, present ones removed.
    Both,
    /// Only `0 → 1`.
    Add,
    /// Only `1 → 0`.
    Remove,
}

impl fmt::Display for Direction {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(match self {
            Direction::Both => "both",
            Direction::Add => "add",
            Direction::Remove => "remove",
        })
    }
}

impl FromStr for Direction {
    type Err = String;
    fn from_str(word: &str) -> Result<Direction, String> {
        match word {
            "both" => Ok(Direction::Both),
            "add" => Ok(Direction::Add),
            "remove" => Ok(Direction::Remove),
            _ => Err("expected both, add or remove".into()),
        }
    }
}

/// Which class a node is to keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Convention {
    /// The class with the largest exact logit; the smallest number among equals.
    Predicted,
    /// The label in the graph file.
    Labels,
}

impl fmt::Display for Convention {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(match self {
            Convention::Predicted => "predicted",
            Convention::Labels => "labels",
        })
    }
}

impl FromStr for Convention {
    type Err = String;
    fn from_str(word: &str) -> Result<Convention, String> {
        match word {
            "predicted" => Ok(Convention::Predicted),
            "labels" => Ok(Convention::Labels),
            _ => Err("expected predicted or labels".into()),
        }
    }
}

/// Bytes of the header, at most: every node may have a local budget of 20 digits, every attribute may be frozen, and
/// every layer may have a matrix of its own.
pub fn longest_header(nodes: usize, attributes: usize, layers: usize) -> usize {
    let parts = [(nodes, 21), (attributes, 11), (layers, 80)];
    parts.iter().fold(1 << 16, |sum, &(count, bytes)| count.saturating_mul(bytes).saturating_add(sum))
}
