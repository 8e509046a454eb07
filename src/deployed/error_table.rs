//! The rounding errors of all nodes of a graph under a budget: hidden layers once, class pairs when they are asked for.
//!
//! Everything holds for every execution and every admissible set of flips at once (docs/math.md §19).

use rayon::prelude::*;

use crate::deployed::execution::Execution;
use crate::deployed::row::{Counts, LayerFacts, up};
use crate::number::rounding::Enclosure;
use crate::problem::Problem;
use crate::problem::budget::Budget;
use crate::problem::forward::Representation;
use crate::problem::matrix::PatternRows;
use crate::problem::network::Layer;

/// What is known of the units of one representation, node after node.
#[derive(Clone, Debug, Default)]
struct Units {
    width: usize,
    /// How far computed activations may be from the exact ones.
    error: Vec<f32>,
    /// How large they may be, computed.
    size: Vec<f32>,
    /// How far flips can move them, exactly. Empty where no layer above needs it.
    reach: Vec<f32>,
    /// The largest of the sizes.
    largest: f64,
}

impl Units {
    fn row<'a>(&self, of: &'a [f32], node: usize) -> &'a [f32] {
        &of[node * self.width..][..self.width]
    }
}

/// What one row of a layer receives, by term and input, and what its outputs are wrong by.
#[derive(Clone, Debug, Default)]
struct Received {
    /// `Σ_n |A_mn| e_n`.
    error: Vec<f64>,
    /// `Σ_n |A_mn| (B_n + e_n)`.
    size: Vec<f64>,
    /// `Σ_n |A_mn|` times the reach.
    reach: Vec<f64>,
    counts: Counts,
}

/// Error bounds of a problem as it is deployed.
#[derive(Clone, Debug)]
pub struct ErrorTable {
    problem: Problem,
    facts: Vec<LayerFacts>,
    /// Representations `2 … L−1`, and `L` where there is no hidden layer.
    units: Vec<Units>,
    in_range: bool,
}

/// Not below `x`, in half the memory.
fn stored(x: f64) -> f32 {
    (x as f32).next_up()
}

impl ErrorTable {
    /// Bounds of all hidden layers. `unperturbed` are the pre-activations without flips.
    pub fn new(problem: &Problem, unperturbed: &[Representation], execution: &Execution) -> ErrorTable {
        let errors = execution.operator_errors(problem.graph(), problem.network());
        ErrorTable::with_operators(problem, unperturbed, execution, errors)
    }

    /// The same with stated errors of operator entries, layer by layer and term by term.
    pub fn with_operators(
        problem: &Problem,
        unperturbed: &[Representation],
        execution: &Execution,
        errors: Vec<Vec<u32>>,
    ) -> ErrorTable {
        let network = problem.network();
        let layers = network.layers().iter().zip(errors);
        let facts = layers.map(|(layer, errors)| LayerFacts::new(execution, layer, errors)).collect();
        let mut table = ErrorTable { problem: problem.clone(), facts, units: Vec::new(), in_range: true };
        table.units.push(table.first(&unperturbed[0]));
        let present = problem.graph().attributes();
        let most = (0..present.rows()).map(|n| present.row(n).len()).max().unwrap_or(0);
        let mut inputs = most.saturating_add(problem.budget().global()).min(network.width(1));
        let mut size = 1.0;
        for (l, facts) in table.facts.iter().enumerate() {
            table.in_range &= facts.stays_in_range(size, inputs);
            if l + 2 < network.depth() {
                if l > 0 {
                    let above = table.hidden(l, &unperturbed[l]);
                    table.units.push(above);
                }
                (size, inputs) = (table.units[l].largest, network.width(l + 2));
            }
        }
        table
    }

    /// By how many unit roundoffs operator entries may differ from ours, layer by layer and term by term.
    pub fn operator_errors(&self) -> Vec<Vec<u32>> {
        self.facts.iter().map(|facts| facts.operator_errors.clone()).collect()
    }

    /// Does every number of every execution stay in the range of binary32? Where not, nothing is known.
    pub fn is_in_range(&self) -> bool {
        self.in_range
    }

