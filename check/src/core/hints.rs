//! Hints: the numbers of a leaf (`FORMAT.md` §2). Nothing follows from them but what the rules make of them.

use super::budget::{Budget, Flip};
use super::dyadic::Dyadic;
use super::slice::Slice;
use crate::reason::Reason;

/// `(layer, node, unit)`.
pub type Unit = (u32, u32, u32);

/// `(node, unit)` of layer 2.
pub type Cell = (u32, u32);

/// Prices of flips: `ρ ≥ 0` of every one, `η ≥ 0` of those of some nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prices {
    /// `ρ`.
    pub every: Dyadic,
    /// `η`, ascending by node.
    pub nodes: Vec<(u32, Dyadic)>,
}

impl Default for Prices {
    fn default() -> Prices {
        Prices { every: Dyadic::ZERO, nodes: Vec::new() }
    }
}

impl Prices {
    /// `ρ + η_n`.
    pub fn of(&self, node: u32) -> Dyadic {
        let own = self.nodes.binary_search_by_key(&node, |entry| entry.0);
        own.map_or_else(|_| self.every.clone(), |at| &self.every + &self.nodes[at].1)
    }
}

/// A bend by a level.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Level {
    /// `c ≥ 0`.
    pub weight: Dyadic,
    /// `T ≥ 0`.
    pub level: Dyadic,
    /// For the sum of what the flips made pay.
    pub prices: Prices,
}

/// A bend by prices of either sign.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Envelope {
    /// `c ≥ 0`.
    pub weight: Dyadic,
    /// `τ`.
    pub every: Dyadic,
    /// `ν`, ascending by node.
    pub nodes: Vec<(u32, Dyadic)>,
    /// `ρ`, ascending by flip.
    pub flips: Vec<(Flip, Dyadic)>,
}

impl Envelope {
    /// `u` and `v` of a flip.
    pub fn amounts(&self, flip: Flip) -> (Dyadic, Dyadic) {
        let (mut u, mut v) = (Dyadic::ZERO, Dyadic::ZERO);
        let node = self.nodes.binary_search_by_key(&flip.0, |entry| entry.0).ok().map(|at| &self.nodes[at].1);
        let single = self.flips.binary_search_by_key(&flip, |entry| entry.0).ok().map(|at| &self.flips[at].1);
        for price in [Some(&self.every), node, single].into_iter().flatten() {
            if price.is_negative() { v += &-price } else { u += price }
        }
        (u, v)
    }
}

/// The hints of a leaf; every list ascending, what is not listed as `FORMAT.md` says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hints {
    /// Slopes of units above layer 2.
    pub slopes: Vec<(Unit, Dyadic)>,
    /// `rise` and `fall`.
    pub lines: Vec<(Cell, [Dyadic; 2])>,
    /// Prices for `U` and for `V`.
    pub reach: Vec<(Cell, [Prices; 2])>,
    /// Bends by levels.
    pub levels: Vec<(Cell, Level)>,
    /// Bends by prices.
    pub envelopes: Vec<(Cell, Envelope)>,
    /// Prices for the largest loss.
    pub price: Prices,
    /// Row slopes are rounded to multiples of `2^grid`.
    pub grid: Option<i64>,
}

/// The entry of a key in an ascending list.
pub fn find<'a, K: Ord + Copy, T>(list: &'a [(K, T)], key: &K) -> Option<&'a T> {
    list.binary_search_by_key(key, |entry| entry.0).ok().map(|at| &list[at].1)
}

fn ascending<K: Ord + Copy, T>(name: &'static str, list: &[(K, T)]) -> Result<(), Reason> {
    let fine = list.windows(2).all(|pair| pair[0].0 < pair[1].0);
    if fine { Ok(()) } else { Err(Reason::HintOrder(name)) }
}

impl Hints {
    /// Refuses what the rules do not allow: wrong order, negative prices, units or flips outside the slice.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn require(&self, budget: &Budget, slice: &Slice, widths: &[usize]) -> Result<(), Reason> {
        ascending("slopes", &self.slopes)?;
        ascending("lines", &self.lines)?;
        ascending("reach", &self.reach)?;
        ascending("levels", &self.levels)?;
        ascending("envelopes", &self.envelopes)?;
        let unit = |(layer, node, unit): Unit| {
            let hidden = (2..slice.top()).contains(&(layer as usize));
            let known =
                hidden && (unit as usize) < widths[layer as usize] && slice.place(layer as usize, node).is_some();
            if known { Ok(()) } else { Err(Reason::Unit((layer, node, unit))) }
        };
        let known = |node: u32| slice.place(1, node).map(|_| ()).ok_or(Reason::HintNode(node));
        let amount =
            |name: &'static str, x: &Dyadic| if x.is_negative() { Err(Reason::HintSign(name)) } else { Ok(()) };
        let prices = |prices: &Prices| {
            ascending("prices", &prices.nodes)?;
            amount("prices", &prices.every)?;
            prices.nodes.iter().try_for_each(|(node, price)| known(*node).and_then(|()| amount("prices", price)))
        };
        for (id, _) in &self.slopes {
            unit(*id)?;
            if id.0 < 3 {
                return Err(Reason::Unit(*id));
            }
        }
        self.lines.iter().try_for_each(|(cell, _)| unit((2, cell.0, cell.1)))?;
        for (cell, both) in &self.reach {
            unit((2, cell.0, cell.1))?;
            both.iter().try_for_each(prices)?;
        }
        for (cell, bend) in &self.levels {
            unit((2, cell.0, cell.1))?;
            amount("levels", &bend.weight)?;
            amount("levels", &bend.level)?;
            prices(&bend.prices)?;
        }
        for (cell, bend) in &self.envelopes {
            unit((2, cell.0, cell.1))?;
            amount("envelopes", &bend.weight)?;
            ascending("envelopes", &bend.nodes)?;
            ascending("envelopes", &bend.flips)?;
            bend.nodes.iter().try_for_each(|entry| known(entry.0))?;
            bend.flips.iter().try_for_each(|entry| budget.require(entry.0).and_then(|()| known(entry.0.0)))?;
        }
        prices(&self.price)
    }
}
