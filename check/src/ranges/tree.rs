//! Trees whose leaves are about all admissible changes.

use super::bound::RowScene;
use super::budget::value_in;
use super::path::{EntryPlace, RangePath, UnitPlace};
use crate::format::{LARGEST_TREE, LONGEST_PATH, RangeStep};
use crate::ids::Unit;
use crate::number::Stored;
use crate::verdict::Reason;
use crate::work::Meter;

/// Steps of [`crate::work`] for an element of a tree.
const STEP: u64 = 256;

/// Bits of a value that a path may split at: floats have 53.
const LONGEST_VALUE: usize = 256;

impl RangePath {
    /// Both sides of a split.
    fn split(&self, scene: &RowScene, step: &RangeStep) -> Result<[RangePath; 2], Reason> {
        let (mut first, mut second) = (self.clone(), self.clone());
        match step {
            &RangeStep::Unit(l, node, unit) => {
                let at = scene.unit((l, node, unit))?;
                if self.signs.contains_key(&at) {
                    return Err(Reason::SplitTwice);
                }
                first.signs.insert(at, true);
                second.signs.insert(at, false);
            }
            &RangeStep::Entry(node, attribute) => {
                let (at, old) = scene.entry(node, attribute)?;
                if self.entries.contains_key(&at) {
                    return Err(Reason::SplitTwice);
                }
                first.entries.insert(at, None);
                second.entries.insert(at, Some(scene.statement.budget.limits(attribute, old)));
            }
            RangeStep::Value(node, attribute, value) => {
                let (at, _) = scene.entry(*node, *attribute)?;
                let Some(Some([low, high])) = self.entries.get(&at) else {
                    return Err(Reason::Entry((*node, *attribute)));
                };
                if value.0.bits() > LONGEST_VALUE || value.0 < *low || value.0 > *high {
                    return Err(Reason::Entry((*node, *attribute)));
                }
                first.entries.insert(at, Some([low.clone(), value.0.clone()]));
                second.entries.insert(at, Some([value.0.clone(), high.clone()]));
            }
            RangeStep::Lines(_) => return Err(Reason::Incomplete),
        }
        Ok([first, second])
    }
}

impl RowScene<'_> {
    /// A hidden unit of the neighbourhood that has an activation.
    pub(super) fn unit(&self, unit: Unit) -> Result<UnitPlace, Reason> {
        let l = unit.0 as usize;
        if !(2..self.slice.top()).contains(&l) || unit.2 as usize >= self.statement.network.width(l) {
            return Err(Reason::Unit(unit));
        }
        let place = self.slice.place(l, unit.1).ok_or(Reason::Unit(unit))?;
        if self.statement.network.layer(l - 1).is_linear(unit.2 as usize) {
            return Err(Reason::Linear(unit));
        }
        Ok((l, place, unit.2 as usize))
    }

    /// An entry of the neighbourhood that may be changed, and its value.
    fn entry(&self, node: u32, attribute: u32) -> Result<(EntryPlace, Stored), Reason> {
        let place = self.slice.place(1, node).filter(|_| self.statement.budget.is_free(attribute));
        let place = place.ok_or(Reason::Entry((node, attribute)))?;
        Ok(((place, attribute), value_in(&self.rows[place], attribute)))
    }

    /// Accepts a tree if it covers all changes and `leaf` accepts every leaf; otherwise the place of what is wrong.
    pub(super) fn walk(
        &self,
        tree: &[RangeStep],
        meter: &Meter,
        mut leaf: impl FnMut(&RangePath, &RangeStep) -> Result<(), Reason>,
    ) -> Result<(), (usize, Reason)> {
        if tree.len() > LARGEST_TREE {
            return Err((LARGEST_TREE, Reason::TooLarge(format!("more than {LARGEST_TREE} nodes in a tree"))));
        }
        // The path at hand, and the second sides that are still to come.
        let (mut path, mut waiting) = (Some(RangePath::default()), Vec::new());
        for (at, step) in tree.iter().enumerate() {
            let here = |reason| (at, reason);
            let Some(known) = path.take() else { return Err(here(Reason::Trailing)) };
            // A path is copied with every split.
            let length = 1 + known.signs.len() + known.entries.len();
            meter.spend(STEP * length as u64).map_err(here)?;
            if let RangeStep::Lines(_) = step {
                leaf(&known, step).map_err(here)?;
                path = waiting.pop();
                continue;
            }
            if length > LONGEST_PATH {
                return Err(here(Reason::TooLarge(format!("more than {LONGEST_PATH} splits on a path"))));
            }
            let [first, second] = known.split(self, step).map_err(here)?;
            waiting.push(second);
            if waiting.len() > LONGEST_PATH {
                return Err(here(Reason::TooLarge(format!("more than {LONGEST_PATH} splits on a path"))));
            }
            path = Some(first);
        }
        if path.is_none() { Ok(()) } else { Err((tree.len(), Reason::Incomplete)) }
    }
}
