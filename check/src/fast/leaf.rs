//! Rules 3 to 5 in floats: a short leaf is expanded and checked in one pass.

use std::rc::Rc;
use std::sync::Arc;

use super::hints::{EnvelopeUse, FloatHints, LevelUse};
use super::loss::FastLosses;
use super::nested;
use super::nested_loss::{NestedUse, Supports};
use super::row::NodeUnits;
use super::shared::{Bounds, Fast};
use crate::core::path::Path;
use crate::expand::{self, EnvelopePrices, KnownUnit, Short, ShortLeaf};
use crate::format::exact::find;
use crate::number::{Down, Interval, Rough, Stored, Up};
use crate::statement::{Decided, Slice, pairs};

/// A little more than 1.
const ROUNDED_OTHERWISE: Stored = Stored::just_above_one(24);

/// What depends on the path only.
pub(crate) struct Region {
    /// By place in `V(2)`.
    rows: Vec<Arc<NodeUnits>>,
    /// Clipped bounds of layers 3 and above.
    bounds: Vec<Vec<Arc<Bounds>>>,
    /// Surely no perturbation takes the path.
    empty: bool,
}

/// One target: the logits of a node, or a hidden unit.
pub(crate) struct FastTarget<'a> {
    fast: &'a Fast<'a>,
    slice: &'a Slice,
    memory: Option<(Path, Arc<Region>)>,
    /// Lines that bends of layer 3 rest on: all leaves after the same flips share them.
    supports: Option<(Decided, Rc<Supports>)>,
}

/// What became of a short leaf.
pub(crate) enum Attempt {
    /// Surely no perturbation takes the path; hints that show it.
    Empty(Box<FloatHints>),
    /// The hints, and a number not above the bound that they give.
    Hints(Box<FloatHints>, Down),
}

