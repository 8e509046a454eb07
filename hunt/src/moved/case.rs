//! A network as it runs, and attributes that are moved within ranges, as plain data.

use gcnproof::Execution;

use crate::case::{Allowance, Case, Way, bare};
use crate::changes::case::{Allowed, ChangeCase, Done, Means};
use crate::generate::model;
use crate::network::Source;
use crate::ranges::case::RangeCase;
use crate::terms::case::TermCase;
use crate::terms::description::{Description, Layer, Passing, Term};

/// A case. Both networks are the same: one is described, as it runs; the other is a chain with the truth of which a
/// brute force is at hand, and has no rules where there is no such chain.
#[derive(Clone, Debug)]
pub struct MovedCase {
    pub ranges: RangeCase,
    pub network: TermCase,
    pub execution: Execution,
}

impl MovedCase {
    /// A chain of layers, as it runs.
    ///
    /// # Errors
    /// If the program refuses the description: layers with units of nodes and of graphs have none.
    pub fn of_chain(ranges: RangeCase, execution: Execution) -> Result<MovedCase, String> {
        let graph = &ranges.changes.graph;
        let (nodes, columns) = (ranges.changes.nodes(), graph.attributes.columns);
        let base = Case {
            origin: ranges.changes.origin.clone(),
            graph: graph.clone(),
            model: model(Vec::new()),
            rules: Vec::new(),
            budget: Allowance { global: 0, local: vec![0; nodes], way: Way::Both, frozen: vec![false; columns] },
            labels: false,
            components: std::iter::once(0..nodes).collect(),
        };
        let network = TermCase::described(base, description(&ranges.changes))?;
        Ok(MovedCase { ranges, network, execution })
    }

    /// A described network, as it runs, whose attributes are to be these numbers.
    pub fn of_terms(
        mut network: TermCase,
        execution: Execution,
        numbers: impl FnOnce(&Case) -> RangeCase,
    ) -> MovedCase {
        // Of labels another area knows more; here the class to be kept is the predicted one.
        network.base.labels = false;
        network.base.graph.labels = None;
        MovedCase { ranges: numbers(&network.base), network, execution }
    }

    /// Is the truth of the exact network at hand?
    pub fn is_chain(&self) -> bool {
        !self.ranges.changes.rules.is_empty()
    }

    pub fn classes(&self) -> usize {
        self.network.base.classes()
    }

    /// Nodes, or graphs where these are classified.
    pub fn targets(&self) -> usize {
        self.network.base.targets()
    }
}

/// The graph of a case in the form that ranges need it, without a network.
pub fn without_chain(base: &Case) -> ChangeCase {
    let means = Means {
        done: Done::Change,
        directed: false,
        allowed: Allowed::All,
        global: 0,
        local: vec![0; base.nodes()],
        keep_one: false,
        frozen: Vec::new(),
    };
    let graph = gcnproof_files::GraphFile {
        adjacency: base.graph.adjacency.clone(),
        attributes: base.graph.attributes.clone(),
        batch: base.graph.batch.clone(),
        ..bare()
    };
    ChangeCase { origin: base.origin.clone(), graph, model: base.model.clone(), rules: Vec::new(), means }
}

/// The description of a chain of layers.
fn description(case: &ChangeCase) -> Description {
    let last = case.model.layers.len() - 1;
    let layer = |at: usize| {
        let (layer, rules) = (&case.model.layers[at], &case.rules[at]);
        let outputs = layer.weight.columns;
        let source = if at == 0 { Source::Attributes } else { Source::Layer(at - 1) };
        let size = layer.weight.values.len() / rules.len();
        let term = |(rule, weight): (&&'static str, &[f64])| Term {
            source,
            passing: passing(rule),
            weight: Some(weight.to_vec()),
        };
        let linear = |unit: usize| at == last || layer.linear.get(unit).copied().unwrap_or(false);
        Layer {
            terms: rules.iter().zip(layer.weight.values.chunks(size)).map(term).collect(),
            bias: Some(layer.bias.clone()),
            linear: (0..outputs).map(linear).collect(),
            outputs,
        }
    };
    Description { attributes: case.graph.attributes.columns, layers: (0..=last).map(layer).collect() }
}

/// A rule by its name: `gcn`, or `poly(sum;1.25,1)`.
fn passing(rule: &'static str) -> Passing {
    let polynomial = rule.strip_prefix("poly(").and_then(|rest| rest.strip_suffix(')')?.split_once(';'));
    match polynomial {
        None => Passing::Named(rule),
        Some((base, coefficients)) => {
            let number = |text: &str| (text.parse().unwrap_or(0.0), text.to_string());
            Passing::Polynomial(Box::new(Passing::Named(base)), coefficients.split(',').map(number).collect())
        }
    }
}
