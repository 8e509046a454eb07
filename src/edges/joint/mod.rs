//! Flips of attributes and changes of edges at once: one attacker with both budgets (docs/math.md §26).
//!
//! A tree over sets of changed edges; below each of its paths, flips of the graph that is left are decided as flips of
//! any graph are, and what open changes of edges can do is bounded whatever is flipped.

mod attack;
mod budget;
mod certifier;
mod decide;
mod part;
mod problem;
mod proof;
mod search;
mod verdict;

pub use budget::JointBudget;
pub use certifier::JointCertifier;
pub use problem::JointProblem;
pub use proof::joint_header;
pub use verdict::{Joint, JointDetails, JointResult};
