//! What is said of a node for the network as it runs.

use serde::{Deserialize, Serialize};

/// What is known of a node as it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum DeployedVerdict {
    /// No execution, on no admissible input, lets another class reach the first: every worst-case margin exceeds its
    /// error bound.
    Robust,
    /// Every execution is fooled by the witness: its exact margin is below minus its error bound.
    NonRobust,
    /// Neither: the exact worst-case margin lies within the error bound around zero, so that rounding may decide.
    RoundingDependent,
    /// None of these could be shown.
    Undecided,
}

impl DeployedVerdict {
    /// The name used in every output format.
    pub fn name(self) -> &'static str {
        match self {
            DeployedVerdict::Robust => "robust",
            DeployedVerdict::NonRobust => "non_robust",
            DeployedVerdict::RoundingDependent => "rounding_dependent",
            DeployedVerdict::Undecided => "undecided",
        }
    }
}

/// What is said of a node as it runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Deployed {
    /// The verdict.
    pub verdict: DeployedVerdict,
    /// For each class pair of the result: by how much a computed margin may differ from the exact one. Not finite where
    /// numbers may leave the range of the format, or sums are too long for it.
    pub errors: Vec<f64>,
    /// May the class computed without any flip depend on rounding?
    pub prediction_depends: bool,
}
