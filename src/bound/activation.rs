//! Activation bounds `R ≤ Ĥ ≤ S` of every unit under every admissible perturbation (docs/math.md §3).
//!
//! Layer 2 takes the best flips of the whole budget per unit and is the tightest possible. Deeper layers are
//! propagated with clipping at zero and with the bias (the paper's printed formula has neither and is unsound), and
//! then tightened by [`crate::bound::prepared`], which treats a hidden unit as a target of its own.
//! All bounds are rounded outward. They do not depend on the target: they are computed once per graph and budget.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use rayon::prelude::*;

use crate::bound::hidden::Hidden;
use crate::bound::layer_bounds::{LayerBounds, UnitBounds};
use crate::bound::line::capped::Cap;
use crate::bound::menu::{Menu, RowLosses};
use crate::number::rounding::{Enclosure, FLOOR, error_of};
use crate::problem::Problem;
use crate::problem::budget::{Budget, Decided, Remaining};
use crate::problem::flip::Flip;
use crate::problem::forward::Representation;
use crate::problem::graph::Graph;
use crate::problem::limits::Watch;
use crate::problem::matrix::PatternRows;
use crate::problem::network::{Layer, Network};
use crate::problem::places::Places;
use crate::problem::rows::attributes_after;
use crate::problem::slice::Slice;

/// Where an overflow left no number, no bound is known.
fn outward(lower: f64, upper: f64) -> (f64, f64) {
    (if lower.is_nan() { f64::NEG_INFINITY } else { lower }, if upper.is_nan() { f64::INFINITY } else { upper })
}

/// The largest amounts by which the flips of one node can raise or lower one unit through one term, largest first.
#[derive(Debug, Default)]
struct LargestChanges {
    capacity: usize,
    raise: Vec<f64>,
    lower: Vec<f64>,
}

impl LargestChanges {
    /// Room for so many of each of some nodes, all zeros.
    fn reset(&mut self, nodes: usize, capacity: usize) {
        self.capacity = capacity;
        for list in [&mut self.raise, &mut self.lower] {
            list.clear();
            list.resize(nodes * capacity, 0.0);
        }
    }

    fn raise(&self, node: usize) -> &[f64] {
        &self.raise[node * self.capacity..][..self.capacity]
    }

    fn lower(&self, node: usize) -> &[f64] {
        &self.lower[node * self.capacity..][..self.capacity]
    }
}

/// Lists of largest changes that are not in use. They are large, and the system would have to clear new memory for
/// those of each unit.
#[derive(Clone, Debug, Default)]
struct ChangeBuffers(Arc<Mutex<Vec<LargestChanges>>>);

impl ChangeBuffers {
    fn take(&self) -> LargestChanges {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).pop().unwrap_or_default()
    }

    fn give_back(&self, used: Vec<LargestChanges>) {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).extend(used);
    }
}

/// What the flips of every node can change in one unit: through single terms, and through several at once.
struct UnitChanges<'a> {
    terms: Vec<LargestChanges>,
    columns: Vec<&'a WeightColumn>,
    graph: &'a Graph,
    remaining: Remaining<'a>,
    /// `Q` that is left.
    global: usize,
}

