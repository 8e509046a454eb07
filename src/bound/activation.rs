//! Activation bounds `R ≤ Ĥ ≤ S` of every unit under every admissible perturbation (docs/math.md §3).
//!
//! Layer 2 takes the best flips of the whole budget per unit and is the tightest possible. Deeper layers are
//! propagated with clipping at zero and with the bias (the paper's printed formula has neither and is unsound), and
//! then tightened by [`crate::bound::prepared`], which treats a hidden unit as a target of its own.
//! All bounds are rounded outward. They do not depend on the target: they are computed once per graph and budget.

use rayon::prelude::*;

use crate::bound::line::capped::Cap;
use crate::number::rounding::{Enclosure, FLOOR, error_of};
use crate::problem::budget::{Budget, Restriction};
use crate::problem::flip::Flip;
use crate::problem::forward::Representation;
use crate::problem::graph::Graph;
use crate::problem::matrix::{MatrixRows, Pattern, PatternRows};
use crate::problem::network::{Layer, Network};
use crate::problem::slice::Slice;

/// `R` and `S` of one representation, row-major over all nodes.
#[derive(Clone, Debug, PartialEq)]
pub struct LayerBounds {
    /// Units per node.
    pub width: usize,
    /// `R`.
    pub lower: Vec<f64>,
    /// `S`.
    pub upper: Vec<f64>,
    /// Caps of the units, where they are known: at layer 2.
    pub caps: Vec<Cap>,
}

impl LayerBounds {
    /// Room for the bounds of some nodes.
    fn unknown(width: usize, nodes: usize) -> LayerBounds {
        let count = width * nodes;
        LayerBounds { width, lower: vec![0.0; count], upper: vec![0.0; count], caps: vec![Cap::default(); count] }
    }

    fn put(&mut self, at: usize, unit: UnitBounds) {
        (self.lower[at], self.upper[at], self.caps[at]) = (unit.lower, unit.upper, unit.cap);
    }

    /// `R` of a node.
    pub fn lower(&self, node: usize) -> &[f64] {
        &self.lower[node * self.width..][..self.width]
    }

    /// `S` of a node.
    pub fn upper(&self, node: usize) -> &[f64] {
        &self.upper[node * self.width..][..self.width]
    }

