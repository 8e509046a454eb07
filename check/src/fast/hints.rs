//! Hints whose numbers are floats, and their conversion to the hints of the core.

use std::sync::Arc;

use super::row::Row;
use crate::directed::{Down, Interval, Stored};
use crate::hints::{Cell, Envelope, Hints, Level, Prices, Unit};
use crate::statement::Flip;
use crate::statement::Slice;

/// Prices of flips.
#[derive(Clone, Debug, Default)]
pub(crate) struct FloatPrices {
    pub(crate) every: Stored,
    pub(crate) nodes: Vec<(u32, Stored)>,
}

impl FloatPrices {
    /// Not above `ρ + η_n`.
    pub(crate) fn of(&self, node: u32) -> Down {
        let own = self.nodes.binary_search_by_key(&node, |entry| entry.0);
        own.map_or(Down::from(self.every), |at| Down::from(self.every).plus(self.nodes[at].1.into()))
    }

    pub(crate) fn exact(&self) -> Prices {
        let nodes = self.nodes.iter().map(|(node, price)| (*node, price.exact())).collect();
        Prices { every: self.every.exact(), nodes }
    }
}

/// A bend by a level, of a unit of layer 2.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LevelUse {
    pub(crate) unit: usize,
    /// `c`.
    pub(crate) weight: Stored,
}

/// A bend by prices.
#[derive(Clone, Debug)]
pub(crate) struct EnvelopeUse {
    pub(crate) unit: usize,
    /// `c`.
    pub(crate) weight: Stored,
    pub(crate) prices: Arc<UnitPrices>,
}

/// The prices of an envelope; what is not listed is 0.
#[derive(Clone, Debug, Default)]
pub(crate) struct UnitPrices {
    /// How much of the unit's bound is the envelope, in `[0, 1]`.
    pub(crate) share: Stored,
    pub(crate) every: Stored,
    pub(crate) nodes: Vec<(u32, Stored)>,
    pub(crate) flips: Vec<(Flip, Stored)>,
}

impl UnitPrices {
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

/// What a short leaf was expanded into, by place in the slice.
#[derive(Default)]
pub(crate) struct FloatHints {
    pub(crate) slopes: Vec<(Unit, Stored)>,
    /// `rise` and `fall` of the units of the nodes of `V(2)`.
    pub(crate) lines: Vec<Vec<[Stored; 2]>>,
    /// Not a hint: the linear units of the nodes of `V(2)`, and their coefficients. Their lines above are 0.
    pub(crate) linear: Vec<Vec<(usize, Interval)>>,
    pub(crate) levels: Vec<Vec<LevelUse>>,
    pub(crate) envelopes: Vec<Vec<EnvelopeUse>>,
    /// What the prices of `reach` and of levels are from.
    pub(crate) rows: Vec<Arc<Row>>,
    pub(crate) price: FloatPrices,
    pub(crate) grid: Option<i64>,
    /// Not a hint: the flip that loses most, as far as that was looked at.
    pub(crate) worst: Option<Flip>,
}

impl FloatHints {
    /// The same for the core.
    pub(crate) fn exact(&self, slice: &Slice) -> Hints {
        let mut hints = Hints { price: self.price.exact(), grid: self.grid, ..Hints::default() };
        hints.slopes = self.slopes.iter().map(|(unit, slope)| (*unit, slope.exact())).collect();
        hints.slopes.sort_by_key(|entry| entry.0);
        if slice.top() == 2 {
            return hints;
        }
        for (m, &node) in slice.nodes(2).iter().enumerate() {
            let row = &self.rows[m];
            let cell = |unit: usize| -> Cell { (node, unit as u32) };
            for (unit, line) in self.lines[m].iter().enumerate().filter(|(_, line)| line.iter().any(|x| !x.is_zero())) {
                hints.lines.push((cell(unit), line.map(Stored::exact)));
            }
            let reach = row.prices.iter().map(|both| both.each_ref().map(FloatPrices::exact)).enumerate();
            hints.reach.extend(reach.map(|(unit, both)| (cell(unit), both)));
            for bend in &self.levels[m] {
                let known = &row.levels()[bend.unit];
                let (level, prices) = (known.level.exact(), known.prices.exact());
                hints.levels.push((cell(bend.unit), Level { weight: bend.weight.exact(), level, prices }));
            }
            for bend in &self.envelopes[m] {
                let UnitPrices { every, nodes, flips, .. } = &*bend.prices;
                let envelope = Envelope {
                    weight: bend.weight.exact(),
                    every: every.exact(),
                    nodes: nodes.iter().map(|(node, price)| (*node, price.exact())).collect(),
                    flips: flips.iter().map(|(flip, price)| (*flip, price.exact())).collect(),
                };
                hints.envelopes.push((cell(bend.unit), envelope));
            }
        }
        hints
    }
}
