//! The objective of one iteration, and its gradient.
//!
//! ```text
//! CE     mean over the labelled nodes of CE(logits, y)
//! RCE    mean over the batch of CE(p, y)
//! RH     CE + weight · mean over the batch of hinge_{M₁}(p, y)
//! RH-U   CE + weight · mean over the batch of hinge_{M₁}(p, y) or, for an unlabelled node, hinge_{M₂}(p, ỹ)
//! ```
//!
//! each plus `½ λ Σ‖W(l)‖²`. Dropout takes inputs of every layer from the cross entropy, and
//! hidden units from the certificate (attributes are what it is about).

use gcnproof::internals::bound::relaxed::Relaxation;
use gcnproof::internals::problem::budget::Budget;
use gcnproof::internals::problem::graph::Graph;
use gcnproof::internals::problem::network::Network;
use serde::{Deserialize, Serialize};

use super::batch::{Batches, Charge, Target};
use super::fit::Fit;
use super::gradient::{Gradient, add_scaled};
use super::losses::{Loss, hinge, robust_cross_entropy};
use super::pass::{Dropout, Transposed};
use super::receptive_field::ReceptiveField;

/// The fixed part of an objective.
pub struct Objective<'a> {
    graph: &'a Graph,
    budget: &'a Budget,
    labelled: &'a [u32],
    terms: Terms,
    is_labelled: Vec<bool>,
    transposed: Transposed,
    /// What the cross entropy needs.
    labelled_reach: ReceptiveField,
    /// One for every parameter, zero for numbers that are not trained; nothing where all are.
    trained: Option<Gradient>,
}

/// The numbers in an objective.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Terms {
    /// Which certificate.
    pub relaxation: Relaxation,
    /// `M₁`.
    pub margin_labelled: f64,
    /// `M₂`.
    pub margin_unlabelled: f64,
    /// Of the hinge against the cross entropy.
    pub hinge_weight: f64,
    /// `λ`.
    pub weight_decay: f64,
}

/// What one evaluation says, beside the gradient.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// The objective.
    pub loss: f64,
    /// The share of labelled nodes in it, without `λ`.
    pub loss_labelled: f64,
    /// The share of unlabelled nodes in it.
    pub loss_unlabelled: f64,
    /// Mean over the batch's labelled nodes of the smallest certified margin.
    pub margin_labelled: Option<f64>,
    /// The same of the unlabelled ones.
    pub margin_unlabelled: Option<f64>,
    /// Share of the batch that is certified.
    pub certified: Option<f64>,
    /// Share of labelled nodes predicted as labelled: of all, or of the batch if there is no cross entropy.
    pub accuracy_labelled: Option<f64>,
    /// Share of the batch's unlabelled nodes predicted as the graph has them.
    pub accuracy_unlabelled: Option<f64>,
}

/// One target's part.
struct Part {
    loss: f64,
    labelled: bool,
    smallest: f64,
    correct: Option<bool>,
}

impl Terms {
    /// What a target is charged for the bounds of its margins, times its share of the batch; nothing where a loss has
    /// no certificate of such a target.
    pub fn charge(&self, stage: Loss, labelled: bool, class: usize, bounds: &[f64], share: f64) -> Option<Charge> {
        let (weight, (value, mut seeds)) = match (stage, labelled) {
            (Loss::Ce, _) | (Loss::Rce | Loss::Rh, false) => return None,
            (Loss::Rce, true) => (share, robust_cross_entropy(bounds, class)),
            (_, true) => (share * self.hinge_weight, hinge(bounds, class, self.margin_labelled)),
            (_, false) => (share * self.hinge_weight, hinge(bounds, class, self.margin_unlabelled)),
        };
        seeds.iter_mut().for_each(|seed| *seed *= weight);
        Some(Charge { loss: weight * value, seeds })
    }
}