    /// By how much a computed margin of two classes at a node may differ from the exact one, at most; not finite where nothing is known.
    pub fn margin_error(&self, node: usize, reference: usize, class: usize) -> f64 {
        let network = self.problem.network();
        let last = network.layers().len() - 1;
        if !self.in_range {
            return f64::INFINITY;
        }
        if last == 0 {
            let own = self.units[0].row(&self.units[0].error, node);
            return up(f64::from(own[reference]) + f64::from(own[class]), 2);
        }
        let (layer, facts, below) = (&network.layers()[last], &self.facts[last], &self.units[last - 1]);
        let received = self.receive(layer, below, node);
        let relative = facts.relative(&received.counts, 2);
        let bias = layer.bias.row(node);
        let mut magnitude = bias[reference].abs() + bias[class].abs();
        // Both margins see the same errors of the layer below.
        let mut inherited = 0.0;
        for (i, (&error, &size)) in received.error.iter().zip(&received.size).enumerate() {
            let (w, v) = (layer.weight.get(i, reference), layer.weight.get(i, class));
            inherited += error * (w - v).abs();
            magnitude += size * (w.abs() + v.abs());
        }
        let underflow = 2.0 * facts.underflows(&received.counts, below.largest);
        up(inherited + relative * magnitude + underflow, received.size.len() + 4)
    }

    /// Representation 2 (docs/math.md (19.3)).
    fn first(&self, unperturbed: &Representation) -> Units {
        let (graph, network) = (self.problem.graph(), self.problem.network());
        let (layer, facts, budget) = (&network.layers()[0], &self.facts[0], self.problem.budget());
        let (width, terms) = (layer.outputs(), layer.passing.terms());
        let sums = magnitudes(&self.problem, layer);
        let changes = LargestWeights::new(layer, budget);
        let mut units = Units::zeros(width, graph.node_count(), network.depth() > 3);
        let rows = units.rows();
        let stamps = || (vec![0u32; layer.inputs() * terms], 0u32);
        rows.enumerate().for_each_init(stamps, |(seen, now), (m, (error, size, reach))| {
            *now += 1;
            let mut counts = Counts { inputs: vec![0; terms], entries: vec![0; terms] };
            let (mut flips, mut open) = (0usize, 0usize);
            let mut largest = vec![0.0f64; terms];
            let mut magnitude: Vec<f64> = layer.bias.row(m).iter().map(|b| b.abs()).collect();
            for (n, entries) in layer.passing.row(m) {
                let local = budget.local(n);
                flips = flips.saturating_add(local);
                open += usize::from(local > 0);
                for (k, a) in entries.iter().enumerate().filter(|entry| *entry.1 != 0.0) {
                    counts.entries[k] += 1;
                    if local > 0 {
                        largest[k] = largest[k].max(a.abs());
                    }
                    let sent = &sums[(n * terms + k) * width..][..width];
                    magnitude.iter_mut().zip(sent).for_each(|(sum, &x)| *sum += a.abs() * f64::from(x));
                    for &d in graph.attributes().row(n) {
                        let stamp = &mut seen[k * layer.inputs() + d as usize];
                        counts.inputs[k] += usize::from(*stamp != *now);
                        *stamp = *now;
                    }
                }
            }
            let flips = flips.min(budget.global());
            let added = if budget.direction().adds() { flips } else { 0 };
            counts.inputs.iter_mut().for_each(|inputs| *inputs = inputs.saturating_add(added).min(layer.inputs()));
            let relative = facts.relative(&counts, 1);
            let underflow = facts.underflows(&counts, 1.0);
            let roundings = layer.passing.row_length(m) * terms + 8;
            for (j, &magnitude) in magnitude.iter().enumerate() {
                let moved: f64 =
                    largest.iter().enumerate().map(|(k, a)| a * changes.sum(k * width + j, open, flips)).sum();
                let moved = up(moved, terms + flips.min(1 << 20));
                let most = if added > 0 { magnitude + moved } else { magnitude };
                let wrong = up(relative * most + underflow, roundings);
                let entry = Entry { value: unperturbed.entry(m, j), moved, wrong };
                entry.put(layer.is_linear(j) || network.depth() == 2, (&mut error[j], &mut size[j]), reach.get_mut(j));
            }
        });
        units.close()
    }

