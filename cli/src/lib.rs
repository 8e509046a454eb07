//! The command line: one file per command.

// Both end a program by a panic where nobody reads them any more; `output` does not.
#![deny(clippy::print_stdout, clippy::print_stderr)]

// First, because its macros are in scope only after it.
#[macro_use]
pub mod output;

pub mod budgets;
pub mod certify;
pub mod check;
pub mod collective;
mod collective_proofs;
pub mod collective_run;
mod collective_summary;
pub mod demo;
pub mod deployed;
pub mod edge_proofs;
pub mod edge_tables;
pub mod edges;
pub mod effort;
pub mod explain;
#[cfg(feature = "laboratory")]
pub mod export;
pub mod ids;
pub mod input;
pub mod inspect;
pub mod join;
pub mod known_radii;
pub mod lists;
pub mod logits;
mod minima;
pub mod partition;
pub mod parts;
pub mod program;
pub mod proofs;
mod question;
pub mod radius;
pub mod report;
pub mod reproduce;
pub mod reproduction;
pub mod run;
pub mod study;
pub mod study_run;
pub mod summary;
pub mod train;
#[cfg(feature = "laboratory")]
pub mod validate;
mod variants;
pub mod verdicts;