impl UnitChanges<'_> {
    /// Adds the largest changes in one direction that node `n` (by number in the lists, and by id) can make where it
    /// reaches a unit with these entries. A negative entry swaps the roles of the two directions (docs/math.md (3.1)).
    #[inline]
    fn extend(&self, n: usize, node: usize, entries: &[f64], upward: bool, pool: &mut Vec<f64>) {
        if let &[a] = entries {
            return self.scaled(0, n, a, upward, pool);
        }
        let mut used = entries.iter().enumerate().filter(|entry| *entry.1 != 0.0);
        match (used.next(), used.next()) {
            (None, _) => {}
            (Some((k, &a)), None) => self.scaled(k, n, a, upward, pool),
            _ => self.summed(node, entries, upward, pool),
        }
    }

    /// Where a single term reaches the unit: its list, scaled by the entry.
    #[inline]
    fn scaled(&self, k: usize, n: usize, a: f64, upward: bool, pool: &mut Vec<f64>) {
        let list = if (a > 0.0) == upward { self.terms[k].raise(n) } else { self.terms[k].lower(n) };
        // Lists fall, and are padded with zeros, which add nothing.
        let size = a.abs();
        pool.extend(list[..list.partition_point(|&s| s > 0.0)].iter().map(|&s| size * s));
    }

    /// Where several terms reach the unit: every permitted flip is evaluated, and the `q_n` largest are kept.
    fn summed(&self, node: usize, entries: &[f64], upward: bool, pool: &mut Vec<f64>) {
        // The change of a flip is a sum over the terms, and the order of no single term is its order.
        if self.graph.normalisation().is_some() {
            return self.summed_row(node, entries, upward, pool);
        }
        let Remaining { budget, decided } = self.remaining;
        let count = self.remaining.local(node as u32);
        let present = self.graph.attributes().row(node);
        let first = pool.len();
        for &d in &self.columns[0].order {
            let there = present.binary_search(&d).is_ok();
            let permitted = if there { budget.direction().removes() } else { budget.direction().adds() };
            if !permitted || decided.fixes(budget, Flip { node: node as u32, attribute: d }) {
                continue;
            }
            let (mut change, mut size) = (0.0, FLOOR);
            for (a, column) in entries.iter().zip(&self.columns) {
                change += a * column.weights[d as usize];
                size += (a * column.weights[d as usize]).abs();
            }
            // Rounded up: later errors are only allowed for in proportion to the change.
            let change = if there == upward { -change } else { change } + error_of(entries.len() + 2, size);
            if change > 0.0 {
                pool.push(change);
            }
        }
        let own = &mut pool[first..];
        if own.len() > count {
            if count > 0 {
                own.select_nth_unstable_by(count - 1, |x, y| y.total_cmp(x));
            }
            pool.truncate(first + count);
        }
    }
}

impl UnitChanges<'_> {
    /// The same where rows are normalised: the steps of the row's menu.
    fn summed_row(&self, node: usize, entries: &[f64], upward: bool, pool: &mut Vec<f64>) {
        let weigh = |d: u32| {
            let terms = entries.iter().zip(&self.columns).map(|(a, column)| a * column.weights[d as usize]);
            let (change, size) = terms.fold((0.0, FLOOR), |(sum, size), term| (sum + term, size + term.abs()));
            Weighed { weight: if upward { change } else { -change }, error: error_of(entries.len() + 2, size) }
        };
        let mut rows = RowChanges::default();
        rows.fill(self.graph, self.remaining, node, self.columns[0].order.iter().copied(), weigh, false);
        pool.extend_from_slice(&rows.menu.steps);
    }
}

/// What an attribute adds to a unit, and the error of that.
#[derive(Clone, Copy)]
struct Weighed {
    weight: f64,
    error: f64,
}

/// The largest rises of one unit by the flips of a normalised row, and the buffers to find them.
#[derive(Default)]
struct RowChanges {
    menu: Menu,
    additions: Vec<f64>,
    removals: Vec<f64>,
}

