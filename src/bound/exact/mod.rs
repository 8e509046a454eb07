//! The exact bound of a branch: any multipliers give valid lines, and these lines are evaluated without rounding.

mod line;
mod loss;
mod rows;

use std::cmp::Ordering;

use crate::bound::backward::{Located, Sign, UnitPlace};
use crate::bound::hidden::{Assumption, Hidden};
use crate::bound::mixture::on_grid;
use crate::number::dyadic::Dyadic;
use crate::problem::budget::{Budget, Decided, Remaining};
use crate::problem::flip::Flip;
use crate::problem::matrix::PatternRows;
use crate::problem::network::Layer;
use crate::problem::objective::Objective;

use crate::bound::relaxed::Relaxation;
use crate::problem::exact::{ExactMatrix, ExactProblem, sum};

use line::{ExactKink, Line, anchored, chord, intercept, mixed, paper};

/// The lines of a bound, and the branch of a search that it holds in.
#[derive(Clone, Copy)]
pub struct BranchLines<'a> {
    /// Flips that are fixed.
    pub decided: &'a Decided,
    /// `R` and `S` of the hidden representations, rounded outward; those of the second are used where `first` brings
    /// none.
    pub bounds: Located<'a>,
    /// The lines of representation 2.
    pub first: First<'a>,
    /// `Ω` of the units of representations 3 and up; the default where there is none.
    pub omega: &'a [Vec<f64>],
    /// Signs that are assumed above representation 2.
    pub signs: &'a [Sign],
    /// Flips that probably are the worst: they only save time.
    pub hint: &'a [Flip],
}

