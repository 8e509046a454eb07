//! Proofs about attributes that are numbers and are moved within ranges (`FORMAT-RANGES.md`).
//!
//! | module | what |
//! |---|---|
//! | `budget` | which changes are admissible, and whether all that are asked about are stated |
//! | `network`, `statement` | what header, graph and model mean |
//! | `path` | what splits have decided |
//! | `bound` | the bound of a leaf, and of single units |
//! | `tree` | how trees cover all changes |
//! | `forward` | the network after some changes |
//! | `checker` | accepts or rejects the proof of one node |

mod bound;
mod budget;
mod checker;
mod forward;
mod network;
mod path;
mod statement;
mod tree;

pub(crate) use budget::{RangeBudget, observed};
pub use checker::RangeChecker as Checker;
pub(crate) use checker::RangeChecker;
pub(crate) use statement::RangeStatement;
pub use statement::RangeStatement as Statement;
