//! Branch and price: the exact worst case of one class pair (docs/math.md §7).
//!
//! A node of the tree assumes signs of units and fixes flips. Its bound is one pricing pass over all flips with the
//! multipliers that a restricted master suggests, rigorous whatever they are. Branching is on the unit whose relaxation
//! is loosest at the master's point, and where none is, on a flip that is made in part.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::rc::Rc;
use std::sync::Arc;

use crate::bound::backward::UnitPlace;
use crate::bound::hidden::Assumption;
use crate::bound::line::envelope::Envelope;
use crate::problem::budget::{Decided, RowSide};
use crate::problem::flip::Flip;

use super::limits::{Clock, Limits};

/// The question that a search answers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SearchGoal {
    /// Is the worst-case margin positive?
    Decide,
    /// What is it, up to this gap?
    Minimize {
        /// Difference between bound and witness at which the search is over, relative to their size; 0 for the exact
        /// minimum.
        gap: f64,
    },
}

/// A branching decision.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Split {
    /// The sign of a unit of representation 2, by its place in the slice.
    Unit(usize),
    /// The sign of a unit above representation 2.
    Above(UnitPlace),
    /// Whether a flip is made.
    Flip(Flip),
    /// Whether more than so many attributes are added to the normalised row of a node, or removed from it.
    Row(u32, RowSide, usize),
}

/// An open node of the search tree.
#[derive(Clone, Debug, Default)]
pub struct Branch {
    /// A rigorous lower bound inherited from its parent.
    pub bound: f64,
    /// Assumed signs of units of representation 2, by their places in the slice.
    pub units: Vec<(usize, Assumption)>,
    /// Assumed signs above representation 2: is the unit active?
    pub above: Vec<(UnitPlace, bool)>,
    /// Flips that the branch has made or ruled out.
    pub decided: Decided,
    /// Which multipliers were nearer to 1 than to 0 for its parent.
    pub warm_start: Option<Rc<[bool]>>,
    /// The envelopes that its parent ended with.
    pub envelope: Option<Arc<Envelope>>,
    /// The branch that was split, and the side of the split.
    pub(crate) origin: Option<(usize, bool)>,
    /// Order of creation: ties are broken the same way every time.
    pub(crate) serial: usize,
}

impl PartialEq for Branch {
    fn eq(&self, other: &Branch) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Branch {}

impl PartialOrd for Branch {
    fn partial_cmp(&self, other: &Branch) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Branch {
    /// The heap's largest is the lowest bound; among equals the newest, which dives.
    fn cmp(&self, other: &Branch) -> Ordering {
        other.bound.total_cmp(&self.bound).then(self.serial.cmp(&other.serial))
    }
}

/// What evaluating a branch has shown.
pub enum BranchResult {
    /// Nothing admissible satisfies its assumptions, or its bound is good enough.
    Closed {
        /// A rigorous lower bound.
        bound: f64,
        /// Is it beyond doubt, in exact arithmetic, that nothing in the branch is what the search is for: no margin
        /// that is not positive, or no margin below the best one known?
        proved: bool,
    },
    /// It must be split; the bound holds for all of it.
    Open {
        /// A rigorous lower bound.
        bound: f64,
        /// Where to split.
        split: Split,
        /// Which multipliers are nearer to 1 than to 0: the children start there.
        warm_start: Vec<bool>,
        /// Envelopes to start with.
        envelope: Option<Arc<Envelope>>,
    },
}

/// How a search ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TreeOutcome {
    /// A rigorous lower bound on the worst-case margin.
    pub lower: f64,
    /// The same for what is not closed with a proof (see [`BranchResult::Closed`]); `+∞` if everything is.
    pub open: f64,
    /// Tree nodes examined.
    pub nodes: usize,
    /// Was a limit hit?
    pub gave_up: bool,
}

/// Branches that wait in the order of their bounds (best first); beyond that the search is depth first, which needs
/// hardly any memory.
const MOST_SORTED: usize = 200_000;

/// The open branches.
#[derive(Default)]
struct OpenBranches {
    heap: BinaryHeap<Branch>,
    /// Once the heap is full: the newest last.
    stack: Vec<Branch>,
}

impl OpenBranches {
    fn push(&mut self, branch: Branch) {
        if self.heap.len() < MOST_SORTED { self.heap.push(branch) } else { self.stack.push(branch) }
    }

