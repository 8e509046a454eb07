//! The rounding errors of all nodes of a graph under a budget: hidden layers once, class pairs when they are asked for.
//!
//! Everything holds for every execution of the network as it is described, and for every admissible set of flips, or of
//! moves of attributes that are numbers, at once (docs/math.md §19, (25.6)).

use gcnproof_files::DescribedLayer;
use rayon::prelude::*;

use crate::deployed::attributes::{AttributeTerms, Seen};
use crate::deployed::execution::Execution;
use crate::deployed::row::{LayerFacts, RowFacts, up};
use crate::deployed::term::{TermWeights, bias, bias_sizes};
use crate::deployed::units::{ComputedUnit, UnitErrors};
use crate::problem::Problem;
use crate::problem::forward::{Representation, first_magnitudes};

/// Roundings of a product `a x w` that reads an attribute: 0 and 1 are exact factors; a number is rounded to the
/// format, and multiplied twice.
const BITS: usize = 1;
const NUMBERS: usize = 3;

/// What one row of a layer receives from other layers: by term and input, of the terms that read layers one after the
/// other.
#[derive(Clone, Debug, Default)]
struct Received {
    /// `Σ_n |A_mn| e_n`.
    error: Vec<f64>,
    /// `Σ_n |A_mn| (B_n + e_n)`.
    size: Vec<f64>,
    /// `Σ_n |A_mn|` times the reach.
    reach: Vec<f64>,
    row: RowFacts,
}

