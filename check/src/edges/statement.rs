//! What header, graph and model mean together.

use gcnproof_files::{GraphFile, ModelFile};

use super::budget::{RemovalBudget, neighbours};
use super::line::{EdgeHeader, VERSION};
use super::network::EdgeNetwork;
use crate::format::Convention;
use crate::statement::require_digests;
use crate::verdict::Reason;

/// The network and the budget that a header speaks of.
pub struct EdgeStatement<'a> {
    pub(super) graph: &'a GraphFile,
    pub(super) network: EdgeNetwork<'a>,
    pub(super) budget: RemovalBudget,
    pub(super) classes: Convention,
}

impl<'a> EdgeStatement<'a> {
    /// Checks that header, graph and model belong together.
    ///
    /// # Errors
    /// If they do not, or if the model has no proofs against removed edges.
    pub fn new(graph: &'a GraphFile, model: &'a ModelFile, header: &EdgeHeader) -> Result<EdgeStatement<'a>, Reason> {
        if header.version != VERSION {
            let known = format!("proofs against removed edges have version {VERSION}");
            return Err(Reason::Header(format!("version {}, but {known}", header.version)));
        }
        require_digests(graph, model, &header.graph, &header.model)?;
        if graph.normalisation.is_some() {
            return Err(Reason::Normalised("proofs against removed edges"));
        }
        if graph.batch.is_some() {
            return Err(Reason::Files(
                "graphs are classified, and there are no proofs against removed edges then".into(),
            ));
        }
        let network = EdgeNetwork::new(graph, model, &header.message_passing)?;
        let nodes = graph.adjacency.rows as u32;
        for node in 0..nodes {
            let one_way = |&other: &u32| other >= nodes || !graph.adjacency.contains(other as usize, node);
            if let Some(other) = neighbours(&graph.adjacency, node).find(one_way) {
                return Err(Reason::Files(format!("the graph has an edge from {node} to {other}, but none back")));
            }
        }
        let budget = RemovalBudget::new(&header.edges, &graph.adjacency)?;
        Ok(EdgeStatement { graph, network, budget, classes: header.classes })
    }

    /// What the attacker may do.
    pub(crate) fn budget(&self) -> &RemovalBudget {
        &self.budget
    }
}
