//! Activation bounds `R ≤ Ĥ ≤ S` of every unit under every admissible perturbation (math §3).
//!
//! Layer 2 takes the best flips of the whole budget per unit and is the tightest possible. Deeper layers are
//! propagated with clipping at zero and with the bias (the paper's printed formula has neither and is unsound), and
//! then tightened by [`crate::certifier`], which treats a hidden unit as a target of its own.
//! All bounds are rounded outward. They do not depend on the target: they are computed once per graph and budget.

use gcnproof_files::{Pattern, SparseMatrix};
use rayon::prelude::*;

use crate::budget::Budget;
use crate::forward::Representation;
use crate::graph::Graph;
use crate::model::{Gcn, Layer};
use crate::rounding::{FLOOR, error_of};

/// `R` and `S` of one representation, row-major over all nodes.
#[derive(Clone, Debug, PartialEq)]
pub struct LayerBounds {
    /// Units per node.
    pub width: usize,
    /// `R`.
    pub lower: Vec<f64>,
    /// `S`.
    pub upper: Vec<f64>,
}

impl LayerBounds {
    /// `R` of a node.
    pub fn lower(&self, node: usize) -> &[f64] {
        &self.lower[node * self.width..][..self.width]
    }

    /// `S` of a node.
    pub fn upper(&self, node: usize) -> &[f64] {
        &self.upper[node * self.width..][..self.width]
    }
}

/// Where an overflow left no number, no bound is known.
fn outward(lower: f64, upper: f64) -> (f64, f64) {
    (if lower.is_nan() { f64::NEG_INFINITY } else { lower }, if upper.is_nan() { f64::INFINITY } else { upper })
}

/// The largest amounts by which the flips of one node can raise or lower one unit, largest first.
struct Reach {
    capacity: usize,
    raise: Vec<f64>,
    lower: Vec<f64>,
}

impl Reach {
    fn raise(&self, node: usize) -> &[f64] {
        &self.raise[node * self.capacity..][..self.capacity]
    }

    fn lower(&self, node: usize) -> &[f64] {
        &self.lower[node * self.capacity..][..self.capacity]
    }
}

/// Layer 2. Cost: `O(h (N (q + nnz(X_n)) + E·min(q, Q)))`, memory `O(N·min(q, Q))` per thread.
pub fn first_hidden(graph: &Graph, gcn: &Gcn, budget: &Budget, unperturbed: &Representation) -> LayerBounds {
    let layer = &gcn.layers()[0];
    let (nodes, width) = (graph.node_count(), layer.weight.columns);
    let columns: Vec<(Vec<f64>, Vec<f64>)> = (0..width)
        .into_par_iter()
        .map(|unit| {
            let column: Vec<f64> = (0..layer.weight.rows).map(|d| layer.weight.get(d, unit)).collect();
            let reach = reach(graph, budget, &column);
            let mut pool = Vec::new();
            (0..nodes)
                .map(|m| {
                    let z = unperturbed.entry(m, unit);
                    let (rise, fall, terms) = best_changes(&layer.passing, m, &reach, budget.global(), &mut pool);
                    let slack = |change: f64| z.error + error_of(terms + 3, z.value.abs() + change);
                    outward((z.value - fall - slack(fall)).next_down(), (z.value + rise + slack(rise)).next_up())
                })
                .unzip()
        })
        .collect();
    let mut bounds = LayerBounds { width, lower: vec![0.0; nodes * width], upper: vec![0.0; nodes * width] };
    for (unit, (lower, upper)) in columns.into_iter().enumerate() {
        for m in 0..nodes {
            bounds.lower[m * width + unit] = lower[m];
            bounds.upper[m * width + unit] = upper[m];
        }
    }
    bounds
}

/// The sum of the `Q` largest of `|A_mn| · ŝ_nji`, upward and downward, and how many terms the longer sum has. A negative
/// `A_mn` swaps the two roles.
fn best_changes(
    matrix: &SparseMatrix,
    m: usize,
    reach: &Reach,
    global: usize,
    pool: &mut Vec<f64>,
) -> (f64, f64, usize) {
    let (columns, entries) = matrix.row(m);
    let mut terms = 0;
    let mut best = |upward: bool| {
        pool.clear();
        for (&n, &a) in columns.iter().zip(entries) {
            let list = if (a > 0.0) == upward { reach.raise(n as usize) } else { reach.lower(n as usize) };
            // Lists are padded with zeros, which add nothing.
            pool.extend(list.iter().take_while(|&&s| s > 0.0).map(|&s| a.abs() * s));
        }
        if pool.len() > global {
            if global == 0 {
                return 0.0;
            }
            pool.select_nth_unstable_by(global - 1, |x, y| y.total_cmp(x));
            pool.truncate(global);
        }
        terms = terms.max(pool.len());
        pool.iter().sum()
    };
    let (rise, fall) = (best(true), best(false));
    (rise, fall, terms)
}

