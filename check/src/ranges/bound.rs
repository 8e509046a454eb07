//! The bound of a linear function of a row of a representation (`FORMAT-RANGES.md` §4): lines replace units from the
//! top down, until only attributes are left, of which the worst admissible changes are taken. All numbers are enclosed
//! by floats rounded outward.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::budget::{row, value_in};
use super::path::{RangePath, UnitPlace};
use super::statement::{RangeStatement, Units};
use crate::number::{Coefficients, Down, Interval, Stored, Up};
use crate::statement::Slice;
use crate::verdict::Reason;
use crate::work::Meter;

/// Steps for a product that is added up.
const PRODUCT: u64 = 4;

/// What one row of a representation depends on.
pub(super) struct RowScene<'s> {
    pub(super) statement: &'s RangeStatement<'s>,
    pub(super) slice: Slice,
    /// The entries that are not 0, by place.
    pub(super) rows: Vec<Vec<(u32, Stored)>>,
    /// Bounds of hidden units by representation from 2 on, then by place.
    units: Vec<Vec<Units>>,
}

/// The lines of a leaf.
#[derive(Default)]
pub(super) struct LeafLines {
    pub(super) slopes: BTreeMap<UnitPlace, Interval>,
    pub(super) prices: BTreeMap<UnitPlace, Interval>,
}

