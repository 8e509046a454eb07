//! Normalised rows in floats (`FORMAT.md` §4): what flips of one row lose at most, and rule 1 for whole rows.

use crate::number::{Down, Interval, Rough, Stored, Up, step};
use crate::statement::Network;

/// What single flips of a row lose, from above, and what it loses as a whole.
pub(crate) struct RowFlips {
    /// Of absent attributes that may be added, the largest first: as many as may be made together.
    pub(crate) additions: Vec<Up>,
    /// Of present attributes that may be removed, likewise.
    pub(crate) removals: Vec<Up>,
    /// `f(B)` and `f(−B)`.
    pub(crate) whole: [Up; 2],
}

/// `L_n` of a row.
#[derive(Debug)]
pub(crate) struct FastMenu {
    /// Not below `L(1)`, `L(2)`, …
    losses: Vec<Up>,
    /// About what each flip adds to the least concave function above them, largest first.
    rates: Vec<Rough>,
}

impl FastMenu {
    /// Of a row with so many attributes, of which so many flips may be made.
    pub(crate) fn new(network: &Network, count: usize, flips: &RowFlips, left: usize) -> FastMenu {
        let RowFlips { additions, removals, whole: [grown, shrunk] } = flips;
        step(((additions.len() + 1) * (removals.len() + 1)) as u64);
        let scales: Vec<Stored> =
            (count - removals.len()..=count + additions.len()).map(|count| network.entry(count)).collect();
        let own = scales[removals.len()];
        let moved = |scale: &Stored| {
            let way = Interval::from(*scale).minus(own.into());
            // The difference of two entries times a number that is known from above.
            let times = |way: Interval, loss: Up| way.times(Interval { lower: Down::LEAST, upper: loss }).upper;
            if scale.order(own).is_gt() { times(way, *grown) } else { times(-way, *shrunk) }
        };
        let whole: Vec<Up> = scales.iter().map(moved).collect();
        let sums = |list: &[Up]| {
            let mut sums = vec![Up::ZERO];
            list.iter().for_each(|x| sums.push(sums[sums.len() - 1].plus(*x)));
            sums
        };
        let (added, removed) = (sums(additions), sums(removals));
        let exactly = |k: usize| {
            let ways = k.saturating_sub(removals.len())..=k.min(additions.len());
            let ways = ways.map(|a| {
                let at = removals.len() + a - (k - a);
                whole[at].plus(added[a].plus(removed[k - a]).times(scales[at]))
            });
            ways.reduce(Up::most)
        };
        let losses: Vec<Up> = (1..=left.min(additions.len() + removals.len())).map_while(exactly).collect();
        let rates = rates(&losses);
        FastMenu { losses, rates }
    }

    /// Not below `max(0, max_k (factor·L(k) − price·k))`, over at most so many flips.
    fn above(&self, factor: Stored, price: Stored, left: usize) -> Up {
        let mut most = Up::ZERO;
        for (k, loss) in (1..).zip(self.losses.iter().take(left)) {
            most = most.most(loss.times(factor).minus(Down::from(price).times(Stored::count(k))));
        }
        most
    }
}

/// What each flip adds to the least concave function above a list that is 0 for no flips, up to its largest value.
fn rates(losses: &[Up]) -> Vec<Rough> {
    let mut corners: Vec<(usize, Rough)> = vec![(0, Rough::ZERO)];
    let rate = |low: (usize, Rough), high: (usize, Rough)| (high.1 - low.1).part(high.0 - low.0);
    for next in (1..).zip(losses.iter().map(|loss| loss.rough())) {
        while let [.., before, last] = corners[..]
            && rate(before, last) <= rate(last, next)
        {
            corners.pop();
        }
        corners.push(next);
    }
    let pieces = corners.windows(2).map(|pair| (rate(pair[0], pair[1]), pair[1].0 - pair[0].0));
    pieces
        .take_while(|piece| piece.0 > Rough::ZERO)
        .flat_map(|(rate, count)| std::iter::repeat_n(rate, count))
        .collect()
}

/// A row, of which so many flips may be made, and the size of what it is multiplied by.
#[derive(Clone, Copy)]
pub(crate) struct FastPart<'m> {
    pub(crate) menu: &'m FastMenu,
    pub(crate) factor: Stored,
    pub(crate) left: usize,
}

/// Rule 1 for whole rows, of which so many flips may be made together: a price that is about the best, and a number not
/// below what it gives.
pub(crate) fn rows_lose(parts: &[FastPart], total: usize) -> (Stored, Up) {
    let mut rates: Vec<Rough> = Vec::new();
    for FastPart { menu, factor, left } in parts {
        rates.extend(menu.rates.iter().take(*left).map(|rate| *rate * Rough::from(*factor)));
    }
    step(4 * rates.len() as u64);
    let price = match rates.len() > total && total > 0 {
        true => rates.select_nth_unstable_by(total - 1, |a, b| b.order(*a)).1.price(),
        false => Stored::ZERO,
    };
    let each = parts.iter().map(|part| part.menu.above(part.factor, price, part.left));
    (price, each.fold(Up::from(price).many(total), Up::plus))
}

/// The largest of a list, the largest first.
pub(crate) fn largest(mut list: Vec<Up>, count: usize) -> Vec<Up> {
    if list.len() > count && count > 0 {
        list.select_nth_unstable_by(count - 1, |a, b| b.order(*a));
    }
    list.truncate(count);
    list.sort_unstable_by(|a, b| b.order(*a));
    list
}
