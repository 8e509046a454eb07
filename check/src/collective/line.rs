//! The format of proofs about one attack for the whole graph: plain data, read by the checker and written by whoever
//! proves.

use std::io::{self, Write};

use serde::{Deserialize, Serialize};

use super::ONE;
use crate::format;
use crate::format::{BoundsLine, BudgetStatement, Convention, Hints, NodeProof, Step, strict};
use crate::ids::Flip;
use crate::verdict::Reason;

/// The version of these files.
pub const VERSION: u32 = 1;

/// Lines with shares in a file, at most: so many of them add up to less than 2⁶⁴ for every flip.
pub const MOST_SHARES: usize = (1 << 16) - 1;

/// One line of a file: a [`CollectiveHeader`], then nodes that are never broken, bounds that their proofs use and
/// shares of others, then the [`CollectiveClaim`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CollectiveLine {
    /// First line: what is claimed about what.
    Collective(CollectiveHeader),
    /// A node that no admissible perturbation breaks.
    Node(NodeProof),
    /// Bounds of the units of a node of a layer above 2.
    Bounds(BoundsLine),
    /// What it takes to break a node.
    Share(Share),
    /// Last line: how many predictions are broken at most.
    Claim(CollectiveClaim),
}

impl CollectiveLine {
    /// Writes the line and a line feed.
    ///
    /// # Errors
    /// If the writer fails.
    pub fn write(&self, mut to: impl Write) -> io::Result<()> {
        serde_json::to_writer(&mut to, self)?;
        to.write_all(b"\n")
    }

    /// Reads a line without its line feed, exactly as the format says. No list in it may have more than `longest`
    /// entries.
    ///
    /// # Errors
    /// [`Reason::Syntax`].
    pub fn read(bytes: &[u8], longest: usize) -> Result<CollectiveLine, Reason> {
        strict::read(bytes, longest).map_err(|problem| Reason::Syntax(problem.chars().take(200).collect()))
    }
}

/// The lines of a whole file.
#[derive(Clone, Debug, PartialEq)]
pub struct CollectiveProof {
    /// What is claimed about what.
    pub header: CollectiveHeader,
    /// Nodes that are never broken, ascending.
    pub nodes: Vec<NodeProof>,
    /// What it takes to break others.
    pub shares: Vec<Share>,
    /// How many predictions are broken at most.
    pub claim: CollectiveClaim,
}

impl CollectiveProof {
    /// The lines in the order of the file.
    pub fn into_lines(self) -> impl Iterator<Item = CollectiveLine> {
        let nodes = self.nodes.into_iter().map(CollectiveLine::Node);
        let shares = self.shares.into_iter().map(CollectiveLine::Share);
        let first = std::iter::once(CollectiveLine::Collective(self.header));
        first.chain(nodes).chain(shares).chain([CollectiveLine::Claim(self.claim)])
    }
}

/// What is claimed about what.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CollectiveHeader {
    /// [`VERSION`].
    pub version: u32,
    /// [`gcnproof_files::GraphFile::digest`].
    pub graph: String,
    /// [`gcnproof_files::ModelFile::digest`].
    pub model: String,
    /// One rule per weight layer; those of its terms, joined by ` & `, where the model names them.
    pub message_passing: Vec<String>,
    /// What the attacker may do.
    pub budget: BudgetStatement,
    /// `M`: in the rows of how many nodes; of any number if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attacked_nodes: Option<u64>,
    /// Whether all predictions count, or those that are right.
    pub classes: Convention,
    /// The nodes whose predictions count, ascending; all if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nodes: Option<Vec<u32>>,
}

impl CollectiveHeader {
    /// The header of proofs about single nodes under the same budget.
    pub fn of_single_nodes(&self) -> format::Header {
        format::Header {
            version: format::VERSION,
            graph: self.graph.clone(),
            model: self.model.clone(),
            message_passing: self.message_passing.clone(),
            budget: self.budget.clone(),
            classes: self.classes,
            deployed: None,
            ranges: None,
        }
    }
}

/// What it takes to break a node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Share {
    /// Its row in the graph; no other line speaks of it.
    pub id: u32,
    /// The class that is predicted without flips.
    pub class: u32,
    /// `α`, in units of 2⁻²⁴.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub weight: u32,
    /// `β`, in units of 2⁻²⁴.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub size: u32,
    /// Leaves that are not the usual ones, ascending by class.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub leaves: Vec<(u32, ShareLeaf)>,
    /// What the weights leave to the other flips once some are taken as made.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub covers: Vec<Cover>,
}

