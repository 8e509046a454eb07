//! What is asked about a target, and what can be said of the network as it runs.

use crate::problem::pace::Pace;
use crate::ranges::problem::RangeProblem;

/// What is asked about a target.
pub(crate) struct RangeQuestion<'a> {
    pub(crate) problem: &'a RangeProblem,
    pub(crate) target: usize,
    pub(crate) reference: usize,
    pub(crate) others: &'a [usize],
    /// Branches of a search, at most.
    pub(crate) nodes: usize,
    pub(crate) pace: &'a Pace,
    /// Is what the verdict rests on to be kept? As deployed, if that is asked about.
    pub(crate) proofs: bool,
    /// The width up to which smallest margins are asked for, relative to the larger of them and those without changes.
    pub(crate) gap: Option<f64>,
    /// How the network runs, if that is asked about.
    pub(crate) run: Option<RangeRun<'a>>,
}

/// The network as it runs.
#[derive(Clone, Copy)]
pub(crate) struct RangeRun<'a> {
    /// By other class: how far computed margins may be from exact ones.
    pub(crate) errors: &'a [f64],
    /// Bits of a significand.
    pub(crate) precision: u32,
}

/// What is known of the network as it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RunVerdict {
    /// Every margin is above its error.
    Robust,
    /// The witness takes a margin below minus its error.
    NonRobust,
    /// Neither: rounding may decide.
    Rounding,
    Open,
}

impl RangeQuestion<'_> {
    /// How far a computed margin may be from the exact one; 0 where that is not asked for or not known.
    pub(super) fn error(&self, at: usize) -> f64 {
        self.run.map(|run| run.errors[at]).filter(|error| error.is_finite()).unwrap_or(0.0)
    }
}
