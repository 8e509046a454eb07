//! The settings of a training run, and their validation.

use gcnproof::internals::bound::relaxed::Relaxation;
use serde::{Deserialize, Serialize};

use super::error::TrainError;
use super::kind::LayerKind;
use super::losses::Loss;
use super::objective::Terms;

/// Everything that decides what model comes out, beside the graph, the budget and the split.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// What is minimised in the end.
    pub loss: Loss,
    /// Which certificate stands in a robust loss.
    pub bound: TrainingBound,
    /// Units of each hidden layer.
    pub hidden: usize,
    /// Weight layers; of GIN, where each is a network of two, how many such networks.
    pub layers: usize,
    /// What they are.
    #[serde(default, skip_serializing_if = "LayerKind::is_gcn")]
    pub kind: LayerKind,
    /// Is each hidden layer also added to the next?
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub skip: bool,
    /// Targets per iteration.
    pub batch: usize,
    /// Iterations of cross entropy before a robust stage.
    pub warm_up: usize,
    /// Iterations of each stage at most.
    pub epochs: usize,
    /// Iterations without progress after which a stage ends; 0 for never.
    pub patience: usize,
    /// Adam's step at the start of a stage.
    pub learning_rate: f64,
    /// Share of it that is left at the end of the stage; it falls linearly.
    pub decay: f64,
    /// `λ` in `½ λ ‖W‖²`.
    pub weight_decay: f64,
    /// Share of inputs that each layer of the cross entropy drops.
    pub dropout: f64,
    /// `M₁`.
    pub margin_labelled: f64,
    /// `M₂`.
    pub margin_unlabelled: f64,
    /// Of the hinge against the cross entropy.
    pub hinge_weight: f64,
    /// Standard deviation of the hidden units' biases at the start.
    pub bias_spread: f64,
    /// Decides weights at the start, batches and dropout.
    pub seed: u64,
}

/// Which certificate stands in a robust loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TrainingBound {
    /// The paper's dual.
    Paper,
    /// The bound anchored at the unperturbed graph.
    Anchored,
}

impl TrainingBound {
    /// As it is written in files.
    pub fn name(self) -> &'static str {
        match self {
            TrainingBound::Paper => "paper",
            TrainingBound::Anchored => "anchored",
        }
    }
}

/// Units of a hidden layer, at most: wider ones would fill any memory before they are of use.
const LARGEST_HIDDEN: usize = 1 << 14;

/// Weight layers, at most.
pub const MOST_LAYERS: usize = 64;

/// Iterations of cross entropy before a robust loss of modules that are no plain GCNs with one hidden layer.
const WARM_UP: usize = 150;

/// Iterations of a stage, at most: more take years on any graph.
const MOST_ITERATIONS: usize = 1_000_000_000;

impl Settings {
    /// What is known to reach the published figures for a loss (see docs/training.md).
    ///
    /// Small steps matter for the robust losses: every step of Adam moves rarely used attributes by as much as the
    /// others, and an attacker takes the worst of them. Only RH-U, which sees every node, bears larger ones. RCE and RH
    /// need hidden biases away from zero at the start: from zero they make units certain by switching most of them off,
    /// and accuracy and margins suffer.
    pub fn new(loss: Loss, seed: u64) -> Settings {
        let robust = Settings {
            loss,
            bound: TrainingBound::Paper,
            hidden: 32,
            layers: 2,
            kind: LayerKind::Gcn,
            skip: false,
            batch: 20,
            warm_up: 0,
            epochs: 700,
            patience: 0,
            learning_rate: 0.002,
            decay: 0.2,
            weight_decay: 1e-5,
            dropout: 0.0,
            margin_labelled: (0.9f64 / 0.1).ln(),
            margin_unlabelled: (0.6f64 / 0.4).ln(),
            hinge_weight: 1.0,
            bias_spread: 1.0,
            seed,
        };
        match loss {
            Loss::Ce => {
                Settings { epochs: 150, learning_rate: 0.01, decay: 1.0, dropout: 0.5, bias_spread: 0.0, ..robust }
            }
            Loss::Rce => robust,
            Loss::Rh => Settings { hinge_weight: 0.3, ..robust },
            Loss::RhU => Settings {
                epochs: 600,
                learning_rate: 0.005,
                hinge_weight: 0.2,
                patience: 200,
                bias_spread: 0.0,
                ..robust
            },
        }
    }

