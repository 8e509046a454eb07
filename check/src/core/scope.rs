//! What the units and flips of a proof must be: hidden units of the target's neighbourhood, flips that are permitted.

use crate::ids::{Flip, Unit};
use crate::statement::{Budget, Decided, Network, Slice};
use crate::verdict::Reason;

/// What units and flips of a tree are checked against.
pub struct Scope<'a> {
    pub network: &'a Network<'a>,
    pub budget: &'a Budget<'a>,
    pub slice: &'a Slice,
}

impl Scope<'_> {
    /// Refuses what is no hidden unit of the slice.
    pub fn hidden_unit(&self, unit: Unit) -> Result<Unit, Reason> {
        let (layer, place) = (unit.0 as usize, unit.2 as usize);
        let hidden = (2..self.slice.top()).contains(&layer) && place < self.network.widths[layer];
        if hidden && self.slice.place(layer, unit.1).is_some() { Ok(unit) } else { Err(Reason::Unit(unit)) }
    }

    /// Refuses what is no hidden unit of the slice, or has no activation: there is nothing to split or to replace by a
    /// line.
    pub fn unit(&self, unit: Unit) -> Result<Unit, Reason> {
        let (layer, _, place) = self.hidden_unit(unit)?;
        if self.network.is_linear(layer as usize, place as usize) { Err(Reason::Linear(unit)) } else { Ok(unit) }
    }

    /// Refuses a node whose attributes do not concern the target.
    pub fn node(&self, node: u32) -> Result<(), Reason> {
        self.slice.place(1, node).map(|_| ()).ok_or(Reason::HintNode(node))
    }

    /// Refuses a node whose row does not concern the target, or is not normalised.
    pub fn row(&self, node: u32) -> Result<(), Reason> {
        if self.network.is_normalised() { self.node(node) } else { Err(Reason::HintNode(node)) }
    }

    /// Refuses what is no permitted flip of the slice.
    pub fn flip(&self, flip: Flip) -> Result<Flip, Reason> {
        self.budget.require(flip)?;
        self.slice.place(1, flip.0).map(|_| flip).ok_or(Reason::Outside(flip))
    }

    /// The flips of a witness, if they are an admissible set.
    pub fn witness(&self, flips: &[Flip]) -> Result<Decided, Reason> {
        for (at, &flip) in flips.iter().enumerate() {
            self.budget.require(flip)?;
            if at > 0 && flips[at - 1] >= flip {
                return Err(Reason::FlipOrder(flip));
            }
        }
        let made = Decided::made(flips);
        if made.overspent(self.budget) { Err(Reason::Budget) } else { Ok(made) }
    }
}