    /// Representation `l + 2` from the one below (docs/math.md (19.4)).
    fn hidden(&self, l: usize, unperturbed: &Representation) -> Units {
        let network = self.problem.network();
        let (layer, facts, below) = (&network.layers()[l], &self.facts[l], &self.units[l - 1]);
        let mut units = Units::zeros(layer.outputs(), network.node_count(), l + 3 < network.depth());
        units.rows().enumerate().for_each(|(m, (error, size, reach))| {
            let received = self.receive(layer, below, m);
            let relative = facts.relative(&received.counts, 2);
            let underflow = facts.underflows(&received.counts, below.largest);
            for (j, bias) in layer.bias.row(m).iter().enumerate() {
                let (mut inherited, mut magnitude, mut moved) = (0.0, bias.abs(), 0.0);
                for i in 0..received.size.len() {
                    let w = layer.weight.get(i, j).abs();
                    inherited += received.error[i] * w;
                    magnitude += received.size[i] * w;
                    moved += received.reach[i] * w;
                }
                let terms = received.size.len() + 4;
                let wrong = up(inherited + relative * magnitude + underflow, terms);
                let entry = Entry { value: unperturbed.entry(m, j), moved: up(moved, terms), wrong };
                entry.put(layer.is_linear(j), (&mut error[j], &mut size[j]), reach.get_mut(j));
            }
        });
        units.close()
    }

    /// What a node receives from the representation below.
    fn receive(&self, layer: &Layer, below: &Units, m: usize) -> Received {
        let (terms, width) = (layer.passing.terms(), below.width);
        let zeros = || vec![0.0; terms * width];
        let mut received = Received { error: zeros(), size: zeros(), reach: zeros(), counts: Counts::default() };
        received.counts.entries = vec![0; terms];
        for (n, entries) in layer.passing.row(m) {
            for (k, a) in entries.iter().enumerate().filter(|entry| *entry.1 != 0.0) {
                received.counts.entries[k] += 1;
                let a = a.abs();
                let add = |to: &mut [f64], from: &[f32]| {
                    to[k * width..][..width].iter_mut().zip(from).for_each(|(sum, &x)| *sum += a * f64::from(x));
                };
                add(&mut received.error, below.row(&below.error, n));
                add(&mut received.size, below.row(&below.size, n));
                if !below.reach.is_empty() {
                    add(&mut received.reach, below.row(&below.reach, n));
                }
            }
        }
        let roundings = layer.passing.row_length(m) * terms;
        for sums in [&mut received.error, &mut received.size, &mut received.reach] {
            // What cannot differ from zero stays zero: it is not counted.
            sums.iter_mut().filter(|sum| **sum != 0.0).for_each(|sum| *sum = up(*sum, roundings));
        }
        let counted = |k: usize| received.size[k * width..][..width].iter().filter(|&&size| size != 0.0).count();
        received.counts.inputs = (0..terms).map(counted).collect();
        received
    }
}

/// One unit: its exact value without flips, how far flips move it, and what computing it is wrong by.
struct Entry {
    value: Enclosure,
    moved: f64,
    wrong: f64,
}

impl Entry {
    /// Error, size and reach of the activation.
    fn put(&self, linear: bool, (error, size): (&mut f32, &mut f32), reach: Option<&mut f32>) {
        let highest = (self.value.upper() + self.moved).next_up();
        let lowest = (self.value.lower() - self.moved).next_down();
        let farthest = if linear { highest.abs().max(lowest.abs()) } else { highest.max(0.0) };
        // Surely inactive, computed or exact: zero, and nothing is wrong with it. A comparison with NaN is false.
        let dead = !linear && (highest + 1.01 * self.wrong).next_up() < 0.0;
        (*error, *size) = if dead { (0.0, 0.0) } else { (stored(self.wrong), stored(up(farthest + self.wrong, 2))) };
        if let Some(reach) = reach {
            *reach = if !linear && highest < 0.0 { 0.0 } else { stored(self.moved) };
        }
    }
}

