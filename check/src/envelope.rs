//! Envelopes: lines over the activation of a unit of representation 2, made from prices of flips.
//!
//! With `u = τ⁺ + ν⁺ + ρ⁺` and `v = τ⁻ + ν⁻ + ρ⁻` of a flip that changes the unit by `g`, `relu(z) ≤ A + Σ max(g − u, −v)` over the
//! flips made. `FORMAT.md` proves it for any prices.

use std::sync::Arc;

use crate::budget::{Budget, Decided, Flip};
use crate::format;
use crate::number::Number;
use crate::problem::Problem;
use crate::reason::Reason;
use crate::tree::scaled;

/// The prices of one unit: finite floats, 0 where a list has ended.
#[derive(Clone, Debug, Default)]
pub(crate) struct Prices {
    /// How much of the unit's bound is the envelope, in `]0, 1]`.
    pub(crate) share: f64,
    /// `τ`.
    every: f64,
    /// `ν`.
    node: Vec<f64>,
    /// `ρ`.
    single: Vec<f64>,
}

/// Where a flip stands in the lists of an envelope.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Place {
    /// Its node.
    pub(crate) node: Option<usize>,
    /// Itself.
    pub(crate) single: Option<usize>,
}

impl Prices {
    /// `u` and `v` of a flip.
    pub(crate) fn levels<N: Number>(&self, place: Place) -> (N, N) {
        let (mut u, mut v) = (N::from_f64(self.every.max(0.0)), N::from_f64((-self.every).max(0.0)));
        for (list, at) in [(&self.node, place.node), (&self.single, place.single)] {
            let price = at.and_then(|at| list.get(at)).copied().unwrap_or(0.0);
            if price > 0.0 {
                u.add(&N::from_f64(price));
            } else if price < 0.0 {
                v.add(&N::from_f64(-price));
            }
        }
        (u, v)
    }
}

/// A unit's envelope in the bound: it takes `weight·max(g − u, −v)` for every flip made.
pub(crate) struct Arch<N> {
    /// `share·|a|`.
    pub(crate) weight: N,
    /// The unit's prices.
    pub(crate) prices: Arc<Prices>,
}

/// The envelope of a leaf.
#[derive(Clone, Debug, Default)]
pub struct Envelope {
    nodes: Vec<u32>,
    flips: Vec<Flip>,
    /// Node and unit, ascending; only those with a share.
    units: Vec<((u32, u32), Arc<Prices>)>,
}

impl Envelope {
    /// The envelope that a leaf with this exponent states, if it is admissible.
    pub(crate) fn admissible(problem: &Problem, stated: &format::Envelope, exponent: i32) -> Result<Envelope, Reason> {
        problem.hidden(2)?;
        if scaled(1, stated.exponent).is_none() {
            return Err(Reason::EnvelopeExponent(stated.exponent));
        }
        for (at, &node) in stated.nodes.iter().enumerate() {
            if !problem.concerns(node) {
                return Err(Reason::EnvelopeNode(node));
            }
            if at > 0 && stated.nodes[at - 1] >= node {
                return Err(Reason::EnvelopeNodeOrder(node));
            }
        }
        for (at, &flip) in stated.flips.iter().enumerate() {
            problem.flip(flip)?;
            if at > 0 && stated.flips[at - 1] >= flip {
                return Err(Reason::FlipOrder(flip));
            }
        }
        let mut units: Vec<((u32, u32), Arc<Prices>)> = Vec::with_capacity(stated.units.len());
        let mut last = None;
        for format::UnitPrices(node, unit, share, every, of_nodes, of_flips) in &stated.units {
            let id = problem.unit((2, *node, *unit))?;
            if last.replace(id).is_some_and(|last| last >= id) {
                return Err(Reason::MultiplierOrder("envelope", id));
            }
            let share = scaled(*share, exponent).filter(|share| (0.0..=1.0).contains(share));
            let share = share.ok_or(Reason::MultiplierRange("envelope", id))?;
            let list = |name: &'static str, prices: &[i64], listed: usize| -> Result<Vec<f64>, Reason> {
                if prices.len() > listed {
                    return Err(Reason::PriceCount(name, id, prices.len(), listed));
                }
                let price = |(at, &numerator): (usize, &i64)| {
                    scaled(numerator, stated.exponent).ok_or(Reason::PriceRange(name, id, at))
                };
                prices.iter().enumerate().map(price).collect()
            };
            let every = list("tau", &[*every], 1)?[0];
            let (node, single) =
                (list("nu", of_nodes, stated.nodes.len())?, list("rho", of_flips, stated.flips.len())?);
            if share > 0.0 {
                units.push(((id.1, id.2), Arc::new(Prices { share, every, node, single })));
            }
        }
        Ok(Envelope { nodes: stated.nodes.clone(), flips: stated.flips.clone(), units })
    }

    /// The prices of a unit, if it has an envelope.
    pub(crate) fn prices(&self, unit: (u32, u32)) -> Option<&Arc<Prices>> {
        self.units.binary_search_by_key(&unit, |entry| entry.0).ok().map(|at| &self.units[at].1)
    }

    /// Where the node stands on the list.
    pub(crate) fn node(&self, node: u32) -> Option<usize> {
        self.nodes.binary_search(&node).ok()
    }

    /// The listed flips of a node: their attributes, ascending, and where they stand on the list.
    pub(crate) fn flips_of(&self, node: u32) -> Vec<(u32, usize)> {
        let start = self.flips.partition_point(|flip| flip.0 < node);
        let own = self.flips[start..].iter().take_while(|flip| flip.0 == node);
        own.zip(start..).map(|(flip, at)| (flip.1, at)).collect()
    }
}

/// What a path leaves of the budgets that prices stand for.
pub(crate) struct Left<N> {
    /// `Q'`.
    total: N,
    /// `min(q'_n, Q')` of the listed nodes.
    nodes: Vec<f64>,
    /// Is a listed flip free?
    flips: Vec<bool>,
}

impl<N: Number> Left<N> {
    /// The decided flips must not exceed the budget.
    pub(crate) fn new(envelope: Option<&Envelope>, budget: &Budget, decided: &Decided) -> Left<N> {
        let (nodes, flips) = envelope.map_or((&[][..], &[][..]), |envelope| (&envelope.nodes, &envelope.flips));
        let total = decided.left_in_all(budget).unwrap_or(0);
        // In two halves: every bit counts, however many flips there are.
        let (high, low) = (total >> 32, total & 0xffff_ffff);
        Left {
            total: N::from_f64(high as f64).scaled(4_294_967_296.0).plus(&N::from_f64(low as f64)),
            nodes: nodes.iter().map(|&node| decided.left(budget, node).unwrap_or(0) as f64).collect(),
            flips: flips.iter().map(|flip| decided.fixed.binary_search(flip).is_err()).collect(),
        }
    }

    /// `A` of a unit at `z`.
    pub(crate) fn base(&self, prices: &Prices, z: &N) -> N {
        let (mut on, mut off) = (z.clone(), N::zero());
        let mut pay = |price: f64, amount: N| if price > 0.0 { on.add(&amount) } else { off.add(&amount) };
        pay(prices.every, self.total.scaled(prices.every.abs()));
        for (&count, &price) in self.nodes.iter().zip(&prices.node) {
            pay(price, N::from_f64(count).scaled(price.abs()));
        }
        for (_, &price) in self.flips.iter().zip(&prices.single).filter(|(free, _)| **free) {
            pay(price, N::from_f64(price.abs()));
        }
        on.most(&off)
    }
}
