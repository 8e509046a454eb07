//! How well the true network fits labels: the mean cross entropy of its logits (docs/math.md §9), with its gradient.

use gcnproof::internals::problem::graph::Graph;
use gcnproof::internals::problem::network::Network;

use super::gradient::{Gradient, add_scaled};
use super::losses::cross_entropy;
use super::pass::{Dropout, Pass, ReversePass, Transposed};
use super::receptive_field::ReceptiveField;

/// A network on a graph, and the targets whose labels it is to fit.
pub struct Fit<'a> {
    /// The unperturbed graph.
    pub graph: &'a Graph,
    /// The network with its present weights.
    pub network: &'a Network,
    /// The operators and attributes, turned over.
    pub transposed: &'a Transposed,
    /// Targets that have a label.
    pub labelled: &'a [u32],
    /// What these targets read.
    pub reach: &'a ReceptiveField,
    /// Inputs of layers that are dropped.
    pub dropout: Option<Dropout>,
}

/// What a fit amounts to.
pub struct Fitted {
    /// The mean cross entropy of the labelled targets; 0 without any.
    pub loss: f64,
    /// How many of them are predicted as labelled.
    pub correct: usize,
}

impl Fit<'_> {
    /// The mean cross entropy, where `label` names the label of a target by its place; its gradient is added to
    /// `gradient` if there is one.
    pub fn cross_entropy(&self, label: impl Fn(usize) -> usize, gradient: Option<&mut Gradient>) -> Fitted {
        let Fit { graph, network, transposed, labelled, reach, dropout } = *self;
        let pass = Pass::forward(graph, network, reach, dropout);
        let mut upstream = pass.upstream();
        let (share, classes) = (1.0 / labelled.len().max(1) as f64, network.class_count());
        let mut fitted = Fitted { loss: 0.0, correct: 0 };
        for (place, &target) in labelled.iter().enumerate() {
            let (target, label) = (target as usize, label(place));
            let (loss, derivative) = cross_entropy(pass.row(network.depth(), target), label);
            fitted.loss += share * loss;
            fitted.correct += usize::from(pass.predicted(target) == label);
            add_scaled(&mut upstream[network.depth() - 2][target * classes..][..classes], share, &derivative);
        }
        if let Some(gradient) = gradient {
            pass.reverse(ReversePass { graph, network, transposed, reach }, upstream, gradient);
        }
        fitted
    }
}
