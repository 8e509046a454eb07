//! What is said to a check besides the files.

use std::sync::Arc;

use gcnproof_files::{PartFile, SparseMatrix};

use crate::question::Question;
use crate::work::Limits;

/// What else may be said to a check.
#[derive(Default)]
pub struct Options {
    /// The matrices that a `matrix:` rule may name.
    pub matrices: Vec<Arc<SparseMatrix>>,
    /// The core alone judges: slow.
    pub exact_only: bool,
    /// The message passing that the file must be about, one rule for all layers or one for each, as a header names
    /// them. If left out: any where nothing is asked, otherwise the model's own, or `gcn`.
    pub message_passing: Vec<String>,
    /// What is asked; without it the file is judged by its own statement.
    pub question: Option<Question>,
    /// What the graph says of itself if it is a part of a larger one.
    pub part: Option<PartFile>,
    /// What the check may cost.
    pub limits: Limits,
    /// Asked from time to time: is the check to stop?
    pub stop: Option<fn() -> bool>,
}
