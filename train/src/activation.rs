//! Activation bounds `R ≤ Ĥ ≤ S` for training, with their derivatives (docs/math.md §3).
//!
//! Layer 2 is a sum of selected flips, `S = z⁰ + Σ ±Σ_k A_k,mn W_k,dj`: only the selected entries of the `W_k(1)` carry
//! gradient.
//! Which entries are selected is constant between kinks; at a tie one of them is taken, always the same one. Deeper
//! layers are propagated intervals (the certifier tightens them afterwards; training does not).

use gcnproof::internals::problem::budget::Budget;
use gcnproof::internals::problem::graph::Graph;
use gcnproof::internals::problem::network::{Layer, Network};
use rayon::prelude::*;

use super::first_hidden::{FirstHidden, Rows, UnitBounds};
use super::flipped_rows;
use super::gradient::{Gradient, add_scaled, bias_row};
use super::normalised_rows;
use super::pass::{Dropout, Pass, ReversePass};
use super::receptive_field::ReceptiveField;

/// One number for `R` and one for `S` of every unit of representations `2 … L−1`: `lower[l − 2]`, nodes × units.
#[derive(Clone, Debug, Default)]
pub struct Intervals {
    /// For `R`.
    pub lower: Vec<Vec<f64>>,
    /// For `S`.
    pub upper: Vec<Vec<f64>>,
}

impl Intervals {
    /// Zeros of the same shape: for derivatives.
    pub fn zeros(&self) -> Intervals {
        let zeros = |layers: &[Vec<f64>]| layers.iter().map(|layer| vec![0.0; layer.len()]).collect();
        Intervals { lower: zeros(&self.lower), upper: zeros(&self.upper) }
    }
}

/// The bounds of a reach, and what they were made of.
#[derive(Debug)]
pub struct ActivationBounds {
    /// The bounds; rows outside the reach are zero.
    pub intervals: Intervals,
    rows: Rows,
    units: Vec<UnitBounds>,
    dropout: Option<Dropout>,
}

/// What the propagation of one layer reads: the layer, and the one below it, which knows units without activation.
#[derive(Clone, Copy)]
struct Step<'a> {
    below: &'a Layer,
    layer: &'a Layer,
}

impl<'a> Step<'a> {
    /// From representation `l` to `l + 1`.
    fn new(network: &'a Network, l: usize) -> Step<'a> {
        Step { below: &network.layers()[l - 2], layer: &network.layers()[l - 1] }
    }

    /// What a unit with this bound sends, at least or at most.
    #[inline]
    fn sent(&self, unit: usize, bound: f64) -> f64 {
        if self.below.is_linear(unit) { bound } else { bound.max(0.0) }
    }

    /// Does what it sends change with the bound?
    #[inline]
    fn moves(&self, unit: usize, bound: f64) -> bool {
        bound > 0.0 || self.below.is_linear(unit)
    }
}

impl ActivationBounds {
    /// Bounds every unit that the reach needs, in the network without the hidden units that are dropped.
    pub fn new(
        graph: &Graph,
        network: &Network,
        budget: &Budget,
        reach: &ReceptiveField,
        pass: &Pass,
        dropout: Option<Dropout>,
    ) -> ActivationBounds {
        let (intervals, rows) = (Intervals::default(), Rows::new(graph, network, budget, reach));
        let mut bounds = ActivationBounds { intervals, rows, units: Vec::new(), dropout };
        if network.depth() == 2 {
            return bounds;
        }
        let width = network.width(2);
        let first = FirstHidden { graph, network, budget, reach, rows: &bounds.rows, pass };
        let unit_bounds = |unit: usize| match graph.normalisation().is_some() {
            _ if first.is_free(unit) => first.bounds(unit, |_, _| 0.0),
            true => normalised_rows::unit_bounds(&first, unit),
            false => flipped_rows::unit_bounds(&first, unit),
        };
        bounds.units = (0..width).into_par_iter().map(unit_bounds).collect();
        let mut lower = vec![0.0; graph.node_count() * width];
        let mut upper = lower.clone();
        for (row, &m) in reach.nodes(2).iter().enumerate() {
            for (unit, found) in bounds.units.iter().enumerate() {
                lower[m as usize * width + unit] = found.lower[row];
                upper[m as usize * width + unit] = found.upper[row];
            }
        }
        bounds.intervals.lower.push(lower);
        bounds.intervals.upper.push(upper);
        for l in 2..network.depth() - 1 {
            bounds.propagate(Step::new(network, l), reach, l);
        }
        bounds
    }

    /// `R(l+1) = Σ_k A_k([R]₊[W_k]₊ − [S]₊[W_k]₋) + b`, signs of `A_k` split, and `S` the other way round; units
    /// without activation send `R` and `S` themselves (docs/math.md (3.2)).
    fn propagate(&mut self, step: Step, reach: &ReceptiveField, l: usize) {
        let layer = step.layer;
        let (inputs, width, terms) = (layer.inputs(), layer.outputs(), layer.passing.terms());
        let (r, s) = (&self.intervals.lower[l - 2], &self.intervals.upper[l - 2]);
        let sent: Vec<(Vec<f64>, Vec<f64>)> = (0..r.len() / inputs * terms)
            .into_par_iter()
            .map(|at| {
                let (n, k) = (at / terms, at % terms);
                if !reach.needs(l, n) {
                    return (Vec::new(), Vec::new());
                }
                let (mut least, mut most) = (vec![0.0; width], vec![0.0; width]);
                for i in 0..inputs {
                    let factor = self.factor(l, n, i);
                    let [r, s] = [r, s].map(|bounds| factor * step.sent(i, bounds[n * inputs + i]));
                    for (j, &w) in layer.weight.row(k * inputs + i).iter().enumerate() {
                        let (low, high) = if w > 0.0 { (r, s) } else { (s, r) };
                        least[j] += low * w;
                        most[j] += high * w;
                    }
                }
                (least, most)
            })
            .collect();
        let nodes = r.len() / inputs;
        let (mut lower, mut upper) = (vec![0.0; nodes * width], vec![0.0; nodes * width]);
        for &m in reach.nodes(l + 1) {
            let m = m as usize;
            let (lower, upper) = (&mut lower[m * width..][..width], &mut upper[m * width..][..width]);
            lower.copy_from_slice(layer.bias.row(m));
            upper.copy_from_slice(layer.bias.row(m));
            for (n, entries) in layer.passing.row(m) {
                for (k, &a) in entries.iter().enumerate().filter(|entry| *entry.1 != 0.0) {
                    let (least, most) = &sent[n * terms + k];
                    let (low, high) = if a > 0.0 { (least, most) } else { (most, least) };
                    add_scaled(lower, a, low);
                    add_scaled(upper, a, high);
                }
            }
        }
        self.intervals.lower.push(lower);
        self.intervals.upper.push(upper);
    }