/// The lines of representation 2.
#[derive(Clone, Copy)]
pub enum First<'a> {
    /// At default multipliers.
    Default(Relaxation),
    /// The mixture of [`crate::bound::mixture`] without envelopes, with these multipliers.
    Mixed(&'a Hidden, &'a [f64]),
    /// What is exact at the anchor.
    Anchor(&'a Hidden),
    /// The units themselves, which only a branch with a single flip left allows.
    Itself(&'a Hidden),
}

impl ExactProblem<'_> {
    /// A lower bound on the objective over all perturbations of the branch, exactly evaluated, and the flips that
    /// attain it; `None` where an activation bound above layer 2 has overflowed, so that nothing can be said
    /// (docs/math.md (4.6)).
    pub fn lower_bound(
        &mut self,
        budget: &Budget,
        objective: Objective,
        lines: &BranchLines,
    ) -> Option<(Dyadic, Vec<Flip>)> {
        let top = self.slice.top();
        let mut total = Dyadic::ZERO;
        let mut phi = ExactMatrix::zeros(1, self.network.width(top));
        for &(unit, c) in objective {
            phi.add(0, unit, &c.into());
        }
        for l in (2..top).rev() {
            let a = self.pull(&phi, l, &mut total)?;
            phi = if l > 2 { self.relax(&a, l, lines, &mut total)? } else { a };
        }
        let width = phi.width;
        let counts = |j: usize| (0..phi.values.len() / width).any(|m| phi.row(m)[j].sign() != Ordering::Equal);
        let units: Vec<usize> = (0..width).filter(|&j| counts(j)).collect();
        let z = self.preactivations(&units, &lines.decided.flipped)?;
        let mut units: Vec<Option<Line>> = vec![None; phi.values.len()];
        for (at, unit) in units.iter_mut().enumerate() {
            let (a, z) = (&phi.values[at], &z.values[at]);
            if a.sign() == Ordering::Equal {
                continue;
            }
            self.look()?;
            let line = if top == 2 { Line::straight(a * z, a.clone()) } else { self.line(budget, lines, at, a, z) };
            total += &line.base;
            *unit = Some(line);
        }
        let (loss, flips) = match self.graph.normalisation().is_some() {
            true => self.largest_row_loss(budget, lines, &units)?,
            false => self.largest_loss(budget, lines, &units)?,
        };
        Some((&total - &loss, flips))
    }

    /// The line of a unit of representation 2 with coefficient `a`, anchored at `z`.
    fn line(&self, budget: &Budget, lines: &BranchLines, at: usize, a: &Dyadic, z: &Dyadic) -> Line {
        let width = self.network.width(2);
        let (m, j) = (at / width, at % width);
        if self.network.layers()[0].is_linear(j) {
            return Line::straight(a * z, a.clone());
        }
        let remaining = Remaining { budget, decided: lines.decided };
        let (hidden, w) = match lines.first {
            First::Default(relaxation) => {
                let (lower, upper) = lines.bounds.rows(self.slice, 2, m);
                let (r, s) = self.unit_bounds(remaining, m, j, lower[j], upper[j], z);
                return match relaxation {
                    Relaxation::Paper => paper(a, z, &r, &s),
                    Relaxation::Anchored => anchored(a, z, &r, &s),
                };
            }
            First::Itself(_) => {
                let kink = ExactKink::Itself { weight: a.clone(), anchor: z.clone() };
                let base = a * &z.clone().relu();
                return Line { base, rise: Dyadic::ZERO, fall: Dyadic::ZERO, kink };
            }
            First::Mixed(hidden, weights) => (hidden, Some(weights[at])),
            First::Anchor(hidden) => (hidden, None),
        };
        // What is not a number is no multiplier.
        let beta = w.filter(|w| w.is_finite()).unwrap_or(0.0).max(0.0);
        let slope = match hidden.assumption[at] {
            // Any slope not above a lies under a·z where z ≥ 0, any slope not below 0 under 0 where z ≤ 0.
            Assumption::Active => a - &beta.into(),
            Assumption::Inactive => beta.into(),
            Assumption::Free => {
                let (r, s) = self.unit_bounds(remaining, m, j, hidden.lower[at], hidden.upper[at], z);
                let unstable = r.sign() == Ordering::Less && s.sign() == Ordering::Greater;
                return match w {
                    Some(w) if unstable && a.sign() == Ordering::Greater => {
                        let slope = a * &on_grid(w).into();
                        Line::straight(&slope * z, slope)
                    }
                    w if unstable && a.sign() == Ordering::Less => {
                        mixed(on_grid(w.unwrap_or(0.0)), hidden.cap[at].level, a, z, &r, &s)
                    }
                    _ => anchored(a, z, &r, &s),
                };
            }
        };
        Line::straight(&slope * z, slope)
    }

    /// `Φ̂(l)` and the bias terms of layer `l`; none once the deadline has passed.
    fn pull(&self, phi: &ExactMatrix, l: usize, total: &mut Dyadic) -> Option<ExactMatrix> {
        let layer = &self.network.layers()[l - 1];
        let inputs = layer.inputs();
        let mut a = ExactMatrix::zeros(self.slice.nodes(l).len(), inputs);
        for (m, &node) in self.slice.nodes(l + 1).iter().enumerate() {
            self.look()?;
            let mut psi = vec![Dyadic::ZERO; layer.weight.rows()];
            for (j, p) in phi.row(m).iter().enumerate().filter(|(_, p)| p.sign() != Ordering::Equal) {
                *total += &(p * &layer.bias.row(node as usize)[j].into());
                for (i, psi) in psi.iter_mut().enumerate() {
                    *psi += &(p * &layer.weight.get(i, j).into());
                }
            }
            for (n, entries) in self.slice.passing(l).row(m) {
                for (&entry, psi) in entries.iter().zip(psi.chunks_exact(inputs)).filter(|term| *term.0 != 0.0) {
                    let entry = Dyadic::from(entry);
                    for (i, psi) in psi.iter().enumerate().filter(|(_, psi)| psi.sign() != Ordering::Equal) {
                        a.add(n, i, &(psi * &entry));
                    }
                }
            }
        }
        Some(a)
    }

    /// Lines under the units of a layer above the second.
    fn relax(&self, a: &ExactMatrix, l: usize, lines: &BranchLines, total: &mut Dyadic) -> Option<ExactMatrix> {
        let mut phi = ExactMatrix::zeros(self.slice.nodes(l).len(), a.width);
        for n in 0..self.slice.nodes(l).len() {
            self.look()?;
            let (lower, upper) = lines.bounds.rows(self.slice, l, n);
            for j in 0..a.width {
                let at = n * a.width + j;
                let a = &a.row(n)[j];
                if a.sign() == Ordering::Equal {
                    continue;
                }
                if !(lower[j].is_finite() && upper[j].is_finite()) {
                    return None;
                }
                let (r, s) = (Dyadic::from(lower[j]), Dyadic::from(upper[j]));
                let unstable = lower[j] < 0.0 && upper[j] > 0.0;
                let slope = match lines.signs.iter().find(|sign| sign.place == UnitPlace { l, at }) {
                    Some(sign) if sign.active => Some(a - &known(sign.beta).into()),
                    Some(sign) => Some(known(sign.beta).into()),
                    None if unstable && a.sign() == Ordering::Greater => {
                        lines.omega.get(l - 3).map(|omega| a * &known(omega[at]).into())
                    }
                    None => None,
                };
                let (slope, kappa) = match slope {
                    Some(slope) => {
                        let kappa = intercept(&slope, a, &r, &s);
                        (slope, kappa)
                    }
                    None => chord(a, &r, &s),
                };
                phi.add(n, j, &slope);
                *total += &kappa;
            }
        }
        Some(phi)
    }

    /// `R` and `S` of a unit of representation 2 (docs/math.md §3): the rounded ones, unless an exact one might have
    /// another sign.
    fn unit_bounds(
        &self,
        Remaining { budget, decided }: Remaining,
        m: usize,
        j: usize,
        r: f64,
        s: f64,
        z: &Dyadic,
    ) -> (Dyadic, Dyadic) {
        let doubtful = |bound: f64| bound.abs() <= 1e-9 * (s - r);
        if r.is_finite() && s.is_finite() && !(r < 0.0 && s > 0.0 && (doubtful(r) || doubtful(s))) {
            return (r.into(), s.into());
        }
        if self.graph.normalisation().is_some() {
            return self.row_bounds(Remaining { budget, decided }, m, j, z, [r, s]);
        }
        let layer = &self.network.layers()[0];
        let global = decided.global(budget).unwrap_or(0);
        let change = |upward: bool| {
            let mut pool: Vec<Dyadic> = Vec::new();
            for (n, entries) in self.slice.passing(1).row(m) {
                let permitted = Permitted::new(self, budget, decided, n);
                let gains = (0..layer.inputs()).filter_map(|d| {
                    let sign = permitted.sign(d)? * if upward { 1.0 } else { -1.0 };
                    Some(exact_change(layer, sign, entries, d, j)).filter(|gain| gain.sign() == Ordering::Greater)
                });
                let mut gains: Vec<Dyadic> = gains.collect();
                gains.sort_unstable_by(|x, y| y.cmp(x));
                let local = decided.local(budget, self.slice.nodes(1)[n]).unwrap_or(0);
                gains.truncate(local.min(global));
                pool.append(&mut gains);
            }
            pool.sort_unstable_by(|x, y| y.cmp(x));
            sum(pool.into_iter().take(global))
        };
        (z - &change(false), z + &change(true))
    }
}

