//! The envelope: the tightest lines over a unit's activation, for what the whole budget can do to it (docs/math.md
//! §5.3).
//!
//! With `z⁰` and `g_i` as in [`crate::bound::line::anchored`], let the attacker's `δ` have at most `Q` flips, at most
//! `q_n` of node `n`. For any *prices* `τ` of every flip, `ν_n` of the flips of a node and `ρ_i` of a single flip,
//! whatever their signs, let
//!
//! ```text
//! u_i = τ⁺ + ν⁺ + ρ_i⁺,    v_i = τ⁻ + ν⁻ + ρ_i⁻            (ν of the flip's node; x⁺ = max(x, 0), x⁻ = max(−x, 0))
//! B = max(z⁰ + Q τ⁺ + Σ q_n ν_n⁺ + Σ ρ_i⁺,   Q τ⁻ + Σ q_n ν_n⁻ + Σ ρ_i⁻)
//!
//! relu(z) ≤ B + Σ max(g_i − u_i, −v_i) δ_i
//! ```
//!
//! *Proof.* The budget gives `Σ u_i δ_i ≤ Q τ⁺ + Σ q_n ν_n⁺ + Σ ρ_i⁺`, so `z = z⁰ + Σ g_i δ_i ≤ B + Σ (g_i − u_i) δ_i`;
//! in the same way `0 ≤ B − Σ v_i δ_i`. Both are at most the right side. ∎
//!
//! The chord and the capped bound are such lines, or lie above one. Taken over all prices their minimum is the smallest
//! concave function over `relu(z)` on the budget's polytope: these are the multipliers of the linear program that
//! splits a fractional attack into one that leaves the unit off and one that turns it on. No relaxation of one unit at
//! a time can be tighter. The search finds the prices (`search/separation.rs`); any are valid.
//!
//! EnvelopePrices may be averaged (docs/math.md §5.3).

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::number::rounding::{Enclosure, FLOOR, UNIT, error_of};
use crate::problem::budget::{Budget, Decided};
use crate::problem::flip::Flip;
use crate::problem::slice::Slice;

/// Whole numbers up to here are floats.
const TWO_53: f64 = (1u64 << 53) as f64;

/// The Lagrange multipliers of the budgets in the line of one unit; any signs are valid.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EnvelopePrices {
    /// How much of the unit's bound is this line, in `[0, 1]`; the rest is chord and capped bound.
    pub share: f64,
    /// `τ`: of every flip, for the global budget.
    pub every: f64,
    /// `ν_n`: of the flips of a listed node, for its local budget.
    pub node: Vec<f64>,
    /// `ρ_i`: of a single listed flip, which is made at most once.
    pub single: Vec<f64>,
}

/// Where a flip stands in the lists of an envelope.
#[derive(Clone, Copy, Debug, Default)]
pub struct ListedFlip {
    /// Its node's place among the listed nodes; none if the node has no price.
    pub node: Option<usize>,
    /// Its own place among the listed flips; none if it has no price.
    pub single: Option<usize>,
}

impl EnvelopePrices {
    /// `u` and `v` of a flip, rounded to nearest (docs/math.md (5.10)).
    #[inline]
    pub fn levels(&self, place: ListedFlip) -> (f64, f64) {
        let node = place.node.and_then(|at| self.node.get(at)).copied().unwrap_or(0.0);
        let single = place.single.and_then(|at| self.single.get(at)).copied().unwrap_or(0.0);
        let sum = |sign: f64| (sign * self.every).max(0.0) + (sign * node).max(0.0) + (sign * single).max(0.0);
        (sum(1.0), sum(-1.0))
    }

    /// `u` and `v` of a flip, rounded down: each is a sum of three numbers that are not negative.
    #[inline]
    fn levels_below(&self, place: ListedFlip) -> (f64, f64) {
        let (u, v) = self.levels(place);
        (u * (1.0 - 8.0 * UNIT), v * (1.0 - 8.0 * UNIT))
    }

