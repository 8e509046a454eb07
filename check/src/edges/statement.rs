//! What header, graph and model mean together.

use gcnproof_files::{GraphFile, ModelFile};

use super::budget::{RemovalBudget, neighbours};
use super::changes::ChangeStatement;
use super::line::{EdgeAttack, EdgeHeader, VERSION};
use super::network::EdgeNetwork;
use crate::format::Convention;
use crate::statement::require_digests;
use crate::verdict::Reason;

/// What a header speaks of: removals with one hidden layer, or other changes. Each has rules of its own.
pub enum EdgeStatement<'a> {
    /// Version 3.
    Removals(Box<RemovalStatement<'a>>),
    /// Version 4.
    Changes(Box<ChangeStatement<'a>>),
}

impl<'a> EdgeStatement<'a> {
    /// Checks that header, graph and model belong together.
    ///
    /// # Errors
    /// If they do not, or if the model has no proofs against changed edges.
    pub fn new(graph: &'a GraphFile, model: &'a ModelFile, header: &EdgeHeader) -> Result<EdgeStatement<'a>, Reason> {
        require_other_edges(model)?;
        if header.flips.is_some() {
            return Err(Reason::Header("flips are stated of an attack on edges alone".into()));
        }
        match (&header.edges.changes, header.attack) {
            (None, EdgeAttack::EdgeRemovals) => {
                Ok(EdgeStatement::Removals(Box::new(RemovalStatement::new(graph, model, header)?)))
            }
            (Some(changes), EdgeAttack::EdgeChanges) => {
                Ok(EdgeStatement::Changes(Box::new(ChangeStatement::new(graph, model, header, changes)?)))
            }
            (_, EdgeAttack::FlipsAndEdgeChanges) => {
                Err(Reason::Header("an attack on attributes and edges does not say which flips".into()))
            }
            (Some(_), _) => Err(Reason::Header("changes are stated of an attack that removes edges".into())),
            (None, _) => Err(Reason::Header("an attack that changes edges does not say how".into())),
        }
    }
}

/// The model says what its network computes on changed edges too.
pub(crate) fn require_other_edges(model: &ModelFile) -> Result<(), Reason> {
    match model.fixed_edges {
        true => Err(Reason::Header("the model stands for a network on the edges of its graph alone".into())),
        false => Ok(()),
    }
}

/// The network and the budget that a header about removals speaks of.
pub struct RemovalStatement<'a> {
    pub(super) graph: &'a GraphFile,
    pub(super) network: EdgeNetwork<'a>,
    pub(super) budget: RemovalBudget,
    pub(super) classes: Convention,
}

impl<'a> RemovalStatement<'a> {
    /// Checks that header, graph and model belong together.
    ///
    /// # Errors
    /// If they do not, or if the model has no proofs against removed edges.
    fn new(graph: &'a GraphFile, model: &'a ModelFile, header: &EdgeHeader) -> Result<RemovalStatement<'a>, Reason> {
        if header.version != VERSION {
            let known = format!("proofs against removed edges have version {VERSION}");
            return Err(Reason::Header(format!("version {}, but {known}", header.version)));
        }
        require_digests(graph, model, &header.graph, &header.model)?;
        if graph.categories.is_some() {
            return Err(Reason::Categories("proofs against removed edges"));
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
        Ok(RemovalStatement { graph, network, budget, classes: header.classes })
    }

    /// What the attacker may do.
    pub(crate) fn budget(&self) -> &RemovalBudget {
        &self.budget
    }
}