impl RowChanges {
    /// Fills the menu of a node for rises of the unit (docs/math.md (21.4)). `order` has the attributes that may be
    /// flipped, those with the largest weights first where it is `sorted`.
    fn fill(
        &mut self,
        graph: &Graph,
        remaining: Remaining,
        node: usize,
        order: impl Iterator<Item = u32>,
        weigh: impl Fn(u32) -> Weighed,
        sorted: bool,
    ) {
        let Remaining { budget, decided } = remaining;
        let capacity = remaining.local(node as u32);
        let fixed = |d: u32| decided.fixes(budget, Flip { node: node as u32, attribute: d });
        let mut present: Vec<u32> = attributes_after(graph, node as u32, &decided.flipped).collect();
        present.sort_unstable();
        let RowChanges { menu, additions, removals } = self;
        additions.clear();
        removals.clear();
        let (mut whole, mut size, mut errors) = (0.0, FLOOR, 0.0);
        for &d in &present {
            let Weighed { weight, error } = weigh(d);
            whole += weight;
            size += weight.abs();
            errors += error;
            if budget.direction().removes() && !budget.is_frozen(d as usize) && !fixed(d) {
                removals.push(error - weight);
            }
        }
        if budget.direction().adds() {
            let free = order.filter(|d| present.binary_search(d).is_err() && !fixed(*d));
            let added = free.map(&weigh).map(|Weighed { weight, error }| weight + error);
            additions.extend(added.take(if sorted { capacity } else { usize::MAX }));
        }
        for list in [&mut *additions, &mut *removals] {
            list.sort_unstable_by(|x, y| y.total_cmp(x));
            list.truncate(capacity);
        }
        // A rise of the unit is a loss of its negative.
        let radius = errors + error_of(present.len() + 4, size + errors);
        let count = present.len();
        let (normalisation, whole) = (graph.normalisation(), -whole);
        let limits = decided.row_limits(node as u32);
        menu.fill(RowLosses { normalisation, count, additions, removals, whole, radius, limits }, capacity);
    }
}

/// From so many nodes on, the columns of all units together take too much memory.
const MANY: usize = 1 << 16;

/// Layer 2 of some nodes (docs/math.md (3.1)). Cost, with `N` nodes in reach of these and `E` entries of the operators
/// between them: `O(h (N (q + nnz(X_n)) + E·min(q, Q)))`, memory `O(N·min(q, Q))` per thread and term; where terms
/// meet, `D` more for each such entry. If the work is stopped, what is returned is of no use.
pub fn first_hidden(
    graph: &Graph,
    network: &Network,
    budget: &Budget,
    columns: &Columns,
    stopped: &Watch,
    unperturbed: &Representation,
    nodes: &[u32],
) -> LayerBounds {
    let layer = &network.layers()[0];
    let width = layer.outputs();
    let free = Decided::default();
    let reaching = network.senders(1, nodes);
    let place = Places::of(&reaching, graph.node_count());
    let mut bounds = LayerBounds::unknown(width, nodes.len());
    // What is found for a unit is a column, and columns wait to be laid side by side: those of many nodes a few at a
    // time.
    let units: Vec<usize> = (0..width).collect();
    let few = if nodes.len() > MANY { rayon::current_num_threads() } else { width };
    for together in units.chunks(few.max(1)) {
        let found: Vec<Vec<UnitBounds>> = together
            .par_iter()
            .map(|&unit| {
                if stopped.is_late() {
                    return Vec::new();
                }
                let of_unit: Vec<_> = (0..layer.passing.terms()).map(|k| columns.unit(k * width + unit)).collect();
                let largest = |column: &&WeightColumn| largest_changes(graph, budget, &reaching, columns, column);
                let terms = of_unit.iter().map(largest).collect();
                let remaining = Remaining { budget, decided: &free };
                let changes = UnitChanges { terms, columns: of_unit, graph, remaining, global: budget.global() };
                let mut pool = Vec::new();
                let of_node = |&m: &u32| {
                    let row = || layer.passing.row(m as usize).map(|(n, entries)| (place.get(n), n, entries));
                    unit_bounds(row, unperturbed.entry(m as usize, unit), &changes, &mut pool)
                };
                let found = nodes.iter().take_while(|_| !stopped.was_late()).map(of_node).collect();
                columns.buffers.give_back(changes.terms);
                found
            })
            .collect();
        for (&unit, column) in together.iter().zip(found) {
            for (row, of_unit) in column.into_iter().enumerate() {
                bounds.put(row * width + unit, of_unit);
            }
        }
    }
    bounds.of_nodes(nodes, graph.node_count()).straighten(layer)
}

