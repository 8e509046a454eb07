//! The largest loss that the budget allows, exactly: floats rule out what surely is not selected, the rest is evaluated.

use std::cmp::Ordering;

use crate::budget::Budget;
use crate::dyadic::Dyadic;
use crate::rounding::{FLOOR, error_of};
use crate::selection::Flip;

use super::line::{Kink, Line};
use super::{Exact, ExactProblem, Lines, sum};

/// A flip of the slice's `n`-th node: `sign` is `+1` if it adds the attribute, `−1` if it removes it.
#[derive(Clone, Copy)]
struct Candidate {
    n: usize,
    attribute: usize,
    sign: f64,
}

impl ExactProblem<'_> {
    /// The exact sum of the largest losses that the budget allows, and the flips, the largest loss first. `units` holds the
    /// lines of the units of representation 2; none where a unit does not count.
    pub(super) fn largest_loss(&self, budget: &Budget, lines: &Lines, units: &[Option<Line>]) -> (Dyadic, Vec<Flip>) {
        let restriction = lines.restriction;
        let global = restriction.global(budget).unwrap_or(0);
        if global == 0 {
            return (Dyadic::ZERO, Vec::new());
        }
        let least = self.surely_selected(budget, lines, units, global);
        let mut found: Vec<(Dyadic, Candidate)> = Vec::new();
        for n in 0..self.slice.nodes(1).len() {
            let Some(slopes) = self.slopes(n, units) else { continue };
            for (attribute, sign) in self.permitted(budget, restriction, n) {
                let candidate = Candidate { n, attribute, sign };
                if slopes.rule_out(self.gcn.layers()[0].weight.row(attribute), sign, least) {
                    continue;
                }
                let loss = self.loss(candidate, units);
                if loss.sign() == Ordering::Greater {
                    found.push((loss, candidate));
                }
            }
        }
        found.sort_by(|x, y| y.0.cmp(&x.0));
        let nodes = self.slice.nodes(1);
        let mut left: Vec<usize> = nodes.iter().map(|&node| restriction.local(budget, node).unwrap_or(0)).collect();
        let mut total = Dyadic::ZERO;
        let mut flips = Vec::new();
        for (loss, Candidate { n, attribute, .. }) in found {
            if flips.len() == global {
                break;
            }
            if left[n] > 0 {
                left[n] -= 1;
                total += &loss;
                flips.push(Flip { node: nodes[n], attribute: attribute as u32 });
            }
        }
        (total, flips)
    }

    /// A value that `Q` losses of an admissible selection surely reach, so that nothing below it is ever needed: the smallest
    /// loss of the hint if it is such a selection, else 0.
    fn surely_selected(&self, budget: &Budget, lines: &Lines, units: &[Option<Line>], global: usize) -> f64 {
        let mut together = lines.restriction.clone();
        let mut least = f64::INFINITY;
        for &flip in lines.hint {
            let Some(n) = self.slice.position(flip.node) else { return 0.0 };
            let present = self.graph.attributes().contains(flip.node as usize, flip.attribute);
            let (node, attribute) = (flip.node as usize, flip.attribute as usize);
            if together.fixes(flip) || !budget.permits(node, attribute, present) {
                return 0.0;
            }
            let sign = if present { -1.0 } else { 1.0 };
            let loss = self.loss(Candidate { n, attribute, sign }, units);
            if loss.sign() != Ordering::Greater {
                return 0.0;
            }
            least = least.min(loss.floor_f64());
            together.made.push(flip);
        }
        if lines.hint.len() == global && together.admissible(budget) { least } else { 0.0 }
    }

    /// By how much the bound falls with a flip.
    fn loss(&self, Candidate { n, attribute, sign }: Candidate, units: &[Option<Line>]) -> Dyadic {
        let row = self.gcn.layers()[0].weight.row(attribute);
        sum(self.slice.reaching(n).flat_map(|(_, m, a)| {
            let a = Dyadic::from(sign * a);
            let lines = units[m * row.len()..][..row.len()].iter().zip(row);
            lines.filter_map(move |(line, &w)| {
                let line = line.as_ref().filter(|_| w != 0.0)?;
                Some(-line.change(&(&a * &w.into())))
            })
        }))
    }

    /// Slopes of the rise and the fall of `w` at a node; a negative entry of `A` swaps them. `None` if nothing counts there.
    fn slopes(&self, n: usize, units: &[Option<Line>]) -> Option<Slopes> {
        let width = self.gcn.width(2);
        let (mut up, mut down) = (Exact::zeros(1, width), Exact::zeros(1, width));
        let mut counts = false;
        for (_, m, a) in self.slice.reaching(n) {
            let exact = Dyadic::from(a);
            for (j, line) in units[m * width..][..width].iter().enumerate() {
                let Some(line) = line else { continue };
                counts |= !matches!(line.kink, Kink::None);
                let (rise, fall) = line.slopes();
                let (rise, fall) = if a > 0.0 { (rise, fall) } else { (fall, rise) };
                up.add(0, j, &(&rise * &exact));
                down.add(0, j, &(&fall * &exact));
            }
        }
        counts |= up.values.iter().chain(&down.values).any(|slope| slope.sign() != Ordering::Equal);
        counts.then(|| Slopes::new(&up.values, &down.values))
    }
}

/// Rounded slopes of one node.
struct Slopes {
    up: Vec<f64>,
    down: Vec<f64>,
    /// Slopes near the end of the range cannot be judged in f64 at all.
    beyond: bool,
}

impl Slopes {
    fn new(up: &[Dyadic], down: &[Dyadic]) -> Slopes {
        let rounded = |slopes: &[Dyadic]| slopes.iter().map(Dyadic::approximate).collect::<Vec<f64>>();
        let (up, down) = (rounded(up), rounded(down));
        let beyond = up.iter().chain(&down).any(|slope| slope.abs() > 1e300);
        Slopes { up, down, beyond }
    }

    /// Is the loss of this flip surely not positive, or surely below what is needed?
    fn rule_out(&self, row: &[f64], sign: f64, needed: f64) -> bool {
        let (mut value, mut size) = (0.0, 0.0);
        for ((&up, &down), &w) in self.up.iter().zip(&self.down).zip(row) {
            let w = sign * w;
            let slope = if w > 0.0 { up } else { down };
            value -= slope * w;
            // The floor stands for slopes that underflow.
            size += (slope.abs() + FLOOR) * w.abs();
        }
        let most = value + error_of(4 * row.len() + 8, size);
        // A comparison with NaN is false: nothing is ruled out.
        !self.beyond && (most <= 0.0 || most < needed)
    }
}
