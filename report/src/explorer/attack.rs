//! The smallest attack known against each node, its flips in the order in which they hurt most, and what each
//! contributes.
//!
//! The rule is that of `gcnproof explain`: the next flip is the one that lowers the margin most after those before it,
//! and its contribution is by how much. The contributions add up to what the whole attack does.

use std::collections::BTreeMap;

use gcnproof::internals::problem::Problem;
use gcnproof::internals::problem::budget::Budget;
use gcnproof::internals::problem::evaluator::Evaluator;
use gcnproof::internals::problem::flip::Flip;
use gcnproof::internals::problem::forward::{Representation, forward};
use gcnproof::internals::problem::graph::Graph;
use gcnproof::internals::problem::network::Network;
use gcnproof::internals::problem::ranges::Ranges;
use gcnproof::internals::problem::slice::Slice;
use rayon::prelude::*;

use crate::group::Group;
use crate::row::Witness;

/// Up to this many flips are put into order one by one; more by what each does alone.
const ORDERED: usize = 48;

/// An attack.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Attack {
    /// The flips, or the entries that are moved.
    pub flips: Vec<Flip>,
    /// The values that moved entries get, where they are known.
    pub values: Vec<f64>,
    /// The class that comes closest under all of them.
    pub class: usize,
    /// By how much each flip changes the margin against that class, after those before it.
    pub changes: Vec<f64>,
}

/// The smallest attacks known against the nodes of a group.
#[derive(Clone, Debug, Default)]
pub struct Attacks {
    nodes: BTreeMap<u64, Attack>,
    /// Are class and changes known? They need the network.
    pub weighed: bool,
}

/// A network on its graph, to be evaluated.
pub struct Weighing {
    problem: Problem,
    unperturbed: Vec<Representation>,
}

impl Weighing {
    /// Nothing if the network is one for another graph.
    pub fn new(graph: &Graph, network: &Network) -> Option<Weighing> {
        let budget = Budget::uniform(graph, 0, 0);
        let budget = if graph.values().is_some() { budget.with_ranges(Ranges::Ball(0.0)) } else { budget };
        let problem = Problem::new(graph.clone(), network.clone(), budget).ok()?;
        let unperturbed = forward(problem.graph(), problem.network());
        Some(Weighing { problem, unperturbed })
    }

    /// The logits of all nodes without an attack.
    pub fn logits(&self) -> Option<&Representation> {
        self.unperturbed.last()
    }

    /// Puts the flips against a node in order and weighs them. Flips that the graph does not have are left out.
    fn weigh(
        &self,
        node: u64,
        reference: u64,
        flips: &[Flip],
        slice: &mut Slice,
        evaluator: &mut Evaluator,
    ) -> Option<Attack> {
        let (graph, network) = (self.problem.graph(), self.problem.network());
        let fits = |flip: &&Flip| {
            (flip.node as usize) < graph.node_count() && (flip.attribute as usize) < graph.attribute_count()
        };
        let mut open: Vec<Flip> = flips.iter().filter(fits).copied().collect();
        let (node, reference) = (usize::try_from(node).ok()?, usize::try_from(reference).ok()?);
        if node >= graph.target_count() || reference >= network.class_count() {
            return None;
        }
        slice.cut(network, network.depth(), node);
        let mut logits = |flips: &[Flip]| -> Vec<f64> {
            evaluator.logits(&self.problem, &self.unperturbed, slice, flips).map(|logit| logit.value).collect()
        };
        let under = logits(&open);
        let others = (0..under.len()).filter(|class| *class != reference);
        let class = others.max_by(|&x, &y| under[x].total_cmp(&under[y]).then(y.cmp(&x)))?;
        let mut margin_of = |flips: &[Flip]| {
            let logits = logits(flips);
            logits[reference] - logits[class]
        };
        if open.len() > ORDERED {
            let mut alone: Vec<(f64, Flip)> = open.iter().map(|flip| (margin_of(&[*flip]), *flip)).collect();
            alone.sort_by(|x, y| x.0.total_cmp(&y.0).then(x.1.cmp(&y.1)));
            open = alone.into_iter().map(|(_, flip)| flip).collect();
        }
        let one_by_one = open.len() <= ORDERED;
        let mut attack = Attack { class, ..Attack::default() };
        let mut before = margin_of(&[]);
        while !open.is_empty() {
            let candidates = if one_by_one { open.len() } else { 1 };
            let tried = (0..candidates).map(|at| {
                attack.flips.push(open[at]);
                let margin = margin_of(&attack.flips);
                attack.flips.pop();
                (at, margin)
            });
            let (at, margin) = tried.min_by(|x, y| x.1.total_cmp(&y.1))?;
            attack.flips.push(open.remove(at));
            attack.changes.push(margin - before);
            before = margin;
        }
        Some(attack)
    }
}

