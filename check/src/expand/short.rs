//! Short leaves: what a file states of them, checked for its range (`FORMAT.md` §7).

use std::sync::Arc;

use crate::core::path::Path;
use crate::core::scope::Scope;
use crate::format;
use crate::format::Multiplier;
use crate::ids::{Cell, Flip, Unit};
use crate::number::{Interval, Stored};
use crate::verdict::Reason;

/// The multipliers of a short leaf, each list ascending.
#[derive(Clone, Debug, Default)]
pub(crate) struct Short {
    /// In `[0, 1]`: the part of the chord where the coefficient is negative, elsewhere of the identity.
    pub(crate) weight: Vec<(Unit, Stored)>,
    /// In `[0, 1]`: the slope of the chord where the coefficient is negative.
    pub(crate) slope: Vec<(Unit, Stored)>,
    /// Of split units, not negative.
    pub(crate) beta: Vec<(Unit, Stored)>,
    /// From this layer upward the defaults are those of the dual bound.
    pub(crate) dual: Option<u32>,
    /// Levels instead of the anchored bound.
    pub(crate) cap: bool,
    /// Levels at layer 3.
    pub(crate) nested: bool,
    /// Envelopes of units of layer 2 that have a share.
    pub(crate) envelopes: Vec<(Cell, Arc<EnvelopePrices>)>,
}

impl Short {
    /// Are the defaults of this layer those of the dual bound?
    pub(crate) fn is_dual(&self, layer: u32) -> bool {
        self.dual.is_some_and(|first| first <= layer)
    }
}

/// The prices of an envelope; what is not listed is 0.
#[derive(Clone, Debug, Default)]
pub(crate) struct EnvelopePrices {
    /// How much of the unit's bound is the envelope, in `[0, 1]`.
    pub(crate) share: Stored,
    pub(crate) every: Stored,
    pub(crate) nodes: Vec<(u32, Stored)>,
    pub(crate) flips: Vec<(Flip, Stored)>,
}

impl EnvelopePrices {
    /// `u` and `v` of a flip; of a flip without a price of its own if there is no such attribute.
    pub(crate) fn amounts(&self, flip: Flip) -> [Interval; 2] {
        let mut both = [Interval::ZERO; 2];
        let node = self.nodes.binary_search_by_key(&flip.0, |entry| entry.0).ok().map(|at| self.nodes[at].1);
        let single = self.flips.binary_search_by_key(&flip, |entry| entry.0).ok().map(|at| self.flips[at].1);
        for price in [Some(self.every), node, single].into_iter().flatten() {
            let amount = &mut both[usize::from(price.is_negative())];
            *amount = amount.plus(price.size().into());
        }
        both
    }
}

impl Scope<'_> {
    fn hidden(&self, layer: u32) -> Result<(), Reason> {
        if (2..self.slice.top()).contains(&(layer as usize)) { Ok(()) } else { Err(Reason::Layer(layer)) }
    }

    /// The multipliers of a leaf, if they are admissible.
    ///
    /// # Errors
    /// The first that is not.
    pub(crate) fn short(&self, path: &Path, leaf: &format::Leaf) -> Result<Short, Reason> {
        if Stored::scaled(1, leaf.exponent).is_none() {
            return Err(Reason::Exponent(leaf.exponent));
        }
        if self.network.is_normalised() && (leaf.cap || leaf.nested || leaf.envelope.is_some()) {
            return Err(Reason::Normalised("bends by levels or prices"));
        }
        let list = |name: &'static str, entries: &[Multiplier], share: bool| -> Result<Vec<(Unit, Stored)>, Reason> {
            let mut list: Vec<(Unit, Stored)> = Vec::with_capacity(entries.len());
            for &(layer, node, unit, numerator) in entries {
                let id = self.unit((layer, node, unit))?;
                if list.last().is_some_and(|last| last.0 >= id) {
                    return Err(Reason::MultiplierOrder(name, id));
                }
                match Stored::scaled(numerator, leaf.exponent) {
                    Some(value) if !value.is_negative() && (!share || value.is_share()) => list.push((id, value)),
                    _ => return Err(Reason::MultiplierRange(name, id)),
                }
            }
            Ok(list)
        };
        let beta = list("beta", &leaf.beta, false)?;
        if let Some(&(id, _)) = beta.iter().find(|&&(id, _)| path.side(id).is_none()) {
            return Err(Reason::Unsplit(id));
        }
        if leaf.nested {
            self.hidden(3)?;
        }
        if let Some(layer) = leaf.dual {
            self.hidden(layer)?;
        }
        let (weight, slope) = (list("weight", &leaf.weight, true)?, list("slope", &leaf.slope, true)?);
        let envelopes = match &leaf.envelope {
            Some(stated) => self.envelopes(stated, leaf.exponent)?,
            None => Vec::new(),
        };
        Ok(Short { weight, slope, beta, dual: leaf.dual, cap: leaf.cap, nested: leaf.nested, envelopes })
    }

    fn envelopes(&self, stated: &format::Envelope, exponent: i32) -> Result<Vec<(Cell, Arc<EnvelopePrices>)>, Reason> {
        self.hidden(2)?;
        if Stored::scaled(1, stated.exponent).is_none() {
            return Err(Reason::EnvelopeExponent(stated.exponent));
        }
        for (at, &node) in stated.nodes.iter().enumerate() {
            if self.slice.place(1, node).is_none() {
                return Err(Reason::EnvelopeNode(node));
            }
            if at > 0 && stated.nodes[at - 1] >= node {
                return Err(Reason::EnvelopeNodeOrder(node));
            }
        }
        for (at, &flip) in stated.flips.iter().enumerate() {
            self.flip(flip)?;
            if at > 0 && stated.flips[at - 1] >= flip {
                return Err(Reason::FlipOrder(flip));
            }
        }
        let mut units: Vec<(Cell, Arc<EnvelopePrices>)> = Vec::with_capacity(stated.units.len());
        let mut last = None;
        for format::UnitPrices(node, unit, share, every, of_nodes, of_flips) in &stated.units {
            let id = self.unit((2, *node, *unit))?;
            if last.replace(id).is_some_and(|last| last >= id) {
                return Err(Reason::MultiplierOrder("envelope", id));
            }
            let share = Stored::scaled(*share, exponent).filter(|share| share.is_share());
            let share = share.ok_or(Reason::MultiplierRange("envelope", id))?;
            let list = |name: &'static str, prices: &[i64], listed: usize| -> Result<Vec<Stored>, Reason> {
                if prices.len() > listed {
                    return Err(Reason::PriceCount(name, id, prices.len(), listed));
                }
                let price = |(at, &numerator): (usize, &i64)| {
                    Stored::scaled(numerator, stated.exponent).ok_or(Reason::PriceRange(name, id, at))
                };
                prices.iter().enumerate().map(price).collect()
            };
            let every = list("tau", &[*every], 1)?[0];
            let nodes = list("nu", of_nodes, stated.nodes.len())?;
            let flips = list("rho", of_flips, stated.flips.len())?;
            if !share.is_zero() {
                let nodes = stated.nodes.iter().copied().zip(nodes).filter(|entry| !entry.1.is_zero()).collect();
                let flips = stated.flips.iter().copied().zip(flips).filter(|entry| !entry.1.is_zero()).collect();
                units.push(((id.1, id.2), Arc::new(EnvelopePrices { share, every, nodes, flips })));
            }
        }
        Ok(units)
    }
}
