//! `--logits FILE`: are these the logits of the same network?
//!
//! A state dict holds weights and nothing else: neither the activation nor the options of the layers. Logits that the
//! user's framework has computed tell whether the network that is read here is the user's.

use std::path::{Path, PathBuf};

use clap::Args;
use gcnproof::internals::problem::forward::forward;
use gcnproof::{Graph, Network};
use gcnproof_files::{DenseMatrix, PartFile, Precision, read_logits};
use miette::{Result, miette};
use serde_json::{Value, json};

use super::variants::{cause, normalised};

/// How far logits of 64 bits may lie from ours, relative to the largest logit: many roundings, and no other network.
const DOUBLE: f64 = 1e-9;

/// The same for logits of 32 bits and for text.
const SINGLE: f64 = 1e-4;

/// The logits of a framework.
#[derive(Args, Clone, Debug, Default)]
pub struct LogitsArguments {
    /// The logits that your framework computes (.npy, .npz, FILE.npz:NAME or text; nodes × classes): make sure that
    /// they are those of the network read here. Text and 32 bits must agree to 1e-4 of the largest logit, 64 bits to
    /// 1e-9; rows of log_softmax are fine
    #[arg(long, value_name = "FILE", help_heading = "Model", hide_short_help = true)]
    pub logits: Option<PathBuf>,
}

/// What a comparison found.
pub struct Comparison {
    file: String,
    /// The largest difference of an entry.
    largest: f64,
    tolerance: f64,
    /// Are the rows ours but for a number of their own, as those of log_softmax are?
    shifted: bool,
    differing: Option<Differing>,
}

/// The first node whose logits are not ours.
struct Differing {
    node: usize,
    ours: Vec<f64>,
    theirs: Vec<f64>,
    nodes: usize,
    cause: String,
    remedy: String,
}

impl LogitsArguments {
    /// Compares, if logits were given.
    ///
    /// # Errors
    /// If the file cannot be read, or holds the logits of another graph or of other classes.
    pub fn compare(&self, graph: &Graph, network: &Network) -> Result<Option<Comparison>> {
        let Some(path) = &self.logits else { return Ok(None) };
        let (theirs, precision) = read(path)?;
        Comparison::new(path.display().to_string(), graph, network, &theirs, precision).map(Some)
    }

    /// Compares, and refuses to go on with another network than the user's.
    ///
    /// # Errors
    /// As [`LogitsArguments::compare`], and if the logits are not ours.
    pub fn insist(&self, graph: &Graph, network: &Network) -> Result<()> {
        match self.compare(graph, network)? {
            None => Ok(()),
            Some(found) => match &found.differing {
                None => {
                    note!("{}", found.words());
                    Ok(())
                }
                Some(differing) => Err(miette!(help = differing.remedy.clone(), "{}", found.words())),
            },
        }
    }
}

/// `FILE`, or an array of it as `FILE:NAME`.
fn read(path: &Path) -> Result<(DenseMatrix, Precision)> {
    let text = path.to_string_lossy();
    match text.rsplit_once(':').filter(|(file, _)| !path.exists() && Path::new(file).exists()) {
        Some((file, entry)) => Ok(read_logits(Path::new(file), Some(entry))?),
        None => Ok(read_logits(path, None)?),
    }
}

