//! Paths: what the splits between the root of a tree and a leaf decide.

use gcnproof_files::GraphFile;

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
    /// Goes on to one side of a split.
    pub fn follow(&mut self, split: &Step, second: bool, graph: &GraphFile) {
        match *split {
            Step::Unit(layer, node, unit) => insert(&mut self.units, ((layer, node, unit), !second)),
            Step::Flip(node, attribute) => {
                insert(&mut self.decided.fixed, (node, attribute));
                if second {
                    insert(&mut self.decided.flipped, (node, attribute));
                    self.exclude_others(node, attribute, graph);
                }
            }
            Step::Row(node, count, side) => {
                self.decided.limit_row(node, graph.attributes.row(node as usize), side, count as usize, second);
            }
            Step::Leaf(_) | Step::Hints(_) => {}
        }
    }

    /// A row gets one category of a group: the other changes of it are not made.
    fn exclude_others(&mut self, node: u32, attribute: u32, graph: &GraphFile) {
        let Some(categories) = &graph.categories else { return };
        for other in categories.attributes() as u32..graph.attributes.columns as u32 {
            if categories.exclude_each_other(attribute, other) && categories.applies(node, other) {
                insert(&mut self.decided.fixed, (node, other));
            }
        }
    }

    /// The side of a unit that the path splits.
    pub fn side(&self, unit: Unit) -> Option<bool> {
        find(&self.units, &unit).copied()
    }
}

/// Puts an item into its place of an ascending list.
fn insert<T: Ord>(list: &mut Vec<T>, item: T) {
    if let Err(at) = list.binary_search(&item) {
        list.insert(at, item);
    }
}
