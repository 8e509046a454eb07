//! What normalised rows send where their entries are 1, without any flip: it is the same for all targets and bounds.

use crate::problem::graph::Graph;
use crate::problem::layer::Layer;
use crate::problem::matrix::PatternRows;

/// The sums of the weights of each row's attributes, term after term; empty where rows are not normalised.
#[derive(Clone, Debug, Default)]
pub struct RowSums {
    width: usize,
    /// Sums, and the sums of sizes, row after row.
    numbers: Vec<f64>,
}

impl RowSums {
    /// Of all rows of a graph.
    pub fn new(graph: &Graph, layer: &Layer) -> RowSums {
        if !graph.normalisation().is_some() {
            return RowSums::default();
        }
        let width = layer.outputs() * layer.passing.terms();
        let mut numbers = vec![0.0; 2 * width * graph.node_count()];
        for (node, sums) in numbers.chunks_exact_mut((2 * width).max(1)).enumerate() {
            add_up(layer, graph.attributes().row(node).iter().copied(), sums);
        }
        RowSums { width, numbers }
    }

    /// The sums of a row, then the sums of sizes.
    pub fn of(&self, node: u32) -> &[f64] {
        &self.numbers[2 * self.width * node as usize..][..2 * self.width]
    }
}

/// Adds the weights of some attributes to sums, and their sizes to the sums of sizes behind them; how many there are.
pub fn add_up(layer: &Layer, attributes: impl Iterator<Item = u32>, sums: &mut [f64]) -> usize {
    let (sent, sizes) = sums.split_at_mut(sums.len() / 2);
    let mut count = 0;
    for attribute in attributes {
        count += 1;
        for ((sum, size), w) in sent.iter_mut().zip(sizes.iter_mut()).zip(layer.weights_of(attribute as usize)) {
            *sum += w;
            *size += w.abs();
        }
    }
    count
}
