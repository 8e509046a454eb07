//! Certificates of a network whose numbers change from step to step, with their gradient: what a loss in somebody
//! else's training loop needs. The structure of the network stays as it was read.

use std::sync::Arc;

use gcnproof::internals::bound::relaxed::Relaxation;
use gcnproof::internals::problem::Problem;
use gcnproof::{Flips, Network as PlainNetwork};
use gcnproof_train::batch::{Batches, Target};
use gcnproof_train::fit::Fit;
use gcnproof_train::gradient::Gradient;
use gcnproof_train::losses::Loss;
use gcnproof_train::objective::Terms;
use gcnproof_train::pass::Transposed;
use gcnproof_train::receptive_field::ReceptiveField;
use gcnproof_train::settings::Settings;
use numpy::{IntoPyArray, PyArray1, PyArrayDyn, PyArrayMethods, PyReadonlyArrayDyn};
use pyo3::prelude::*;
use rayon::ThreadPool;

use crate::attack::{FlipMeans, Means};
use crate::errors::{bug, wrong};
use crate::inputs::{Graph, Network};

/// The arrays of one layer: the weights of its terms, of which some are the identity, and its bias, if it has one.
type LayerArrays<'py> = (Vec<Option<PyReadonlyArrayDyn<'py, f64>>>, Option<PyReadonlyArrayDyn<'py, f64>>);

/// The same of a gradient.
type LayerGradient<'py> = (Vec<Option<Bound<'py, PyArrayDyn<f64>>>>, Option<Bound<'py, PyArrayDyn<f64>>>);

/// The loss of a batch, the smallest bound and the prediction of each target, and the gradient of each layer if it was
/// asked for.
type Evaluated<'py> = (f64, Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<i64>>, Option<Vec<LayerGradient<'py>>>);

/// How a loss charges bounds.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct Charging {
    kind: String,
    bound: String,
    weight: f64,
    margin_labelled: f64,
    margin_unlabelled: f64,
}

/// The targets of a batch: their classes, below 0 for the predicted one, and whether these are their labels.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct Chosen {
    nodes: Vec<u32>,
    classes: Vec<i64>,
    labelled: Vec<bool>,
    fitted: Labels,
}

/// Targets whose logits are to fit their labels; none where the cross entropy is not asked for.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct Labels {
    nodes: Vec<u32>,
    classes: Vec<usize>,
}

/// What some labelled targets read.
struct Labelled {
    nodes: Vec<u32>,
    reach: ReceptiveField,
}

/// A network on a graph, an attacker and a loss.
#[pyclass(module = "gcnproof._native")]
pub struct Certificates {
    problem: Problem,
    network: PlainNetwork,
    transposed: Transposed,
    stage: Loss,
    terms: Terms,
    /// Those of the last step: from step to step they are the same.
    labelled: Labelled,
    pool: Option<ThreadPool>,
}

/// The settings of `gcnproof train` for a loss: weight, and margins of labelled and unlabelled targets.
#[pyfunction]
pub fn loss_settings(py: Python, kind: &str) -> PyResult<(f64, f64, f64)> {
    let settings = Settings::new(stage(py, kind)?, 0);
    Ok((settings.hinge_weight, settings.margin_labelled, settings.margin_unlabelled))
}

fn stage(py: Python, kind: &str) -> PyResult<Loss> {
    match kind {
        "cross-entropy" => Ok(Loss::Rce),
        "hinge" => Ok(Loss::Rh),
        "hinge-unlabelled" => Ok(Loss::RhU),
        other => Err(wrong(
            py,
            &format!("kind={other:?}"),
            "give 'cross-entropy', 'hinge' or 'hinge-unlabelled': RCE, RH and RH-U of docs/training.md",
        )),
    }
}

