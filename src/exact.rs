//! Exact evaluation: the network and the bounds in dyadic arithmetic, for whatever lies inside its rounding error.
//!
//! Slow and simple on purpose. Slopes may be rounded (any slope gives a valid line), everything else is exact:
//! pre-activations, layer-2 bounds, intercepts, losses and their selection.

use std::cmp::Ordering;

use crate::bounds::LayerBounds;
use crate::budget::Budget;
use crate::dual::Objective;
use crate::dyadic::Dyadic;
use crate::graph::Graph;
use crate::model::Gcn;
use crate::rounding::error_of;
use crate::selection::Flip;
use crate::slice::Slice;

/// Which relaxation a bound uses at representation 2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relaxation {
    /// The paper's dual at its default `Ω`.
    Paper,
    /// The bound anchored at the unperturbed graph.
    Anchored,
}

/// A matrix of exact numbers, row-major.
struct Exact {
    width: usize,
    values: Vec<Dyadic>,
}

impl Exact {
    fn zeros(rows: usize, width: usize) -> Exact {
        Exact { width, values: vec![Dyadic::ZERO; rows * width] }
    }

    fn row(&self, i: usize) -> &[Dyadic] {
        &self.values[i * self.width..][..self.width]
    }

    fn add(&mut self, i: usize, j: usize, term: &Dyadic) {
        self.values[i * self.width + j] += term;
    }
}

/// The problem of one target, as everything here needs it.
pub struct ExactProblem<'a> {
    /// The graph.
    pub graph: &'a Graph,
    /// The network.
    pub gcn: &'a Gcn,
    /// The target's slice.
    pub slice: &'a Slice,
}

