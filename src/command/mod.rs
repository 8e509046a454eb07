//! The command line: one file per command.

pub mod certify;
pub mod demo;
pub mod effort;
#[cfg(feature = "laboratory")]
pub mod export;
pub mod input;
pub mod inspect;
pub mod radius;
pub mod reproduce;
pub mod run;
pub mod summary;
pub mod train;
#[cfg(feature = "laboratory")]
pub mod validate;
