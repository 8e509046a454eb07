//! The joint problem: a graph, a network and both budgets.

use std::sync::Arc;

use crate::edges::changes::flipped::FlippedMessages;
use crate::edges::changes::menu::Setting;
use crate::edges::changes::stack::Stack;
use crate::edges::joint::budget::JointBudget;
use crate::edges::problem::{EdgeError, EdgeProblem};
use crate::problem::graph::Graph;
use crate::problem::network::Network;
use crate::problem::{Problem, ProblemError, require_flips};

/// A graph, a network and both budgets, which fit together.
#[derive(Clone, Debug)]
pub struct JointProblem {
    graph: Arc<Graph>,
    network: Arc<Network>,
    budget: JointBudget,
    pub(super) stack: Arc<Stack>,
    flipped: Arc<FlippedMessages>,
}

impl JointProblem {
    /// Puts the parts together.
    ///
    /// # Errors
    /// If they do not fit, or joint attacks are not decided for such a graph or network.
    pub fn new(
        graph: impl Into<Arc<Graph>>,
        network: impl Into<Arc<Network>>,
        budget: JointBudget,
    ) -> Result<JointProblem, EdgeError> {
        let (graph, network) = (graph.into(), network.into());
        let budget = JointBudget { edges: budget.edges.capped(&graph), ..budget };
        if budget.flips.ranges().is_some() {
            return Err(ProblemError::Ranged { what: "changes of edges at the same time are" }.into());
        }
        require_flips(&graph, "flips together with changed edges are")?;
        let stack = EdgeProblem::any_changes(graph.clone(), network.clone(), &budget.edges)?;
        Problem::new(graph.clone(), network.clone(), budget.flips.clone())?;
        let flipped = Arc::new(FlippedMessages::new(stack.clone(), budget.flips.clone()));
        Ok(JointProblem { graph, network, budget, stack, flipped })
    }

    /// The graph.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// The network.
    pub fn network(&self) -> &Network {
        &self.network
    }

    /// Both budgets.
    pub fn budget(&self) -> &JointBudget {
        &self.budget
    }

    /// The same problem with another `Q`.
    pub(super) fn at_global(&self, global: usize) -> JointProblem {
        let flips = self.budget.flips.with_global(global);
        let flipped = Arc::new(FlippedMessages::new(self.stack.clone(), flips.clone()));
        JointProblem { budget: JointBudget { flips, edges: self.budget.edges.clone() }, flipped, ..self.clone() }
    }

    /// What trees over changes of edges take; so many sets are listed rather than bounded.
    pub(super) fn setting(&self) -> Setting<'_> {
        Setting::new(&self.stack, &self.budget.edges, 0).under(&self.flipped)
    }
}
