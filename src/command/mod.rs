//! The command line: one file per command.

pub mod certify;
pub mod check;
pub mod demo;
pub mod effort;
#[cfg(feature = "laboratory")]
pub mod export;
pub mod input;
pub mod inspect;
pub mod proofs;
pub mod radius;
pub mod run;
pub mod summary;
#[cfg(feature = "laboratory")]
pub mod validate;