/// The bounds of a unit around its value `z`, all changes within the budget granted (docs/math.md (3.1), (5.8)).
fn unit_bounds<'r, I: Iterator<Item = (usize, usize, &'r [f64])>>(
    row: impl Fn() -> I,
    z: Enclosure,
    changes: &UnitChanges,
    pool: &mut Vec<f64>,
) -> UnitBounds {
    let upward = z.value < 0.0;
    // The changes towards zero come last: the pool keeps them for the cap.
    let away = best_changes(&row, changes, !upward, pool);
    let away_terms = pool.len();
    let towards = best_changes(&row, changes, upward, pool);
    // Both sums are attained by admissible sets (1.6), so no bound of layer 2 is tighter (3.1).
    let (rise, fall) = if upward { (towards, away) } else { (away, towards) };
    let terms = away_terms.max(pool.len());
    let slack = |change: f64| z.error + error_of(terms + 3, z.value.abs() + change);
    let (lower, upper) = outward((z.value - fall - slack(fall)).next_down(), (z.value + rise + slack(rise)).next_up());
    let unstable = lower < 0.0 && upper > 0.0;
    let cap = match unstable {
        // Levels are those of single flips, which a normalised row has not.
        true if changes.graph.normalisation().is_some() => Cap { level: 0.0, largest: f64::INFINITY },
        true => Cap::new(z.value.abs() - slack(towards), pool),
        false => Cap::default(),
    };
    UnitBounds { lower, upper, cap }
}

/// The sum of the `Q` largest changes in one direction; the pool holds them (docs/math.md (3.1)).
fn best_changes<'r, I: Iterator<Item = (usize, usize, &'r [f64])>>(
    row: impl Fn() -> I,
    changes: &UnitChanges,
    upward: bool,
    pool: &mut Vec<f64>,
) -> f64 {
    pool.clear();
    // Flips that must be made in a row are no longer shared out.
    let mut reserved = Vec::new();
    for (n, node, entries) in row() {
        let start = pool.len();
        changes.extend(n, node, entries, upward, pool);
        let least = changes.remaining.decided.least(node as u32);
        if least > 0 {
            reserved.extend(pool.drain(start..pool.len().min(start + least)));
        }
    }
    let global = changes.global;
    if pool.len() > global {
        if global > 0 {
            pool.select_nth_unstable_by(global - 1, |x, y| y.total_cmp(x));
        }
        pool.truncate(global);
    }
    pool.append(&mut reserved);
    pool.iter().sum()
}

/// `ŝ_nj·` of the formula for one unit `j` and some nodes.
fn largest_changes(
    graph: &Graph,
    budget: &Budget,
    nodes: &[u32],
    columns: &Columns,
    column: &WeightColumn,
) -> LargestChanges {
    let most = nodes.iter().map(|&n| budget.local(n as usize)).max().unwrap_or(0);
    let capacity = most.min(budget.global()).min(column.weights.len());
    let mut changes = columns.buffers.take();
    changes.reset(nodes.len(), capacity);
    if capacity == 0 {
        return changes;
    }
    let mut buffers = RowBuffers::default();
    let free = Decided::default();
    for (at, &n) in nodes.iter().enumerate() {
        let n = n as usize;
        let range = at * capacity..at * capacity + budget.local(n).min(capacity);
        let (raise, lower) = (&mut changes.raise[range.clone()], &mut changes.lower[range]);
        let remaining = Remaining { budget, decided: &free };
        largest_changes_of(graph, remaining, n, column, raise, lower, &mut buffers);
    }
    changes
}

/// The columns of the `W_k(1)`, term after term, each with the attributes that may be flipped in falling order of its
/// weights: sorted once, they let each node take its largest entries in `O(q + nnz(X_n))`.
#[derive(Clone, Debug)]
pub struct Columns {
    units: Vec<WeightColumn>,
    buffers: ChangeBuffers,
}