#[pymethods]
impl Certificates {
    #[new]
    fn new(
        py: Python,
        graph: &Graph,
        network: &Network,
        attack: FlipMeans,
        charging: Charging,
        threads: Option<usize>,
    ) -> PyResult<Certificates> {
        let relaxation = match charging.bound.as_str() {
            "paper" => Relaxation::Paper,
            "anchored" => Relaxation::Anchored,
            other => return Err(wrong(py, &format!("bound={other:?}"), "give 'paper' or 'anchored'")),
        };
        let global = Means::<Flips>::global(&attack);
        let budget = Means::<Flips>::budget(&attack, py, &graph.0, global)?;
        let problem = Problem::new(graph.0.clone(), network.network.clone(), budget)
            .map_err(|error| wrong(py, &error.to_string(), "give the graph that the network was read on"))?;
        let pool = |threads: usize| rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        let pool = threads.map(pool).transpose().map_err(|error| bug(&format!("no threads: {error}")))?;
        let terms = Terms {
            relaxation,
            margin_labelled: charging.margin_labelled,
            margin_unlabelled: charging.margin_unlabelled,
            hinge_weight: charging.weight,
            weight_decay: 0.0,
        };
        let network = problem.network().clone().unwidened();
        let transposed = Transposed::new(problem.graph(), &network);
        let labelled = Labelled { nodes: Vec::new(), reach: ReceptiveField::of(&network, &[]) };
        Ok(Certificates { problem, network, transposed, stage: stage(py, &charging.kind)?, terms, labelled, pool })
    }

    /// How many targets there are: nodes, or graphs of a batch.
    #[getter]
    fn targets(&self) -> usize {
        self.problem.graph().target_count()
    }

    /// Takes new numbers, layer by layer in the order in which each reads only those before it, and evaluates the loss
    /// of some targets, with its gradient if that is asked for.
    fn evaluate<'py>(
        &mut self,
        py: Python<'py>,
        layers: Vec<LayerArrays<'py>>,
        chosen: Chosen,
        gradient: bool,
    ) -> PyResult<Evaluated<'py>> {
        self.put(py, &layers)?;
        let classes = self.network.class_count() as i64;
        let Chosen { nodes, classes: given, labelled, fitted } = chosen;
        let count = self.targets();
        let known = nodes.iter().chain(&fitted.nodes).all(|&node| (node as usize) < count);
        if nodes.len() != given.len()
            || nodes.len() != labelled.len()
            || fitted.nodes.len() != fitted.classes.len()
            || !known
        {
            return Err(bug("targets that there are not"));
        }
        let labels = fitted.classes.iter().map(|&class| i64::try_from(class).unwrap_or(i64::MAX));
        if let Some(class) = given.iter().copied().chain(labels).find(|&class| class >= classes) {
            let message = format!("a target has the class {class}, but the module has {classes} logits");
            return Err(wrong(py, &message, "classes run from 0"));
        }
        if fitted.nodes != self.labelled.nodes {
            let reach = ReceptiveField::of(&self.network, &fitted.nodes);
            self.labelled = Labelled { nodes: fitted.nodes, reach };
        }
        let mut by = gradient.then(|| Gradient::zeros(&self.network));
        let (fit, evaluated) = py.detach(|| {
            let mut work = || {
                let fit = self.fit(&fitted.classes, by.as_mut());
                (fit, self.charged(&nodes, &given, &labelled, by.as_mut()))
            };
            match &self.pool {
                Some(pool) => pool.install(work),
                None => work(),
            }
        });
        py.check_signals()?;
        let loss = fit + evaluated.iter().map(|target| target.loss).sum::<f64>();
        let smallest: Vec<f64> = evaluated.iter().map(|target| target.smallest).collect();
        let predicted: Vec<i64> = evaluated.iter().map(|target| target.predicted as i64).collect();
        let gradients = by.map(|by| self.take(py, &layers, &by)).transpose()?;
        Ok((loss, smallest.into_pyarray(py), predicted.into_pyarray(py), gradients))
    }
}

impl Certificates {
    /// The cross entropy of labelled targets, if there are any.
    fn fit(&self, classes: &[usize], by: Option<&mut Gradient>) -> f64 {
        let Labelled { nodes, reach } = &self.labelled;
        if nodes.is_empty() {
            return 0.0;
        }
        let (graph, network, transposed) = (self.problem.graph(), &self.network, &self.transposed);
        let fit = Fit { graph, network, transposed, labelled: nodes, reach, dropout: None };
        fit.cross_entropy(|place| classes[place], by).loss
    }

    fn charged(&self, nodes: &[u32], classes: &[i64], labelled: &[bool], by: Option<&mut Gradient>) -> Vec<Target> {
        let batches = Batches {
            graph: self.problem.graph(),
            network: &self.network,
            budget: self.problem.budget(),
            transposed: &self.transposed,
            relaxation: self.terms.relaxation,
            dropout: None,
        };
        let share = 1.0 / nodes.len().max(1) as f64;
        batches.evaluate(
            nodes,
            |place, predicted| usize::try_from(classes[place]).unwrap_or(predicted),
            |place, class, bounds| self.terms.charge(self.stage, labelled[place], class, bounds, share),
            by,
        )
    }

