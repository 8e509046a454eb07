//! The units of one node of layer 2: pre-activations, how far the free flips reach (rules 1 and 2), and levels.
//!
//! Without decided flips they do not depend on the target: then each row is computed once for the whole graph.

use std::sync::{Arc, OnceLock};

use super::menu::{FloatMenu, MenuPart, lost_by_rows};
use super::network::FastNetwork;
use super::prices::FloatPrices;
use crate::number::{Down, Interval, Rough, Stored, Sums, Up};
use crate::statement::{Budget, Decided, Link, pairs};

/// The level of a unit's bend.
#[derive(Clone, Debug)]
pub(crate) struct LevelHint {
    /// `T`.
    pub(crate) level: Stored,
    pub(crate) prices: FloatPrices,
    /// Not below `A`.
    pub(crate) base: Up,
    /// Is `z'` surely below 0, or surely not? `None` where rounding hides it: then there is no level.
    pub(crate) below: Option<bool>,
    /// Not below any change towards zero by a free flip.
    pub(crate) largest: Up,
}

/// The units of one node.
#[derive(Debug)]
pub(crate) struct NodeUnits {
    /// `z'`.
    pub(crate) value: Arc<[Interval]>,
    /// Not below `U` and `V`.
    pub(crate) reach: Vec<[Up; 2]>,
    /// The prices that give them.
    pub(crate) prices: Vec<[FloatPrices; 2]>,
    /// For levels: the neighbours' gains, and `Q'`.
    columns: Vec<Column>,
    total: usize,
    levels: OnceLock<Vec<LevelHint>>,
}

/// A neighbour.
#[derive(Clone, Debug)]
struct Column {
    node: u32,
    left: usize,
    source: Source,
}

/// Where the changes by a neighbour's flips come from.
#[derive(Clone, Debug)]
enum Source {
    /// One term reaches the node: what the neighbour sends, times the entry. The number is where the term's columns
    /// begin.
    Scaled(Arc<Gains<Stored>>, usize, Stored),
    /// Several do: the changes themselves, from above.
    Summed(Gains<Up>),
}

/// The largest amounts by which free flips of one node change what it sends to each unit (or the unit itself), largest
/// first: at most as many as its budget allows.
#[derive(Clone, Debug)]
pub(crate) struct Gains<N> {
    values: Vec<N>,
    /// Where the rises and then the falls of each unit end.
    ends: Vec<u32>,
}

impl<N> Gains<N> {
    fn of(&self, unit: usize, direction: usize) -> &[N] {
        let at = 2 * unit + direction;
        let start = if at == 0 { 0 } else { self.ends[at - 1] };
        &self.values[start as usize..self.ends[at] as usize]
    }
}

impl Column {
    /// Gains in the direction of a change (0 rises, 1 falls) and the size of their factor, or the changes themselves,
    /// from above.
    fn gains(&self, unit: usize, direction: usize) -> (&[Stored], Stored, &[Up]) {
        match &self.source {
            Source::Scaled(gains, from, entry) => {
                // Through a negative entry a rise of what is sent arrives as a fall.
                let gains = gains.of(from + unit, if entry.is_positive() { direction } else { 1 - direction });
                (&gains[..gains.len().min(self.left)], entry.size(), &[])
            }
            Source::Summed(gains) => (&[], Stored::ZERO, gains.of(unit, direction)),
        }
    }

    /// Amounts, largest first, not below the changes.
    fn amounts(&self, unit: usize, direction: usize) -> impl Iterator<Item = Up> + '_ {
        let (scaled, size, summed) = self.gains(unit, direction);
        scaled.iter().map(move |&gain| Up::from(gain).times(size)).chain(summed.iter().copied())
    }

    /// The last amount, where there are as many as the budget allows.
    fn last(&self, unit: usize, direction: usize) -> Option<Up> {
        let (scaled, size, summed) = self.gains(unit, direction);
        let scaled = scaled.get(self.left - 1).map(|&gain| Up::from(gain).times(size));
        scaled.or(summed.get(self.left - 1).copied())
    }
}

