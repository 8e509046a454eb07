//! Rules 3 to 6 (`FORMAT.md` §4): the lower bound that a leaf's hints give on its path.

use std::rc::Rc;
use std::sync::Arc;

use super::forward::{Sent, preactivations};
use super::loss::{Bends, LevelBend, Losses};
use super::nested::Nested;
use super::path::Path;
use super::range::{Range, Reach, intercept, least};
use super::rows::Reaches;
use super::scope::Scope;
use super::select::{Free, kept_share};
use crate::format::exact::{ExactHints, ExactPrices, UnitBoundHints, WholeHints, find};
use crate::ids::Cell;
use crate::number::Dyadic;
use crate::statement::{Budget, Decided, Network, Slice, pairs};
use crate::verdict::Reason;
use crate::work::Meter;

/// `R` and `S` of the units of one node of a layer above 2, over all admissible perturbations. Only this crate's core
/// makes them.
#[derive(Clone, Debug)]
pub struct WholeBounds(Vec<Range>);

impl WholeBounds {
    /// Bytes that they take in memory, about.
    pub fn bytes(&self) -> u64 {
        Range::bytes(&self.0)
    }
}

/// Where whole bounds of a layer and a node come from, if there are any.
pub type Whole<'a> = &'a dyn Fn(usize, u32) -> Result<Option<Arc<WholeBounds>>, Reason>;

/// One target: the logits of a node, or a hidden unit.
#[derive(Clone, Copy)]
pub struct Target<'a> {
    pub network: &'a Network<'a>,
    pub budget: &'a Budget<'a>,
    pub slice: &'a Slice,
    pub whole: Whole<'a>,
    /// What is remembered of normalised rows.
    pub reaches: &'a Reaches,
    pub meter: &'a Meter<'a>,
}

/// The ranges of the units of the nodes of a layer.
pub(crate) type LayerBounds = Vec<Vec<Range>>;

