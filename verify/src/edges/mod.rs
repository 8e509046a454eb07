//! Changed edges: the problem of one target and one pair of classes in a network of any depth, its brute force, and its
//! MILP.
//!
//! The attacker inserts and removes edges: at most so many in all, at most `local` at a node, of which at most
//! `losable` are removals. Entries of the message passing are recomputed from the numbers of edges at their ends. Asked
//! is the smallest margin (docs/math.md §24).

mod enumeration;
mod instance;
mod program;

pub use enumeration::{Worst, worst};
pub use instance::{Along, Arc, Change, EdgeInstance, EdgeLayer, EdgeTerm, Passing};
pub use program::{EdgeModel, mixed_program};
