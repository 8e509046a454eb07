//! What cannot be asked of a part of a graph, each with its remedy.

use std::path::Path;

use gcnproof::{Network, Operator};
use gcnproof_files::{ModelFile, PartFile};
use miette::{Result, miette};

/// Where a graph and a model are, for messages.
#[derive(Clone, Copy, Debug)]
pub struct Paths<'a> {
    /// The graph.
    pub graph: &'a Path,
    /// The model.
    pub model: &'a Path,
}

/// A model on a part has no numbers of single nodes: they are those of the whole graph's rows, and nobody has cut them.
///
/// # Errors
/// If it has a matrix of its own or biases by node.
pub fn check_model(model: &ModelFile, rules: &[Operator], path: &Path) -> Result<()> {
    let is_matrix = |rule: &Operator| match rule {
        Operator::Polynomial(of, _) => matches!(**of, Operator::Matrix(_)),
        rule => matches!(rule, Operator::Matrix(_)),
    };
    let what = if model.layers.iter().any(|layer| layer.pools()) {
        "has a readout: graphs are not cut into parts"
    } else if !model.matrices.is_empty() || rules.iter().any(is_matrix) {
        "passes messages by a matrix of its own, whose edges need not be those of the graph"
    } else if model.layers.iter().any(|layer| layer.bias.len() > layer.weight.columns)
        || model.described.as_ref().is_some_and(|described| described.has_nodes())
    {
        "has biases by node"
    } else {
        return Ok(());
    };
    Err(miette!(
        help = "certify the whole graph with it; networks of rules (gcn, mean, sum, poly(…) and so on) can be certified on parts",
        "{}: the model {what}: it cannot be split into parts",
        path.display()
    ))
}

/// What a network reads must lie within a part.
///
/// # Errors
/// If it reads further.
pub fn check_hops(part: &PartFile, network: &Network, paths: Paths) -> Result<()> {
    let Paths { graph: at, model: of } = paths;
    if network.hops() <= part.hops {
        return Ok(());
    }
    Err(miette!(
        help = format!(
            "cut the graph again for this model: gcnproof partition GRAPH {} …, or --hops {}",
            of.display(),
            network.hops()
        ),
        "{}: {} is complete up to {} edges from its own nodes, but the logits of {} depend on nodes {} edges away",
        at.display(),
        part.words(),
        part.hops,
        of.display(),
        network.hops()
    ))
}
