//! Relief: what the slopes of a row of attributes overstate of envelopes, to be given back flip by flip.
//!
//! An envelope takes `weight·max(g − u, −v)` for a flip that changes the unit by `g`. The slopes take `weight·up·g` of a rise and
//! `weight·down·g` of a fall instead, which is not less for any flip of the row. A unit that the row does not reach has `g = 0` and gives
//! `weight·min(u, v)` back for every flip made.

use crate::envelope::{Envelope, Place, Prices};
use crate::interval::Interval;
use crate::line::Line;
use crate::loss::error;
use crate::network::Network;
use crate::number::Number;
use crate::slice::Slice;

/// The units of the nodes of representation 2 with their lines.
type Lines<N> = [Vec<(usize, Line<N>)>];

/// A unit with an envelope that the row reaches.
struct Reached<'a, N> {
    unit: usize,
    /// The entry of `A(1)`.
    entry: f64,
    weight: &'a N,
    prices: &'a Prices,
    /// `u` and `v` of a flip without a price of its own.
    levels: (N, N),
    up: f64,
    down: f64,
}

/// The envelopes as flips of one row meet them.
pub(crate) struct Relief<'a, N> {
    lines: &'a Lines<N>,
    reached: Vec<Reached<'a, N>>,
    /// By place in representation 2: does the row reach it? Empty if it is of no consequence.
    is_reached: Vec<bool>,
    /// What units that are not reached give back for a flip without a price of its own.
    idle: N,
    node: Option<usize>,
    /// Attributes of flips with prices of their own, ascending, and where these stand.
    listed: Vec<(u32, usize)>,
}

/// Slopes `up, down ∈ [0, 1]` with `max(g − u, −v) ≤ up·g` for `0 ≤ g ≤ largest` and `≤ down·g` for `−largest ≤ g ≤ 0`.
pub(crate) fn slopes<N: Number>((u, v): &(N, N), largest: f64) -> (f64, f64) {
    let (u, v) = (u.enclosure().lower.max(0.0), v.enclosure().lower.max(0.0));
    // `min` takes the 1 where an overflow left no number.
    let up = if u < largest { ((largest - u).next_up() / largest).next_up().min(1.0) } else { 0.0 };
    (up, (v / largest).next_down().clamp(0.0, 1.0))
}

