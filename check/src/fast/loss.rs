//! Rule 6 in floats: prices for the largest loss, and the bound that they give.
//!
//! Cauchy and Schwarz rule out what surely stays within its price: a flip of row `n` loses at most the norm of the
//! row's losing slopes times the norm of the attribute's weights. What is not ruled out is bounded by one inner
//! product, and where units have bends, by all of them.

use std::sync::Arc;

use super::hints::{EnvelopeUse, LevelUse};
use super::nested_loss::NestedLosses;
use super::network::FastNetwork;
use super::prices::FloatPrices;
use super::rising_price::RisingPrice;
use super::row::{NodeUnits, covering};
use crate::ids::Flip;
use crate::number::{
    BendSum, DirectedBend, Down, Interval, Rough, RowSlopes, Stored, Up, excess_share, kept_share, norm, step,
};
use crate::statement::{Budget, Decided, Link, Slice, pairs};

/// Steps for a flip that is looked at, besides its inner product; for one that bends are evaluated for; and for each of
/// these bends: outward rounding and scattered memory, measured.
const LOOK: u64 = 16;
const BENT: u64 = 64;
const BEND: u64 = 32;

/// What the losses of a leaf depend on.
pub(crate) struct FastLosses<'a> {
    pub(crate) network: &'a FastNetwork<'a>,
    pub(crate) budget: &'a Budget<'a>,
    pub(crate) slice: &'a Slice,
    pub(crate) decided: &'a Decided,
    pub(crate) lines: &'a [Vec<[Stored; 2]>],
    /// Linear units and their coefficients.
    pub(crate) linear: &'a [Vec<(usize, Interval)>],
    pub(crate) levels: &'a [Vec<LevelUse>],
    pub(crate) envelopes: &'a [Vec<EnvelopeUse>],
    pub(crate) rows: &'a [Arc<NodeUnits>],
    /// Bends of layer 3, if there are any.
    pub(crate) nested: Option<&'a NestedLosses>,
    /// `2^grid`: what rounding of row slopes may add.
    pub(crate) step: Stored,
}

/// A row of attributes with flips to make.
pub(super) struct Places {
    pub(super) node: u32,
    pub(super) place: usize,
    pub(super) left: usize,
    /// Not below the norm of its losing slopes, known before they are.
    pub(super) norm: Up,
    /// With the bends overstated, and without bends.
    slopes: Option<(RowSlopes, Option<RowSlopes>)>,
}

/// A flip that may lose more than its price: its row, attribute and loss from above.
pub(super) type Found = (usize, u32, Up);

/// The prices of a leaf's losses.
pub(crate) struct Priced {
    pub(crate) prices: FloatPrices,
    /// Not below what they give.
    pub(crate) given: Up,
    /// Of the flips that were looked at, the largest losses that may be made together, largest first.
    pub(crate) kept: Vec<Up>,
    /// All flips that may lose more than `least`: node, and loss from above.
    pub(crate) found: Vec<(u32, Up)>,
    pub(crate) least: Stored,
    /// The flip that loses most, as far as that was looked at.
    worst: Option<Flip>,
}

/// A line with its bends overstated: unit, `rise` from below, `fall` from above.
pub(super) type Steep = (usize, Down, Up);