    /// `max(g − u, −v)`, not rounded (docs/math.md (5.10)).
    #[inline]
    pub fn change(&self, place: ListedFlip, g: f64) -> f64 {
        let (u, v) = self.levels(place);
        (g - u).max(-v)
    }

    /// The mixture of two lines: `w` of the other (docs/math.md §5.3).
    pub fn mix(&mut self, other: &EnvelopePrices, w: f64) {
        let share = (1.0 - w) * self.share + w * other.share;
        if share <= 0.0 {
            return;
        }
        let (old, new) = ((1.0 - w) * self.share / share, w * other.share / share);
        let blend = |a: &mut f64, b: f64| *a = old * *a + new * b;
        blend(&mut self.every, other.every);
        for (mine, theirs) in [(&mut self.node, &other.node), (&mut self.single, &other.single)] {
            mine.resize(mine.len().max(theirs.len()), 0.0);
            mine.iter_mut().enumerate().for_each(|(at, a)| blend(a, theirs.get(at).copied().unwrap_or(0.0)));
        }
        self.share = share.min(1.0);
    }
}

/// EnvelopePrices of the units of a slice, over common lists of nodes and flips.
#[derive(Clone, Debug, Default)]
pub struct Envelope {
    /// Nodes with prices of their own.
    pub nodes: Vec<u32>,
    /// Flips with prices of their own.
    pub flips: Vec<Flip>,
    /// By unit of representation 2 of the slice; a share of 0 means none.
    pub units: Vec<EnvelopePrices>,
    node_at: BTreeMap<u32, usize>,
    flip_at: BTreeMap<Flip, usize>,
}

impl Envelope {
    /// Empty lists, and a share of 0 for every unit.
    pub fn new(units: usize) -> Envelope {
        Envelope { units: vec![EnvelopePrices::default(); units], ..Envelope::default() }
    }

    /// The same lists without prices.
    pub fn renewed(&self) -> Envelope {
        let units = vec![EnvelopePrices::default(); self.units.len()];
        Envelope {
            units,
            nodes: self.nodes.clone(),
            flips: self.flips.clone(),
            node_at: self.node_at.clone(),
            flip_at: self.flip_at.clone(),
        }
    }

    /// Puts a flip and its node on the lists.
    pub fn list(&mut self, flip: Flip) {
        let Envelope { nodes, flips, node_at, flip_at, .. } = self;
        flip_at.entry(flip).or_insert_with(|| {
            flips.push(flip);
            flips.len() - 1
        });
        node_at.entry(flip.node).or_insert_with(|| {
            nodes.push(flip.node);
            nodes.len() - 1
        });
    }

    /// Where a flip stands.
    pub fn place(&self, flip: Flip) -> ListedFlip {
        ListedFlip { node: self.node_at.get(&flip.node).copied(), single: self.flip_at.get(&flip).copied() }
    }

    /// Shares rounded to multiples of `2^share`, prices to so many bits below the largest, and the exponent of their
    /// grid.
    pub fn rounded(&self, share: i32, bits: i32) -> (Envelope, i32) {
        let prices =
            |unit: &EnvelopePrices| unit.node.iter().chain(&unit.single).fold(unit.every.abs(), |m, p| m.max(p.abs()));
        let largest = self.units.iter().map(prices).fold(0.0, f64::max);
        // Below 2⁻⁹⁰⁰ or above 2⁹⁰⁰ a price is of no use.
        let exponent = (largest.log2().clamp(-900.0, 860.0) as i32 + bits).max(-1000);
        let round = |x: &mut f64, exponent: i32| {
            *x = (*x * 2f64.powi(-exponent)).round().clamp(-TWO_53, TWO_53) * 2f64.powi(exponent);
        };
        let mut rounded = self.clone();
        for unit in &mut rounded.units {
            round(&mut unit.share, share);
            round(&mut unit.every, exponent);
            unit.node.iter_mut().chain(&mut unit.single).for_each(|price| round(price, exponent));
        }
        (rounded, exponent)
    }

