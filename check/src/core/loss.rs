//! Rule 6 (`FORMAT.md` §4): the largest admissible sum of losses of single flips.

use dashu_int::IBig;

use super::nested::Nested;
use super::select::Free;
use crate::format::exact::{ExactEnvelope, ExactHints, ExactPrices, Level};
use crate::ids::Flip;
use crate::number::{Dyadic, steps};
use crate::statement::{Integers, Link, pairs};
use crate::verdict::Reason;

/// A bend by a level, of a unit of layer 2.
pub struct LevelBend<'a> {
    pub unit: usize,
    /// Is `z' < 0`?
    pub below: bool,
    /// Of every change towards zero at least this part is within the level.
    pub kept: Dyadic,
    pub stated: &'a Level,
}

impl LevelBend<'_> {
    /// What a rise and what a fall lose at most, for each unit of change: `max(g − T, 0) ≤ (1 − t)·[g]₊`, and
    /// `max(g, −T) ≤ t·g + (1 − t)·[g]₊`, where of a change towards zero at least the part `t` is within the level.
    fn slopes(&self) -> [Dyadic; 2] {
        let weight = &self.stated.weight;
        match self.below {
            true => [weight * &(&Dyadic::from(1) - &self.kept), Dyadic::ZERO],
            false => [weight.clone(), -&(weight * &self.kept)],
        }
    }
}

/// The bends of the units of one node of layer 2.
#[derive(Default)]
pub struct Bends<'a> {
    pub levels: Vec<LevelBend<'a>>,
    pub envelopes: Vec<(usize, &'a ExactEnvelope)>,
}

/// What the losses of one leaf depend on.
pub struct Losses<'a> {
    pub free: &'a Free<'a>,
    /// `rise` and `fall` of the units of the nodes of `V(2)`.
    pub lines: &'a [Vec<[Dyadic; 2]>],
    /// By node of `V(2)`; empty where there are no hidden units.
    pub bends: &'a [Bends<'a>],
    /// Bends of layer 3, if there are any.
    pub nested: Option<&'a Nested<'a>>,
    pub hints: &'a ExactHints,
}

/// `plus` and `minus` of a row, as exact numbers and as integers.
pub(super) struct Slopes {
    pub(super) both: [Vec<Dyadic>; 2],
    integers: Integers,
}

impl Slopes {
    pub(super) fn new(both: [Vec<Dyadic>; 2]) -> Slopes {
        let joined: Vec<Dyadic> = both.iter().flatten().cloned().collect();
        Slopes { both, integers: Integers::new(&joined) }
    }

    /// `−Σ c_j (plus_j if c_j > 0, else minus_j)` with `c = W_d` for an absent attribute and `−W_d` for a present one.
    pub(super) fn loss(&self, weights: &[Dyadic], row: &Integers, present: bool) -> Dyadic {
        let width = weights.len();
        if let (Some(slopes), Some(row_small)) = (&self.integers.small, &row.small)
            && self.integers.bits + row.bits + (2 * width).ilog2() as usize + 1 < 127
        {
            let (plus, minus) = slopes.split_at(width);
            let (rises, falls) = if present { (minus, plus) } else { (plus, minus) };
            let mut sum = 0i128;
            for (w, (rise, fall)) in row_small.iter().zip(rises.iter().zip(falls)) {
                sum += w * if *w > 0 { rise } else { fall };
            }
            let loss = if present { sum } else { -sum };
            return Dyadic::new(IBig::from(loss), self.integers.exponent + row.exponent);
        }
        let [plus, minus] = &self.both;
        let (rises, falls) = if present { (minus, plus) } else { (plus, minus) };
        let mut sum = Dyadic::ZERO;
        for (w, (rise, fall)) in weights.iter().zip(rises.iter().zip(falls)) {
            sum += &(w * if w.is_positive() { rise } else { fall });
        }
        if present { sum } else { -&sum }
    }
}

impl Slopes {
    /// The attributes whose flips may lose more than a price, ascending. By Cauchy and Schwarz a flip loses at most the
    /// length of the losing slopes times that of the attribute's weights; the squares are compared.
    fn losing(&self, lengths: &[(u32, Dyadic)], price: &Dyadic) -> Vec<u32> {
        let [plus, minus] = &self.both;
        let losing = plus.iter().zip(minus).map(|(plus, minus)| (-plus).max(minus.clone()).positive_part());
        let length = losing.fold(Dyadic::ZERO, |sum, slope| &sum + &(&slope * &slope));
        let within = price * price;
        let count = lengths.partition_point(|(_, square)| &length * square > within);
        let mut found: Vec<u32> = lengths[..count].iter().map(|entry| entry.0).collect();
        found.sort_unstable();
        found
    }
}

