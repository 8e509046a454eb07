//! Checks of trees (the splits cover every perturbation) and of witnesses (the flips break the class).

use std::cmp::Ordering;

use super::dyadic::Dyadic;
use super::leaf::Path;
use crate::format::Step;
use crate::hints::Unit;
use crate::reason::Reason;
use crate::statement::{Budget, Decided, Flip, Network, Slice};
use crate::work::Meter;

/// Nodes of a tree, at most.
pub const LARGEST_TREE: usize = 1 << 20;

/// Splits on a path, at most.
pub const LONGEST_PATH: usize = 1024;

/// Steps for a split of a path: it is compared with others, and sorted in for every leaf.
const STEP: u64 = 32;

/// What units and flips of a tree are checked against.
pub struct Scope<'a> {
    pub network: &'a Network<'a>,
    pub budget: &'a Budget<'a>,
    pub slice: &'a Slice,
}

impl Scope<'_> {
    /// Refuses what is no hidden unit of the slice.
    pub fn hidden_unit(&self, unit: Unit) -> Result<Unit, Reason> {
        let (layer, place) = (unit.0 as usize, unit.2 as usize);
        let hidden = (2..self.slice.top()).contains(&layer) && place < self.network.widths[layer];
        if hidden && self.slice.place(layer, unit.1).is_some() { Ok(unit) } else { Err(Reason::Unit(unit)) }
    }

    /// Refuses what is no hidden unit of the slice, or has no activation: there is nothing to split or to replace by a line.
    pub fn unit(&self, unit: Unit) -> Result<Unit, Reason> {
        let (layer, _, place) = self.hidden_unit(unit)?;
        if self.network.is_linear(layer as usize, place as usize) { Err(Reason::Linear(unit)) } else { Ok(unit) }
    }

    /// Refuses a node whose attributes do not concern the target.
    pub fn node(&self, node: u32) -> Result<(), Reason> {
        self.slice.place(1, node).map(|_| ()).ok_or(Reason::HintNode(node))
    }

    /// Refuses what is no permitted flip of the slice.
    pub fn flip(&self, flip: Flip) -> Result<Flip, Reason> {
        self.budget.require(flip)?;
        self.slice.place(1, flip.0).map(|_| flip).ok_or(Reason::Outside(flip))
    }

    /// Accepts a tree if it covers all perturbations and `leaf` accepts every leaf, by its place in the list, on its path.
    pub fn tree(
        &self,
        tree: &[Step],
        meter: &Meter,
        mut leaf: impl FnMut(usize, &Path) -> Result<(), Reason>,
    ) -> Result<(), (usize, Reason)> {
        if tree.len() > LARGEST_TREE {
            return Err((LARGEST_TREE, Reason::TooLarge(format!("more than {LARGEST_TREE} nodes in a tree"))));
        }
        // Open splits, and whether their second subtree has begun.
        let mut open: Vec<(&Step, bool)> = Vec::new();
        let mut complete = false;
        for (at, step) in tree.iter().enumerate() {
            let here = |reason| (at, reason);
            meter.spend(STEP * (1 + open.len() as u64)).map_err(here)?;
            if complete {
                return Err((at, Reason::Trailing));
            }
            match step {
                &Step::Unit(layer, node, unit) => drop(self.unit((layer, node, unit)).map_err(here)?),
                &Step::Flip(node, attribute) => drop(self.flip((node, attribute)).map_err(here)?),
                Step::Leaf(_) | Step::Hints(_) => {
                    leaf(at, &path(&open)).map_err(here)?;
                    while open.pop_if(|split| split.1).is_some() {}
                    match open.last_mut() {
                        Some(split) => split.1 = true,
                        None => complete = true,
                    }
                    continue;
                }
            }
            if open.iter().any(|known| known.0 == step) {
                return Err((at, Reason::SplitTwice));
            }
            if open.len() == LONGEST_PATH {
                return Err((at, Reason::TooLarge(format!("more than {LONGEST_PATH} splits on a path"))));
            }
            open.push((step, false));
        }
        if complete { Ok(()) } else { Err((tree.len(), Reason::Incomplete)) }
    }

    /// The flips of a witness, if they are an admissible set.
    pub fn witness(&self, flips: &[Flip]) -> Result<Decided, Reason> {
        for (at, &flip) in flips.iter().enumerate() {
            self.budget.require(flip)?;
            if at > 0 && flips[at - 1] >= flip {
                return Err(Reason::FlipOrder(flip));
            }
        }
        let made = Decided::made(flips);
        if made.overspent(self.budget) { Err(Reason::Budget) } else { Ok(made) }
    }
}

/// Is this the class with the largest logit, and the smallest number among equals?
pub fn is_predicted(logits: &[Dyadic], class: u32) -> bool {
    let own = &logits[class as usize];
    logits.iter().enumerate().all(|(other, logit)| match own.cmp(logit) {
        Ordering::Greater => true,
        Ordering::Equal => class as usize <= other,
        Ordering::Less => false,
    })
}

/// The path of the open splits.
fn path(open: &[(&Step, bool)]) -> Path {
    let mut path = Path::default();
    for (split, second) in open {
        match **split {
            Step::Unit(layer, node, unit) => path.units.push(((layer, node, unit), !second)),
            Step::Flip(node, attribute) => {
                path.decided.fixed.push((node, attribute));
                path.decided.flipped.extend(second.then_some((node, attribute)));
            }
            Step::Leaf(_) | Step::Hints(_) => {}
        }
    }
    path.units.sort_unstable();
    path.decided.fixed.sort_unstable();
    path.decided.flipped.sort_unstable();
    path
}
