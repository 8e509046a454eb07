//! The proof format (`FORMAT.md`): plain data, read by the checker and written by whoever proves.

pub(crate) mod exact;
mod header;
mod hints;
pub(crate) mod lines;
mod ranges;
pub(crate) mod strict;
mod token;

use serde::{Deserialize, Serialize};
use std::io::{self, Write};

use crate::accepted::Accepted;
pub use crate::number::numerator;
use crate::verdict::Reason;
pub use header::{BudgetStatement, Convention, Deployed, Direction, Header, Local, longest_header};
pub use hints::{
    BoundsLine, EnvelopeEntry, HintList, Hints, MOST_HINTS, MOST_HINTS_OF_A_LINE, Number, Prices, UnitBounds,
};

pub use ranges::{
    RangeClaim, RangeClassProof, RangeLimits, RangeLines, RangeNodeProof, RangeStep, RangeWitness, RangesStatement,
    UnitNumber,
};

/// The version that this crate writes, and the newest that it reads.
pub const VERSION: u32 = 2;

/// The oldest version that this crate reads.
pub const OLDEST_VERSION: u32 = 1;

/// Multipliers are integers times `2^exponent`; this is the exponent unless a leaf states its own.
pub const EXPONENT: i32 = -20;

/// The exponents that a leaf may state.
pub const EXPONENTS: std::ops::RangeInclusive<i32> = -1074..=900;

/// Nodes of a tree, at most.
pub const LARGEST_TREE: usize = 1 << 20;

/// Splits on a path, at most.
pub const LONGEST_PATH: usize = 1024;

/// One line of a proofs file: a [`Header`], then any number of [`NodeProof`]s and [`Unproved`]s, then their number.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Line {
    /// First line: what is proved about what.
    Header(Header),
    /// The proof of one node.
    Node(NodeProof),
    /// The proof of one node where attributes are moved within ranges.
    Ranged(RangeNodeProof),
    /// A node without proof.
    Unproved(Unproved),
    /// Bounds of the units of a node of a layer above 2.
    Bounds(BoundsLine),
    /// Last line: how many nodes came before.
    End(u64),
}

impl Line {
    /// Writes the line and a line feed.
    ///
    /// # Errors
    /// If the writer fails.
    pub fn write(&self, mut to: impl Write) -> io::Result<()> {
        serde_json::to_writer(&mut to, self)?;
        to.write_all(b"\n")
    }

    /// Reads a line without its line feed, exactly as `FORMAT.md` §2 says. No list in it may have more than `longest`
    /// entries.
    ///
    /// # Errors
    /// [`Reason::Syntax`].
    pub fn read(bytes: &[u8], longest: usize) -> Result<Line, Reason> {
        strict::read(bytes, longest).map_err(|problem| Reason::Syntax(problem.chars().take(200).collect()))
    }
}

/// The proof of one node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NodeProof {
    /// Its row in the graph.
    pub id: u32,
    /// The class that it keeps or loses.
    pub class: u32,
    /// Only what the header states is proved: robust or not against these flips.
    pub claim: Claim,
}

/// A node of which the writer proves nothing: it says so, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Unproved {
    /// Its row in the graph.
    pub id: u32,
    /// Why there is no proof: for people, at most [`LONGEST_REASON`] bytes.
    pub reason: String,
}

impl From<Unproved> for Accepted<Line> {
    fn from(unproved: Unproved) -> Accepted<Line> {
        Accepted::new(Line::Unproved(unproved))
    }
}

/// Bytes of the reason of an [`Unproved`] line, at most.
pub const LONGEST_REASON: usize = 1000;

/// What is proved of a node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Claim {
    /// No admissible perturbation makes another class as large: one tree for each other class, classes ascending.
    Robust(Vec<ClassProof>),
    /// These flips do.
    NonRobust(Witness),
}

/// Why one other class stays below.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClassProof {
    /// Another class than that of the proof.
    pub class: u32,
    /// A binary tree in preorder: a split is followed by its first and then its second subtree.
    pub tree: Vec<Step>,
}

impl ClassProof {
    /// The proof without splits and with default multipliers: the anchored bound.
    pub fn anchored(class: u32) -> ClassProof {
        ClassProof { class, tree: vec![Step::Leaf(Box::default())] }
    }
}

