//! Hints in exact numbers, as the rules of the core read them (`FORMAT.md` §2). Nothing follows from them but what
//! these rules make of them.

use crate::ids::{Cell, Flip, Unit};
use crate::number::Dyadic;

/// Prices of flips: `ρ ≥ 0` of every one, `η ≥ 0` of those of some nodes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExactPrices {
    /// `ρ`.
    pub every: Dyadic,
    /// `η`, ascending by node.
    pub nodes: Vec<(u32, Dyadic)>,
}

/// A bend by a level.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Level {
    /// `c ≥ 0`.
    pub weight: Dyadic,
    /// `T ≥ 0`.
    pub level: Dyadic,
    /// For the sum of what the flips made pay.
    pub prices: ExactPrices,
}

/// The lines of a unit of layer 2 that bends of layer 3 rest on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Support {
    /// `0 ≤ ω ≤ 1`: the slope of the lower line.
    pub omega: Dyadic,
    /// `T ≥ 0`: the level of the upper line.
    pub level: Dyadic,
    /// For the sum of what the flips made pay.
    pub prices: ExactPrices,
}

/// A bend by prices of either sign.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExactEnvelope {
    /// `c ≥ 0`.
    pub weight: Dyadic,
    /// `τ`.
    pub every: Dyadic,
    /// `ν`, ascending by node.
    pub nodes: Vec<(u32, Dyadic)>,
    /// `ρ`, ascending by flip.
    pub flips: Vec<(Flip, Dyadic)>,
}

/// The hints of a leaf; every list ascending, what is not listed as `FORMAT.md` says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExactHints {
    /// Slopes of units above layer 2.
    pub slopes: Vec<(Unit, Dyadic)>,
    /// `rise` and `fall`.
    pub lines: Vec<(Cell, [Dyadic; 2])>,
    /// Prices for `U` and for `V`.
    pub reach: Vec<(Cell, [ExactPrices; 2])>,
    /// Bends by levels.
    pub levels: Vec<(Cell, Level)>,
    /// Bends by prices.
    pub envelopes: Vec<(Cell, ExactEnvelope)>,
    /// Lines that bends of layer 3 rest on.
    pub supports: Vec<(Cell, Support)>,
    /// Bends by levels, of units of layer 3.
    pub nested: Vec<(Cell, Level)>,
    /// Prices for the largest loss.
    pub price: ExactPrices,
    /// Row slopes are rounded to multiples of `2^grid`.
    pub grid: Option<i64>,
}

/// Hints for the bounds of a unit of a layer above 2; of each list the best counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnitBoundHints {
    /// The unit within its layer.
    pub unit: u32,
    /// For `R`.
    pub lower: Vec<ExactHints>,
    /// For `S`.
    pub upper: Vec<ExactHints>,
}

/// Hints for the whole bounds of a node of a layer above 2.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WholeHints {
    /// Only its `reach` counts, and only at layer 3.
    pub reach: ExactHints,
    /// Ascending by unit.
    pub units: Vec<UnitBoundHints>,
}

/// The entry of a key in an ascending list.
pub fn find<'a, K: Ord + Copy, T>(list: &'a [(K, T)], key: &K) -> Option<&'a T> {
    list.binary_search_by_key(key, |entry| entry.0).ok().map(|at| &list[at].1)
}

impl ExactPrices {
    fn numbers(&self) -> usize {
        1 + 2 * self.nodes.len()
    }
}

impl ExactHints {
    /// How many numbers they consist of, about.
    pub(crate) fn numbers(&self) -> usize {
        let reach = self.reach.iter().map(|(_, both)| 2 + both.iter().map(ExactPrices::numbers).sum::<usize>());
        let levels = self.levels.iter().map(|(_, bend)| 4 + bend.prices.numbers());
        let envelopes = self.envelopes.iter().map(|(_, bend)| 4 + 2 * bend.nodes.len() + 3 * bend.flips.len());
        let supports = self.supports.iter().map(|(_, line)| 4 + line.prices.numbers());
        let nested = self.nested.iter().map(|(_, bend)| 4 + bend.prices.numbers());
        let lists = reach.chain(levels).chain(envelopes).chain(supports).chain(nested).sum::<usize>();
        4 * (self.slopes.len() + self.lines.len()) + lists + self.price.numbers()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_is_counted() {
        let number = Dyadic::from(1);
        let prices = |nodes: u32| ExactPrices {
            every: number.clone(),
            nodes: (0..nodes).map(|n| (n, number.clone())).collect(),
        };
        let level = |nodes: u32| Level { weight: number.clone(), level: number.clone(), prices: prices(nodes) };
        let support = |nodes: u32| Support { omega: number.clone(), level: number.clone(), prices: prices(nodes) };
        let envelope = ExactEnvelope {
            weight: number.clone(),
            every: number.clone(),
            nodes: vec![(0, number.clone()); 5],
            flips: vec![((0, 0), number.clone()); 7],
        };
        let none = ExactHints::default();
        assert_eq!(none.numbers(), 1);
        let with = |change: fn(&mut ExactHints, ExactHints)| {
            let all = ExactHints {
                slopes: vec![((3, 0, 0), number.clone()); 3],
                lines: vec![((0, 0), [number.clone(), number.clone()]); 5],
                reach: vec![((0, 0), [prices(2), prices(3)])],
                levels: vec![((0, 0), level(3))],
                envelopes: vec![((0, 0), envelope.clone())],
                supports: vec![((0, 0), support(2))],
                nested: vec![((0, 0), level(1))],
                price: prices(4),
                grid: None,
            };
            let mut hints = ExactHints::default();
            change(&mut hints, all);
            hints.numbers() - 1
        };
        // Node or layer, and unit, count as numbers.
        assert_eq!(with(|hints, all| hints.slopes = all.slopes), 3 * 4);
        assert_eq!(with(|hints, all| hints.lines = all.lines), 5 * 4);
        assert_eq!(with(|hints, all| hints.reach = all.reach), 2 + (1 + 2 * 2) + (1 + 2 * 3));
        assert_eq!(with(|hints, all| hints.levels = all.levels), 4 + 1 + 2 * 3);
        assert_eq!(with(|hints, all| hints.envelopes = all.envelopes), 4 + 2 * 5 + 3 * 7);
        assert_eq!(with(|hints, all| hints.supports = all.supports), 4 + 1 + 2 * 2);
        assert_eq!(with(|hints, all| hints.nested = all.nested), 4 + 1 + 2);
        assert_eq!(with(|hints, all| hints.price = all.price), 2 * 4);
        assert_eq!(with(|hints, all| *hints = all), 12 + 20 + 14 + 11 + 35 + 9 + 7 + 8);
    }
}
