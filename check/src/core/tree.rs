//! Trees: the splits of an accepted one cover every perturbation.

use std::cmp::Ordering;

use super::path::Path;
use super::scope::Scope;
use crate::format::{LARGEST_TREE, LONGEST_PATH, Step};
use crate::number::Dyadic;
use crate::verdict::Reason;
use crate::work::Meter;

/// Steps for a split of a path: it is compared with others, and sorted in for every leaf.
const STEP: u64 = 32;

impl Scope<'_> {
    /// Accepts a tree if it covers all perturbations and `leaf` accepts every leaf, by its place in the list, on its
    /// path.
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
                &Step::Row(node, ..) => self.row(node).map_err(here)?,
                Step::Leaf(_) | Step::Hints(_) => {
                    leaf(at, &self.path(&open)).map_err(here)?;
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

    /// The path of the open splits.
    fn path(&self, open: &[(&Step, bool)]) -> Path {
        let mut path = Path::default();
        for (split, second) in open {
            path.follow(split, *second, self.network.graph);
        }
        path
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
