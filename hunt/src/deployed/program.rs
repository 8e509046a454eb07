//! A case as the program sees it, and as it is asked for.

use gcnproof::{Certifier, Execution, Graph, Network, Problem, proof};
use gcnproof_check::format::{Deployed, Header};

use crate::terms::case::TermCase;
use crate::tested::{How, budget, convention, guard, stopped};

/// A case as the program sees it.
pub struct DeployedProgram {
    pub certifier: Certifier,
    /// The header of its proofs.
    pub header: Header,
}

impl DeployedProgram {
    /// Hands a case to the program.
    ///
    /// # Errors
    /// If the program refuses it, or panics.
    pub fn new(case: &TermCase, execution: Execution, how: How) -> Result<DeployedProgram, String> {
        guard(|| {
            let base = &case.base;
            let graph = Graph::from_file(base.graph.clone());
            let network = Network::from_file(base.model.clone(), &[], &graph).map_err(|error| error.to_string())?;
            let budget = budget(base, &graph)?;
            let classes = convention(base.labels);
            let digests = (base.graph.digest.as_str(), base.model.digest.as_str());
            let mut header = proof::header(digests, (&network, &[]), &budget, classes);
            header.deployed = Some(Deployed {
                precision: execution.precision,
                operator_error: execution.operator_errors(&graph, &network),
                flush_subnormals: execution.flush_subnormals,
            });
            let problem = Problem::new(graph, network, budget).map_err(|error| error.to_string())?;
            let certifier = Certifier::builder(problem).effort(how.effort()).deployed(execution).proofs(true);
            Ok(DeployedProgram { certifier: certifier.stop(stopped).build(), header })
        })?
    }
}

/// The options of `certify` for an execution.
pub fn options(execution: Execution, how: How) -> String {
    let error = execution.operator_error.map(|ulps| format!(" --operator-error {ulps}")).unwrap_or_default();
    let flush = if execution.flush_subnormals { " --flush-subnormals" } else { "" };
    let roundoff = match execution.precision {
        24 => String::new(),
        bits => format!(" --unit-roundoff 2^-{bits}"),
    };
    format!("--deployed float32{roundoff}{error}{flush} {}", how.options())
}
