//! A record of a search: its tree, each branch with what closed it, from which a proof is written.
//!
//! A branch counts as closed as soon as a bound on all of it exceeds what the proof is to show: what a search for the
//! exact margin does below it proves nothing more.

use std::collections::BTreeMap;

use gcnproof_check::format::{self, Envelope, Leaf, Step};

use crate::problem::budget::RowSide;
use gcnproof_check::{LARGEST_TREE, LONGEST_LINE, LONGEST_PATH};

use crate::bound::backward::UnitPlace;
use crate::proof::{Missing, PairProof};

use super::tree::{Branch, Split};

/// Bytes of a proof beyond which a tree is not kept; two such trees still fit into a line.
const LARGEST: usize = LONGEST_LINE / 3;

/// How a branch was dealt with: split, or closed by a leaf.
enum BranchRecord {
    Split(Split),
    Closed(Box<Leaf>),
}

/// The tree of one class pair.
pub(crate) struct Trace {
    /// What the proof shows that every margin exceeds.
    enough: f64,
    entries: BTreeMap<usize, BranchRecord>,
    /// The branches on both sides of a split.
    children: BTreeMap<(usize, bool), usize>,
    bytes: usize,
}

impl Trace {
    /// An empty record of a search for margins above `enough`.
    pub(crate) fn new(enough: f64) -> Trace {
        Trace { enough, entries: BTreeMap::new(), children: BTreeMap::new(), bytes: 0 }
    }

    /// Is a bound on all of this branch that is large enough still wanted?
    pub(crate) fn wants(&self, branch: &Branch) -> bool {
        branch.bound <= self.enough && !self.entries.contains_key(&branch.serial)
    }

    /// A bound on all of the branch is large enough, or no perturbation is in it.
    pub(crate) fn close(&mut self, branch: &Branch, leaf: Leaf) {
        let bytes = 16
            + 20 * (leaf.weight.len() + leaf.beta.len())
            + leaf.envelope.as_ref().map_or(0, |envelope| size(envelope));
        self.keep(branch, BranchRecord::Closed(Box::new(leaf)), bytes);
    }

    /// Records on what the branch was split.
    pub(crate) fn split(&mut self, branch: &Branch, split: Split) {
        self.keep(branch, BranchRecord::Split(split), 40);
    }

    fn keep(&mut self, branch: &Branch, entry: BranchRecord, bytes: usize) {
        self.bytes = self.bytes.saturating_add(bytes);
        if self.bytes > LARGEST {
            self.entries.clear();
            self.children.clear();
        } else if self.wants(branch) {
            self.entries.insert(branch.serial, entry);
            if let Some(origin) = branch.origin {
                self.children.insert(origin, branch.serial);
            }
        }
    }

    /// The tree in preorder. `unit` names a unit of the slice by its node and its number.
    pub(crate) fn proof(mut self, unit: impl Fn(usize, usize) -> (u32, u32)) -> Result<PairProof, Missing> {
        let mut tree = Vec::new();
        let mut waiting = vec![(0, 0)];
        while let Some((serial, depth)) = waiting.pop() {
            if self.bytes > LARGEST || tree.len() >= LARGEST_TREE || depth > LONGEST_PATH {
                return Err(Missing::TreeTooLarge);
            }
            match self.entries.remove(&serial) {
                Some(BranchRecord::Closed(leaf)) => tree.push(Step::Leaf(leaf)),
                Some(BranchRecord::Split(split)) => {
                    // The format has the active side of a unit first, and the side that spares a flip.
                    let first = match split {
                        Split::Unit(at) => {
                            let (node, number) = unit(2, at);
                            tree.push(Step::Unit(2, node, number));
                            true
                        }
                        Split::Above(UnitPlace { l, at }) => {
                            let (node, number) = unit(l, at);
                            tree.push(Step::Unit(l as u32, node, number));
                            true
                        }
                        Split::Flip(flip) => {
                            tree.push(Step::Flip(flip.node, flip.attribute));
                            false
                        }
                        Split::Row(node, side, count) => {
                            let side = match side {
                                RowSide::Added => format::RowSide::Added,
                                RowSide::Removed => format::RowSide::Removed,
                            };
                            tree.push(Step::Row(node, count as u32, side));
                            false
                        }
                    };
                    for side in [!first, first] {
                        let child = self.children.get(&(serial, side)).ok_or(Missing::SearchNotOver)?;
                        waiting.push((*child, depth + 1));
                    }
                }
                None => return Err(Missing::SearchNotOver),
            }
        }
        Ok(PairProof(tree))
    }
}

/// Bytes of an envelope, more or less.
fn size(envelope: &Envelope) -> usize {
    let prices: usize = envelope.units.iter().map(|unit| 6 + unit.4.len() + unit.5.len()).sum();
    8 * prices + 8 * envelope.nodes.len() + 14 * envelope.flips.len()
}
