//! The search: the optimum of the relaxation by column generation, and the exact worst case by branch and price
//! (docs/math.md §6, §7).

pub(crate) mod branch_and_price;
mod branch_bounds;
mod branching;
mod column_generation;
mod cuts;
mod finish;
pub mod layered;
mod linear;
pub(crate) mod listing;
pub(crate) mod local;
pub mod master;
pub mod optimum;
pub(crate) mod pair;
pub(crate) mod pair_search;
mod point;
mod price;
mod separation;
pub(crate) mod trace;
pub mod tree;

pub use crate::problem::limits;
pub use column_generation::Master;
