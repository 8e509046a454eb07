//! Rule 5′ in floats: bends of units of layer 3, the affine bounds that they rest on, and their levels.

use std::rc::Rc;
use std::sync::Arc;

use super::loss::{FastLosses, Priced};
use super::nested_loss::{NestedLevel, NestedLosses, NestedRow, NestedUse, Supports, Taken};
use super::prices::FloatPrices;
use super::row::{NodeUnits, covering};
use super::shared::Fast;
use crate::number::{Down, Rough, Stored, Up, set_steps, steps};
use crate::statement::{Decided, Slice};

impl Fast<'_> {
    /// The levels of the units of a node of layer 3.
    pub(crate) fn nested(&self, node: u32, decided: &Decided) -> Arc<NestedRow> {
        let slice = Slice::new(self.network.exact, 3, node);
        let fixed = |&n: &u32| decided.fixed_in(n).next().is_some();
        if !decided.flipped.is_empty() || slice.nodes(1).iter().any(fixed) {
            let afforded = || !self.work.stopped();
            return Arc::new(self.nested_row(&slice, decided, afforded));
        }
        let expand = || {
            // All lines share the levels: their steps are not those of the line that needs them first.
            let (before, cost) = (steps(), slice.steps());
            self.work.begin_bounds();
            let mut counted = before;
            let afforded = || {
                let spent = steps().wrapping_sub(std::mem::replace(&mut counted, steps()));
                self.work.affords(cost + spent)
            };
            let row = self.nested_row(&slice, &Decided::default(), afforded);
            self.work.affords(steps().wrapping_sub(counted));
            set_steps(before);
            Arc::new(row)
        };
        self.nested[node as usize].get_or_init(expand).clone()
    }

    /// Steps for the levels of layer 3 in a slice on a path that fixes flips, which no other line shares.
    pub(crate) fn nested_steps(&self, slice: &Slice, decided: &Decided) -> u64 {
        if decided.fixed.is_empty() {
            return 0;
        }
        let width = self.network.exact.widths[3] as u64;
        let steps = |&node: &u32| width.saturating_mul(Slice::new(self.network.exact, 3, node).steps());
        slice.nodes(3).iter().map(steps).fold(0, u64::saturating_add)
    }

    fn nested_row(&self, slice: &Slice, decided: &Decided, mut afforded: impl FnMut() -> bool) -> NestedRow {
        let rows: Vec<Arc<NodeUnits>> = slice.nodes(2).iter().map(|&m| self.rows.row(m, decided)).collect();
        let supports = Rc::new(Supports::new(&self.network, slice, &rows));
        let unstable = self.whole(3, slice.nodes(3)[0]);
        let unit = |(unit, (lower, upper)): (usize, &(Down, Up))| {
            let settled = self.network.exact.is_linear(3, unit) || !lower.is_negative() || !upper.is_positive();
            if settled || !afforded() {
                return None;
            }
            self.nested_level(slice, decided, &rows, &supports, unit)
        };
        unstable.iter().enumerate().map(unit).collect()
    }

    /// `T` as at layer 2, for the changes of the affine bound of a unit.
    fn nested_level(
        &self,
        slice: &Slice,
        decided: &Decided,
        rows: &[Arc<NodeUnits>],
        supports: &Rc<Supports>,
        unit: usize,
    ) -> Option<NestedLevel> {
        let base = supports.base(&self.network, slice, 0, unit);
        let below = base.sign()? == std::cmp::Ordering::Less;
        let taken = if below { Taken::Rise } else { Taken::Fall };
        let nested = NestedLosses::new(&self.network, slice, supports.clone(), vec![(unit, taken)]);
        let lines = vec![vec![[Stored::ZERO; 2]; self.network.width()]; rows.len()];
        let losses = FastLosses {
            network: &self.network,
            budget: self.budget,
            slice,
            decided,
            lines: &lines,
            linear: &[],
            levels: &[],
            envelopes: &[],
            rows,
            nested: Some(&nested),
            step: Stored::ZERO,
        };
        let Priced { prices: known, found, kept, least, .. } = losses.priced(None);
        let way = if below { -base.rough() } else { base.rough() };
        let (mut rest, mut level) = (Rough::ZERO, Rough::ZERO);
        for (i, change) in kept.iter().enumerate().rev() {
            level = level.most((way - rest).part(i + 1));
            rest = rest + change.rough();
        }
        let level = level.price();
        let every = Rough::from(known.every).least(level.into()).price();
        let capped = |price: Stored| {
            let both = Rough::from(known.every) + Rough::from(price);
            covering(every, Up::from(both.next().least(level.into()).price()))
        };
        let nodes = known.nodes.iter().map(|(node, price)| (*node, capped(*price))).collect();
        let prices = FloatPrices { every, nodes };
        // All changes above `least` were found, and no other exceeds a price that is not below it. Cut at a level below
        // it, none exceeds its price.
        let mut paid = Up::from(every).many(decided.left_in_all(self.budget).unwrap_or(0));
        for (node, price) in &prices.nodes {
            paid = paid.plus(Up::from(*price).many(decided.left(self.budget, *node).unwrap_or(0)));
        }
        for (node, amount) in &found {
            paid = paid.plus(amount.least(level.into()).minus(prices.of(*node)).positive_part());
        }
        let base = if below { base.upper.plus(paid).positive_part() } else { base.upper.most(paid) };
        let largest = kept.first().copied().unwrap_or(Up::ZERO).most(least.into());
        Some(NestedLevel { level, prices, base, below, largest })
    }
}

/// What the bends of a leaf take from each flip.
pub(crate) fn losses(fast: &Fast, slice: &Slice, supports: Rc<Supports>, uses: &[NestedUse]) -> NestedLosses {
    let width = fast.network.exact.widths[3];
    let taken = uses.iter().filter_map(|one| {
        let NestedLevel { level, below, largest, .. } = *one.level()?;
        Some((one.place * width + one.unit, Taken::Bend { weight: one.weight, level, below, largest }))
    });
    let taken = taken.collect();
    NestedLosses::new(&fast.network, slice, supports, taken)
}
