//! The rounding errors of one row of a described layer, from sums of magnitudes (docs/math.md §19). Every number is
//! rounded up.

use gcnproof_files::DescribedLayer;

use crate::deployed::execution::Execution;
use crate::deployed::term::TermWeights;
use crate::number::rounding::gamma;
use crate::problem::network::Network;

/// What is said of a layer whatever the node.
#[derive(Clone, Debug)]
pub(super) struct LayerFacts {
    execution: Execution,
    terms: Vec<TermFacts>,
    /// Are weights rounded to the format: 0, or 1.
    weight_rounding: usize,
    largest_weight: f64,
    bias_roundings: usize,
}

/// What is said of one of its terms.
#[derive(Clone, Copy, Debug)]
struct TermFacts {
    /// Roundings that entries of its operator stand for, as stated.
    operator_error: u32,
    /// Roundings of products on a path: 1 where inputs are 0 and 1, 2 where they are computed, and 3 where they are
    /// numbers that may have to be rounded; and those of what was folded into its weights.
    products: usize,
}

/// Magnitudes must stay below this, so that no sum comes near the end of binary32's range.
const LARGEST: f64 = (1u128 << 120) as f64;

/// What one entry of a layer is summed from. No other row counts, so that errors are the same on a part of the graph.
#[derive(Clone, Debug, Default)]
pub(super) struct RowFacts {
    /// Inputs that may differ from zero, by term.
    pub(super) inputs: Vec<usize>,
    /// Entries of the operator's row, by term.
    pub(super) entries: Vec<usize>,
    /// Is an entry no number of the format, by term?
    rounded: Vec<bool>,
    largest_entry: f64,
    /// The largest input.
    pub(super) size: f64,
}

impl RowFacts {
    pub(super) fn new(terms: usize, size: f64) -> RowFacts {
        let (inputs, entries, rounded) = (vec![0; terms], vec![0; terms], vec![false; terms]);
        RowFacts { inputs, entries, rounded, largest_entry: 0.0, size }
    }
}

/// A sum of `terms` numbers that are not negative, each with a few roundings: not below the exact one.
pub(super) fn up(sum: f64, terms: usize) -> f64 {
    sum * (1.0 + gamma(2 * terms + 64)) + 1e-290
}

/// The largest absolute value.
fn largest(values: impl Iterator<Item = f64>) -> f64 {
    values.map(f64::abs).fold(0.0, f64::max)
}

impl LayerFacts {
    /// `errors` are those of the operators of the chain's layer, `attribute_products` the roundings of products that
    /// read attributes.
    pub(super) fn new(
        execution: &Execution,
        network: &Network,
        layer: &DescribedLayer,
        errors: &[u32],
        attribute_products: usize,
    ) -> LayerFacts {
        let weights = |term: usize| {
            let (weights, source) = (TermWeights::new(network, layer, term), layer.terms[term].source);
            let inputs = source.map_or(network.width(1), |source| network.described().layers[source].outputs);
            (0..inputs).flat_map(move |input| weights.sized(input))
        };
        let all = || (0..layer.terms.len()).flat_map(weights);
        let terms = layer.terms.iter().map(|term| TermFacts {
            operator_error: errors[term.operator],
            products: if term.source.is_some() { 2 } else { attribute_products } + term.roundings as usize,
        });
        LayerFacts {
            execution: *execution,
            terms: terms.collect(),
            weight_rounding: usize::from(!all().all(|(w, _)| execution.holds(w))),
            largest_weight: largest(all().map(|(_, size)| size)),
            bias_roundings: layer.bias_roundings as usize,
        }
    }

    /// Counts an entry of a term's operator towards the roundings of a row.
    pub(super) fn count(&self, row: &mut RowFacts, term: usize, entry: f64) {
        row.entries[term] += 1;
        row.largest_entry = row.largest_entry.max(entry.abs());
        // Whatever error is allowed: a number that the format does not hold is rounded.
        row.rounded[term] |= self.terms[term].operator_error == 0 && !self.execution.holds(entry);
    }

    /// `γ` of (19.1): what the products of a row are wrong by at most, relative to their magnitude; infinite where
    /// nothing is known, or a number may leave the range. `biases` are those of the row, `sizes` what was folded into
    /// them.
    pub(super) fn relative(&self, row: &RowFacts, biases: &[f64], sizes: &[f64]) -> f64 {
        if !self.stays_in_range(row, largest(sizes.iter().copied())) {
            return f64::INFINITY;
        }
        let leaves: Vec<usize> = row.inputs.iter().zip(&row.entries).map(|(&d, &r)| d.max(r)).collect();
        let all: usize = leaves.iter().sum();
        let bias_rounding = usize::from(!biases.iter().all(|&b| self.execution.holds(b)));
        let mut most = all + bias_rounding + self.bias_roundings;
        for (k, term) in self.terms.iter().enumerate().filter(|&(k, _)| row.entries[k] > 0) {
            let sums = row.inputs[k] + row.entries[k] - 1 + (all - leaves[k]);
            let entry = term.operator_error.max(u32::from(row.rounded[k])) as usize;
            most = most.max(sums + term.products + entry + self.weight_rounding);
        }
        let x = most as f64 * self.execution.unit_roundoff();
        if x < 0.5 { x / (1.0 - x) * (1.0 + 1e-14) } else { f64::INFINITY }
    }

    /// Does every number on the way stay in range?
    fn stays_in_range(&self, row: &RowFacts, largest_bias: f64) -> bool {
        let inputs = row.inputs.iter().max().copied().unwrap_or(0);
        let entries: usize = row.entries.iter().sum();
        let summed = (inputs + 1) as f64 * (entries + 1) as f64 * (self.terms.len() + 1) as f64;
        // A comparison with NaN is false.
        summed * self.factors(row) + largest_bias < LARGEST
    }

    fn factors(&self, row: &RowFacts) -> f64 {
        (1.0 + row.size) * (1.0 + self.largest_weight) * (1.0 + row.largest_entry)
    }

    /// What underflow adds: each operation, and each number that is read, is wrong by so much once more, times what it
    /// is multiplied by.
    pub(super) fn underflows(&self, row: &RowFacts) -> f64 {
        let pairs = row.inputs.iter().zip(&row.entries).map(|(&d, &r)| (d + 1) as f64 * (r + 1) as f64);
        let operations = pairs.sum::<f64>() + 1.0;
        16.0 * self.execution.underflow() * operations * self.factors(row)
    }
}
