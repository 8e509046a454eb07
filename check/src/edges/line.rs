//! The format of proofs against removed edges: plain data, read by the checker and written by whoever proves.

use std::io::{self, Write};

use gcnproof_files::GraphFile;
use serde::{Deserialize, Serialize};

use crate::accepted::Accepted;
use crate::format::{BudgetStatement, Convention, Local, Number, Step, Unproved, strict};
use crate::ids::{Edge, Flip};
use crate::verdict::Reason;

/// The version of files about removals of undirected edges in networks with one hidden layer.
pub const VERSION: u32 = 3;

/// The version of files about all other changes.
pub const CHANGES_VERSION: u32 = 4;

/// The version of files about flips and changes at once.
pub const JOINT_VERSION: u32 = 5;

/// One line of a file: an [`EdgeHeader`], then nodes with and without proof, then their number.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EdgeLine {
    /// First line: what is proved about what.
    Header(EdgeHeader),
    /// The proof of one node.
    Node(EdgeNodeProof),
    /// A node without proof.
    Unproved(Unproved),
    /// Last line: how many nodes came before.
    End(u64),
}

impl From<Unproved> for Accepted<EdgeLine> {
    fn from(unproved: Unproved) -> Accepted<EdgeLine> {
        Accepted::new(EdgeLine::Unproved(unproved))
    }
}

impl EdgeLine {
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
    pub fn read(bytes: &[u8], longest: usize) -> Result<EdgeLine, Reason> {
        strict::read(bytes, longest).map_err(|problem| Reason::Syntax(problem.chars().take(200).collect()))
    }
}

/// The statement that all proofs of a file share. No line is both this and a header about attributes: each requires a
/// key that the other refuses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EdgeHeader {
    /// [`VERSION`], [`CHANGES_VERSION`] or [`JOINT_VERSION`].
    pub version: u32,
    /// The key by which a line is known to be about edges.
    pub attack: EdgeAttack,
    /// [`gcnproof_files::GraphFile::digest`].
    pub graph: String,
    /// [`gcnproof_files::ModelFile::digest`].
    pub model: String,
    /// One rule per weight layer; those of its terms, joined by ` & `, where the model names them.
    pub message_passing: Vec<String>,
    /// Which edges, and how many.
    pub edges: Removals,
    /// Which attributes may be flipped at the same time, and how many, where the attack is on both.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flips: Option<BudgetStatement>,
    /// Which class a node is to keep.
    pub classes: Convention,
}

/// What the attacker does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EdgeAttack {
    /// Undirected edges are removed, in a network with one hidden layer.
    EdgeRemovals,
    /// Edges are removed or inserted.
    EdgeChanges,
    /// Attributes are flipped and edges are removed or inserted, each within a budget of its own.
    FlipsAndEdgeChanges,
}

/// Which changes, where not just undirected edges are removed with one hidden layer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Changes {
    /// What is done to edges.
    pub kind: ChangeKind,
    /// Is each direction of an edge an edge of its own, `[from, to]`? It counts at its receiver.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub directed: bool,
    /// Which edges may be inserted; all, if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub candidates: Option<Candidates>,
}

/// What is done to edges.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeKind {
    /// They are removed.
    Remove,
    /// They are inserted.
    Insert,
    /// Both.
    Change,
}

impl ChangeKind {
    pub(crate) fn removes(self) -> bool {
        self != ChangeKind::Insert
    }

    pub(crate) fn inserts(self) -> bool {
        self != ChangeKind::Remove
    }
}

/// Edges that may be inserted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Candidates {
    /// Between nodes at most so many edges apart.
    Within(u64),
    /// These, ascending.
    Listed(Vec<Edge>),
}

/// Which edges may be removed, and how many.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Removals {
    /// `E`: in all.
    pub global: u64,
    /// `e`: at a node. A removal counts at both ends.
    pub local: Local,
    /// Does every node that has edges keep one?
    pub keep_one: bool,
    /// Edges that cannot be removed, ascending.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub frozen: Vec<Edge>,
    /// What else than removals of undirected edges with one hidden layer is meant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changes: Option<Changes>,
}

impl Removals {
    /// What is done to edges: they are removed, where nothing else is said.
    pub fn kinds(&self) -> Changes {
        let plain = Changes { kind: ChangeKind::Remove, directed: false, candidates: None };
        self.changes.clone().unwrap_or(plain)
    }

    /// Are undirected edges removed, and nothing else?
    pub fn is_plain(&self) -> bool {
        let Changes { kind, directed, .. } = self.kinds();
        kind == ChangeKind::Remove && !directed
    }

