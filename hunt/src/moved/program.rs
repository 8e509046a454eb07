//! A case as the program sees it, as it runs or in exact arithmetic.

use std::time::Duration;

use gcnproof::{Certifier, Effort, Execution, Graph, Limits, Network, Problem, proof};
use gcnproof_check::format::{Convention, Deployed, Header};
use gcnproof_files::GraphFile;

use crate::moved::case::MovedCase;
use crate::ranges::look::{GAP, budget};
use crate::tested::{How, guard, stopped};

/// A search that has not ended by then is given up.
const PATIENCE: Duration = Duration::from_millis(700);

/// A case as the program sees it.
pub struct MovedProgram {
    pub file: GraphFile,
    /// Asked about the network as it runs.
    pub certifier: Certifier,
    /// Asked about exact arithmetic.
    pub plain: Certifier,
    /// The header of proofs about the network as it runs.
    pub header: Header,
}

impl MovedProgram {
    /// Hands a case to the program.
    ///
    /// # Errors
    /// If the program refuses it, or panics.
    pub fn new(case: &MovedCase, how: How) -> Result<MovedProgram, String> {
        guard(|| {
            let file = case.ranges.graph()?;
            let graph = Graph::from_file(file.clone());
            let model = case.network.base.model.clone();
            let network = Network::from_file(model, &[], &graph).map_err(|error| error.to_string())?;
            let budget = budget(&case.ranges, &graph)?;
            let digests = (file.digest.as_str(), case.network.base.model.digest.as_str());
            let mut header = proof::header(digests, (&network, &[]), &budget, Convention::Predicted);
            header.deployed = Some(deployed(case.execution, &graph, &network));
            let problem = Problem::new(graph, network, budget).map_err(|error| error.to_string())?;
            // Searches that do not end are those of another area.
            let effort = match how.effort() {
                Effort::Complete(limits) => Effort::Complete(Limits { time: PATIENCE, ..limits }),
                Effort::Minimize { limits, .. } => {
                    Effort::Minimize { limits: Limits { time: PATIENCE, ..limits }, gap: GAP }
                }
                effort => effort,
            };
            let builder = || Certifier::builder(problem.clone()).effort(effort).proofs(true).stop(stopped);
            let certifier = builder().deployed(case.execution).build();
            Ok(MovedProgram { file, certifier, plain: builder().build(), header })
        })?
    }

    /// What headers state of another execution of the same network.
    ///
    /// # Errors
    /// If the program refuses the case.
    pub fn stated(case: &MovedCase, execution: Execution) -> Result<Deployed, String> {
        let graph = Graph::from_file(case.ranges.graph()?);
        let model = case.network.base.model.clone();
        let network = Network::from_file(model, &[], &graph).map_err(|error| error.to_string())?;
        Ok(deployed(execution, &graph, &network))
    }
}

fn deployed(execution: Execution, graph: &Graph, network: &Network) -> Deployed {
    Deployed {
        precision: execution.precision,
        operator_error: execution.operator_errors(graph, network),
        flush_subnormals: execution.flush_subnormals,
    }
}
