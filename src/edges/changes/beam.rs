//! Attacks on a whole graph by several changes: a beam search in plain floats over the changes that take most by
//! themselves (docs/math.md §24.7). What it finds is judged as every attack is.

use std::collections::HashSet;

use crate::edges::budget::Edge;
use crate::edges::changes::menu::{ChangeMenu, EdgeFlip};
use crate::edges::changes::search::EVALUATION;
use crate::edges::changes::sets::{Head, Sets};
use crate::edges::changes::trial::Floats;
use crate::problem::pace::Pace;

/// Sets that are gone on with, and changes that are added.
const WIDTH: usize = 12;
const CANDIDATES: usize = 256;

/// A set, and what it does to the margin.
struct Found {
    change: f64,
    set: Vec<EdgeFlip>,
}

/// A set of changes that breaks a class whose margin is this, as far as floats can tell. `singles` are sorted by what
/// they do.
pub(crate) fn beam(
    whole: &ChangeMenu,
    head: &Head,
    margin: f64,
    singles: &[(EdgeFlip, f64)],
    pace: &Pace,
) -> Option<Vec<EdgeFlip>> {
    let floats = Floats::new(whole)?;
    let mut sets = Sets::new(&floats, std::slice::from_ref(head), &floats.largest(), whole.budget)?;
    let candidates: Vec<EdgeFlip> = singles.iter().take(CANDIDATES).map(|single| single.0).collect();
    let mut best: Vec<Vec<EdgeFlip>> = candidates.iter().take(WIDTH).map(|&flip| vec![flip]).collect();
    for _ in 1..whole.budget {
        let mut next: Vec<Found> = Vec::new();
        let mut looked: HashSet<Vec<Edge>> = HashSet::new();
        for set in &best {
            for &flip in candidates.iter().filter(|flip| !set.contains(flip)) {
                let larger: Vec<EdgeFlip> = set.iter().copied().chain([flip]).collect();
                if !whole.admits(&larger) || !looked.insert(whole.with(&larger)) {
                    continue;
                }
                if pace.is_late_for(EVALUATION / 8) {
                    return None;
                }
                // Of sets with larger messages than floats are bounded for nothing is known.
                let Some(&[change]) = sets.least(&larger) else { continue };
                if margin + change <= 0.0 {
                    return Some(larger);
                }
                next.push(Found { change, set: larger });
            }
        }
        next.sort_by(|x, y| x.change.total_cmp(&y.change));
        best = next.into_iter().take(WIDTH).map(|found| found.set).collect();
    }
    None
}