impl Attacks {
    /// The attacks of a group; weighed, if there is a network to weigh them with.
    pub fn new(group: &Group, weighing: Option<&Weighing>) -> Attacks {
        let witnesses = group.witnesses();
        let plain = |witness: &Witness| Attack {
            flips: witness.flips().to_vec(),
            values: witness.values().to_vec(),
            ..Attack::default()
        };
        let Some(weighing) = weighing else {
            let nodes = witnesses.into_iter().map(|(node, witness)| (node, plain(witness))).collect();
            return Attacks { nodes, weighed: false };
        };
        let references = references(group);
        let list: Vec<(u64, &[Flip])> = witnesses.into_iter().map(|(node, witness)| (node, witness.flips())).collect();
        let nodes = list
            .par_iter()
            .map_init(<(Slice, Evaluator)>::default, |(slice, evaluator), (node, flips)| {
                let reference = references.get(node).copied().unwrap_or(0);
                (*node, weighing.weigh(*node, reference, flips, slice, evaluator).unwrap_or_default())
            })
            .collect();
        Attacks { nodes, weighed: true }
    }

    /// The attack against a node, if one is known.
    pub fn of(&self, node: u64) -> Option<&Attack> {
        self.nodes.get(&node)
    }
}

/// The class that each node is to keep.
fn references(group: &Group) -> BTreeMap<u64, u64> {
    let radii = group.radii.iter().flat_map(|radii| radii.rows.iter().map(|row| (row.node, row.predicted)));
    let verdicts = group.verdicts.iter().flat_map(|run| run.rows.iter().map(|row| (row.node, row.reference)));
    radii.chain(verdicts).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use gcnproof::internals::certify::certifier::Certifier;

    /// The same order and the same numbers as `explain`.
    #[test]
    fn contributions_are_those_of_explain() {
        let (graph, network) = gcnproof::internals::problem::embedded::cora();
        let weighing = Weighing::new(&graph, &network).unwrap();
        for (global, node) in [(12, 1), (12, 194), (5, 306)] {
            let budget = Budget::uniform(&graph, global, 14);
            let certifier = Certifier::builder(Problem::new(graph.clone(), network.clone(), budget).unwrap()).build();
            let told = gcnproof::internals::explain::explain(&certifier, node).unwrap();
            assert!(told.attack.breaks, "{node}");
            let mut flips: Vec<Flip> =
                told.attack.steps.iter().map(|s| Flip { node: s.node, attribute: s.attribute }).collect();
            flips.sort();
            let attack = weighing
                .weigh(node as u64, told.predicted, &flips, &mut Slice::default(), &mut Evaluator::default())
                .unwrap();
            assert_eq!(attack.class as u64, told.attack.class, "{node}");
            let sum: f64 = attack.changes.iter().sum();
            let expected: f64 = told.attack.steps.iter().map(|step| step.change).sum();
            assert!((sum - expected).abs() < 1e-9, "{node}: {sum} {expected}");
            for (step, (flip, change)) in told.attack.steps.iter().zip(attack.flips.iter().zip(&attack.changes)) {
                assert_eq!((step.node, step.attribute), (flip.node, flip.attribute), "{node}");
                assert!((step.change - change).abs() < 1e-9);
            }
        }
    }
}
