//! Paths: what the splits between the root of a tree and a leaf decide.

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
    /// The side of a unit that the path splits.
    pub fn side(&self, unit: Unit) -> Option<bool> {
        find(&self.units, &unit).copied()
    }
}
