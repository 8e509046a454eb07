//! What a certifier does: which bounds it evaluates, and how far it goes.

use std::fmt;
use std::sync::Arc;

use crate::bound::relaxed::Relaxation;
use crate::certify::verdict::NodeResult;
use crate::deployed::execution::Execution;
use crate::search::limits::{Limits, Stop};

/// Which bounds are evaluated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Bound {
    /// The paper's dual at its default `Ω`.
    Paper,
    /// The anchored bound.
    Anchored,
    /// Both, and where neither settles a class pair, mixtures of chord and capped bound, unit by unit.
    #[default]
    Best,
}

impl Bound {
    pub(crate) fn relaxations(self) -> &'static [Relaxation] {
        match self {
            Bound::Paper => &[Relaxation::Paper],
            Bound::Anchored => &[Relaxation::Anchored],
            Bound::Best => &[Relaxation::Paper, Relaxation::Anchored],
        }
    }
}

/// How far the certifier goes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum Effort {
    /// Bounds at default multipliers, their mixtures, and witnesses.
    #[default]
    Bounds,
    /// In addition the root of the search: column generation and envelopes, where that leaves a pair open.
    Optimal,
    /// In addition branch and price, until every node is decided.
    Complete(Limits),
    /// The worst-case margin of every class pair: exactly, or up to the gap.
    Minimize {
        /// When to give up.
        limits: Limits,
        /// Difference between lower and upper bound at which a pair is done, relative to the larger of the margins with
        /// and without attack; 0 asks for the exact minimum. The sign is decided in any case.
        gap: f64,
    },
}

impl Effort {
    /// When a search gives up; nothing if it does not go beyond its root.
    pub(crate) fn limits(self) -> Option<Limits> {
        match self {
            Effort::Complete(limits) | Effort::Minimize { limits, .. } => Some(limits),
            Effort::Bounds | Effort::Optimal => None,
        }
    }
}

/// How tight the margins of nodes are that are robust by far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Margins {
    /// The bounds that were asked for, evaluated for every node.
    Tight,
    /// Whatever shows first that a node is robust: path bounds come before all others, and where they suffice no other
    /// is evaluated.
    #[default]
    Fast,
}

/// All settings of a certifier.
#[derive(Clone, Debug, Default)]
pub(crate) struct CertifierSettings {
    pub(crate) bound: Bound,
    pub(crate) effort: Effort,
    pub(crate) margins: Margins,
    /// Perturbations of a whole graph up to which all are tried.
    pub(crate) listing: usize,
    /// How the network runs, if verdicts are to hold for that.
    pub(crate) deployed: Option<Execution>,
    /// Is what each verdict rests on to be kept?
    pub(crate) proofs: bool,
    pub(crate) stop: Stop,
    pub(crate) progress: Progress,
}

/// A listener.
type Told = dyn Fn(&NodeResult) + Send + Sync;

/// Who is told of every node that is decided.
#[derive(Clone, Default)]
pub(crate) struct Progress(pub(crate) Option<Arc<Told>>);

impl fmt::Debug for Progress {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Progress" } else { "no progress" })
    }
}
