//! Trees: do the splits cover every perturbation, and is every leaf's bound above zero?
//!
//! No recursion: the list is in preorder, and the open splits are a stack.

use std::cmp::Ordering;

use crate::budget::Flip;
use crate::envelope::Envelope;
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
            match scaled(numerator, leaf.exponent) {
                Some(value) if (0.0..=most).contains(&value) => list.push((id, value)),
                _ => return Err(Reason::MultiplierRange(name, id)),
            }
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
    let envelope =
        leaf.envelope.as_ref().map(|stated| Envelope::admissible(problem, stated, leaf.exponent)).transpose()?;
    Ok(Multipliers { weight, slope, beta, dual: leaf.dual, cap: leaf.cap, envelope })
}

/// `numerator · 2^exponent`; `None` where one of them is out of range.
pub(crate) fn scaled(numerator: i64, exponent: i32) -> Option<f64> {
    let power = match exponent {
        -1022..=900 => f64::from_bits(((exponent + 1023) as u64) << 52),
        -1074..=-1023 => f64::from_bits(1 << (exponent + 1074)),
        _ => return None,
    };
    // At most 54 bits with one set beyond 53, and an exponent in range: the float is exact.
    (numerator.unsigned_abs() <= 1 << 53).then_some(numerator as f64 * power)
}
