//! Evaluation of a trained model: accuracy, share of certified nodes, largest certified budgets.

use std::collections::BTreeMap;

use gcnproof::internals::bound::relaxed::Relaxation;
use gcnproof::internals::bound::workspace::Workspace;
use gcnproof::internals::certify::certifier::Certifier;
use gcnproof::internals::certify::settings::Bound;
use gcnproof::internals::problem::Problem;
use gcnproof::internals::problem::budget::Budget;
use gcnproof::internals::problem::graph::Graph;
use gcnproof::internals::problem::network::Network;
use gcnproof::internals::problem::slice::Slice;
use rayon::prelude::*;
use serde::Serialize;

use super::split::Split;

/// Budgets at which nodes are certified to find the largest one; between two steps the middle is counted.
const LADDER: [usize; 36] = [
    1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 14, 16, 18, 20, 23, 26, 29, 32, 36, 40, 45, 50, 56, 63, 71, 80, 90, 100,
    112, 126, 141, 158, 178, 200,
];

/// The figures of one model.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Evaluation {
    /// Share of labelled nodes predicted right.
    pub accuracy_labelled: f64,
    /// Share of unlabelled nodes with a known class predicted right.
    pub accuracy_unlabelled: Option<f64>,
    /// Share of all nodes that the paper's bound certifies.
    pub certified_by_paper: f64,
    /// Share of all nodes that it or the anchored bound certifies, class pair by class pair.
    pub certified_by_best: f64,
    /// Share of all nodes with a known class predicted right.
    pub accuracy: f64,
    /// Share of the largest class among these.
    pub largest_class: f64,
}

/// Nearly all nodes certified: from this share on.
const NEARLY_ALL: f64 = 0.98;

/// No better than the largest class: up to this much above its share.
const NO_BETTER: f64 = 0.02;

impl Evaluation {
    /// Is nearly everything certified because nearly everything is answered by one class? Such a model is robust and
    /// useless.
    pub fn collapsed(&self) -> bool {
        self.certified_by_best >= NEARLY_ALL && self.accuracy <= self.largest_class + NO_BETTER
    }
}

/// Evaluates a model at the budget it was trained for.
pub fn evaluate(graph: &Graph, network: &Network, budget: &Budget, split: &Split) -> Evaluation {
    let certifier = certifier(graph, network, budget.clone());
    let nodes: Vec<u32> = (0..graph.node_count() as u32).collect();
    let right = |nodes: &[u32]| -> Vec<bool> {
        let labels = nodes.iter().map(|&n| n as usize).filter_map(|n| graph.label(n).map(|label| (n, label)));
        labels.map(|(n, label)| certifier.predicted(n) == label as usize).collect()
    };
    let share = |flags: &[bool]| flags.iter().filter(|&&yes| yes).count() as f64 / flags.len().max(1) as f64;
    let unlabelled = right(&split.unlabelled);
    let known: Vec<u32> = nodes.iter().filter_map(|&n| graph.label(n as usize)).collect();
    let mut sizes = BTreeMap::new();
    known.iter().for_each(|label| *sizes.entry(label).or_insert(0usize) += 1);
    let largest = sizes.into_values().max().unwrap_or(0);
    Evaluation {
        accuracy_labelled: share(&right(&split.labelled)),
        accuracy_unlabelled: (!unlabelled.is_empty()).then(|| share(&unlabelled)),
        certified_by_paper: share(&certified(&certifier, &nodes, Bound::Paper)),
        certified_by_best: share(&certified(&certifier, &nodes, Bound::Best)),
        accuracy: share(&right(&nodes)),
        largest_class: largest as f64 / known.len().max(1) as f64,
    }
}

fn certifier(graph: &Graph, network: &Network, budget: Budget) -> Certifier {
    let network = network.clone().widened(graph).expect("the weights are finite and of single precision");
    let problem = Problem::new(graph.clone(), network, budget).expect("the trainer has seen that the parts fit");
    Certifier::builder(problem).build()
}

