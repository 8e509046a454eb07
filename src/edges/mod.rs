//! Removed edges: does any admissible set of removals change the class of a node? Bound, attacks, and a complete search
//! (docs/math.md §18, `check/FORMAT-EDGES.md`).
//!
//! Operators are recomputed from the edges that are left, by the very expressions that make them from a whole graph; margins
//! are those of the network in exact arithmetic with these floats.

mod anchors;
mod bound;
mod budget;
mod case;
mod certifier;
mod consistency;
mod element;
mod estimate;
mod exact;
mod ground;
mod judge;
mod line;
mod mend;
mod messages;
mod minimum;
mod pace;
mod pair;
mod problem;
mod proof;
mod reach;
mod rule;
mod scene;
mod search;
mod share;
mod steps;
mod verdict;

pub use budget::{Edge, EdgeBudget, EdgeBudgetError};
pub use certifier::EdgeCertifier;
pub use minimum::EdgeMinimum;
pub use problem::{EdgeError, EdgeProblem};
pub use proof::edge_header;
pub use search::{Prices, Step};
pub use verdict::{EdgeClaim, EdgeReason, EdgeResult, Edges};
