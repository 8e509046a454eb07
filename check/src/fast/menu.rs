//! Normalised rows in floats (`FORMAT.md` §4, "Normalised rows"): what flips of rows lose at most.

use crate::number::{Down, Interval, Rough, Stored, Up};
use crate::statement::Decided;

/// `L(1)`, `L(2)`, … of a row, from above; none where no such number of flips can be made.
#[derive(Clone, Debug)]
pub(crate) struct FloatMenu(Vec<Option<Up>>);

/// What single flips of a row lose, and what it loses as a whole, from above.
pub(super) struct RowFlips {
    /// By adding attributes, the largest first: as many as may be made together.
    pub(super) additions: Vec<Up>,
    /// By removing attributes, likewise.
    pub(super) removals: Vec<Up>,
    /// `f(B)` and `f(−B)` of the sum of the weights of all attributes that the row has.
    pub(super) whole: [Up; 2],
    /// How many attributes are added and removed, at least and at most.
    pub(super) limits: [[usize; 2]; 2],
}

/// A row, and the size of what its menu is multiplied by.
pub(super) struct MenuPart<'a> {
    pub(super) factor: Stored,
    pub(super) menu: &'a FloatMenu,
    /// Flips that may be made in the row.
    pub(super) left: usize,
    /// Flips that must be made in it, which cost nothing more.
    pub(super) reserved: usize,
    /// Or may the row be left as it is all the same?
    pub(super) forced: bool,
}

impl FloatMenu {
    /// Of a row with `own` attributes, for up to `most` flips: the largest `|σ' − σ°|·f(±B) + σ'·(sums of the
    /// largest)`.
    pub(super) fn new(own: usize, flips: &RowFlips, most: usize, scale: impl Fn(usize) -> Stored) -> FloatMenu {
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
        FloatMenu((1..=most.min(additions.len() + removals.len())).map(exactly).collect())
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

/// Rule 1 for whole rows: not below what `left` flips of them lose, those included that must be made; none where these
/// cannot be. Any price gives a bound; the one at which the rows would make about so many flips gives the best.
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
pub(super) fn limits(decided: &Decided, node: u32) -> [[usize; 2]; 2] {
    // Where the flips made are too many, the path has no perturbations.
    decided.row_limits(node).flatten().unwrap_or([[0, usize::MAX]; 2])
}

/// The largest of a list, the largest first.
pub(super) fn largest(mut list: Vec<Up>, count: usize) -> Vec<Up> {
    list.sort_unstable_by(|a, b| b.order(*a));
    list.truncate(count);
    list
}