/// A price `η` with `ρ + η ≥ amount` in floats that round downward.
pub(crate) fn covering(every: Stored, amount: Up) -> Stored {
    let mut price = amount.minus(every.into()).rough().price();
    // One step suffices; where floats overflowed none does, and `select` finds out.
    for _ in 0..2 {
        if !amount.is_within(Down::from(every).plus(price.into())) {
            price = Rough::from(price).next().price();
        }
    }
    price
}

impl NodeUnits {
    fn new(columns: Vec<Column>, total: usize, value: Arc<[Interval]>) -> NodeUnits {
        let width = value.len();
        let mut row = NodeUnits {
            value,
            reach: Vec::with_capacity(width),
            prices: Vec::with_capacity(width),
            columns,
            total,
            levels: OnceLock::new(),
        };
        let mut kept = Vec::new();
        for unit in 0..width {
            let [rise, fall] = [0, 1].map(|direction| row.largest(unit, direction, &mut kept));
            row.reach.push([rise.0, fall.0]);
            row.prices.push([rise.1, fall.1]);
        }
        row
    }

    /// The changes that the largest rise or fall of a unit consists of, and what each of them is at least.
    fn keep(&self, unit: usize, direction: usize, kept: &mut Vec<Up>) -> Stored {
        kept.clear();
        self.columns.iter().for_each(|column| kept.extend(column.amounts(unit, direction)));
        if self.total == 0 || kept.len() <= self.total {
            return Stored::ZERO;
        }
        let (_, least, _) = kept.select_nth_unstable_by(self.total - 1, |a, b| b.order(*a));
        let least = least.rough().price();
        kept.truncate(self.total);
        least
    }

    /// The best prices for the changes of a unit in one direction, and what they give.
    fn largest(&self, unit: usize, direction: usize, kept: &mut Vec<Up>) -> (Up, FloatPrices) {
        let every = self.keep(unit, direction, kept);
        let mut prices = FloatPrices { every, nodes: Vec::new() };
        for column in &self.columns {
            // Where a row's budget is used up there may be more flips of this size, none of them larger.
            let last = column.last(unit, direction);
            if let Some(last) = last.filter(|last| !last.is_within(every.into())) {
                prices.nodes.push((column.node, covering(every, last)));
            }
        }
        (self.select(unit, direction, None, &prices), prices)
    }

    /// Rule 1: not below what the prices give for the changes of a unit, each counted up to a level if there is one.
    fn select(&self, unit: usize, direction: usize, level: Option<Stored>, prices: &FloatPrices) -> Up {
        let mut total = Up::from(prices.every).many(self.total);
        for column in &self.columns {
            if let Ok(at) = prices.nodes.binary_search_by_key(&column.node, |entry| entry.0) {
                total = total.plus(Up::from(prices.nodes[at].1).many(column.left));
            }
            let price = prices.of(column.node);
            let mut last = None;
            for (count, amount) in column.amounts(unit, direction).enumerate() {
                let amount = level.map_or(amount, |level| amount.least(level.into()));
                if amount.is_within(price) {
                    last = None;
                    break;
                }
                total = total.plus(amount.minus(price).positive_part());
                last = (count + 1 == column.left).then_some(amount);
            }
            if last.is_some() {
                // Flips beyond the list might count as well: nothing is known.
                return Interval::ANY.upper;
            }
        }
        total
    }

    /// `R` from below and `S` from above.
    pub(crate) fn bounds(&self) -> Vec<(Down, Up)> {
        let unit = |(z, [up, down]): (&Interval, &[Up; 2])| (z.lower.minus(*down), z.upper.plus(*up));
        self.value.iter().zip(&self.reach).map(unit).collect()
    }

    /// The levels of the units.
    pub(crate) fn levels(&self) -> &[LevelHint] {
        let mut kept = Vec::new();
        self.levels.get_or_init(|| (0..self.value.len()).map(|unit| self.level(unit, &mut kept)).collect())
    }

