//! The training loop: weights, Adam, batches, one iteration after the other.

use std::collections::BTreeMap;
use std::path::Path;

use gcnproof::internals::problem::budget::Budget;
use gcnproof::internals::problem::graph::Graph;
use gcnproof::internals::problem::network::{Layer, Network, Operator};
use gcnproof_files::write::model_safetensors;
use gcnproof_files::{DenseMatrix, LayerFile, ModelFile, Precision};
use gcnproof_results::replace;

use super::adam::Adam;
use super::error::TrainError;
use super::losses::Loss;
use super::module::{Module, Sizes};
use super::objective::{Objective, Report};
use super::pass::Dropout;
use super::random::SeededRandom;
use super::schedule::{Progress, Stage, stages};
use super::settings::Settings;
use super::split::Split;
use super::start::{Sides, Start};

/// What random numbers are drawn for: each purpose has its own stream.
const BATCHES: u64 = 3;
const DROPOUT: u64 = 4;

/// A run of training.
pub struct Trainer<'a> {
    graph: &'a Graph,
    split: &'a Split,
    settings: Settings,
    stages: Vec<Stage>,
    objective: Objective<'a>,
    /// What is trained, if it is no plain GCN.
    module: Option<Module>,
    pub(super) network: Network,
    pub(super) adam: Adam,
    pub(super) progress: Progress,
}

impl<'a> Trainer<'a> {
    /// Starts with random weights and biases, as PyTorch Geometric does. `passing` are the rules of GCN layers, one for
    /// all or one for each; other kinds of layers have their own, and none is given.
    pub fn new(
        graph: &'a Graph,
        budget: &'a Budget,
        split: &'a Split,
        settings: Settings,
        passing: &[Operator],
    ) -> Result<Trainer<'a>, TrainError> {
        settings.check()?;
        if graph.categories().is_some() != budget.has_categories() {
            return Err(TrainError::Categories);
        }
        if graph.batch().is_some() {
            return Err(TrainError::Graphs);
        }
        let sizes = Sizes { attributes: graph.own_attribute_count(), classes: split.classes };
        let (module, network) = match settings.is_plain() {
            true => (None, plain(&settings, sizes, passing, graph)?),
            false => {
                let (module, network) = Module::new(&settings, sizes, passing, graph)?;
                (Some(module), network)
            }
        };
        // Certificates widen it themselves, with the weights of each iteration.
        let network = network.unwidened();
        let objective = Objective::new(graph, &network, budget, &split.labelled, settings.terms());
        Ok(Trainer {
            graph,
            split,
            stages: stages(&settings),
            objective: objective.training_only(module.as_ref().and_then(|module| module.trained(&network))),
            module,
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

    /// The network with the weights that are written, in single precision, ready to be certified.
    pub fn model(&self) -> Network {
        let mut network = self.network.clone();
        for Layer { weight, bias, .. } in network.layers_mut() {
            let values = weight.values_mut().iter_mut().chain(bias.values_mut());
            values.for_each(|value| *value = f64::from(*value as f32));
        }
        network
    }

    /// The layers of the network with the weights that are written.
    pub fn layers(&self) -> Vec<LayerFile> {
        let layer = |(l, layer): (usize, &Layer)| named(l, layer.weight.plain(), layer.bias.values().to_vec());
        self.model().layers().iter().enumerate().map(layer).collect()
    }

    /// Writes the model; at every instant the file holds the old or the new one.
    pub fn write(&self, path: &Path, metadata: &BTreeMap<String, String>) -> Result<(), TrainError> {
        let name = path.display().to_string();
        let bytes = match &self.module {
            Some(module) => module.file(&name, &self.model(), metadata)?,
            None => model_safetensors(&name, &self.layers(), Precision::F32, metadata)?,
        };
        Ok(replace(path, &bytes)?)
    }
}

/// A layer of a plain GCN.
fn named(l: usize, weight: DenseMatrix, bias: Vec<f64>) -> LayerFile {
    let (weight_name, bias_name) = (format!("convs.{l}.lin.weight"), Some(format!("convs.{l}.bias")));
    LayerFile { weight, bias, weight_name, bias_name, ..LayerFile::default() }
}

/// A plain GCN at the start.
fn plain(settings: &Settings, sizes: Sizes, passing: &[Operator], graph: &Graph) -> Result<Network, TrainError> {
    let start = Start::new(settings);
    let mut inputs = sizes.attributes;
    let mut layers = Vec::new();
    for (number, outputs) in settings.widths(sizes.classes).into_iter().enumerate() {
        let sides = Sides { number, inputs, outputs };
        let weight = DenseMatrix { rows: inputs, columns: outputs, values: start.weight(sides) };
        layers.push(named(number, weight, start.bias(sides, number + 1 < settings.layers)));
        inputs = outputs;
    }
    // A file that was never written.
    Ok(Network::from_file(ModelFile { layers, ..ModelFile::default() }, passing, graph)?)
}