impl<'a> FastTarget<'a> {
    /// Nothing is computed before it is asked for.
    pub(crate) fn new(fast: &'a Fast<'a>, slice: &'a Slice) -> FastTarget<'a> {
        FastTarget { fast, slice, memory: None, supports: None }
    }

    /// The logits of the target after some flips.
    pub(crate) fn logits(&self, flips: &Decided) -> Arc<[Interval]> {
        let network = &*self.fast.network;
        let mut z: Vec<Arc<[Interval]>> = self.slice.nodes(2).iter().map(|&m| self.fast.rows.value(m, flips)).collect();
        for l in 2..network.exact.depth() {
            let (inputs, outputs) = (network.exact.widths[l], network.exact.widths[l + 1]);
            let next = self.slice.passing(l).iter().zip(self.slice.nodes(l + 1)).map(|(row, &m)| {
                // Of all terms, one after the other.
                let mut received = vec![Interval::ZERO; network.exact.terms[l] * inputs];
                for link in row {
                    let part = received[link.part(inputs)].iter_mut();
                    for (unit, (sum, &z)) in part.zip(z[link.place()].iter()).enumerate() {
                        let active = if network.exact.is_linear(l, unit) { z } else { z.positive_part() };
                        *sum = sum.plus(active.scaled(link.entry));
                    }
                }
                let mut sums: Vec<Interval> = network.bias(l, m).iter().map(|&b| b.into()).collect();
                for (at, x) in received.iter().enumerate() {
                    let weights = &network.weights(l, at % inputs)[at / inputs * outputs..][..outputs];
                    sums.iter_mut().zip(weights).for_each(|(sum, w)| *sum = sum.plus(x.scaled(*w)));
                }
                sums.into()
            });
            z = next.collect();
        }
        z.swap_remove(0)
    }

    /// Expands a short leaf and bounds what it shows. With `only_sign` the prices may be any that make the bound
    /// positive. Where rows are normalised, there must be one hidden layer.
    pub(crate) fn attempt(&mut self, objective: &[(u32, i8)], path: &Path, short: &Short, only_sign: bool) -> Attempt {
        let Some((mut hints, total, step)) = self.relaxed(objective, path, short) else {
            return Attempt::Empty(Box::new(self.without_lines(path)));
        };
        let losses = self.losses(&hints, &path.decided, step);
        if self.fast.network.exact.is_normalised() {
            // The core has slopes and prices of its own, hence a bound that is rounded otherwise: what is near 0 is
            // left to it.
            let lost = losses.of_rows(&self.fast.rows).times(ROUNDED_OTHERWISE);
            return Attempt::Hints(Box::new(hints), total.minus(lost));
        }
        let (price, lost, worst) = losses.price(only_sign.then_some(total));
        (hints.price, hints.worst) = (price, worst);
        Attempt::Hints(Box::new(hints), total.minus(lost))
    }

    /// What the losses of an expanded leaf depend on; `step` is the one of its grid.
    pub(crate) fn losses<'l>(&'l self, hints: &'l FloatHints, decided: &'l Decided, step: Stored) -> FastLosses<'l> {
        let (network, budget, slice) = (&*self.fast.network, self.fast.budget, self.slice);
        let FloatHints { lines, linear, levels, envelopes, rows, taken, .. } = hints;
        let nested = taken.as_ref();
        FastLosses { network, budget, slice, decided, lines, linear, levels, envelopes, rows, nested, step }
    }

    /// Hints for a path that surely no perturbation takes.
    fn without_lines(&self, path: &Path) -> FloatHints {
        let mut hints = FloatHints { rows: self.known_region(path).rows.clone(), ..FloatHints::default() };
        hints.lines = vec![vec![[Stored::ZERO; 2]; self.fast.network.width()]; hints.rows.len()];
        hints.linear = vec![Vec::new(); hints.rows.len()];
        hints.levels = vec![Vec::new(); hints.rows.len()];
        hints.envelopes = vec![Vec::new(); hints.rows.len()];
        hints
    }

    /// The region of a path, from memory if it is that of the last.
    fn known_region(&self, path: &Path) -> Arc<Region> {
        match &self.memory {
            Some((known, region)) if known == path => region.clone(),
            _ => Arc::new(self.region(path)),
        }
    }

    /// Expands a short leaf: its hints but the prices, the constant from below, and the step of its grid. `None` if
    /// surely no perturbation takes the path.
    pub(crate) fn relaxed(
        &mut self,
        objective: &[(u32, i8)],
        path: &Path,
        short: &Short,
    ) -> Option<(FloatHints, Down, Stored)> {
        let region = self.known_region(path);
        self.memory = Some((path.clone(), region.clone()));
        if region.empty {
            return None;
        }
        let (network, top) = (&*self.fast.network, self.slice.top());
        let mut phi = vec![vec![Interval::ZERO; network.exact.widths[top]]];
        for &(unit, sign) in objective {
            phi[0][unit as usize] = if sign < 0 { -Interval::from(Stored::ONE) } else { Stored::ONE.into() };
        }
        let mut total = Down::ZERO;
        let mut hints = FloatHints { rows: region.rows.clone(), ..FloatHints::default() };
        if top == 2 {
            let mut lines = vec![[Stored::ZERO; 2]; phi[0].len()];
            for &(unit, sign) in objective {
                lines[unit as usize] = [if sign < 0 { -Stored::ONE } else { Stored::ONE }; 2];
            }
            hints.lines = vec![lines];
            let terms = hints.lines[0].iter().zip(region.rows[0].value.iter());
            total = terms.fold(total, |total, (line, z)| total.plus(z.scaled(line[0]).lower));
        } else {
            for l in (3..top).rev() {
                let coefficients = self.pull(l, &phi, &mut total);
                phi = self.deep_slopes(l, &coefficients, &region, ShortLeaf { path, short }, &mut hints, &mut total);
            }
            let coefficients = self.pull(2, &phi, &mut total);
            for (m, row) in coefficients.iter().enumerate() {
                total = total.plus(self.node_lines(m, row, ShortLeaf { path, short }, &mut hints));
            }
            if !hints.nested.is_empty() {
                let supports = self.supports(&path.decided, &hints.rows);
                hints.taken = Some(nested::losses(self.fast, self.slice, supports, &hints.nested));
            }
        }
        let step = self.choose_grid(&mut hints);
        Some((hints, total, step))
    }

    /// The lines that bends of layer 3 rest on after some flips, from memory if those of the last leaf were the same.
    fn supports(&mut self, decided: &Decided, rows: &[Arc<NodeUnits>]) -> Rc<Supports> {
        match &self.supports {
            Some((known, supports)) if known == decided => supports.clone(),
            _ => {
                let supports = Rc::new(Supports::new(&self.fast.network, self.slice, rows));
                self.supports = Some((decided.clone(), supports.clone()));
                supports
            }
        }
    }

    /// Slopes of the units of layer `l ≥ 3`.
    fn deep_slopes(
        &self,
        l: usize,
        coefficients: &[Vec<Interval>],
        region: &Region,
        leaf: ShortLeaf,
        hints: &mut FloatHints,
        total: &mut Down,
    ) -> Vec<Vec<Interval>> {
        let mut phi = Vec::with_capacity(coefficients.len());
        let nodes = coefficients.iter().zip(&region.bounds[l - 3]).zip(self.slice.nodes(l)).enumerate();
        for (place, ((row, bounds), &node)) in nodes {
            let levels = (l == 3 && leaf.short.nested).then(|| self.fast.nested(node, &leaf.path.decided));
            let mut slopes = Vec::with_capacity(row.len());
            for (unit, (k, &(lower, upper))) in row.iter().zip(bounds.iter()).enumerate() {
                if self.fast.network.exact.is_linear(l, unit) {
                    slopes.push(*k);
                    continue;
                }
                let id = (l as u32, node, unit as u32);
                let known = KnownUnit { k: k.rough(), z: Rough::ZERO, lower: lower.rough(), upper: upper.rough() };
                let said = leaf.said(id);
                let mut k = *k;
                let level = levels.as_ref().and_then(|row| Some((row, row[unit].as_ref()?)));
                let slope = match level {
                    Some((row, level)) => {
                        let (slope, weight) = expand::nested(&known, &said);
                        let weight = weight.price();
                        if !weight.is_zero() {
                            *total = total.minus(level.base.times(weight));
                            k = k.plus(weight.into());
                            hints.nested.push(NestedUse { place, unit, weight, row: row.clone() });
                        }
                        slope.stored()
                    }
                    None => expand::slope(&known, &said).stored(),
                };
                *total = total.plus(Interval::least_on_segment(k, slope, lower, upper));
                if !slope.is_zero() {
                    hints.slopes.push((id, slope));
                }
                slopes.push(slope.into());
            }
            phi.push(slopes);
        }
        phi
    }

    /// Lines and bends of the units of a node of layer 2; returns what they add to the constant, from below.
    fn node_lines(&self, m: usize, coefficients: &[Interval], leaf: ShortLeaf, hints: &mut FloatHints) -> Down {
        let (node, row) = (self.slice.nodes(2)[m], hints.rows[m].clone());
        let (mut lines, mut levels, mut envelopes) = (Vec::with_capacity(coefficients.len()), Vec::new(), Vec::new());
        let mut linear = Vec::new();
        let mut total = Down::ZERO;
        for (unit, k) in coefficients.iter().enumerate() {
            if *k == Interval::ZERO && leaf.path.units.is_empty() {
                lines.push([Stored::ZERO; 2]);
                continue;
            }
            let (z, [up, down]) = (row.value[unit], row.reach[unit]);
            if self.fast.network.exact.is_linear(2, unit) {
                total = total.plus(k.times(z).lower);
                lines.push([Stored::ZERO; 2]);
                linear.push((unit, *k));
                continue;
            }
            let id = (2, node, unit as u32);
            let mut said = leaf.said(id);
            let prices = find(&leaf.short.envelopes, &(node, unit as u32));
            said.share = prices.map(|prices| prices.share);
            // Where rounding hides on which side of zero a unit is, it gets no level.
            let level = said.cap.then(|| &row.levels()[unit]).filter(|known| known.below.is_some());
            said.cap = level.is_some();
            let known = KnownUnit {
                k: k.rough(),
                z: z.rough(),
                lower: (z.lower.minus(down)).rough(),
                upper: z.upper.plus(up).rough(),
            };
            let found = expand::unit(&known, &said);
            let mut k = *k;
            let (level_weight, envelope_weight) = (found.level.price(), found.envelope.price());
            if let Some(level) = level.filter(|_| !level_weight.is_zero()) {
                total = total.minus(level.base.times(level_weight));
                k = k.plus(level_weight.into());
                levels.push(LevelUse { unit, weight: level_weight });
            }
            if let Some(prices) = prices.filter(|_| !envelope_weight.is_zero()) {
                total = total
                    .minus(self.envelope_base(&prices.every, prices, z, &leaf.path.decided).times(envelope_weight));
                k = k.plus(envelope_weight.into());
                envelopes.push(EnvelopeUse { unit, weight: envelope_weight, prices: prices.clone() });
            }
            let line = [found.rise.stored(), found.fall.stored()];
            total = total.plus(match said.side {
                None => Interval::least_on_rectangle(k, z, line, up, down),
                Some(side) => split_base(k, z, line, [up, down], side),
            });
            lines.push(line);
        }
        hints.lines.push(lines);
        hints.linear.push(linear);
        hints.levels.push(levels);
        hints.envelopes.push(envelopes);
        total
    }

    /// Not below `A` of a bend by prices.
    fn envelope_base(&self, every: &Stored, prices: &EnvelopePrices, z: Interval, decided: &Decided) -> Up {
        let (mut on, mut off) = (z.upper, Up::ZERO);
        let mut pay = |price: Stored, count: usize| {
            let amount = Up::from(price.size()).many(count);
            if price.is_negative() { off = off.plus(amount) } else { on = on.plus(amount) }
        };
        let left = |node: u32| decided.left(self.fast.budget, node).unwrap_or(0);
        pay(*every, decided.left_in_all(self.fast.budget).unwrap_or(0));
        prices.nodes.iter().for_each(|(node, price)| pay(*price, left(*node)));
        for (flip, price) in &prices.flips {
            if left(flip.0) > 0 && decided.fixed.binary_search(flip).is_err() {
                pay(*price, 1);
            }
        }
        on.most(off)
    }

    /// A grid on which the largest row slope keeps some 46 bits, and its step.
    fn choose_grid(&self, hints: &mut FloatHints) -> Stored {
        let mut largest = Rough::ZERO;
        for (m, row) in hints.lines.iter().enumerate() {
            let mut size = row.iter().flatten().fold(Rough::ZERO, |size, x| size.most(x.size().into()));
            let bends = hints.levels.get(m).map_or(&[][..], |list| list).iter().map(|bend| bend.weight);
            let arches = hints.envelopes.get(m).map_or(&[][..], |list| list).iter().map(|bend| bend.weight);
            size = bends.chain(arches).fold(size, |size, x| size.most(x.into()));
            let linear = hints.linear.get(m).map_or(&[][..], |list| list).iter();
            size = linear.fold(size, |size, (_, k)| size.most(k.rough().stored().size().into()));
            let entries = self.slice.passing(1)[m].iter().map(|link| Rough::from(link.entry.size()));
            largest = largest.most(size * entries.fold(Rough::ZERO, Rough::most));
        }
        hints.grid = largest.exponent().map(|exponent| exponent - 46);
        let step = hints.grid.and_then(|grid| Stored::scaled(1, i32::try_from(grid).ok()?));
        if step.is_none() {
            hints.grid = None;
        }
        step.unwrap_or(Stored::ZERO)
    }

    /// Activation bounds on a path.
    fn region(&self, path: &Path) -> Region {
        let rows: Vec<Arc<NodeUnits>> = match &self.memory {
            // A split unit changes nothing at layer 2.
            Some((known, region)) if known.decided == path.decided => region.rows.clone(),
            _ => self.slice.nodes(2).iter().map(|&m| self.fast.rows.row(m, &path.decided)).collect(),
        };
        let mut region = Region { rows, bounds: Vec::new(), empty: false };
        let top = self.slice.top();
        if *path == Path::default() {
            for l in 3..top {
                region.bounds.push(self.slice.nodes(l).iter().map(|&node| self.fast.whole(l, node)).collect());
            }
            return region;
        }
        if top > 3 || !path.units.is_empty() {
            let mut clipped: Vec<Bounds> = region.rows.iter().map(|row| row.bounds()).collect();
            region.empty |= self.clip(2, path, &mut clipped);
            for l in 3..top {
                clipped = self.propagate(l, &clipped);
                for (bounds, &node) in clipped.iter_mut().zip(self.slice.nodes(l)) {
                    // What holds for the whole budget holds on the path.
                    for ((lower, upper), (least, most)) in bounds.iter_mut().zip(self.fast.whole(l, node).iter()) {
                        (*lower, *upper) = (-(-*lower).least(-*least), upper.least(*most));
                    }
                }
                region.empty |= self.clip(l, path, &mut clipped);
                region.bounds.push(clipped.iter().cloned().map(Arc::new).collect());
            }
        }
        region
    }

    /// Clips the bounds of the units of layer `l` that the path splits. Is one of them surely empty?
    fn clip(&self, l: usize, path: &Path, bounds: &mut [Bounds]) -> bool {
        let mut empty = false;
        for &((_, node, unit), active) in path.units.iter().filter(|split| split.0.0 as usize == l) {
            let Some(place) = self.slice.place(l, node) else { continue };
            let (lower, upper) = &mut bounds[place][unit as usize];
            if active {
                *lower = -(-*lower).least(Up::ZERO);
            } else {
                *upper = upper.least(Up::ZERO);
            }
            empty |= upper.is_below(*lower);
        }
        empty
    }

    /// Bounds of layer `l ≥ 3` from those below.
    pub(crate) fn propagate(&self, l: usize, below: &[Bounds]) -> Vec<Bounds> {
        let network = &*self.fast.network;
        let (width, terms) = (network.exact.widths[l], network.exact.terms[l - 1]);
        let active = |(unit, &(lower, upper)): (usize, &(Down, Up))| {
            let range = Interval { lower, upper };
            if network.exact.is_linear(l - 1, unit) { range } else { range.positive_part() }
        };
        let active = |units: &Bounds| -> Vec<Interval> { units.iter().enumerate().map(active).collect() };
        let active: Vec<Vec<Interval>> = below.iter().map(active).collect();
        let sent = active.iter().map(|units| {
            let mut sums = vec![Interval::ZERO; terms * width];
            for (i, range) in units.iter().enumerate() {
                let weights = network.weights(l - 1, i);
                sums.iter_mut().zip(weights).for_each(|(sum, w)| *sum = sum.plus(range.scaled(*w)));
            }
            sums
        });
        let sent: Vec<Vec<Interval>> = sent.collect();
        let received = self.slice.passing(l - 1).iter().zip(self.slice.nodes(l)).map(|(row, &m)| {
            let mut sums: Vec<Interval> = network.bias(l - 1, m).iter().map(|&b| b.into()).collect();
            for pair in pairs(row) {
                let n = pair[0].place();
                if let [link] = pair {
                    let sent = &sent[n][link.part(width)];
                    sums.iter_mut().zip(sent).for_each(|(sum, x)| *sum = sum.plus(x.scaled(link.entry)));
                    continue;
                }
                // Where terms overlap their weights are added up first.
                for (i, range) in active[n].iter().enumerate() {
                    let weights = network.weights(l - 1, i);
                    for (j, sum) in sums.iter_mut().enumerate() {
                        let w = Interval::inner(pair.iter().map(|link| (link.entry, weights[link.part(width)][j])));
                        *sum = sum.plus(w.times(*range));
                    }
                }
            }
            sums.into_iter().map(|sum| (sum.lower, sum.upper)).collect()
        });
        received.collect()
    }

    /// Coefficients of `H(l)` from those of `Ĥ(l+1)`; the bias goes to the total.
    fn pull(&self, l: usize, phi: &[Vec<Interval>], total: &mut Down) -> Vec<Vec<Interval>> {
        let network = &*self.fast.network;
        let (inputs, outputs, terms) = (network.exact.widths[l], network.exact.widths[l + 1], network.exact.terms[l]);
        let mut below = vec![vec![Interval::ZERO; inputs]; self.slice.nodes(l).len()];
        for ((phi, row), &m) in phi.iter().zip(self.slice.passing(l)).zip(self.slice.nodes(l + 1)) {
            // Of all terms, one after the other.
            let mut pulled = vec![Interval::ZERO; terms * inputs];
            for (j, phi) in phi.iter().enumerate().filter(|(_, phi)| **phi != Interval::ZERO) {
                *total = total.plus(phi.scaled(network.bias(l, m)[j]).lower);
                for term in 0..terms {
                    let sums = pulled[term * inputs..][..inputs].iter_mut().enumerate();
                    sums.for_each(|(i, sum)| *sum = sum.plus(phi.scaled(network.weights(l, i)[term * outputs + j])));
                }
            }
            for link in row {
                let pulled = &pulled[link.part(inputs)];
                let below = below[link.place()].iter_mut();
                below.zip(pulled).for_each(|(sum, x)| *sum = sum.plus(x.scaled(link.entry)));
            }
        }
        below
    }
}

