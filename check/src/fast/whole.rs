//! Bounds of hidden units above layer 2 over all admissible perturbations, computed once for all targets.

use std::sync::Arc;

use super::hints::FloatHints;
use super::leaf::{Attempt, FastTarget};
use super::prices::FloatPrices;
use super::shared::{Bounds, Fast};
use crate::core::path::Path;
use crate::expand::Short;
use crate::format::exact::{ExactHints, UnitBoundHints, WholeHints};
use crate::number::{Up, set_steps, steps};
use crate::statement::{Decided, Slice};

/// Hints for the lower and the upper bounds of a unit.
pub(crate) struct UnitLists {
    unit: u32,
    both: [Vec<FloatHints>; 2],
}

/// Bounds of a layer come from leaves of the layers below, whose bounds come from here: the recursion ends at layer 2.
impl Fast<'_> {
    /// Bounds of a node of layer `l ≥ 3`.
    pub(crate) fn whole(&self, l: usize, node: u32) -> Arc<Bounds> {
        let expand = || {
            // All lines share the bounds: their steps are not those of the line that needs them first.
            let before = steps();
            let bounds = self.expand(l, node, |_| {});
            set_steps(before);
            Arc::new(bounds)
        };
        self.above[l - 3][node as usize].get_or_init(expand).clone()
    }

    /// The same, with the hints that give them.
    ///
    /// The paper's dual bound and the bound by levels, both with the dual's defaults above layer 2, and above layer 3
    /// the bound by levels of layers 2 and 3; the best of them and of propagation is kept.
    pub(crate) fn expand(&self, l: usize, node: u32, mut keep: impl FnMut(UnitLists)) -> Bounds {
        let slice = Slice::new(self.network.exact, l, node);
        let mut target = FastTarget::new(self, &slice);
        self.work.begin_bounds();
        // Two or three bounds of either side of a unit.
        let (cost, mut counted) = (if l > 3 { 6 } else { 4 } * slice.steps(), steps());
        let below: Vec<Bounds> = slice.nodes(l - 1).iter().map(|&n| self.below(l - 1, n)).collect();
        let mut bounds = target.propagate(l, &below).swap_remove(0);
        for (unit, (lower, upper)) in bounds.iter_mut().enumerate() {
            // A unit that is stable by propagation stays so; bounds of a linear one serve only the propagation to the
            // next hidden layer.
            let settled = match self.network.exact.is_linear(l, unit) {
                true => l + 1 == self.network.exact.depth(),
                false => !lower.is_negative() || !Up::is_positive(*upper),
            };
            let spent = steps().wrapping_sub(std::mem::replace(&mut counted, steps()));
            if settled || !self.work.affords(cost + spent) {
                continue;
            }
            let mut lists = [Vec::new(), Vec::new()];
            let nested = Short { cap: true, nested: true, ..Short::default() };
            let leaves = [(2, false), (3, true)];
            let leaves = leaves.map(|(dual, cap)| Short { dual: Some(dual), cap, ..Short::default() });
            for short in leaves.into_iter().chain((l > 3).then_some(nested)) {
                // Bends of layer 3 are worth their cost only where a unit may still have either sign, and in the last
                // hidden layer nothing else asks for bounds.
                let settled = !lower.is_negative() || !Up::is_positive(*upper);
                let last = l + 1 == self.network.exact.depth();
                if short.nested && self.network.exact.is_linear(l, unit) || settled && (short.nested || last) {
                    continue;
                }
                for (side, sign) in [(0, 1), (1, -1)] {
                    let attempt = target.attempt(&[(unit as u32, sign)], &Path::default(), &short, false);
                    let Attempt::Hints(hints, bound) = attempt else { continue };
                    let before = (*lower, *upper);
                    if side == 0 {
                        *lower = -(-*lower).least(-bound);
                    } else {
                        *upper = upper.least(-bound);
                    }
                    if !short.nested || (*lower, *upper) != before {
                        lists[side].push(*hints);
                    }
                }
            }
            keep(UnitLists { unit: unit as u32, both: lists });
        }
        self.work.affords(steps().wrapping_sub(counted));
        bounds
    }

    /// Hints for the core: for `reach`, and for the units their lists.
    pub(crate) fn whole_hints(&self, l: usize, node: u32, slice: &Slice) -> WholeHints {
        let mut units = Vec::new();
        let exact = |list: &[FloatHints]| list.iter().map(|hints| hints.exact(slice)).collect();
        self.expand(l, node, |UnitLists { unit, both: [lower, upper] }| {
            units.push(UnitBoundHints { unit, lower: exact(&lower), upper: exact(&upper) });
        });
        let mut reach = ExactHints::default();
        if l == 3 {
            for &m in slice.nodes(2) {
                let row = self.rows.row(m, &Decided::default());
                let cells = row.prices.iter().enumerate();
                reach
                    .reach
                    .extend(cells.map(|(unit, both)| ((m, unit as u32), both.each_ref().map(FloatPrices::exact))));
            }
        }
        WholeHints { reach, units }
    }

    fn below(&self, l: usize, node: u32) -> Bounds {
        if l == 2 { self.rows.row(node, &Decided::default()).bounds() } else { self.whole(l, node).to_vec() }
    }
}