impl Losses<'_> {
    /// `T`.
    ///
    /// # Errors
    /// If that is too expensive.
    pub fn largest(&self) -> Result<Option<Dyadic>, Reason> {
        if self.free.network.is_normalised() {
            return self.of_rows();
        }
        let mut total = self.free.paid(&self.hints.price);
        self.exceeding(&self.hints.price, |_, excess| total += &excess)?;
        Ok(Some(total))
    }

    /// Every free flip that loses more than its price, and by how much more.
    ///
    /// # Errors
    /// If that is too expensive.
    pub fn exceeding(&self, prices: &ExactPrices, mut each: impl FnMut(Flip, Dyadic)) -> Result<(), Reason> {
        let Free { network, slice, .. } = *self.free;
        let bends = self.bends.iter().any(|bends| !bends.levels.is_empty() || !bends.envelopes.is_empty());
        let bends = bends || self.nested.is_some();
        let nested = self.nested.map_or_else(|| Ok(Vec::new()), Nested::slopes)?;
        let mut of_bends = 0u64;
        for (place, &node) in slice.nodes(1).iter().enumerate() {
            if self.free.left(node) == 0 {
                continue;
            }
            let told = |reason: Reason| reason.of_whole(place, slice.nodes(1).len());
            let price = prices.of(node);
            let bent = bends || self.kinks(place).next().is_some();
            let slopes = Slopes::new(self.slopes(place, None));
            // No flip loses more: a bend adds at most what its slopes say, and a kink no more than its terms one by
            // one.
            let most = bent.then(|| Slopes::new(self.slopes(place, Some(&nested))));
            let losing = most.as_ref().unwrap_or(&slopes).losing(&network.lengths, &price);
            self.free.meter.spend((losing.len() * network.terms[1] * network.widths[2]) as u64).map_err(told)?;
            for d in losing {
                let (weights, row) = (&network.layers[0].weight[d as usize], &network.rows[d as usize]);
                let is_present = network.has(node, d);
                if !self.free.is_free(node, d, is_present)
                    || most.as_ref().is_some_and(|most| most.loss(weights, row, is_present) <= price)
                {
                    continue;
                }
                let mut loss = slopes.loss(weights, row, is_present);
                if bent {
                    let before = steps();
                    loss += &self.bent(place, node, d, is_present);
                    if let Some(nested) = self.nested {
                        loss += &nested.loss(place, (node, d), is_present)?;
                    }
                    // Bends rarely have to be evaluated: prices rule nearly all flips out.
                    of_bends += steps().wrapping_sub(before);
                    self.free.meter.within_leaf(of_bends).map_err(told)?;
                    self.free.meter.look().map_err(told)?;
                }
                if loss > price {
                    each((node, d), &loss - &price);
                }
            }
        }
        Ok(())
    }

    /// Every free flip of some rows that the lines alone, each kink at its most, do not keep within its price: its row,
    /// the flip, and whether the attribute is there.
    ///
    /// # Errors
    /// If that is too expensive.
    pub fn survivors(
        &self,
        places: &[usize],
        prices: &ExactPrices,
        mut each: impl FnMut(usize, Flip, bool),
    ) -> Result<(), Reason> {
        let Free { network, slice, meter, .. } = *self.free;
        for &place in places {
            let node = slice.nodes(1)[place];
            if self.free.left(node) == 0 {
                continue;
            }
            let (most, price) = (Slopes::new(self.slopes(place, Some(&[]))), prices.of(node));
            let losing = most.losing(&network.lengths, &price);
            meter.spend((losing.len() * network.terms[1] * network.widths[2]) as u64)?;
            for d in losing {
                let (weights, row) = (&network.layers[0].weight[d as usize], &network.rows[d as usize]);
                let is_present = network.has(node, d);
                if self.free.is_free(node, d, is_present) && most.loss(weights, row, is_present) > price {
                    each(place, (node, d), is_present);
                    meter.look()?;
                }
            }
        }
        Ok(())
    }

    /// The lines of units that a row reaches by several terms and that rises and falls follow with different slopes:
    /// these depend on the sign of the sum over the terms.
    pub(super) fn kinks(&self, place: usize) -> impl Iterator<Item = (&[Link], usize, &[Dyadic; 2])> {
        let overlapping = pairs(self.free.slice.reached(place)).filter(|pair| pair.len() > 1);
        overlapping.flat_map(|pair| {
            let lines = self.lines[pair[0].place()].iter().enumerate();
            lines.filter(|(_, [rise, fall])| rise != fall).map(move |(unit, line)| (pair, unit, line))
        })
    }

    /// `plus` and `minus` of a row of attributes for all terms, one after the other, without kinks; with `most`, those
    /// of the most that flips lose besides by bends, and by kinks term by term. `most` are the slopes of bends of layer
    /// 3.
    pub(super) fn slopes(&self, place: usize, most: Option<&[Vec<[Dyadic; 2]>]>) -> [Vec<Dyadic>; 2] {
        let width = self.free.network.widths[2];
        let zeros = || vec![Dyadic::ZERO; self.free.network.terms[1] * width];
        let mut both = [zeros(), zeros()];
        // Through a negative entry a rise of what is sent arrives as a fall.
        let turned = |link: &Link| if link.entry.is_positive() { (0, 1) } else { (1, 0) };
        let reached = || pairs(self.free.slice.reached(place));
        for (pair, link) in reached().flat_map(|pair| pair.iter().map(move |link| (pair, link))) {
            let (a, (rises, falls), part) = (link.entry.exact(), turned(link), link.part(width));
            for (unit, [rise, fall]) in self.lines[link.place()].iter().enumerate() {
                if pair.len() == 1 || rise == fall {
                    both[rises][part.start + unit] += &(&a * rise);
                    both[falls][part.start + unit] += &(&a * fall);
                }
            }
        }
        let round = |[plus, minus]: &mut [Vec<Dyadic>; 2]| {
            let Some(grid) = self.hints.grid else { return };
            plus.iter_mut().for_each(|x| *x = x.rounded_down(grid));
            minus.iter_mut().for_each(|x| *x = x.rounded_up(grid));
        };
        round(&mut both);
        let Some(most) = most else { return both };
        for link in self.free.slice.reached(place) {
            let (a, (rises, falls), part) = (link.entry.exact(), turned(link), link.part(width));
            for (unit, [up, down]) in most.get(link.place()).into_iter().flatten().enumerate() {
                both[rises][part.start + unit] += &-&(&a * up);
                both[falls][part.start + unit] += &(&a * down);
            }
        }
        for (pair, unit, [rise, fall]) in self.kinks(place) {
            // With a fall not below the rise the loss is convex, so that the loss of a sum is at most the sum of
            // losses.
            let fall = fall.max(rise);
            for link in pair {
                let (a, (rises, falls), at) = (link.entry.exact(), turned(link), link.part(width).start + unit);
                both[rises][at] += &(&a * rise);
                both[falls][at] += &(&a * fall);
            }
        }
        for link in self.free.slice.reached(place) {
            let Some(bends) = self.bends.get(link.place()) else { continue };
            let levels = bends.levels.iter().map(|bend| (bend.unit, bend.slopes()));
            let envelopes = bends.envelopes.iter().map(|(unit, bend)| (*unit, [bend.weight.clone(), Dyadic::ZERO]));
            let (a, (rises, falls), start) = (link.entry.exact(), turned(link), link.part(width).start);
            for (unit, [up, down]) in levels.chain(envelopes) {
                both[rises][start + unit] += &-&(&a * &up);
                both[falls][start + unit] += &(&a * &down);
            }
        }
        // Rounded, it is still the most, and shorter.
        round(&mut both);
        both
    }

    /// What a flip loses by kinks, and `Σ c·max(g − u, −v)` over all bends.
    fn bent(&self, place: usize, node: u32, d: u32, present: bool) -> Dyadic {
        let weights = &self.free.network.layers[0].weight[d as usize];
        let width = self.free.network.widths[2];
        let change = |pair: &[Link], unit: usize| {
            let along = |link: &Link| &link.entry.exact() * &weights[link.part(width).start + unit];
            let g = pair.iter().map(along).reduce(|sum, more| &sum + &more).unwrap_or(Dyadic::ZERO);
            if present { -&g } else { g }
        };
        let mut total = Dyadic::ZERO;
        for (pair, unit, [rise, fall]) in self.kinks(place) {
            let g = change(pair, unit);
            total += &-&(&g * if g.is_positive() { rise } else { fall });
        }
        let mut reached = pairs(self.free.slice.reached(place)).peekable();
        for (m, bends) in self.bends.iter().enumerate() {
            let pair = reached.next_if(|next| next[0].place() == m).unwrap_or(&[]);
            // Where nothing changes, a level adds 0.
            for LevelBend { unit, below, stated: bend, .. } in bends.levels.iter().filter(|_| !pair.is_empty()) {
                let g = change(pair, *unit);
                let paid = |x: &Dyadic| x.positive_part().min(bend.level.clone());
                let (u, v) = if *below { (paid(&g), Dyadic::ZERO) } else { (Dyadic::ZERO, paid(&-&g)) };
                total += &(&bend.weight * &(&g - &u).max(-&v));
            }
            for (unit, bend) in &bends.envelopes {
                let (u, v) = bend.amounts((node, d));
                total += &(&bend.weight * &(&change(pair, *unit) - &u).max(-&v));
            }
        }
        total
    }
}
