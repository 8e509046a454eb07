//! The certificates of a batch of targets, and what a loss of them gains per unit of every parameter.

use gcnproof::internals::bound::attributes::Attributes;
use gcnproof::internals::bound::relaxed::Relaxation;
use gcnproof::internals::problem::budget::Budget;
use gcnproof::internals::problem::graph::Graph;
use gcnproof::internals::problem::network::Network;
use rayon::prelude::*;

use super::activation::{ActivationBounds, Intervals};
use super::categories::{add_gradient, widened};
use super::gradient::{Gradient, add_scaled, bias_row};
use super::pass::{Dropout, Pass, ReversePass, Transposed};
use super::receptive_field::ReceptiveField;
use super::relaxation::{Certificate, TargetGradient, Workspace};

/// What all batches share.
pub struct Batches<'a> {
    /// The unperturbed graph.
    pub graph: &'a Graph,
    /// The network with its present weights, as the model has them where the graph has categories.
    pub network: &'a Network,
    /// The attacker's budget.
    pub budget: &'a Budget,
    /// The operators and attributes, turned over.
    pub transposed: &'a Transposed,
    /// Which certificate.
    pub relaxation: Relaxation,
    /// Hidden units that are dropped.
    pub dropout: Option<Dropout>,
}

/// What a loss says of one target: its value, and its derivatives by the bounds of all classes.
pub struct Charge {
    /// The target's part of the loss.
    pub loss: f64,
    /// `∂loss/∂g`, one for each class.
    pub seeds: Vec<f64>,
}

/// One target of a batch.
#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    /// The class with the largest logit.
    pub predicted: usize,
    /// The class whose margins were bounded.
    pub class: usize,
    /// The smallest of the margins' bounds.
    pub smallest: f64,
    /// The target's part of the loss.
    pub loss: f64,
}

impl Batches<'_> {
    /// Bounds the margins of some targets: `class` names the class of a target, given its place in the batch and its
    /// prediction; `charge` says what the bounds cost, if that is asked for. The gradient of all charges is added to
    /// `gradient`; without one, none is computed.
    pub fn evaluate(
        &self,
        targets: &[u32],
        class: impl Fn(usize, usize) -> usize + Sync,
        charge: impl Fn(usize, usize, &[f64]) -> Option<Charge> + Sync,
        gradient: Option<&mut Gradient>,
    ) -> Vec<Target> {
        let Some(categories) = self.graph.categories() else {
            return self.evaluate_on(self.network, targets, class, charge, gradient);
        };
        let wide = widened(self.network, categories);
        let mut by = gradient.is_some().then(|| Gradient::zeros(&wide));
        let targets = self.evaluate_on(&wide, targets, class, charge, by.as_mut());
        if let (Some(into), Some(by)) = (gradient, by) {
            add_gradient(self.network, categories, &by, into);
        }
        targets
    }

    /// The same on the network whose first layer takes all attributes of the graph.
    fn evaluate_on(
        &self,
        network: &Network,
        targets: &[u32],
        class: impl Fn(usize, usize) -> usize + Sync,
        charge: impl Fn(usize, usize, &[f64]) -> Option<Charge> + Sync,
        gradient: Option<&mut Gradient>,
    ) -> Vec<Target> {
        let Batches { graph, budget, transposed, relaxation, dropout, .. } = *self;
        let reach = ReceptiveField::of(network, targets);
        let pass = Pass::forward(graph, network, &reach, None);
        let bounds = ActivationBounds::new(graph, network, budget, &reach, &pass, dropout);
        let certificate = Certificate {
            graph,
            network,
            budget,
            attributes: &Attributes::new(&network.layers()[0], budget),
            pass: &pass,
            intervals: &bounds.intervals,
            relaxation,
            dropout,
        };
        let differentiated = gradient.is_some();
        let parts: Vec<(Target, Option<TargetGradient>)> = targets
            .par_iter()
            .enumerate()
            .map_init(Workspace::default, |workspace, (place, &node)| {
                let predicted = pass.predicted(node as usize);
                let class = class(place, predicted);
                let mut loss = 0.0;
                let (bounds, gradient) = certificate.target(node as usize, class, workspace, |bounds| {
                    let charge = charge(place, class, bounds)?;
                    loss = charge.loss;
                    differentiated.then_some(charge.seeds)
                });
                let smallest = bounds.into_iter().fold(f64::INFINITY, f64::min);
                (Target { predicted, class, smallest, loss }, gradient)
            })
            .collect();
        let (targets, parts): (Vec<Target>, Vec<Option<TargetGradient>>) = parts.into_iter().unzip();
        let Some(gradient) = gradient else { return targets };
        let mut upstream = pass.upstream();
        let mut by_intervals = bounds.intervals.zeros();
        for part in parts.into_iter().flatten() {
            part.add_to(network, &mut upstream[0], &mut by_intervals, gradient);
        }
        let reverse = ReversePass { graph, network, transposed, reach: &reach };
        bounds.reverse(reverse, by_intervals, &mut upstream[0], gradient);
        // Nothing depends on the layers above directly: the pass is reversed from representation 2 on.
        pass.reverse(reverse, upstream, gradient);
        targets
    }
}

impl TargetGradient {
    /// Adds a target's part to the batch's, row by row.
    fn add_to(self, network: &Network, hidden: &mut [f64], intervals: &mut Intervals, gradient: &mut Gradient) {
        let scatter = |into: &mut [f64], nodes: &[u32], width: usize, rows: &[f64]| {
            for (&node, row) in nodes.iter().zip(rows.chunks_exact(width)) {
                add_scaled(&mut into[node as usize * width..][..width], 1.0, row);
            }
        };
        scatter(hidden, &self.nodes[0], network.width(2), &self.hidden);
        for (l, nodes) in (2..network.depth()).zip(&self.nodes) {
            scatter(&mut intervals.lower[l - 2], nodes, network.width(l), &self.intervals.lower[l - 2]);
            scatter(&mut intervals.upper[l - 2], nodes, network.width(l), &self.intervals.upper[l - 2]);
        }
        for (d, row) in &self.rows {
            add_scaled(&mut gradient.weight[0][*d as usize * row.len()..][..row.len()], 1.0, row);
        }
        for (l, (weight, bias)) in self.weight.iter().zip(&self.bias).enumerate() {
            add_scaled(&mut gradient.weight[l + 1], 1.0, weight);
            let width = network.width(l + 3);
            for (&node, row) in self.nodes[l + 1].iter().zip(bias.chunks_exact(width)) {
                add_scaled(bias_row(&mut gradient.bias[l + 1], width, node as usize), 1.0, row);
            }
        }
    }
}
