//! Who proposes multipliers of one attack for the whole graph.

use clap::ValueEnum;
use gcnproof_run::collective_run::Proposer;
use miette::Result;

/// Who proposes multipliers; every bound is evaluated by us.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Solver {
    /// Our own method
    #[default]
    Own,
    /// HiGHS, for --rows count: in builds with the laboratory
    Highs,
}

impl Solver {
    /// As a run takes it.
    ///
    /// # Errors
    /// If this build does not have it.
    pub fn proposer(self) -> Result<Proposer> {
        match self {
            Solver::Own => Ok(Proposer::Own),
            #[cfg(feature = "laboratory")]
            Solver::Highs => Ok(Proposer::Highs(|certifier, nodes, attacked_nodes, outcome| {
                let proposed = gcnproof_laboratory::collective::propose(certifier, nodes, attacked_nodes, outcome);
                proposed.map_err(|status| status.to_string())
            })),
            #[cfg(not(feature = "laboratory"))]
            Solver::Highs => Err(miette::miette!(
                help = "build it with `make build`, or `cargo install --path cli --features laboratory` (needs HiGHS)",
                "--solver highs belongs to the laboratory, which this build of gcnproof does not have"
            )),
        }
    }
}
