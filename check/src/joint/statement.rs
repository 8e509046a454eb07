//! What header, graph and model mean together.

use gcnproof_files::{GraphFile, ModelFile};

use crate::edges::changes::{ChangeBudget, ChangeStatement};
use crate::edges::{EdgeAttack, EdgeHeader, require_other_edges};
use crate::format::{BudgetStatement, Header, VERSION};
use crate::statement::{Budget, Statement, require_flips};
use crate::verdict::Reason;
use crate::work::{Meter, Work};

/// The network and both budgets that a header speaks of.
pub struct JointStatement<'a> {
    /// Changes of edges.
    pub(super) changes: ChangeStatement<'a>,
    /// Flips on the graph of the file.
    pub(super) flips: Statement<'a>,
    /// Which flips, as the header says it.
    pub(super) stated: BudgetStatement,
}

impl<'a> JointStatement<'a> {
    /// Checks that header, graph and model belong together.
    ///
    /// # Errors
    /// If they do not, or if the model has no proofs against flips and changed edges at once.
    pub fn new(graph: &'a GraphFile, model: &'a ModelFile, header: &EdgeHeader) -> Result<JointStatement<'a>, Reason> {
        JointStatement::within(graph, model, header, &Work::lines().line())
    }

    /// The same within other limits.
    pub(crate) fn within(
        graph: &'a GraphFile,
        model: &'a ModelFile,
        header: &EdgeHeader,
        meter: &Meter,
    ) -> Result<JointStatement<'a>, Reason> {
        let (EdgeAttack::FlipsAndEdgeChanges, Some(stated)) = (header.attack, &header.flips) else {
            return Err(Reason::Header("flips and changed edges are not both stated".into()));
        };
        require_other_edges(model)?;
        require_flips(graph, "proofs against flips and changed edges at once")?;
        // Rules that edges do not determine are refused here: what is left names no matrix.
        let changes = ChangeStatement::new(graph, model, header, &header.edges.kinds())?;
        let of_flips = Header {
            version: VERSION,
            graph: header.graph.clone(),
            model: header.model.clone(),
            message_passing: header.message_passing.clone(),
            budget: stated.clone(),
            classes: header.classes,
            deployed: None,
            ranges: None,
        };
        let flips = Statement::within(graph, model, &of_flips, &[], meter)?;
        Ok(JointStatement { changes, flips, stated: stated.clone() })
    }

    /// Which edges may be changed.
    pub(crate) fn edge_budget(&self) -> &ChangeBudget {
        &self.changes.budget
    }

    /// Which attributes may be flipped.
    pub(crate) fn flip_budget(&self) -> &Budget<'a> {
        &self.flips.budget
    }
}