/// One column of a `W_k(1)`: what every attribute weighs in one unit.
#[derive(Clone, Debug)]
struct WeightColumn {
    /// By attribute.
    weights: Vec<f64>,
    /// The attributes that may be flipped, in falling order of their weights.
    order: Vec<u32>,
}

impl Columns {
    /// Sorts every column: `O(h D log D)` for each term.
    pub fn new(network: &Network, budget: &Budget) -> Columns {
        let layer = &network.layers()[0];
        let (inputs, width) = (layer.inputs(), layer.outputs());
        let units = (0..width * layer.passing.terms()).into_par_iter().map(|at| {
            let (first, unit) = (at / width * inputs, at % width);
            let weights: Vec<f64> = (0..inputs).map(|d| layer.weight.get(first + d, unit)).collect();
            let mut order: Vec<u32> = (0..inputs as u32).filter(|&d| !budget.is_frozen(d as usize)).collect();
            order.sort_unstable_by(|&a, &b| weights[b as usize].total_cmp(&weights[a as usize]));
            WeightColumn { weights, order }
        });
        Columns { units: units.collect(), buffers: ChangeBuffers::default() }
    }

    fn unit(&self, unit: usize) -> &WeightColumn {
        &self.units[unit]
    }
}

/// Buffers for the largest changes of rows.
#[derive(Default)]
struct RowBuffers {
    removals: Vec<f64>,
    /// Which attributes a row has: none between two rows.
    present: Vec<bool>,
}

/// Raising a unit: add what weighs positively, remove what weighs negatively. Lowering: the other way round.
fn largest_changes_of(
    graph: &Graph,
    remaining: Remaining,
    node: usize,
    column: &WeightColumn,
    raise: &mut [f64],
    lower: &mut [f64],
    buffers: &mut RowBuffers,
) {
    let WeightColumn { weights, order } = column;
    if graph.normalisation().is_some() {
        let mut rows = RowChanges::default();
        let exact = |weight: f64| Weighed { weight, error: 0.0 };
        rows.fill(graph, remaining, node, order.iter().copied(), |d| exact(weights[d as usize]), true);
        put(raise, &rows.menu.steps);
        rows.fill(graph, remaining, node, order.iter().rev().copied(), |d| exact(-weights[d as usize]), true);
        put(lower, &rows.menu.steps);
        return;
    }
    let row = graph.attributes().row(node);
    buffers.present.resize(weights.len(), false);
    row.iter().for_each(|&d| buffers.present[d as usize] = true);
    let upward = order.iter().map(|&d| (d, weights[d as usize]));
    fill(raise, remaining, row, node, upward, |d| -weights[d], buffers);
    let downward = order.iter().rev().map(|&d| (d, -weights[d as usize]));
    fill(lower, remaining, row, node, downward, |d| weights[d], buffers);
    row.iter().for_each(|&d| buffers.present[d as usize] = false);
}

/// Copies a falling list into another, which is padded with zeros.
fn put(into: &mut [f64], list: &[f64]) {
    into.fill(0.0);
    into.iter_mut().zip(list).for_each(|(slot, &step)| *slot = step);
}

/// The steps of the menus of normalised rows for rises and falls of all units: those of rows of which a branch has
/// decided nothing are the same in every branch with as many flips.
#[derive(Debug, Default)]
pub struct KnownSteps {
    /// By node and number of flips; as many numbers for the rise of each unit, then for its fall.
    rows: HashMap<(u32, usize), Arc<[f64]>>,
}

impl KnownSteps {
    /// Forgets all rows: to be called for each new target.
    pub fn forget(&mut self) {
        self.rows.clear();
    }

