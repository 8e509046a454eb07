//! Expansion of a short leaf in exact numbers, for leaves where floats were too coarse for its hints or overflowed.

use std::ops::{Add, Mul, Sub};

use dashu_int::IBig;

use super::{KnownUnit, Real, Short, ShortLeaf, slope, unit};
use crate::core::forward::{Sent, preactivations};
use crate::core::leaf::Target;
use crate::core::path::Path;
use crate::core::select::Free;
use crate::format::exact::{ExactEnvelope, ExactHints, ExactPrices, Level, find};
use crate::number::{Dyadic, Stored};
use crate::statement::pairs;
use crate::verdict::Reason;

/// An exact number to make hints of; quotients are rounded down to multiples of `2⁻⁴⁰`.
#[derive(Clone, PartialEq, PartialOrd)]
struct Exact(Dyadic);

impl Add for Exact {
    type Output = Exact;
    fn add(self, other: Exact) -> Exact {
        Exact(&self.0 + &other.0)
    }
}

impl Sub for Exact {
    type Output = Exact;
    fn sub(self, other: Exact) -> Exact {
        Exact(&self.0 - &other.0)
    }
}

impl Mul for Exact {
    type Output = Exact;
    fn mul(self, other: Exact) -> Exact {
        Exact(&self.0 * &other.0)
    }
}

/// `⌊2⁴⁰ · part/whole⌋ / 2⁴⁰`; 0 where the quotient is not between 0 and 1.
fn quotient(part: &Dyadic, whole: &Dyadic) -> Dyadic {
    if !whole.is_positive() || part.is_negative() || part > whole {
        return Dyadic::ZERO;
    }
    let exponent = part.parts().1.min(whole.parts().1);
    let (part, whole): (IBig, IBig) = (part.at(exponent) << 40, whole.at(exponent));
    Dyadic::new(part / whole, -40)
}

impl Real for Exact {
    fn zero() -> Exact {
        Exact(Dyadic::ZERO)
    }

    fn stored(x: Stored) -> Exact {
        Exact(x.exact())
    }

    fn share(part: Exact, whole: Exact) -> Exact {
        Exact(quotient(&part.0, &whole.0))
    }
}

/// The best prices for amounts of flips, each with its node.
fn best_prices(free: &Free, amounts: &[(u32, Dyadic)], least: &Dyadic) -> ExactPrices {
    let mut sorted: Vec<&(u32, Dyadic)> = amounts.iter().collect();
    sorted.sort_by(|a, b| a.0.cmp(&b.0).then(b.1.cmp(&a.1)));
    let (mut kept, mut limits): (Vec<&Dyadic>, Vec<(u32, &Dyadic)>) = (Vec::new(), Vec::new());
    for row in sorted.chunk_by(|a, b| a.0 == b.0) {
        let left = free.left(row[0].0);
        kept.extend(row.iter().take(left).map(|one| &one.1));
        limits.extend(row.get(left).map(|next| (next.0, &next.1)));
    }
    kept.sort_by(|a, b| b.cmp(a));
    let count = free.decided.left_in_all(free.budget).unwrap_or(0);
    let every = kept.get(count).map_or(least, |next| (*next).max(least)).clone();
    let over = limits.into_iter().filter(|(_, limit)| **limit > every);
    ExactPrices { nodes: over.map(|(node, limit)| (node, limit - &every)).collect(), every }
}

