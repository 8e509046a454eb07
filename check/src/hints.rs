//! Hints: the numbers of a leaf (`FORMAT.md` §2). Nothing follows from them but what the rules of the core make of them.

use crate::core::dyadic::Dyadic;
use crate::statement::Flip;

/// `(layer, node, unit)`.
pub type Unit = (u32, u32, u32);

/// `(node, unit)` of layer 2.
pub type Cell = (u32, u32);

/// Prices of flips: `ρ ≥ 0` of every one, `η ≥ 0` of those of some nodes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Prices {
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

impl Prices {
    fn numbers(&self) -> usize {
        1 + 2 * self.nodes.len()
    }
}

impl Hints {
    /// How many numbers they consist of, about.
    pub(crate) fn numbers(&self) -> usize {
        let reach = self.reach.iter().map(|(_, both)| 2 + both.iter().map(Prices::numbers).sum::<usize>());
        let levels = self.levels.iter().map(|(_, bend)| 4 + bend.prices.numbers());
        let envelopes = self.envelopes.iter().map(|(_, bend)| 4 + 2 * bend.nodes.len() + 3 * bend.flips.len());
        let lists = reach.chain(levels).chain(envelopes).sum::<usize>();
        4 * (self.slopes.len() + self.lines.len()) + lists + self.price.numbers()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_is_counted() {
        let number = Dyadic::from(1);
        let prices =
            |nodes: u32| Prices { every: number.clone(), nodes: (0..nodes).map(|n| (n, number.clone())).collect() };
        let level = |nodes: u32| Level { weight: number.clone(), level: number.clone(), prices: prices(nodes) };
        let envelope = Envelope {
            weight: number.clone(),
            every: number.clone(),
            nodes: vec![(0, number.clone()); 5],
            flips: vec![((0, 0), number.clone()); 7],
        };
        let none = Hints::default();
        assert_eq!(none.numbers(), 1);
        let with = |change: fn(&mut Hints, Hints)| {
            let all = Hints {
                slopes: vec![((3, 0, 0), number.clone()); 3],
                lines: vec![((0, 0), [number.clone(), number.clone()]); 5],
                reach: vec![((0, 0), [prices(2), prices(3)])],
                levels: vec![((0, 0), level(3))],
                envelopes: vec![((0, 0), envelope.clone())],
                price: prices(4),
                grid: None,
            };
            let mut hints = Hints::default();
            change(&mut hints, all);
            hints.numbers() - 1
        };
        // Node or layer, and unit, count as numbers.
        assert_eq!(with(|hints, all| hints.slopes = all.slopes), 3 * 4);
        assert_eq!(with(|hints, all| hints.lines = all.lines), 5 * 4);
        assert_eq!(with(|hints, all| hints.reach = all.reach), 2 + (1 + 2 * 2) + (1 + 2 * 3));
        assert_eq!(with(|hints, all| hints.levels = all.levels), 4 + 1 + 2 * 3);
        assert_eq!(with(|hints, all| hints.envelopes = all.envelopes), 4 + 2 * 5 + 3 * 7);
        assert_eq!(with(|hints, all| hints.price = all.price), 2 * 4);
        assert_eq!(with(|hints, all| *hints = all), 12 + 20 + 14 + 11 + 35 + 8);
    }
}