    /// `T`, the largest of `(|z'| − rest)/i` where `rest` is the sum of all but the `i` largest changes towards zero.
    fn level(&self, unit: usize, kept: &mut Vec<Up>) -> LevelHint {
        let z = self.value[unit];
        let below = match z.sign() {
            Some(std::cmp::Ordering::Less) => Some(true),
            Some(_) => Some(false),
            None => None,
        };
        let direction = if below == Some(true) { 0 } else { 1 };
        let way = if below == Some(true) { -z.rough() } else { z.rough() };
        self.keep(unit, direction, kept);
        kept.sort_unstable_by(|a, b| b.order(*a));
        let (mut rest, mut level) = (Rough::ZERO, Rough::ZERO);
        for (i, change) in kept.iter().enumerate().rev() {
            level = level.most((way - rest).part(i + 1));
            rest = rest + change.rough();
        }
        let level = level.price();
        let known = &self.prices[unit][direction];
        let every = Rough::from(known.every).least(level.into()).price();
        let capped = |price: Stored| {
            let both = Rough::from(known.every) + Rough::from(price);
            covering(every, Up::from(both.next().least(level.into()).price()))
        };
        let nodes = known.nodes.iter().map(|(node, price)| (*node, capped(*price))).collect();
        let prices = FloatPrices { every, nodes };
        let paid = self.select(unit, direction, Some(level), &prices);
        let base = match below {
            Some(true) => z.upper.plus(paid).positive_part(),
            Some(false) => z.upper.most(paid),
            None => Interval::ANY.upper,
        };
        let largest = kept.first().copied().unwrap_or(Up::ZERO);
        LevelHint { level, prices, base, below, largest }
    }
}

/// Layer 2 of the whole graph. Shared by all threads.
pub(crate) struct Rows<'a> {
    pub(super) network: Arc<FastNetwork<'a>>,
    pub(super) budget: &'a Budget<'a>,
    sent: Vec<OnceLock<Sums>>,
    values: Vec<OnceLock<Arc<[Interval]>>>,
    rows: Vec<OnceLock<Arc<NodeUnits>>>,
    gains: Vec<OnceLock<Arc<Gains<Stored>>>>,
    /// Of normalised rows: menus for rises and falls of each column of what they send.
    menus: Vec<OnceLock<Arc<Vec<[FloatMenu; 2]>>>>,
}

/// Gains are remembered while all of them together are no more than so many numbers.
const REMEMBERED: usize = 1 << 26;

