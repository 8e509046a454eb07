//! Rules 1 and 2 (`FORMAT.md` §4): upper bounds, by prices, of what an admissible set of free flips can add up to.

use dashu_int::IBig;

use super::forward::Sent;
use crate::format::exact::{ExactEnvelope, ExactPrices, Level};
use crate::number::{Dyadic, step};
use crate::statement::{Budget, Combination, Decided, Link, Network, Slice, pairs};
use crate::verdict::Reason;
use crate::work::Meter;

/// Steps for a node, whatever is computed for it.
const STEP: u64 = 64;

/// A number not above `level / largest`, between 0 and 1: of a change `x ≤ largest` at least this part is within the
/// level.
pub fn kept_share(level: &Dyadic, largest: &Dyadic) -> Dyadic {
    const BITS: usize = 20;
    if level >= largest {
        return Dyadic::from(1);
    }
    let exponent = level.parts().1.min(largest.parts().1);
    let (level, largest): (IBig, IBig) = (level.at(exponent) << BITS, largest.at(exponent));
    let words = |x: &IBig| x.as_sign_words().1.len() as u64;
    step((words(&level) + 1) * (words(&largest) + 1));
    Dyadic::new(level / largest, -(BITS as i64))
}

/// The free flips of a slice.
pub struct Free<'a> {
    pub network: &'a Network<'a>,
    pub budget: &'a Budget<'a>,
    pub slice: &'a Slice,
    pub decided: &'a Decided,
    /// What the nodes of `V(1)` send after the flips made.
    pub sent: &'a [Sent],
    pub meter: &'a Meter<'a>,
}

