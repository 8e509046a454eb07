//! Hints whose numbers are floats, and their conversion to the hints of the core.

use std::sync::Arc;

use super::nested_loss::{NestedLosses, NestedUse};
use super::prices::FloatPrices;
use super::row::NodeUnits;
use crate::expand::EnvelopePrices;
use crate::format::exact::{ExactEnvelope, ExactHints, Level, Support};
use crate::ids::{Cell, Flip, Unit};
use crate::number::{Dyadic, Interval, Stored};
use crate::statement::Slice;

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
    pub(crate) prices: Arc<EnvelopePrices>,
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
    /// Bends of layer 3.
    pub(crate) nested: Vec<NestedUse>,
    /// Not a hint: what these take from flips.
    pub(crate) taken: Option<NestedLosses>,
    /// What the prices of `reach` and of levels are from.
    pub(crate) rows: Vec<Arc<NodeUnits>>,
    pub(crate) price: FloatPrices,
    pub(crate) grid: Option<i64>,
    /// Not a hint: the flip that loses most, as far as that was looked at.
    pub(crate) worst: Option<Flip>,
}

impl FloatHints {
    /// The same for the core.
    pub(crate) fn exact(&self, slice: &Slice) -> ExactHints {
        let mut hints = ExactHints { price: self.price.exact(), grid: self.grid, ..ExactHints::default() };
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
                let EnvelopePrices { every, nodes, flips, .. } = &*bend.prices;
                let envelope = ExactEnvelope {
                    weight: bend.weight.exact(),
                    every: every.exact(),
                    nodes: nodes.iter().map(|(node, price)| (*node, price.exact())).collect(),
                    flips: flips.iter().map(|(flip, price)| (*flip, price.exact())).collect(),
                };
                hints.envelopes.push((cell(bend.unit), envelope));
            }
            let Some(taken) = &self.taken else { continue };
            for (unit, known) in row.levels().iter().enumerate().filter(|(unit, _)| !taken.is_linear(m, *unit)) {
                // Where rounding hides the sign of a unit it has neither a level nor a slope, as if it were not listed.
                if let Some(below) = known.below {
                    let omega = if below { Dyadic::ZERO } else { Dyadic::from(1) };
                    let (level, prices) = (known.level.exact(), known.prices.exact());
                    hints.supports.push((cell(unit), Support { omega, level, prices }));
                }
            }
        }
        for bend in &self.nested {
            let Some(known) = bend.level() else { continue };
            let (level, prices) = (known.level.exact(), known.prices.exact());
            let cell = (slice.nodes(3)[bend.place], bend.unit as u32);
            hints.nested.push((cell, Level { weight: bend.weight.exact(), level, prices }));
        }
        hints.nested.sort_by_key(|entry| entry.0);
        hints
    }
}
