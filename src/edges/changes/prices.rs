//! The price of a change, in all and at a node: the least that a set of open changes can leave of a margin
//! (docs/math.md (24.6)).

use std::collections::BTreeMap;

use crate::edges::changes::carried::PairBound;
use crate::edges::changes::menu::ChangeMenu;
use crate::edges::changes::span::{down, up};

/// What a change costs: `mu` in all, and so much at each of these nodes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ChangePrices {
    /// `μ`.
    pub mu: f64,
    /// `ν` where it is not 0, ascending by node.
    pub nu: Vec<(u32, f64)>,
    /// Are coefficients handed back from the margin?
    pub back: bool,
    /// Are insertions away from the target bounded by lists?
    pub lists: bool,
}

/// The best prices that were found.
pub(crate) struct PricedChanges {
    pub(crate) prices: ChangePrices,
    /// Not above the margin after any set.
    pub(crate) lower: f64,
    /// Is that above 0, clearly? What is not leaves nothing to a checker's own rounding.
    pub(crate) clears: bool,
}

/// Rounds of improvement.
const ROUNDS: usize = 4;

/// The `count`-th largest of some numbers, counted from 0; 0 if there are fewer, or if it is negative.
fn ranked(mut numbers: Vec<f64>, count: usize) -> f64 {
    if count >= numbers.len() {
        return 0.0;
    }
    let (_, &mut x, _) = numbers.select_nth_unstable_by(count, |a, b| b.total_cmp(a));
    x.max(0.0)
}

/// Prices for a class pair.
pub(crate) fn priced(menu: &ChangeMenu, pair: &PairBound, back: bool) -> PricedChanges {
    let lists = menu.near.is_some();
    let losses: Vec<(f64, Vec<u32>)> = pair
        .effect
        .iter()
        .zip(&menu.flips)
        .filter(|(effect, _)| **effect < 0.0)
        .map(|(effect, flip)| (-effect, menu.setting.budget.counted(flip.edge).collect()))
        .collect();
    let mut at: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    for (place, (_, ends)) in losses.iter().enumerate() {
        ends.iter().for_each(|&end| at.entry(end).or_default().push(place));
    }
    at.retain(|&node, places| menu.cap(node) < places.len().min(menu.budget));
    let mut nu: BTreeMap<u32, f64> = BTreeMap::new();
    let rest = |place: usize, mu: f64, nu: &BTreeMap<u32, f64>| {
        let (loss, ends) = &losses[place];
        ends.iter().fold(loss - mu, |rest, end| rest - nu.get(end).copied().unwrap_or(0.0))
    };
    let all = |nu: &BTreeMap<u32, f64>| (0..losses.len()).map(|place| rest(place, 0.0, nu)).collect::<Vec<f64>>();
    let mut mu = ranked(all(&nu), menu.budget);
    let mut best = (ChangePrices { mu, nu: Vec::new(), back, lists }, total(menu, &losses, mu, &nu));
    for _ in 0..if at.is_empty() { 0 } else { ROUNDS } {
        for (&node, places) in &at {
            nu.remove(&node);
            let rests = places.iter().map(|&place| rest(place, mu, &nu)).collect();
            let price = ranked(rests, menu.cap(node));
            if price > 0.0 {
                nu.insert(node, price);
            }
        }
        mu = ranked(all(&nu), menu.budget);
        let found = total(menu, &losses, mu, &nu);
        if found < best.1 {
            best =
                (ChangePrices { mu, nu: nu.iter().map(|(&node, &price)| (node, price)).collect(), back, lists }, found);
        }
    }
    let (prices, loss) = best;
    let lower = if loss == 0.0 { pair.base.lo } else { down(pair.base.lo - loss) };
    let clears = lower > 1e-9 * (loss + pair.base.lo.abs());
    PricedChanges { prices, lower, clears }
}

/// What a set can take at most, by these prices, rounded up.
fn total(menu: &ChangeMenu, losses: &[(f64, Vec<u32>)], mu: f64, nu: &BTreeMap<u32, f64>) -> f64 {
    let mut sum = up(mu * menu.budget as f64);
    for (&node, &price) in nu {
        sum = up(sum + up(price * menu.cap(node) as f64));
    }
    for (loss, ends) in losses {
        let rest = ends.iter().fold(up(loss - mu), |rest, end| match nu.get(end) {
            Some(price) => up(rest - price),
            None => rest,
        });
        if rest > 0.0 {
            sum = up(sum + rest);
        }
    }
    if losses.is_empty() { 0.0 } else { sum }
}
