//! Normalised rows in floats (`FORMAT.md` §4, "Normalised rows"): what flips of rows lose at most.

use super::loss::FastLosses;
use super::row::Rows;
use crate::number::{Down, Interval, Rough, RowSlopes, Stored, Sums, Up, step};
use crate::statement::{Decided, Link};

/// Steps for a row, and for an attribute that is looked at besides its inner product.
const ROW: u64 = 256;
const LOOK: u64 = 16;

/// `L(1)`, `L(2)`, … of a row, from above; none where no such number of flips can be made.
#[derive(Clone, Debug)]
pub(crate) struct Menu(Vec<Option<Up>>);

/// What single flips of a row lose, and what it loses as a whole, from above.
pub(super) struct RowFlips {
    /// By adding attributes, the largest first: as many as may be made together.
    additions: Vec<Up>,
    /// By removing attributes, likewise.
    removals: Vec<Up>,
    /// `f(B)` and `f(−B)` of the sum of the weights of all attributes that the row has.
    whole: [Up; 2],
    /// How many attributes are added and removed, at least and at most.
    limits: [[usize; 2]; 2],
}

/// A row, and the size of what its menu is multiplied by.
pub(super) struct MenuPart<'a> {
    pub(super) factor: Stored,
    pub(super) menu: &'a Menu,
    /// Flips that may be made in the row.
    pub(super) left: usize,
    /// Flips that must be made in it, which cost nothing more.
    pub(super) reserved: usize,
    /// Or may the row be left as it is all the same?
    pub(super) forced: bool,
}

impl Menu {
    /// Of a row with `own` attributes, for up to `most` flips: the largest `|σ' − σ°|·f(±B) + σ'·(sums of the largest)`.
    fn new(own: usize, flips: &RowFlips, most: usize, scale: impl Fn(usize) -> Stored) -> Menu {
        let RowFlips { additions, removals, whole, limits } = flips;
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
            let within = |count: usize, [least, most]: [usize; 2]| (least..=most).contains(&count);
            let ways = ways.filter(|&a| within(a, limits[0]) && within(k - a, limits[1]));
            let losses = ways.map(|a| {
                let (scale, lost) = rescaled[removals.len() + a - (k - a)];
                lost.plus(added[a].plus(removed[k - a]).times(scale))
            });
            losses.reduce(Up::most)
        };
        Menu((1..=most.min(additions.len() + removals.len())).map(exactly).collect())
    }
}

/// A part of the least concave function that is nowhere below the losses of a row; about.
struct Segment {
    from: usize,
    to: usize,
    /// Where it begins.
    start: Rough,
    rate: Rough,
}

impl MenuPart<'_> {
    /// `L(1)`, `L(2)`, …: those of fewer flips do not depend on how many may be made.
    fn losses(&self) -> impl Iterator<Item = (usize, Up)> {
        (1..).zip(&self.menu.0).take(self.left).filter_map(|(k, loss)| Some((k, (*loss)?)))
    }

    /// `max_k (factor·L(k) − price·(k − reserved)₊)`; none where flips must be made that cannot be.
    fn above(&self, price: Stored) -> Option<Up> {
        let paid = |k: usize| Down::from(price).times(Stored::count(k.saturating_sub(self.reserved)));
        let own = self.losses().map(|(k, loss)| loss.times(self.factor).minus(paid(k)));
        let mut best = own.reduce(Up::most);
        if !self.forced {
            best = Some(best.unwrap_or(Up::ZERO).positive_part());
            // The core pays from a point of the concave function on, which need not be a loss.
            let crossed = self.segments().into_iter().find(|of| of.from < self.reserved && self.reserved < of.to);
            if let Some(of) = crossed {
                let value = of.start + of.rate * Rough::from(Stored::count(self.reserved - of.from));
                best = best.map(|best| best.most(Up::from(value.price()).times(self.factor)));
            }
        }
        best
    }

    /// The least concave function, from 0 flips on or from those that must be made, while it rises.
    fn segments(&self) -> Vec<Segment> {
        let losses: Vec<(usize, Rough)> = self.losses().map(|(k, loss)| (k, loss.rough())).collect();
        let base = losses.iter().find(|(k, _)| self.forced && *k == self.reserved);
        let (mut from, mut start) = base.copied().unwrap_or((0, Rough::ZERO));
        let mut segments = Vec::new();
        loop {
            let rates =
                losses.iter().filter(|(k, _)| *k > from).map(|&(k, loss)| ((loss - start).part(k - from), k, loss));
            let first = (Rough::ZERO, from, start);
            let (rate, to, end) = rates.fold(first, |best, next| if next.0 > best.0 { next } else { best });
            if to == from {
                return segments;
            }
            segments.push(Segment { from, to, start, rate });
            (from, start) = (to, end);
        }
    }
}

