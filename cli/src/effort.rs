//! Options for how far a command goes: a complete search with its limits, or bounds only.

use std::time::Duration;

use clap::{Args, ValueEnum};
use gcnproof::{Effort, Margins};
use gcnproof_results::record::description::{EffortRecord, Level};
use gcnproof_run::effort::{limits, usual_seconds};

/// Effort and its limits.
#[derive(Args, Clone, Debug)]
pub struct EffortArguments {
    /// Find the worst-case margin of every class pair: the exact minimum and the flips that attain it
    #[arg(long, conflicts_with_all = ["complete", "bounds_only"], help_heading = "Effort", hide_short_help = true)]
    minimize: bool,
    /// With --minimize: accept an interval of this width, relative to the size of the margin (0: the exact minimum)
    #[arg(
        long,
        value_name = "G",
        default_value = "0",
        requires = "minimize",
        help_heading = "Effort",
        hide_short_help = true,
        value_parser = gap
    )]
    gap: f64,
    /// With --minimize: write every exact minimum as a fraction ("-3/8") in the column exact_margins
    #[arg(long, requires = "minimize", help_heading = "Effort", hide_short_help = true)]
    pub exact_margins: bool,
    /// How tight the margins of nodes are that the first bound already certifies
    #[arg(
        long,
        value_enum,
        default_value = "fast",
        conflicts_with = "minimize",
        help_heading = "Effort",
        hide_short_help = true
    )]
    margins: MarginsArgument,
    /// No tree search: bounds with the multipliers of the formulas (the paper calls them Ω), or with the best ones,
    /// which an iterative linear program (column generation) finds
    #[arg(long, value_enum, help_heading = "Effort", hide_short_help = true)]
    omega: Option<Omega>,
    #[command(flatten)]
    search: SearchArguments,
}

/// The complete search.
#[derive(Args, Clone, Debug)]
pub struct SearchArguments {
    /// Do not search: what the bounds leave open stays undecided
    #[arg(long, conflicts_with = "complete", help_heading = "Effort")]
    bounds_only: bool,
    /// Search without a time limit, unless --time-limit sets one
    #[arg(long, help_heading = "Effort", hide_short_help = true)]
    complete: bool,
    /// Stop the search for a node (in radius: at one Q) after so many seconds, those for its bounds included; what is
    /// not decided by then stays undecided [default: 5; none with --complete or --minimize]
    #[arg(long, value_name = "SECONDS", conflicts_with = "bounds_only", help_heading = "Effort", value_parser = seconds)]
    time_limit: Option<f64>,
    /// Stop the search for a class pair after so many nodes of its search tree
    #[arg(long, value_name = "N", conflicts_with = "bounds_only", help_heading = "Effort", hide_short_help = true)]
    node_limit: Option<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum MarginsArgument {
    /// As the first bound leaves them: many times faster on large graphs; `lower` is a valid bound, and the columns of
    /// bounds that were not evaluated are empty
    Fast,
    /// All bounds are evaluated for every node
    Tight,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Omega {
    /// Those of the formulas
    Default,
    /// The best ones, by column generation
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
    /// Was a search asked for by its name?
    pub fn is_complete(&self) -> bool {
        self.complete
    }

    /// The first option that asks for a search or limits it.
    pub fn named(&self) -> Option<&'static str> {
        if self.complete { Some("--complete") } else { self.limit() }
    }

    /// The first limit that was given.
    fn limit(&self) -> Option<&'static str> {
        let limits = [("--time-limit", self.time_limit.is_some()), ("--node-limit", self.node_limit.is_some())];
        limits.into_iter().find(|(_, given)| *given).map(|(name, _)| name)
    }

    /// Seconds for a node, if limited.
    fn seconds(&self) -> Option<f64> {
        self.time_limit.or_else(|| usual_seconds(self.complete))
    }

    /// What the arguments ask for.
    pub fn effort(&self) -> Effort {
        if self.bounds_only { Effort::Bounds } else { Effort::Complete(limits(self.seconds(), self.node_limit)) }
    }

    /// For the record of a run.
    pub fn record(&self) -> EffortRecord {
        EffortRecord {
            level: Level::from(self.effort()),
            time_limit: self.seconds().filter(|_| !self.bounds_only),
            node_limit: self.node_limit,
            gap: None,
            margins: Margins::Tight,
            exact_margins: false,
        }
    }
}

impl EffortArguments {
    /// Limits need a search: `single` says whether one bound alone is asked about.
    ///
    /// # Errors
    /// If a limit would do nothing, or two options contradict each other.
    pub fn check(&self, single: bool) -> miette::Result<()> {
        if self.omega.is_some() && (self.search.complete || self.minimize) {
            let option = if self.minimize { "--minimize" } else { "--complete" };
            return Err(miette::miette!(
                help = "leave one of them out: --omega asks for bounds without a search",
                "--omega and {option} contradict each other"
            ));
        }
        let bounded = (single || self.omega.is_some()) && !self.search.complete && !self.minimize;
        match self.search.limit().filter(|_| bounded) {
            None => Ok(()),
            Some(limit) => {
                let (option, help) = match self.omega {
                    None => ("--bound", "add --complete, or leave the limit out"),
                    Some(_) => (
                        "--omega",
                        "leave the limit out; or leave --omega out, and what the bounds leave open is searched",
                    ),
                };
                Err(miette::miette!(help = help, "{limit} limits a search, and {option} asks for bounds without one"))
            }
        }
    }

    /// How tight the margins are to be.
    pub fn margins(&self) -> Margins {
        match self.margins {
            MarginsArgument::Tight => Margins::Tight,
            MarginsArgument::Fast => Margins::Fast,
        }
    }

    /// What the arguments ask for. Whoever asks what a `single` bound certifies wants no search to add to it.
    pub fn effort(&self, single: bool) -> Effort {
        if self.minimize {
            return Effort::Minimize { limits: limits(self.search.time_limit, self.search.node_limit), gap: self.gap };
        }
        match self.omega {
            _ if self.search.complete => self.search.effort(),
            Some(Omega::Optimal) => Effort::Optimal,
            Some(Omega::Default) => Effort::Bounds,
            None if single => Effort::Bounds,
            None => self.search.effort(),
        }
    }

    /// For the record of a run.
    pub fn record(&self, single: bool) -> EffortRecord {
        let effort = self.effort(single);
        let searched = self.search.record();
        EffortRecord {
            level: Level::from(effort),
            time_limit: match effort {
                Effort::Complete(_) => searched.time_limit,
                Effort::Minimize { .. } => self.search.time_limit,
                _ => None,
            },
            gap: (self.gap > 0.0).then_some(self.gap),
            exact_margins: self.exact_margins,
            // Exact minima leave nothing to be fast about.
            margins: if self.minimize { Margins::Tight } else { self.margins() },
            ..searched
        }
    }

    /// Are exact margins asked for?
    pub fn minimizes(&self) -> bool {
        self.minimize
    }
}
