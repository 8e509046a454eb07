//! What graph, model and header mean: the network in exact numbers, its message passing, the budget, and the slice of a
//! target (`FORMAT.md` §1, §3).

mod budget;
mod described;
mod integers;
mod links;
mod network;
mod operator;
mod rule;
mod slice;

use std::sync::Arc;

use gcnproof_files::{GraphFile, ModelFile, SparseMatrix};

pub use budget::{Budget, Decided};
pub(crate) use described::{DescribedWeights, attributes, bias, bias_sizes, require_deployed};
pub use gcnproof_files::matrix_digest;
pub use integers::{Combination, Integers};
pub use links::{Link, Links, pairs};
pub use network::Network;
pub(crate) use network::{first_weights, operator_links, require_fit};
pub(crate) use rule::{Rule, same_rules};
pub use slice::Slice;

use crate::format::{BudgetStatement, Convention, Deployed, Header, OLDEST_VERSION, VERSION};
use crate::verdict::Reason;
use crate::work::{Meter, Work};

/// Refuses digests of other files.
pub(crate) fn require_digests(
    graph: &GraphFile,
    model: &ModelFile,
    of_graph: &str,
    of_model: &str,
) -> Result<(), Reason> {
    for (what, stated, given) in [("graph", of_graph, &graph.digest), ("model", of_model, &model.digest)] {
        if stated != given {
            // The digest in an untrusted file may be as long as a header.
            let stated: String = stated.chars().take(64).collect();
            return Err(Reason::Header(format!(
                "the proofs are about another {what}: its digest is {stated}, the {what} given has {given}"
            )));
        }
    }
    Ok(())
}

/// Refuses a graph whose attributes are not simply flipped.
pub(crate) fn require_flips(graph: &GraphFile, what: &'static str) -> Result<(), Reason> {
    if graph.values.is_some() {
        return Err(Reason::Numbers(what));
    }
    match (&graph.categories, graph.normalisation.is_some()) {
        (Some(_), _) => Err(Reason::Categories(what)),
        (None, true) => Err(Reason::Normalised(what)),
        (None, false) => Ok(()),
    }
}

/// The network and the budget that a header speaks of.
pub struct Statement<'a> {
    pub(crate) network: Network<'a>,
    /// The network with its first layer as the model has it, where it runs on other attributes than those that proofs
    /// are about.
    own: Option<Network<'a>>,
    pub(crate) budget: Budget<'a>,
    pub(crate) classes: Convention,
    pub(crate) deployed: Option<Deployed>,
    version: u32,
}

impl<'a> Statement<'a> {
    /// Checks that header, graph and model belong together. `matrices` are those that a `matrix:` rule may name.
    ///
    /// # Errors
    /// If they do not.
    pub fn new(
        graph: &'a GraphFile,
        model: &'a ModelFile,
        header: &Header,
        matrices: &[Arc<SparseMatrix>],
    ) -> Result<Statement<'a>, Reason> {
        Statement::within(graph, model, header, matrices, &Work::lines().line())
    }

    /// The same within other limits.
    pub(crate) fn within(
        graph: &'a GraphFile,
        model: &'a ModelFile,
        header: &Header,
        matrices: &[Arc<SparseMatrix>],
        meter: &Meter,
    ) -> Result<Statement<'a>, Reason> {
        if !(OLDEST_VERSION..=VERSION).contains(&header.version) {
            let known = format!("this checker reads {OLDEST_VERSION} to {VERSION}");
            return Err(Reason::Header(format!("version {}, but {known}", header.version)));
        }
        if header.version < 2 && header.deployed.is_some() {
            return Err(Reason::Version("statements about the network as it runs"));
        }
        require_digests(graph, model, &header.graph, &header.model)?;
        if header.ranges.is_some() {
            return Err(Reason::Header("attributes are moved within ranges, and not flipped".into()));
        }
        if graph.values.is_some() {
            return Err(Reason::Numbers("proofs against flips"));
        }
        let own = header.deployed.as_ref().and(graph.categories.as_ref());
        let own = own.map(|_| Network::on_own_attributes(graph, model, header, matrices, meter)).transpose()?;
        let statement = Statement {
            network: Network::new(graph, model, header, matrices, meter)?,
            own,
            budget: Budget::new(&header.budget, graph)?,
            classes: header.classes,
            deployed: header.deployed.clone(),
            version: header.version,
        };
        if let Some(deployed) = &statement.deployed {
            require_deployed(statement.executed(), deployed)?;
        }
        Ok(statement)
    }

    /// The network whose executions are spoken of, where they are.
    pub(crate) fn executed(&self) -> &Network<'a> {
        self.own.as_ref().unwrap_or(&self.network)
    }

    /// The same statement about a graph with other edges; no rule may name a matrix.
    ///
    /// # Errors
    /// If an operator takes too much.
    pub(crate) fn on<'b>(
        &'b self,
        graph: &'b GraphFile,
        budget: &BudgetStatement,
        meter: &Meter,
    ) -> Result<Statement<'b>, Reason> {
        Ok(Statement {
            network: self.network.on(graph, meter)?,
            own: None,
            budget: Budget::new(budget, graph)?,
            classes: self.classes,
            deployed: None,
            version: self.version,
        })
    }

    /// Refuses what version 1 does not have.
    pub(crate) fn since_version_2(&self, what: &'static str) -> Result<(), Reason> {
        if self.version < 2 { Err(Reason::Version(what)) } else { Ok(()) }
    }
}
