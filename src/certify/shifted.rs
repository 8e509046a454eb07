//! One target after some flips and without any others: a network like any other, on as many nodes as the target depends
//! on.

use std::sync::Arc;

use crate::certify::certifier::Certifier;
use crate::problem::Problem;
use crate::problem::budget::Budget;
use crate::problem::flip::Flip;
use crate::problem::graph::Graph;
use crate::problem::matrix::{PatternRows, SparseMatrix};
use crate::problem::network::{Bias, Layer, Network, Operator};
use crate::problem::passing::Passing;
use crate::problem::slice::Slice;

/// The slice of a target as a graph of its own. Nodes keep their order.
pub(super) struct SliceGraph {
    pub(super) problem: Problem,
    pub(super) target: usize,
}

impl SliceGraph {
    /// Cuts the slice out of a problem, after some flips. No others are left.
    pub(super) fn new(of: &Certifier, slice: &Slice, flips: &[Flip]) -> SliceGraph {
        let top = slice.top();
        let mut nodes: Vec<u32> = (1..=top).flat_map(|l| slice.nodes(l).iter().copied()).collect();
        nodes.sort_unstable();
        nodes.dedup();
        let place = |node: u32| nodes.partition_point(|&other| other < node);
        let target = place(slice.nodes(top)[0]);
        // Of the layer as the model has it there are fewer terms, the first of those that changes of categories have.
        let layers = (1..top).zip(of.network().own_layers()).map(|(l, layer)| {
            let mut bias = layer.bias.values().to_vec();
            if bias.len() != layer.outputs() {
                bias = nodes.iter().flat_map(|&n| layer.bias.row(n as usize)).copied().collect();
            }
            let mut operators = operators(slice, l, nodes.len(), place);
            operators.truncate(layer.operators.len());
            let passing = Arc::new(Passing::new(&operators));
            Layer {
                operators: operators.into_iter().map(Operator::Matrix).collect(),
                passing,
                weight: layer.weight.clone(),
                bias: Bias::new(layer.outputs(), bias),
                linear: layer.linear.clone(),
            }
        });
        let network = Network::new(layers.collect()).expect("a part of a network is one");
        let network = network.described_like(of.network(), &nodes);
        let attributes: Vec<Vec<usize>> = nodes.iter().map(|&n| row_after(of.graph(), n, flips)).collect();
        let graph =
            Graph::from_lists(&[], &attributes, of.graph().own_attribute_count()).expect("rows of a graph are rows");
        let graph =
            if of.graph().normalisation().is_some() { graph.normalised(of.graph().normalisation()) } else { graph };
        let budget = Budget::uniform(&graph, 0, 0);
        let problem = Problem::new(graph, network, budget).expect("the parts are of one size");
        SliceGraph { problem, target }
    }
}

/// The operators of a layer between the nodes of a slice.
fn operators(slice: &Slice, l: usize, nodes: usize, place: impl Fn(u32) -> usize) -> Vec<Arc<SparseMatrix>> {
    let local = slice.passing(l);
    let mut rows: Vec<Vec<(u32, &[f64])>> = vec![Vec::new(); nodes];
    for (m, &node) in slice.nodes(l + 1).iter().enumerate() {
        let row = &mut rows[place(node)];
        row.extend(local.row(m).map(|(n, entries)| (place(slice.nodes(l)[n]) as u32, entries)));
        row.sort_unstable_by_key(|entry| entry.0);
    }
    let of_term = |k: usize| {
        let (mut offsets, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
        for row in &rows {
            for (column, entries) in row.iter().filter(|(_, entries)| entries[k] != 0.0) {
                columns.push(*column);
                values.push(entries[k]);
            }
            offsets.push(columns.len());
        }
        Arc::new(SparseMatrix::new((nodes, nodes), offsets, columns, values))
    };
    (0..local.terms).map(of_term).collect()
}

/// The attributes of the file that a node has after some flips, or changes of categories.
fn row_after(graph: &Graph, node: u32, flips: &[Flip]) -> Vec<usize> {
    let mut row: Vec<u32> = graph.attributes().row(node as usize).to_vec();
    for flip in flips.iter().filter(|flip| flip.node == node) {
        let change = graph.categories().and_then(|categories| categories.change(flip.attribute));
        let [old, new] = match change {
            Some(change) => [change.old, change.new],
            None if row.contains(&flip.attribute) => [Some(flip.attribute), None],
            None => [None, Some(flip.attribute)],
        };
        row.retain(|&d| Some(d) != old);
        row.extend(new);
    }
    row.into_iter().map(|d| d as usize).collect()
}
