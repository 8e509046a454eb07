//! The menus of normalised rows for what they send: how far flips of a row move a column of it, or a unit that several
//! terms reach.

use super::menu::{FloatMenu, RowFlips, largest, limits};
use super::row::Rows;
use crate::number::{Interval, Stored, Sums, Up};
use crate::statement::{Decided, Link};

impl Rows<'_> {
    /// The menus of a row for rises, then falls, of each column of what it sends.
    pub(super) fn column_menus(&self, n: u32, decided: &Decided) -> Vec<[FloatMenu; 2]> {
        let (own, sums) = self.base(n, decided);
        let sums = sums.intervals();
        let menus = self.network.columns.iter().enumerate().map(|(column, weights)| {
            [true, false].map(|upward| {
                let towards = |w: Stored, upward: bool| Up::from(if upward { w } else { -w });
                let falling = &self.network.exact.falling[column];
                let order = (0..falling.len()).map(|at| falling[if upward { at } else { falling.len() - 1 - at }]);
                self.row_menu(n, own, decided, order, sums[column], upward, |d, added| {
                    towards(weights[d as usize], added == upward)
                })
            })
        });
        menus.collect()
    }

    /// The same for the units of a node that the row reaches by several terms.
    pub(super) fn unit_menus(&self, pair: &[Link], decided: &Decided) -> Vec<[FloatMenu; 2]> {
        let (n, width) = (pair[0].at, self.network.width());
        let (own, sums) = self.base(n, decided);
        let along = pair.iter().map(|link| (link.entry, &sums, link.part(width).start));
        let whole = Sums::combined(vec![Stored::ZERO; width], along);
        let menus = (0..width).map(|unit| {
            let changes: Vec<Interval> = (0..self.network.exact.graph.attributes.columns as u32)
                .map(|d| self.network.change(pair, unit, d))
                .collect();
            [true, false].map(|upward| {
                let towards = |x: Interval, upward: bool| if upward { x.upper } else { (-x).upper };
                let mut order: Vec<u32> = (0..changes.len() as u32).collect();
                let key = |d: &u32| towards(changes[*d as usize], upward);
                order.sort_by(|a, b| key(b).order(key(a)));
                self.row_menu(n, own, decided, order.into_iter(), whole[unit], upward, |d, added| {
                    towards(changes[d as usize], added == upward)
                })
            })
        });
        menus.collect()
    }

    /// The menu of a row by what its flips change, with the attributes in the order of what adding them changes, the
    /// largest first.
    #[expect(clippy::too_many_arguments, reason = "a row and a direction")]
    fn row_menu(
        &self,
        n: u32,
        own: usize,
        decided: &Decided,
        order: impl Iterator<Item = u32>,
        sum: Interval,
        upward: bool,
        change: impl Fn(u32, bool) -> Up,
    ) -> FloatMenu {
        let left = decided.left(self.budget, n).unwrap_or(0);
        let present = self.network.exact.graph.attributes.row(n as usize);
        let free = |d: u32, is_present: bool| {
            self.budget.permits((n, d), is_present) && decided.fixed.binary_search(&(n, d)).is_err()
        };
        let absent = order.filter(|&d| self.budget.adds() && present.binary_search(&d).is_err() && free(d, false));
        let additions = absent.take(left).map(|d| change(d, true)).collect();
        let removals = present.iter().filter(|&&d| free(d, true)).map(|&d| change(d, false)).collect();
        let whole = if upward { [sum.upper, (-sum).upper] } else { [(-sum).upper, sum.upper] };
        let flips = RowFlips { additions, removals: largest(removals, left), whole, limits: limits(decided, n) };
        FloatMenu::new(own, &flips, left, |count| self.network.exact.entry(count))
    }
}
