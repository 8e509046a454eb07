//! Options for how far a command goes: bounds only, column generation, or branch and price, with their limits.

use std::time::Duration;

use clap::{Args, ValueEnum};
use gcnproof::{Effort, Limits, Margins};
use gcnproof_results::record::description::{EffortRecord, Level};

/// Effort and its limits.
#[derive(Args, Clone, Debug)]
pub struct EffortArguments {
    /// Multipliers of the relaxation: default, or optimal by column generation where the default leaves a node open
    #[arg(long, value_enum, default_value = "default", help_heading = "Effort")]
    omega: Omega,
    /// Find the worst-case margin of every class pair: the exact minimum and the flips that attain it
    #[arg(long, conflicts_with = "complete", help_heading = "Effort")]
    minimize: bool,
    /// With --minimize: be content with an interval of this width, relative to the size of the margin (0: the exact minimum)
    #[arg(long, value_name = "G", default_value = "0", requires = "minimize", help_heading = "Effort", value_parser = gap)]
    gap: f64,
    /// With --minimize: write every exact minimum as a fraction ("-3/8") in the column exact_margins
    #[arg(long, requires = "minimize", help_heading = "Effort")]
    pub exact_margins: bool,
    /// Margins of nodes that are robust by far: whatever shows it first, or those of all bounds
    #[arg(long, value_enum, default_value = "fast", conflicts_with = "minimize", help_heading = "Effort")]
    margins: MarginsArgument,
    #[command(flatten)]
    search: SearchArguments,
}

/// The complete search.
#[derive(Args, Clone, Debug)]
pub struct SearchArguments {
    /// Decide every node: column generation with envelopes, then branch and price, until all are decided or a limit is hit
    #[arg(long, help_heading = "Effort")]
    complete: bool,
    /// With a search (--complete, --minimize): give a node up after so many seconds
    #[arg(long, value_name = "SECONDS", help_heading = "Effort", value_parser = seconds)]
    time_limit: Option<f64>,
    /// With a search (--complete, --minimize): give a class pair up after so many nodes of its tree
    #[arg(long, value_name = "N", help_heading = "Effort")]
    node_limit: Option<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum MarginsArgument {
    /// Path bounds first, many times faster on large graphs: `lower` is a valid bound, and the columns of other bounds are
    /// empty where they were not evaluated
    Fast,
    /// All bounds, for every node
    Tight,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Omega {
    /// The default of the formulas
    Default,
    /// By column generation and envelopes, at the root of the search only
    Optimal,
}

/// A duration that is one.
pub fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if Duration::try_from_secs_f64(seconds).is_ok() => Ok(seconds),
        _ => Err(format!("'{text}' is not a number of seconds (0 or more)")),
    }
}

/// A relative width.
fn gap(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(gap) if (0.0..=1.0).contains(&gap) => Ok(gap),
        _ => Err(format!("'{text}' is not a relative width (a number from 0 to 1)")),
    }
}

impl SearchArguments {
    /// Limits need something to limit: `searched` says whether something else than `--complete` searches.
    ///
    /// # Errors
    /// If a limit would do nothing.
    pub fn check(&self, searched: bool, remedy: &'static str) -> miette::Result<()> {
        let limit = [("--time-limit", self.time_limit.is_some()), ("--node-limit", self.node_limit.is_some())];
        match limit.into_iter().find(|(_, given)| *given && !self.complete && !searched) {
            None => Ok(()),
            Some((limit, _)) => {
                Err(miette::miette!(help = remedy, "{limit} limits a search, and without one it does nothing"))
            }
        }
    }

    fn limits(&self) -> Limits {
        let default = Limits::default();
        let time = self.time_limit.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        Limits { nodes: self.node_limit.unwrap_or(default.nodes), time: time.unwrap_or(default.time) }
    }

    /// What the arguments ask for.
    pub fn effort(&self) -> Effort {
        if self.complete { Effort::Complete(self.limits()) } else { Effort::Bounds }
    }

    /// For the record of a run.
    pub fn record(&self) -> EffortRecord {
        EffortRecord {
            level: Level::from(self.effort()),
            time_limit: self.time_limit,
            node_limit: self.node_limit,
            gap: None,
            margins: Margins::Tight,
            exact_margins: false,
        }
    }
}

impl EffortArguments {
    /// See [`SearchArguments::check`].
    ///
    /// # Errors
    /// If a limit would do nothing.
    pub fn check(&self) -> miette::Result<()> {
        self.search.check(self.minimize, "add --complete or --minimize, or leave the limit out")
    }

    /// How tight the margins are to be.
    pub fn margins(&self) -> Margins {
        match self.margins {
            MarginsArgument::Tight => Margins::Tight,
            MarginsArgument::Fast => Margins::Fast,
        }
    }

    /// What the arguments ask for.
    pub fn effort(&self) -> Effort {
        match (self.minimize, self.search.effort(), self.omega) {
            (true, ..) => Effort::Minimize { limits: self.search.limits(), gap: self.gap },
            (_, Effort::Bounds, Omega::Optimal) => Effort::Optimal,
            (_, effort, _) => effort,
        }
    }

    /// For the record of a run.
    pub fn record(&self) -> EffortRecord {
        EffortRecord {
            level: Level::from(self.effort()),
            gap: (self.gap > 0.0).then_some(self.gap),
            exact_margins: self.exact_margins,
            // Exact minima leave nothing to be fast about.
            margins: if self.minimize { Margins::Tight } else { self.margins() },
            ..self.search.record()
        }
    }

    /// Are exact margins asked for?
    pub fn minimizes(&self) -> bool {
        self.minimize
    }
}
