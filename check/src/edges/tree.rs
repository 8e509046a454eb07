//! Trees: the leaves of a well-formed one are about all sets of relevant edges, up to exchanges that change no logit.

use super::cost;
use super::ground::Ground;
use super::line::EdgeStep;
use super::state::State;
use crate::format::{LARGEST_TREE, LONGEST_PATH};
use crate::ids::Edge;
use crate::verdict::Reason;
use crate::work::Meter;

/// A split on the path.
struct Split {
    edge: usize,
    /// What its first subtree leaves alone.
    group: Vec<usize>,
    /// Has its second subtree begun?
    second: bool,
}

/// Accepts a tree if it covers all sets and `leaf` accepts every leaf in its state; otherwise the place of what is
/// wrong.
pub fn walk(
    ground: &Ground,
    budget: usize,
    tree: &[EdgeStep],
    meter: &Meter,
    mut leaf: impl FnMut(&State, &EdgeStep) -> Result<(), Reason>,
) -> Result<(), (usize, Reason)> {
    if tree.len() > LARGEST_TREE {
        return Err((LARGEST_TREE, Reason::TooLarge(format!("more than {LARGEST_TREE} nodes in a tree"))));
    }
    let mut state = State::new(ground, budget);
    let mut open: Vec<Split> = Vec::new();
    let mut complete = false;
    for (at, step) in tree.iter().enumerate() {
        let here = |reason| (at, reason);
        meter.spend(cost::EDGE.saturating_mul(ground.edges.len() as u64 + 1)).map_err(here)?;
        if complete {
            return Err(here(Reason::Trailing));
        }
        if let &EdgeStep::Edge(i, j) = step {
            let edge = free(&state, (i, j)).map_err(here)?;
            if open.len() == LONGEST_PATH {
                return Err(here(Reason::TooLarge(format!("more than {LONGEST_PATH} splits on a path"))));
            }
            let group = state.group(edge);
            state.keep(&group, true);
            open.push(Split { edge, group, second: false });
            continue;
        }
        leaf(&state, step).map_err(here)?;
        while let Some(split) = open.pop_if(|split| split.second) {
            state.restore(split.edge);
        }
        match open.last_mut() {
            Some(split) => {
                split.second = true;
                state.keep(&split.group, false);
                state.remove(split.edge);
            }
            None => complete = true,
        }
    }
    if complete { Ok(()) } else { Err((tree.len(), Reason::Incomplete)) }
}

/// The place of an edge that is free.
pub fn free(state: &State, edge: Edge) -> Result<usize, Reason> {
    let found = state.ground.edge(edge).filter(|&place| state.is_free(place));
    found.ok_or(Reason::NotFree(edge))
}
