//! The certificate of one target, forward and in reverse (docs/math.md §4, §5, §9).
//!
//! Forward, for a class pair with `c = e_y − e_k`: `Φ(L) = c`; `a(l) = Σ_k A_k(l)ᵀ Φ(l+1) W_k(l)ᵀ` is the coefficient
//! of a hidden unit (minus the paper's `Φ̂`), its line's slope is `Φ(l)`, and the coefficient itself where the unit has
//! no activation; at layer 2 the slopes are spread over the nodes, `u_k = A_k(1)ᵀΦ(2)`, and
//!
//! ```text
//! g = Σ Φ(l+1)·b(l) + Σ κ + ⟨Φ(2), z⁰⟩ − T,      T = Σ over selected flips of −σ Σ_k u_k,n·W_k,d
//! ```
//!
//! In reverse only the selected flips carry gradient to the `W_k(1)`, and the rest follows the pass back up.

use gcnproof::internals::bound::attributes::Attributes;
use gcnproof::internals::bound::relaxed::Relaxation;
use gcnproof::internals::bound::selection::{SearchSpace, Selection, Slopes};
use gcnproof::internals::problem::budget::{Budget, Decided};
use gcnproof::internals::problem::flip::Flip;
use gcnproof::internals::problem::graph::Graph;
use gcnproof::internals::problem::matrix::PatternRows;
use gcnproof::internals::problem::network::Network;
use gcnproof::internals::problem::slice::Slice;

use super::activation::Intervals;
use super::gradient::{add_scaled, dot};
use super::normalised_rows::changes;
use super::pass::{Dropout, Pass};
use super::unit::{AnchoredUnit, ByAnchor, anchor, anchor_reverse, line, line_reverse};

/// What all targets of a batch share.
pub struct Certificate<'a> {
    /// The unperturbed graph.
    pub graph: &'a Graph,
    /// The network with its present weights.
    pub network: &'a Network,
    /// The attacker's budget.
    pub budget: &'a Budget,
    /// `W(1)` ordered for the selection.
    pub attributes: &'a Attributes,
    /// The unperturbed network.
    pub pass: &'a Pass,
    /// `R` and `S`.
    pub intervals: &'a Intervals,
    /// The paper's bound or the anchored one.
    pub relaxation: Relaxation,
    /// Hidden units that are dropped: then it is the certificate of the network without them.
    pub dropout: Option<Dropout>,
}

/// The buffers of one thread.
#[derive(Debug, Default)]
pub struct Workspace {
    slice: Slice,
    selection: Selection,
}

/// A selected flip of a slice.
struct Selected {
    /// Its row in the slice.
    row: usize,
    attribute: u32,
    /// By how much the entry changes: `+1` for an addition and `−1` for a removal where rows are not normalised.
    change: f64,
}

/// Everything the reverse pass of one class pair needs.
struct Tape {
    /// A lower bound on the margin, without its rounding error.
    bound: f64,
    /// `Φ(l)`, `phi[l − 2]`; at representation 2 of the anchored bound the centre of the slopes.
    phi: Vec<Vec<f64>>,
    /// Half the difference of the slopes at representation 2; empty for the paper's bound.
    radius: Vec<f64>,
    /// `a(l)`, `coefficient[l − 2]`.
    coefficient: Vec<Vec<f64>>,
    /// Slopes by node of representation 1.
    slopes: Slopes,
    flips: Vec<Selected>,
    /// Of normalised rows, where slopes differ for rises and falls.
    spreads: Vec<Spread>,
}

/// What a normalised row loses by half the difference of its slopes: `weight · radius·|Σ w_d|` over some attributes,
/// one that is flipped or all that the row has (docs/math.md (21.4)).
struct Spread {
    row: usize,
    attributes: Vec<u32>,
    weight: f64,
}

/// A class pair in reverse: `seed` is what the loss gains per unit of its bound.
#[derive(Clone, Copy)]
struct Reversed<'a> {
    tape: &'a Tape,
    slice: &'a Slice,
    seed: f64,
}