/// The changes of a unit by free flips in one direction, with their nodes. Of a row those suffice that may be made
/// together, and the next: no price depends on the others.
fn changes(free: &Free, m: usize, unit: usize, upward: bool) -> Result<Vec<(u32, Dyadic)>, Reason> {
    let mut changes = Vec::new();
    let (network, width) = (free.network, free.network.widths[2]);
    for pair in pairs(&free.slice.passing(1)[m]) {
        free.meter.look()?;
        let node = free.slice.nodes(1)[pair[0].place()];
        let most = match free.left(node) {
            0 => continue,
            left => left.saturating_add(1),
        };
        let [link] = pair else {
            free.overlapping(pair, unit, upward, &Dyadic::ZERO, |_, change| changes.push((node, change)));
            continue;
        };
        let (entry, column) = (link.entry.exact(), link.part(width).start + unit);
        let change = |d: u32, present: bool| {
            let change = &entry * &network.layers[0].weight[d as usize][column];
            let change = if present == upward { -&change } else { change };
            (change.is_positive() && free.is_free(node, d, present)).then_some((node, change))
        };
        // Attributes by falling change; those that are there change the other way.
        let order = &network.falling[column];
        let rising = upward == entry.is_positive();
        let falling = (0..order.len()).map(|at| order[if rising { at } else { order.len() - 1 - at }]);
        let absent = falling.filter(|&d| !network.has(node, d)).map_while(|d| {
            let towards = &network.layers[0].weight[d as usize][column];
            (if rising { towards.is_positive() } else { towards.is_negative() }).then_some(d)
        });
        changes.extend(absent.filter_map(|d| change(d, false)).take(most));
        changes.extend(network.graph.attributes.row(node as usize).iter().filter_map(|&d| change(d, true)));
    }
    Ok(changes)
}

/// `T` and prices of the level of a unit at `z`, from the changes towards zero.
fn level(free: &Free, z: &Dyadic, changes: &[(u32, Dyadic)]) -> (Dyadic, ExactPrices) {
    let way = z.size();
    let prices = best_prices(free, changes, &Dyadic::ZERO);
    let mut kept: Vec<Dyadic> = Vec::new();
    let mut sorted: Vec<&(u32, Dyadic)> = changes.iter().collect();
    sorted.sort_by(|a, b| a.0.cmp(&b.0).then(b.1.cmp(&a.1)));
    for row in sorted.chunk_by(|a, b| a.0 == b.0) {
        kept.extend(row.iter().take(free.left(row[0].0)).map(|one| one.1.clone()));
    }
    kept.sort_by(|a, b| b.cmp(a));
    kept.truncate(free.decided.left_in_all(free.budget).unwrap_or(0));
    let (mut rest, mut share) = (Dyadic::ZERO, Dyadic::ZERO);
    for (i, change) in kept.iter().enumerate().rev() {
        let left = (&way - &rest).positive_part();
        share = share.max(quotient(&left, &(&way * &Dyadic::from(i + 1))));
        rest += change;
    }
    let level = &way * &share;
    let every = prices.every.clone().min(level.clone());
    let capped = |price: &Dyadic| &(&prices.every + price).min(level.clone()) - &every;
    let nodes = prices.nodes.iter().map(|(node, price)| (*node, capped(price))).collect();
    let prices = ExactPrices { nodes, every };
    (level, prices)
}

/// Bits of slopes that are rounded.
pub(super) const SLOPE_BITS: i64 = 48;

/// How the numbers of hints are written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Length {
    /// As they are.
    Whole,
    /// Slopes have few bits, and rows a grid.
    Rounded,
}

impl Length {
    fn of(self, x: Dyadic) -> Dyadic {
        match self {
            Length::Whole => x,
            Length::Rounded => x.rounded_down(x.parts().1 + x.bits() as i64 - SLOPE_BITS),
        }
    }
}

