//! The search: the optimum of the relaxation by column generation, and the truth by branch and price (math §6, §7).

mod arches;
pub mod deep;
mod depth;
mod feasible;
mod finish;
mod ground;
pub mod layers;
pub mod master;
pub mod optimum;
pub mod prover;
mod separation;
pub mod simplex;
pub(crate) mod trace;
pub mod tree;
