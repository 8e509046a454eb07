//! Normalised rows (`FORMAT.md` §4, "Normalised rows"): what flips of one row lose at most, and rule 1 for whole rows.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ops::{Add, Mul, Sub};
use std::rc::Rc;

use dashu_int::IBig;

use super::range::Reach;
use super::select::Free;
use crate::format::exact::ExactPrices;
use crate::number::{Dyadic, step};
use crate::statement::{Combination, Decided, Integers, Link, pairs};
use crate::verdict::Reason;

/// Steps for a row, whatever is computed for it.
const STEP: u64 = 256;

/// Bits of prices that are chosen here: any price is valid.
const RATE_BITS: i64 = 62;

/// Bytes of menus that are remembered, about.
const REMEMBERED: u64 = 1 << 26;

/// A column of what the row at a place sends, a direction, and how many flips may be made.
type Key = (usize, usize, bool, usize);

/// Flips, and `U` and `V` after them.
type AfterFlips = (Decided, Rc<Vec<Vec<Reach>>>);

/// What is remembered of a slice with normalised rows.
#[derive(Default)]
pub struct Reaches {
    /// `U` and `V` where no prices are stated, after the flips that were asked about last.
    last: RefCell<Option<AfterFlips>>,
    /// Menus of rows of which nothing is decided, and their bytes.
    menus: RefCell<(HashMap<Key, Rc<Menu>>, u64)>,
}

impl Reaches {
    /// Reaches after some flips, from memory if they were asked about last.
    ///
    /// # Errors
    /// Those of computing them.
    pub fn after(
        &self,
        decided: &Decided,
        compute: impl FnOnce() -> Result<Vec<Vec<Reach>>, Reason>,
    ) -> Result<Rc<Vec<Vec<Reach>>>, Reason> {
        if let Some((known, reach)) = &*self.last.borrow()
            && known == decided
        {
            return Ok(reach.clone());
        }
        let reach = Rc::new(compute()?);
        *self.last.borrow_mut() = Some((decided.clone(), reach.clone()));
        Ok(reach)
    }

    fn menu(&self, key: Key, compute: impl FnOnce() -> Result<Menu, Reason>) -> Result<Rc<Menu>, Reason> {
        if let Some(known) = self.menus.borrow().0.get(&key) {
            return Ok(known.clone());
        }
        let menu = Rc::new(compute()?);
        let (menus, bytes) = &mut *self.menus.borrow_mut();
        *bytes += menu.bytes() + 64;
        if *bytes > REMEMBERED {
            menus.clear();
            *bytes = 0;
        }
        menus.insert(key, menu.clone());
        Ok(menu)
    }
}

/// What single flips of a row lose, and what it loses as a whole.
pub struct Flips {
    /// `f(w_d)` of absent attributes that may be added, the largest first: as many as may be made together.
    pub additions: Vec<Dyadic>,
    /// `f(−w_d)` of present attributes that may be removed, the largest first: as many as may be made together.
    pub removals: Vec<Dyadic>,
    /// `f(B)` and `f(−B)` of the sum of the weights of all attributes that the row has.
    pub whole: [Dyadic; 2],
}

/// A corner of the least concave function that is not below 0 and not below `L(k)` for any number `k` of flips.
struct Corner {
    flips: usize,
    loss: Dyadic,
    /// Not above what each flip since the corner before loses, and not far below.
    rate: Dyadic,
}

/// `L_n` of a row, by its corners up to the largest loss.
pub struct Menu {
    /// What must be lost: so many flips, and `L(k)` of these.
    base: (usize, Dyadic),
    /// Corners of what is lost beyond.
    corners: Vec<Corner>,
}

impl Menu {
    /// `max_k (factor·L(k) − price·k)` over all `k` that may be, which is 0 at least where none must.
    fn above(&self, factor: &Dyadic, price: &Dyadic) -> Dyadic {
        let (least, loss) = &self.base;
        let base = &(factor * loss) - &(price * &Dyadic::from(*least));
        &base + &self.beyond(factor, price)
    }