/// Not above the least `k·relu(z) − rise·u + fall·v` on one side of zero, where `rise = fall`: `slope·z'` and the least
/// `(k − slope)·z`, or the least `−slope·z`.
fn split_base(k: Interval, z: Interval, [slope, _]: [Stored; 2], [up, down]: [Up; 2], side: bool) -> Down {
    let (lower, upper) = (z.lower.minus(down), z.upper.plus(up));
    let (factor, range) = if side {
        (k.minus(slope.into()), Interval { lower, upper }.positive_part())
    } else {
        ((-slope).into(), -Interval { lower: -upper, upper: -lower }.positive_part())
    };
    z.scaled(slope).plus(factor.times(range)).lower
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A unit at 1 that moves between −2 and 2, on either side of zero.
    #[test]
    fn a_split_unit_is_bounded_on_its_side() {
        let number = |x: i64| Stored::scaled(x, 0).unwrap_or_default();
        let base = |k: i64, slope: i64, side: bool| {
            let reach = [Up::from(number(1)), Up::from(number(3))];
            split_base(number(k).into(), number(1).into(), [number(slope); 2], reach, side).to_f64()
        };
        let near =
            |found: f64, expected: f64| assert!(found <= expected && expected - found < 1e-12, "{found} {expected}");
        // slope·z' + the least (k − slope)·z on [0, 2], or the least −slope·z on [−2, 0].
        near(base(2, 1, true), 1.0);
        near(base(1, 2, true), 0.0);
        near(base(2, 1, false), 1.0);
        near(base(2, -1, false), -3.0);
        near(base(5, 0, false), 0.0);
    }
}
