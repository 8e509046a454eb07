//! The true network on a changed graph.

use std::collections::{BTreeSet, HashMap};

use super::graph::ChangedGraph;
use super::network::{ChangeNetwork, KeptScalar};
use crate::edges::rule::EdgeRule;
use crate::number::Stored;
use crate::verdict::Reason;
use crate::work::Meter;

/// Steps of [`crate::work`] for a node of a changed graph, beside those of numbers.
const NODE: u64 = 64;

/// What nodes send on a changed graph. What no change reaches is as in the file.
pub struct Evaluation<'a, N> {
    network: &'a ChangeNetwork<'a>,
    graph: &'a ChangedGraph<'a>,
    meter: &'a Meter<'a>,
    /// By layer: nodes that may send something else than in the file.
    moved: Vec<BTreeSet<u32>>,
    sent: HashMap<(usize, u32), Vec<N>>,
}

impl<'a, N: KeptScalar> Evaluation<'a, N> {
    /// Of a changed graph.
    ///
    /// # Errors
    /// If it takes too long.
    pub fn new(
        network: &'a ChangeNetwork<'a>,
        graph: &'a ChangedGraph<'a>,
        meter: &'a Meter<'a>,
    ) -> Result<Evaluation<'a, N>, Reason> {
        let receivers = |node: u32| -> Vec<u32> {
            if !network.directed {
                return graph.row(node);
            }
            let new = graph.changed().filter(|&to| graph.row(to).contains(&node));
            network.receivers[node as usize].iter().copied().chain(new).collect()
        };
        // Rows with other entries.
        let mut touched: BTreeSet<u32> = graph.changed().collect();
        if network.reads_sender {
            touched.extend(graph.changed().flat_map(receivers));
        }
        let mut moved = vec![BTreeSet::new()];
        for layer in 1..network.layers.len() {
            let mut next: BTreeSet<u32> = &touched | &moved[layer - 1];
            meter.spend(NODE.saturating_mul(1 + next.len() as u64))?;
            next.extend(moved[layer - 1].iter().flat_map(|&node| receivers(node)));
            let pools = network.layers[layer - 1].rules.iter().any(|rule| rule.pools());
            if let Some(batch) = network.graph.batch.as_ref().filter(|_| pools) {
                next.extend(moved[layer - 1].iter().map(|&node| batch[node as usize]));
            }
            moved.push(next);
        }
        Ok(Evaluation { network, graph, meter, moved, sent: HashMap::new() })
    }

    /// What layer `layer` gives a node, before activation.
    ///
    /// # Errors
    /// If it takes too long.
    pub fn sums(&mut self, layer: usize, node: u32) -> Result<Vec<N>, Reason> {
        let row = if self.network.layers[layer].passes() { self.graph.row(node) } else { Vec::new() };
        let network = self.network;
        let pooled = network.layers[layer].rules.iter().flat_map(|&rule| network.pooled(rule, node).0);
        for other in row.iter().copied().chain([node]).chain(pooled) {
            self.require(layer, other)?;
        }
        sums(self.network, self.graph, layer, node, &row, self.meter, |other| match self.sent.get(&(layer, other)) {
            Some(sent) => Ok(sent),
            None => sent(self.network, layer, other, self.meter),
        })
    }

    /// Finds what a node sends, if a change may have reached it.
    fn require(&mut self, layer: usize, node: u32) -> Result<(), Reason> {
        if self.moved[layer].contains(&node) && !self.sent.contains_key(&(layer, node)) {
            let below = self.sums(layer - 1, node)?;
            let found = message(self.network, layer, node, below, self.meter)?;
            self.sent.insert((layer, node), found);
        }
        Ok(())
    }
}