    /// The same where no flip must be made, and only those beyond `reserved` have the price.
    fn above_reserved(&self, factor: &Dyadic, price: &Dyadic, reserved: usize) -> Dyadic {
        let (mut best, mut before) = (Dyadic::ZERO, 0);
        for corner in &self.corners {
            let paid = price * &Dyadic::from(corner.flips.saturating_sub(reserved));
            best = best.max(&(factor * &corner.loss) - &paid);
            if before < reserved && reserved < corner.flips {
                // Every flip from there to the corner loses at least the rate.
                let rest = &corner.rate * &Dyadic::from(corner.flips - reserved);
                best = best.max(factor * &(&corner.loss - &rest));
            }
            before = corner.flips;
        }
        best
    }

    /// `max(0, max_k (factor·L(k) − price·k))` of the flips beyond those that must be made.
    fn beyond(&self, factor: &Dyadic, price: &Dyadic) -> Dyadic {
        let at = |corner: &Corner| &(factor * &corner.loss) - &(price * &Dyadic::from(corner.flips));
        // Rates are rounded down, so that the best corner is not before these; from there on the function rises.
        let sure = self.corners.iter().take_while(|corner| &corner.rate * factor > *price).count();
        let mut best = sure.checked_sub(1).map_or(Dyadic::ZERO, |last| at(&self.corners[last]));
        for corner in &self.corners[sure..] {
            let next = at(corner);
            if next <= best {
                break;
            }
            best = next;
        }
        best
    }

    fn bytes(&self) -> u64 {
        Dyadic::bytes(self.corners.iter().flat_map(|corner| [&corner.loss, &corner.rate]))
            + 8 * self.corners.len() as u64
    }
}

/// A row of a node, its menu, and the size of what it is multiplied by.
pub struct Part {
    pub node: u32,
    pub factor: Dyadic,
    pub menu: Rc<Menu>,
}

/// `L(k)` for `k = 1, 2, …`: the largest `|σ' − σ°|·f(±B) + σ'·(sums of the largest)`, with `scales` the entries `σ` of
/// rows by their number of attributes, from the one with all removals on; only numbers of additions and of removals
/// within `limits` count, and there may be none.
fn losses<N>(
    scales: &[N],
    additions: &[N],
    removals: &[N],
    [grown, shrunk]: [&N; 2],
    most: usize,
    limits: &[[usize; 2]; 2],
) -> Vec<Option<N>>
where
    N: Clone + Ord + From<u32>,
    for<'n> &'n N: Add<&'n N, Output = N> + Sub<&'n N, Output = N> + Mul<&'n N, Output = N>,
{
    let sums = |list: &[N]| {
        let mut sums = vec![N::from(0)];
        list.iter().for_each(|x| sums.push(&sums[sums.len() - 1] + x));
        sums
    };
    let (added, removed) = (sums(additions), sums(removals));
    let own = &scales[removals.len()];
    let moved = |scale: &N| if scale > own { &(scale - own) * grown } else { &(own - scale) * shrunk };
    let whole: Vec<N> = scales.iter().map(moved).collect();
    let exactly = |k: usize| {
        let ways = k.saturating_sub(removals.len())..=k.min(additions.len());
        let within = |count: usize, [least, most]: [usize; 2]| (least..=most).contains(&count);
        let ways = ways.filter(|&a| within(a, limits[0]) && within(k - a, limits[1]));
        let loss = |a: usize| {
            let at = removals.len() + a - (k - a);
            &whole[at] + &(&scales[at] * &(&added[a] + &removed[k - a]))
        };
        ways.map(loss).max()
    };
    (1..=most.min(additions.len() + removals.len())).map(exactly).collect()
}

/// `L(least)`, and the corners of what is lost beyond, with `L(1)`, `L(2)`, … given where there are any; none without
/// `L(least)`.
fn beyond<N>(losses: Vec<Option<N>>, least: usize) -> Option<(N, Vec<(usize, N)>)>
where
    N: Clone + Ord + From<u32>,
    for<'n> &'n N: Sub<&'n N, Output = N> + Mul<&'n N, Output = N>,
{
    let Some(last) = least.checked_sub(1) else { return Some((N::from(0), corners(losses))) };
    let base = losses.get(last)?.clone()?;
    let rest = losses.iter().skip(least).map(|loss| loss.as_ref().map(|loss| loss - &base)).collect();
    Some((base, corners(rest)))
}

