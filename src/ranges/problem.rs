//! A graph, a network and a budget that fit together, and what targets share.

use std::sync::{Arc, OnceLock};

use crate::number::span::Span;
use crate::problem::Problem;
use crate::problem::budget::Budget;
use crate::problem::graph::Graph;
use crate::problem::network::{Layer, Network};
use crate::problem::ranges::Ranges;
use crate::ranges::number::{Arithmetic, sent};

/// A problem about attributes that are numbers. A clone shares its data.
#[derive(Clone, Debug)]
pub(crate) struct RangeProblem {
    graph: Arc<Graph>,
    network: Arc<Network>,
    /// The first layer as the model has it.
    first: Arc<Layer>,
    budget: Arc<Budget>,
    sent: Arc<Vec<OnceLock<Vec<f64>>>>,
    enclosed: Arc<Vec<OnceLock<Vec<Span>>>>,
    /// Bounds of units by representation, from 2 on, and node.
    units: Arc<Vec<Vec<OnceLock<Vec<Span>>>>>,
}

impl RangeProblem {
    /// What a problem is about, if its budget has ranges.
    pub(crate) fn of(problem: &Problem) -> Option<RangeProblem> {
        problem.budget().ranges()?;
        let (graph, network) = (problem.shared_graph(), problem.shared_network());
        let first = network.own_layers().next()?.clone();
        let nodes = graph.node_count();
        let units = (2..network.depth()).map(|_| empty(nodes)).collect();
        Some(RangeProblem {
            graph,
            first: Arc::new(first),
            network,
            budget: Arc::new(problem.budget().clone()),
            sent: Arc::new(empty(nodes)),
            enclosed: Arc::new(empty(nodes)),
            units: Arc::new(units),
        })
    }

    /// The graph.
    pub(crate) fn graph(&self) -> &Graph {
        &self.graph
    }

    /// The network.
    pub(crate) fn network(&self) -> &Network {
        &self.network
    }

    /// The budget.
    pub(crate) fn budget(&self) -> &Budget {
        &self.budget
    }

    /// The ranges.
    pub(crate) fn ranges(&self) -> &Ranges {
        self.budget.ranges().unwrap_or(&Ranges::Ball(0.0))
    }

    /// A layer, counted from 1, as the model has it.
    pub(crate) fn layer(&self, l: usize) -> &Layer {
        if l == 1 { &self.first } else { &self.network.layers()[l - 1] }
    }

    /// What a node sends in the first layer, unit by unit of one term after the other, as it is.
    pub(crate) fn sent(&self, node: usize) -> &[f64] {
        self.sent[node].get_or_init(|| self.sum(node))
    }

    /// The same between floats.
    pub(crate) fn enclosed(&self, node: usize) -> &[Span] {
        self.enclosed[node].get_or_init(|| self.sum(node))
    }

    pub(crate) fn sum<N: Arithmetic>(&self, node: usize) -> Vec<N> {
        sent(&self.first, &self.graph.row_values(node))
    }

    /// Where bounds of the pre-activations of a node in a hidden representation are kept.
    pub(crate) fn kept_units(&self, l: usize, node: usize) -> &OnceLock<Vec<Span>> {
        &self.units[l - 2][node]
    }
}

fn empty<T>(nodes: usize) -> Vec<OnceLock<T>> {
    (0..nodes).map(|_| OnceLock::new()).collect()
}
