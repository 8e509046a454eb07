//! What header, graph and model mean together, and which predictions count.

use std::sync::Arc;

use gcnproof_files::{GraphFile, ModelFile, SparseMatrix};

use super::line::{CollectiveHeader, VERSION};
use crate::format::Convention;
use crate::statement::{self, require_flips};
use crate::verdict::Reason;
use crate::work::{Meter, Work};

/// The network, the budget and the predictions that a header speaks of.
pub struct CollectiveStatement<'a> {
    /// The statement of the lines about single nodes.
    pub(crate) nodes: statement::Statement<'a>,
    /// By node: does the header name it? Where labels count, the prediction must be right besides.
    named: Vec<bool>,
    /// `M`.
    pub(crate) attacked_nodes: Option<usize>,
}

impl<'a> CollectiveStatement<'a> {
    /// Checks that header, graph and model belong together. `matrices` are those that a `matrix:` rule may name.
    ///
    /// # Errors
    /// If they do not.
    pub fn new(
        graph: &'a GraphFile,
        model: &'a ModelFile,
        header: &CollectiveHeader,
        matrices: &[Arc<SparseMatrix>],
    ) -> Result<CollectiveStatement<'a>, Reason> {
        CollectiveStatement::within(graph, model, header, matrices, &Work::lines().line())
    }

    /// The statement of the lines about single nodes.
    pub fn of_single_nodes(&self) -> &statement::Statement<'a> {
        &self.nodes
    }

    /// The same as [`CollectiveStatement::new`] within other limits.
    pub(crate) fn within(
        graph: &'a GraphFile,
        model: &'a ModelFile,
        header: &CollectiveHeader,
        matrices: &[Arc<SparseMatrix>],
        meter: &Meter,
    ) -> Result<CollectiveStatement<'a>, Reason> {
        if header.version != VERSION {
            let known = format!("proofs about one attack for the whole graph have version {VERSION}");
            return Err(Reason::Header(format!("version {}, but {known}", header.version)));
        }
        require_flips(graph, "proofs about one attack for the whole graph")?;
        if graph.batch.is_some() {
            return Err(Reason::Files("graphs are classified, and one attack for all of them has no proofs".into()));
        }
        let count = graph.attributes.rows;
        let mut named = vec![header.nodes.is_none(); count];
        let stated = header.nodes.as_deref().unwrap_or_default();
        if let Some(pair) = stated.windows(2).find(|pair| pair[0] >= pair[1]) {
            return Err(Reason::Header(format!("node {} is listed twice or out of order", pair[1])));
        }
        for &node in stated {
            let problem = || Reason::Header(format!("node {node} does not exist, the graph has {count}"));
            *named.get_mut(node as usize).ok_or_else(problem)? = true;
        }
        let attacked_nodes = header.attacked_nodes.map(|most| usize::try_from(most).unwrap_or(usize::MAX).min(count));
        let nodes = statement::Statement::within(graph, model, &header.of_single_nodes(), matrices, meter)?;
        Ok(CollectiveStatement { nodes, named, attacked_nodes })
    }

    /// The nodes that the header names, or all.
    pub(crate) fn named(&self) -> impl Iterator<Item = usize> {
        self.named.iter().enumerate().filter(|(_, named)| **named).map(|(node, _)| node)
    }

    /// Does the prediction of a node count, if this is its predicted class?
    pub(crate) fn counts(&self, node: u32, predicted: u32) -> bool {
        self.named[node as usize] && self.label(node).is_none_or(|label| label == Some(predicted))
    }

    /// The nodes that count if their prediction is right or does not have to be: with the class that it must be, if it
    /// must.
    pub(crate) fn candidates(&self) -> impl Iterator<Item = (u32, Option<u32>)> {
        self.named().map(|node| node as u32).filter_map(|node| match self.label(node) {
            None => Some((node, None)),
            // What is without label, or has one that no class has, is never right.
            Some(label) => {
                label.filter(|&label| (label as usize) < self.nodes.network.classes()).map(|y| (node, Some(y)))
            }
        })
    }

    /// The label of a node, if it has one; `None` where labels do not matter.
    fn label(&self, node: u32) -> Option<Option<u32>> {
        let labels = || self.nodes.network.graph.labels.as_ref().and_then(|labels| labels[node as usize]);
        (self.nodes.classes == Convention::Labels).then(labels)
    }
}