impl ExactProblem<'_> {
    /// The exact objective `cᵀĤ(top)` of the target when these flips are made.
    pub fn objective(&self, objective: Objective, flips: &[Flip]) -> Dyadic {
        let top = self.slice.top();
        let layer = &self.gcn.layers()[top - 2];
        if top == 2 {
            let z = self.preactivations(flips);
            return sum(objective.iter().map(|&(unit, c)| &z.row(0)[unit] * &c.into()));
        }
        // Units whose exact weight in the objective is zero are never evaluated: equal classes cost nothing.
        let weights: Vec<Dyadic> = (0..layer.weight.rows)
            .map(|i| sum(objective.iter().map(|&(unit, c)| &Dyadic::from(layer.weight.get(i, unit)) * &c.into())))
            .collect();
        let mut total = sum(objective.iter().map(|&(unit, c)| &Dyadic::from(layer.bias[unit]) * &c.into()));
        if weights.iter().all(|w| w.sign() == Ordering::Equal) {
            return total;
        }
        let mut z = self.preactivations(flips);
        for l in 2..top - 1 {
            z = self.step(&z, l);
        }
        for (n, a) in self.slice.passing(top - 1).row(0) {
            for (z, w) in z.row(n).iter().zip(&weights) {
                if z.sign() == Ordering::Greater {
                    total += &(&(z * w) * &a.into());
                }
            }
        }
        total
    }

    /// `Ĥ(l+1) = A(l) relu(Ĥ(l)) W(l) + b(l)` on the slice.
    fn step(&self, z: &Exact, l: usize) -> Exact {
        let layer = &self.gcn.layers()[l - 1];
        let rows = self.slice.nodes(l + 1).len();
        let mut next = Exact::zeros(rows, layer.weight.columns);
        for m in 0..rows {
            let mut received = vec![Dyadic::ZERO; z.width];
            for (n, a) in self.slice.passing(l).row(m) {
                for (sum, z) in received.iter_mut().zip(z.row(n)) {
                    *sum += &(&z.clone().relu() * &a.into());
                }
            }
            for j in 0..layer.weight.columns {
                next.add(m, j, &layer.bias[j].into());
                for (i, received) in received.iter().enumerate() {
                    next.add(m, j, &(received * &layer.weight.get(i, j).into()));
                }
            }
        }
        next
    }

    /// `Ĥ(2) = A(1) X̃ W(1) + b(1)` on the slice.
    fn preactivations(&self, flips: &[Flip]) -> Exact {
        let layer = &self.gcn.layers()[0];
        let width = layer.weight.columns;
        let sent: Vec<Vec<Dyadic>> = self.slice.nodes(1).iter().map(|&n| self.sent(n, flips)).collect();
        let mut z = Exact::zeros(self.slice.nodes(2).len(), width);
        for m in 0..self.slice.nodes(2).len() {
            for j in 0..width {
                z.add(m, j, &layer.bias[j].into());
            }
            for (n, a) in self.slice.passing(1).row(m) {
                for (j, sent) in sent[n].iter().enumerate() {
                    z.add(m, j, &(sent * &a.into()));
                }
            }
        }
        z
    }

    /// `(X̃ W(1))_n`.
    fn sent(&self, node: u32, flips: &[Flip]) -> Vec<Dyadic> {
        let weight = &self.gcn.layers()[0].weight;
        let mut sums = vec![Dyadic::ZERO; weight.columns];
        let attributes = self.graph.attributes();
        let mut add = |d: u32, sign: f64| {
            for (sum, &w) in sums.iter_mut().zip(weight.row(d as usize)) {
                *sum += &(sign * w).into();
            }
        };
        for &d in attributes.row(node as usize) {
            add(d, 1.0);
        }
        for flip in flips.iter().filter(|flip| flip.node == node) {
            add(flip.attribute, if attributes.contains(node as usize, flip.attribute) { -1.0 } else { 1.0 });
        }
        sums
    }

    /// A lower bound on the objective over all admissible perturbations, exactly evaluated; `None` where an activation
    /// bound above layer 2 has overflowed, so that nothing can be said.
    /// `bounds` holds the (outward-rounded) activation bounds; those of layer 2 are recomputed exactly here.
    pub fn lower_bound(
        &self,
        budget: &Budget,
        bounds: &[LayerBounds],
        objective: Objective,
        relaxation: Relaxation,
    ) -> Option<Dyadic> {
        let top = self.slice.top();
        let mut total = Dyadic::ZERO;
        let mut phi = Exact::zeros(1, self.gcn.width(top));
        for &(unit, c) in objective {
            phi.add(0, unit, &c.into());
        }
        for l in (2..top).rev() {
            let a = self.pull(&phi, l, &mut total);
            phi = if l > 2 { self.relax(&a, l, &bounds[l - 2], &mut total)? } else { a };
        }
        let z = self.preactivations(&[]);
        let rows = self.slice.nodes(2).len();
        let width = z.width;
        let (mut rise, mut fall) = (Exact::zeros(rows, width), Exact::zeros(rows, width));
        for m in 0..rows {
            for j in 0..width {
                let (a, z) = (&phi.row(m)[j], &z.row(m)[j]);
                let (base, up, down) = if top == 2 {
                    (a * z, a.clone(), a.clone())
                } else if a.sign() == Ordering::Equal {
                    continue;
                } else {
                    let (r, s) = self.unit_bounds(budget, m, j, z);
                    match relaxation {
                        Relaxation::Paper => paper(a, z, &r, &s),
                        Relaxation::Anchored => anchored(a, z, &r, &s),
                    }
                };
                total += &base;
                rise.add(m, j, &up);
                fall.add(m, j, &down);
            }
        }
        Some(&total - &self.largest_loss(budget, &rise, &fall))
    }

    /// `Φ̂(l)` and the bias terms of layer `l`.
    fn pull(&self, phi: &Exact, l: usize, total: &mut Dyadic) -> Exact {
        let layer = &self.gcn.layers()[l - 1];
        let inputs = layer.weight.rows;
        let mut a = Exact::zeros(self.slice.nodes(l).len(), inputs);
        for m in 0..self.slice.nodes(l + 1).len() {
            let mut psi = vec![Dyadic::ZERO; inputs];
            for (j, p) in phi.row(m).iter().enumerate().filter(|(_, p)| p.sign() != Ordering::Equal) {
                *total += &(p * &layer.bias[j].into());
                for (i, psi) in psi.iter_mut().enumerate() {
                    *psi += &(p * &layer.weight.get(i, j).into());
                }
            }
            for (n, entry) in self.slice.passing(l).row(m) {
                for (i, psi) in psi.iter().enumerate() {
                    a.add(n, i, &(psi * &entry.into()));
                }
            }
        }
        a
    }

    /// Lines under the units of a layer above the second.
    fn relax(&self, a: &Exact, l: usize, bounds: &LayerBounds, total: &mut Dyadic) -> Option<Exact> {
        let mut phi = Exact::zeros(self.slice.nodes(l).len(), a.width);
        for (n, &node) in self.slice.nodes(l).iter().enumerate() {
            for j in 0..a.width {
                let (r, s) = (bounds.lower(node as usize)[j], bounds.upper(node as usize)[j]);
                if !(r.is_finite() && s.is_finite()) {
                    return None;
                }
                let (slope, kappa) = line(&a.row(n)[j], &r.into(), &s.into());
                phi.add(n, j, &slope);
                *total += &kappa;
            }
        }
        Some(phi)
    }

    /// Exact `R` and `S` of a unit of representation 2 (math §3).
    fn unit_bounds(&self, budget: &Budget, m: usize, j: usize, z: &Dyadic) -> (Dyadic, Dyadic) {
        let weight = &self.gcn.layers()[0].weight;
        let change = |upward: bool| {
            let mut pool: Vec<Dyadic> = Vec::new();
            for (n, a) in self.slice.passing(1).row(m) {
                let node = self.slice.nodes(1)[n] as usize;
                let mut gains: Vec<f64> = self
                    .permitted(budget, node)
                    .map(|(d, sign)| sign * weight.get(d, j) * if (a > 0.0) == upward { 1.0 } else { -1.0 })
                    .filter(|&gain| gain > 0.0)
                    .collect();
                gains.sort_unstable_by(|x, y| y.total_cmp(x));
                gains.truncate(budget.local(node).min(budget.global()));
                pool.extend(gains.into_iter().map(|gain| &Dyadic::from(gain) * &a.abs().into()));
            }
            pool.sort_unstable_by(|x, y| y.cmp(x));
            sum(pool.into_iter().take(budget.global()))
        };
        (z - &change(false), z + &change(true))
    }

    /// The attributes of a node that may be flipped, each with `+1` for an addition and `−1` for a removal.
    fn permitted<'b>(&'b self, budget: &'b Budget, node: usize) -> impl Iterator<Item = (usize, f64)> + 'b {
        (0..self.graph.attribute_count()).filter_map(move |d| {
            let present = self.graph.attributes().contains(node, d as u32);
            budget.permits(node, d, present).then_some((d, if present { -1.0 } else { 1.0 }))
        })
    }

    /// The exact sum of the largest losses that the budget allows.
    fn largest_loss(&self, budget: &Budget, rise: &Exact, fall: &Exact) -> Dyadic {
        let weight = &self.gcn.layers()[0].weight;
        let width = weight.columns;
        let nodes = self.slice.nodes(1);
        // Slopes of the rise and the fall of w at each node; a negative entry of A swaps them.
        let (mut plus, mut minus) = (Exact::zeros(nodes.len(), width), Exact::zeros(nodes.len(), width));
        for m in 0..self.slice.nodes(2).len() {
            for (n, a) in self.slice.passing(1).row(m) {
                let (up, down) = if a > 0.0 { (rise.row(m), fall.row(m)) } else { (fall.row(m), rise.row(m)) };
                for j in 0..width {
                    plus.add(n, j, &(&up[j] * &a.into()));
                    minus.add(n, j, &(&down[j] * &a.into()));
                }
            }
        }
        let loss = |n: usize, d: usize, sign: f64| {
            sum((0..width).map(|j| {
                let w = sign * weight.get(d, j);
                let slope = if w > 0.0 { &plus.row(n)[j] } else { &minus.row(n)[j] };
                -(slope * &w.into())
            }))
        };
        // Only flips that a rounded evaluation cannot rule out are evaluated exactly.
        let mut rounded: Vec<(usize, usize, f64, f64, f64)> = Vec::new();
        for (n, &node) in nodes.iter().enumerate() {
            let up: Vec<f64> = plus.row(n).iter().map(Dyadic::approximate).collect();
            let down: Vec<f64> = minus.row(n).iter().map(Dyadic::approximate).collect();
            if plus.row(n).iter().chain(minus.row(n)).all(|slope| slope.sign() == Ordering::Equal) {
                continue;
            }
            // Slopes near the end of the range cannot be judged in f64 at all.
            let beyond = up.iter().chain(&down).any(|slope| slope.abs() > 1e300);
            for (d, sign) in self.permitted(budget, node as usize) {
                let (mut value, mut size) = (0.0, 0.0);
                for j in 0..width {
                    let w = sign * weight.get(d, j);
                    let term = if w > 0.0 { up[j] } else { down[j] } * w;
                    value -= term;
                    size += term.abs() + w.abs() * f64::MIN_POSITIVE;
                }
                let error = if beyond { f64::INFINITY } else { error_of(width + 4, size) };
                rounded.push((n, d, sign, value, error));
            }
        }
        let surely = self.surely_selected(budget, &rounded);
        let mut candidates: Vec<(Dyadic, usize)> = rounded
            .iter()
            .filter(|&&(_, _, _, value, error)| !(value + error <= 0.0 || value + error < surely))
            .map(|&(n, d, sign, ..)| (loss(n, d, sign), n))
            .filter(|(loss, _)| loss.sign() == Ordering::Greater)
            .collect();
        candidates.sort_by(|x, y| y.0.cmp(&x.0));
        let mut left: Vec<usize> = nodes.iter().map(|&node| budget.local(node as usize)).collect();
        let mut total = Dyadic::ZERO;
        let mut flips = budget.global();
        for (loss, n) in candidates {
            if flips == 0 {
                break;
            }
            if left[n] > 0 {
                left[n] -= 1;
                flips -= 1;
                total += &loss;
            }
        }
        total
    }

    /// A value that `Q` losses of an admissible selection surely reach, so that nothing surely below it is ever needed;
    /// `−∞` if there are not so many.
    fn surely_selected(&self, budget: &Budget, rounded: &[(usize, usize, f64, f64, f64)]) -> f64 {
        let mut floors: Vec<(f64, usize)> =
            rounded.iter().map(|&(n, _, _, value, error)| (known(value - error), n)).collect();
        floors.sort_unstable_by(|x, y| y.0.total_cmp(&x.0));
        let mut left: Vec<usize> = self.slice.nodes(1).iter().map(|&node| budget.local(node as usize)).collect();
        let mut flips = budget.global();
        for (floor, n) in floors {
            if left[n] > 0 {
                left[n] -= 1;
                flips = flips.saturating_sub(1);
                if flips == 0 {
                    return floor;
                }
            }
        }
        f64::NEG_INFINITY
    }
}