/// What flipping attribute `d` changes in unit `j` of a node that it reaches with these entries, exactly.
pub(super) fn exact_change(layer: &Layer, sign: f64, entries: &[f64], d: usize, j: usize) -> Dyadic {
    let terms = entries.iter().enumerate().map(|(k, a)| (sign * a, layer.weight.get(k * layer.inputs() + d, j)));
    sum(terms.filter(|&(a, w)| a != 0.0 && w != 0.0).map(|(a, w)| &Dyadic::from(a) * &w.into()))
}

/// Which attributes of a node may still be flipped.
pub(super) struct Permitted<'a> {
    budget: &'a Budget,
    node: usize,
    present: &'a [u32],
    fixed: Vec<u32>,
    open: bool,
}

impl<'a> Permitted<'a> {
    /// Of the slice's `n`-th node.
    pub(super) fn new(problem: &ExactProblem<'a>, budget: &'a Budget, decided: &Decided, n: usize) -> Permitted<'a> {
        let node = problem.slice.nodes(1)[n];
        let fixed = decided.flipped.iter().chain(&decided.kept).filter(|flip| flip.node == node);
        let excluded = |&attribute: &u32| decided.excludes(budget, Flip { node, attribute });
        let count = if budget.has_categories() { problem.graph.attribute_count() as u32 } else { 0 };
        Permitted {
            budget,
            node: node as usize,
            present: problem.graph.attributes().row(node as usize),
            fixed: fixed.map(|flip| flip.attribute).chain((0..count).filter(excluded)).collect(),
            open: decided.local(budget, node).unwrap_or(0) > 0,
        }
    }

    /// `+1` if the attribute may be added, `−1` if it may be removed.
    pub(super) fn sign(&self, attribute: usize) -> Option<f64> {
        let d = attribute as u32;
        let present = self.present.binary_search(&d).is_ok();
        let free = self.open && self.budget.permits(self.node, attribute, present) && !self.fixed.contains(&d);
        free.then_some(if present { -1.0 } else { 1.0 })
    }
}

/// The multiplier as a number that is finite and not negative: whatever a master suggests, the line stays valid.
fn known(multiplier: f64) -> f64 {
    if multiplier.is_finite() { multiplier.max(0.0) } else { 0.0 }
}