/// A row of errors, of sizes and of reaches.
type UnitRows<'a> = (&'a mut [f32], &'a mut [f32], &'a mut [f32]);

impl Units {
    fn zeros(width: usize, nodes: usize, reaches: bool) -> Units {
        let zeros = || vec![0.0; width * nodes];
        let reach = if reaches { zeros() } else { Vec::new() };
        Units { width, error: zeros(), size: zeros(), reach, largest: 0.0 }
    }

    fn rows(&mut self) -> impl IndexedParallelIterator<Item = UnitRows<'_>> {
        let width = self.width;
        let nodes = self.error.len() / width.max(1);
        let mut reaches: Vec<&mut [f32]> = self.reach.chunks_mut(width).collect();
        reaches.resize_with(nodes, Default::default);
        let rows = self.error.par_chunks_mut(width).zip(self.size.par_chunks_mut(width));
        rows.zip(reaches).map(|((error, size), reach)| (error, size, reach))
    }

    fn close(mut self) -> Units {
        // NaN must not be lost: it says that nothing is known.
        let larger = |x: f64, &y: &f32| if f64::from(y) > x || y.is_nan() { f64::from(y) } else { x };
        self.largest = self.size.iter().fold(0.0, larger);
        self
    }
}

/// `|X| |W_k(1)|` of every node and term, from above.
fn magnitudes(problem: &Problem, layer: &Layer) -> Vec<f32> {
    let (width, terms) = (layer.outputs(), layer.passing.terms());
    let attributes = problem.graph().attributes();
    let mut sums = vec![0.0f32; attributes.rows() * terms * width];
    sums.par_chunks_mut(width).enumerate().for_each_init(
        || vec![0.0f64; width],
        |exact, (at, row)| {
            let (present, first) = (attributes.row(at / terms), at % terms * layer.inputs());
            exact.fill(0.0);
            for &d in present {
                let weights = layer.weight.row(first + d as usize);
                exact.iter_mut().zip(weights).for_each(|(sum, w)| *sum += w.abs());
            }
            row.iter_mut().zip(&*exact).for_each(|(to, &sum)| *to = stored(up(sum, present.len())));
        },
    );
    sums
}

/// The largest absolute weights of every unit of layer 1, in falling order, and what the first so many sum up to.
struct LargestWeights(Vec<(Vec<f64>, Vec<f64>)>);

impl LargestWeights {
    fn new(layer: &Layer, budget: &Budget) -> LargestWeights {
        let (width, terms, inputs) = (layer.outputs(), layer.passing.terms(), layer.inputs());
        let most = budget.locals().iter().max().map_or(0, |&q| q as usize).min(budget.global()).min(inputs);
        let of_unit = |unit: usize| {
            let (k, j) = (unit / width, unit % width);
            let free = (0..inputs).filter(|&d| !budget.is_frozen(d));
            let mut weights: Vec<f64> = free.map(|d| layer.weight.get(k * inputs + d, j).abs()).collect();
            weights.sort_unstable_by(|x, y| y.total_cmp(x));
            weights.truncate(most + 1);
            let mut sums = vec![0.0];
            for w in &weights {
                sums.push(sums[sums.len() - 1] + w);
            }
            (weights, sums)
        };
        LargestWeights((0..width * terms).into_par_iter().map(of_unit).collect())
    }

    /// Of `flips` flips at `nodes` nodes, from above but for rounding: each weight counts at most once for each node.
    fn sum(&self, unit: usize, nodes: usize, flips: usize) -> f64 {
        if nodes == 0 {
            return 0.0;
        }
        let (weights, sums) = &self.0[unit];
        let (whole, rest) = (flips / nodes, flips % nodes);
        let next = weights.get(whole).copied().unwrap_or(0.0);
        nodes as f64 * sums[whole.min(weights.len())] + rest as f64 * next
    }
}
