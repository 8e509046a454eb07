//! Trees: do the splits cover every perturbation, and is every leaf's bound above zero?
//!
//! No recursion: the list is in preorder, and the open splits are a stack.

use std::cmp::Ordering;
use std::collections::HashSet;

use crate::budget::Flip;
use crate::format::{Leaf, Multiplier, Step};
use crate::interval::Interval;
use crate::line::{Multipliers, Path, Unit};
use crate::number::Number;
use crate::problem::Problem;
use crate::reason::Reason;
use crate::replay::Shown;

/// Nodes of a tree, at most.
pub const LARGEST_TREE: usize = 1 << 20;

/// Splits on a path, at most.
pub const LONGEST_PATH: usize = 1024;

/// A split on the current path.
#[derive(Clone, Copy, PartialEq)]
enum Split {
    Unit(Unit),
    Flip(Flip),
}

/// Accepts a tree that proves `logit(reference) > logit(class)`.
///
/// # Errors
/// The place of the first wrong node in the list, and what is wrong.
pub(crate) fn check(problem: &mut Problem, reference: u32, class: u32, tree: &[Step]) -> Result<(), (usize, Reason)> {
    if tree.len() > LARGEST_TREE {
        return Err((LARGEST_TREE, Reason::TooLarge(format!("more than {LARGEST_TREE} nodes in a tree"))));
    }
    // Open splits, and whether their second subtree has begun.
    let mut path: Vec<(Split, bool)> = Vec::new();
    let mut complete = false;
    for (at, step) in tree.iter().enumerate() {
        let here = |reason| (at, reason);
        if complete {
            return Err((at, Reason::Trailing));
        }
        let split = match step {
            &Step::Unit(layer, node, unit) => Some(problem.unit((layer, node, unit)).map(Split::Unit).map_err(here)?),
            &Step::Flip(node, attribute) => Some(problem.flip((node, attribute)).map(Split::Flip).map_err(here)?),
            Step::Leaf(leaf) => {
                check_leaf(problem, reference, class, &path, leaf).map_err(here)?;
                None
            }
        };
        match split {
            Some(split) if path.iter().any(|open| open.0 == split) => return Err((at, Reason::SplitTwice)),
            Some(_) if path.len() == LONGEST_PATH => {
                return Err((at, Reason::TooLarge(format!("more than {LONGEST_PATH} splits on a path"))));
            }
            Some(split) => path.push((split, false)),
            None => {
                while path.pop_if(|open| open.1).is_some() {}
                match path.last_mut() {
                    Some(open) => open.1 = true,
                    None => complete = true,
                }
            }
        }
    }
    if complete { Ok(()) } else { Err((tree.len(), Reason::Incomplete)) }
}

fn check_leaf(
    problem: &mut Problem,
    reference: u32,
    class: u32,
    splits: &[(Split, bool)],
    leaf: &Leaf,
) -> Result<(), Reason> {
    let mut path = Path::default();
    for &(split, second) in splits {
        match split {
            Split::Unit(unit) => path.units.push((unit, !second)),
            Split::Flip(flip) => {
                path.decided.fixed.push(flip);
                if second {
                    path.decided.flipped.push(flip);
                }
            }
        }
    }
    path.units.sort_unstable();
    path.decided.fixed.sort_unstable();
    path.decided.flipped.sort_unstable();
    let multipliers = admissible(problem, &path, leaf)?;
    if !problem.exact_only {
        match problem.rounded.bound(reference, class, &path, &multipliers) {
            Shown::Nothing | Shown::Positive => return Ok(()),
            Shown::Bound(bound) => match bound.sign() {
                Some(Ordering::Greater) => return Ok(()),
                Some(_) => return Err(Reason::Bound(bound)),
                None => {}
            },
            Shown::Undecided => {}
        }
    }
    match problem.exact().bound(reference, class, &path, &multipliers) {
        Shown::Nothing | Shown::Positive => Ok(()),
        Shown::Bound(bound) if bound.sign() == Some(Ordering::Greater) => Ok(()),
        Shown::Bound(bound) => Err(Reason::Bound(bound.enclosure())),
        // Exact numbers decide everything; if they did not, nothing would be proved.
        Shown::Undecided => Err(Reason::Bound(Interval { lower: f64::NEG_INFINITY, upper: f64::INFINITY })),
    }
}

/// The multipliers of a leaf as floats, if they are admissible.
fn admissible(problem: &Problem, path: &Path, leaf: &Leaf) -> Result<Multipliers, Reason> {
    let list = |name: &'static str, entries: &[Multiplier], most: f64| -> Result<Vec<(Unit, f64)>, Reason> {
        let mut list: Vec<(Unit, f64)> = Vec::with_capacity(entries.len());
        for &(layer, node, unit, numerator) in entries {
            let id = problem.unit((layer, node, unit))?;
            if list.last().is_some_and(|last| last.0 >= id) {
                return Err(Reason::MultiplierOrder(name, id));
            }
            let in_range = (0..=1 << 53).contains(&numerator) && (-1074..=900).contains(&leaf.exponent);
            // At most 54 bits with one set beyond 53, and an exponent in range: the float is exact.
            let value = numerator as f64 * power_of_two(leaf.exponent);
            if !in_range || !(0.0..=most).contains(&value) {
                return Err(Reason::MultiplierRange(name, id));
            }
            list.push((id, value));
        }
        Ok(list)
    };
    let beta = list("beta", &leaf.beta, f64::MAX)?;
    let split = |id: Unit| path.units.binary_search_by_key(&id, |split| split.0).is_ok();
    if let Some(&(id, _)) = beta.iter().find(|&&(id, _)| !split(id)) {
        return Err(Reason::Unsplit(id));
    }
    if let Some(layer) = leaf.dual {
        problem.hidden(layer)?;
    }
    let (weight, slope) = (list("weight", &leaf.weight, 1.0)?, list("slope", &leaf.slope, 1.0)?);
    Ok(Multipliers { weight, slope, beta, dual: leaf.dual, cap: leaf.cap, payers: payers(problem, leaf)? })
}

/// The payers of a leaf, if they are nodes of the slice, each listed once, and there is something to pay for.
fn payers(problem: &Problem, leaf: &Leaf) -> Result<Vec<u32>, Reason> {
    if !leaf.cap && !leaf.payers.is_empty() {
        return Err(Reason::PayersWithoutCap);
    }
    let mut listed = HashSet::with_capacity(leaf.payers.len());
    for &node in &leaf.payers {
        problem.payer(node)?;
        if !listed.insert(node) {
            return Err(Reason::PayerTwice(node));
        }
    }
    Ok(leaf.payers.clone())
}

/// `2^exponent`, exactly; 0 for what no float holds, which the caller has excluded.
fn power_of_two(exponent: i32) -> f64 {
    match exponent {
        -1022..=1023 => f64::from_bits(((exponent + 1023) as u64) << 52),
        -1074..=-1023 => f64::from_bits(1 << (exponent + 1074)),
        _ => 0.0,
    }
}
