//! Flips on a changed graph: an ordinary problem of flips, on the nodes that a target depends on after the changes
//! (docs/math.md §26.1).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use gcnproof_check::format::{Claim, Step};

use crate::bound::workspace::Workspace;
use crate::certify::certifier::Certifier;
use crate::certify::settings::{Effort, Margins};
use crate::certify::verdict::{NodeResult, Verdict};
use crate::edges::changes::stack::Stack;
use crate::edges::changes::world::World;
use crate::number::span::down;
use crate::problem::Problem;
use crate::problem::budget::Budget;
use crate::problem::flip::Flip;
use crate::problem::graph::Graph;
use crate::problem::limits::Stop;
use crate::problem::matrix::SparseMatrix;
use crate::problem::network::{Bias, Layer, Network, Operator};
use crate::problem::passing::Passing;
use crate::proof::renamed;

/// The nodes that a target depends on after some changes of edges, as a graph of its own. They keep their order.
pub(super) struct ChangedPart {
    nodes: Vec<u32>,
    target: usize,
    graph: Arc<Graph>,
    layers: Vec<Layer>,
    budget: Budget,
}

/// What is asked about flips.
pub(super) struct FlipsAsked<'a> {
    pub(super) reference: usize,
    pub(super) others: &'a [usize],
    /// Margins are to exceed this, instead of 0.
    pub(super) above: f64,
    pub(super) effort: Effort,
    pub(super) stop: Stop,
}

/// The entries of a row by term and sender.
type FieldRow = Vec<BTreeMap<u32, f64>>;

impl ChangedPart {
    pub(super) fn new(stack: &Stack, world: &World, target: u32, budget: &Budget) -> ChangedPart {
        let layers = stack.rules.len();
        let mut rows: Vec<BTreeMap<u32, FieldRow>> = vec![BTreeMap::new(); layers];
        let mut needed = BTreeSet::from([target]);
        let mut nodes = needed.clone();
        for layer in (0..layers).rev() {
            let mut below = BTreeSet::new();
            for &v in &needed {
                let mut row: FieldRow = vec![BTreeMap::new(); stack.rules[layer].len()];
                stack.each_entry(layer, v, world, |k, a, n| {
                    row[k].insert(n, a);
                    below.insert(n);
                });
                rows[layer].insert(v, row);
            }
            nodes.extend(&below);
            needed = below;
        }
        let nodes: Vec<u32> = nodes.into_iter().collect();
        let place = |node: u32| nodes.partition_point(|&other| other < node);
        let layer = |(at, rows): (usize, &BTreeMap<u32, FieldRow>)| {
            let of = &stack.network.layers()[at];
            let matrix = |k: usize| {
                let (mut offsets, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
                for node in &nodes {
                    for (&n, &a) in rows.get(node).into_iter().flat_map(|row| &row[k]) {
                        columns.push(place(n) as u32);
                        values.push(a);
                    }
                    offsets.push(columns.len());
                }
                Arc::new(SparseMatrix::new((nodes.len(), nodes.len()), offsets, columns, values))
            };
            let operators: Vec<Arc<SparseMatrix>> = (0..stack.rules[at].len()).map(matrix).collect();
            let bias = nodes.iter().flat_map(|&n| of.bias.row(n as usize)).copied().collect();
            Layer {
                passing: Arc::new(Passing::new(&operators)),
                operators: operators.into_iter().map(Operator::Matrix).collect(),
                weight: of.weight.clone(),
                bias: Bias::new(of.outputs(), bias),
                linear: of.linear.clone(),
            }
        };
        let layers = rows.iter().enumerate().map(layer).collect();
        let attributes: Vec<Vec<usize>> =
            nodes.iter().map(|&n| world.attributes(n).iter().map(|&d| d as usize).collect()).collect();
        let graph =
            Graph::from_lists(&[], &attributes, stack.graph.attribute_count()).expect("rows of a graph are rows");
        let budget = budget.restricted(&nodes);
        ChangedPart { target: place(target), graph: Arc::new(graph), layers, budget, nodes }
    }

    /// Decides flips of the target's class against others. Witnesses are those of the whole graph.
    pub(super) fn ask(&self, asked: &FlipsAsked, proofs: bool) -> NodeResult {
        let mut layers = self.layers.clone();
        if asked.above != 0.0
            && let Some(last) = layers.last_mut()
        {
            // The margins of a network whose logit is lower by what is to be exceeded, or a little more.
            let slot = &mut last.bias.values_mut()[self.target * self.outputs() + asked.reference];
            *slot = down(*slot - asked.above);
        }
        let network = Network::new(layers).expect("a part of a network is one");
        let problem =
            Problem::new(self.graph.clone(), network, self.budget.clone()).expect("the parts are of one size");
        let stop = asked.stop.clone();
        let builder = Certifier::builder(problem).effort(asked.effort).margins(Margins::Tight).proofs(proofs);
        let certifier = builder.stop(move || stop.is_set()).build();
        let mut result =
            certifier.certify_against(self.target, asked.reference, asked.others, &mut Workspace::default());
        result.witness.iter_mut().for_each(|flip| *flip = Flip { node: self.nodes[flip.node as usize], ..*flip });
        result
    }

    /// A tree over flips which shows that the reference class stays above another by more than is asked, if the search
    /// finds one. Nodes are those of the whole graph.
    pub(super) fn tree(&self, asked: &FlipsAsked) -> Option<Vec<Step>> {
        let result = self.ask(asked, true);
        let evidence =
            result.evidence.filter(|_| result.verdict == Verdict::Robust && result.contradiction.is_none())?;
        match evidence.claim {
            Ok(Claim::Robust(mut trees)) if trees.len() == 1 => renamed(trees.pop()?.tree, &self.nodes),
            _ => None,
        }
    }

    fn outputs(&self) -> usize {
        self.layers.last().map_or(0, Layer::outputs)
    }
}
