//! The reasons for which a proof is rejected.

use thiserror::Error;

use super::cost::Cost;
use crate::ids::{Edge, Flip, Unit};
use crate::number::Interval;

/// Why something is rejected. A proof that is not understood is rejected, never guessed at.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum Reason {
    /// The line is not what the format says.
    #[error("not a line of this format: {0}")]
    Syntax(String),
    /// The file cannot be read any further.
    #[error("cannot be read: {0}")]
    Unreadable(String),
    /// A line, a tree or a path is longer than the format allows.
    #[error("too large: {0}")]
    TooLarge(String),
    /// Judging it takes more than the limits allow: nothing is known of it.
    #[error("{0}")]
    TooExpensive(Cost),
    /// The check was stopped while this was looked at.
    #[error("interrupted")]
    Interrupted,
    /// The header does not fit the files.
    #[error("header: {0}")]
    Header(String),
    /// Graph and model do not fit together.
    #[error("files: {0}")]
    Files(String),
    /// A line stands where it must not.
    #[error("{0}")]
    Order(String),
    /// The node does not exist.
    #[error("the graph has no such node")]
    Node,
    /// The node is in a part of a graph that does not answer for it.
    #[error("the part of the graph does not own this row: neighbours or attributes may be missing there")]
    NotOwn,
    /// The node has been dealt with on an earlier line.
    #[error("the node was already proved on an earlier line")]
    Repeated,
    /// The class does not exist, or is the one to be kept.
    #[error("class {0} does not exist or is the reference class")]
    Class(u32),
    /// The classes proved are not all others, each once and ascending.
    #[error("class {0} is missing, proved twice or out of order")]
    Classes(u32),
    /// The reference class is not the one that the convention says.
    #[error("the reference class is not the {0}")]
    Reference(&'static str),
    /// A flip that does not exist or is not permitted.
    #[error("flip {0:?} does not exist or is not permitted")]
    Flip(Flip),
    /// A flip that does not concern the target.
    #[error("flip {0:?} lies outside the target's neighbourhood")]
    Outside(Flip),
    /// Flips that do not ascend, so that one might be listed twice.
    #[error("flip {0:?} is listed twice or out of order")]
    FlipOrder(Flip),
    /// A leaf of a kind that belongs to files about something else.
    #[error("a leaf about {0} does not belong into this file")]
    Leaf(&'static str),
    /// An edge that the graph does not have, or that is frozen.
    #[error("edge {0:?} is no edge of the graph, is not written with its smaller end first, or is frozen")]
    Edge(Edge),
    /// A split on an edge that is not free.
    #[error("edge {0:?} is not free on its path")]
    NotFree(Edge),
    /// Edges that do not ascend, so that one might be listed twice.
    #[error("edge {0:?} is listed twice or out of order")]
    EdgeOrder(Edge),
    /// An edge that may not be changed.
    #[error("edge {0:?} may not be changed, or is not written as the header says")]
    Change(Edge),
    /// More changes than the budget allows.
    #[error("the changed edges exceed the budget")]
    Changes,
    /// More removals than the budget allows.
    #[error("the removed edges exceed the budget")]
    Removals,
    /// A leaf that is to be listed, but has too many sets.
    #[error("singles: {0} further removals are left, but only one may be")]
    Singles(usize),
    /// Weights of a pair that the path does not have.
    #[error("hints: views of {0:?}, which are no neighbour of the target on the path and another neighbour of that")]
    View((u32, u32)),
    /// An entry that is not in the neighbourhood, is frozen, or has a value outside its range.
    #[error("[node, attribute] = {0:?} is no entry that may get this value here")]
    Entry(Flip),
    /// More changed entries than the budget allows.
    #[error("the changed entries exceed the budget")]
    Entries,
    /// More flips than the budget allows.
    #[error("the flips exceed the budget")]
    Budget,
    /// A unit that is not hidden, or not in the target's neighbourhood.
    #[error("[layer, node, unit] = {0:?} is no hidden unit of the target's neighbourhood")]
    Unit(Unit),
    /// A unit that is its pre-activation: exact without hints.
    #[error("[layer, node, unit] = {0:?} has no activation: it takes no hints and no splits")]
    Linear(Unit),
    /// A representation that is not hidden.
    #[error("layer {0} is not hidden")]
    Layer(u32),
    /// A split that the path already has.
    #[error("the path already splits here")]
    SplitTwice,
    /// The list of nodes ends within the tree.
    #[error("the tree ends before all its splits have two subtrees")]
    Incomplete,
    /// The list of nodes goes on after the tree.
    #[error("the tree is complete before this node")]
    Trailing,
    /// Multipliers that do not ascend, so that one might be listed twice.
    #[error("multiplier {0} of {1:?} is listed twice or out of order")]
    MultiplierOrder(&'static str, Unit),
    /// A multiplier outside its range.
    #[error("multiplier {0} of {1:?} is out of range")]
    MultiplierRange(&'static str, Unit),
    /// A list of hints that does not ascend, or a key that does not belong here.
    #[error("hints: {0} is out of order or out of range")]
    HintOrder(&'static str),
    /// A hint that must not be negative.
    #[error("hints: a number of {0} is negative")]
    HintSign(&'static str),
    /// A node with a price that does not concern the target.
    #[error("hints: node {0} is no node whose attributes the target depends on")]
    HintNode(u32),
    /// Something that the version of the header does not have.
    #[error("{0} are not in version 1 of the format")]
    Version(&'static str),
    /// Bounds of a layer that a `bounds` line needs.
    #[error("bounds of layer {0} are needed before")]
    BoundsMissing(u32),
    /// A price for a split that the path does not have.
    #[error("multiplier beta of {0:?}, which the path does not split")]
    Unsplit(Unit),
    /// The exponent of a leaf, used or not.
    #[error("the exponent {0} is out of range")]
    Exponent(i32),
    /// A node that does not exist or does not concern the target.
    #[error("envelope: node {0} is no node whose attributes the target depends on")]
    EnvelopeNode(u32),
    /// Nodes that do not ascend.
    #[error("envelope: node {0} is listed twice or out of order")]
    EnvelopeNodeOrder(u32),
    /// Prices that are not multiples of a power of two that floats have.
    #[error("envelope: the exponent {0} is out of range")]
    EnvelopeExponent(i32),
    /// More prices than nodes or flips.
    #[error("envelope: {2} prices {0} of {1:?}, but only {3} are listed")]
    PriceCount(&'static str, Unit, usize, usize),
    /// A price outside its range.
    #[error("envelope: price {0} of {1:?} is out of range at place {2} of the list")]
    PriceRange(&'static str, Unit, usize),
    /// The network as it runs may leave the range of its numbers, or sums are too long for them.
    #[error(
        "nothing is known of the network as it runs: numbers may leave the range of the format, or sums are too long for it"
    )]
    Rounding,
    /// Shares of a node of more than the whole.
    #[error("weight, size and the weights of covers add up to more than 2^24")]
    Share,
    /// A cover that leaves nothing to other flips.
    #[error("the flips of a cover break the node by themselves, as far as its weights say")]
    Cover,
    /// A claim about one attack that its lines do not show.
    #[error("{}", shown_claim(*.claimed, *.shown))]
    Claim {
        /// So many predictions are broken at most, says the file.
        claimed: u64,
        /// So many, say its lines.
        shown: u64,
    },
    /// Something that is not defined where rows of attributes are divided by their sums.
    #[error("the graph's rows of attributes are divided by their sums: there are no {0} for these")]
    Normalised(&'static str),
    /// Something that is not defined where attributes are one-hot.
    #[error("the graph's attributes are categories: there are no {0} for these")]
    Categories(&'static str),
    /// Something that is not defined where attributes are numbers.
    #[error("the graph's attributes are numbers: there are no {0} for these")]
    Numbers(&'static str),
    /// The bound is not above zero.
    #[error("the bound is not above 0 (it lies in [{:e}, {:e}])", .0.lower, .0.upper)]
    Bound(Interval),
    /// The margin is above zero, so the changes prove nothing.
    #[error("the margin after these changes is above 0 (it lies in [{:e}, {:e}])", .0.lower, .0.upper)]
    Margin(Interval),
}

impl Reason {
    /// The same for a whole of which so much is done.
    pub(crate) fn of_whole(self, done: usize, whole: usize) -> Reason {
        match self {
            Reason::TooExpensive(cost) => Reason::TooExpensive(cost.of_whole(done, whole)),
            other => other,
        }
    }
}

/// What lines show instead of a claim.
fn shown_claim(claimed: u64, shown: u64) -> String {
    match shown {
        u64::MAX => format!("the lines show nothing, but the claim is that at most {claimed} predictions are broken"),
        _ => format!("the lines show that at most {shown} predictions are broken, but the claim is {claimed}"),
    }
}