impl<'s> RowScene<'s> {
    pub(super) fn new(
        statement: &'s RangeStatement<'s>,
        top: usize,
        target: u32,
        meter: &Meter,
    ) -> Result<RowScene<'s>, Reason> {
        let slice = statement.network.slice(top, target);
        meter.spend(slice.steps())?;
        let rows: Vec<Vec<(u32, Stored)>> = slice.nodes(1).iter().map(|&node| row(statement.graph, node)).collect();
        meter.spend(rows.iter().map(|row| row.len() as u64).sum())?;
        let of = |l: usize| slice.nodes(l).iter().map(|&node| statement.units(l, node, meter)).collect();
        let units = (2..top).map(of).collect::<Result<_, Reason>>()?;
        Ok(RowScene { statement, slice, rows, units })
    }

    /// Entries of the neighbourhood times numbers that each changes.
    pub(super) fn size(&self) -> u64 {
        let first = self.statement.network.layer(1);
        (self.rows.len() as u64).saturating_mul(first.inputs as u64).saturating_mul(first.width() as u64)
    }

    /// Bounds of the pre-activations of the target itself, whatever is changed.
    pub(super) fn ends(&self, meter: &Meter) -> Result<Vec<Interval>, Reason> {
        let width = self.statement.network.width(self.slice.top());
        let (path, lines) = (RangePath::default(), LeafLines::default());
        let least = |unit: usize, sign: Stored| {
            let mut top = vec![Interval::ZERO; width];
            top[unit] = sign.into();
            self.bound(&path, &lines, top, meter)
        };
        let of = |unit: usize| {
            let (lower, upper) = (least(unit, Stored::ONE)?, -least(unit, -Stored::ONE)?);
            Ok(Interval { lower, upper })
        };
        (0..width).map(of).collect()
    }

    /// Not above `top · z` for the pre-activations `z` of the target after any admissible change on the path.
    pub(super) fn bound(
        &self,
        path: &RangePath,
        lines: &LeafLines,
        top: Vec<Interval>,
        meter: &Meter,
    ) -> Result<Down, Reason> {
        let network = &self.statement.network;
        let (mut constant, mut on_units) = (Down::ZERO, top);
        for l in (1..self.slice.top()).rev() {
            let layer = network.layer(l);
            let (outputs, width, senders) = (layer.outputs, layer.width(), self.slice.nodes(l).len());
            meter.spend(PRODUCT * (senders * width) as u64)?;
            let mut on_messages = vec![Interval::ZERO; senders * width];
            for (m, (&node, links)) in self.slice.nodes(l + 1).iter().zip(self.slice.passing(l)).enumerate() {
                let own = &on_units[m * outputs..][..outputs];
                meter.spend(PRODUCT * (outputs * (links.len() + 1)) as u64)?;
                for (v, &b) in own.iter().zip(layer.bias(node)) {
                    constant = constant.plus(v.scaled(b).lower);
                }
                for link in links {
                    let start = link.place() * width + link.part(outputs).start;
                    for (sum, v) in on_messages[start..][..outputs].iter_mut().zip(own).filter(|pair| !pair.1.is_zero())
                    {
                        *sum = sum.plus(v.scaled(link.entry));
                    }
                }
            }
            if l == 1 {
                return self.attributes(path, &on_messages, constant, meter);
            }
            let mut on_outputs = Vec::with_capacity(senders * layer.inputs);
            for place in 0..senders {
                let coefficients = Coefficients::new(&on_messages[place * width..][..width]);
                meter.spend(PRODUCT * (layer.inputs * (coefficients.count() + 1)) as u64)?;
                on_outputs.extend((0..layer.inputs).map(|unit| coefficients.on(layer.row(unit))));
            }
            on_units = self.through(l, path, lines, &on_outputs, &mut constant);
        }
        Err(Reason::Incomplete)
    }

    /// From coefficients of what units of a representation give to coefficients of their pre-activations.
    fn through(
        &self,
        l: usize,
        path: &RangePath,
        lines: &LeafLines,
        on_outputs: &[Interval],
        constant: &mut Down,
    ) -> Vec<Interval> {
        let network = &self.statement.network;
        let width = network.width(l);
        let of = |(at, &v): (usize, &Interval)| {
            let unit: UnitPlace = (l, at / width, at % width);
            if network.layer(l - 1).is_linear(unit.2) {
                return v;
            }
            let z = self.units[l - 2][unit.1][unit.2];
            let price = || lines.prices.get(&unit).copied().unwrap_or(Interval::ZERO);
            match path.signs.get(&unit) {
                // z ≥ 0, so that −price · z is not positive; and z ≤ 0 likewise.
                Some(true) => return v.minus(price()),
                Some(false) => return price(),
                None if !z.lower.is_negative() => return v,
                None if !z.upper.is_positive() => return Interval::ZERO,
                None => {}
            }
            if v.is_zero() {
                Interval::ZERO
            } else if !v.lower.is_negative() {
                v.times(lines.slopes.get(&unit).copied().unwrap_or_else(|| z.usual_slope()))
            } else if !v.upper.is_positive() {
                let [slope, intercept] = z.chord();
                *constant = constant.plus(v.times(intercept).lower);
                v.times(slope)
            } else {
                // The sign of the coefficient is not known: the unit lies between 0 and its upper bound.
                let most = Interval { lower: Down::ZERO, upper: z.upper };
                *constant = constant.plus(v.times(most).lower);
                Interval::ZERO
            }
        };
        on_outputs.iter().enumerate().map(of).collect()
    }

    /// The least value over all admissible changes of what is left, a linear function of the attributes.
    fn attributes(
        &self,
        path: &RangePath,
        on_messages: &[Interval],
        mut constant: Down,
        meter: &Meter,
    ) -> Result<Down, Reason> {
        let (first, budget) = (self.statement.network.layer(1), &self.statement.budget);
        let width = first.width();
        let spent = path.entries.values().flatten().count();
        let Some(global) = budget.global.checked_sub(spent) else { return Ok(Down::from(Stored::ONE)) };
        let mut losses: Vec<Up> = Vec::new();
        for (place, (&node, row)) in self.slice.nodes(1).iter().zip(&self.rows).enumerate() {
            let own = &on_messages[place * width..][..width];
            let sent = self.statement.sent(node, meter)?;
            for (v, x) in own.iter().zip(sent.iter()) {
                constant = constant.plus(v.times(*x).lower);
            }
            let coefficients = Coefficients::new(own);
            let Some(local) = budget.local(node).checked_sub(path.changed(place).count()) else {
                // No admissible change takes this path.
                return Ok(Down::from(Stored::ONE));
            };
            meter.spend(PRODUCT * width as u64)?;
            for (attribute, [low, high]) in path.changed(place) {
                let old = value_in(row, attribute);
                let moved = Interval::around(low).hull(Interval::around(high)).minus(old.into());
                constant = constant.plus(coefficients.on(first.row(attribute as usize)).times(moved).lower);
            }
            let most = local.min(global);
            if most == 0 || coefficients.count() == 0 {
                continue;
            }
            meter.spend(PRODUCT * (first.inputs * (coefficients.count() + 4)) as u64)?;
            let (start, mut stored) = (losses.len(), row.iter().peekable());
            for attribute in 0..first.inputs as u32 {
                let old = stored.next_if(|entry| entry.0 == attribute).map_or(Stored::ZERO, |entry| entry.1);
                if !budget.is_free(attribute) || path.entries.contains_key(&(place, attribute)) {
                    continue;
                }
                let moves = budget.moves(attribute, old);
                let loss = -coefficients.on(first.row(attribute as usize)).times(moves).lower;
                if loss.is_positive() {
                    losses.push(loss);
                }
            }
            largest(&mut losses, start, most);
        }
        largest(&mut losses, 0, global);
        Ok(losses.into_iter().fold(constant, |sum, loss| sum.minus(loss)))
    }
}

impl RangeStatement<'_> {
    /// Bounds of the pre-activations of a node in a hidden representation, whatever is changed.
    pub(super) fn units(&self, l: usize, node: u32, meter: &Meter) -> Result<Units, Reason> {
        let kept = &self.units[l - 2][node as usize];
        if let Some(units) = kept.get() {
            return Ok(units.clone());
        }
        let scene = RowScene::new(self, l, node, meter)?;
        let units = Arc::new(scene.ends(meter)?);
        meter.keep(16 * units.len() as u64 + 64)?;
        Ok(kept.get_or_init(|| units).clone())
    }
}

/// Leaves the largest so many of those from a place on.
fn largest(losses: &mut Vec<Up>, start: usize, count: usize) {
    let own = &mut losses[start..];
    if own.len() > count {
        if count > 0 {
            own.select_nth_unstable_by(count - 1, |a, b| b.order(*a));
        }
        losses.truncate(start + count);
    }
}