    fn node_place(&self, node: u32) -> ListedFlip {
        ListedFlip { node: self.node_at.get(&node).copied(), single: None }
    }
}

/// What a branch leaves of the budgets of an envelope's lists.
#[derive(Clone, Debug, Default)]
pub struct ListedBudgets {
    global: f64,
    nodes: Vec<f64>,
    flips: Vec<bool>,
}

impl ListedBudgets {
    /// Counts what the fixed flips of a branch leave.
    pub fn new(envelope: &Envelope, budget: &Budget, decided: &Decided) -> ListedBudgets {
        let global = decided.global(budget).unwrap_or(0);
        let local = |&n: &u32| decided.local(budget, n).unwrap_or(0).min(global) as f64;
        ListedBudgets {
            global: global as f64,
            nodes: envelope.nodes.iter().map(local).collect(),
            flips: envelope.flips.iter().map(|&flip| !decided.fixes(budget, flip)).collect(),
        }
    }

    /// Given counts: of all flips, by listed node, and whether each listed flip can be made.
    #[cfg(test)]
    pub(crate) fn of(global: f64, nodes: Vec<f64>, flips: Vec<bool>) -> ListedBudgets {
        ListedBudgets { global, nodes, flips }
    }

    /// `B`, rounded up (docs/math.md (5.10)).
    pub fn base(&self, prices: &EnvelopePrices, z: Enclosure) -> f64 {
        let (mut plus, mut minus) = (0.0, 0.0);
        let mut pay = |count: f64, price: f64| {
            if price > 0.0 {
                plus += count * price;
            } else {
                minus -= count * price;
            }
        };
        pay(self.global, prices.every);
        self.nodes.iter().zip(&prices.node).for_each(|(&count, &price)| pay(count, price));
        self.flips.iter().zip(&prices.single).filter(|flip| *flip.0).for_each(|flip| pay(1.0, *flip.1));
        let terms = 2 + self.nodes.len() + self.flips.len();
        let on = z.value + plus;
        let on = (on + z.error + error_of(terms, z.value.abs() + plus)).next_up();
        let off = (minus + error_of(terms, minus)).next_up();
        // `max` would swallow what an overflow leaves behind.
        if on.is_nan() || off.is_nan() { f64::INFINITY } else { on.max(off) }
    }
}

/// How a unit's envelope enters the slopes: they overstate it, and what they overstate is given back flip by flip.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct EnvelopeSlope {
    /// Size of the coefficient times the share, rounded down; 0 where the unit has none.
    pub weight: f64,
    /// A change `g > 0` is overstated as `up·g`.
    pub up: f64,
    /// A change `g < 0` as `down·g`.
    pub down: f64,
}

/// What the slopes overstate of envelopes, ready for any flip of a slice.
#[derive(Clone, Debug, Default)]
pub struct EnvelopeCorrection {
    envelope: Arc<Envelope>,
    envelope_slopes: Vec<EnvelopeSlope>,
    width: usize,
    /// `u` and `v` by entry of `A(1)` and unit, rounded down, for flips without a price of their own.
    levels: Vec<(f64, f64)>,
    /// By node of the slice: what units give back that its flips do not reach.
    idle: Vec<f64>,
}

/// The units of a node of representation 2 that have envelopes.
fn used_slopes(
    envelope_slopes: &[EnvelopeSlope],
    width: usize,
    m: usize,
) -> impl Iterator<Item = (usize, &EnvelopeSlope)> {
    (m * width..).zip(&envelope_slopes[m * width..][..width]).filter(|unit| unit.1.weight > 0.0)
}

/// What a flip with weights `row` (term after term) changes in the units of a row, and the size of what was summed for
/// it: twice as much where there was more than one product.
fn gains_of(sign: f64, entries: &[f64], row: &[f64], into: &mut Vec<(f64, f64)>) {
    into.clear();
    if let [a] = entries {
        into.extend(row.iter().map(|w| sign * a * w).map(|g| (g, g.abs())));
        return;
    }
    let width = row.len() / entries.len();
    into.resize(width, (0.0, 0.0));
    for (a, row) in entries.iter().zip(row.chunks_exact(width)) {
        for ((gain, size), w) in into.iter_mut().zip(row) {
            *gain += sign * a * w;
            *size += 2.0 * (a * w).abs() + FLOOR;
        }
    }
}

