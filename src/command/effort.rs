//! How far a command goes: bounds only, the relaxation's optimum, or the truth.

use std::time::Duration;

use clap::{Args, ValueEnum};
use gcnproof::certifier::Effort;
use gcnproof::search::tree::Limits;
use serde_json::{Value, json};

/// Effort and its limits.
#[derive(Args, Clone, Debug)]
pub struct EffortArguments {
    /// Multipliers of the relaxation: default, or optimal by column generation where the default leaves a node open
    #[arg(long, value_enum, default_value = "default", help_heading = "Effort")]
    omega: Omega,
    /// Decide every node: column generation, then branch and price
    #[arg(long, help_heading = "Effort")]
    complete: bool,
    /// Find the exact worst-case margin of every class pair
    #[arg(long, conflicts_with = "complete", help_heading = "Effort")]
    minimize: bool,
    /// Give a node up after so many seconds of search
    #[arg(long, value_name = "SECONDS", help_heading = "Effort")]
    time_limit: Option<f64>,
    /// Give a class pair up after so many nodes of the search tree
    #[arg(long, value_name = "N", help_heading = "Effort")]
    node_limit: Option<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Omega {
    /// The default of the formulas
    Default,
    /// The optimum
    Optimal,
}

/// Between bound and witness, where `--minimize` is done.
const GAP: f64 = 1e-9;

impl EffortArguments {
    /// What the arguments ask for.
    pub fn effort(&self) -> Effort {
        let default = Limits::default();
        let limits = Limits {
            nodes: self.node_limit.unwrap_or(default.nodes),
            time: self.time_limit.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()).unwrap_or(default.time),
        };
        match (self.minimize, self.complete, self.omega) {
            (true, ..) => Effort::Minimise { limits, gap: GAP },
            (_, true, _) => Effort::Complete(limits),
            (.., Omega::Optimal) => Effort::Optimal,
            _ => Effort::Bounds,
        }
    }

    /// For the record of a run.
    pub fn record(&self) -> Value {
        let name = match self.effort() {
            Effort::Bounds => "bounds",
            Effort::Optimal => "optimal",
            Effort::Complete(_) => "complete",
            Effort::Minimise { .. } => "minimize",
        };
        json!({ "level": name, "time_limit": self.time_limit, "node_limit": self.node_limit })
    }
}
