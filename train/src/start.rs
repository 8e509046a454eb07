//! Weights and biases before training, as PyTorch Geometric draws them.
//!
//! GCN: weights from Glorot's uniform distribution, `±√(6 / (inputs + outputs))`; biases are zero. Other kinds: both
//! from `±1/√inputs`. To biases of hidden units a normal distribution of the spread in the settings is added.

use super::random::SeededRandom;
use super::settings::Settings;

/// What random numbers are drawn for: each purpose has its own stream.
const WEIGHTS: u64 = 2;
const BIASES: u64 = 5;

/// Where training starts.
pub(crate) struct Start<'a> {
    settings: &'a Settings,
    weights: SeededRandom,
    biases: SeededRandom,
}

/// A tensor of weights, or the bias that belongs to one.
#[derive(Clone, Copy)]
pub(crate) struct Sides {
    /// Which of the network's, from 0: weights and biases are counted apart.
    pub(crate) number: usize,
    pub(crate) inputs: usize,
    pub(crate) outputs: usize,
}

impl<'a> Start<'a> {
    pub(crate) fn new(settings: &'a Settings) -> Start<'a> {
        let chance = SeededRandom::new(settings.seed);
        Start { settings, weights: chance.of(WEIGHTS), biases: chance.of(BIASES) }
    }

    /// Weights, inputs × outputs.
    pub(crate) fn weight(&self, of: Sides) -> Vec<f64> {
        let reach = match self.settings.kind.is_gcn() {
            true => (6.0 / (of.inputs + of.outputs) as f64).sqrt(),
            false => 1.0 / (of.inputs as f64).sqrt(),
        };
        let chance = self.weights.of(of.number as u64);
        (0..of.inputs * of.outputs).map(|at| reach * (2.0 * chance.of(at as u64).unit() - 1.0)).collect()
    }

    /// A bias, of hidden units or of logits.
    pub(crate) fn bias(&self, of: Sides, is_hidden: bool) -> Vec<f64> {
        let spread = if is_hidden { self.settings.bias_spread } else { 0.0 };
        let chance = self.biases.of(of.number as u64);
        let normal = |at: usize| spread * chance.of(at as u64).normal();
        if self.settings.kind.is_gcn() {
            return (0..of.outputs).map(normal).collect();
        }
        let reach = 1.0 / (of.inputs as f64).sqrt();
        let uniform = |at: usize| reach * (2.0 * chance.of(at as u64).of(UNIFORM).unit() - 1.0);
        (0..of.outputs).map(|at| uniform(at) + normal(at)).collect()
    }
}

/// Sets the uniform part of a bias apart from the two numbers that its normal part is made of.
const UNIFORM: u64 = 2;