impl EnvelopeCorrection {
    /// Prepares for the flips of a slice.
    pub fn new(envelope: &Arc<Envelope>, envelope_slopes: &[EnvelopeSlope], slice: &Slice) -> EnvelopeCorrection {
        let rows = slice.nodes(2).len();
        let width = envelope_slopes.len() / rows.max(1);
        let mut levels = vec![(0.0, 0.0); slice.entry_count() * width];
        let mut idle = Vec::with_capacity(slice.nodes(1).len());
        let mut reached = vec![usize::MAX; rows];
        for (n, &node) in slice.nodes(1).iter().enumerate() {
            let place = envelope.node_place(node);
            for (entry, m, _) in slice.reaching(n) {
                reached[m] = n;
                for (at, _) in used_slopes(envelope_slopes, width, m) {
                    levels[entry * width + at % width] = envelope.units[at].levels_below(place);
                }
            }
            // Without a price of its node, u or v of a flip is 0.
            let mut given = 0.0;
            if place.node.is_some() {
                for m in (0..rows).filter(|&m| reached[m] != n) {
                    for (at, slope) in used_slopes(envelope_slopes, width, m) {
                        let (u, v) = envelope.units[at].levels_below(place);
                        given += slope.weight * u.min(v);
                    }
                }
            }
            idle.push((given - error_of(envelope_slopes.len() + 4, given)).max(0.0));
        }
        EnvelopeCorrection {
            envelope: Arc::clone(envelope),
            envelope_slopes: envelope_slopes.to_vec(),
            width,
            levels,
            idle,
        }
    }

    /// What the slopes overstate of a flip of the slice's node `n`, and the size of what was summed for it: at most
    /// [`EnvelopeCorrection::terms`] terms.
    pub fn of(&self, slice: &Slice, n: usize, flip: Flip, sign: f64, row: &[f64]) -> (f64, f64) {
        let place = self.envelope.place(flip);
        let (mut excess, mut size) = (0.0, 0.0);
        let mut add = |slope: &EnvelopeSlope, g: f64, magnitude: f64, (u, v): (f64, f64)| {
            let over = if g > 0.0 { slope.up * g } else { slope.down * g };
            excess += slope.weight * (over - (g - u).max(-v));
            // The floor stands for what `g` lost by underflow.
            size += slope.weight * (magnitude + u + v + FLOOR);
        };
        let mut reached = if place.single.is_some() {
            vec![false; self.envelope_slopes.len() / self.width.max(1)]
        } else {
            Vec::new()
        };
        let mut gains = Vec::new();
        for (entry, m, entries) in slice.reaching(n) {
            gains_of(sign, entries, row, &mut gains);
            if let Some(seen) = reached.get_mut(m) {
                *seen = true;
            }
            for (at, slope) in used_slopes(&self.envelope_slopes, self.width, m) {
                let j = at % self.width;
                let levels = if place.single.is_some() {
                    self.envelope.units[at].levels_below(place)
                } else {
                    self.levels[entry * self.width + j]
                };
                let (g, magnitude) = gains[j];
                add(slope, g, magnitude, levels);
            }
        }
        if place.single.is_none() {
            return (excess + self.idle[n], size + self.idle[n]);
        }
        for m in (0..reached.len()).filter(|&m| !reached[m]) {
            for (at, slope) in used_slopes(&self.envelope_slopes, self.width, m) {
                add(slope, 0.0, 0.0, self.envelope.units[at].levels_below(place));
            }
        }
        (excess, size)
    }

    /// Terms of a sum over units.
    pub fn terms(&self) -> usize {
        self.envelope_slopes.len() + 8
    }
}
