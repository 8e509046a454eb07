//! Edges that are removed, inserted or both, in networks of any depth, directed or not (docs/math.md §24).
//!
//! Every margin is that of the changed graph itself, in floats rounded outward or exactly. Sets of changes are listed
//! where they are few; else what each change can do is carried from layer to layer, prices bound what a set can do, and
//! what is not decided is split.

mod among;
mod balls;
mod beam;
mod beside;
pub(super) mod carried;
mod climb;
pub(crate) mod decide;
mod ends;
mod entries;
pub(super) mod flipped;
mod insertions;
mod lists;
mod matchings;
pub(super) mod menu;
mod minimum;
mod pairs;
pub(crate) mod prices;
mod quick;
pub(super) mod search;
mod sets;
mod slopes;
mod sorted;
pub(super) mod span;
pub(crate) mod stack;
mod tops;
mod trial;
mod units;
pub(super) mod world;
