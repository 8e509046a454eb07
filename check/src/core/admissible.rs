//! Which hints are admissible (`FORMAT.md` §4), and what their prices say of a flip.

use super::scope::Scope;
use crate::format::exact::{ExactEnvelope, ExactHints, ExactPrices, find};
use crate::ids::{Cell, Flip};
use crate::number::Dyadic;
use crate::verdict::Reason;

impl ExactEnvelope {
    /// `u` and `v` of a flip.
    pub fn amounts(&self, flip: Flip) -> (Dyadic, Dyadic) {
        let (mut u, mut v) = (Dyadic::ZERO, Dyadic::ZERO);
        for price in [Some(&self.every), find(&self.nodes, &flip.0), find(&self.flips, &flip)].into_iter().flatten() {
            if price.is_negative() { v += &-price } else { u += price }
        }
        (u, v)
    }
}

fn ascending<K: Ord + Copy, T>(name: &'static str, list: &[(K, T)]) -> Result<(), Reason> {
    let fine = list.windows(2).all(|pair| pair[0].0 < pair[1].0);
    if fine { Ok(()) } else { Err(Reason::HintOrder(name)) }
}

fn positive(name: &'static str, x: &Dyadic) -> Result<(), Reason> {
    if x.is_negative() { Err(Reason::HintSign(name)) } else { Ok(()) }
}

impl ExactPrices {
    /// `ρ + η_n`.
    pub fn of(&self, node: u32) -> Dyadic {
        find(&self.nodes, &node).map_or_else(|| self.every.clone(), |own| &self.every + own)
    }

    /// Do they say nothing?
    pub fn are_unstated(&self) -> bool {
        self.every.is_zero() && self.nodes.is_empty()
    }

    /// The largest price of any flip.
    pub fn largest(&self) -> Dyadic {
        self.nodes.iter().fold(self.every.clone(), |most, (_, own)| most.max(&self.every + own))
    }

    fn require(&self, scope: &Scope) -> Result<(), Reason> {
        ascending("prices", &self.nodes)?;
        positive("prices", &self.every)?;
        self.nodes.iter().try_for_each(|(node, price)| scope.node(*node).and_then(|()| positive("prices", price)))
    }
}

impl ExactHints {
    /// Refuses what the rules do not allow: wrong order, negative prices, units or flips outside the slice.
    pub fn require(&self, scope: &Scope) -> Result<(), Reason> {
        let bent = [self.levels.len(), self.envelopes.len(), self.supports.len(), self.nested.len()];
        if scope.network.is_normalised() && bent != [0; 4] {
            return Err(Reason::Normalised("bends by levels or prices"));
        }
        let cell = |cell: Cell| scope.unit((2, cell.0, cell.1)).map(|_| ());
        for (id, _) in &self.slopes {
            scope.unit(*id).and_then(|id| if id.0 < 3 { Err(Reason::Unit(id)) } else { Ok(()) })?;
        }
        ascending("slopes", &self.slopes)?;
        self.lines.iter().try_for_each(|line| cell(line.0))?;
        ascending("lines", &self.lines)?;
        for ((node, unit), both) in &self.reach {
            // How far a linear unit reaches bounds what the layers above receive from it.
            scope.hidden_unit((2, *node, *unit))?;
            both.iter().try_for_each(|prices| prices.require(scope))?;
        }
        ascending("reach", &self.reach)?;
        for (id, bend) in &self.levels {
            cell(*id).and_then(|()| bend.prices.require(scope))?;
            positive("levels", &bend.weight).and_then(|()| positive("levels", &bend.level))?;
        }
        ascending("levels", &self.levels)?;
        for (id, bend) in &self.envelopes {
            cell(*id).and_then(|()| positive("envelopes", &bend.weight))?;
            ascending("envelopes", &bend.nodes).and_then(|()| ascending("envelopes", &bend.flips))?;
            bend.nodes.iter().try_for_each(|entry| scope.node(entry.0))?;
            bend.flips.iter().try_for_each(|entry| scope.flip(entry.0).map(|_| ()))?;
        }
        ascending("envelopes", &self.envelopes)?;
        for (id, line) in &self.supports {
            cell(*id).and_then(|()| line.prices.require(scope))?;
            positive("supports", &line.omega).and_then(|()| positive("supports", &line.level))?;
            positive("supports", &(&Dyadic::from(1) - &line.omega))?;
        }
        ascending("supports", &self.supports)?;
        for ((node, unit), bend) in &self.nested {
            scope.unit((3, *node, *unit)).and_then(|_| bend.prices.require(scope))?;
            positive("nested", &bend.weight).and_then(|()| positive("nested", &bend.level))?;
        }
        ascending("nested", &self.nested)?;
        self.price.require(scope)
    }
}