/// Error bounds of a problem as it is deployed.
#[derive(Clone, Debug)]
pub struct ErrorTable {
    problem: Problem,
    operator_errors: Vec<Vec<u32>>,
    /// By described layer.
    facts: Vec<LayerFacts>,
    /// The described layers but for the last.
    units: Vec<UnitErrors>,
    /// What the last reads of the attributes.
    attributes: AttributeTerms,
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
        operator_errors: Vec<Vec<u32>>,
    ) -> ErrorTable {
        let ranged = problem.budget().ranges().is_some();
        let problem = &problem.on_own_attributes();
        let network = problem.network();
        let layers = network.described().layers.iter();
        let divided = problem.graph().normalisation().is_some();
        let products = if ranged || divided { NUMBERS } else { BITS };
        let facts =
            layers.map(|layer| LayerFacts::new(execution, network, layer, &operator_errors[layer.layer], products));
        let facts = facts.collect();
        let attributes = AttributeTerms::default();
        let mut table = ErrorTable { problem: problem.clone(), operator_errors, facts, units: Vec::new(), attributes };
        let last = network.described().layers.len() - 1;
        for at in 0..last {
            let units = table.hidden(at, unperturbed);
            table.units.push(units);
        }
        table.attributes = AttributeTerms::new(problem, table.layer(last), true);
        table
    }

    /// By how many unit roundoffs operator entries may differ from ours, layer by layer of the chain and term by term.
    pub fn operator_errors(&self) -> Vec<Vec<u32>> {
        self.operator_errors.clone()
    }

    fn layer(&self, at: usize) -> &DescribedLayer {
        &self.problem.network().described().layers[at]
    }

    /// By how much computed margins of a class over others may differ from the exact ones at a node, at most; infinite
    /// where nothing is known (docs/math.md (19.5)).
    pub fn margin_errors(&self, node: usize, reference: usize, classes: &[usize]) -> Vec<f64> {
        let (network, last) = (self.problem.network(), self.units.len());
        let (layer, facts) = (self.layer(last), &self.facts[last]);
        let mut seen = self.attributes.seen(&self.problem);
        let received = self.receive(last, &self.attributes, node, &mut seen);
        let biases = bias_sizes(network, layer, node);
        let relative = facts.relative(&received.row, bias(network, layer, node), &biases);
        // By class: what comes from below, of which both logits see the same, and the magnitudes of sums.
        let mut sums: Vec<(f64, f64)> = classes.iter().map(|&class| (0.0, biases[reference] + biases[class])).collect();
        let mut first = 0;
        for (weights, width) in self.terms_of_layers(last) {
            for i in 0..width {
                let (error, size, row) = (received.error[first + i], received.size[first + i], weights.row(i));
                let (w, own) = (row[reference], weights.size(i, reference));
                for ((inherited, magnitude), &class) in sums.iter_mut().zip(classes) {
                    *inherited += error * (w - row[class]).abs();
                    *magnitude += size * (own + weights.size(i, class));
                }
            }
            first += width;
        }
        if self.attributes.any() {
            let changes = seen.changes(self.problem.budget());
            let of_class = |class: usize| {
                let raised = if changes.raises { self.attributes.moved(&seen, &changes, class) } else { 0.0 };
                seen.magnitude(class) + raised
            };
            let own = of_class(reference);
            sums.iter_mut().zip(classes).for_each(|(sum, &class)| sum.1 += own + of_class(class));
        }
        let underflow = 2.0 * facts.underflows(&received.row);
        let terms = received.size.len() + 4 + if self.attributes.any() { 4 } else { 0 };
        let error = |(inherited, magnitude): (f64, f64)| {
            let error = up(inherited + relative * magnitude + underflow, terms);
            if error.is_nan() { f64::INFINITY } else { error }
        };
        sums.into_iter().map(error).collect()
    }

    /// The same of one pair.
    pub fn margin_error(&self, node: usize, reference: usize, class: usize) -> f64 {
        self.margin_errors(node, reference, &[class])[0]
    }

    /// The terms of a layer that read other layers: their weights, and how many units they read.
    fn terms_of_layers(&self, at: usize) -> impl Iterator<Item = (TermWeights<'_>, usize)> {
        let (layer, network) = (self.layer(at), self.problem.network());
        layer.terms.iter().enumerate().filter_map(move |(term, of)| {
            let source = of.source?;
            Some((TermWeights::new(network, layer, term), self.units[source].width))
        })
    }

    /// A hidden layer from those that it reads (docs/math.md (19.2)–(19.4)).
    fn hidden(&self, at: usize, unperturbed: &[Representation]) -> UnitErrors {
        let (problem, network) = (&self.problem, self.problem.network());
        let (layer, facts, layers) = (self.layer(at), &self.facts[at], &network.described().layers);
        let (chain, values) = (&network.layers()[layer.layer], &unperturbed[layer.layer]);
        // The forward pass has the magnitudes of a layer that reads attributes alone, unless they are others by what
        // was folded, or it was that of another first layer.
        let folded = layer.bias_magnitude.is_some() || layer.terms.iter().any(|term| term.magnitude.is_some());
        let forward = layer.terms.iter().all(|term| term.source.is_none()) && layer.layer == 0 && !folded;
        let (graph, ranges) = (problem.graph(), problem.budget().ranges());
        let forward = forward && ranges.is_none() && graph.categories().is_none() && !graph.normalisation().is_some();
        let attributes = AttributeTerms::new(problem, layer, !forward);
        let read_again = layers[..layers.len() - 1].iter().flat_map(|of| &of.terms).any(|term| term.source == Some(at));
        let mut units = UnitErrors::zeros(layer.outputs, network.node_count(), read_again);
        let room = || (attributes.seen(problem), vec![(0.0, 0.0, 0.0); layer.outputs]);
        units.rows().enumerate().for_each_init(room, |(seen, sums), (m, (error, size, reach))| {
            let received = self.receive(at, &attributes, m, seen);
            let biases = bias_sizes(network, layer, m);
            let relative = facts.relative(&received.row, bias(network, layer, m), &biases);
            let underflow = facts.underflows(&received.row);
            // What is inherited, magnitudes, and how far flips move units by way of other layers.
            sums.iter_mut().zip(&biases).for_each(|(sum, &bias)| *sum = (0.0, bias, 0.0));
            if forward {
                let magnitudes = first_magnitudes(problem.graph(), chain, values, m).skip(layer.first);
                sums.iter_mut().zip(magnitudes).for_each(|(sum, magnitude)| sum.1 = magnitude);
            }
            let mut first = 0;
            for (weights, width) in self.terms_of_layers(at) {
                for i in first..first + width {
                    let sizes = weights.sized(i - first);
                    for ((inherited, magnitude, moved), (w, size)) in sums.iter_mut().zip(sizes) {
                        *inherited += received.error[i] * w.abs();
                        *magnitude += received.size[i] * size;
                        *moved += received.reach[i] * w.abs();
                    }
                }
                first += width;
            }
            let terms = received.size.len() + 4 + if attributes.any() { 4 } else { 0 };
            let changes = seen.changes(problem.budget());
            for (j, &(inherited, mut magnitude, moved)) in sums.iter().enumerate() {
                let mut moved = if first > 0 { up(moved, terms) } else { 0.0 };
                if attributes.any() {
                    let own = attributes.moved(seen, &changes, j);
                    magnitude += if forward { 0.0 } else { seen.magnitude(j) };
                    magnitude += if changes.raises { own } else { 0.0 };
                    moved = if first > 0 { (moved + own).next_up() } else { own };
                }
                let wrong = up(inherited + relative * magnitude + underflow, terms);
                let entry = ComputedUnit { value: values.entry(m, layer.first + j), moved, wrong };
                let linear = chain.is_linear(layer.first + j);
                entry.put(linear, &mut error[j], &mut size[j], reach.get_mut(j));
            }
        });
        units.close()
    }

    /// What a node receives in a layer, and what it sees of attributes.
    fn receive(&self, at: usize, attributes: &AttributeTerms, m: usize, seen: &mut Seen) -> Received {
        let (layer, facts) = (self.layer(at), &self.facts[at]);
        let passing = &self.problem.network().layers()[layer.layer].passing;
        let count = layer.terms.len();
        let total = self.terms_of_layers(at).map(|of| of.1).sum();
        let zeros = || vec![0.0; total];
        let row = RowFacts::new(count, attributes.size);
        let mut received = Received { error: zeros(), size: zeros(), reach: zeros(), row };
        seen.begin();
        for (n, entries) in passing.row(m) {
            let (mut first, mut of, mut reads) = (0, 0, false);
            for (k, term) in layer.terms.iter().enumerate() {
                let a = entries[term.operator];
                let Some(source) = term.source else {
                    if a != 0.0 {
                        facts.count(&mut received.row, k, a);
                        received.row.inputs[k] += attributes.read(seen, &self.problem, of, n, a);
                        reads = true;
                    }
                    of += 1;
                    continue;
                };
                let below = &self.units[source];
                if a != 0.0 {
                    facts.count(&mut received.row, k, a);
                    received.row.size = received.row.size.max(f64::from(below.peak[n]));
                    let a = a.abs();
                    let add = |to: &mut [f64], from: &[f32]| {
                        to[first..][..below.width].iter_mut().zip(from).for_each(|(sum, &x)| *sum += a * f64::from(x));
                    };
                    add(&mut received.error, below.row(&below.error, n));
                    add(&mut received.size, below.row(&below.size, n));
                    if !below.reach.is_empty() {
                        add(&mut received.reach, below.row(&below.reach, n));
                    }
                }
                first += below.width;
            }
            if reads {
                seen.node(self.problem.budget().local(n));
            }
        }
        let roundings = passing.row_length(m) * passing.terms();
        for sums in [&mut received.error, &mut received.size, &mut received.reach] {
            // What cannot differ from zero stays zero: it is not counted.
            sums.iter_mut().filter(|sum| **sum != 0.0).for_each(|sum| *sum = up(*sum, roundings));
        }
        let added = seen.changes(self.problem.budget()).added;
        let mut first = 0;
        for (k, term) in layer.terms.iter().enumerate() {
            let inputs = &mut received.row.inputs[k];
            match term.source {
                None => *inputs = inputs.saturating_add(added).min(self.problem.network().width(1)),
                Some(source) => {
                    let width = self.units[source].width;
                    *inputs = received.size[first..][..width].iter().filter(|&&size| size != 0.0).count();
                    first += width;
                }
            }
        }
        received
    }
}