/// Slopes, lines and bends of a short leaf, after the prices of its reach.
///
/// # Errors
/// If that is too expensive.
pub(super) fn fill(
    target: &Target,
    objective: &[(u32, i8)],
    leaf: ShortLeaf,
    free: &Free,
    length: Length,
    hints: &mut ExactHints,
) -> Result<(), Reason> {
    let Target { network, slice, .. } = *target;
    let (z, top) = (preactivations(network, slice, free.sent), slice.top());
    let reach = target.reach(free, &hints.reach)?;
    let Some(bounds) = target.bounds(leaf.path, &z, &reach)? else { return Ok(()) };
    let mut phi = target.start(objective);
    let mut total = Dyadic::ZERO;
    for l in (3..top).rev() {
        let coefficients = target.pull(l, &phi, &mut total)?;
        phi = Vec::new();
        for ((row, bounds), &node) in coefficients.into_iter().zip(&bounds[l - 3]).zip(slice.nodes(l)) {
            let units = row.into_iter().zip(bounds).enumerate().map(|(unit, (k, range))| {
                if network.is_linear(l, unit) {
                    return k;
                }
                let (lower, upper) = (Exact(range.lower.clone()), Exact(range.upper.clone()));
                let known = KnownUnit { k: Exact(k), z: Exact::zero(), lower, upper };
                let id = (l as u32, node, unit as u32);
                let slope = length.of(slope(&known, &leaf.said(id)).0);
                hints.slopes.push((id, slope.clone()));
                slope
            });
            phi.push(units.collect());
        }
    }
    hints.slopes.sort_by_key(|entry| entry.0);
    let coefficients = target.pull(2, &phi, &mut total)?;
    for (m, &node) in slice.nodes(2).iter().enumerate() {
        let bent = |unit: &usize| !network.is_linear(2, *unit);
        for j in (0..network.widths[2]).filter(bent) {
            let (k, z) = (&coefficients[m][j], &z[m][j]);
            let (cell, reach) = ((node, j as u32), &reach[m][j]);
            let (lower, upper) = (Exact(z - &reach.down), Exact(z + &reach.up));
            let known = KnownUnit { k: Exact(k.clone()), z: Exact(z.clone()), lower, upper };
            let mut said = leaf.said((2, node, j as u32));
            let prices = find(&leaf.short.envelopes, &cell);
            said.share = prices.map(|prices| prices.share);
            let found = unit(&known, &said);
            hints.lines.push((cell, [found.rise.0, found.fall.0].map(|slope| length.of(slope))));
            if found.level.0.is_positive() {
                let (level, prices) = level(free, z, &changes(free, m, j, z.is_negative())?);
                hints.levels.push((cell, Level { weight: found.level.0, level, prices }));
            }
            if let Some(prices) = prices.filter(|_| found.envelope.0.is_positive()) {
                let nodes = prices.nodes.iter().map(|(node, price)| (*node, price.exact())).collect();
                let flips = prices.flips.iter().map(|(flip, price)| (*flip, price.exact())).collect();
                let envelope = ExactEnvelope { weight: found.envelope.0, every: prices.every.exact(), nodes, flips };
                hints.envelopes.push((cell, envelope));
            }
        }
    }
    Ok(())
}

/// The hints of a short leaf. `guess` are prices for the largest loss that are about right.
///
/// # Errors
/// If that is too expensive.
pub(crate) fn exact_hints(
    target: &Target,
    objective: &[(u32, i8)],
    path: &Path,
    short: &Short,
    guess: &ExactPrices,
) -> Result<ExactHints, Reason> {
    let Target { network, budget, slice, meter, .. } = *target;
    let sent = Sent::all(network, slice, &path.decided);
    let free = Free { network, budget, slice, decided: &path.decided, sent: &sent, meter };
    let leaf = ShortLeaf { path, short };
    let mut hints = ExactHints::default();
    let top = slice.top();
    if top > 2 {
        for (m, &node) in slice.nodes(2).iter().enumerate() {
            for unit in 0..network.widths[2] {
                let prices = |up: bool| -> Result<ExactPrices, Reason> {
                    Ok(best_prices(&free, &changes(&free, m, unit, up)?, &Dyadic::ZERO))
                };
                hints.reach.push(((node, unit as u32), [prices(true)?, prices(false)?]));
            }
        }
        fill(target, objective, leaf, &free, Length::Whole, &mut hints)?;
    }
    // Prices that are about right, or a little less, spare most flips; where they are too high for the best ones, all
    // flips are looked at.
    let less = &guess.every - &(&guess.every * &Dyadic::new(IBig::ONE, -20));
    for floor in [less, Dyadic::ZERO] {
        let mut found: Vec<(u32, Dyadic)> = Vec::new();
        let prices = ExactPrices { every: floor.clone(), nodes: Vec::new() };
        // Hints made here are admissible; were they not, the core would say so.
        target.relaxed(objective, path, &hints, |_, losses| {
            losses.exceeding(&prices, |flip, excess| found.push((flip.0, &excess + &floor)))
        })?;
        hints.price = best_prices(&free, &found, &floor);
        if hints.price.every > floor || floor.is_zero() {
            break;
        }
    }
    Ok(hints)
}
