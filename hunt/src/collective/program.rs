//! A graph as the program sees it.

use gcnproof::collective::{Base, Collective, Outcome, Settings, bases};
use gcnproof::{Certifier, Effort, Graph, Network, Problem};

use crate::case::Case;
use crate::tested::{budget, guard, operators, stopped};

/// A graph as the program sees it.
pub struct CollectiveProgram {
    /// The certifier under the budget of the case.
    pub certifier: Certifier,
    /// What is known of the nodes that count, each with its class.
    pub known: Vec<(Base, usize)>,
}

impl CollectiveProgram {
    /// Hands a case to the program.
    ///
    /// # Errors
    /// If the program refuses it, or panics.
    pub fn new(case: &Case, counted: &[usize], effort: Effort) -> Result<CollectiveProgram, String> {
        guard(|| {
            let graph = Graph::from_file(case.graph.clone());
            let network =
                Network::from_file(case.model.clone(), &operators(case), &graph).map_err(|error| error.to_string())?;
            let budget = budget(case, &graph)?;
            let limit = budget.global().min(1 << 20);
            let problem = Problem::new(graph, network, budget).map_err(|error| error.to_string())?;
            let certifier = Certifier::builder(problem).effort(effort).stop(stopped).build();
            let found = bases(&certifier, counted, limit, stopped, |_| ()).map_err(|error| error.to_string())?;
            let found = found.ok_or("stopped")?;
            let known = found.into_iter().map(|base| (base.clone(), certifier.predicted(base.node))).collect();
            Ok(CollectiveProgram { certifier, known })
        })?
    }

    /// The outcome with these settings.
    pub fn run(&self, settings: Settings, global: usize) -> Result<Option<Outcome>, String> {
        guard(|| Collective::new(&self.certifier, &self.known, settings).ok()?.at(global))
    }
}