/// `ŝ_nj·` of the formula for one unit `j`: the column is sorted once, so that each node takes its largest entries in
/// `O(q + nnz(X_n))`.
fn reach(graph: &Graph, budget: &Budget, column: &[f64]) -> Reach {
    let nodes = graph.node_count();
    let capacity =
        budget.locals().iter().map(|&q| q as usize).max().unwrap_or(0).min(budget.global()).min(column.len());
    let mut reach = Reach { capacity, raise: vec![0.0; nodes * capacity], lower: vec![0.0; nodes * capacity] };
    if capacity == 0 {
        return reach;
    }
    let mut order: Vec<u32> = (0..column.len() as u32).filter(|&d| !budget.is_frozen(d as usize)).collect();
    order.sort_unstable_by(|&a, &b| column[b as usize].total_cmp(&column[a as usize]));
    let mut removals = Vec::new();
    for n in 0..nodes {
        let capacity = budget.local(n).min(reach.capacity);
        let at = n * reach.capacity;
        // Raising: add what weighs positively, remove what weighs negatively. Lowering: the other way round.
        fill(
            &mut reach.raise[at..at + capacity],
            budget,
            graph.attributes(),
            n,
            order.iter().map(|&d| (d, column[d as usize])),
            |d| -column[d],
            &mut removals,
        );
        fill(
            &mut reach.lower[at..at + capacity],
            budget,
            graph.attributes(),
            n,
            order.iter().rev().map(|&d| (d, -column[d as usize])),
            |d| column[d],
            &mut removals,
        );
    }
    reach
}

/// Merges the gains of additions (given in falling order) and of removals into one falling list.
fn fill(
    list: &mut [f64],
    budget: &Budget,
    attributes: &Pattern,
    node: usize,
    additions: impl Iterator<Item = (u32, f64)>,
    removal: impl Fn(usize) -> f64,
    removals: &mut Vec<f64>,
) {
    let row = attributes.row(node);
    let additions = additions
        .take_while(|&(_, gain)| gain > 0.0 && budget.direction().adds())
        .filter(|(d, _)| row.binary_search(d).is_err());
    let mut length = 0;
    for (slot, (_, gain)) in list.iter_mut().zip(additions) {
        *slot = gain;
        length += 1;
    }
    if !budget.direction().removes() {
        return;
    }
    // A removal that gains less than the last addition of a full list changes nothing, and nearly all do.
    let floor = if length == list.len() { list.last().copied().unwrap_or(f64::INFINITY) } else { 0.0 };
    removals.clear();
    removals.extend(
        row.iter()
            .map(|&d| (d, removal(d as usize)))
            .filter(|&(d, g)| g > floor && !budget.is_frozen(d as usize))
            .map(|r| r.1),
    );
    if removals.is_empty() {
        return;
    }
    removals.extend_from_slice(&list[..length]);
    removals.sort_unstable_by(|x, y| y.total_cmp(x));
    for (slot, &gain) in list.iter_mut().zip(removals.iter()) {
        *slot = gain;
    }
}

/// Layers 3 and up: interval propagation with bias and clipping, signs of `W` and of `A` split.
pub fn propagate(layer: &Layer, previous: &LayerBounds) -> LayerBounds {
    let nodes = layer.passing.rows;
    let (inputs, width) = (layer.weight.rows, layer.weight.columns);
    // Per node: the least and the most that it can send to each unit, and the magnitude for the rounding error.
    let sent: Vec<[Vec<f64>; 3]> = (0..nodes)
        .into_par_iter()
        .map(|n| {
            let (mut least, mut most, mut size) = (vec![0.0; width], vec![0.0; width], vec![FLOOR; width]);
            for i in 0..inputs {
                let (r, s) = (previous.lower(n)[i].max(0.0), previous.upper(n)[i].max(0.0));
                for (j, &w) in layer.weight.row(i).iter().enumerate() {
                    let (low, high) = if w > 0.0 { (r, s) } else { (s, r) };
                    least[j] += low * w;
                    most[j] += high * w;
                    size[j] += s * w.abs();
                }
            }
            [least, most, size]
        })
        .collect();
    let rows: Vec<(Vec<f64>, Vec<f64>)> = (0..nodes)
        .into_par_iter()
        .map(|m| {
            let mut lower = layer.bias.clone();
            let mut upper = layer.bias.clone();
            let mut magnitude: Vec<f64> = layer.bias.iter().map(|b| b.abs()).collect();
            let (columns, entries) = layer.passing.row(m);
            for (&n, &a) in columns.iter().zip(entries) {
                let [least, most, size] = &sent[n as usize];
                let (low, high) = if a > 0.0 { (least, most) } else { (most, least) };
                for j in 0..width {
                    lower[j] += a * low[j];
                    upper[j] += a * high[j];
                    magnitude[j] += a.abs() * size[j];
                }
            }
            for j in 0..width {
                let slack = error_of(inputs + columns.len() + 2, magnitude[j]);
                (lower[j], upper[j]) = outward((lower[j] - slack).next_down(), (upper[j] + slack).next_up());
            }
            (lower, upper)
        })
        .collect();
    let mut bounds = LayerBounds { width, lower: Vec::new(), upper: Vec::new() };
    for (lower, upper) in rows {
        bounds.lower.extend(lower);
        bounds.upper.extend(upper);
    }
    bounds
}