impl<'a> Rows<'a> {
    /// Nothing is computed before it is asked for.
    pub(crate) fn new(network: Arc<FastNetwork<'a>>, budget: &'a Budget<'a>) -> Rows<'a> {
        let nodes = network.exact.graph.attributes.rows;
        let longest = (0..nodes).map(|n| budget.local(n as u32)).max().unwrap_or(0).min(budget.global);
        let all = nodes.saturating_mul(2 * network.columns.len()).saturating_mul(longest);
        let remembered = if all <= REMEMBERED { nodes } else { 0 };
        let menus = if network.exact.is_normalised() { remembered } else { 0 };
        Rows {
            network,
            budget,
            sent: (0..nodes).map(|_| OnceLock::new()).collect(),
            values: (0..nodes).map(|_| OnceLock::new()).collect(),
            rows: (0..nodes).map(|_| OnceLock::new()).collect(),
            gains: (0..remembered).map(|_| OnceLock::new()).collect(),
            menus: (0..menus).map(|_| OnceLock::new()).collect(),
        }
    }

    /// The links of node `m` of layer 2.
    pub(super) fn links(&self, m: u32) -> &[Link] {
        self.network.exact.layers[0].links.row(m)
    }

    /// Everything about node `m`. The decided flips must not exceed the budget.
    pub(crate) fn row(&self, m: u32, decided: &Decided) -> Arc<NodeUnits> {
        let fixed = |link: &Link| decided.fixed_in(link.at).next().is_some();
        let free = decided.flipped.is_empty() && decided.rows.is_empty();
        let untouched = free && !self.links(m).iter().any(fixed);
        if untouched {
            self.rows[m as usize].get_or_init(|| Arc::new(self.compute(m, &Decided::default()))).clone()
        } else {
            Arc::new(self.compute(m, decided))
        }
    }

    fn compute(&self, m: u32, decided: &Decided) -> NodeUnits {
        if self.network.exact.is_normalised() {
            return self.normalised(m, decided);
        }
        let columns = pairs(self.links(m)).filter_map(|pair| {
            let node = pair[0].at;
            let left = decided.left(self.budget, node).unwrap_or(0);
            let source = || match pair {
                [link] => {
                    let from = link.part(self.network.width()).start;
                    Source::Scaled(self.gains(node, decided), from, link.entry)
                }
                _ => Source::Summed(self.summed_gains(pair, decided, left)),
            };
            (left > 0).then(|| Column { node, left, source: source() })
        });
        let total = decided.left_in_all(self.budget).unwrap_or(0);
        let mut row = NodeUnits::new(columns.collect(), total, self.value(m, decided));
        if self.gains.is_empty() || row.columns.iter().any(|column| matches!(column.source, Source::Summed(_))) {
            // Gains that are not shared would stay with every row.
            row.levels();
            row.columns = Vec::new();
        }
        row
    }

    /// The same where rows are normalised: there are no levels, and the core chooses prices.
    fn normalised(&self, m: u32, decided: &Decided) -> NodeUnits {
        let width = self.network.width();
        let rows = pairs(self.links(m)).filter_map(|pair| {
            let left = decided.left(self.budget, pair[0].at).filter(|left| *left > 0)?;
            let menus = match pair {
                [link] => self.menus(link.at, decided),
                _ => Arc::new(self.unit_menus(pair, decided)),
            };
            Some((pair, left, decided.least(pair[0].at), menus))
        });
        let rows: Vec<_> = rows.collect();
        // What must be flipped anywhere is taken from the budget; a row in which it must may count as it is.
        let total = decided.left_in_all(self.budget).unwrap_or(0).saturating_sub(decided.least_in_all());
        let reach = |unit: usize, direction: usize| {
            let parts = rows.iter().map(|(pair, left, reserved, menus)| {
                let (factor, menu) = match pair {
                    [link] => {
                        // Through a negative entry a rise of what is sent arrives as a fall.
                        let way = if link.entry.is_positive() { direction } else { 1 - direction };
                        (link.entry.size(), &menus[link.part(width).start + unit][way])
                    }
                    _ => (Stored::ONE, &menus[unit][direction]),
                };
                MenuPart { factor, menu, left: *left, reserved: *reserved, forced: false }
            });
            lost_by_rows(&parts.collect::<Vec<_>>(), total).unwrap_or(Interval::ANY.upper)
        };
        NodeUnits {
            value: self.value(m, decided),
            reach: (0..width).map(|unit| [0, 1].map(|direction| reach(unit, direction))).collect(),
            prices: vec![Default::default(); width],
            columns: Vec::new(),
            total,
            levels: OnceLock::new(),
        }
    }

    fn menus(&self, n: u32, decided: &Decided) -> Arc<Vec<[FloatMenu; 2]>> {
        match self.menus.get(n as usize) {
            Some(known) if decided.fixed_in(n).next().is_none() && decided.row_limits(n).is_none() => {
                known.get_or_init(|| Arc::new(self.column_menus(n, &Decided::default()))).clone()
            }
            _ => Arc::new(self.column_menus(n, decided)),
        }
    }

    /// `z'` of node `m`.
    pub(crate) fn value(&self, m: u32, decided: &Decided) -> Arc<[Interval]> {
        if self.links(m).iter().all(|link| decided.flipped_in(link.at).next().is_none()) {
            let known = &self.values[m as usize];
            return known.get_or_init(|| self.received(m, &Decided::default()).into()).clone();
        }
        self.received(m, decided).into()
    }

    fn received(&self, m: u32, decided: &Decided) -> Vec<Interval> {
        let (links, width) = (self.links(m), self.network.width());
        let changed = |link: &Link| match self.network.exact.is_normalised() {
            true => {
                let (count, sums) = self.base(link.at, decided);
                Some(sums.scaled(self.network.exact.entry(count)))
            }
            false => self.changed(link.at, decided),
        };
        let changed: Vec<Option<Sums>> = links.iter().map(changed).collect();
        let terms = links.iter().zip(&changed).map(|(link, changed)| {
            let n = link.at as usize;
            let attributes = self.network.exact.graph.attributes.row(n);
            let sent = || self.sent[n].get_or_init(|| self.summed(attributes));
            (link.entry, changed.as_ref().unwrap_or_else(sent), link.part(width).start)
        });
        Sums::combined(self.network.bias(1, m).to_vec(), terms)
    }

    /// What node `n` sends, where flips change it.
    fn changed(&self, n: u32, decided: &Decided) -> Option<Sums> {
        decided.flipped_in(n).next()?;
        Some(self.summed(&self.present(n, decided)))
    }

    /// The attributes of node `n` after some flips.
    fn present(&self, n: u32, decided: &Decided) -> Vec<u32> {
        let mut present = self.network.exact.graph.attributes.row(n as usize).to_vec();
        for d in decided.flipped_in(n) {
            match present.binary_search(&d) {
                Ok(at) => drop(present.remove(at)),
                Err(at) => present.insert(at, d),
            }
        }
        present
    }

    /// How many attributes node `n` has after some flips, and the sum of their weights.
    pub(crate) fn base(&self, n: u32, decided: &Decided) -> (usize, Sums) {
        if decided.flipped_in(n).next().is_some() {
            let present = self.present(n, decided);
            return (present.len(), self.summed(&present));
        }
        let attributes = self.network.exact.graph.attributes.row(n as usize);
        (attributes.len(), self.sent[n as usize].get_or_init(|| self.summed(attributes)).clone())
    }

    /// The sum of some rows of `W(1)`.
    fn summed(&self, attributes: &[u32]) -> Sums {
        Sums::of_rows(self.network.columns.len(), attributes.iter().map(|&d| self.network.row(d)))
    }

    fn gains(&self, n: u32, decided: &Decided) -> Arc<Gains<Stored>> {
        match self.gains.get(n as usize) {
            Some(known) if decided.fixed_in(n).next().is_none() => {
                known.get_or_init(|| Arc::new(self.all_gains(n, &Decided::default()))).clone()
            }
            _ => Arc::new(self.all_gains(n, decided)),
        }
    }

    fn all_gains(&self, n: u32, decided: &Decided) -> Gains<Stored> {
        let mut gains = Gains { values: Vec::new(), ends: Vec::new() };
        for unit in 0..self.network.columns.len() {
            for upward in [true, false] {
                self.unit_gains(n, unit, upward, decided, &mut gains.values);
                gains.ends.push(gains.values.len() as u32);
            }
        }
        gains
    }

    /// The largest changes, from above, by free flips of a node that several terms connect with a node of layer 2. Each
    /// flip counts with the sum over the terms; a sum of which rounding hides the sign counts in both directions.
    fn summed_gains(&self, pair: &[Link], decided: &Decided, count: usize) -> Gains<Up> {
        let n = pair[0].at;
        let mut gains = Gains { values: Vec::new(), ends: Vec::new() };
        let present = self.network.exact.graph.attributes.row(n as usize);
        let attributes = 0..self.network.exact.graph.attributes.columns as u32;
        let flips = attributes.map(|d| (d, present.binary_search(&d).is_ok()));
        let free = |flip: &(u32, bool)| {
            self.budget.permits((n, flip.0), flip.1) && decided.fixed.binary_search(&(n, flip.0)).is_err()
        };
        let flips: Vec<(u32, bool)> = flips.filter(free).collect();
        let mut both = [Vec::new(), Vec::new()];
        for unit in 0..self.network.width() {
            for &(d, is_present) in &flips {
                let added = self.network.change(pair, unit, d);
                let change = if is_present { -added } else { added };
                for (list, amount) in both.iter_mut().zip([change.upper, -change.lower]) {
                    list.extend(Some(amount).filter(|amount| amount.is_positive()));
                }
            }
            for list in &mut both {
                if list.len() > count {
                    list.select_nth_unstable_by(count, |a, b| b.order(*a));
                    list.truncate(count);
                }
                list.sort_unstable_by(|a, b| b.order(*a));
                gains.values.append(list);
                gains.ends.push(gains.values.len() as u32);
            }
        }
        gains
    }

    /// Appends the largest amounts by which free flips of node `n` raise (or lower) what it sends to a unit: at most as
    /// many as its budget allows. They are stored weights, so their order is exact.
    fn unit_gains(&self, n: u32, unit: usize, upward: bool, decided: &Decided, gains: &mut Vec<Stored>) {
        let (falling, column) = (&self.network.exact.falling[unit], &self.network.columns[unit]);
        let present = self.network.exact.graph.attributes.row(n as usize);
        let count = decided.left(self.budget, n).unwrap_or(0);
        let fixed: Vec<u32> = decided.fixed_in(n).collect();
        let free = |d: u32, is_present: bool| self.budget.permits((n, d), is_present) && !fixed.contains(&d);
        let change = |d: u32| if upward { column[d as usize] } else { -column[d as usize] };
        let order = (0..falling.len()).map(|at| falling[if upward { at } else { falling.len() - 1 - at }]);
        let added = order
            .map(|d| (d, change(d)))
            .take_while(|(_, gain)| gain.is_positive())
            .filter(|&(d, _)| present.binary_search(&d).is_err() && free(d, false))
            .take(count);
        let start = gains.len();
        gains.extend(added.map(|(_, gain)| gain));
        let end = gains.len();
        // Where additions use the budget up, removals that gain less change nothing: nearly all of them.
        let floor = (end - start == count).then(|| gains.last().copied()).flatten();
        let removed = present.iter().map(|&d| (d, -change(d))).filter(|&(d, gain)| gain.is_positive() && free(d, true));
        let larger = |gain: &Stored| floor.is_none_or(|floor| gain.order(floor).is_gt());
        let removed: Vec<Stored> = removed.map(|(_, gain)| gain).filter(larger).collect();
        gains.extend(removed);
        if gains.len() > end {
            gains[start..].sort_unstable_by(|a, b| b.order(*a));
            gains.truncate(start + count);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where a list is full and its last entry is above its price, more flips than the list knows may count.
    #[test]
    fn nothing_follows_from_a_list_that_may_go_on() {
        let number = |x: i64| Stored::scaled(x, 0).unwrap_or_default();
        let gains = Gains { values: vec![number(3), number(2)], ends: vec![2, 2] };
        let gains = Arc::new(gains);
        let source = |gains: &Arc<_>| Source::Scaled(Arc::clone(gains), 0, Stored::ONE);
        let column = |left: usize, gains: &Arc<_>| Column { node: 0, left, source: source(gains) };
        let price = |x: i64| FloatPrices { every: number(x), nodes: Vec::new() };
        let select = |left: usize, every: i64| {
            let row = NodeUnits::new(vec![column(left, &gains)], 2, Arc::new([Interval::ZERO]));
            row.select(0, 0, None, &price(every)).to_f64()
        };
        // Both listed, and a third could be: only a price that covers the last one says something.
        assert_eq!((select(2, 0), select(2, 1)), (f64::INFINITY, f64::INFINITY));
        assert!((5.0..5.1).contains(&select(2, 2)));
        assert_eq!(select(1, 2), f64::INFINITY);
        // The list ends before the budget does: there are no more.
        assert!((5.0..5.1).contains(&select(3, 0)));
    }
}