/// Where an overflow left no number, nothing is reached.
fn known(floor: f64) -> f64 {
    if floor.is_nan() { f64::NEG_INFINITY } else { floor }
}

/// A line under `a·relu(z)` on `[R, S]`: slope and intercept.
fn line(a: &Dyadic, r: &Dyadic, s: &Dyadic) -> (Dyadic, Dyadic) {
    if s.sign() != Ordering::Greater {
        return (Dyadic::ZERO, Dyadic::ZERO);
    }
    if r.sign() != Ordering::Less {
        return (a.clone(), Dyadic::ZERO);
    }
    let slope = a * &ratio(s, &(s - r)).into();
    let at_r = -(&slope * r);
    let at_s = &(a - &slope) * s;
    (slope, at_r.min(at_s).min(Dyadic::ZERO))
}

/// Contribution at the unperturbed graph, slope of the rise, slope of the fall: the dual's single line.
fn paper(a: &Dyadic, z: &Dyadic, r: &Dyadic, s: &Dyadic) -> (Dyadic, Dyadic, Dyadic) {
    let (slope, kappa) = line(a, r, s);
    (&(&slope * z) + &kappa, slope.clone(), slope)
}

/// The same, anchored at the unperturbed graph (see [`crate::anchored`] for the proof).
fn anchored(a: &Dyadic, z: &Dyadic, r: &Dyadic, s: &Dyadic) -> (Dyadic, Dyadic, Dyadic) {
    if s.sign() != Ordering::Greater {
        return (Dyadic::ZERO, Dyadic::ZERO, Dyadic::ZERO);
    }
    let positive = z.sign() == Ordering::Greater;
    let base = a * &z.clone().relu();
    if r.sign() != Ordering::Less {
        return (base, a.clone(), a.clone());
    }
    if a.sign() == Ordering::Greater {
        let slope = if positive { a.clone() } else { Dyadic::ZERO };
        return (base, slope.clone(), slope);
    }
    if z.sign() != Ordering::Less {
        // θ = z⁰/(z⁰−R), lowered until it surely is not above.
        let width = z - r;
        let above = |theta: f64| &Dyadic::from(theta) * &width > *z;
        let theta = corrected(ratio(z, &width), above, f64::next_down, 0.0);
        (base, a.clone(), a * &theta.into())
    } else {
        // α = S/(S−z⁰), raised until it surely is not below.
        let width = s - z;
        let below = |alpha: f64| &Dyadic::from(alpha) * &width < *s;
        let alpha = corrected(ratio(s, &width), below, f64::next_up, 1.0);
        (base, a * &alpha.into(), Dyadic::ZERO)
    }
}

/// Steps away from `start` until it is no longer `wrong`; gives up at the value that never is.
fn corrected(start: f64, wrong: impl Fn(f64) -> bool, step: fn(f64) -> f64, last_resort: f64) -> f64 {
    let tries = std::iter::successors(Some(start), |&x| Some(step(x))).take(16);
    tries.into_iter().find(|&x| (0.0..=1.0).contains(&x) && !wrong(x)).unwrap_or(last_resort)
}

/// `part/whole` roughly, in `[0, 1]`; its users correct it or need only any slope.
fn ratio(part: &Dyadic, whole: &Dyadic) -> f64 {
    let quotient = part.approximate() / whole.approximate();
    if quotient.is_finite() { quotient.clamp(0.0, 1.0) } else { 1.0 }
}

fn sum(terms: impl Iterator<Item = Dyadic>) -> Dyadic {
    terms.fold(Dyadic::ZERO, |total, term| &total + &term)
}