impl FastLosses<'_> {
    /// Prices for the largest loss and what they give; good prices if a sign is asked for, with `total` what is lost
    /// from, else the best.
    ///
    /// The last is the flip that loses most, as far as that was looked at.
    pub(crate) fn price(&self, total: Option<Down>) -> (FloatPrices, Up, Option<Flip>) {
        let Priced { prices, given, worst, .. } = self.priced(total);
        (prices, given, worst)
    }

    /// The same with the flips that they are from.
    pub(crate) fn priced(&self, total: Option<Down>) -> Priced {
        let count = self.decided.left_in_all(self.budget).unwrap_or(0);
        let shape = self.shape();
        let mut places = self.places(&shape.steep);
        if count == 0 || places.is_empty() {
            let (prices, given, least) = (FloatPrices::default(), Up::ZERO, Stored::ZERO);
            return Priced { prices, given, kept: Vec::new(), found: Vec::new(), least, worst: None };
        }
        let mut present = vec![false; self.network.exact.graph.attributes.columns];
        // So high a price that what is lost stays just below the total, if no flip exceeds it.
        let high = total.map(|total| (total.rough().part(count) * Rough::NEARLY_ONE).price());
        if let (Some(total), Some(price)) = (total, high.filter(|price| !price.is_zero())) {
            let found = self.collect(&mut RisingPrice::fixed(price), &shape, &mut places, &mut present);
            let priced = self.settle(price, count, &places, &found);
            let lost = priced.kept.iter().fold(Rough::ZERO, |sum, loss| sum + loss.rough());
            let decided = total.minus(priced.given).is_positive() || lost >= total.rough();
            if decided || priced.kept.len() >= count {
                return priced;
            }
        }
        let mut price = RisingPrice::new(count);
        let found = self.collect(&mut price, &shape, &mut places, &mut present);
        self.settle(price.price, count, &places, &found)
    }

    /// What depends on the lines alone.
    pub(super) fn shape(&self) -> Shape {
        let bend = |m: usize, bend: &LevelUse| {
            let known = &self.rows[m].levels()[bend.unit];
            (bend.unit, DirectedBend::new(bend.weight, known.level, known.below == Some(true)))
        };
        let levels = self.levels.iter().enumerate();
        Shape {
            steep: (0..self.lines.len()).map(|m| self.steep(m)).collect(),
            bends: levels.map(|(m, list)| list.iter().map(|one| bend(m, one)).collect()).collect(),
            envelopes: self.envelopes.iter().map(Vec::len).sum(),
        }
    }

    /// The best prices not below `least` for the flips found, and what they give. A flip that was not found loses at
    /// most `least`, or is of a row with more flips found than it may make, none of which loses less.
    fn settle(&self, least: Stored, count: usize, places: &[Places], found: &[Found]) -> Priced {
        let mut kept: Vec<Up> = Vec::new();
        let mut limits: Vec<(u32, Up)> = Vec::new();
        for row in found.chunk_by(|a, b| a.0 == b.0) {
            let Places { left, node, .. } = places[row[0].0];
            let mut losses: Vec<Up> = row.iter().map(|flip| flip.2).collect();
            losses.sort_unstable_by(|a, b| b.order(*a));
            if losses.len() > left {
                limits.push((node, losses[left]));
            }
            losses.truncate(left);
            kept.append(&mut losses);
        }
        kept.sort_unstable_by(|a, b| b.order(*a));
        let every = if kept.len() > count { kept[count].rough().most(least.into()).price() } else { least };
        limits.retain(|(_, limit)| !limit.is_within(every.into()));
        limits.sort_unstable_by_key(|limit| limit.0);
        let nodes = limits.into_iter().map(|(node, limit)| (node, covering(every, limit))).collect();
        let prices = FloatPrices { every, nodes };
        let mut given = Up::from(every).many(count);
        for (node, price) in &prices.nodes {
            given = given.plus(Up::from(*price).many(self.decided.left(self.budget, *node).unwrap_or(0)));
        }
        for &(row, _, loss) in found {
            given = given.plus(loss.minus(prices.of(places[row].node)).positive_part());
        }
        kept.truncate(count);
        let worst = found.iter().max_by(|a, b| a.2.order(b.2)).map(|flip| (places[flip.0].node, flip.1));
        let found = found.iter().map(|flip| (places[flip.0].node, flip.2)).collect();
        Priced { prices, given, kept, found, least, worst }
    }

    /// The lines of a node of `V(2)` that are not flat.
    pub(super) fn steep(&self, m: usize) -> Vec<Steep> {
        let mut steep: Vec<Steep> = Vec::with_capacity(self.lines[m].len());
        let mut levels = self.levels.get(m).map_or(&[][..], |list| list).iter().peekable();
        let mut linear = self.linear_of(m).peekable();
        for (unit, [rise, fall]) in self.lines[m].iter().enumerate() {
            let (mut up, mut down) = (Down::from(*rise), Up::from(*fall));
            if let Some(bend) = levels.next_if(|bend| bend.unit == unit) {
                let known = &self.rows[m].levels()[unit];
                let c = Up::from(bend.weight);
                if known.below == Some(true) {
                    up = up.minus(c.times(excess_share(known.level.into(), known.largest)));
                } else {
                    up = up.minus(c);
                    down = down.minus(Down::from(bend.weight).times(kept_share(known.level.into(), known.largest)));
                }
            }
            // The core follows a linear unit with its exact coefficient.
            if let Some((_, k)) = linear.next_if(|entry| entry.0 == unit) {
                (up, down) = (up.plus(k.lower), down.plus(k.upper));
            }
            if let Some(nested) = self.nested {
                let [rise, fall] = nested.slopes[m][unit];
                (up, down) = (up.minus(rise), down.plus(fall));
            }
            if !(up.is_zero() && down.is_zero()) {
                steep.push((unit, up, down));
            }
        }
        steep
    }

    /// The linear units of a node of `V(2)` that are not flat.
    fn linear_of(&self, m: usize) -> impl Iterator<Item = (usize, Interval)> {
        let list = self.linear.get(m).map_or(&[][..], |list| list).iter();
        list.filter(|(_, k)| *k != Interval::ZERO).copied()
    }

    /// The rows that have flips to make, those that may lose most first.
    pub(super) fn places(&self, steep: &[Vec<Steep>]) -> Vec<Places> {
        let mut sums = vec![Up::ZERO; self.slice.nodes(1).len()];
        for (m, (steep, row)) in steep.iter().zip(self.slice.passing(1)).enumerate() {
            let lines = steep.iter().map(|(_, up, down)| (-*up).most(*down).positive_part());
            let convex = steep.iter().map(|(_, up, down)| (-*up).most(down.at_least(*up)).positive_part());
            // An envelope takes at most `c` of a rise and adds nothing to a fall.
            let bends = self.envelopes.get(m).map_or(&[][..], |list| list).iter();
            let bent = norm(bends.map(|bend| Up::from(bend.weight)));
            let size = norm(lines).plus(bent);
            let overlapping = row.windows(2).any(|pair| pair[0].at == pair[1].at);
            let convex = if overlapping { norm(convex).plus(bent) } else { size };
            for pair in pairs(row) {
                let size = if pair.len() == 1 { size } else { convex };
                for link in pair.iter().filter(|_| !size.is_zero()) {
                    sums[link.place()] = sums[link.place()].plus(size.times(link.entry.size()));
                }
            }
        }
        // What the core's rounding adds to the slopes of a row.
        let rounded = norm(std::iter::repeat_n(Up::from(self.step), self.network.columns.len()));
        let rows = self.slice.nodes(1).iter().zip(sums).enumerate().map(|(place, (&node, size))| {
            let left = self.decided.left(self.budget, node).unwrap_or(0);
            let norm = if size.is_zero() { size } else { size.plus(rounded) };
            Places { node, place, left, norm, slopes: None }
        });
        let mut rows: Vec<Places> = rows.filter(|row| row.left > 0 && !row.norm.is_zero()).collect();
        rows.sort_by(|a, b| b.norm.order(a.norm));
        rows
    }

    /// All free flips that are not surely within the price as it rises.
    pub(super) fn collect(
        &self,
        rising: &mut RisingPrice,
        shape: &Shape,
        places: &mut [Places],
        present: &mut [bool],
    ) -> Vec<Found> {
        let largest = self.network.largest_norm();
        let width = self.network.columns.len().max(1);
        let mut found = Vec::new();
        for (at, row) in places.iter_mut().enumerate() {
            let mut price = rising.begin(row.left);
            if row.norm.times_up(largest).is_within(price) {
                break;
            }
            let (node, place) = (row.node, row.place);
            let (most, lines) = row.slopes.get_or_insert_with(|| self.slopes(place, node, &shape.steep));
            let attributes = self.network.exact.graph.attributes.row(node as usize);
            attributes.iter().for_each(|&d| present[d as usize] = true);
            let mut looked_at = 0;
            for (weights, &(d, norm)) in self.network.by_norm_weights.chunks_exact(width).zip(&self.network.by_norm) {
                // Cauchy and Schwarz.
                if most.losing.times_up(norm).is_within(price) {
                    break;
                }
                looked_at += 1;
                let is_present = present[d as usize];
                let Some(mut loss) = most.loss_above(weights, norm, is_present, price) else { continue };
                if !self.budget.permits((node, d), is_present) {
                    continue;
                }
                if self.decided.fixed.binary_search(&(node, d)).is_ok() {
                    continue;
                }
                if let Some(lines) = lines {
                    let bent = self.bent(shape, place, (node, d), is_present);
                    loss = loss.least(lines.loss(weights, norm, is_present).plus(bent));
                    if loss.is_within(price) {
                        continue;
                    }
                }
                found.push((at, d, loss));
                price = rising.add(loss);
            }
            rising.end();
            step(looked_at * (LOOK + width as u64));
            attributes.iter().for_each(|&d| present[d as usize] = false);
        }
        found
    }

    /// The slopes of a row with bends and kinks overstated.
    pub(super) fn steep_slopes(&self, place: usize, node: u32, steep: &[Vec<Steep>]) -> RoundedSlopes {
        let mut slopes = RoundedSlopes::new(self.network.columns.len());
        for pair in pairs(self.slice.reached(place)) {
            let m = pair[0].place();
            for (unit, up, down) in &steep[m] {
                self.add(&mut slopes, pair, *unit, *up, *down);
            }
            for bend in self.envelopes.get(m).map_or(&[][..], |list| list) {
                let along = |link: &Link| {
                    let column = link.part(self.network.width()).start + bend.unit;
                    Up::from(self.network.largest[column]).times(link.entry.size())
                };
                let largest = pair.iter().map(along).reduce(Up::plus).unwrap_or(Up::ZERO);
                let amounts = bend.prices.amounts((node, u32::MAX));
                let (up, down) = (excess_share(amounts[0].lower, largest), kept_share(amounts[1].lower, largest));
                let c = bend.weight;
                self.add(&mut slopes, pair, bend.unit, -Up::from(c).times(up), -Down::from(c).times(down));
            }
        }
        slopes
    }

    /// The slopes of a row: with bends and kinks overstated, and without them where it has any.
    pub(super) fn slopes(&self, place: usize, node: u32, steep: &[Vec<Steep>]) -> (RowSlopes, Option<RowSlopes>) {
        let most = self.steep_slopes(place, node, steep);
        let mut lines = RoundedSlopes::new(self.network.columns.len());
        let bends = |pair: &[Link]| {
            let m = pair[0].place();
            !self.levels.get(m).is_none_or(Vec::is_empty) || self.kinks(pair).next().is_some()
        };
        let bent = self.nested.is_some()
            || self.envelopes.iter().any(|list| !list.is_empty())
            || pairs(self.slice.reached(place)).any(bends);
        if bent {
            for pair in pairs(self.slice.reached(place)) {
                let m = pair[0].place();
                for (unit, [rise, fall]) in self.lines[m].iter().enumerate() {
                    if (pair.len() == 1 || rise == fall) && !(rise.is_zero() && fall.is_zero()) {
                        self.add(&mut lines, pair, unit, (*rise).into(), (*fall).into());
                    }
                }
                for (unit, k) in self.linear_of(m) {
                    self.add(&mut lines, pair, unit, k.lower, k.upper);
                }
            }
        }
        let largest = self.network.largest_norm();
        (most.rounded(self.step, largest), bent.then(|| lines.rounded(self.step, largest)))
    }

    /// The slopes of a row with falls nowhere below rises: the loss is convex, and no smaller. There are no bends.
    pub(super) fn convex_slopes(&self, place: usize, steep: &[Vec<Steep>]) -> RowSlopes {
        let mut slopes = RoundedSlopes::new(self.network.columns.len());
        for pair in pairs(self.slice.reached(place)) {
            steep[pair[0].place()].iter().for_each(|(unit, up, down)| self.add(&mut slopes, pair, *unit, *up, *down));
        }
        let largest = self.network.largest_norm();
        slopes.convex().rounded(self.step, largest)
    }

    /// Adds a line of a unit to the slopes of a row. Where several terms reach the unit, a fall that is not below the
    /// rise makes the loss convex, so that the loss of a sum is at most the sum of losses.
    #[inline]
    pub(super) fn add(&self, slopes: &mut RoundedSlopes, pair: &[Link], unit: usize, rise: Down, fall: Up) {
        let fall = if pair.len() == 1 { fall } else { fall.at_least(rise) };
        for link in pair {
            slopes.add(link.part(self.network.width()).start + unit, link.entry, rise, fall);
        }
    }

    /// The lines of the units of a node that several terms reach, where rises and falls have different slopes.
    fn kinks<'l>(&'l self, pair: &[Link]) -> impl Iterator<Item = (usize, &'l [Stored; 2])> + use<'l> {
        let lines = if pair.len() == 1 { &[][..] } else { &self.lines[pair[0].place()] };
        lines.iter().enumerate().filter(|(_, [rise, fall])| rise != fall)
    }

    /// Not below what a flip loses by kinks, and `Σ c·max(g − u, −v)` over all bends.
    pub(super) fn bent(&self, shape: &Shape, place: usize, flip: Flip, present: bool) -> Up {
        let (mut total, mut sum) = (Up::ZERO, BendSum::default());
        let mut bends = shape.envelopes + self.slice.reached(place).len();
        let (width, weights) = (self.network.width(), self.network.row(flip.1));
        let change = |unit: usize, pair: &[Link]| {
            let change = self.network.change(pair, unit, flip.1);
            if present { -change } else { change }
        };
        for pair in pairs(self.slice.reached(place)) {
            let m = pair[0].place();
            let levels = shape.bends.get(m).map_or(&[][..], |list| list);
            bends += levels.len() * pair.len();
            if let [link] = pair {
                sum.add_node(levels, &weights[link.part(width)], link.entry, present);
                continue;
            }
            for (unit, [rise, fall]) in self.kinks(pair) {
                bends += pair.len();
                let g = change(unit, pair);
                let lost = g.positive_part().scaled(-*rise).plus((-g).positive_part().scaled(*fall));
                total = total.plus(lost.upper);
            }
            for bend in self.levels.get(m).map_or(&[][..], |list| list) {
                let (g, known) = (change(bend.unit, pair), &self.rows[m].levels()[bend.unit]);
                let level = Interval::from(known.level);
                let taken = if known.below == Some(true) {
                    g.minus(g.positive_part().least(level)).upper.positive_part()
                } else {
                    g.upper.most((-(-g).positive_part().least(level)).upper)
                };
                total = total.plus(taken.times(bend.weight));
            }
        }
        total = total.plus(sum.upper());
        if let Some(nested) = self.nested {
            let links = self.slice.reached(place);
            // About two products for each pair of units that a node passes on to.
            step((links.len() * width * self.network.exact.widths[3]) as u64);
            total = total.plus(nested.loss((place as u32, flip.1), links, change));
        }
        if shape.envelopes > 0 {
            let mut reached = pairs(self.slice.reached(place)).peekable();
            for (m, bends) in self.envelopes.iter().enumerate() {
                let pair = reached.next_if(|next| next[0].place() == m);
                for bend in bends {
                    let [u, v] = bend.prices.amounts(flip);
                    let g = pair.map_or(Interval::ZERO, |pair| change(bend.unit, pair));
                    let taken = g.minus(u).upper.most((-v).upper);
                    total = total.plus(taken.times(bend.weight));
                }
            }
        }
        step(BENT + BEND * bends as u64);
        total
    }
}

