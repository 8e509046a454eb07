//! Layer 2 where rows of attributes are normalised: how far whole rows reach (rules 1 and 2, `FORMAT.md` §4).

use std::sync::Arc;

use super::menu::{FastMenu, FastPart, RowFlips, largest, rows_lose};
use super::prices::FloatPrices;
use super::row::{Menus, Row, Rows};
use crate::number::{Interval, Stored, Up};
use crate::statement::{Decided, Link, pairs};

/// What flips of a neighbour do to the units of a node.
struct NeighbourMenus {
    left: usize,
    menus: Arc<Menus>,
    /// Where the menus of the units begin.
    from: usize,
    /// 1 where rises of what is sent arrive as falls, else 0.
    turned: usize,
    factor: Stored,
}

impl NeighbourMenus {
    /// For rises (0) or falls (1) of a unit.
    fn part(&self, unit: usize, direction: usize) -> FastPart<'_> {
        let menu = &self.menus[self.from + unit][direction ^ self.turned];
        FastPart { menu, factor: self.factor, left: self.left }
    }
}

impl Rows<'_> {
    /// Everything about node `m` where rows are normalised.
    pub(super) fn normalised(&self, m: u32, decided: &Decided) -> Row {
        let (width, total) = (self.network.width(), decided.left_in_all(self.budget).unwrap_or(0));
        let rows = pairs(self.links(m)).filter_map(|pair| {
            let left = decided.left(self.budget, pair[0].at).filter(|&left| left > 0)?;
            Some(match pair {
                [link] => {
                    let (from, factor) = (link.part(width).start, link.entry.size());
                    // Through a negative entry a rise of what is sent arrives as a fall.
                    let turned = usize::from(!link.entry.is_positive());
                    NeighbourMenus { left, menus: self.menus(link.at, decided), from, turned, factor }
                }
                _ => {
                    let menus = Arc::new(self.summed_menus(pair, decided));
                    NeighbourMenus { left, menus, from: 0, turned: 0, factor: Stored::ONE }
                }
            })
        });
        let rows: Vec<NeighbourMenus> = rows.collect();
        let (mut reach, mut prices) = (Vec::with_capacity(width), Vec::with_capacity(width));
        for unit in 0..width {
            let both = [0, 1].map(|direction| {
                let parts: Vec<FastPart> = rows.iter().map(|row| row.part(unit, direction)).collect();
                rows_lose(&parts, total)
            });
            reach.push(both.map(|(_, given)| given));
            prices.push(both.map(|(every, _)| FloatPrices { every, nodes: Vec::new() }));
        }
        Row::of_menus(self.value(m, decided), reach, prices)
    }

    /// What flips of node `n` do to each column of what it sends. What flips elsewhere leave of the budget only makes the
    /// lists longer than need be.
    fn menus(&self, n: u32, decided: &Decided) -> Arc<Menus> {
        match self.menus.get(n as usize) {
            Some(known) if decided.fixed_in(n).next().is_none() => {
                known.get_or_init(|| Arc::new(self.all_menus(n, &Decided::default()))).clone()
            }
            _ => Arc::new(self.all_menus(n, decided)),
        }
    }

    fn all_menus(&self, n: u32, decided: &Decided) -> Menus {
        let exact = self.network.exact;
        let ((count, sums), left) = (self.base(n, decided), decided.left(self.budget, n).unwrap_or(0));
        let row = exact.graph.attributes.row(n as usize);
        let is_free = |d: u32, is_present: bool| {
            self.budget.permits((n, d), is_present) && decided.fixed.binary_search(&(n, d)).is_err()
        };
        let removed: Vec<u32> = row.iter().copied().filter(|&d| is_free(d, true)).collect();
        let menu = |column: usize, upward: bool| {
            let (falling, weights) = (&exact.falling[column], &self.network.columns[column]);
            let change = |d: u32, upward: bool| {
                let w = weights[d as usize];
                Up::from(if upward { w } else { -w })
            };
            let order = (0..falling.len()).map(|at| falling[if upward { at } else { falling.len() - 1 - at }]);
            let absent = order.filter(|&d| row.binary_search(&d).is_err() && is_free(d, false));
            let additions = absent.take(if self.budget.adds() { left } else { 0 }).map(|d| change(d, upward)).collect();
            let removals = largest(removed.iter().map(|&d| change(d, !upward)).collect(), left);
            let sum = sums.interval(column);
            let whole = if upward { [sum.upper, (-sum).upper] } else { [(-sum).upper, sum.upper] };
            FastMenu::new(exact, count, &RowFlips { additions, removals, whole }, left)
        };
        (0..self.network.columns.len()).map(|column| [true, false].map(|upward| menu(column, upward))).collect()
    }

    /// What flips of a node that several terms connect with a node of layer 2 do to each of its units.
    fn summed_menus(&self, pair: &[Link], decided: &Decided) -> Menus {
        let (exact, n, width) = (self.network.exact, pair[0].at, self.network.width());
        let ((count, sums), left) = (self.base(n, decided), decided.left(self.budget, n).unwrap_or(0));
        let row = exact.graph.attributes.row(n as usize);
        let flips = (0..exact.graph.attributes.columns as u32).map(|d| (d, row.binary_search(&d).is_ok()));
        let is_free = |flip: &(u32, bool)| {
            self.budget.permits((n, flip.0), flip.1) && decided.fixed.binary_search(&(n, flip.0)).is_err()
        };
        let flips: Vec<(u32, bool)> = flips.filter(is_free).collect();
        let menus = |unit: usize| {
            let changes: Vec<Interval> = flips.iter().map(|flip| self.network.change(pair, unit, flip.0)).collect();
            let sum = pair.iter().map(|link| sums.interval(link.part(width).start + unit).scaled(link.entry));
            let sum = sum.fold(Interval::ZERO, Interval::plus);
            [true, false].map(|upward| {
                let list = |wanted: bool| {
                    let wanted = flips.iter().zip(&changes).filter(|(flip, _)| flip.1 == wanted);
                    let list = wanted.map(|(flip, x)| if flip.1 == upward { (-*x).upper } else { x.upper });
                    largest(list.collect(), left)
                };
                let whole = if upward { [sum.upper, (-sum).upper] } else { [(-sum).upper, sum.upper] };
                FastMenu::new(exact, count, &RowFlips { additions: list(false), removals: list(true), whole }, left)
            })
        };
        (0..width).map(menus).collect()
    }
}
