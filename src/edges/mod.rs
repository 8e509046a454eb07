//! Changed edges: does any admissible set of removals or insertions change the class of a node? Bound, attacks, and a
//! complete search (docs/math.md §18 and §24, `check/FORMAT-EDGES.md`). Removals of undirected edges in networks with
//! one hidden layer have a bound of their own; everything else is in `changes`.
//!
//! Operators are recomputed from the edges that are left, by the very expressions that make them from a whole graph;
//! margins are those of the network in exact arithmetic with these floats.

mod anchors;
mod bound;
mod budget;
mod case;
mod certifier;
mod changes;
mod consistency;
mod element;
mod estimate;
mod exact;
mod ground;
mod joint;
mod judge;
mod line;
mod mend;
mod messages;
mod minimum;
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

pub use budget::{Candidates, Edge, EdgeBudget, EdgeBudgetError, EdgeKind};
pub use certifier::EdgeCertifier;
pub use changes::prices::ChangePrices;
pub use joint::{Joint, JointBudget, JointCertifier, JointDetails, JointProblem, JointResult, joint_header};
pub use minimum::EdgeMinimum;
pub use problem::{EdgeError, EdgeProblem};
pub use proof::edge_header;
pub use search::{Prices, Step};
pub use verdict::{EdgeClaim, EdgeReason, EdgeResult, Edges};
