//! The bound of a linear function of the target's row: lines replace units from the top down, until only attributes are
//! left.

use std::collections::BTreeMap;

use crate::number::span::{Span, down, up};
use crate::ranges::forward::Shift;
use crate::ranges::lines::{HiddenUnit, UnitLines, chord};
use crate::ranges::scene::RangeScene;

/// An entry of the attributes, by the place of its node.
pub(crate) type Entry = (usize, u32);

/// What a branch has decided.
#[derive(Clone, Debug, Default)]
pub(crate) struct RangeBranch {
    /// Is the pre-activation not negative, or not positive?
    pub(crate) signs: BTreeMap<HiddenUnit, bool>,
    /// Entries that are changed, and between which values they then lie.
    pub(crate) changed: BTreeMap<Entry, [f64; 2]>,
    /// Entries that are not changed.
    pub(crate) kept: Vec<Entry>,
}

/// A bound, and how it came about.
pub(crate) struct LeafBound {
    /// Not above the function under any perturbation of the branch.
    pub(crate) lower: f64,
    /// A perturbation that attains the bound of the linear function.
    pub(crate) moves: Vec<Shift>,
    /// The coefficients of the hidden units, by representation from 2 on, then by place and unit.
    pub(crate) coefficients: Vec<Vec<f64>>,
}

/// How a hidden unit enters a bound.
pub(super) enum UnitPart {
    Linear,
    Active,
    Inactive,
    Open,
}

impl RangeScene<'_> {
    /// The bound of `top`, a linear function of the target's pre-activations (docs/math.md (25.3)).
    pub(crate) fn bound(&self, lines: &UnitLines, branch: &RangeBranch, top: &[Span]) -> LeafBound {
        let highest = self.slice.top();
        let mut coefficients = vec![Vec::new(); highest.saturating_sub(2)];
        let (mut constant, mut on_units) = (0.0, top.to_vec());
        for l in (1..highest).rev() {
            // From the pre-activations of representation l + 1 to what nodes of representation l send.
            let layer = self.problem.layer(l);
            let (inputs, outputs, terms) = (layer.inputs(), layer.outputs(), layer.passing.terms());
            let senders = self.slice.nodes(l).len();
            let mut on_messages = vec![Span::ZERO; senders * terms * outputs];
            for (m, &node) in self.slice.nodes(l + 1).iter().enumerate() {
                let v = &on_units[m * outputs..][..outputs];
                for (v, &b) in v.iter().zip(layer.bias.row(node as usize)) {
                    constant = down(constant + v.scaled(b).lo);
                }
                for (n, entries) in self.slice.passing(l).row(m) {
                    for (term, &a) in entries.iter().enumerate().filter(|entry| *entry.1 != 0.0) {
                        let part = &mut on_messages[(n * terms + term) * outputs..][..outputs];
                        part.iter_mut().zip(v).for_each(|(sum, v)| *sum = sum.plus(v.scaled(a)));
                    }
                }
            }
            if l == 1 {
                on_units = on_messages;
                break;
            }
            // To the units of representation l, and through them.
            let mut on_outputs = vec![Span::ZERO; senders * inputs];
            for n in 0..senders {
                for unit in 0..inputs {
                    let mut sum = Span::ZERO;
                    for term in 0..terms {
                        let weights = layer.weight.row(term * inputs + unit);
                        let part = &on_messages[(n * terms + term) * outputs..][..outputs];
                        for (v, &w) in part.iter().zip(weights).filter(|entry| !entry.0.is_zero()) {
                            sum = sum.plus(v.scaled(w));
                        }
                    }
                    on_outputs[n * inputs + unit] = sum;
                }
            }
            coefficients[l - 2] = on_outputs.iter().map(|v| (v.lo + v.hi) / 2.0).collect();
            on_units = self.through(l, lines, branch, &on_outputs, &mut constant);
        }
        // What nodes send as they are.
        let width = on_units.len() / self.slice.nodes(1).len().max(1);
        for (place, &node) in self.slice.nodes(1).iter().enumerate() {
            for (v, &x) in on_units[place * width..][..width].iter().zip(self.problem.enclosed(node as usize)) {
                constant = down(constant + v.times(x).lo);
            }
        }
        let (loss, moves) = self.select(branch, &on_units);
        LeafBound { lower: down(constant - loss), moves, coefficients }
    }

    pub(super) fn side(&self, lines: &UnitLines, branch: &RangeBranch, id: HiddenUnit) -> UnitPart {
        if self.problem.layer(id.l - 1).is_linear(id.unit) {
            return UnitPart::Linear;
        }
        let z = lines.bounds[id.l - 2][id.place * self.width(id.l) + id.unit];
        match branch.signs.get(&id) {
            Some(true) => UnitPart::Active,
            Some(false) => UnitPart::Inactive,
            None if z.lo >= 0.0 => UnitPart::Active,
            None if z.hi <= 0.0 => UnitPart::Inactive,
            None => UnitPart::Open,
        }
    }

    /// From coefficients of what units of a representation give to coefficients of their pre-activations.
    fn through(
        &self,
        l: usize,
        lines: &UnitLines,
        branch: &RangeBranch,
        on_outputs: &[Span],
        constant: &mut f64,
    ) -> Vec<Span> {
        let width = self.width(l);
        let mut on_units = Vec::with_capacity(on_outputs.len());
        for (at, &v) in on_outputs.iter().enumerate() {
            let id = HiddenUnit { l, place: at / width, unit: at % width };
            let (z, price) = (lines.bounds[l - 2][at], lines.prices[l - 2][at]);
            let priced = branch.signs.contains_key(&id) && price > 0.0;
            on_units.push(match self.side(lines, branch, id) {
                UnitPart::Linear => v,
                // z >= 0, so that -price z is not positive; and z <= 0 likewise.
                UnitPart::Active if priced => v.minus(Span::of(price)),
                UnitPart::Active => v,
                UnitPart::Inactive if priced => Span::of(price),
                UnitPart::Inactive => Span::ZERO,
                UnitPart::Open if v.is_zero() => Span::ZERO,
                UnitPart::Open if v.lo >= 0.0 => v.scaled(lines.slope(l, at)),
                UnitPart::Open if v.hi <= 0.0 => {
                    let [slope, intercept] = chord(z);
                    *constant = down(*constant + v.scaled(intercept).lo);
                    v.scaled(slope)
                }
                // The sign of the coefficient is not known: the unit lies between 0 and its upper bound.
                UnitPart::Open => {
                    *constant = down(*constant + down(v.lo * z.hi));
                    Span::ZERO
                }
            });
        }
        on_units
    }

    /// The gap between a unit and its line at given pre-activations, weighted by its coefficient: what a split can
    /// gain.
    pub(crate) fn gap(&self, lines: &UnitLines, branch: &RangeBranch, id: HiddenUnit, v: f64, z: f64) -> f64 {
        if !matches!(self.side(lines, branch, id), UnitPart::Open) {
            return 0.0;
        }
        let at = id.place * self.width(id.l) + id.unit;
        let h = z.max(0.0);
        match v >= 0.0 {
            true => v * (h - lines.slope(id.l, at) * z),
            false => {
                let [slope, intercept] = chord(lines.bounds[id.l - 2][at]);
                -v * (slope * z + intercept - h)
            }
        }
    }
}

/// An upper bound of a sum of numbers that are not negative.
pub(crate) fn sum_above(numbers: impl Iterator<Item = f64>) -> f64 {
    numbers.fold(0.0, |sum, x| if x == 0.0 { sum } else { up(sum + x) })
}