/// Rule 1 for whole rows: not below what `left` flips of them lose, those included that must be made; none where these cannot be. Any
/// price gives a bound; the one at which the rows would make about so many flips gives the best.
pub(super) fn lost_by_rows(parts: &[MenuPart], left: usize) -> Option<Up> {
    let mut rates: Vec<(Rough, usize)> = Vec::new();
    for part in parts {
        let beyond = |flips: usize| flips.max(part.reserved);
        let segments = part.segments().into_iter();
        rates.extend(segments.map(|of| (of.rate * part.factor.into(), beyond(of.to) - beyond(of.from))));
    }
    rates.sort_unstable_by(|a, b| b.0.partial_cmp(&a.0).unwrap_or(std::cmp::Ordering::Equal));
    let all = rates.iter().fold(0, |sum: usize, rate| sum.saturating_add(rate.1));
    let mut made = 0;
    let last = rates.iter().find(|(_, length)| {
        made += length;
        made >= left
    });
    let price = last.filter(|_| all > left).map_or(Stored::ZERO, |rate| rate.0.price());
    let paid = Up::from(price).many(left);
    parts.iter().try_fold(paid, |total, part| Some(total.plus(part.above(price)?)))
}

/// How many attributes free flips may add to a row and remove from it.
fn limits(decided: &Decided, node: u32) -> [[usize; 2]; 2] {
    // Where the flips made are too many, the path has no perturbations.
    decided.row_limits(node).flatten().unwrap_or([[0, usize::MAX]; 2])
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
        let flips = RowFlips { additions, removals: largest(removals, left), whole, limits: limits(decided, n) };
        Menu::new(own, &flips, left, |count| self.network.exact.entry(count))
    }
}

impl FastLosses<'_> {
    /// Rule 6 for normalised rows: not below what an admissible set of free flips loses.
    pub(super) fn of_rows(&self, rows: &Rows) -> Up {
        let left = self.decided.left_in_all(self.budget).unwrap_or(0);
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
            let (removals, limits) = (largest(removals.collect(), row.left), limits(self.decided, row.node));
            let flips = RowFlips { additions, removals, whole, limits };
            step(ROW + 4 * ((flips.additions.len() + 1) * (flips.removals.len() + 1)) as u64);
            let menu = Menu::new(own, &flips, row.left, |count| self.network.exact.entry(count));
            menus.push((menu, self.decided.least(row.node)));
        }
        let parts = menus.iter().map(|(menu, reserved)| {
            let (factor, reserved) = (Stored::ONE, *reserved);
            MenuPart { factor, menu, left: usize::MAX, reserved, forced: reserved > 0 }
        });
        let parts: Vec<MenuPart> = parts.collect();
        // Flips that must be made elsewhere lose nothing.
        let reserved = parts.iter().fold(0, |sum: usize, part| sum.saturating_add(part.reserved));
        lost_by_rows(&parts, left.saturating_sub(reserved)).unwrap_or(Interval::ANY.upper)
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