/// Which nodes have a positive bound for every other class.
fn certified(certifier: &Certifier, nodes: &[u32], bound: Bound) -> Vec<bool> {
    let positive = |node: usize, class: usize, other: usize, workspace: &mut Workspace| {
        let mut by =
            |relaxation| certifier.prepared().pair_bound(node, class, other, relaxation, workspace).lower() > 0.0;
        match bound {
            Bound::Paper => by(Relaxation::Paper),
            Bound::Anchored => by(Relaxation::Anchored),
            Bound::Best => by(Relaxation::Anchored) || by(Relaxation::Paper),
            other => unreachable!("{other:?} is not evaluated"),
        }
    };
    let certify = |workspace: &mut Workspace, &node: &u32| {
        let class = certifier.predicted(node as usize);
        let mut others = (0..certifier.network().class_count()).filter(|&k| k != class);
        others.all(|k| positive(node as usize, class, k, workspace))
    };
    nodes.par_iter().map_init(Workspace::default, certify).collect()
}

/// Largest certified budgets, averaged over all nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LargestGlobal {
    /// By the paper's bound.
    pub paper: f64,
    /// By it or the anchored bound, class pair by class pair.
    pub best: f64,
}

/// The mean over all nodes of the largest `Q ≤ 200` that is certified, local budgets as given, found by bisection. A
/// `Q` beyond what the local budgets of a node's neighbourhood allow does not count.
pub fn mean_largest_global(graph: &Graph, network: &Network, budget: &Budget) -> LargestGlobal {
    let nodes: Vec<u32> = (0..graph.node_count() as u32).collect();
    let mut slice = Slice::default();
    let usable = nodes.iter().map(|&node| {
        slice.cut(network, network.depth(), node as usize);
        slice.nodes(1).iter().map(|&n| budget.local(n as usize)).sum::<usize>() as f64
    });
    let mut bisection = Bisection {
        certifier: certifier(graph, network, budget.with_global(0)),
        usable: usable.collect(),
        total: LargestGlobal::default(),
    };
    bisection.descend(&nodes, &nodes, 0, LADDER.len());
    let count = graph.node_count().max(1) as f64;
    LargestGlobal { paper: bisection.total.paper / count, best: bisection.total.best / count }
}

/// Every budget of the list is tried at most once, with all nodes for which it halves what is open.
struct Bisection {
    certifier: Certifier,
    /// Flips that the local budgets of a node's neighbourhood allow.
    usable: Vec<f64>,
    total: LargestGlobal,
}

impl Bisection {
    /// Nodes, by either bound, that are certified on the first `low` steps and not on the step `high`.
    fn descend(&mut self, paper: &[u32], best: &[u32], low: usize, high: usize) {
        if paper.is_empty() && best.is_empty() {
            return;
        }
        if low == high {
            let below = if low == 0 { 0 } else { LADDER[low - 1] };
            let largest = LADDER.get(low).map_or(below as f64, |&failed| (below + failed - 1) as f64 / 2.0);
            let sum = |nodes: &[u32]| nodes.iter().map(|&node| largest.min(self.usable[node as usize])).sum::<f64>();
            (self.total.paper, self.total.best) = (self.total.paper + sum(paper), self.total.best + sum(best));
            return;
        }
        let middle = low.midpoint(high);
        let certifier = self.certifier.at_global(LADDER[middle]);
        let [(paper_fallen, paper_standing), (best_fallen, best_standing)] =
            [(paper, Bound::Paper), (best, Bound::Best)].map(|(nodes, bound)| {
                let holds = certified(&certifier, nodes, bound);
                let with = |held: bool| -> Vec<u32> {
                    nodes.iter().zip(&holds).filter(|(_, holds)| **holds == held).map(|(&node, _)| node).collect()
                };
                (with(false), with(true))
            });
        drop(certifier);
        self.descend(&paper_fallen, &best_fallen, low, middle);
        self.descend(&paper_standing, &best_standing, middle + 1, high);
    }
}