impl Target<'_> {
    /// A lower bound of `Σ sign·z` over some units of the target on a path; `None` if no perturbation takes it.
    pub fn bound(&self, objective: &[(u32, i8)], path: &Path, hints: &ExactHints) -> Result<Option<Dyadic>, Reason> {
        let mut bound = None;
        let then = |total: &Dyadic, losses: &Losses| {
            bound = losses.largest()?.map(|loss| total - &loss);
            Ok(())
        };
        self.meter.while_held(|| self.relaxed(objective, path, hints, then))?;
        Ok(bound)
    }

    /// The constant and the losses of a leaf, unless no perturbation takes its path.
    pub(crate) fn relaxed(
        &self,
        objective: &[(u32, i8)],
        path: &Path,
        hints: &ExactHints,
        then: impl FnOnce(&Dyadic, &Losses) -> Result<(), Reason>,
    ) -> Result<(), Reason> {
        hints.require(&self.scope())?;
        path.units.iter().try_for_each(|split| self.scope().unit(split.0).map(|_| ()))?;
        if path.decided.overspent(self.budget) {
            return Ok(());
        }
        let Target { network, budget, slice, meter, .. } = *self;
        let sent = Sent::all(network, slice, &path.decided);
        let free = Free { network, budget, slice, decided: &path.decided, sent: &sent, meter };
        let z = preactivations(network, slice, &sent);
        meter.look()?;
        let top = slice.top();
        let mut phi = self.start(objective);
        let mut total = Dyadic::ZERO;
        let mut nested = Nested::new(&free, hints, &z)?;
        if top == 2 {
            phi[0].iter().zip(&z[0]).for_each(|(phi, z)| total += &(phi * z));
            let lines = [phi[0].iter().map(|phi| [phi.clone(), phi.clone()]).collect()];
            return then(&total, &Losses { free: &free, lines: &lines, bends: &[], nested: None, hints });
        }
        let reach = self.reach(&free, &hints.reach)?;
        let Some(bounds) = self.bounds(path, &z, &reach)? else { return Ok(()) };
        for l in (3..top).rev() {
            let coefficients = self.pull(l, &phi, &mut total)?;
            phi = Vec::new();
            for (place, ((row, bounds), &node)) in
                coefficients.iter().zip(&bounds[l - 3]).zip(slice.nodes(l)).enumerate()
            {
                meter.look()?;
                let units = row.iter().zip(bounds).enumerate().map(|(unit, (k, bounds))| {
                    if network.is_linear(l, unit) {
                        return Ok(k.clone());
                    }
                    let mut k = k.clone();
                    if let Some(bend) = find(&hints.nested, &(node, unit as u32)).filter(|_| l == 3) {
                        total += &-&(&bend.weight * &nested.add(place, unit, bend)?);
                        k += &bend.weight;
                    }
                    let slope = find(&hints.slopes, &(l as u32, node, unit as u32)).cloned().unwrap_or(Dyadic::ZERO);
                    total += &intercept(&k, &slope, bounds);
                    Ok(slope)
                });
                phi.push(units.collect::<Result<_, Reason>>()?);
            }
        }
        let coefficients = self.pull(2, &phi, &mut total)?;
        let (mut lines, mut bends) = (Vec::new(), Vec::new());
        for (m, &node) in slice.nodes(2).iter().enumerate() {
            meter.look()?;
            let (mut row, mut bent) = (Vec::new(), Bends::default());
            for (unit, (k, z)) in coefficients[m].iter().zip(&z[m]).enumerate() {
                let cell = (node, unit as u32);
                let mut k = k.clone();
                if network.is_linear(2, unit) {
                    total += &(&k * z);
                    row.push([k.clone(), k]);
                    continue;
                }
                if let Some(bend) = find(&hints.levels, &cell) {
                    let (base, largest) = free.level_base(m, unit, z, bend)?;
                    total += &-&(&bend.weight * &base);
                    k += &bend.weight;
                    let kept = kept_share(&bend.level, &largest);
                    bent.levels.push(LevelBend { unit, below: z.is_negative(), kept, stated: bend });
                }
                if let Some(bend) = find(&hints.envelopes, &cell) {
                    total += &-&(&bend.weight * &free.envelope_base(z, bend));
                    k += &bend.weight;
                    bent.envelopes.push((unit, bend));
                }
                let line = find(&hints.lines, &cell).cloned().unwrap_or([Dyadic::ZERO, Dyadic::ZERO]);
                let side = path.side((2, node, unit as u32));
                match least(&k, z, &line, &reach[m][unit], side) {
                    Some(least) => total += &least,
                    None => return Ok(()),
                }
                row.push(line);
            }
            lines.push(row);
            bends.push(bent);
        }
        let nested = (!nested.is_empty()).then_some(&nested);
        then(&total, &Losses { free: &free, lines: &lines, bends: &bends, nested, hints })
    }

    fn scope(&self) -> Scope<'_> {
        Scope { network: self.network, budget: self.budget, slice: self.slice }
    }

    /// Coefficients of the target's units.
    pub(crate) fn start(&self, objective: &[(u32, i8)]) -> Vec<Vec<Dyadic>> {
        let mut phi = vec![vec![Dyadic::ZERO; self.network.widths[self.slice.top()]]];
        for &(unit, sign) in objective {
            let one = Dyadic::from(1);
            phi[0][unit as usize] = if sign < 0 { -&one } else { one };
        }
        phi
    }

    /// Rule 2: `U` and `V` of the units of layer 2.
    pub(crate) fn reach(
        &self,
        free: &Free,
        stated: &[(Cell, [ExactPrices; 2])],
    ) -> Result<Rc<Vec<Vec<Reach>>>, Reason> {
        if self.network.is_normalised() {
            let prices = |node: u32, unit: u32| find(stated, &(node, unit)).cloned().unwrap_or_default();
            let compute = || free.row_reach(self.reaches, &prices);
            return if stated.is_empty() { self.reaches.after(free.decided, compute) } else { compute().map(Rc::new) };
        }
        let none = Default::default();
        let row = |(m, &node): (usize, &u32)| {
            let units = (0..self.network.widths[2]).map(|unit| {
                let [up, down] = find(stated, &(node, unit as u32)).unwrap_or(&none);
                Ok(Reach { up: free.select(m, unit, true, up)?, down: free.select(m, unit, false, down)? })
            });
            let row = units.collect::<Result<Vec<Reach>, Reason>>()?;
            self.meter.hold(Dyadic::bytes(row.iter().flat_map(|reach| [&reach.up, &reach.down])))?;
            Ok(row)
        };
        self.slice.nodes(2).iter().enumerate().map(row).collect::<Result<Vec<_>, Reason>>().map(Rc::new)
    }

    /// A row of bounds that is kept while the target is looked at.
    fn keep(&self, row: Vec<Range>) -> Result<Vec<Range>, Reason> {
        self.meter.hold(Range::bytes(&row))?;
        Ok(row)
    }

    /// Rule 3: clipped bounds of the layers above 2; `None` if no perturbation takes the path.
    pub(crate) fn bounds(
        &self,
        path: &Path,
        z: &[Vec<Dyadic>],
        reach: &[Vec<Reach>],
    ) -> Result<Option<Vec<LayerBounds>>, Reason> {
        let mut below = around(z, reach);
        if self.clip(2, path, &mut below).is_none() {
            return Ok(None);
        }
        let mut all = Vec::new();
        for l in 3..self.slice.top() {
            let mut bounds = self.propagate(l, &below)?;
            for (row, &node) in bounds.iter_mut().zip(self.slice.nodes(l)) {
                self.meter.look()?;
                if let Some(whole) = (self.whole)(l, node)? {
                    for (own, whole) in row.iter_mut().zip(&whole.0) {
                        own.lower = own.lower.clone().max(whole.lower.clone());
                        own.upper = own.upper.clone().min(whole.upper.clone());
                    }
                }
            }
            if self.clip(l, path, &mut bounds).is_none() {
                return Ok(None);
            }
            all.push(bounds.clone());
            below = bounds;
        }
        Ok(Some(all))
    }

    /// Clips the bounds of split units; `None` if one of them becomes empty.
    fn clip(&self, l: usize, path: &Path, bounds: &mut LayerBounds) -> Option<()> {
        for &((_, node, unit), active) in path.units.iter().filter(|split| split.0.0 as usize == l) {
            let Some(place) = self.slice.place(l, node) else { continue };
            let Range { lower, upper } = &mut bounds[place][unit as usize];
            if active {
                *lower = lower.positive_part();
            } else {
                *upper = -&(-&*upper).positive_part();
            }
            if lower > upper {
                return None;
            }
        }
        Some(())
    }

    /// Bounds of layer `l ≥ 3` from those below.
    fn propagate(&self, l: usize, below: &LayerBounds) -> Result<LayerBounds, Reason> {
        let (layer, width, network) = (&self.network.layers[l - 2], self.network.widths[l], self.network);
        let active = |(unit, range): (usize, &Range)| match network.is_linear(l - 1, unit) {
            true => range.clone(),
            false => Range { lower: range.lower.positive_part(), upper: range.upper.positive_part() },
        };
        let active: LayerBounds = below.iter().map(|units| units.iter().enumerate().map(active).collect()).collect();
        // What each node sends by each term.
        let sent = active.iter().map(|units| {
            self.meter.look()?;
            let mut sums = vec![Range::ZERO; network.terms[l - 1] * width];
            for (unit, weights) in units.iter().zip(&layer.weight) {
                sums.iter_mut().zip(weights).for_each(|(sum, w)| sum.add(w, unit));
            }
            self.keep(sums)
        });
        let sent = sent.collect::<Result<LayerBounds, Reason>>()?;
        let received = self.slice.passing(l - 1).iter().zip(self.slice.nodes(l)).map(|(row, &m)| {
            let mut sums: Vec<Range> = layer.bias(m).iter().map(Range::of).collect();
            for pair in pairs(row) {
                self.meter.look()?;
                let entries: Vec<Dyadic> = pair.iter().map(|link| link.entry.exact()).collect();
                let n = pair[0].place();
                if let ([link], [a]) = (pair, &entries[..]) {
                    let sent = &sent[n][link.part(width)];
                    sums.iter_mut().zip(sent).for_each(|(sum, sent)| sum.add(a, sent));
                    continue;
                }
                // Where terms overlap their weights are added up first.
                for (unit, weights) in active[n].iter().zip(&layer.weight) {
                    for (j, sum) in sums.iter_mut().enumerate() {
                        let terms = pair.iter().zip(&entries);
                        let w = terms.fold(Dyadic::ZERO, |sum, (link, a)| &sum + &(a * &weights[link.part(width)][j]));
                        sum.add(&w, unit);
                    }
                }
            }
            self.keep(sums)
        });
        received.collect()
    }

    /// Coefficients of `H(l)` from those of `Ĥ(l+1)`; the bias goes to the total.
    pub(crate) fn pull(&self, l: usize, phi: &[Vec<Dyadic>], total: &mut Dyadic) -> Result<Vec<Vec<Dyadic>>, Reason> {
        let (layer, width) = (&self.network.layers[l - 1], self.network.widths[l + 1]);
        let mut below = vec![vec![Dyadic::ZERO; layer.weight.len()]; self.slice.nodes(l).len()];
        for ((phi, row), &m) in phi.iter().zip(self.slice.passing(l)).zip(self.slice.nodes(l + 1)) {
            phi.iter().zip(layer.bias(m)).for_each(|(phi, b)| *total += &(phi * b));
            let pulled = |term: usize| {
                let units = layer.weight.iter().map(|weights| {
                    let weights = &weights[term * width..][..width];
                    let terms = phi.iter().zip(weights).filter(|(phi, _)| !phi.is_zero());
                    terms.fold(Dyadic::ZERO, |sum, (phi, w)| &sum + &(phi * w))
                });
                units.collect()
            };
            let pulled: Vec<Vec<Dyadic>> = (0..self.network.terms[l]).map(pulled).collect();
            for link in row {
                self.meter.look()?;
                let a = link.entry.exact();
                let (pulled, below) = (&pulled[link.term as usize], &mut below[link.place()]);
                let before = Dyadic::bytes(&*below);
                below.iter_mut().zip(pulled).for_each(|(sum, x)| *sum += &(&a * x));
                self.meter.hold(Dyadic::bytes(&*below).saturating_sub(before))?;
            }
        }
        Ok(below)
    }

    /// Bounds of the target, a node of layer `l ≥ 3`, from those of the layer below.
    ///
    /// # Errors
    /// If these are not known, or that is too expensive.
    pub(crate) fn propagated(&self, reach: &ExactHints) -> Result<Vec<Range>, Reason> {
        let l = self.slice.top();
        let below = if l == 3 {
            let decided = Decided::default();
            let Target { network, budget, slice, meter, .. } = *self;
            let sent = Sent::all(network, slice, &decided);
            let free = Free { network, budget, slice, decided: &decided, sent: &sent, meter };
            around(&preactivations(network, slice, &sent), &self.reach(&free, &reach.reach)?)
        } else {
            let missing = Reason::BoundsMissing(l as u32 - 1);
            let whole = |&n: &u32| Ok((self.whole)(l - 1, n)?.ok_or_else(|| missing.clone())?.0.clone());
            self.slice.nodes(l - 1).iter().map(whole).collect::<Result<LayerBounds, Reason>>()?
        };
        Ok(self.propagate(l, &below)?.swap_remove(0))
    }

    /// Whole bounds of the target, a node of layer `l ≥ 3`, from a `bounds` line.
    pub fn whole_bounds(&self, hints: &WholeHints) -> Result<WholeBounds, Reason> {
        let l = self.slice.top();
        hints.reach.require(&self.scope())?;
        let mut bounds = self.propagated(&hints.reach)?;
        for UnitBoundHints { unit, lower, upper } in &hints.units {
            let own = bounds.get_mut(*unit as usize).ok_or(Reason::Unit((l as u32, self.slice.nodes(l)[0], *unit)))?;
            for (hints, sign) in lower.iter().map(|hints| (hints, 1)).chain(upper.iter().map(|hints| (hints, -1))) {
                let judge = || self.bound(&[(*unit, sign)], &Path::default(), hints);
                match self.meter.leaf(self.slice.flips(self.network), judge)? {
                    Some(bound) if sign > 0 => own.lower = own.lower.clone().max(bound),
                    Some(bound) => own.upper = own.upper.clone().min(-&bound),
                    None => {}
                }
            }
        }
        Ok(WholeBounds(bounds))
    }
}

/// `z' − V` and `z' + U`.
fn around(z: &[Vec<Dyadic>], reach: &[Vec<Reach>]) -> LayerBounds {
    let unit = |(z, reach): (&Dyadic, &Reach)| Range { lower: z - &reach.down, upper: z + &reach.up };
    z.iter().zip(reach).map(|(z, reach)| z.iter().zip(reach).map(unit).collect()).collect()
}
