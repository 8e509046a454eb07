//! Normalised rows in floats (`FORMAT.md` §4, "Normalised rows"): what flips of rows lose at most.

use super::loss::FastLosses;
use super::row::Rows;
use crate::number::{Down, Interval, Rough, RowSlopes, Stored, Sums, Up, step};
use crate::statement::{Decided, Link};

/// Steps for a row, and for an attribute that is looked at besides its inner product.
const ROW: u64 = 256;
const LOOK: u64 = 16;

/// `L(1)`, `L(2)`, … of a row, from above.
#[derive(Clone, Debug)]
pub(crate) struct Menu(Vec<Up>);

/// What single flips of a row lose, and what it loses as a whole, from above.
pub(super) struct RowFlips {
    /// By adding attributes, the largest first: as many as may be made together.
    additions: Vec<Up>,
    /// By removing attributes, likewise.
    removals: Vec<Up>,
    /// `f(B)` and `f(−B)` of the sum of the weights of all attributes that the row has.
    whole: [Up; 2],
}

/// A row, and the size of what its menu is multiplied by.
pub(super) struct MenuPart<'a> {
    pub(super) factor: Stored,
    pub(super) menu: &'a Menu,
    /// Flips that may be made in the row.
    pub(super) left: usize,
}

impl Menu {
    /// Of a row with `own` attributes, for up to `most` flips: the largest `|σ' − σ°|·f(±B) + σ'·(sums of the largest)`.
    fn new(own: usize, flips: &RowFlips, most: usize, scale: impl Fn(usize) -> Stored) -> Menu {
        let RowFlips { additions, removals, whole } = flips;
        let sums = |list: &[Up]| {
            let mut sums = vec![Up::ZERO];
            list.iter().for_each(|x| sums.push(sums[sums.len() - 1].plus(*x)));
            sums
        };
        let (added, removed) = (sums(additions), sums(removals));
        let before = Interval::from(scale(own));
        // By the number of attributes, from the one with all removals on.
        let rescaled = (own - removals.len()..=own + additions.len()).map(|count| {
            let scale = scale(count);
            let grown = Interval::from(scale).minus(before);
            let (share, [lost, _]) = match grown.lower.is_negative() {
                false => (grown, *whole),
                true => (-grown, [whole[1], whole[0]]),
            };
            let lost = Interval { upper: lost, ..Interval::ANY };
            (scale, lost.times(share.positive_part()).upper)
        });
        let rescaled: Vec<(Stored, Up)> = rescaled.collect();
        let exactly = |k: usize| {
            let ways = k.saturating_sub(removals.len())..=k.min(additions.len());
            let losses = ways.map(|a| {
                let (scale, lost) = rescaled[removals.len() + a - (k - a)];
                lost.plus(added[a].plus(removed[k - a]).times(scale))
            });
            losses.reduce(Up::most).unwrap_or(Up::ZERO)
        };
        Menu((1..=most.min(additions.len() + removals.len())).map(exactly).collect())
    }
}

impl MenuPart<'_> {
    /// `L(1)`, `L(2)`, …: those of fewer flips do not depend on how many may be made.
    fn losses(&self) -> &[Up] {
        &self.menu.0[..self.menu.0.len().min(self.left)]
    }

    /// `max(0, max_k (factor·L(k) − price·k))`.
    fn above(&self, price: Stored) -> Up {
        let paid = |k: usize| Down::from(price).times(Stored::count(k));
        let left = (1..).zip(self.losses()).map(|(k, loss)| loss.times(self.factor).minus(paid(k)));
        left.fold(Up::ZERO, Up::most)
    }

    /// The slopes of the least concave function that is 0 at 0 and nowhere below `factor·L`, with their lengths, while they are
    /// positive; about.
    fn rates(&self, rates: &mut Vec<(Rough, usize)>) {
        let (mut at, mut reached, losses) = (0, Rough::ZERO, self.losses());
        loop {
            let rest = losses.iter().enumerate().skip(at);
            let rates_from = rest.map(|(place, loss)| ((loss.rough() - reached).part(place + 1 - at), place + 1));
            let best = rates_from.fold((Rough::ZERO, at), |best, next| if next.0 > best.0 { next } else { best });
            if best.1 == at {
                return;
            }
            rates.push((best.0 * self.factor.into(), best.1 - at));
            (at, reached) = (best.1, losses[best.1 - 1].rough());
        }
    }
}

/// Rule 1 for whole rows: not below what `count` flips of them lose. Any price gives a bound; the one at which the rows would
/// make about so many flips gives the best.
pub(super) fn lost_by_rows(parts: &[MenuPart], count: usize) -> Up {
    let mut rates = Vec::new();
    parts.iter().for_each(|part| part.rates(&mut rates));
    rates.sort_unstable_by(|a, b| b.0.partial_cmp(&a.0).unwrap_or(std::cmp::Ordering::Equal));
    let all = rates.iter().fold(0, |sum: usize, rate| sum.saturating_add(rate.1));
    let mut made = 0;
    let last = rates.iter().find(|(_, length)| {
        made += length;
        made >= count
    });
    let price = last.filter(|_| all > count).map_or(Stored::ZERO, |rate| rate.0.price());
    let paid = Up::from(price).many(count);
    parts.iter().fold(paid, |total, part| total.plus(part.above(price)))
}

