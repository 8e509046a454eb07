//! Paths: what the splits between the root of a tree and a leaf decide.

use crate::format::Step;
use crate::format::exact::find;
use crate::ids::Unit;
use crate::statement::Decided;

/// The way from the root of a tree to a leaf.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Path {
    /// Split units, ascending; `true` is the side `z ≥ 0`, `false` the side `z ≤ 0`.
    pub units: Vec<(Unit, bool)>,
    /// Split flips: made, or kept from being made.
    pub decided: Decided,
}

impl Path {
    /// Goes on to one side of a split. `row` has the attributes of a node without any flip.
    pub fn follow<'r>(&mut self, split: &Step, second: bool, row: impl Fn(u32) -> &'r [u32]) {
        match *split {
            Step::Unit(layer, node, unit) => insert(&mut self.units, ((layer, node, unit), !second)),
            Step::Flip(node, attribute) => {
                insert(&mut self.decided.fixed, (node, attribute));
                if second {
                    insert(&mut self.decided.flipped, (node, attribute));
                }
            }
            Step::Row(node, count) => self.decided.limit_row(node, row(node), count as usize, second),
            Step::Leaf(_) | Step::Hints(_) => {}
        }
    }

    /// The side of a unit that the path splits.
    pub fn side(&self, unit: Unit) -> Option<bool> {
        find(&self.units, &unit).copied()
    }
}

/// Puts an item into its place of an ascending list.
fn insert<T: Ord>(list: &mut Vec<T>, item: T) {
    list.insert(list.partition_point(|known| *known < item), item);
}