/// What a loss gains through one target's certificates, by the rows of its slice.
#[derive(Debug, Default)]
pub struct TargetGradient {
    /// The slice's nodes of representations `2 … L`.
    pub nodes: Vec<Vec<u32>>,
    /// `∂/∂Ĥ(2)`.
    pub hidden: Vec<f64>,
    /// `∂/∂R`, `∂/∂S`.
    pub intervals: Intervals,
    /// Rows of `∂/∂W(1)` that the flips touch, with repetition.
    pub rows: Vec<(u32, Vec<f64>)>,
    /// `∂/∂W(l)` for `l ≥ 2` (`weight[l − 2]`).
    pub weight: Vec<Vec<f64>>,
    /// `∂/∂b(l)` for `l ≥ 2`, by the slice's nodes of representation `l + 1`.
    pub bias: Vec<Vec<f64>>,
}

impl Certificate<'_> {
    /// The bounds `g(y, k)` of a target for every class (`+∞` for `k = y`), and their gradient: `seeds` turns the
    /// bounds into `∂loss/∂g`, one per class; where it says nothing, no gradient is computed.
    pub fn target(
        &self,
        target: usize,
        class: usize,
        workspace: &mut Workspace,
        seeds: impl FnOnce(&[f64]) -> Option<Vec<f64>>,
    ) -> (Vec<f64>, Option<TargetGradient>) {
        let classes = self.network.class_count();
        workspace.slice.cut(self.network, self.network.depth(), target);
        workspace.selection.forget();
        let tapes: Vec<Option<Tape>> =
            (0..classes).map(|k| (k != class).then(|| self.forward(class, k, workspace))).collect();
        let bounds: Vec<f64> = tapes.iter().map(|tape| tape.as_ref().map_or(f64::INFINITY, |t| t.bound)).collect();
        let seeds = seeds(&bounds).filter(|seeds| seeds.iter().any(|&s| s != 0.0));
        let gradient = seeds.map(|seeds| {
            let mut gradient = self.zeros(&workspace.slice);
            for (tape, seed) in tapes.iter().zip(seeds) {
                if let Some(tape) = tape.as_ref().filter(|_| seed != 0.0) {
                    self.reverse(Reversed { tape, slice: &workspace.slice, seed }, &mut gradient);
                }
            }
            gradient
        });
        (bounds, gradient)
    }

    fn zeros(&self, slice: &Slice) -> TargetGradient {
        let depth = self.network.depth();
        let zeros = |l: usize| vec![0.0; slice.nodes(l).len() * self.network.width(l)];
        let layers = || self.network.layers()[1..].iter();
        TargetGradient {
            nodes: (2..=depth).map(|l| slice.nodes(l).to_vec()).collect(),
            hidden: zeros(2),
            intervals: Intervals { lower: (2..depth).map(zeros).collect(), upper: (2..depth).map(zeros).collect() },
            rows: Vec::new(),
            weight: layers().map(|layer| vec![0.0; layer.weight.values().len()]).collect(),
            bias: (3..=depth).map(zeros).collect(),
        }
    }

    /// `R` and `S` of a node of representation `l`.
    fn interval(&self, l: usize, node: usize) -> (&[f64], &[f64]) {
        let width = self.network.width(l);
        let range = node * width..(node + 1) * width;
        (&self.intervals.lower[l - 2][range.clone()], &self.intervals.upper[l - 2][range])
    }

    fn forward(&self, class: usize, other: usize, workspace: &mut Workspace) -> Tape {
        let Workspace { slice, selection } = workspace;
        let depth = self.network.depth();
        let mut top = vec![0.0; self.network.class_count()];
        (top[class], top[other]) = (1.0, -1.0);
        let mut tape = Tape {
            bound: 0.0,
            phi: vec![Vec::new(); depth - 1],
            radius: Vec::new(),
            coefficient: vec![Vec::new(); depth - 1],
            slopes: Slopes::default(),
            flips: Vec::new(),
            spreads: Vec::new(),
        };
        tape.phi[depth - 2] = top;
        for l in (2..depth).rev() {
            tape.coefficient[l - 2] = self.pull(slice, l, &tape.phi[l - 1], &mut tape.bound);
            if l > 2 || self.relaxation == Relaxation::Paper {
                self.relax(slice, l, &mut tape);
            } else {
                self.anchor(slice, &mut tape);
            }
        }
        if tape.radius.is_empty() {
            for (row, &m) in slice.nodes(2).iter().enumerate() {
                let z = self.pass.row(2, m as usize);
                tape.bound += dot(&tape.phi[0][row * z.len()..][..z.len()], z);
            }
        }
        self.spread(slice, &mut tape);
        let decided = Decided::default();
        let (graph, budget, attributes) = (self.graph, self.budget, self.attributes);
        let layer = &self.network.layers()[0];
        let space = SearchSpace { graph, layer, budget, decided: &decided, attributes, row_sums: None };
        tape.bound -= selection.select(&space, slice, &tape.slopes);
        if graph.normalisation().is_some() {
            self.push_rows(slice, selection, &mut tape);
            return tape;
        }
        for loss in selection.flips() {
            let (node, attribute) = (loss.flip.node, loss.flip.attribute);
            let sign = if graph.attributes().contains(node as usize, attribute) { -1.0 } else { 1.0 };
            if let Some(row) = slice.position(node) {
                tape.flips.push(Selected { row, attribute, change: sign });
            }
        }
        // The order in which the search finds flips depends on the seed of its threshold.
        tape.flips.sort_unstable_by_key(|flip| (flip.row, flip.attribute));
        tape
    }

    /// Where rows are normalised, what the selected moves of rows change: nearly every attribute of these rows
    /// (docs/math.md (21.3)).
    fn push_rows(&self, slice: &Slice, selection: &Selection, tape: &mut Tape) {
        for (share, flips) in selection.shared_moves() {
            let Some(node) = flips.first().map(|flip| flip.node) else { continue };
            let has = |flip: &&Flip| self.graph.attributes().contains(node as usize, flip.attribute);
            let (removed, added): (Vec<&Flip>, Vec<&Flip>) = flips.iter().partition(has);
            let [added, removed] =
                [added, removed].map(|flips| flips.iter().map(|f| f.attribute).collect::<Vec<u32>>());
            if let Some(row) = slice.position(node).filter(|_| share > 0.0) {
                changes(self.graph, node as usize, &added, &removed, share, |attribute, change| {
                    tape.flips.push(Selected { row, attribute, change });
                });
                if tape.radius.is_empty() {
                    continue;
                }
                let present = self.graph.attributes().row(node as usize);
                let after = self.graph.normalisation().entry(present.len() + added.len() - removed.len());
                let weight = share * (self.graph.entry(node as usize) - after).abs();
                tape.spreads.push(Spread { row, attributes: present.to_vec(), weight });
                let single = |flip: &Flip| Spread { row, attributes: vec![flip.attribute], weight: share * after };
                tape.spreads.extend(flips.iter().map(single));
            }
        }
    }

    /// `a(l) = Σ_k A_k(l)ᵀ Φ(l+1) W_k(l)ᵀ`, and the bias of layer `l`.
    fn pull(&self, slice: &Slice, l: usize, phi: &[f64], bound: &mut f64) -> Vec<f64> {
        let layer = &self.network.layers()[l - 1];
        let (inputs, outputs) = (layer.inputs(), layer.outputs());
        let mut coefficient = vec![0.0; slice.nodes(l).len() * inputs];
        let mut psi = vec![0.0; layer.weight.rows()];
        for (m, &node) in slice.nodes(l + 1).iter().enumerate() {
            let phi = &phi[m * outputs..][..outputs];
            *bound += dot(phi, layer.bias.row(node as usize));
            psi.iter_mut().enumerate().for_each(|(i, slot)| *slot = dot(layer.weight.row(i), phi));
            for (n, entries) in slice.passing(l).row(m) {
                for (psi, &a) in psi.chunks_exact(inputs).zip(entries).filter(|term| *term.1 != 0.0) {
                    add_scaled(&mut coefficient[n * inputs..][..inputs], a, psi);
                }
            }
        }
        self.drop(slice, l, &mut coefficient);
        coefficient
    }

    /// A dropped unit of representation `l` has no coefficient; the others are scaled up in return.
    fn drop(&self, slice: &Slice, l: usize, coefficient: &mut [f64]) {
        let Some(dropout) = self.dropout else { return };
        for (&node, row) in slice.nodes(l).iter().zip(coefficient.chunks_exact_mut(self.network.width(l))) {
            row.iter_mut().enumerate().for_each(|(i, slot)| *slot *= dropout.factor(l, node as usize, i));
        }
    }

    /// Has this unit of representation `l` no activation?
    #[inline]
    fn is_linear(&self, l: usize, unit: usize) -> bool {
        self.network.layers()[l - 2].is_linear(unit)
    }

    fn relax(&self, slice: &Slice, l: usize, tape: &mut Tape) {
        let mut slopes = Vec::with_capacity(tape.coefficient[l - 2].len());
        for &node in slice.nodes(l) {
            let (lower, upper) = self.interval(l, node as usize);
            for (j, (&r, &s)) in lower.iter().zip(upper).enumerate() {
                let a = tape.coefficient[l - 2][slopes.len()];
                // Without activation the line is the unit itself.
                let (slope, kappa) = if self.is_linear(l, j) { (a, 0.0) } else { line(a, r, s) };
                slopes.push(slope);
                tape.bound += kappa;
            }
        }
        tape.phi[l - 2] = slopes;
    }

    fn anchor(&self, slice: &Slice, tape: &mut Tape) {
        let mut centre = Vec::with_capacity(tape.coefficient[0].len());
        for &node in slice.nodes(2) {
            let (lower, upper) = self.interval(2, node as usize);
            let z = self.pass.row(2, node as usize);
            for (j, ((&z, &r), &s)) in z.iter().zip(lower).zip(upper).enumerate() {
                let a = tape.coefficient[0][centre.len()];
                if self.is_linear(2, j) {
                    tape.bound += a * z;
                    centre.push(a);
                    tape.radius.push(0.0);
                    continue;
                }
                let (rise, fall) = anchor(AnchoredUnit { a, z, r, s });
                tape.bound += if s > 0.0 { a * z.max(0.0) } else { 0.0 };
                centre.push(0.5 * (rise + fall));
                tape.radius.push(0.5 * (fall - rise));
            }
        }
        tape.phi[0] = centre;
    }

    /// `u_k = A_k(1)ᵀΦ(2)`, term after term.
    fn spread(&self, slice: &Slice, tape: &mut Tape) {
        let (width, terms) = (self.network.width(2), slice.passing(1).terms);
        let length = slice.nodes(1).len() * terms * width;
        tape.slopes.centre = vec![0.0; length];
        tape.slopes.radius = vec![0.0; if tape.radius.is_empty() { 0 } else { length }];
        if terms > 1 {
            tape.slopes.unit_radius.clone_from(&tape.radius);
        }
        for m in 0..slice.nodes(2).len() {
            let range = m * width..(m + 1) * width;
            for (n, entries) in slice.passing(1).row(m) {
                for (k, &a) in entries.iter().enumerate().filter(|entry| *entry.1 != 0.0) {
                    let at = (n * terms + k) * width;
                    add_scaled(&mut tape.slopes.centre[at..][..width], a, &tape.phi[0][range.clone()]);
                    if !tape.radius.is_empty() {
                        add_scaled(&mut tape.slopes.radius[at..][..width], a.abs(), &tape.radius[range.clone()]);
                    }
                }
            }
        }
    }

    /// Adds `seed · ∂g` of one class pair.
    fn reverse(&self, of: Reversed, into: &mut TargetGradient) {
        let Reversed { tape, slice, seed } = of;
        let (by_centre, by_radius) = self.flips_reverse(of, into);
        let depth = self.network.depth();
        let mut by_phi = by_centre;
        if tape.radius.is_empty() {
            for (row, &m) in slice.nodes(2).iter().enumerate() {
                let z = self.pass.row(2, m as usize);
                let range = row * z.len()..(row + 1) * z.len();
                add_scaled(&mut by_phi[range.clone()], seed, z);
                add_scaled(&mut into.hidden[range.clone()], seed, &tape.phi[0][range]);
            }
        }
        for l in 2..depth {
            let mut by_coefficient = if l > 2 || tape.radius.is_empty() {
                self.relax_reverse(of, l, &by_phi, into)
            } else {
                self.anchor_reverse(of, &by_phi, &by_radius, into)
            };
            self.drop(slice, l, &mut by_coefficient);
            by_phi = self.pull_reverse(of, l, &by_coefficient, into);
        }
    }

    /// Through the selection and the spreading, to the slopes of representation 2 (docs/math.md (9.5)).
    fn flips_reverse(&self, of: Reversed, into: &mut TargetGradient) -> (Vec<f64>, Vec<f64>) {
        let Reversed { tape, slice, seed } = of;
        let layer = &self.network.layers()[0];
        let (width, inputs, terms) = (layer.outputs(), layer.inputs(), layer.passing.terms());
        let mut by_centre = vec![0.0; tape.phi[0].len()];
        let mut by_radius = vec![0.0; tape.radius.len()];
        let mut change = vec![0.0; width];
        for &Selected { row: n, attribute: d, change: sign } in &tape.flips {
            let weights = |k: usize| layer.weight.row(k * inputs + d as usize);
            let slopes = tape.slopes.centre[n * terms * width..][..terms * width].iter();
            let mut rows: Vec<f64> = slopes.map(|c| seed * sign * c).collect();
            for (_, m, entries) in slice.reaching(n) {
                let range = m * width..(m + 1) * width;
                change.fill(0.0);
                for (k, &a) in entries.iter().enumerate().filter(|entry| *entry.1 != 0.0) {
                    add_scaled(&mut change, a, weights(k));
                }
                add_scaled(&mut by_centre[range.clone()], seed * sign, &change);
                if tape.radius.is_empty() || self.graph.normalisation().is_some() {
                    continue;
                }
                // What the flip loses has `radius·|change|` in it.
                for (j, (&change, &radius)) in change.iter().zip(&tape.radius[range]).enumerate() {
                    by_radius[m * width + j] -= seed * change.abs();
                    if change != 0.0 && radius != 0.0 {
                        let by = seed * radius.copysign(change);
                        entries.iter().enumerate().for_each(|(k, a)| rows[k * width + j] -= by * a);
                    }
                }
            }
            for (k, row) in rows.chunks_exact(width).enumerate() {
                into.rows.push(((k * inputs) as u32 + d, row.to_vec()));
            }
        }
        for spread in &tape.spreads {
            self.spread_reverse(of, spread, &mut by_radius, into);
        }
        (by_centre, by_radius)
    }

    /// Through what a normalised row loses by half the difference of its slopes.
    fn spread_reverse(&self, of: Reversed, spread: &Spread, by_radius: &mut [f64], into: &mut TargetGradient) {
        let Reversed { tape, slice, seed } = of;
        let layer = &self.network.layers()[0];
        let (width, inputs, terms) = (layer.outputs(), layer.inputs(), layer.passing.terms());
        let mut sum = vec![0.0; terms * width];
        for &d in &spread.attributes {
            for (k, sum) in sum.chunks_exact_mut(width).enumerate() {
                add_scaled(sum, 1.0, layer.weight.row(k * inputs + d as usize));
            }
        }
        let by = seed * spread.weight;
        for (_, m, entries) in slice.reaching(spread.row) {
            for (sum, a) in sum.chunks_exact(width).zip(entries) {
                let slots = by_radius[m * width..][..width].iter_mut().zip(sum);
                slots.for_each(|(slot, sum)| *slot -= by * a.abs() * sum.abs());
            }
        }
        let radius = &tape.slopes.radius[spread.row * terms * width..][..terms * width];
        let by_sum = |(&sum, &radius): (&f64, &f64)| if sum == 0.0 { 0.0 } else { -by * radius.copysign(sum) };
        let by_sum: Vec<f64> = sum.iter().zip(radius).map(by_sum).collect();
        for &d in &spread.attributes {
            for (k, row) in by_sum.chunks_exact(width).enumerate() {
                into.rows.push(((k * inputs) as u32 + d, row.to_vec()));
            }
        }
    }

    fn relax_reverse(&self, of: Reversed, l: usize, by_slope: &[f64], into: &mut TargetGradient) -> Vec<f64> {
        let Reversed { tape, slice, seed } = of;
        let mut by_coefficient = Vec::with_capacity(by_slope.len());
        for &node in slice.nodes(l) {
            let (lower, upper) = self.interval(l, node as usize);
            for (j, (&r, &s)) in lower.iter().zip(upper).enumerate() {
                let at = by_coefficient.len();
                if self.is_linear(l, j) {
                    by_coefficient.push(by_slope[at]);
                    continue;
                }
                let [by_a, by_r, by_s] = line_reverse(tape.coefficient[l - 2][at], r, s, by_slope[at], seed);
                by_coefficient.push(by_a);
                into.intervals.lower[l - 2][at] += by_r;
                into.intervals.upper[l - 2][at] += by_s;
            }
        }
        by_coefficient
    }

    fn anchor_reverse(
        &self,
        of: Reversed,
        by_centre: &[f64],
        by_radius: &[f64],
        into: &mut TargetGradient,
    ) -> Vec<f64> {
        let Reversed { tape, slice, seed } = of;
        let mut by_coefficient = Vec::with_capacity(by_centre.len());
        for &node in slice.nodes(2) {
            let (lower, upper) = self.interval(2, node as usize);
            let z = self.pass.row(2, node as usize);
            for (j, ((&z, &r), &s)) in z.iter().zip(lower).zip(upper).enumerate() {
                let at = by_coefficient.len();
                if self.is_linear(2, j) {
                    by_coefficient.push(by_centre[at] + seed * z);
                    into.hidden[at] += seed * tape.coefficient[0][at];
                    continue;
                }
                let (rise, fall) = (0.5 * (by_centre[at] - by_radius[at]), 0.5 * (by_centre[at] + by_radius[at]));
                let unit = AnchoredUnit { a: tape.coefficient[0][at], z, r, s };
                let [by_a, by_z, by_r, by_s] = anchor_reverse(unit, ByAnchor { rise, fall, base: seed });
                by_coefficient.push(by_a);
                into.hidden[at] += by_z;
                into.intervals.lower[0][at] += by_r;
                into.intervals.upper[0][at] += by_s;
            }
        }
        by_coefficient
    }

    fn pull_reverse(&self, of: Reversed, l: usize, by_coefficient: &[f64], into: &mut TargetGradient) -> Vec<f64> {
        let Reversed { tape, slice, seed } = of;
        let layer = &self.network.layers()[l - 1];
        let (inputs, outputs) = (layer.inputs(), layer.outputs());
        let (weight, bias) = (&mut into.weight[l - 2], &mut into.bias[l - 2]);
        let mut by_phi = vec![0.0; tape.phi[l - 1].len()];
        let mut by_psi = vec![0.0; layer.weight.rows()];
        for (m, &node) in slice.nodes(l + 1).iter().enumerate() {
            by_psi.fill(0.0);
            for (n, entries) in slice.passing(l).row(m) {
                for (by_psi, &a) in by_psi.chunks_exact_mut(inputs).zip(entries).filter(|term| *term.1 != 0.0) {
                    add_scaled(by_psi, a, &by_coefficient[n * inputs..][..inputs]);
                }
            }
            let range = m * outputs..(m + 1) * outputs;
            let (phi, by_phi) = (&tape.phi[l - 1][range.clone()], &mut by_phi[range.clone()]);
            add_scaled(by_phi, seed, layer.bias.row(node as usize));
            add_scaled(&mut bias[range], seed, phi);
            for (i, &by) in by_psi.iter().enumerate() {
                add_scaled(by_phi, by, layer.weight.row(i));
                add_scaled(&mut weight[i * outputs..][..outputs], by, phi);
            }
        }
        by_phi
    }
}