/// What a node sends in a layer on the graph of the file.
///
/// # Errors
/// If it takes too long.
pub(super) fn sent<'a, N: KeptScalar>(
    network: &'a ChangeNetwork,
    layer: usize,
    node: u32,
    meter: &Meter,
) -> Result<&'a [N], Reason> {
    let place = N::known(network, layer, node);
    if let Some(known) = place.get() {
        return Ok(known);
    }
    let below = match layer {
        0 => Vec::new(),
        _ => {
            let graph = ChangedGraph::new(&network.graph.adjacency, network.directed, std::iter::empty());
            let row = if network.layers[layer - 1].passes() { graph.row(node) } else { Vec::new() };
            sums(network, &graph, layer - 1, node, &row, meter, |other| sent(network, layer - 1, other, meter))?
        }
    };
    let found = message(network, layer, node, below, meter)?;
    Ok(place.get_or_init(|| found))
}

/// What a node sends in a layer, term by term, if the layer below gives it this.
fn message<N: KeptScalar>(
    network: &ChangeNetwork,
    layer: usize,
    node: u32,
    below: Vec<N>,
    meter: &Meter,
) -> Result<Vec<N>, Reason> {
    let of = &network.layers[layer];
    let (terms, outputs) = (of.rules.len(), of.outputs);
    let mut sums = vec![N::zero(); terms * outputs];
    let present = network.graph.attributes.row(node as usize);
    let active = if layer == 0 { present.len() } else { below.len() };
    meter.spend(NODE.saturating_add(N::steps((active * terms * outputs) as u64)))?;
    let mut add = |input: usize, x: Option<&N>| {
        for term in 0..terms {
            for output in 0..outputs {
                let weight = of.weight(term, input, output);
                let slot = &mut sums[term * outputs + output];
                *slot = slot.plus(&x.map_or_else(|| N::stored(weight), |x| x.scaled(weight)));
            }
        }
    };
    if layer == 0 {
        // Without a factor nothing is rounded.
        let divided = network.graph.normalisation;
        let entry = divided.is_some().then(|| N::stored(Stored::new(divided.entry(present.len()))));
        present.iter().for_each(|&attribute| add(attribute as usize, entry.as_ref()));
    } else {
        for (input, z) in below.into_iter().enumerate() {
            let h = if network.layers[layer - 1].is_linear(input) { z } else { z.positive_part() };
            if !h.is_zero() {
                add(input, Some(&h));
            }
        }
    }
    meter.look()?;
    Ok(sums)
}

/// What a layer gives a node that receives from these.
fn sums<'s, N: KeptScalar + 's>(
    network: &ChangeNetwork,
    graph: &ChangedGraph,
    layer: usize,
    node: u32,
    row: &[u32],
    meter: &Meter,
    sent: impl Fn(u32) -> Result<&'s [N], Reason>,
) -> Result<Vec<N>, Reason> {
    let of = &network.layers[layer];
    let pooled: usize = of.rules.iter().map(|&rule| network.pooled(rule, node).0.len()).sum();
    meter.spend(NODE.saturating_add(N::steps((((row.len() + 2) * of.rules.len() + pooled) * of.outputs) as u64)))?;
    let mut sums: Vec<N> = (0..of.outputs).map(|output| N::stored(of.bias(node, output))).collect();
    let here = graph.degree(node);
    let mut add = |term: usize, entry: Stored, sent: &[N]| {
        if !entry.is_zero() {
            let sent = &sent[term * of.outputs..][..of.outputs];
            sums.iter_mut().zip(sent).for_each(|(sum, x)| *sum = sum.plus(&x.scaled(entry)));
        }
    };
    for (term, &rule) in of.rules.iter().enumerate() {
        let entry = network.own_entry(rule, node, here);
        if !entry.is_zero() {
            add(term, entry, sent(node)?);
        }
        if rule.has_edges() {
            for &other in row {
                add(term, entry_along(network, graph, rule, node, other), sent(other)?);
            }
        }
        let (nodes, entry) = network.pooled(rule, node);
        for other in nodes {
            add(term, entry, sent(other)?);
        }
    }
    Ok(sums)
}

/// The entry along an edge.
fn entry_along(network: &ChangeNetwork, graph: &ChangedGraph, rule: EdgeRule, to: u32, from: u32) -> Stored {
    let size = |node: u32| network.size(rule, node, graph.degree(node));
    rule.entry(size(to), if rule.reads_sender() { size(from) } else { 1 })
}