    /// Those of a row.
    fn of(&mut self, graph: &Graph, columns: &Columns, remaining: Remaining, node: u32) -> Arc<[f64]> {
        let capacity = remaining.local(node);
        let made = || {
            let mut steps = vec![0.0; 2 * capacity * columns.units.len()];
            let lists = steps.chunks_exact_mut((2 * capacity).max(1));
            for (column, list) in columns.units.iter().zip(lists) {
                let (raise, lower) = list.split_at_mut(capacity);
                largest_changes_of(graph, remaining, node as usize, column, raise, lower, &mut RowBuffers::default());
            }
            steps.into()
        };
        if remaining.decided.touches(node) {
            return made();
        }
        Arc::clone(self.rows.entry((node, capacity)).or_insert_with(made))
    }
}

/// Layer 2 of one slice in a branch of a search, nodes × units (docs/math.md (3.1)); `hidden` is anchored at the flips
/// already made. None after the deadline.
pub fn first_hidden_in_branch(
    problem: &Problem,
    columns: &Columns,
    decided: &Decided,
    slice: &Slice,
    hidden: &Hidden,
    known: &mut KnownSteps,
    watch: &Watch,
) -> Option<LayerBounds> {
    let graph = problem.graph();
    let remaining = Remaining { budget: problem.budget(), decided };
    let layer = &problem.network().layers()[0];
    let width = layer.outputs();
    let global = remaining.global();
    let locals: Vec<usize> = slice.nodes(1).iter().map(|&n| remaining.local(n)).collect();
    let capacity = locals.iter().copied().max().unwrap_or(0).min(graph.attribute_count());
    let mut bounds = LayerBounds::unknown(width, slice.nodes(2).len());
    let (mut buffers, mut pool) = (RowBuffers::default(), Vec::new());
    let nodes = slice.nodes(1);
    let mut steps = Vec::new();
    if graph.normalisation().is_some() {
        for &node in nodes {
            if watch.is_late() {
                return None;
            }
            steps.push(known.of(graph, columns, remaining, node));
        }
    }
    for unit in 0..width {
        if watch.is_late() {
            return None;
        }
        let columns: Vec<_> = (0..layer.passing.terms()).map(|k| columns.unit(k * width + unit)).collect();
        let zeros = vec![0.0; locals.len() * capacity];
        let mut terms = Vec::with_capacity(columns.len());
        for (k, column) in columns.iter().enumerate() {
            let mut changes = LargestChanges { capacity, raise: zeros.clone(), lower: zeros.clone() };
            for (n, &node) in nodes.iter().enumerate() {
                let local = locals[n].min(capacity);
                let range = n * capacity..n * capacity + local;
                let (raise, lower) = (&mut changes.raise[range.clone()], &mut changes.lower[range]);
                if let Some(steps) = steps.get(n) {
                    let list = &steps[2 * locals[n] * (k * width + unit)..][..2 * locals[n]];
                    raise.copy_from_slice(&list[..local]);
                    lower.copy_from_slice(&list[locals[n]..][..local]);
                    continue;
                }
                largest_changes_of(graph, remaining, node as usize, column, raise, lower, &mut buffers);
            }
            terms.push(changes);
        }
        let global = global.saturating_sub(decided.least_in_all());
        let changes = UnitChanges { terms, columns, graph, remaining, global };
        for m in 0..slice.nodes(2).len() {
            let at = m * width + unit;
            let z = Enclosure { value: hidden.value[at], error: hidden.error[at] };
            let row = || slice.passing(1).row(m).map(|(n, entries)| (n, nodes[n] as usize, entries));
            bounds.put(at, unit_bounds(row, z, &changes, &mut pool));
        }
    }
    Some(bounds.straighten(layer))
}

