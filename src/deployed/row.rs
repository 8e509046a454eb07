//! The rounding errors of one node and layer, from sums of magnitudes (docs/math.md §19). Every number is rounded up.

use crate::deployed::execution::Execution;
use crate::number::rounding::gamma;
use crate::problem::network::Layer;

/// What is said of a layer whatever the node.
#[derive(Clone, Debug)]
pub(super) struct LayerFacts {
    /// `u`.
    unit: f64,
    /// What an underflow is wrong by.
    underflow: f64,
    /// Roundings that entries of each operator stand for.
    pub(super) operator_errors: Vec<u32>,
    /// Roundings of stored weights and biases: 0, or 1.
    weight_rounding: usize,
    bias_rounding: usize,
    largest_weight: f64,
    largest_bias: f64,
    largest_entry: f64,
    /// Entries of the longest row.
    longest_row: usize,
}

/// Magnitudes must stay below this, so that no sum comes near the end of binary32's range.
const LARGEST: f64 = (1u128 << 120) as f64;

/// How many numbers one entry of a layer is summed from, by term.
#[derive(Clone, Debug, Default)]
pub(super) struct Counts {
    /// Inputs that may differ from zero.
    pub(super) inputs: Vec<usize>,
    /// Entries of the operator's row.
    pub(super) entries: Vec<usize>,
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
    pub(super) fn new(execution: &Execution, layer: &Layer, mut operator_errors: Vec<u32>) -> LayerFacts {
        // Entries that are no numbers of the format are rounded, whatever error is allowed.
        for (_, values) in (0..layer.passing.nodes()).flat_map(|m| layer.passing.row(m)) {
            for (error, &entry) in operator_errors.iter_mut().zip(values) {
                *error = (*error).max(u32::from(!execution.holds(entry)));
            }
        }
        let rounded = |values: &[f64]| usize::from(!values.iter().all(|&x| execution.holds(x)));
        let rows = 0..layer.passing.nodes();
        let entries = rows.clone().flat_map(|m| layer.passing.row(m)).flat_map(|(_, values)| values.iter().copied());
        LayerFacts {
            unit: execution.unit_roundoff(),
            underflow: execution.underflow(),
            operator_errors,
            weight_rounding: rounded(layer.weight.values()),
            bias_rounding: rounded(layer.bias.values()),
            largest_weight: largest(layer.weight.values().iter().copied()),
            largest_bias: largest(layer.bias.values().iter().copied()),
            largest_entry: largest(entries),
            longest_row: rows.map(|m| layer.passing.row_length(m)).max().unwrap_or(0),
        }
    }

    /// Does every number on the way stay in range, where inputs are at most `size` and so many of them are not zero?
    pub(super) fn stays_in_range(&self, size: f64, inputs: usize) -> bool {
        let terms = (self.operator_errors.len() + 1) as f64;
        let summed = (inputs + 1) as f64 * (self.longest_row + 1) as f64 * terms;
        let most = summed * (1.0 + size) * (1.0 + self.largest_weight) * (1.0 + self.largest_entry) + self.largest_bias;
        // A comparison with NaN is false.
        most < LARGEST
    }

    /// `γ`: what the products of a row are wrong by at most, relative to their magnitude; infinite where nothing is known. `products`
    /// are the roundings of products on a path, 1 where inputs are 0 and 1, and 2 otherwise.
    pub(super) fn relative(&self, counts: &Counts, products: usize) -> f64 {
        let leaves: Vec<usize> = counts.inputs.iter().zip(&counts.entries).map(|(&d, &r)| d.max(r)).collect();
        let all: usize = leaves.iter().sum();
        let mut most = all + self.bias_rounding;
        for (k, &error) in self.operator_errors.iter().enumerate() {
            if counts.entries[k] > 0 {
                let sums = counts.inputs[k] + counts.entries[k] - 1 + (all - leaves[k]);
                most = most.max(sums + products + error as usize + self.weight_rounding);
            }
        }
        let x = most as f64 * self.unit;
        if x < 0.5 { x / (1.0 - x) * (1.0 + 1e-14) } else { f64::INFINITY }
    }

    /// What underflow adds: each operation, and each number that is read, is wrong by so much once more, times what it is multiplied by.
    pub(super) fn underflows(&self, counts: &Counts, size: f64) -> f64 {
        let pairs = counts.inputs.iter().zip(&counts.entries).map(|(&d, &r)| (d + 1) as f64 * (r + 1) as f64);
        let operations = pairs.sum::<f64>() + 1.0;
        let factors = (1.0 + size) * (1.0 + self.largest_weight) * (1.0 + self.largest_entry);
        16.0 * self.underflow * operations * factors
    }
}
