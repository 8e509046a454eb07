//! Proofs against removed edges (`FORMAT-EDGES.md`): reading, and the rules that define what is accepted.
//!
//! | module | what |
//! |---|---|
//! | [`mod@format`] | the lines of a file |
//! | `statement`, `budget`, `rule`, `network` | what header, graph and model mean |
//! | `ground`, `state`, `tree` | relevant edges of a target, what a path decides about them, and how a tree covers all sets |
//! | `number` | exact numbers, and floats rounded outward: the rules below are written once, for both |
//! | `scene`, `share`, `reach`, `anchor`, `bound` | the bound of a leaf with prices |
//! | `margin` | the true network after some removals: witnesses, and leaves that are listed |
//! | `cost` | what a leaf takes, before it is looked at |
//! | `checker` | which of the two kinds of numbers judges |

mod anchor;
mod bound;
mod budget;
mod checker;
mod cost;
pub mod format;
mod ground;
mod margin;
mod network;
mod number;
mod reach;
mod rule;
mod scene;
mod share;
mod state;
mod statement;
mod tree;

pub use crate::ids::Edge;
pub(crate) use budget::{Budget, neighbours};
pub use checker::Checker;
pub use statement::Statement;
