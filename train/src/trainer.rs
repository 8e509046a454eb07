//! The training loop: weights, Adam, batches, one iteration after the other.

use std::collections::BTreeMap;
use std::path::Path;

use gcnproof::internals::problem::budget::Budget;
use gcnproof::internals::problem::graph::Graph;
use gcnproof::internals::problem::network::{Network, Operator};
use gcnproof_files::{DenseMatrix, LayerFile, ModelFile, Precision};
use gcnproof_results::replace;

use super::adam::Adam;
use super::error::TrainError;
use super::losses::Loss;
use super::objective::{Objective, Report};
use super::pass::Dropout;
use super::random::SeededRandom;
use super::schedule::{Progress, Stage, stages};
use super::settings::Settings;
use super::split::Split;

/// What random numbers are drawn for: each purpose has its own stream.
const WEIGHTS: u64 = 2;
const BATCHES: u64 = 3;
const DROPOUT: u64 = 4;
const BIASES: u64 = 5;

/// A run of training.
pub struct Trainer<'a> {
    graph: &'a Graph,
    split: &'a Split,
    settings: Settings,
    stages: Vec<Stage>,
    objective: Objective<'a>,
    pub(super) network: Network,
    pub(super) adam: Adam,
    pub(super) progress: Progress,
}

impl<'a> Trainer<'a> {
    /// Starts with random weights (Glorot's uniform distribution) and random biases of the hidden units (a normal
    /// distribution of the given spread); those of the logits are zero.
    pub fn new(
        graph: &'a Graph,
        budget: &'a Budget,
        split: &'a Split,
        settings: Settings,
        passing: &[Operator],
    ) -> Result<Trainer<'a>, TrainError> {
        settings.check()?;
        if graph.normalisation().is_some() {
            return Err(TrainError::Normalised);
        }
        if graph.categories().is_some() {
            return Err(TrainError::Categories);
        }
        if graph.batch().is_some() {
            return Err(TrainError::Graphs);
        }
        let chance = SeededRandom::new(settings.seed).of(WEIGHTS);
        let biases = SeededRandom::new(settings.seed).of(BIASES);
        let mut inputs = graph.attribute_count();
        let mut layers = Vec::new();
        for (l, width) in settings.widths(split.classes).into_iter().enumerate() {
            let reach = (6.0 / (inputs + width) as f64).sqrt();
            let spread = if l + 1 < settings.layers { settings.bias_spread } else { 0.0 };
            let bias = |at: usize| spread * biases.of(l as u64).of(at as u64).normal();
            let draw = |at: usize| reach * (2.0 * chance.of(l as u64).of(at as u64).unit() - 1.0);
            layers.push(LayerFile {
                weight: DenseMatrix { rows: inputs, columns: width, values: (0..inputs * width).map(draw).collect() },
                bias: (0..width).map(bias).collect(),
                weight_name: format!("convs.{l}.lin.weight"),
                bias_name: Some(format!("convs.{l}.bias")),
                ..LayerFile::default()
            });
            inputs = width;
        }
        // A file that was never written.
        let network = Network::from_file(ModelFile { layers, ..ModelFile::default() }, passing, graph)?;
        Ok(Trainer {
            graph,
            split,
            stages: stages(&settings),
            objective: Objective::new(graph, &network, budget, &split.labelled, settings.terms()),
            adam: Adam::new(&network),
            network,
            progress: Progress::default(),
            settings,
        })
    }

    /// What the run was started with.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Iterations done.
    pub fn iteration(&self) -> usize {
        self.progress.iteration
    }

    /// Iterations that the run takes at most.
    pub fn iterations_at_most(&self) -> usize {
        self.stages.iter().map(|stage| stage.iterations).sum()
    }

    /// Targets of an iteration: labelled nodes, or all nodes where unlabelled ones take part.
    fn batch(&self, stage: Loss, watch: bool) -> Vec<u32> {
        let chance = SeededRandom::new(self.settings.seed).of(BATCHES).of(self.progress.iteration as u64);
        match stage {
            Loss::Rce | Loss::Rh => chance.sample(&self.split.labelled, self.settings.batch),
            Loss::Ce if !watch => Vec::new(),
            Loss::Ce | Loss::RhU => {
                let all: Vec<u32> = (0..self.graph.node_count() as u32).collect();
                chance.sample(&all, self.settings.batch)
            }
        }
    }

    /// One iteration: its number, its stage and its report; `None` when the run is over. With `watch`, certificates are
    /// computed in stages of cross entropy too, for the report.
    pub fn step(&mut self, watch: bool) -> Result<Option<(usize, Loss, Report)>, TrainError> {
        let Some(stage) = self.progress.current(&self.stages, self.settings.patience) else { return Ok(None) };
        let iteration = self.progress.iteration;
        let batch = self.batch(stage.loss, watch);
        let chance = SeededRandom::new(self.settings.seed).of(DROPOUT).of(iteration as u64);
        let dropout = (self.settings.dropout > 0.0).then_some(Dropout { rate: self.settings.dropout, chance });
        let (report, gradient) = self.objective.evaluate(&self.network, stage.loss, &batch, dropout, watch);
        if !report.loss.is_finite() {
            return Err(TrainError::Diverged { iteration });
        }
        let done = self.progress.in_stage as f64 / stage.iterations as f64;
        let rate = self.settings.learning_rate * (1.0 - (1.0 - self.settings.decay) * done);
        self.adam.step(&mut self.network, &gradient, rate);
        self.progress.count(report.loss);
        Ok(Some((iteration, stage.loss, report)))
    }

    /// The layers as they are written: single precision.
    pub fn layers(&self) -> Vec<LayerFile> {
        let single = |values: &[f64]| values.iter().map(|&x| f64::from(x as f32)).collect();
        let layer = |(l, layer): (usize, &gcnproof::internals::problem::network::Layer)| LayerFile {
            weight: DenseMatrix { values: single(layer.weight.values()), ..layer.weight.plain() },
            bias: single(layer.bias.values()),
            weight_name: format!("convs.{l}.lin.weight"),
            bias_name: Some(format!("convs.{l}.bias")),
            ..LayerFile::default()
        };
        self.network.layers().iter().enumerate().map(layer).collect()
    }

    /// Writes the model; at every instant the file holds the old or the new one.
    pub fn write(&self, path: &Path, metadata: &BTreeMap<String, String>) -> Result<(), TrainError> {
        let name = path.display().to_string();
        let bytes = gcnproof_files::write::model_safetensors(&name, &self.layers(), Precision::F32, metadata)?;
        Ok(replace(path, &bytes)?)
    }

    /// The network with the weights that are written, ready to be certified.
    pub fn model(&self) -> Network {
        let mut network = self.network.clone();
        for (layer, written) in network.layers_mut().iter_mut().zip(self.layers()) {
            layer.weight.values_mut().copy_from_slice(&written.weight.values);
            layer.bias.values_mut().copy_from_slice(&written.bias);
        }
        network
    }
}
