//! The rounding errors of all nodes of a graph under a budget: hidden layers once, class pairs when they are asked for.
//!
//! Everything holds for every execution and every admissible set of flips at once (docs/math.md §19).

use rayon::prelude::*;

use crate::deployed::execution::Execution;
use crate::deployed::first;
use crate::deployed::row::{Counts, LayerFacts, up};
use crate::deployed::units::{Entry, Units};
use crate::problem::Problem;
use crate::problem::forward::Representation;
use crate::problem::matrix::PatternRows;
use crate::problem::network::Layer;

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
        table.units.push(first::units(problem, &table.facts[0], &unperturbed[0]));
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

    /// By how much computed margins of a class over others may differ from the exact ones at a node, at most; not finite where nothing
    /// is known.
    pub fn margin_errors(&self, node: usize, reference: usize, classes: &[usize]) -> Vec<f64> {
        let network = self.problem.network();
        let last = network.layers().len() - 1;
        if !self.in_range {
            return vec![f64::INFINITY; classes.len()];
        }
        if last == 0 {
            let own = self.units[0].row(&self.units[0].error, node);
            let both = |&class: &usize| up(f64::from(own[reference]) + f64::from(own[class]), 2);
            return classes.iter().map(both).collect();
        }
        let (layer, facts, below) = (&network.layers()[last], &self.facts[last], &self.units[last - 1]);
        let received = self.receive(layer, below, node);
        let relative = facts.relative(&received.counts, 2);
        let bias = layer.bias.row(node);
        // By class: what comes from below, of which both logits see the same, and the magnitudes of sums.
        let mut sums: Vec<(f64, f64)> =
            classes.iter().map(|&class| (0.0, bias[reference].abs() + bias[class].abs())).collect();
        for (i, (&error, &size)) in received.error.iter().zip(&received.size).enumerate() {
            let weights = layer.weight.row(i);
            let w = weights[reference];
            for ((inherited, magnitude), &class) in sums.iter_mut().zip(classes) {
                *inherited += error * (w - weights[class]).abs();
                *magnitude += size * (w.abs() + weights[class].abs());
            }
        }
        let underflow = 2.0 * facts.underflows(&received.counts, below.largest);
        let terms = received.size.len() + 4;
        sums.into_iter().map(|(inherited, magnitude)| up(inherited + relative * magnitude + underflow, terms)).collect()
    }

    /// The same of one pair.
    pub fn margin_error(&self, node: usize, reference: usize, class: usize) -> f64 {
        self.margin_errors(node, reference, &[class])[0]
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
