//! Compares what the certifier says of a node with the truth.

use std::cmp::Ordering;

use gcnproof::{Margin, NodeResult, Reason, Verdict};

use crate::case::Case;
use crate::exact::Exact;
use crate::finding::{Counts, Kind};
use crate::tested::How;
use crate::truth::{Margins, Truth};

/// Everything that is wrong with a result.
pub fn compare(
    case: &Case,
    how: How,
    result: &NodeResult,
    truth: &Truth,
    oracle: &dyn Margins,
    counts: &Counts,
) -> Vec<(Kind, String)> {
    let mut wrong = Vec::new();
    let (Some(reference), Some(robust)) = (truth.reference, truth.robust()) else { return wrong };
    if result.predicted != truth.predicted || result.reference != reference {
        let (p, r) = (result.predicted, result.reference);
        wrong.push((
            Kind::Verdict,
            format!("predicted {p}, reference {r}; true are {} and {reference}", truth.predicted),
        ));
        return wrong;
    }
    Counts::add(&counts.verdicts, 1);
    Counts::add(&counts.robust, usize::from(robust));
    match result.verdict {
        Verdict::Robust if !robust => wrong.push((Kind::Verdict, "said to be robust, which is false".into())),
        Verdict::NonRobust if robust => wrong.push((Kind::Verdict, "said to be non-robust, which is false".into())),
        Verdict::Undecided if how.decides() && result.limit_hit => {
            wrong.push((Kind::Slow, format!("no end of the search after some seconds; robust is {robust}")));
        }
        Verdict::Undecided if how.decides() => {
            wrong.push((Kind::Undecided, format!("undecided ({}), but robust is {robust}", result.reason.name())));
        }
        _ => {}
    }
    for (name, claim) in [("paper", result.details.paper_certifies), ("anchored", result.details.anchored_certifies)] {
        if claim == Some(true) && !robust {
            wrong.push((Kind::Verdict, format!("the {name} bound is said to certify, which is false")));
        }
    }
    if result.verdict == Verdict::NonRobust {
        Counts::add(&counts.witnesses, 1);
        if let Err(problem) = replay(case, result, reference, oracle) {
            wrong.push((Kind::Verdict, format!("witness {:?}: {problem}", result.witness)));
        }
    }
    for margin in &result.margins {
        let Some(Some(exact)) = truth.margins.get(margin.class) else {
            wrong.push((Kind::Margin, format!("a margin of class {}", margin.class)));
            continue;
        };
        Counts::add(&counts.margins, 1);
        wrong.extend(compare_margin(how, result.limit_hit, margin, exact));
    }
    wrong
}

fn compare_margin(how: How, limit_hit: bool, margin: &Margin, exact: &Exact) -> Option<(Kind, String)> {
    let Margin { class, lower, upper, .. } = *margin;
    let near = exact.approximate();
    // Most bounds are so far away that a float can tell.
    let clear = |bound: f64, sign: f64| {
        near.is_finite() && near.abs() > 1e-290 && sign * (near - bound) > 1e-9 * near.abs().max(bound.abs())
    };
    if lower.is_nan() || (!clear(lower, 1.0) && exact.compare_f64(lower) == Ordering::Less) {
        return Some((Kind::Margin, format!("class {class}: the margin {near:e} is below the lower bound {lower:e}")));
    }
    if upper.is_nan() || (!clear(upper, -1.0) && exact.compare_f64(upper) == Ordering::Greater) {
        return Some((Kind::Margin, format!("class {class}: the margin {near:e} is above the upper bound {upper:e}")));
    }
    // Exact margins are promised unless a limit was hit.
    if how == How::Minimize && !limit_hit {
        let width = upper - lower;
        let smallest = f64::from_bits(2);
        // A margin beyond the largest number lies between it and infinity, and no two floats are closer.
        if !(width <= 1e-6 * near.abs()
            || width <= smallest
            || upper <= lower.next_up()
            || (exact.sign() == Ordering::Equal && width <= 1e-9))
        {
            let text = format!("class {class}: the margin {near:e} is only known to lie in [{lower:e}, {upper:e}]");
            return Some((Kind::Wide, text));
        }
    }
    None
}

/// Is the witness admissible, and is some margin not positive after it?
fn replay(case: &Case, result: &NodeResult, reference: usize, oracle: &dyn Margins) -> Result<(), String> {
    let mut flips: Vec<(usize, usize)> =
        result.witness.iter().map(|flip| (flip.node as usize, flip.attribute as usize)).collect();
    admissible(case, &mut flips)?;
    let least = (0..case.classes())
        .filter(|&class| class != reference)
        .map(|class| oracle.margin(result.node, reference, class, &flips).sign())
        .min();
    match least {
        Some(Ordering::Greater) | None => Err("every margin is positive after it".into()),
        Some(Ordering::Equal) if result.reason != Reason::Tie => Err("a tie that is not said to be one".into()),
        Some(Ordering::Less) if result.reason == Reason::Tie => Err("no tie, but said to be one".into()),
        Some(_) => Ok(()),
    }
}

/// Sorts flips and tells what makes them inadmissible.
///
/// # Errors
/// If they are not admissible.
pub fn admissible(case: &Case, flips: &mut [(usize, usize)]) -> Result<(), String> {
    flips.sort_unstable();
    if flips.windows(2).any(|pair| pair[0] == pair[1]) {
        return Err("a flip is made twice".into());
    }
    if flips.len() as u64 > case.budget.global {
        return Err("more flips than the global budget".into());
    }
    for &(node, attribute) in flips.iter() {
        if node >= case.nodes() || attribute >= case.entries() {
            return Err(format!("no entry ({node}, {attribute})"));
        }
        if !case.permits(node, attribute) {
            return Err(format!("({node}, {attribute}) is not permitted"));
        }
        if flips.iter().any(|other| case.exclude_each_other((node, attribute), *other)) {
            return Err(format!("two changes of one group at node {node}"));
        }
        if flips.iter().filter(|flip| flip.0 == node).count() as u64 > case.budget.local[node] {
            return Err(format!("more flips at node {node} than its budget"));
        }
    }
    Ok(())
}
