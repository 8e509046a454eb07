//! The first hidden layer: attributes are 0 and 1, and flips change them (docs/math.md (19.3)).

use rayon::prelude::*;

use crate::deployed::row::{Counts, LayerFacts, up};
use crate::deployed::units::{Entry, Units};
use crate::problem::Problem;
use crate::problem::budget::Budget;
use crate::problem::forward::{Representation, first_magnitudes};
use crate::problem::matrix::PatternRows;
use crate::problem::network::Layer;

/// Representation 2. `unperturbed` is what the forward pass gives for it.
pub(super) fn units(problem: &Problem, facts: &LayerFacts, unperturbed: &Representation) -> Units {
    let (graph, network) = (problem.graph(), problem.network());
    let (layer, budget) = (&network.layers()[0], problem.budget());
    let (width, terms) = (layer.outputs(), layer.passing.terms());
    let changes = LargestWeights::new(layer, budget);
    let mut units = Units::zeros(width, graph.node_count(), network.depth() > 3);
    let rows = units.rows();
    let stamps = || (vec![0u32; layer.inputs() * terms], 0u32);
    rows.enumerate().for_each_init(stamps, |(seen, now), (m, (error, size, reach))| {
        *now += 1;
        let mut counts = Counts { inputs: vec![0; terms], entries: vec![0; terms] };
        let (mut flips, mut open) = (0usize, 0usize);
        let mut largest = vec![0.0f64; terms];
        for (n, entries) in layer.passing.row(m) {
            let local = budget.local(n);
            flips = flips.saturating_add(local);
            open += usize::from(local > 0);
            for (k, a) in entries.iter().enumerate().filter(|entry| *entry.1 != 0.0) {
                counts.entries[k] += 1;
                if local > 0 {
                    largest[k] = largest[k].max(a.abs());
                }
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
        let spread = Spread { nodes: open, each: flips / open.max(1), rest: flips % open.max(1) };
        for (j, magnitude) in first_magnitudes(graph, layer, unperturbed, m).enumerate() {
            let moved: f64 = largest.iter().enumerate().map(|(k, a)| a * changes.sum(k * width + j, spread)).sum();
            let moved = up(moved, terms + flips.min(1 << 20));
            let most = if added > 0 { magnitude + moved } else { magnitude };
            let wrong = up(relative * most + underflow, 8);
            let entry = Entry { value: unperturbed.entry(m, j), moved, wrong };
            entry.put(layer.is_linear(j) || network.depth() == 2, (&mut error[j], &mut size[j]), reach.get_mut(j));
        }
    });
    units.close()
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
            if weights.len() > most + 1 {
                weights.select_nth_unstable_by(most, |x, y| y.total_cmp(x));
                weights.truncate(most + 1);
            }
            weights.sort_unstable_by(|x, y| y.total_cmp(x));
            let mut sums = vec![0.0];
            for w in &weights {
                sums.push(sums[sums.len() - 1] + w);
            }
            (weights, sums)
        };
        LargestWeights((0..width * terms).into_par_iter().map(of_unit).collect())
    }

    /// Of flips spread over nodes, from above but for rounding: each weight counts at most once for each node.
    fn sum(&self, unit: usize, spread: Spread) -> f64 {
        let (weights, sums) = &self.0[unit];
        let next = weights.get(spread.each).copied().unwrap_or(0.0);
        spread.nodes as f64 * sums[spread.each.min(weights.len())] + spread.rest as f64 * next
    }
}

/// Flips at some nodes: so many at each of them, and one more at some. None where there are no nodes.
#[derive(Clone, Copy)]
struct Spread {
    nodes: usize,
    each: usize,
    rest: usize,
}