/// Merges the gains of additions (given in falling order) and of removals into one falling list.
fn fill(
    list: &mut [f64],
    Remaining { budget, decided }: Remaining,
    row: &[u32],
    node: usize,
    additions: impl Iterator<Item = (u32, f64)>,
    removal: impl Fn(usize) -> f64,
    RowBuffers { removals, present }: &mut RowBuffers,
) {
    let may_be_fixed = !(decided.flipped.is_empty() && decided.kept.is_empty()) || budget.has_categories();
    let fixed = |d: u32| may_be_fixed && decided.fixes(budget, Flip { node: node as u32, attribute: d });
    let additions = additions
        .take_while(|&(_, gain)| gain > 0.0 && budget.direction().adds())
        .filter(|&(d, _)| !present[d as usize] && !fixed(d));
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

/// Layers 3 and up of some nodes: interval propagation with bias and clipping, signs of `W` and of `A` split.
/// `previous` has the bounds of all nodes that send to these.
pub fn propagate(layer: &Layer, nodes: &[u32], previous: &LayerBounds) -> LayerBounds {
    let row = |m: usize| layer.passing.row(nodes[m] as usize).map(|(n, entries)| (previous.row(n), entries));
    propagate_rows(layer, nodes, row, previous).of_nodes(nodes, layer.passing.nodes())
}

/// The same inside a slice: from the bounds of its nodes in representation `l` to those in `l + 1`.
pub fn propagate_in_slice(layer: &Layer, slice: &Slice, l: usize, previous: &LayerBounds) -> LayerBounds {
    propagate_rows(layer, slice.nodes(l + 1), |m| slice.passing(l).row(m), previous)
}

/// Interval propagation over some rows of `A(l)` (docs/math.md (3.2)).
fn propagate_rows<'r, I: Iterator<Item = (usize, &'r [f64])>>(
    layer: &Layer,
    nodes: &[u32],
    row: impl Fn(usize) -> I + Sync,
    previous: &LayerBounds,
) -> LayerBounds {
    let (inputs, width, count) = (layer.inputs(), layer.outputs(), layer.passing.terms());
    // Per node and term: the least and the most that it can send to each unit, and the magnitude for the rounding
    // error.
    let sent: Vec<[Vec<f64>; 3]> = (0..previous.lower.len() / inputs * count)
        .into_par_iter()
        .map(|at| {
            let (n, k) = (at / count, at % count);
            let (mut least, mut most, mut size) = (vec![0.0; width], vec![0.0; width], vec![FLOOR; width]);
            for i in 0..inputs {
                let (r, s) = previous.sent(n, i);
                let largest = r.abs().max(s);
                for (j, &w) in layer.weight.row(k * inputs + i).iter().enumerate() {
                    let (low, high) = if w > 0.0 { (r, s) } else { (s, r) };
                    least[j] += low * w;
                    most[j] += high * w;
                    size[j] += largest * w.abs();
                }
            }
            [least, most, size]
        })
        .collect();
    let mut bounds = LayerBounds::unknown(width, nodes.len());
    bounds.caps.clear();
    let chunks = bounds.lower.par_chunks_mut(width).zip(bounds.upper.par_chunks_mut(width));
    chunks.enumerate().for_each(|(m, (lower, upper))| {
        let bias = layer.bias.row(nodes[m] as usize);
        lower.copy_from_slice(bias);
        upper.copy_from_slice(bias);
        let mut magnitude: Vec<f64> = bias.iter().map(|b| b.abs()).collect();
        let mut terms = inputs + 2;
        for (n, entries) in row(m) {
            terms += count;
            for (k, &a) in entries.iter().enumerate() {
                let [least, most, size] = &sent[n * count + k];
                let (low, high) = if a > 0.0 { (least, most) } else { (most, least) };
                for j in 0..width {
                    lower[j] += a * low[j];
                    upper[j] += a * high[j];
                    magnitude[j] += a.abs() * size[j];
                }
            }
        }
        for j in 0..width {
            let slack = error_of(terms, magnitude[j]);
            (lower[j], upper[j]) = outward((lower[j] - slack).next_down(), (upper[j] + slack).next_up());
        }
    });
    bounds.straighten(layer)
}