    /// The next branch, and the lowest bound of those that remain open.
    fn pop(&mut self) -> Option<(Branch, f64)> {
        let branch = self.stack.pop().or_else(|| self.heap.pop())?;
        let stacked = self.stack.iter().map(|branch| branch.bound).fold(f64::INFINITY, f64::min);
        let others = self.heap.peek().map_or(f64::INFINITY, |branch| branch.bound).min(stacked);
        Some((branch, others))
    }
}

/// Bounds the branches of a tree: the part of branch and bound that knows the problem.
pub trait BranchEvaluator {
    /// Bounds a branch; may find witnesses as it goes.
    fn evaluate(&mut self, branch: &Branch) -> BranchResult;
    /// Is a lower bound on everything that is not proved enough?
    fn is_enough(&self, lower: f64) -> bool;
    /// The attributes of a node without any flip, ascending.
    fn row(&self, node: u32) -> &[u32];
}

/// Searches the tree, lowest bound first (docs/math.md §7.1, §7.4).
pub fn search(limits: &Limits, clock: &Clock, evaluator: &mut impl BranchEvaluator) -> TreeOutcome {
    let mut waiting = OpenBranches::default();
    waiting.push(Branch { bound: f64::NEG_INFINITY, ..Branch::default() });
    // The smallest bounds at which a branch was closed, with a proof and without.
    let (mut proved, mut closed) = (f64::INFINITY, f64::INFINITY);
    let mut nodes = 0;
    let mut serial = 0;
    while let Some((branch, others)) = waiting.pop() {
        let open = branch.bound.min(others).min(closed);
        let outcome = |gave_up| TreeOutcome { lower: open.min(proved), open, nodes, gave_up };
        // The lowest bound of all: nothing below it is left.
        if evaluator.is_enough(open) {
            return outcome(false);
        }
        // The bound of all that is open stays valid when the search gives up.
        if nodes >= limits.nodes || clock.is_late() {
            return outcome(true);
        }
        nodes += 1;
        match evaluator.evaluate(&branch) {
            BranchResult::Closed { bound, proved: true } => proved = proved.min(bound.max(branch.bound)),
            BranchResult::Closed { bound, proved: false } => closed = closed.min(bound.max(branch.bound)),
            BranchResult::Open { bound, split, warm_start, envelope } => {
                let warm_start: Rc<[bool]> = warm_start.into();
                for side in [false, true] {
                    serial += 1;
                    let mut child = Branch { bound: bound.max(branch.bound), serial, ..branch.clone() };
                    child.warm_start = Some(Rc::clone(&warm_start));
                    child.envelope.clone_from(&envelope);
                    child.origin = Some((branch.serial, side));
                    match split {
                        Split::Unit(at) => {
                            let assumption = if side { Assumption::Active } else { Assumption::Inactive };
                            child.units.push((at, assumption));
                        }
                        Split::Above(place) => child.above.push((place, side)),
                        Split::Flip(flip) if side => child.decided.flipped.push(flip),
                        Split::Flip(flip) => child.decided.kept.push(flip),
                        Split::Row(node, of, count) => {
                            child.decided.limit_row(node, evaluator.row(node), of, count, side);
                        }
                    }
                    waiting.push(child);
                }
            }
        }
    }
    // What was looked at last may have been given up.
    let gave_up = !evaluator.is_enough(closed) && clock.is_late();
    TreeOutcome { lower: closed.min(proved), open: closed, nodes, gave_up }
}
