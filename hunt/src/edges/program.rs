//! A case as the program sees it.

use gcnproof::edges::{EdgeBudget, EdgeCertifier, EdgeProblem, EdgeResult, edge_header};
use gcnproof::{Graph, Network, Operator};
use gcnproof_check::edges::format::Header;

use crate::edges::case::EdgeCase;
use crate::tested::{How, convention, guard, stopped};

/// A case as the program sees it.
pub struct EdgeProgram {
    pub certifier: EdgeCertifier,
    /// The header of its proofs.
    pub header: Header,
}

impl EdgeProgram {
    /// Hands a case to the program.
    ///
    /// # Errors
    /// If the program refuses it, or panics.
    pub fn new(case: &EdgeCase, how: How) -> Result<EdgeProgram, String> {
        guard(|| {
            let graph = Graph::from_file(case.graph.clone());
            let rules: Vec<Operator> = case.rules.iter().map(|rule| rule.parse()).collect::<Result<_, _>>()?;
            let network = Network::from_file(case.model.clone(), &rules, &graph).map_err(|error| error.to_string())?;
            let local: Vec<i64> = case.budget.local.iter().map(|&e| e as i64).collect();
            let frozen: Vec<(i64, i64)> = case.budget.frozen.iter().map(|&(i, j)| (j.into(), i.into())).collect();
            let budget = EdgeBudget::per_node(&graph, case.budget.global as usize, &local)
                .and_then(|budget| budget.keep_one(case.budget.keep_one).freeze_edges(&graph, &frozen))
                .map_err(|error| error.to_string())?;
            let classes = convention(case.labels);
            let header = edge_header(("graph", "model"), (&network, &rules), &budget, classes);
            let problem = EdgeProblem::new(graph, network, budget).map_err(|error| error.to_string())?;
            let certifier = EdgeCertifier::new(problem).effort(how.effort()).proofs(true).stop(stopped);
            Ok(EdgeProgram { certifier, header })
        })?
    }

    /// The result of a node for a class.
    pub fn decide(&self, node: usize, class: Option<usize>) -> Result<EdgeResult, String> {
        guard(|| match class {
            Some(class) => self.certifier.for_class(node, class),
            None => self.certifier.one(node),
        })?
        .map_err(|error| error.to_string())
    }
}
