//! The network as described: terms that read any earlier layer, with weights that stand in the chain (`FORMAT.md` §9).

use gcnproof_files::{Described, DescribedLayer, DescribedTerm};

use super::network::{Layer, Network};
use crate::format::Deployed;
use crate::number::{Dyadic, Stored};
use crate::verdict::Reason;

/// What a weight layer reads, and the attributes if it is the first.
fn inputs(network: &Network, layer: usize) -> usize {
    if layer == 0 { attributes(network) } else { network.widths[layer + 1] }
}

/// How many attributes there are.
pub(crate) fn attributes(network: &Network) -> usize {
    network.layers[0].weight.len()
}

/// The described layers of a network whose executions a header speaks of.
///
/// # Errors
/// If the header's precision or operator errors do not fit the network, or the model is not what it describes.
pub(crate) fn require_deployed(network: &Network, deployed: &Deployed) -> Result<Described, Reason> {
    let wrong = |problem: &str| Err(Reason::Header(format!("deployed: {problem}")));
    if !(2..=53).contains(&deployed.precision) {
        return wrong("the precision is not between 2 and 53");
    }
    let stated = deployed.operator_error.iter().map(Vec::len);
    if !stated.eq(network.terms[1..].iter().copied()) {
        return wrong("the operator errors are not one number for each term of each layer");
    }
    described(network)
}

/// One described layer for each of a network's weight layers.
fn plain_chain(network: &Network) -> Described {
    let sizes =
        (0..network.layers.len()).map(|at| (inputs(network, at), network.widths[at + 2], network.terms[at + 1]));
    Described::chain(&sizes.collect::<Vec<_>>())
}

/// The described layers of a network: its own, or one for each of its weight layers.
fn described(network: &Network) -> Result<Described, Reason> {
    let described = network.model.described.clone().unwrap_or_else(|| plain_chain(network));
    match fits(&described, network) {
        Some(()) => Ok(described),
        None => Err(Reason::Files("the layers of the model are not what it describes".into())),
    }
}

/// None unless everything stands where it is said to stand, and nothing that was folded is smaller than what has come
/// of it.
fn fits(described: &Described, network: &Network) -> Option<()> {
    let holds = |condition: bool| condition.then_some(());
    let nodes = network.graph.attributes.rows;
    for (at, layer) in described.layers.iter().enumerate() {
        let chain = network.layers.get(layer.layer)?;
        holds(layer.first.checked_add(layer.outputs)? <= network.widths[layer.layer + 2] && !layer.terms.is_empty())?;
        for of in &layer.terms {
            holds(of.operator < network.terms[layer.layer + 1] && of.source.is_none_or(|source| source < at))?;
            holds(of.source.is_some() || of.weight.layer == 0)?;
            network.layers.get(of.weight.layer)?;
            let rows = of.source.map_or(attributes(network), |source| described.layers[source].outputs);
            let (inputs, outputs) = (inputs(network, of.weight.layer), network.widths[of.weight.layer + 2]);
            let (term, first) = (of.weight.row.checked_div(inputs)?, of.weight.row % inputs);
            holds(term < network.terms[of.weight.layer + 1] && first + rows <= inputs)?;
            holds(of.weight.column.checked_add(layer.outputs)? <= outputs)?;
            if let Some(magnitude) = &of.magnitude {
                let term = DescribedWeights::new(network, layer, of);
                holds(Some(magnitude.len()) == rows.checked_mul(layer.outputs) && Stored::are_finite(magnitude))?;
                for (i, j) in (0..rows).flat_map(|i| (0..layer.outputs).map(move |j| (i, j))) {
                    holds(term.size(i, j) >= term.weight(i, j).size())?;
                }
            }
        }
        if let Some(magnitude) = &layer.bias_magnitude {
            let length = magnitude.len();
            let fits = length == layer.outputs || Some(length) == nodes.checked_mul(layer.outputs);
            holds(fits && Stored::are_finite(magnitude))?;
            for node in 0..nodes as u32 {
                let sizes = bias_sizes(chain, layer, node);
                holds(sizes.iter().zip(bias(chain, layer, node)).all(|(size, b)| *size >= b.size()))?;
            }
        }
    }
    let output = described.layers.last()?;
    holds((output.layer + 1, output.first, output.outputs) == (network.layers.len(), 0, network.classes()))
}

/// The biases of a layer at a node.
pub(crate) fn bias<'n>(chain: &'n Layer, layer: &DescribedLayer, node: u32) -> &'n [Dyadic] {
    &chain.bias(node)[layer.first..][..layer.outputs]
}

/// Their sizes, or what was folded into them.
pub(crate) fn bias_sizes(chain: &Layer, layer: &DescribedLayer, node: u32) -> Vec<Dyadic> {
    let row = |magnitude: &[_]| Stored::all(magnitude).into_iter().map(Stored::exact).collect();
    match &layer.bias_magnitude {
        None => bias(chain, layer, node).iter().map(Dyadic::size).collect(),
        Some(all) if all.len() == layer.outputs => row(all),
        Some(all) => row(&all[node as usize * layer.outputs..][..layer.outputs]),
    }
}

/// The weights of a term of a described layer.
#[derive(Clone, Copy)]
pub(crate) struct DescribedWeights<'n> {
    chain: &'n Layer,
    /// The first of its inputs, and the first of its columns among those of all terms side by side.
    first: usize,
    column: usize,
    outputs: usize,
    of: &'n DescribedTerm,
}

impl<'n> DescribedWeights<'n> {
    pub(crate) fn new(network: &'n Network, layer: &DescribedLayer, of: &'n DescribedTerm) -> DescribedWeights<'n> {
        let (inputs, width) = (inputs(network, of.weight.layer), network.widths[of.weight.layer + 2]);
        let (term, first) = (of.weight.row / inputs, of.weight.row % inputs);
        let column = term * width + of.weight.column;
        DescribedWeights { chain: &network.layers[of.weight.layer], first, column, outputs: layer.outputs, of }
    }

    pub(crate) fn weight(&self, input: usize, unit: usize) -> &'n Dyadic {
        &self.chain.weight[self.first + input][self.column + unit]
    }

    /// At least the sum of the sizes of all products that stand for a weight.
    pub(crate) fn size(&self, input: usize, unit: usize) -> Dyadic {
        match &self.of.magnitude {
            Some(magnitude) => Stored::new(magnitude[input * self.outputs + unit]).exact(),
            None => self.weight(input, unit).size(),
        }
    }
}