impl<'a> Objective<'a> {
    /// `labelled` are the nodes whose labels may be used; each must have one.
    pub fn new(
        graph: &'a Graph,
        network: &Network,
        budget: &'a Budget,
        labelled: &'a [u32],
        terms: Terms,
    ) -> Objective<'a> {
        let mut is_labelled = vec![false; graph.node_count()];
        labelled.iter().for_each(|&n| is_labelled[n as usize] = true);
        Objective {
            graph,
            budget,
            labelled,
            terms,
            is_labelled,
            transposed: Transposed::new(graph, network),
            labelled_reach: ReceptiveField::of(network, labelled),
            trained: None,
        }
    }

    /// The same where only some numbers of the network are parameters: those with a one. The others have no derivative
    /// and no part in `λ`.
    pub(crate) fn training_only(self, trained: Option<Gradient>) -> Objective<'a> {
        Objective { trained, ..self }
    }

    /// Evaluates the objective of a stage on a batch of targets. With `watch`, certificates are computed for the report
    /// even where the loss has none (docs/math.md (9.4)).
    pub fn evaluate(
        &self,
        network: &Network,
        stage: Loss,
        batch: &[u32],
        dropout: Option<Dropout>,
        watch: bool,
    ) -> (Report, Gradient) {
        let dropout = dropout.filter(|dropout| dropout.rate > 0.0);
        let mut report = Report::default();
        let mut gradient = Gradient::zeros(network);
        if stage.is_exact() {
            self.cross_entropy(network, dropout, &mut report, &mut gradient);
        }
        if (stage.is_robust() || watch) && !batch.is_empty() {
            self.certificates(network, stage, batch, dropout, &mut report, &mut gradient);
        }
        report.loss = report.loss_labelled + report.loss_unlabelled;
        let mut decayed: Vec<f64> = Vec::new();
        for (l, layer) in network.layers().iter().enumerate() {
            decayed.clear();
            decayed.extend_from_slice(layer.weight.values());
            if let Some(trained) = &self.trained {
                decayed.iter_mut().zip(&trained.weight[l]).for_each(|(w, is_trained)| *w *= is_trained);
            }
            let square: f64 = decayed.iter().map(|w| w * w).sum();
            report.loss += 0.5 * self.terms.weight_decay * square;
            add_scaled(&mut gradient.weight[l], self.terms.weight_decay, &decayed);
        }
        if let Some(trained) = &self.trained {
            gradient.scale(trained);
        }
        (report, gradient)
    }

    /// The label of a labelled node.
    fn label(&self, node: u32) -> usize {
        self.graph.label(node as usize).unwrap_or(0) as usize
    }

    fn cross_entropy(&self, network: &Network, dropout: Option<Dropout>, report: &mut Report, gradient: &mut Gradient) {
        let fit = Fit {
            graph: self.graph,
            network,
            transposed: &self.transposed,
            labelled: self.labelled,
            reach: &self.labelled_reach,
            dropout,
        };
        let count = self.labelled.len();
        let fitted = fit.cross_entropy(|place| self.label(self.labelled[place]), Some(gradient));
        report.loss_labelled += fitted.loss;
        report.accuracy_labelled = (count > 0).then_some(fitted.correct as f64 / count as f64);
    }

    fn certificates(
        &self,
        network: &Network,
        stage: Loss,
        batch: &[u32],
        dropout: Option<Dropout>,
        report: &mut Report,
        gradient: &mut Gradient,
    ) {
        let batches = Batches {
            graph: self.graph,
            network,
            budget: self.budget,
            transposed: &self.transposed,
            relaxation: self.terms.relaxation,
            dropout,
        };
        let share = 1.0 / batch.len() as f64;
        let is_labelled = |place: usize| self.is_labelled[batch[place] as usize];
        let targets = batches.evaluate(
            batch,
            |place, predicted| if is_labelled(place) { self.label(batch[place]) } else { predicted },
            |place, class, bounds| self.terms.charge(stage, is_labelled(place), class, bounds, share),
            stage.is_robust().then_some(gradient),
        );
        let part = |(place, target): (usize, &Target)| Part {
            loss: target.loss,
            labelled: is_labelled(place),
            smallest: target.smallest,
            correct: self.graph.label(batch[place] as usize).map(|label| label as usize == target.predicted),
        };
        let parts: Vec<Part> = targets.iter().enumerate().map(part).collect();
        self.summarise(&parts, stage, report);
    }

    fn summarise(&self, parts: &[Part], stage: Loss, report: &mut Report) {
        let mean = |values: Vec<f64>| (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64);
        let of = |labelled: bool| parts.iter().filter(move |part| part.labelled == labelled);
        let share_of =
            |parts: &mut dyn Iterator<Item = bool>| mean(parts.map(|yes| f64::from(u8::from(yes))).collect());
        report.loss_labelled += of(true).map(|part| part.loss).sum::<f64>();
        report.loss_unlabelled += of(false).map(|part| part.loss).sum::<f64>();
        report.margin_labelled = mean(of(true).map(|part| part.smallest).collect());
        report.margin_unlabelled = mean(of(false).map(|part| part.smallest).collect());
        report.certified = share_of(&mut parts.iter().map(|part| part.smallest > 0.0));
        if !stage.is_exact() {
            report.accuracy_labelled = share_of(&mut of(true).filter_map(|part| part.correct));
        }
        report.accuracy_unlabelled = share_of(&mut of(false).filter_map(|part| part.correct));
    }
}