    /// Copies the numbers of described layers to where they stand in the chain.
    fn put(&mut self, py: Python, layers: &[LayerArrays]) -> PyResult<()> {
        let described = Arc::clone(self.network.described());
        if layers.len() != described.layers.len() {
            return Err(bug("another number of layers than was read"));
        }
        let attributes = self.network.width(1);
        let chain = self.network.layers_mut();
        for ((weights, bias), layer) in layers.iter().zip(&described.layers) {
            for (weight, term) in weights.iter().zip(&layer.terms) {
                let Some(weight) = weight else { continue };
                let inputs = term.source.map_or(attributes, |source| described.layers[source].outputs);
                let values = weight.as_array();
                if values.shape() != [inputs, layer.outputs] {
                    return Err(bug("weights of another size than was read"));
                }
                let into = &mut chain[term.weight.layer].weight;
                let width = into.columns();
                let into = into.values_mut();
                for (row, values) in values.rows().into_iter().enumerate() {
                    let at = (term.weight.row + row) * width + term.weight.column;
                    for (slot, &value) in into[at..at + layer.outputs].iter_mut().zip(values) {
                        *slot = value;
                    }
                }
            }
            let Some(bias) = bias else { continue };
            let (values, width) = (bias.as_array(), chain[layer.layer].weight.columns());
            if values.shape().last() != Some(&layer.outputs) {
                return Err(bug("a bias of another size than was read"));
            }
            let into = chain[layer.layer].bias.values_mut().chunks_exact_mut(width);
            let own = values.len() / layer.outputs;
            let (rows, values) = (into.len(), values.to_shape([own, layer.outputs]).map_err(|_| bug("a bias"))?);
            if own != 1 && own != rows {
                return Err(bug("a bias of another size than was read"));
            }
            for (row, into) in into.enumerate() {
                let values = values.row(if own == 1 { 0 } else { row });
                into[layer.first..][..layer.outputs].iter_mut().zip(values).for_each(|(slot, &value)| *slot = value);
            }
        }
        let numbers = |layer: &gcnproof::internals::problem::layer::Layer| {
            layer.weight.values().iter().chain(layer.bias.values()).all(|value| value.is_finite())
        };
        if !chain.iter().all(numbers) {
            let remedy = "train with smaller steps; torch.nn.utils.clip_grad_norm_ limits them";
            return Err(wrong(py, "a parameter of the module is not finite: training has diverged", remedy));
        }
        Ok(())
    }

    /// The gradient of described layers, from that of the chain: arrays like those that were given.
    fn take<'py>(&self, py: Python<'py>, layers: &[LayerArrays], by: &Gradient) -> PyResult<Vec<LayerGradient<'py>>> {
        let (described, chain) = (self.network.described(), self.network.layers());
        let mut result = Vec::with_capacity(layers.len());
        for ((weights, bias), layer) in layers.iter().zip(&described.layers) {
            let mut gradients = Vec::with_capacity(weights.len());
            for (weight, term) in weights.iter().zip(&layer.terms) {
                let Some(weight) = weight else {
                    gradients.push(None);
                    continue;
                };
                let (from, width) = (&by.weight[term.weight.layer], chain[term.weight.layer].weight.columns());
                let rows = weight.as_array().shape()[0];
                let row = |row: usize| &from[(term.weight.row + row) * width + term.weight.column..][..layer.outputs];
                let mut values = Vec::with_capacity(rows * layer.outputs);
                (0..rows).for_each(|at| values.extend_from_slice(row(at)));
                gradients.push(Some(values.into_pyarray(py).reshape(vec![rows, layer.outputs])?));
            }
            let bias = bias.as_ref().map(|bias| {
                let width = chain[layer.layer].weight.columns();
                let shape = bias.as_array().shape().to_vec();
                let mut values = vec![0.0; shape.iter().product()];
                let own = values.len() / layer.outputs;
                for (row, from) in by.bias[layer.layer].chunks_exact(width).enumerate() {
                    let into = &mut values[if own == 1 { 0 } else { row } * layer.outputs..][..layer.outputs];
                    into.iter_mut().zip(&from[layer.first..]).for_each(|(slot, by)| *slot += by);
                }
                values.into_pyarray(py).reshape(shape)
            });
            result.push((gradients, bias.transpose()?));
        }
        Ok(result)
    }
}
