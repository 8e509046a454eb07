//! The problem of one target alone, with a number added to the margin over all other classes: a network like any other, so that every
//! bound, search and proof applies to the question whether a margin exceeds a given number.

use std::sync::Arc;

use gcnproof_check::format::{Claim, Leaf, Step};

use crate::bound::workspace::Workspace;
use crate::certify::certifier::Certifier;
use crate::certify::settings::{Effort, Margins, Settings};
use crate::certify::verdict::NodeResult;
use crate::problem::Problem;
use crate::problem::budget::Budget;
use crate::problem::flip::Flip;
use crate::problem::graph::Graph;
use crate::problem::matrix::{PatternRows, SparseMatrix};
use crate::problem::network::{Bias, Layer, Network, Operator};
use crate::problem::passing::Passing;
use crate::problem::slice::Slice;
use crate::proof::Evidence;

/// The slice of a target as a graph of its own. Nodes keep their order.
pub(super) struct Part {
    pub(super) problem: Problem,
    /// What its nodes are called in the whole graph.
    nodes: Vec<u32>,
    pub(super) target: usize,
}

impl Part {
    /// Cuts the slice out of a problem, after some flips, and with a number added to the logit of a class at the target. That number is rounded
    /// away from zero, so that a margin that is positive (negative) with a negative (positive) one exceeds it.
    pub(super) fn new(of: &Certifier, slice: &Slice, flips: &[Flip], shift: Option<(usize, f64)>) -> Part {
        let top = slice.top();
        let mut nodes: Vec<u32> = (1..=top).flat_map(|l| slice.nodes(l).iter().copied()).collect();
        nodes.sort_unstable();
        nodes.dedup();
        let place = |node: u32| nodes.partition_point(|&other| other < node);
        let target = place(slice.nodes(top)[0]);
        let layers = (1..top).map(|l| {
            let layer = &of.network().layers()[l - 1];
            let mut bias = layer.bias.values().to_vec();
            if bias.len() != layer.outputs() {
                bias = nodes.iter().flat_map(|&n| layer.bias.row(n as usize)).copied().collect();
            }
            if let Some((class, shift)) = shift.filter(|_| l + 1 == top) {
                let at = if bias.len() == layer.outputs() { 0 } else { target * layer.outputs() };
                let moved = &mut bias[at + class];
                *moved = if shift < 0.0 { (*moved + shift).next_down() } else { (*moved + shift).next_up() };
            }
            let operators = operators(slice, l, nodes.len(), place);
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
        let mut attributes: Vec<Vec<usize>> = nodes
            .iter()
            .map(|&n| of.graph().attributes().row(n as usize).iter().map(|&d| d as usize).collect())
            .collect();
        for flip in flips.iter().filter(|flip| nodes.binary_search(&flip.node).is_ok()) {
            let row = &mut attributes[place(flip.node)];
            match row.iter().position(|&d| d == flip.attribute as usize) {
                Some(at) => drop(row.swap_remove(at)),
                None => row.push(flip.attribute as usize),
            }
        }
        let graph =
            Graph::from_lists(&[], &attributes, of.graph().attribute_count()).expect("rows of a graph are rows");
        let budget = part(of.budget(), &graph, &nodes);
        let problem = Problem::new(graph, network, budget).expect("the parts are of one size");
        Part { problem, nodes, target }
    }
}

/// A target alone, with its margins moved.
pub(super) struct Shifted {
    certifier: Certifier,
    nodes: Vec<u32>,
    target: usize,
    reference: usize,
}

impl Shifted {
    /// Adds `shift` to the logit of `reference` at the target of a slice.
    pub(super) fn new(of: &Certifier, slice: &Slice, reference: usize, shift: f64) -> Shifted {
        let Part { problem, nodes, target } = Part::new(of, slice, &[], Some((reference, shift)));
        let settings = Settings { deployed: None, margins: Margins::Fast, ..of.settings.clone() };
        let prepared = Arc::new(of.prepared.part(problem));
        let certifier = Certifier { prepared, settings, errors: Arc::default() }.for_targets(&[target]);
        Shifted { certifier, nodes, target, reference }
    }

    /// Decides the margin over one class.
    pub(super) fn decide(&self, effort: Effort, class: usize) -> NodeResult {
        let certifier = self.certifier.clone().with_effort(effort);
        certifier.certify_against(self.target, self.reference, &[class], &mut Workspace::default())
    }

    /// Flips as the whole graph names them.
    pub(super) fn flips(&self, flips: &[Flip]) -> Vec<Flip> {
        flips.iter().map(|flip| Flip { node: self.nodes[flip.node as usize], ..*flip }).collect()
    }

    /// A proof as the whole graph names its nodes.
    pub(super) fn evidence(&self, mut evidence: Evidence) -> Evidence {
        let name = |node: &mut u32| *node = self.nodes[*node as usize];
        if let Ok(Claim::Robust(trees)) = &mut evidence.claim {
            for step in trees.iter_mut().flat_map(|tree| &mut tree.tree) {
                match step {
                    Step::Unit(_, node, _) | Step::Flip(node, _) => name(node),
                    Step::Leaf(leaf) => rename(leaf, name),
                    // Written by nobody here.
                    Step::Hints(_) => {}
                }
            }
        }
        evidence
    }
}

/// Names the nodes of a leaf.
fn rename(leaf: &mut Leaf, name: impl Fn(&mut u32)) {
    let lists = [&mut leaf.weight, &mut leaf.slope, &mut leaf.beta];
    lists.into_iter().flatten().for_each(|multiplier| name(&mut multiplier.1));
    if let Some(envelope) = &mut leaf.envelope {
        envelope.nodes.iter_mut().for_each(&name);
        envelope.flips.iter_mut().for_each(|flip| name(&mut flip.0));
        envelope.units.iter_mut().for_each(|unit| name(&mut unit.0));
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

/// The same budget for some of the nodes.
fn part(budget: &Budget, graph: &Graph, nodes: &[u32]) -> Budget {
    let local: Vec<i64> = nodes.iter().map(|&n| budget.local(n as usize) as i64).collect();
    let frozen: Vec<i64> = (0..graph.attribute_count()).filter(|&d| budget.is_frozen(d)).map(|d| d as i64).collect();
    let part = Budget::per_node(graph, budget.global(), &local).expect("one number for each node");
    let part = part.with_direction(budget.direction());
    if frozen.is_empty() { part } else { part.freeze_attributes(graph, &frozen).expect("attributes of the graph") }
}