    /// Is there no limit at a node beside the global one, on a graph whose nodes have at most so many edges? Writers
    /// that have none state one that is never reached.
    pub fn has_no_local_limit(&self, largest_degree: u64) -> bool {
        let most = largest_degree.min(self.global);
        match &self.local {
            Local::Uniform(e) => *e >= most,
            Local::PerNode(list) => list.iter().all(|e| *e >= most),
        }
    }
}

/// The proof of one node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EdgeNodeProof {
    /// Its row in the graph.
    pub id: u32,
    /// The class that it keeps or loses.
    pub class: u32,
    /// Only what the header states is proved: robust or not against these removals.
    pub claim: EdgeClaim,
}

impl EdgeNodeProof {
    /// Refuses a node or a class that does not exist, and another class than the node's label where that is asked for.
    pub(crate) fn require_reference(
        &self,
        graph: &GraphFile,
        classes: usize,
        convention: Convention,
    ) -> Result<(), Reason> {
        if self.id as usize >= graph.targets() {
            return Err(Reason::Node);
        }
        if self.class as usize >= classes {
            return Err(Reason::Class(self.class));
        }
        let label = graph.labels.as_ref().and_then(|labels| labels[self.id as usize]);
        match convention == Convention::Labels && label != Some(self.class) {
            true => Err(Reason::Reference("label")),
            false => Ok(()),
        }
    }
}

/// What is proved of a node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EdgeClaim {
    /// No admissible set of removals makes another class as large: one tree for each other class, classes ascending.
    Robust(Vec<EdgeClassProof>),
    /// These removals do.
    NonRobust(EdgeWitness),
}

/// Why one other class stays below.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EdgeClassProof {
    /// Another class than that of the proof.
    pub class: u32,
    /// A binary tree in preorder: a split is followed by its first and then its second subtree.
    pub tree: Vec<EdgeStep>,
}

/// A node of a tree.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EdgeStep {
    /// First neither it nor its group is removed, then it is.
    Edge(u32, u32),
    /// At most one more removal: all are listed.
    Singles(Nothing),
    /// A bound above 0, by hints.
    Prices(Box<EdgePrices>),
    /// All sets of changes are listed.
    Listed(Nothing),
    /// A bound above 0, by what changes can do and by prices.
    Carried(Box<CarriedPrices>),
    /// Flips on the graph of the path, whose margins exceed what open changes can take.
    Flips(Box<FlippedLeaf>),
}

/// A leaf where attributes are flipped as well.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FlippedLeaf {
    /// A tree over flips, as in files about flips alone.
    pub tree: Vec<Step>,
    /// Prices of the open changes; all are 0 if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub carried: Option<CarriedPrices>,
    /// Where one more change is left: trees after some open changes, ascending, of which `carried` then says nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<FlippedAfter>,
}

/// Flips after one more change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FlippedAfter {
    /// The change.
    pub edge: Edge,
    /// A tree over flips.
    pub tree: Vec<Step>,
}

/// An object without keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Nothing {}

/// The hints of a leaf.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct EdgePrices {
    /// The price of a removal for 0, 1, … removals at the target; the last stands for all that follow.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub mu: Vec<Number>,
    /// `[m, n, c, s]`: weights of the views of a pair, ascending by pair.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub views: Vec<(u32, u32, u32, u32)>,
}

/// What a change costs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CarriedPrices {
    /// In all.
    pub mu: Number,
    /// At a node, where that is not 0, ascending.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nu: Vec<(u32, Number)>,
    /// Are coefficients handed back from the margin?
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub back: bool,
    /// Are insertions away from the target bounded by lists of messages?
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub lists: bool,
}

/// A set of changes after which the other class is as large or larger.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EdgeWitness {
    /// Another class than that of the proof.
    pub class: u32,
    /// Ascending, each once, none of them frozen.
    pub edges: Vec<Edge>,
    /// Ascending, each once, where attributes are flipped as well.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flips: Vec<Flip>,
}

impl EdgeWitness {
    /// Refuses flips where edges alone are changed.
    pub(crate) fn require_no_flips(&self) -> Result<(), Reason> {
        self.flips.first().map_or(Ok(()), |&flip| Err(Reason::Flip(flip)))
    }
}

/// Candidates that a header may list, at most.
pub fn most_candidates(nodes: usize) -> usize {
    nodes.saturating_mul(64)
}

/// Bytes of the header, at most: every node may have a local budget of 20 digits, every edge may be frozen.
pub fn longest_header(nodes: usize, edges: usize, rules: usize) -> usize {
    let parts = [(nodes, 21), (edges, 24), (rules, 1)];
    parts.iter().fold(1 << 16, |sum, &(count, bytes)| count.saturating_mul(bytes).saturating_add(sum))
}
