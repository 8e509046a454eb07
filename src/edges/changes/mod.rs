//! Edges that are removed, inserted or both, in networks of any depth, directed or not (docs/math.md §22).
//!
//! Every margin is that of the changed graph itself, in floats rounded outward or exactly. Sets of changes are listed where they are few; else what each
//! change can do is carried from layer to layer, prices bound what a set can do, and what is not decided is split.

mod carried;
mod decide;
mod entries;
mod menu;
mod prices;
mod search;
mod span;
mod stack;
mod world;

pub(crate) use decide::{Asked, Decided, decide};
pub use prices::ChangePrices;
pub(crate) use stack::Stack;
