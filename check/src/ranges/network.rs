//! The network with its first weights as the model has them, one row for each attribute.

use std::sync::Arc;

use gcnproof_files::{GraphFile, LayerFile, ModelFile, SparseMatrix};

use super::budget::attribute_count;
use crate::number::Stored;
use crate::statement::{Links, Slice, operator_links};
use crate::verdict::Reason;
use crate::work::Meter;

/// One weight layer.
pub(super) struct RangeLayer {
    pub(super) links: Arc<Links>,
    /// By input, then by term, then by output.
    weight: Vec<Stored>,
    bias: Vec<Stored>,
    pub(super) inputs: usize,
    pub(super) outputs: usize,
    pub(super) terms: usize,
    linear: Vec<bool>,
}

impl RangeLayer {
    fn new(layer: &LayerFile, links: Arc<Links>, inputs: usize) -> RangeLayer {
        let (terms, outputs) = (layer.operators.len().max(1), layer.weight.columns);
        let row = |input: usize, term: usize| &layer.weight.values[(term * inputs + input) * outputs..][..outputs];
        let rows = (0..inputs).flat_map(|input| (0..terms).map(move |term| (input, term)));
        let weight = rows.flat_map(|(input, term)| Stored::all(row(input, term))).collect();
        let linear = if layer.linear.is_empty() { vec![false; outputs] } else { layer.linear.clone() };
        RangeLayer { links, weight, bias: Stored::all(&layer.bias), inputs, outputs, terms, linear }
    }

    /// Numbers of all terms side by side.
    pub(super) fn width(&self) -> usize {
        self.terms * self.outputs
    }

    /// What an input is multiplied with, for all terms.
    pub(super) fn row(&self, input: usize) -> &[Stored] {
        &self.weight[input * self.width()..][..self.width()]
    }

    pub(super) fn bias(&self, node: u32) -> &[Stored] {
        let start = if self.bias.len() == self.outputs { 0 } else { node as usize * self.outputs };
        &self.bias[start..][..self.outputs]
    }

    /// Has a unit that this layer gives no activation?
    pub(super) fn is_linear(&self, unit: usize) -> bool {
        self.linear[unit]
    }
}

/// The network of stored floats on a graph.
pub(super) struct RangeNetwork {
    pub(super) layers: Vec<RangeLayer>,
}

impl RangeNetwork {
    pub(super) fn new(
        graph: &GraphFile,
        model: &ModelFile,
        rules: &[String],
        matrices: &[Arc<SparseMatrix>],
        meter: &Meter,
    ) -> Result<RangeNetwork, Reason> {
        let links = operator_links(graph, model, rules, matrices, meter)?;
        // Values of graphs are not taken for values of nodes.
        model.check_levels().map_err(Reason::Files)?;
        let mut inputs = attribute_count(graph);
        let layer = |(layer, links): (&LayerFile, Arc<Links>)| {
            let built = RangeLayer::new(layer, links, inputs);
            inputs = built.outputs;
            built
        };
        Ok(RangeNetwork { layers: model.layers.iter().zip(links).map(layer).collect() })
    }

    /// `L`: the number of representations.
    pub(super) fn depth(&self) -> usize {
        self.layers.len() + 1
    }

    pub(super) fn classes(&self) -> usize {
        self.width(self.depth())
    }

    /// Units of a representation from 2 on.
    pub(super) fn width(&self, l: usize) -> usize {
        self.layers[l - 2].outputs
    }

    /// The layer behind a representation.
    pub(super) fn layer(&self, l: usize) -> &RangeLayer {
        &self.layers[l - 1]
    }

    /// What a row of a representation depends on.
    pub(super) fn slice(&self, top: usize, target: u32) -> Slice {
        Slice::along(self.layers[..top - 1].iter().map(|layer| &*layer.links), target)
    }
}