/// Flips that a share line takes as made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cover {
    /// `γ`, in units of 2⁻²⁴.
    pub weight: u32,
    /// `D`, ascending.
    pub made: Vec<Flip>,
}

impl Share {
    /// `α + β + Σ γ`, if it is at most 1.
    pub(crate) fn sum(&self) -> Option<u32> {
        let mut parts = [self.weight, self.size].into_iter().chain(self.covers.iter().map(|cover| cover.weight));
        parts.try_fold(0u32, u32::checked_add).filter(|&sum| sum <= ONE)
    }

    /// Refuses covers whose flips are out of order, or do not exist.
    pub(crate) fn require_covers(&self, nodes: usize, attributes: usize) -> Result<(), Reason> {
        for Cover { made, .. } in &self.covers {
            if let Some(pair) = made.windows(2).find(|pair| pair[0] >= pair[1]) {
                return Err(Reason::FlipOrder(pair[1]));
            }
            let outside = |flip: &&Flip| flip.0 as usize >= nodes || flip.1 as usize >= attributes;
            if let Some(flip) = made.iter().find(outside) {
                return Err(Reason::Flip(*flip));
            }
        }
        Ok(())
    }

    /// Refuses leaves that are out of order, or of no class that the node might lose to.
    pub(crate) fn require_leaves(&self, classes: usize) -> Result<(), Reason> {
        let twice = self.leaves.windows(2).find(|pair| pair[0].0 >= pair[1].0).map(|pair| pair[1].0);
        let other = || self.leaves.iter().map(|leaf| leaf.0).find(|&c| c == self.class || c as usize >= classes);
        twice.or_else(other).map_or(Ok(()), |class| Err(Reason::Classes(class)))
    }
}

/// A bound of a margin that is linear in the flips.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ShareLeaf {
    /// Multipliers, which the checker expands (`FORMAT.md` §7).
    Leaf(Box<format::Leaf>),
    /// The numbers of the rules themselves.
    Hints(Box<Hints>),
}

impl ShareLeaf {
    /// The leaf of a class that a share line does not list; `depth` is the number of representations.
    pub fn usual(depth: usize) -> ShareLeaf {
        let dual = if depth > 3 { Some(3) } else { None };
        ShareLeaf::Leaf(Box::new(format::Leaf { dual, ..format::Leaf::default() }))
    }
}

impl From<ShareLeaf> for Step {
    fn from(leaf: ShareLeaf) -> Step {
        match leaf {
            ShareLeaf::Leaf(leaf) => Step::Leaf(leaf),
            ShareLeaf::Hints(hints) => Step::Hints(hints),
        }
    }
}

/// How many predictions are broken at most, and prices that show it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CollectiveClaim {
    /// The number of lines between the header and this one.
    pub lines: u64,
    /// `B`.
    pub bound: u64,
    /// `θ`: the price of every flip, in units of 2⁻⁴⁸.
    #[serde(default, skip_serializing_if = "is_nothing")]
    pub price: u64,
    /// `[node, η]`: what a flip of that node costs besides, ascending by node.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub prices: Vec<(u32, u64)>,
    /// Is the number rounded down in each component of the graph by itself?
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub components: bool,
}

impl CollectiveClaim {
    /// Refuses prices that are out of order, or of nodes that do not exist.
    pub(crate) fn require_prices(&self, nodes: usize) -> Result<(), Reason> {
        if let Some(pair) = self.prices.windows(2).find(|pair| pair[0].0 >= pair[1].0) {
            return Err(Reason::Order(format!("the price of node {} is listed twice or out of order", pair[1].0)));
        }
        match self.prices.last() {
            Some((node, _)) if *node as usize >= nodes => Err(Reason::Node),
            _ => Ok(()),
        }
    }

    /// `η` of a node.
    pub fn price_of(&self, node: u32) -> u64 {
        self.prices.binary_search_by_key(&node, |entry| entry.0).map_or(0, |at| self.prices[at].1)
    }
}

fn is_zero(x: &u32) -> bool {
    *x == 0
}

fn is_nothing(x: &u64) -> bool {
    *x == 0
}