impl<'a, N: Number> Relief<'a, N> {
    /// For the flips of the node at a place of representation 1.
    pub(crate) fn new(
        envelope: Option<&Envelope>,
        lines: &'a Lines<N>,
        (network, slice): (&Network, &Slice),
        place: usize,
    ) -> Relief<'a, N> {
        let (idle, is_reached) = (N::zero(), Vec::new());
        let mut relief = Relief { lines, reached: Vec::new(), is_reached, idle, node: None, listed: Vec::new() };
        let Some(envelope) = envelope else { return relief };
        let node = slice.nodes(1)[place];
        relief.node = envelope.node(node);
        relief.listed = envelope.flips_of(node);
        let usual = Place { node: relief.node, single: None };
        for &(m, entry) in slice.reached(place) {
            for (unit, line) in &lines[m] {
                let Some(arch) = &line.arch else { continue };
                let levels = arch.prices.levels(usual);
                let (up, down) = slopes(&levels, (entry.abs() * network.largest_weight(*unit)).next_up());
                let (weight, prices) = (&arch.weight, &*arch.prices);
                relief.reached.push(Reached { unit: *unit, entry, weight, prices, levels, up, down });
            }
        }
        // Without a price of the node or the flip, u or v is 0.
        if relief.node.is_some() || !relief.listed.is_empty() {
            relief.is_reached = vec![false; lines.len()];
            slice.reached(place).iter().for_each(|&(m, _)| relief.is_reached[m] = true);
            relief.idle = relief.given_by_others(usual);
        }
        relief
    }

    /// `Σ weight·min(u, v)` over the units that the row does not reach.
    fn given_by_others(&self, place: Place) -> N {
        let mut given = N::zero();
        for (lines, _) in self.lines.iter().zip(&self.is_reached).filter(|(_, reached)| !**reached) {
            for arch in lines.iter().filter_map(|(_, line)| line.arch.as_ref()) {
                let (u, v) = arch.prices.levels::<N>(place);
                given.add(&arch.weight.times(&u.least(&v)));
            }
        }
        given
    }

    /// Is there nothing to give back?
    pub(crate) fn is_empty(&self) -> bool {
        self.reached.is_empty() && self.is_reached.is_empty()
    }

    /// Where the flip of an attribute stands among those with prices of their own.
    pub(crate) fn listed(&self, attribute: u32) -> Option<usize> {
        self.listed.binary_search_by_key(&attribute, |entry| entry.0).ok().map(|at| self.listed[at].1)
    }

    /// What is taken per unit of change in what is sent to each unit: unit, entry, and the slopes of a rise and of a fall.
    pub(crate) fn slopes(&self) -> impl Iterator<Item = (usize, f64, N, N)> {
        self.reached.iter().map(|one| {
            let taken = one.weight.negated();
            (one.unit, one.entry, taken.scaled(one.up), taken.scaled(one.down))
        })
    }

    /// What the slopes overstate of the flip of an attribute.
    pub(crate) fn of(&self, attribute: u32, change: impl Fn(usize) -> f64) -> N {
        let single = self.listed(attribute);
        let place = Place { node: self.node, single };
        let mut given = if single.is_some() { self.given_by_others(place) } else { self.idle.clone() };
        for one in &self.reached {
            let change = change(one.unit);
            let g = N::from_f64(change).scaled(one.entry);
            let own = single.map(|_| one.prices.levels(place));
            let (u, v) = own.as_ref().unwrap_or(&one.levels);
            // The sign of a product of floats is that of its factors.
            let slope = if (change > 0.0) == (one.entry > 0.0) { one.up } else { one.down };
            given.add(&one.weight.times(&g.scaled(slope).minus(&g.minus(u).most(&v.negated()))));
        }
        given
    }

    /// The same in floats.
    pub(crate) fn rounded(&self) -> Rounded {
        let kink = |one: &Reached<N>| Kink {
            unit: one.unit,
            entry: one.entry,
            weight: one.weight.enclosure(),
            levels: (one.levels.0.enclosure(), one.levels.1.enclosure()),
            up: one.up,
            down: one.down,
        };
        Rounded { kinks: self.reached.iter().map(kink).collect(), idle: self.idle.enclosure() }
    }
}

struct Kink {
    unit: usize,
    entry: f64,
    weight: Interval,
    levels: (Interval, Interval),
    up: f64,
    down: f64,
}

/// A row's relief in floats.
pub(crate) struct Rounded {
    kinks: Vec<Kink>,
    idle: Interval,
}

impl Rounded {
    /// Floats around what the slopes overstate of a flip without a price of its own; of others they overstate more.
    pub(crate) fn of(&self, weights: &[f64], present: bool) -> Interval {
        let (mut least, mut most, mut size) = (0.0, 0.0, 0.0);
        for Kink { unit, entry, weight, levels: (u, v), up, down } in &self.kinks {
            let g = entry * if present { -weights[*unit] } else { weights[*unit] };
            let along = if g > 0.0 { up * g } else { down * g };
            // Higher levels give more back.
            least += weight.lower * (along - (g - u.lower).max(-v.lower));
            most += weight.upper * (along - (g - u.upper).max(-v.upper));
            // The addend stands for what `g` lost by underflow, which a large weight would make visible.
            size += weight.upper * (g.abs() + u.upper + v.upper + 1e-290);
        }
        // Each term is a few roundings from `weight` times a number of at most `2|g| + v`.
        let error = error(4 * self.kinks.len() + 16, 2.0 * size);
        let (lower, upper) = (least - error, most + error);
        if lower.is_nan() || upper.is_nan() {
            return Interval { lower: f64::NEG_INFINITY, upper: f64::INFINITY };
        }
        Interval { lower: lower.next_down(), upper: upper.next_up() }.plus(&self.idle)
    }
}