/// The largest of a list, the largest first.
fn largest(mut list: Vec<Up>, count: usize) -> Vec<Up> {
    list.sort_unstable_by(|a, b| b.order(*a));
    list.truncate(count);
    list
}

impl Rows<'_> {
    /// The menus of a row for rises, then falls, of each column of what it sends.
    pub(super) fn column_menus(&self, n: u32, decided: &Decided) -> Vec<[Menu; 2]> {
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
    pub(super) fn unit_menus(&self, pair: &[Link], decided: &Decided) -> Vec<[Menu; 2]> {
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

    /// The menu of a row by what its flips change, with the attributes in the order of what adding them changes, the largest first.
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
    ) -> Menu {
        let left = decided.left(self.budget, n).unwrap_or(0);
        let present = self.network.exact.graph.attributes.row(n as usize);
        let free = |d: u32, is_present: bool| {
            self.budget.permits((n, d), is_present) && decided.fixed.binary_search(&(n, d)).is_err()
        };
        let absent = order.filter(|&d| self.budget.adds() && present.binary_search(&d).is_err() && free(d, false));
        let additions = absent.take(left).map(|d| change(d, true)).collect();
        let removals = present.iter().filter(|&&d| free(d, true)).map(|&d| change(d, false)).collect();
        let whole = if upward { [sum.upper, (-sum).upper] } else { [(-sum).upper, sum.upper] };
        let flips = RowFlips { additions, removals: largest(removals, left), whole };
        Menu::new(own, &flips, left, |count| self.network.exact.entry(count))
    }
}

impl FastLosses<'_> {
    /// Rule 6 for normalised rows: not below what an admissible set of free flips loses. No limits of rows may be decided.
    pub(super) fn of_rows(&self, rows: &Rows) -> Up {
        let count = self.decided.left_in_all(self.budget).unwrap_or(0);
        let steep: Vec<_> = (0..self.lines.len()).map(|m| self.steep(m)).collect();
        let mut present = vec![false; self.network.exact.graph.attributes.columns];
        let mut menus = Vec::new();
        for row in self.places(&steep) {
            let slopes = self.convex_slopes(row.place, &steep);
            let attributes = self.network.exact.graph.attributes.row(row.node as usize);
            attributes.iter().for_each(|&d| present[d as usize] = true);
            let additions = self.additions(&slopes, row.node, row.left, &present);
            attributes.iter().for_each(|&d| present[d as usize] = false);
            let free = |d: u32| {
                self.budget.permits((row.node, d), true) && self.decided.fixed.binary_search(&(row.node, d)).is_err()
            };
            let removals = attributes.iter().filter(|&&d| free(d)).map(|&d| slopes.loss_of(self.network.row(d), true));
            let (own, sums) = rows.base(row.node, self.decided);
            let whole = [false, true].map(|present| slopes.loss_of_sums(&sums, present));
            let flips = RowFlips { additions, removals: largest(removals.collect(), row.left), whole };
            step(ROW + 4 * ((flips.additions.len() + 1) * (flips.removals.len() + 1)) as u64);
            menus.push(Menu::new(own, &flips, row.left, |count| self.network.exact.entry(count)));
        }
        let part = |menu| MenuPart { factor: Stored::ONE, menu, left: usize::MAX };
        let parts: Vec<MenuPart> = menus.iter().map(part).collect();
        lost_by_rows(&parts, count)
    }

    /// What adding attributes to a row loses, the largest first: as many as may be made together. What gains counts as 0.
    fn additions(&self, slopes: &RowSlopes, node: u32, left: usize, present: &[bool]) -> Vec<Up> {
        if !self.budget.adds() {
            return Vec::new();
        }
        let width = self.network.columns.len().max(1);
        let mut found = vec![Up::ZERO; left.min(self.network.by_norm.len())];
        let mut looked_at = 0;
        for (weights, &(d, norm)) in self.network.by_norm_weights.chunks_exact(width).zip(&self.network.by_norm) {
            let Some(&least) = found.last() else { break };
            // Cauchy and Schwarz: no attribute from here on loses more than the least of those found.
            if slopes.losing.times_up(norm).order(least).is_le() {
                break;
            }
            looked_at += 1;
            let Some(loss) = slopes.loss_over(weights, norm, least).filter(|_| !present[d as usize]) else { continue };
            if self.budget.permits((node, d), false) && self.decided.fixed.binary_search(&(node, d)).is_err() {
                let at = found.partition_point(|more| more.order(loss).is_ge());
                found.insert(at, loss);
                found.pop();
            }
        }
        step(looked_at * (LOOK + width as u64));
        found
    }
}