impl Free<'_> {
    /// `q'_n`. The decided flips must not exceed the budget.
    pub fn left(&self, node: u32) -> usize {
        self.decided.left(self.budget, node).unwrap_or(0)
    }

    /// Is this flip of a row with `q'_n ≥ 1` free?
    pub fn is_free(&self, node: u32, attribute: u32, present: bool) -> bool {
        self.budget.permits((node, attribute), present) && self.decided.fixed.binary_search(&(node, attribute)).is_err()
    }

    /// `Q' ρ + Σ q'_n η_n`: rule 1 without its last sum.
    pub fn paid(&self, prices: &ExactPrices) -> Dyadic {
        let all = self.decided.left_in_all(self.budget).unwrap_or(0);
        let mut total = &Dyadic::from(all) * &prices.every;
        for (node, price) in &prices.nodes {
            total += &(&Dyadic::from(self.left(*node)) * price);
        }
        total
    }

    /// Rule 1 (docs/math.md (1.7)) for the rises (or falls) that free flips cause in a unit of the node at place `m` of
    /// `V(2)`.
    ///
    /// # Errors
    /// If that is too expensive, as for all that is computed here.
    pub fn select(&self, m: usize, unit: usize, upward: bool, prices: &ExactPrices) -> Result<Dyadic, Reason> {
        let mut total = self.paid(prices);
        self.changes(m, unit, upward, prices, |price, change| total += &(&change - price).positive_part())?;
        Ok(total)
    }

    /// Every change of a unit of `V(2)` in one direction by a free flip that is above the flip's price.
    fn changes(
        &self,
        m: usize,
        unit: usize,
        upward: bool,
        prices: &ExactPrices,
        mut each: impl FnMut(&Dyadic, Dyadic),
    ) -> Result<(), Reason> {
        let (network, width) = (self.network, self.network.widths[2]);
        for pair in pairs(&self.slice.passing(1)[m]) {
            self.meter.spend(STEP)?;
            let node = self.slice.nodes(1)[pair[0].place()];
            if self.left(node) == 0 {
                continue;
            }
            let price = prices.of(node);
            let [link] = pair else {
                self.overlapping(pair, unit, upward, &price, &mut each);
                continue;
            };
            let (size, column) = (link.entry.exact().size(), link.part(width).start + unit);
            // Through a negative entry a rise of what is sent arrives as a fall.
            let upward = upward == link.entry.is_positive();
            // What flipping changes, counted in the direction asked for, if that is above the price.
            let change = |d: u32, present: bool| {
                let w = &network.layers[0].weight[d as usize][column];
                let towards = if present == upward { w.is_negative() } else { w.is_positive() };
                towards.then(|| &size * &w.size()).filter(|change| *change > price)
            };
            let order = &network.falling[column];
            for at in 0..order.len() {
                let d = order[if upward { at } else { order.len() - 1 - at }];
                // The rest of the column changes no more than this.
                let Some(change) = change(d, false) else { break };
                if !network.has(node, d) && self.is_free(node, d, false) {
                    each(&price, change);
                }
            }
            for &d in network.graph.attributes.row(node as usize) {
                if let Some(change) = change(d, true).filter(|_| self.is_free(node, d, true)) {
                    each(&price, change);
                }
            }
        }
        Ok(())
    }

    /// Every change of a unit of `V(2)` in one direction above a price, by a free flip of a node that reaches it by
    /// several terms: what a flip changes is the sum over the terms, and its sign is that of the sum.
    pub fn overlapping(
        &self,
        pair: &[Link],
        unit: usize,
        upward: bool,
        price: &Dyadic,
        mut each: impl FnMut(&Dyadic, Dyadic),
    ) {
        let (network, node) = (self.network, self.slice.nodes(1)[pair[0].place()]);
        let columns: Vec<usize> = pair.iter().map(|link| link.part(network.widths[2]).start + unit).collect();
        let entries: Vec<Dyadic> = pair.iter().map(|link| link.entry.exact()).collect();
        let lists: Vec<_> = columns.iter().map(|&column| &network.columns[column]).collect();
        let whole = Combination::new(&lists, &entries);
        step((network.rows.len() * lists.len()) as u64);
        // The largest integer that is within the price; a price beyond all integers is beyond all sums.
        let within = whole.as_ref().map(|whole| price.rounded_down(whole.exponent)).filter(|floor| !floor.is_zero());
        let within = within.zip(whole.as_ref()).map(|(floor, whole)| i128::try_from(&floor.at(whole.exponent)));
        let within = within.map_or(0, |within| within.unwrap_or(i128::MAX));
        let mut present = network.graph.attributes.row(node as usize).iter().peekable();
        for (d, weights) in (0u32..).zip(&network.layers[0].weight) {
            let is_present = present.next_if(|&&next| next == d).is_some();
            let change = match &whole {
                Some(whole) => {
                    let sum = whole.sum(d as usize);
                    let change = if is_present == upward { -sum } else { sum };
                    if change <= within {
                        continue;
                    }
                    Dyadic::new(IBig::from(change), whole.exponent)
                }
                None => {
                    let terms = columns.iter().zip(&entries);
                    let sum = terms.fold(Dyadic::ZERO, |sum, (&column, a)| &sum + &(a * &weights[column]));
                    if is_present == upward { -&sum } else { sum }
                }
            };
            if change > *price && self.is_free(node, d, is_present) {
                each(price, change);
            }
        }
    }

    /// `A` of a bend by a level, of a unit at `z`, and a number not below any change of the unit towards zero.
    pub fn level_base(&self, m: usize, unit: usize, z: &Dyadic, bend: &Level) -> Result<(Dyadic, Dyadic), Reason> {
        let (mut paid, mut largest) = (self.paid(&bend.prices), bend.prices.largest());
        self.changes(m, unit, z.is_negative(), &bend.prices, |price, change| {
            paid += &(&change.clone().min(bend.level.clone()) - price).positive_part();
            if change > largest {
                largest = change;
            }
        })?;
        Ok((if z.is_negative() { (z + &paid).max(Dyadic::ZERO) } else { z.clone().max(paid) }, largest))
    }

    /// `A` of a bend by prices, of a unit at `z`.
    pub fn envelope_base(&self, z: &Dyadic, bend: &ExactEnvelope) -> Dyadic {
        let (mut on, mut off) = (z.clone(), Dyadic::ZERO);
        let mut pay = |count: usize, price: &Dyadic| {
            let amount = &Dyadic::from(count) * &price.size();
            if price.is_negative() { off += &amount } else { on += &amount }
        };
        pay(self.decided.left_in_all(self.budget).unwrap_or(0), &bend.every);
        bend.nodes.iter().for_each(|(node, price)| pay(self.left(*node), price));
        for (flip, price) in &bend.flips {
            if self.left(flip.0) > 0 && self.is_free(flip.0, flip.1, self.network.has(flip.0, flip.1)) {
                pay(1, price);
            }
        }
        on.max(off)
    }
}
