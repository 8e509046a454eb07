//! The problem: a graph, a network and a budget of flips, the slice of a target, and evaluation of perturbations. No
//! bounds.

pub mod budget;
pub mod embedded;
pub mod evaluator;
pub mod exact;
pub mod flip;
pub mod forward;
pub mod graph;
pub mod layer;
pub mod limits;
pub mod matrix;
pub(crate) mod minimal;
pub mod network;
pub mod network_error;
pub mod objective;
pub mod operator;
pub(crate) mod pace;
pub mod partition;
pub mod passing;
pub mod places;
pub mod polynomial;
pub mod ranges;
pub mod rows;
pub mod simplex;
pub mod slice;

use std::sync::Arc;

use thiserror::Error;

use budget::{Budget, Direction};
use graph::Graph;
use network::Network;

/// A graph, a network on it, and a budget: what a certifier decides. Everything is owned, so that it can be kept and
/// shared.
#[derive(Clone, Debug)]
pub struct Problem {
    graph: Arc<Graph>,
    network: Arc<Network>,
    budget: Budget,
}

/// Parts that do not fit together.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ProblemError {
    /// The network is one for another number of nodes.
    #[error("the network passes messages between {network} nodes, but the graph has {graph}")]
    Nodes {
        /// Rows of its message-passing matrices.
        network: usize,
        /// Nodes of the graph.
        graph: usize,
    },
    /// The network takes another number of attributes.
    #[error("the network takes {network} attributes, but the graph has {graph}")]
    Attributes {
        /// Rows of the first weight matrix.
        network: usize,
        /// Attributes of the graph.
        graph: usize,
    },
    /// The budget is one for another graph.
    #[error("the budget is for {budget} nodes, but the graph has {graph}")]
    Budget {
        /// Local budgets.
        budget: usize,
        /// Nodes of the graph.
        graph: usize,
    },
    /// The budget freezes attributes of another graph.
    #[error("the budget freezes some of {budget} attributes, but the graph has {graph}")]
    Frozen {
        /// Attributes that the budget knows.
        budget: usize,
        /// Attributes of the graph.
        graph: usize,
    },
    /// Rows of attributes are normalised, which this attacker is not decided for.
    #[error("the rows of the attributes are divided by their sums, and {what} not decided for such graphs")]
    Normalised {
        /// The attacker with its verb: `removed edges are`.
        what: &'static str,
    },
    /// Attributes are one-hot, which this attacker is not decided for.
    #[error("the attributes of the graph are categories, and {what} not decided for such graphs")]
    Categories {
        /// The attacker with its verb: `removed edges are`.
        what: &'static str,
    },
    /// Attributes are moved within ranges, which something is not decided for.
    #[error("attributes are moved within ranges, and {what} not decided then")]
    Ranged {
        /// What, with its verb: `one attack on the whole graph is`.
        what: &'static str,
    },
    /// Ranges that are not those of the graph.
    #[error(transparent)]
    Ranges(#[from] ranges::RangeError),
    /// Attributes are numbers, which this attacker is not decided for.
    #[error("the attributes of the graph are numbers, and {what} not decided for such graphs")]
    Numbers {
        /// The attacker with its verb: `flips are`.
        what: &'static str,
    },
    /// Graphs are classified, which this attacker is not decided for.
    #[error("the network classifies graphs, and {what} not decided for such networks")]
    Graphs {
        /// The attacker with its verb: `removed edges are`.
        what: &'static str,
    },
    /// Many graphs, and a network that classifies nodes.
    #[error("there are {graphs} graphs, but the network has no readout: it classifies nodes")]
    NoReadout {
        /// How many graphs there are.
        graphs: usize,
    },
    /// There is no such graph.
    #[error("there is no graph {graph}: there are {graphs} (ids start at 0)")]
    NoGraph {
        /// The id given.
        graph: usize,
        /// Graphs of the batch.
        graphs: usize,
    },
    /// There is no such node.
    #[error("there is no node {node}: the graph has {nodes} (ids start at 0)")]
    Node {
        /// The id given.
        node: usize,
        /// Nodes of the graph.
        nodes: usize,
    },
}

