//! One attack for the whole graph: how many predictions a single perturbation can break at most, and one that breaks many (docs/math.md §20).

mod attack;
pub mod base;
pub mod curve;
pub mod dual;
pub mod families;
mod listing;
mod polytope;
pub mod program;
pub mod replay;
pub mod row;
pub mod solver;
mod state;
pub mod weights;
