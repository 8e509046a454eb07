//! Brute force: the margin at every admissible perturbation, one after the other.

use thiserror::Error;

use crate::instance::{Flip, Instance};
use crate::matrix::Dense;

/// The smallest margin over all admissible perturbations.
#[derive(Clone, Debug, PartialEq)]
pub struct Minimum {
    /// The worst-case margin `m`, in plain f64.
    pub margin: f64,
    /// The first perturbation that attains it; the empty one is tried first.
    pub flips: Vec<Flip>,
    /// How many perturbations were tried: all of them.
    pub count: u128,
}

/// There are more perturbations than the caller wants to wait for.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("there are {0} admissible perturbations, more than the limit")]
pub struct TooMany(
    /// Their number; `u128::MAX` stands for "that many or more".
    pub u128,
);

/// Finds the worst case by trying every admissible perturbation, if there are at most `limit`.
/// Panics if the instance is not valid; its bounds are not looked at.
pub fn minimum(instance: &Instance, limit: u128) -> Result<Minimum, TooMany> {
    let mut best: Option<(f64, Vec<Flip>)> = None;
    let count = visit(instance, limit, |flips| {
        let margin = instance.forward(flips);
        if best.as_ref().is_none_or(|(least, _)| margin < *least) {
            best = Some((margin, flips.to_vec()));
        }
    })?;
    let (margin, flips) = best.expect("the empty perturbation is always admissible");
    Ok(Minimum { margin, flips, count })
}

/// The smallest and the largest value that each pre-activation `Ĥ(2) … Ĥ(L)` takes: bounds, by trying everything.
pub fn extremes(instance: &Instance, limit: u128) -> Result<(Vec<Dense>, Vec<Dense>), TooMany> {
    let mut lower = instance.pre_activations(&[]);
    let mut upper = lower.clone();
    visit(instance, limit, |flips| {
        for (at, now) in instance.pre_activations(flips).iter().enumerate() {
            let known = lower[at].values.iter_mut().zip(&mut upper[at].values);
            for ((low, high), &value) in known.zip(&now.values) {
                *low = low.min(value);
                *high = high.max(value);
            }
        }
    })?;
    Ok((lower, upper))
}

/// Shows every admissible perturbation once, the empty one first. Counts before it starts.
pub fn visit(instance: &Instance, limit: u128, mut look: impl FnMut(&[Flip])) -> Result<u128, TooMany> {
    let count = count(instance);
    if count > limit {
        return Err(TooMany(count));
    }
    let candidates: Vec<Flip> = (0..instance.nodes())
        .flat_map(|node| instance.flippable(node).into_iter().map(move |attribute| (node, attribute)))
        .collect();
    let mut left = instance.local_budget.clone();
    extend(&candidates, &mut left, instance.global_budget, &mut Vec::new(), &mut look);
    Ok(count)
}

/// Shows `chosen`, then everything that adds later candidates to it.
fn extend(
    candidates: &[Flip],
    left: &mut [usize],
    global: usize,
    chosen: &mut Vec<Flip>,
    look: &mut impl FnMut(&[Flip]),
) {
    look(chosen);
    if global == 0 {
        return;
    }
    for (at, &flip) in candidates.iter().enumerate() {
        if left[flip.0] > 0 {
            left[flip.0] -= 1;
            chosen.push(flip);
            extend(&candidates[at + 1..], left, global - 1, chosen, look);
            chosen.pop();
            left[flip.0] += 1;
        }
    }
}

/// The number of admissible perturbations: `Σ_{k ≤ Q} [z^k] Π_n Σ_{i ≤ q_n} C(F_n, i) z^i` with `F_n` flippable entries
/// in row `n`. Exact below 2^100, beyond that it saturates at `u128::MAX`.
pub fn count(instance: &Instance) -> u128 {
    let rows: Vec<(usize, usize)> = (0..instance.nodes())
        .map(|node| {
            let flippable = instance.flippable(node).len();
            (flippable, flippable.min(instance.local_budget[node]))
        })
        .collect();
    let longest = rows.iter().map(|row| row.1).sum::<usize>().min(instance.global_budget);
    if longest >= 128 {
        // Some 128 flips may be made together, hence each of their 2^128 subsets.
        return u128::MAX;
    }
    // by_length[k]: the number of perturbations of the rows so far that have exactly k flips.
    let mut by_length = vec![0u128; longest + 1];
    by_length[0] = 1;
    for (flippable, budget) in rows {
        let mut next = vec![0u128; longest + 1];
        for (length, &ways) in by_length.iter().enumerate() {
            for more in 0..=budget.min(longest - length) {
                let product = ways.saturating_mul(choose(flippable, more));
                next[length + more] = next[length + more].saturating_add(product);
            }
        }
        by_length = next;
    }
    by_length.into_iter().fold(0, u128::saturating_add)
}

/// The binomial coefficient, saturating.
fn choose(of: usize, some: usize) -> u128 {
    let mut result = 1u128;
    for step in 0..some.min(of - some) {
        match result.checked_mul((of - step) as u128) {
            Some(product) => result = product / (step as u128 + 1),
            None => return u128::MAX,
        }
    }
    result
}