/// What is derived from the lines of a leaf before any flip is looked at.
pub(super) struct Shape {
    /// By place in `V(2)`.
    pub(super) steep: Vec<Vec<Steep>>,
    /// By place in `V(2)`: units with bends by levels.
    bends: Vec<Vec<(usize, DirectedBend)>>,
    /// Bends by prices in all.
    envelopes: usize,
}

/// `plus` from below and `minus` from above.
pub(super) struct RoundedSlopes {
    pub(super) plus: Vec<Down>,
    pub(super) minus: Vec<Up>,
}

impl RoundedSlopes {
    pub(super) fn new(width: usize) -> RoundedSlopes {
        RoundedSlopes { plus: vec![Down::ZERO; width], minus: vec![Up::ZERO; width] }
    }

    fn add(&mut self, unit: usize, entry: Stored, rise: Down, fall: Up) {
        let size = entry.size();
        // Through a negative entry a rise of what is sent arrives as a fall.
        let (plus, minus) = if entry.is_positive() {
            (rise.times(size), fall.times(size))
        } else {
            (-fall.times(size), -rise.times(size))
        };
        self.plus[unit] = self.plus[unit].plus(plus);
        self.minus[unit] = self.minus[unit].plus(minus);
    }

    fn convex(mut self) -> RoundedSlopes {
        self.minus.iter_mut().zip(&self.plus).for_each(|(minus, plus)| *minus = minus.at_least(*plus));
        self
    }

    /// The core rounds them to its grid.
    pub(super) fn stepped(mut self, step: Stored) -> RoundedSlopes {
        self.plus.iter_mut().for_each(|x| *x = x.minus(step.into()));
        self.minus.iter_mut().for_each(|x| *x = x.plus(step.into()));
        self
    }

    fn rounded(self, step: Stored, largest: Up) -> RowSlopes {
        let RoundedSlopes { plus, minus } = self.stepped(step);
        RowSlopes::new(&plus, &minus, largest)
    }
}