    /// The same for a network of other layers. What is no plain GCN, or has more than one hidden layer, begins with
    /// cross entropy: modules that start with certificates in the loss become robust fastest by predicting one class
    /// for all nodes (docs/training.md).
    pub fn with_layers(self, kind: LayerKind, layers: usize, skip: bool) -> Settings {
        let settings = Settings { kind, layers, skip, ..self };
        if settings.is_plain() && layers <= 2 {
            return settings;
        }
        let warm_up = if settings.loss.is_robust() { WARM_UP } else { 0 };
        let bias_spread = if settings.is_plain() { settings.bias_spread } else { 0.0 };
        Settings { warm_up, bias_spread, ..settings }
    }

    /// Is the network a plain GCN, whose file needs no description?
    pub fn is_plain(&self) -> bool {
        self.kind.is_gcn() && !self.skip
    }

    /// The numbers in the objective.
    pub fn terms(&self) -> Terms {
        Terms {
            relaxation: match self.bound {
                TrainingBound::Paper => Relaxation::Paper,
                TrainingBound::Anchored => Relaxation::Anchored,
            },
            margin_labelled: self.margin_labelled,
            margin_unlabelled: self.margin_unlabelled,
            hinge_weight: self.hinge_weight,
            weight_decay: self.weight_decay,
        }
    }

    /// Units of each representation above the attributes: hidden layers and classes.
    pub fn widths(&self, classes: usize) -> Vec<usize> {
        let mut widths = vec![self.hidden; self.layers - 1];
        widths.push(classes);
        widths
    }

    /// Refuses what makes no sense.
    pub fn check(&self) -> Result<(), TrainError> {
        let refuse =
            |name, value: &dyn ToString, wanted| Err(TrainError::Setting { name, value: value.to_string(), wanted });
        for (name, value) in [("--hidden", self.hidden), ("--depth", self.layers), ("--batch", self.batch)] {
            if value == 0 {
                return refuse(name, &value, "it must be at least 1");
            }
        }
        for (name, value, most) in [("--hidden", self.hidden, LARGEST_HIDDEN), ("--depth", self.layers, MOST_LAYERS)] {
            if value > most {
                return refuse(name, &value, "such a network would not fit into memory: give a smaller number");
            }
        }
        if self.skip && self.layers < 3 {
            return Err(TrainError::Skip { depth: self.layers });
        }
        for (name, value) in [("--epochs", self.epochs), ("--warm-up", self.warm_up)] {
            if value > MOST_ITERATIONS {
                return refuse(name, &value, "that would take years: give a smaller number");
            }
        }
        if !(self.learning_rate > 0.0 && self.learning_rate.is_finite()) {
            return refuse("--learning-rate", &self.learning_rate, "it must be a positive number");
        }
        if !(0.0..=1.0).contains(&self.decay) {
            return refuse("--decay", &self.decay, "it must lie between 0 and 1");
        }
        if !(0.0..1.0).contains(&self.dropout) {
            return refuse("--dropout", &self.dropout, "it must be at least 0 and less than 1");
        }
        let numbers = [
            ("--weight-decay", self.weight_decay),
            ("--hinge-weight", self.hinge_weight),
            ("--bias-spread", self.bias_spread),
            ("--margin-labelled", self.margin_labelled),
            ("--margin-unlabelled", self.margin_unlabelled),
        ];
        for (name, value) in numbers {
            if !(value >= 0.0 && value.is_finite()) {
                return refuse(name, &value, "it must be a number that is not negative");
            }
        }
        Ok(())
    }
}
