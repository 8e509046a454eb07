//! Removed edges: the problem of one target and one pair of classes in a network with one hidden layer, its brute
//! force, and its MILP.
//!
//! The attacker removes edges: at most so many in all, at most `cap` at a node, none that is frozen. Entries of the
//! message passing are recomputed from the number of edges left at both ends. Asked is the smallest margin.

mod enumeration;
mod instance;
mod program;

pub use enumeration::{Worst, worst};
pub use instance::{EdgeInstance, Passing};
pub use program::{EdgeModel, mixed_program};