/// Refuses a graph whose attributes are not simply flipped.
pub(crate) fn require_flips(graph: &Graph, what: &'static str) -> Result<(), ProblemError> {
    if graph.values().is_some() {
        return Err(ProblemError::Numbers { what });
    }
    match (graph.categories(), graph.normalisation().is_some()) {
        (Some(_), _) => Err(ProblemError::Categories { what }),
        (None, true) => Err(ProblemError::Normalised { what }),
        (None, false) => Ok(()),
    }
}

impl Problem {
    /// Puts the parts together.
    ///
    /// # Errors
    /// If their sizes do not fit.
    pub fn new(
        graph: impl Into<Arc<Graph>>,
        network: impl Into<Arc<Network>>,
        budget: Budget,
    ) -> Result<Problem, ProblemError> {
        let (graph, network) = (graph.into(), network.into());
        let (nodes, attributes) = (graph.node_count(), graph.attribute_count());
        if network.node_count() != nodes {
            return Err(ProblemError::Nodes { network: network.node_count(), graph: nodes });
        }
        if network.width(1) != attributes {
            return Err(ProblemError::Attributes { network: network.width(1), graph: attributes });
        }
        match budget.ranges() {
            None if graph.values().is_some() => return Err(ProblemError::Numbers { what: "flips are" }),
            Some(_) if graph.categories().is_some() => {
                return Err(ProblemError::Categories { what: "changes within ranges are" });
            }
            Some(ranges) => ranges.check(&graph)?,
            None => {}
        }
        if graph.batch().is_some() && !network.has_readout() {
            return Err(ProblemError::NoReadout { graphs: graph.target_count() });
        }
        if budget.locals().len() != nodes {
            return Err(ProblemError::Budget { budget: budget.locals().len(), graph: nodes });
        }
        let columns = graph.budget_columns();
        if ![0, columns].contains(&budget.frozen_attributes().len()) {
            return Err(ProblemError::Frozen { budget: budget.frozen_attributes().len(), graph: columns });
        }
        if graph.categories().is_some() && budget.stated_direction() != Direction::Both {
            return Err(ProblemError::Categories { what: "additions alone, or removals alone, are" });
        }
        let budget = budget.of_categories(&graph);
        Ok(Problem { graph, network, budget })
    }

    /// The unperturbed graph.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    pub(crate) fn shared_graph(&self) -> Arc<Graph> {
        self.graph.clone()
    }

    pub(crate) fn shared_network(&self) -> Arc<Network> {
        self.network.clone()
    }

    /// The network, which has as many nodes as the graph.
    pub fn network(&self) -> &Network {
        &self.network
    }

    /// The attacker's budget.
    pub fn budget(&self) -> &Budget {
        &self.budget
    }

    /// Are these nodes of the graph?
    ///
    /// # Errors
    /// With the first that is not.
    pub fn check_nodes(&self, nodes: &[usize]) -> Result<(), ProblemError> {
        check_targets(&self.graph, nodes)
    }

    /// The same problem with the first layer as the model has it: numbers are read as they are, and not by their powers
    /// of two, and changes of categories are no attributes.
    pub(crate) fn on_own_attributes(&self) -> Problem {
        let own = self.graph.categories().is_none() && self.graph.values().is_none();
        let network = || Arc::new((*self.network).clone().unwidened());
        Problem { network: if own { self.network.clone() } else { network() }, ..self.clone() }
    }

    /// The same problem with another `Q`.
    pub fn at_global(&self, global: usize) -> Problem {
        Problem { budget: self.budget.with_global(global), ..self.clone() }
    }
}

/// Are these targets: nodes of the graph, or graphs of the batch?
///
/// # Errors
/// With the first that is not.
pub(crate) fn check_targets(graph: &Graph, targets: &[usize]) -> Result<(), ProblemError> {
    let count = graph.target_count();
    match targets.iter().find(|&&target| target >= count) {
        Some(&target) if graph.batch().is_some() => Err(ProblemError::NoGraph { graph: target, graphs: count }),
        Some(&target) => Err(ProblemError::Node { node: target, nodes: count }),
        None => Ok(()),
    }
}