/// The corners of the least concave function that is 0 at 0 and not below a list, up to its largest value.
fn corners<N>(list: Vec<Option<N>>) -> Vec<(usize, N)>
where
    N: Clone + Ord + From<u32>,
    for<'n> &'n N: Sub<&'n N, Output = N> + Mul<&'n N, Output = N>,
{
    let mut corners: Vec<(usize, N)> = vec![(0, N::from(0))];
    let count = |flips: usize| N::from(u32::try_from(flips).unwrap_or(u32::MAX));
    for (k, value) in (1..).zip(list).filter_map(|(k, value)| Some((k, value?))) {
        while let [.., (before, low), (last, high)] = &corners[..]
            && &(high - low) * &count(k - last) <= &(&value - high) * &count(last - before)
        {
            corners.pop();
        }
        corners.push((k, value));
    }
    while let [.., (_, low), (_, high)] = &corners[..]
        && high <= low
    {
        corners.pop();
    }
    corners
}

impl Free<'_> {
    /// `L_n` of the row at a place of `V(1)`, by what its flips lose; none where not even the fewest flips that must be
    /// made can be.
    ///
    /// # Errors
    /// If that is too expensive, as for all that is computed here.
    pub fn menu(&self, place: usize, flips: &Flips, least: usize) -> Result<Option<Menu>, Reason> {
        let Flips { additions, removals, whole } = flips;
        let node = self.slice.nodes(1)[place];
        let (left, own) = (self.left(node), self.sent[place].count);
        let limits = match self.decided.row_limits(node) {
            None => [[0, usize::MAX]; 2],
            Some(Some(limits)) => limits,
            Some(None) => return Ok(None),
        };
        let ways = (additions.len() + 1) * (removals.len() + 1);
        let scales: Vec<Dyadic> =
            (own - removals.len()..=own + additions.len()).map(|count| self.network.scale(count)).collect();
        let scales = Integers::new(&scales);
        let numbers: Vec<Dyadic> = additions.iter().chain(removals).chain(whole).map(Dyadic::reduced).collect();
        let numbers = Integers::new(&numbers);
        let exponent = scales.exponent + numbers.exponent;
        // Sums of products, and of these differences times numbers of flips.
        let bits = scales.bits + numbers.bits + 2 * ((additions.len() + removals.len() + 2).ilog2() as usize + 1) + 3;
        let found = match (&scales.small, &numbers.small) {
            (Some(scales), Some(numbers)) if bits < 127 => {
                self.meter.spend(STEP + 4 * ways as u64)?;
                let (added, rest) = numbers.split_at(additions.len());
                let (removed, whole) = rest.split_at(removals.len());
                let losses = losses(scales, added, removed, [&whole[0], &whole[1]], left, &limits);
                let exact =
                    |found: Vec<(usize, i128)>| found.into_iter().map(|(k, loss)| (k, IBig::from(loss))).collect();
                beyond(losses, least).map(|(base, found)| (IBig::from(base), exact(found)))
            }
            _ => {
                self.meter.spend(STEP + ways as u64 * (64 + (bits / 64 * scales.bits.div_ceil(64)) as u64))?;
                let (lowest, numbers) = (scales.exponent, [additions, removals, &whole[..]].concat());
                let scales = (own - removals.len()..=own + additions.len())
                    .map(|count| self.network.scale(count).at(lowest))
                    .collect::<Vec<IBig>>();
                let at = |x: &Dyadic| if x.is_zero() { IBig::ZERO } else { x.reduced().at(exponent - lowest) };
                let numbers: Vec<IBig> = numbers.iter().map(at).collect();
                let (added, rest) = numbers.split_at(additions.len());
                let (removed, whole) = rest.split_at(removals.len());
                beyond(losses(&scales, added, removed, [&whole[0], &whole[1]], left, &limits), least)
            }
        };
        let Some((base, corners)): Option<(IBig, Vec<(usize, IBig)>)> = found else { return Ok(None) };
        let corner = |pair: &[(usize, IBig)]| {
            let [(before, low), (flips, high)] = pair else { return None };
            let loss = Dyadic::new(high.clone(), exponent);
            let rise = Dyadic::new(high - low, exponent);
            let short = rise.rounded_down(rise.parts().1 + rise.bits() as i64 - RATE_BITS);
            let rate = Dyadic::new(short.parts().0 / IBig::from(flips - before), short.parts().1);
            Some(Corner { flips: *flips, loss, rate })
        };
        let base = (least, Dyadic::new(base, exponent));
        Ok(Some(Menu { base, corners: corners.windows(2).filter_map(corner).collect() }))
    }

    /// Rule 1 for whole rows: no admissible set of free flips loses more. Without prices the best one is taken, about.
    /// With `reach`, rows in which flips must be made may be left as they are: what these take of the budget is taken.
    pub fn rows_lose(&self, parts: &[Part], prices: &ExactPrices, reach: bool) -> Dyadic {
        let chosen = prices.are_unstated().then(|| ExactPrices { every: self.best(parts, reach), nodes: Vec::new() });
        let prices = chosen.as_ref().unwrap_or(prices);
        let mut total = self.paid(prices);
        if reach {
            total += &-&(&prices.every * &Dyadic::from(self.decided.least_in_all()));
        }
        for Part { node, factor, menu } in parts {
            total += &match reach {
                false => menu.above(factor, &prices.of(*node)),
                // A price of the node itself is paid for all of its flips.
                true => menu.above_reserved(factor, &prices.of(*node), self.decided.least(*node)),
            };
        }
        total
    }

    /// The price at which the rows would make about `Q'` flips.
    fn best(&self, parts: &[Part], reach: bool) -> Dyadic {
        let mut rates: Vec<(Dyadic, usize)> = Vec::new();
        for part in parts {
            let (mut before, reserved) = (0, if reach { self.decided.least(part.node) } else { 0 });
            for corner in &part.menu.corners {
                let count = corner.flips.saturating_sub(reserved)
                    - before.max(reserved).min(corner.flips).saturating_sub(reserved);
                rates.push((&corner.rate * &part.factor, count));
                before = corner.flips;
            }
        }
        let left = self.decided.left_in_all(self.budget).unwrap_or(0).saturating_sub(self.decided.least_in_all());
        let all = rates.iter().fold(0, |sum: usize, rate| sum.saturating_add(rate.1));
        if all <= left {
            return Dyadic::ZERO;
        }
        rates.sort_by(|a, b| b.0.cmp(&a.0));
        let mut made = 0;
        let last = rates.into_iter().find(|(_, count)| {
            made += count;
            made >= left
        });
        last.map_or(Dyadic::ZERO, |(rate, _)| rate)
    }

    /// Rule 2: `U` and `V` of the units of layer 2, by stated prices or, where `stated` knows none, the best.
    pub fn row_reach(
        &self,
        memory: &Reaches,
        stated: &dyn Fn(u32, u32) -> [ExactPrices; 2],
    ) -> Result<Vec<Vec<Reach>>, Reason> {
        // Rows with decided flips are remembered here only.
        let own = Reaches::default();
        let mut rows = Vec::new();
        for (m, &node) in self.slice.nodes(2).iter().enumerate() {
            let mut row = Vec::new();
            for unit in 0..self.network.widths[2] {
                let reach = |upward: bool, prices: &ExactPrices| -> Result<Dyadic, Reason> {
                    let pairs = pairs(&self.slice.passing(1)[m]);
                    let parts = pairs.filter(|pair| self.left(self.slice.nodes(1)[pair[0].place()]) > 0);
                    let parts = parts.map(|pair| self.part(pair, unit, upward, memory, &own));
                    let parts = parts.collect::<Result<Vec<Part>, Reason>>()?;
                    self.meter.look()?;
                    Ok(self.rows_lose(&parts, prices, true))
                };
                let [up, down] = stated(node, unit as u32);
                row.push(Reach { up: reach(true, &up)?, down: reach(false, &down)? });
            }
            self.meter.hold(Dyadic::bytes(row.iter().flat_map(|reach| [&reach.up, &reach.down])))?;
            rows.push(row);
        }
        Ok(rows)
    }

    /// The menu of a row for rises or falls of a unit that it reaches.
    fn part(&self, pair: &[Link], unit: usize, upward: bool, memory: &Reaches, own: &Reaches) -> Result<Part, Reason> {
        let place = pair[0].place();
        let node = self.slice.nodes(1)[place];
        let [link] = pair else {
            let menu = self.unforced(place, &self.overlapping_flips(pair, unit, upward)?)?;
            return Ok(Part { node, factor: Dyadic::from(1), menu: Rc::new(menu) });
        };
        let column = link.part(self.network.widths[2]).start + unit;
        // Through a negative entry a rise of what is sent arrives as a fall.
        let upward = upward == link.entry.is_positive();
        let decided = self.decided.fixed_in(node).next().is_some() || self.decided.row_limits(node).is_some();
        let memory = if decided { own } else { memory };
        let key = (place, column, upward, self.left(node));
        let menu = memory.menu(key, || self.unforced(place, &self.column_flips(place, column, upward)))?;
        Ok(Part { node, factor: link.entry.exact().size(), menu })
    }

    /// The menu of a row that may also be left as it is.
    fn unforced(&self, place: usize, flips: &Flips) -> Result<Menu, Reason> {
        Ok(self.menu(place, flips, 0)?.unwrap_or(Menu { base: (0, Dyadic::ZERO), corners: Vec::new() }))
    }

    /// What flips of a row change in a column of what it sends, in one direction.
    fn column_flips(&self, place: usize, column: usize, upward: bool) -> Flips {
        let (network, node) = (self.network, self.slice.nodes(1)[place]);
        let left = self.left(node);
        let towards = |x: &Dyadic, upward: bool| if upward { x.clone() } else { -x };
        let weight = |d: u32| &network.layers[0].weight[d as usize][column];
        let order = &network.falling[column];
        let falling = (0..order.len()).map(|at| order[if upward { at } else { order.len() - 1 - at }]);
        let absent = falling.filter(|&d| self.budget.adds() && !network.has(node, d) && self.is_free(node, d, false));
        let additions = absent.take(left).map(|d| towards(weight(d), upward)).collect();
        let present = network.graph.attributes.row(node as usize).iter();
        let present = present.filter(|&&d| self.is_free(node, d, true)).map(|&d| towards(weight(d), !upward));
        let sum = &self.sent[place].sums[column];
        Flips {
            additions,
            removals: largest(present.collect(), left),
            whole: [true, false].map(|grown| towards(sum, grown == upward)),
        }
    }

    /// The same in a unit that a row reaches by several terms.
    fn overlapping_flips(&self, pair: &[Link], unit: usize, upward: bool) -> Result<Flips, Reason> {
        let (network, place) = (self.network, pair[0].place());
        let node = self.slice.nodes(1)[place];
        let left = self.left(node);
        let columns: Vec<usize> = pair.iter().map(|link| link.part(network.widths[2]).start + unit).collect();
        let entries: Vec<Dyadic> = pair.iter().map(|link| link.entry.exact()).collect();
        let lists: Vec<_> = columns.iter().map(|&column| &network.columns[column]).collect();
        let combined = Combination::new(&lists, &entries);
        self.meter.spend((network.rows.len() * lists.len()) as u64)?;
        let along = |weights: &[Dyadic]| {
            let terms = columns.iter().zip(&entries);
            terms.fold(Dyadic::ZERO, |sum, (&column, a)| &sum + &(a * &weights[column]))
        };
        let mut both = [Vec::new(), Vec::new()];
        for (d, weights) in (0u32..).zip(&network.layers[0].weight) {
            let present = network.has(node, d);
            if !self.is_free(node, d, present) {
                continue;
            }
            let sum = match &combined {
                Some(whole) => Dyadic::new(IBig::from(whole.sum(d as usize)), whole.exponent),
                None => along(weights),
            };
            both[usize::from(present)].push(if present == upward { -&sum } else { sum });
        }
        step(64 * network.rows.len() as u64);
        self.meter.look()?;
        let [additions, removals] = both.map(|list| largest(list, left));
        let sum = along(&self.sent[place].sums);
        let whole = if upward { [sum.clone(), -&sum] } else { [-&sum, sum] };
        Ok(Flips { additions, removals, whole })
    }
}

/// The largest of a list, the largest first.
pub(super) fn largest(mut list: Vec<Dyadic>, count: usize) -> Vec<Dyadic> {
    list.sort_by(|a, b| b.cmp(a));
    list.truncate(count);
    list
}