/// What a perturbation does to attributes of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RowSide {
    /// It adds some.
    Added,
    /// It removes some.
    Removed,
}

/// A node of a tree.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// `[layer, node, unit]`: first its pre-activation is `≥ 0`, then `≤ 0`.
    Unit(u32, u32, u32),
    /// `[node, attribute]`: first it is not flipped, then it is.
    Flip(u32, u32),
    /// `[node, count, side]` of a normalised row: first at most so many attributes are added to it, or removed, then
    /// more.
    Row(u32, u32, RowSide),
    /// A bound above 0, stated briefly.
    Leaf(Box<Leaf>),
    /// A bound above 0, by hints.
    Hints(Box<Hints>),
}

/// `[layer, node, unit, numerator]`.
pub type Multiplier = (u32, u32, u32, i64);

/// The multipliers of a leaf that differ from the default; each list ascending by layer, node and unit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Leaf {
    /// Every multiplier is its numerator times `2^exponent`.
    #[serde(rename = "e", skip_serializing_if = "is_usual")]
    pub exponent: i32,
    /// From this layer upward the defaults are those of the dual bound: the chord, and `Ω = S/(S − R)`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dual: Option<u32>,
    /// At layer 2 the capped bound stands where otherwise the anchored one does.
    #[serde(skip_serializing_if = "is_false")]
    pub cap: bool,
    /// At layer 3 the capped bound stands where otherwise the chord does.
    #[serde(skip_serializing_if = "is_false")]
    pub nested: bool,
    /// Envelopes of units of layer 2.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub envelope: Option<Box<Envelope>>,
    /// In `[0, 1]`: slope of the line below (positive coefficient), share of the chord (negative one, layer 2,
    /// and layer 3 where it has the capped bound).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub weight: Vec<Multiplier>,
    /// In `[0, 1]`: slope of the chord (negative coefficient).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub slope: Vec<Multiplier>,
    /// At least 0: price of a split on the path.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub beta: Vec<Multiplier>,
    /// What the writer thinks the bound is: for display, never read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bound: Option<f64>,
}

/// Lines over the activations of units of layer 2, by the prices of flips: any prices are admissible.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Envelope {
    /// Every price is its numerator times `2^exponent`.
    #[serde(rename = "e")]
    pub exponent: i32,
    /// Nodes with prices of their own, ascending.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub nodes: Vec<u32>,
    /// `[node, attribute]` of flips with prices of their own, ascending.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub flips: Vec<(u32, u32)>,
    /// Ascending by node and unit.
    pub units: Vec<UnitPrices>,
}

/// `[node, unit, share, τ, [ν, …], [ρ, …]]`: the share is a numerator times the leaf's `2^exponent`, in `[0, 1]`; the
/// prices `τ` of every flip, `ν` of the listed nodes and `ρ` of the listed flips are signed numerators, 0 where a list
/// has ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnitPrices(pub u32, pub u32, pub i64, pub i64, pub Vec<i64>, pub Vec<i64>);

fn is_false(flag: &bool) -> bool {
    !flag
}

fn is_usual(exponent: &i32) -> bool {
    *exponent == EXPONENT
}

impl Default for Leaf {
    fn default() -> Leaf {
        Leaf {
            exponent: EXPONENT,
            dual: None,
            cap: false,
            nested: false,
            envelope: None,
            weight: Vec::new(),
            slope: Vec::new(),
            beta: Vec::new(),
            bound: None,
        }
    }
}

/// A perturbation after which the other class is as large or larger.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Witness {
    /// Another class than that of the proof.
    pub class: u32,
    /// `[node, attribute]` of every flip, ascending.
    pub flips: Vec<(u32, u32)>,
}

/// Reads one proof from one line, for those who want to look at it.
impl std::str::FromStr for NodeProof {
    type Err = Reason;
    fn from_str(line: &str) -> Result<NodeProof, Reason> {
        match Line::read(line.as_bytes(), usize::MAX)? {
            Line::Node(proof) => Ok(proof),
            _ => Err(Reason::Order("not the proof of a node".into())),
        }
    }
}