impl Comparison {
    fn new(
        file: String,
        graph: &Graph,
        network: &Network,
        theirs: &DenseMatrix,
        precision: Precision,
    ) -> Result<Comparison> {
        let (nodes, classes) = (graph.target_count(), network.class_count());
        let targets = if graph.batch().is_some() { "graphs" } else { "nodes" };
        if (theirs.rows, theirs.columns) != (nodes, classes) {
            let turned = (theirs.rows, theirs.columns) == (classes, nodes);
            let help = match (turned, targets) {
                (true, _) => "save them transposed (`.T`)",
                (false, "graphs") => "save the logits of all graphs of this file",
                (false, _) => "save the logits of all nodes of this graph",
            };
            let (rows, columns) = (theirs.rows, theirs.columns);
            return Err(miette!(
                help = help,
                "--logits {file}: is {rows} by {columns}, but the graph has {nodes} {targets} and the model {classes} classes"
            ));
        }
        let representations = forward(graph, network);
        let ours = &representations[representations.len() - 1];
        let size = ours.value.iter().fold(0.0f64, |size, value| size.max(value.abs()));
        // Where our own logits are not known that well, every file would agree. NaN is not below anything.
        let known = size == 0.0 || size.is_finite() && ours.error.iter().all(|&error| error <= SINGLE * size);
        if !known {
            return Err(miette!(
                help = "check the weights: logits of this size overflow, or cancel, in 64 bits",
                "--logits {file}: cannot be compared: the numbers of the network read here are too large for 64 bits"
            ));
        }
        let relative = if precision == Precision::F64 { DOUBLE } else { SINGLE };
        let tolerance = relative * size;
        let allowed = |node: usize, class: usize| tolerance + ours.errors(node)[class];
        let mut found = Comparison { file, largest: 0.0, tolerance, shifted: false, differing: None };
        let off = |row: usize, shift: f64| {
            let differences = theirs.row(row).iter().zip(ours.row(row)).map(move |(t, o)| (t - o - shift).abs());
            differences.enumerate()
        };
        let same =
            |row: usize, shift: f64| off(row, shift).all(|(class, difference)| difference <= allowed(row, class));
        let shift = |row: usize| theirs.row(row)[0] - ours.row(row)[0];
        let plain = (0..nodes).filter(|&row| !same(row, 0.0)).collect::<Vec<_>>();
        // Within a row log_softmax takes one number from all logits: margins are the same. Twice the tolerance, since
        // the shift is known from a rounded entry.
        let close = |row: usize| off(row, shift(row)).all(|(class, off)| off <= 2.0 * allowed(row, class));
        found.shifted = !plain.is_empty() && (0..nodes).all(close) && normalised(theirs);
        let by = |row: usize| if found.shifted { shift(row) } else { 0.0 };
        found.largest = (0..nodes).flat_map(|row| off(row, by(row)).map(|(_, off)| off)).fold(0.0, f64::max);
        let Some(&node) = plain.first().filter(|_| !found.shifted) else { return Ok(found) };
        let (cause, remedy) = cause(graph, network, theirs, relative);
        found.differing = Some(Differing {
            node,
            ours: ours.row(node).to_vec(),
            theirs: theirs.row(node).to_vec(),
            nodes: plain.len(),
            cause,
            remedy,
        });
        Ok(found)
    }

    /// Are the logits those of the network?
    pub fn agrees(&self) -> bool {
        self.differing.is_none()
    }

    /// In one sentence or two.
    pub fn words(&self) -> String {
        let Comparison { file, largest, tolerance, .. } = self;
        match &self.differing {
            None => format!(
                "{file}: the logits are those of the network read here{} (largest difference {largest:.1e}, allowed \
                 {tolerance:.1e})",
                if self.shifted { ", after log_softmax" } else { "" }
            ),
            Some(Differing { node, ours, theirs, nodes, cause, .. }) => format!(
                "{file}: the logits are not those of the network read here: {nodes} nodes differ, the first is node {node}, \
                 with [{}] in the file and [{}] here. {cause}",
                row(theirs),
                row(ours)
            ),
        }
    }

    /// For machines.
    pub fn value(&self) -> Value {
        json!({
            "file": self.file, "agree": self.agrees(), "after_log_softmax": self.shifted,
            "largest_difference": self.largest, "allowed_difference": self.tolerance,
            "first_node": self.differing.as_ref().map(|differing| differing.node),
            "nodes": self.differing.as_ref().map_or(0, |differing| differing.nodes),
            "likely_cause": self.differing.as_ref().map(|differing| &differing.cause),
            "remedy": self.differing.as_ref().map(|differing| &differing.remedy),
        })
    }
}

fn row(values: &[f64]) -> String {
    values.iter().map(|value| format!("{value:.4}")).collect::<Vec<_>>().join(", ")
}

/// Logits of a framework are those of the whole graph.
///
/// # Errors
/// If they are to be compared with those of a part.
pub fn refuse_logits(part: Option<&PartFile>, logits: &LogitsArguments) -> Result<()> {
    match (part, &logits.logits) {
        (Some(part), Some(_)) => Err(miette!(
            help = "compare them once, on the whole graph: gcnproof inspect GRAPH MODEL --logits FILE",
            "--logits: the graph is {}, whose logits nobody has",
            part.words()
        )),
        _ => Ok(()),
    }
}