    /// Caps of a node.
    pub fn caps(&self, node: usize) -> &[Cap] {
        &self.caps[node * self.width..][..self.width]
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

/// Layer 2 (docs/math.md (3.1)). Cost: `O(h (N (q + nnz(X_n)) + E·min(q, Q)))`, memory `O(N·min(q, Q))` per thread.
pub fn first_hidden(
    graph: &Graph,
    network: &Network,
    budget: &Budget,
    columns: &Columns,
    unperturbed: &Representation,
) -> LayerBounds {
    let layer = &network.layers()[0];
    let (nodes, width) = (graph.node_count(), layer.weight.columns());
    let units: Vec<Vec<UnitBounds>> = (0..width)
        .into_par_iter()
        .map(|unit| {
            let reach = reach(graph, budget, columns.unit(unit));
            let mut pool = Vec::new();
            (0..nodes)
                .map(|m| {
                    let (columns, entries) = layer.passing.row(m);
                    let row = || columns.iter().map(|&n| n as usize).zip(entries.iter().copied());
                    unit_bounds(row, unperturbed.entry(m, unit), &reach, budget.global(), &mut pool)
                })
                .collect()
        })
        .collect();
    let mut bounds = LayerBounds::unknown(width, nodes);
    for (unit, nodes) in units.into_iter().enumerate() {
        for (m, of_unit) in nodes.into_iter().enumerate() {
            bounds.put(m * width + unit, of_unit);
        }
    }
    bounds
}

/// `R`, `S` and the cap of one unit.
struct UnitBounds {
    lower: f64,
    upper: f64,
    cap: Cap,
}

/// The bounds of a unit around its value `z`, all changes within the budget granted (docs/math.md (3.1), (5.8)).
fn unit_bounds<I: Iterator<Item = (usize, f64)>>(
    row: impl Fn() -> I,
    z: Enclosure,
    reach: &Reach,
    global: usize,
    pool: &mut Vec<f64>,
) -> UnitBounds {
    let upward = z.value < 0.0;
    // The changes towards zero come last: the pool keeps them for the cap.
    let away = best_changes(&row, reach, global, !upward, pool);
    let away_terms = pool.len();
    let towards = best_changes(&row, reach, global, upward, pool);
    let (rise, fall) = if upward { (towards, away) } else { (away, towards) };
    let terms = away_terms.max(pool.len());
    let slack = |change: f64| z.error + error_of(terms + 3, z.value.abs() + change);
    let (lower, upper) = outward((z.value - fall - slack(fall)).next_down(), (z.value + rise + slack(rise)).next_up());
    let unstable = lower < 0.0 && upper > 0.0;
    let cap = if unstable { Cap::new(z.value.abs() - slack(towards), pool) } else { Cap::default() };
    UnitBounds { lower, upper, cap }
}

/// The sum of the `Q` largest of `|A_mn| · ŝ_nji` in one direction; the pool holds them. A negative `A_mn` swaps the roles of
/// the two directions (docs/math.md (3.1)).
fn best_changes<I: Iterator<Item = (usize, f64)>>(
    row: impl Fn() -> I,
    reach: &Reach,
    global: usize,
    upward: bool,
    pool: &mut Vec<f64>,
) -> f64 {
    pool.clear();
    for (n, a) in row() {
        let list = if (a > 0.0) == upward { reach.raise(n) } else { reach.lower(n) };
        // Lists are padded with zeros, which add nothing.
        pool.extend(list.iter().take_while(|&&s| s > 0.0).map(|&s| a.abs() * s));
    }
    if pool.len() > global {
        if global > 0 {
            pool.select_nth_unstable_by(global - 1, |x, y| y.total_cmp(x));
        }
        pool.truncate(global);
    }
    pool.iter().sum()
}

/// `ŝ_nj·` of the formula for one unit `j` and all nodes.
fn reach(graph: &Graph, budget: &Budget, column: (&[f64], &[u32])) -> Reach {
    let nodes = graph.node_count();
    let capacity =
        budget.locals().iter().map(|&q| q as usize).max().unwrap_or(0).min(budget.global()).min(column.0.len());
    let mut reach = Reach { capacity, raise: vec![0.0; nodes * capacity], lower: vec![0.0; nodes * capacity] };
    if capacity == 0 {
        return reach;
    }
    let mut removals = Vec::new();
    let free = Restriction::default();
    for n in 0..nodes {
        let range = n * capacity..n * capacity + budget.local(n).min(capacity);
        let (raise, lower) = (&mut reach.raise[range.clone()], &mut reach.lower[range]);
        node_reach(graph, (budget, &free), n, column, raise, lower, &mut removals);
    }
    reach
}

/// The columns of `W(1)`, each with the attributes that may be flipped in falling order of its weights: sorted once, they
/// let each node take its largest entries in `O(q + nnz(X_n))`.
#[derive(Clone, Debug)]
pub struct Columns {
    units: Vec<(Vec<f64>, Vec<u32>)>,
}

impl Columns {
    /// Sorts the columns.
    pub fn new(network: &Network, budget: &Budget) -> Columns {
        let weight = &network.layers()[0].weight;
        let units = (0..weight.columns()).into_par_iter().map(|unit| {
            let column: Vec<f64> = (0..weight.rows()).map(|d| weight.get(d, unit)).collect();
            let mut order: Vec<u32> = (0..column.len() as u32).filter(|&d| !budget.is_frozen(d as usize)).collect();
            order.sort_unstable_by(|&a, &b| column[b as usize].total_cmp(&column[a as usize]));
            (column, order)
        });
        Columns { units: units.collect() }
    }

    fn unit(&self, unit: usize) -> (&[f64], &[u32]) {
        (&self.units[unit].0, &self.units[unit].1)
    }
}

/// Raising a unit: add what weighs positively, remove what weighs negatively. Lowering: the other way round.
fn node_reach(
    graph: &Graph,
    means: (&Budget, &Restriction),
    node: usize,
    (column, order): (&[f64], &[u32]),
    raise: &mut [f64],
    lower: &mut [f64],
    removals: &mut Vec<f64>,
) {
    let upward = order.iter().map(|&d| (d, column[d as usize]));
    fill(raise, means, graph.attributes(), node, upward, |d| -column[d], removals);
    let downward = order.iter().rev().map(|&d| (d, -column[d as usize]));
    fill(lower, means, graph.attributes(), node, downward, |d| column[d], removals);
}

/// Layer 2 of one slice in a branch of a search, around values that include the flips already made: nodes × units
/// (docs/math.md (3.1)).
pub fn first_hidden_in_branch(
    graph: &Graph,
    columns: &Columns,
    field: (&Budget, &Restriction),
    slice: &Slice,
    (value, error): (&[f64], &[f64]),
) -> LayerBounds {
    let (budget, restriction) = field;
    let width = columns.units.len();
    let global = restriction.global(budget).unwrap_or(0);
    let locals: Vec<usize> =
        slice.nodes(1).iter().map(|&n| restriction.local(budget, n).unwrap_or(0).min(global)).collect();
    let capacity = locals.iter().copied().max().unwrap_or(0).min(graph.attribute_count());
    let mut bounds = LayerBounds::unknown(width, slice.nodes(2).len());
    let (mut removals, mut pool) = (Vec::new(), Vec::new());
    for unit in 0..width {
        let zeros = vec![0.0; locals.len() * capacity];
        let mut reach = Reach { capacity, raise: zeros.clone(), lower: zeros };
        for (n, &node) in slice.nodes(1).iter().enumerate() {
            let range = n * capacity..n * capacity + locals[n].min(capacity);
            let (raise, lower) = (&mut reach.raise[range.clone()], &mut reach.lower[range]);
            node_reach(graph, field, node as usize, columns.unit(unit), raise, lower, &mut removals);
        }
        for m in 0..slice.nodes(2).len() {
            let at = m * width + unit;
            let z = Enclosure { value: value[at], error: error[at] };
            bounds.put(at, unit_bounds(|| slice.passing(1).row(m), z, &reach, global, &mut pool));
        }
    }
    bounds
}

/// Merges the gains of additions (given in falling order) and of removals into one falling list.
fn fill(
    list: &mut [f64],
    (budget, restriction): (&Budget, &Restriction),
    attributes: &Pattern,
    node: usize,
    additions: impl Iterator<Item = (u32, f64)>,
    removal: impl Fn(usize) -> f64,
    removals: &mut Vec<f64>,
) {
    let row = attributes.row(node);
    let fixed = |d: u32| restriction.fixes(Flip { node: node as u32, attribute: d });
    let additions = additions
        .take_while(|&(_, gain)| gain > 0.0 && budget.direction().adds())
        .filter(|&(d, _)| row.binary_search(&d).is_err() && !fixed(d));
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
            .filter(|&(d, g)| g > floor && !budget.is_frozen(d as usize) && !fixed(d))
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
    let row = |m: usize| {
        let (columns, entries) = layer.passing.row(m);
        columns.iter().map(|&n| n as usize).zip(entries.iter().copied())
    };
    propagate_rows(layer, layer.passing.rows(), row, previous)
}

/// The same inside a slice: from the bounds of its nodes in representation `l` to those in `l + 1`.
pub fn propagate_in_slice(layer: &Layer, slice: &Slice, l: usize, previous: &LayerBounds) -> LayerBounds {
    propagate_rows(layer, slice.nodes(l + 1).len(), |m| slice.passing(l).row(m), previous)
}

/// Interval propagation over some rows of `A(l)` (docs/math.md (3.2)).
fn propagate_rows<I: Iterator<Item = (usize, f64)>>(
    layer: &Layer,
    rows: usize,
    row: impl Fn(usize) -> I + Sync,
    previous: &LayerBounds,
) -> LayerBounds {
    let (inputs, width) = (layer.weight.rows(), layer.weight.columns());
    // Per node: the least and the most that it can send to each unit, and the magnitude for the rounding error.
    let sent: Vec<[Vec<f64>; 3]> = (0..previous.lower.len() / inputs)
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
    let mut bounds = LayerBounds::unknown(width, rows);
    bounds.caps.clear();
    let chunks = bounds.lower.par_chunks_mut(width).zip(bounds.upper.par_chunks_mut(width));
    chunks.enumerate().for_each(|(m, (lower, upper))| {
        lower.copy_from_slice(&layer.bias);
        upper.copy_from_slice(&layer.bias);
        let mut magnitude: Vec<f64> = layer.bias.iter().map(|b| b.abs()).collect();
        let mut terms = inputs + 2;
        for (n, a) in row(m) {
            terms += 1;
            let [least, most, size] = &sent[n];
            let (low, high) = if a > 0.0 { (least, most) } else { (most, least) };
            for j in 0..width {
                lower[j] += a * low[j];
                upper[j] += a * high[j];
                magnitude[j] += a.abs() * size[j];
            }
        }
        for j in 0..width {
            let slack = error_of(terms, magnitude[j]);
            (lower[j], upper[j]) = outward((lower[j] - slack).next_down(), (upper[j] + slack).next_up());
        }
    });
    bounds
}
