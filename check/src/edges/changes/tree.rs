//! Trees: the leaves of a well-formed one are about all admissible sets.

use super::path::ChangePath;
use crate::edges::line::EdgeStep;
use crate::format::{LARGEST_TREE, LONGEST_PATH};
use crate::ids::Edge;
use crate::verdict::Reason;
use crate::work::Meter;

/// Steps of [`crate::work`] for an element of a tree.
const STEP: u64 = 256;

/// Accepts a tree if it covers all sets and `leaf` accepts every leaf; otherwise the place of what is wrong.
pub fn walk(
    path: &mut ChangePath,
    tree: &[EdgeStep],
    meter: &Meter,
    mut leaf: impl FnMut(&ChangePath, &EdgeStep) -> Result<(), Reason>,
) -> Result<(), (usize, Reason)> {
    if tree.len() > LARGEST_TREE {
        return Err((LARGEST_TREE, Reason::TooLarge(format!("more than {LARGEST_TREE} nodes in a tree"))));
    }
    // Splits on the path, and whether their second subtrees have begun.
    let mut open: Vec<(Edge, bool)> = Vec::new();
    let mut complete = false;
    for (at, step) in tree.iter().enumerate() {
        let here = |reason| (at, reason);
        meter.spend(STEP).map_err(here)?;
        if complete {
            return Err(here(Reason::Trailing));
        }
        if let &EdgeStep::Edge(i, j) = step {
            if open.len() == LONGEST_PATH {
                return Err(here(Reason::TooLarge(format!("more than {LONGEST_PATH} splits on a path"))));
            }
            if !path.is_free((i, j)) {
                return Err(here(Reason::NotFree((i, j))));
            }
            path.keep((i, j));
            open.push(((i, j), false));
            continue;
        }
        leaf(path, step).map_err(here)?;
        while let Some((edge, _)) = open.pop_if(|split| split.1) {
            path.restore(edge);
        }
        match open.last_mut() {
            Some((edge, second)) => {
                *second = true;
                path.change_kept(*edge);
            }
            None => complete = true,
        }
    }
    if complete { Ok(()) } else { Err((tree.len(), Reason::Incomplete)) }
}
