//! The laboratory's programs against each other and against brute force; one program, so that it is linked once.

#![allow(missing_docs)]

mod common;

#[cfg(feature = "solvers")]
mod collective;
#[cfg(feature = "solvers")]
mod duality;
#[cfg(feature = "solvers")]
mod edges;
#[cfg(feature = "solvers")]
mod export;
#[cfg(feature = "solvers")]
mod hand_solved;
mod instances;
#[cfg(feature = "solvers")]
mod limits;
#[cfg(feature = "pure-solvers")]
mod pure_solvers;
#[cfg(feature = "solvers")]
mod random_problems;
#[cfg(feature = "solvers")]
mod reduction;
#[cfg(feature = "solvers")]
mod solvers;
