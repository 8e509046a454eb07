//! The edge problem: graph, network and budget of changes, and what all targets share.

use std::sync::{Arc, OnceLock};

use thiserror::Error;

use crate::certify::contradiction::Contradiction;
use crate::edges::budget::{Edge, EdgeBudget};
use crate::edges::changes::stack::Stack;
use crate::edges::messages::Messages;
use crate::edges::rule::Rule;
use crate::number::dyadic::Dyadic;
use crate::problem::graph::Graph;
use crate::problem::matrix::PatternRows;
use crate::problem::network::{Layer, Network, Operator};
use crate::problem::{ProblemError, check_targets};
use crate::proof::model_file;

/// Networks whose answers to removed edges are not decided, and parts that do not fit.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum EdgeError {
    /// An operator that edges do not determine in a way that is known here.
    #[error(
        "layer {layer} passes messages by {rule}, which cannot be recomputed when edges change: only gcn, gcn-self, mean, \
         mean+self, sum, sum+self, poly(sum;a,1) and identity can"
    )]
    Operator {
        /// Layer, from 1.
        layer: usize,
        /// What it is.
        rule: String,
    },
    /// A normalisation by both ends that directed edges do not determine.
    #[error(
        "layer {layer} passes messages by gcn-self, which directed edges do not determine: a node that sends may itself receive from \
         nobody, and would be divided by 0"
    )]
    Directed {
        /// Layer, from 1.
        layer: usize,
    },
    /// Undirected edges are attacked, and one of them has a single direction.
    #[error("the graph has an edge from {from} to {to}, but none back: its edges are attacked as directed ones")]
    OneWay {
        /// Who sends.
        from: u32,
        /// Who receives.
        to: u32,
    },
    /// A network that is known on the edges of its graph alone.
    #[error("the network was read from a module on the edges of this graph, and is not the module where edges change")]
    Fixed,
    /// A readout behind which values of nodes and of graphs are mixed.
    #[error("{problem}")]
    Levels {
        /// In words.
        problem: String,
    },
    /// The budget is one for another graph.
    #[error("the budget of edges is for {budget} nodes, but the graph has {graph}")]
    Budget {
        /// Local budgets.
        budget: usize,
        /// Nodes of the graph.
        graph: usize,
    },
    /// Graph and network do not fit.
    #[error(transparent)]
    Problem(#[from] ProblemError),
    /// Two steps say opposite things of a node, so that one of them is wrong: nothing is said of it.
    #[error(transparent)]
    Contradiction(#[from] Contradiction),
}

/// A graph, a network and a budget of changes that fit together.
#[derive(Clone, Debug)]
pub struct EdgeProblem {
    graph: Arc<Graph>,
    network: Arc<Network>,
    budget: EdgeBudget,
    shared: Arc<Shared>,
    /// For all but removals of undirected edges in networks that classify nodes and have one hidden layer.
    stack: Option<Arc<Stack>>,
}

/// What does not depend on the budget.
#[derive(Debug, Default)]
struct Shared {
    /// The rule of the first layer's term with edges.
    rule: Rule,
    /// Which term that is.
    term: Option<usize>,
    /// The rules of the terms of the second layer.
    second: Vec<Rule>,
    messages: Messages,
    exact: Vec<OnceLock<[Vec<Dyadic>; 2]>>,
}

impl EdgeProblem {
    /// Puts the parts together.
    ///
    /// # Errors
    /// If they do not fit, or changed edges are not decided for such a network.
    pub fn new(
        graph: impl Into<Arc<Graph>>,
        network: impl Into<Arc<Network>>,
        budget: EdgeBudget,
    ) -> Result<EdgeProblem, EdgeError> {
        let (graph, network) = (graph.into(), network.into());
        let budget = budget.capped(&graph);
        let rules = EdgeProblem::rules(&graph, &network, &budget)?;
        if is_changes(&network, &budget) {
            let stack = EdgeProblem::stacked(graph.clone(), network.clone(), &budget, rules)?;
            let (shared, stack) = (Arc::new(Shared::default()), Some(stack));
            return Ok(EdgeProblem { graph, network, budget, shared, stack });
        }
        let nodes = graph.node_count();
        let (of_first, second) = (&rules[0], rules[1].clone());
        let term = of_first.iter().position(|rule| !rule.is_identity());
        let rule = term.map_or(Rule::IDENTITY, |term| of_first[term]);
        let messages = Messages::new(&graph, &network, term);
        let exact = (0..nodes).map(|_| OnceLock::new()).collect();
        let shared = Arc::new(Shared { rule, term, second, messages, exact });
        Ok(EdgeProblem { graph, network, budget, shared, stack: None })
    }

    /// The layers for changes of any kind, removals with one hidden layer among them.
    pub(super) fn any_changes(
        graph: Arc<Graph>,
        network: Arc<Network>,
        budget: &EdgeBudget,
    ) -> Result<Arc<Stack>, EdgeError> {
        let rules = EdgeProblem::rules(&graph, &network, budget)?;
        EdgeProblem::stacked(graph, network, budget, rules)
    }

    fn stacked(
        graph: Arc<Graph>,
        network: Arc<Network>,
        budget: &EdgeBudget,
        rules: Vec<Vec<Rule>>,
    ) -> Result<Arc<Stack>, EdgeError> {
        let divides = |rules: &Vec<Rule>| rules.iter().any(|rule| rule.reads_sender() && rule.own(false) == 0);
        if let Some(at) = rules.iter().position(divides).filter(|_| budget.is_directed()) {
            return Err(EdgeError::Directed { layer: at + 1 });
        }
        Ok(Arc::new(Stack::new(graph, network, rules, budget.is_directed())))
    }

    /// The rules of all layers and terms, if graph, network and budget fit together.
    fn rules(graph: &Graph, network: &Network, budget: &EdgeBudget) -> Result<Vec<Vec<Rule>>, EdgeError> {
        let nodes = graph.node_count();
        if network.node_count() != nodes {
            return Err(ProblemError::Nodes { network: network.node_count(), graph: nodes }.into());
        }
        if network.width(1) != graph.attribute_count() {
            return Err(ProblemError::Attributes { network: network.width(1), graph: graph.attribute_count() }.into());
        }
        if network.has_fixed_edges() {
            return Err(EdgeError::Fixed);
        }
        if graph.categories().is_some() {
            return Err(ProblemError::Categories { what: "changed edges are" }.into());
        }
        if graph.batch().is_some() && !network.has_readout() {
            return Err(ProblemError::NoReadout { graphs: graph.target_count() }.into());
        }
        if network.has_readout() {
            model_file(network, "").check_levels().map_err(|problem| EdgeError::Levels { problem })?;
        }
        if budget.locals().len() != nodes {
            return Err(EdgeError::Budget { budget: budget.locals().len(), graph: nodes });
        }
        if !budget.is_directed() {
            let arcs = |to: u32| graph.adjacency().row(to as usize).iter().map(move |&from| (to, from));
            let alone = |&(to, from): &(u32, u32)| !graph.adjacency().contains(from as usize, to);
            if let Some((to, from)) = (0..nodes as u32).flat_map(arcs).find(alone) {
                return Err(EdgeError::OneWay { from, to });
            }
        }
        let rules = |(at, layer): (usize, &Layer)| -> Result<Vec<Rule>, EdgeError> {
            let rule = |operator: &Operator| {
                Rule::of(operator).ok_or_else(|| EdgeError::Operator { layer: at + 1, rule: named(operator) })
            };
            layer.operators.iter().map(rule).collect()
        };
        network.layers().iter().enumerate().map(rules).collect()
    }

    /// The graph.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// The network.
    pub fn network(&self) -> &Network {
        &self.network
    }

    /// The budget.
    pub fn budget(&self) -> &EdgeBudget {
        &self.budget
    }

    /// The same problem with another `E`.
    pub fn at_global(&self, global: usize) -> EdgeProblem {
        EdgeProblem { budget: self.budget.with_global(global).capped(&self.graph), ..self.clone() }
    }

    /// Are these nodes of the graph, or graphs of the batch?
    ///
    /// # Errors
    /// With the first that is not.
    pub fn check_nodes(&self, nodes: &[usize]) -> Result<(), ProblemError> {
        check_targets(&self.graph, nodes)
    }

    /// The layers, where changes are not just removals with one hidden layer.
    pub(crate) fn stack(&self) -> Option<&Stack> {
        self.stack.as_deref()
    }

    pub(crate) fn rule(&self) -> Rule {
        self.shared.rule
    }

    pub(crate) fn second(&self) -> &[Rule] {
        &self.shared.second
    }

    pub(crate) fn messages(&self) -> &Messages {
        &self.shared.messages
    }

    /// Has the graph a self-loop here?
    pub(crate) fn looped(&self, node: u32) -> bool {
        self.graph.adjacency().contains(node as usize, node)
    }

    /// Who is linked to a node, itself left out.
    pub(crate) fn neighbours(&self, node: u32) -> impl Iterator<Item = u32> + '_ {
        self.graph.adjacency().row(node as usize).iter().copied().filter(move |&other| other != node)
    }

    /// `Y_n` and `b_n + Z_n`, exactly; summed when they are first asked for.
    fn exact(&self, node: u32) -> &[Vec<Dyadic>; 2] {
        self.shared.exact[node as usize].get_or_init(|| {
            let layer = &self.network.layers()[0];
            let present = self.graph.attributes().row(node as usize);
            let entry = Dyadic::from(self.graph.entry(node as usize));
            let sum = |k: usize, j: usize| {
                let weights = present.iter().map(|&d| layer.weight.get(k * layer.inputs() + d as usize, j));
                &Dyadic::sum_of(weights) * &entry
            };
            let sent = |j| self.shared.term.map_or(Dyadic::ZERO, |term| sum(term, j));
            let bias = layer.bias.row(node as usize);
            let own = |j: usize| {
                let terms = (0..layer.passing.terms()).filter(|&k| Some(k) != self.shared.term);
                terms.fold(Dyadic::from(bias[j]), |total, k| &total + &sum(k, j))
            };
            [(0..layer.outputs()).map(sent).collect(), (0..layer.outputs()).map(own).collect()]
        })
    }

    /// What a node sends, exactly.
    pub(crate) fn exact_message(&self, node: u32) -> &[Dyadic] {
        &self.exact(node)[0]
    }

    /// The pre-activation of a unit of a node, exactly: its own message with the entry `own`, and those of the senders
    /// with theirs.
    pub(crate) fn exact_unit(&self, node: u32, unit: usize, own: &Dyadic, senders: &[(u32, Dyadic)]) -> Dyadic {
        let [sent, own_part] = self.exact(node);
        let mut z = &own_part[unit] + &(&sent[unit] * own);
        for (n, a) in senders {
            z += &(&self.exact(*n)[0][unit] * a);
        }
        z
    }

    /// The margin of two classes as a function of hidden units, exactly: the weights by term and unit, and the bias.
    pub(crate) fn exact_weights(&self, node: u32, reference: usize, other: usize) -> (Vec<Vec<Dyadic>>, Dyadic) {
        let [first, second] = self.network.layers() else { return (Vec::new(), Dyadic::ZERO) };
        let width = first.outputs();
        let difference = |k: usize, i: usize| -> Dyadic {
            &Dyadic::from(second.weight.get(k * width + i, reference))
                - &Dyadic::from(second.weight.get(k * width + i, other))
        };
        let bias = second.bias.row(node as usize);
        let weights = (0..self.second().len()).map(|k| (0..width).map(|i| difference(k, i)).collect()).collect();
        (weights, &Dyadic::from(bias[reference]) - &Dyadic::from(bias[other]))
    }

    /// The exact margin of class `reference` over `other` at a node when these edges are changed.
    pub(crate) fn exact_margin(&self, node: u32, reference: usize, other: usize, removed: &[Edge]) -> Dyadic {
        if let Some(stack) = self.stack() {
            return stack.exact_margin(node, reference, other, removed);
        }
        let left =
            |v: u32| -> Vec<u32> { self.neighbours(v).filter(|&w| !removed.contains(&Edge::between(v, w))).collect() };
        let at_node = left(node);
        let [first, _] = self.network.layers() else { return Dyadic::ZERO };
        let width = first.outputs();
        let (weights, mut total) = self.exact_weights(node, reference, other);
        let size = |rule: Rule, v: u32, left: usize| left + rule.own(self.looped(v));
        let lost = |v: u32| removed.iter().filter(|edge| edge.0 == v || edge.1 == v).count();
        for &m in std::iter::once(&node).chain(&at_node) {
            let around = if m == node { at_node.clone() } else { left(m) };
            let entry = |rule: &Rule| match m == node {
                true => rule.own_entry(at_node.len(), self.looped(node)),
                false => rule.entry(size(*rule, node, at_node.len()), size(*rule, m, around.len())),
            };
            let entries: Vec<f64> = self.second().iter().map(entry).collect();
            if entries.iter().all(|a| *a == 0.0) {
                continue;
            }
            let rule = self.rule();
            let own = Dyadic::from(if rule.is_identity() { 0.0 } else { rule.own_entry(around.len(), self.looped(m)) });
            let senders: Vec<(u32, Dyadic)> = around
                .iter()
                .map(|&n| {
                    let at_n = self.graph.degree(n as usize) - lost(n);
                    (n, rule.entry(size(rule, m, around.len()), size(rule, n, at_n)).into())
                })
                .collect();
            for i in 0..width {
                let coefficient = entries
                    .iter()
                    .zip(&weights)
                    .fold(Dyadic::ZERO, |total, (&a, w)| &total + &(&w[i] * &Dyadic::from(a)));
                if coefficient.sign().is_eq() {
                    continue;
                }
                let z = self.exact_unit(m, i, &own, &senders);
                let active = if first.is_linear(i) { z } else { z.relu() };
                total += &(&coefficient * &active);
            }
        }
        total
    }
}

/// Is this more than removals of undirected edges in a network that classifies nodes and has one hidden layer, whose
/// first layer passes along edges in one term at most, and no layer by a polynomial?
pub(crate) fn is_changes(network: &Network, budget: &EdgeBudget) -> bool {
    let passing = |layer: &Layer| layer.operators.iter().filter(|rule| !matches!(rule, Operator::Identity)).count();
    let weighted = |layer: &Layer| layer.operators.iter().any(|rule| matches!(rule, Operator::Polynomial(..)));
    match network.layers() {
        layers if layers.iter().any(weighted) => true,
        [first, _] => passing(first) > 1 || !budget.removes_only() || network.has_readout(),
        _ => true,
    }
}

/// What an operator is called where it is refused.
fn named(operator: &Operator) -> String {
    match operator {
        Operator::Matrix(_) => "a matrix from a file".into(),
        Operator::Polynomial(..) => format!("the polynomial {}", operator.name()),
        _ => operator.name(),
    }
}