    /// Takes `∂loss/∂R` and `∂loss/∂S` to the parameters and to `∂loss/∂Ĥ(2)`.
    pub fn reverse(&self, of: ReversePass, mut by: Intervals, hidden: &mut [f64], gradient: &mut Gradient) {
        let ReversePass { network, reach, .. } = of;
        for l in (2..network.depth() - 1).rev() {
            self.propagate_reverse(of, l, &mut by, gradient);
        }
        let (Some(by_lower), Some(by_upper)) = (by.lower.first(), by.upper.first()) else { return };
        let (width, inputs) = (network.width(2), network.width(1));
        add_scaled(hidden, 1.0, by_lower);
        add_scaled(hidden, 1.0, by_upper);
        // Flips of a unit are those of its columns, term after term.
        let columns: Vec<Vec<f64>> = self
            .units
            .par_iter()
            .enumerate()
            .map(|(unit, found)| {
                let mut column = vec![0.0; network.layers()[0].weight.rows()];
                for (row, &m) in reach.nodes(2).iter().enumerate() {
                    let at = m as usize * width + unit;
                    for (by, picks) in [(by_upper[at], &found.rise), (by_lower[at], &found.fall)] {
                        if by == 0.0 {
                            continue;
                        }
                        for pick in picks.row(row) {
                            for (k, a) in self.rows.entries(pick.entry).iter().enumerate() {
                                column[k * inputs + pick.attribute as usize] += by * (pick.factor * a);
                            }
                        }
                    }
                }
                column
            })
            .collect();
        gradient.weight[0].par_chunks_mut(width).enumerate().for_each(|(d, row)| {
            row.iter_mut().zip(&columns).for_each(|(slot, column)| *slot += column[d]);
        });
    }

    fn factor(&self, l: usize, node: usize, unit: usize) -> f64 {
        self.dropout.map_or(1.0, |dropout| dropout.factor(l, node, unit))
    }

    fn propagate_reverse(&self, of: ReversePass, l: usize, by: &mut Intervals, gradient: &mut Gradient) {
        let ReversePass { network, transposed, reach, .. } = of;
        let step = Step::new(network, l);
        let layer = step.layer;
        let (inputs, width, terms) = (layer.inputs(), layer.outputs(), layer.passing.terms());
        let (above_lower, above_upper) = (std::mem::take(&mut by.lower[l - 1]), std::mem::take(&mut by.upper[l - 1]));
        for &m in reach.nodes(l + 1) {
            for above in [&above_lower, &above_upper] {
                let row = bias_row(&mut gradient.bias[l - 1], width, m as usize);
                add_scaled(row, 1.0, &above[m as usize * width..][..width]);
            }
        }
        let (mut least, mut most) = (vec![0.0; terms * width], vec![0.0; terms * width]);
        for &n in reach.nodes(l) {
            let n = n as usize;
            least.fill(0.0);
            most.fill(0.0);
            for (m, entries) in transposed.passing(l).row(n) {
                let range = m * width..(m + 1) * width;
                for (k, &a) in entries.iter().enumerate().filter(|entry| *entry.1 != 0.0) {
                    let (low, high) = if a > 0.0 { (&above_lower, &above_upper) } else { (&above_upper, &above_lower) };
                    add_scaled(&mut least[k * width..][..width], a, &low[range.clone()]);
                    add_scaled(&mut most[k * width..][..width], a, &high[range.clone()]);
                }
            }
            for i in 0..inputs {
                let at = n * inputs + i;
                let (r, s) = (self.intervals.lower[l - 2][at], self.intervals.upper[l - 2][at]);
                let (sent_r, sent_s) = (step.sent(i, r), step.sent(i, s));
                let factor = self.factor(l, n, i);
                let (mut by_r, mut by_s) = (0.0, 0.0);
                for k in 0..terms {
                    let row = k * inputs + i;
                    let by_weight = &mut gradient.weight[l - 1][row * width..][..width];
                    for (j, &w) in layer.weight.row(row).iter().enumerate() {
                        let (least, most) = (least[k * width + j], most[k * width + j]);
                        let (to_r, to_s) = if w > 0.0 { (least, most) } else { (most, least) };
                        by_weight[j] += factor * (to_r * sent_r + to_s * sent_s);
                        by_r += factor * w * to_r;
                        by_s += factor * w * to_s;
                    }
                }
                by.lower[l - 2][at] += if step.moves(i, r) { by_r } else { 0.0 };
                by.upper[l - 2][at] += if step.moves(i, s) { by_s } else { 0.0 };
            }
        }
    }
}
