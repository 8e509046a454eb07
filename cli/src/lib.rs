//! The command line of gcnproof: one file per command.
//!
//! `gcnproof-run` does the work of the larger commands; here are options, tables for people, and what belongs to the
//! process (standard output, threads, Ctrl-C). It is a library so that the Python module can run commands inside
//! itself. Nothing here is promised to stay.

// Both end a program by a panic where nobody reads them any more; `output` does not.
#![deny(clippy::print_stdout, clippy::print_stderr)]

// First, because its macros are in scope only after it.
#[macro_use]
pub mod output;

mod arguments;
pub mod certify;
pub mod check;
pub mod collective;
pub mod collective_summary;
mod combination;
mod complaint;
pub mod demo;
pub mod deployed;
pub mod edge_tables;
pub mod edges;
pub mod effort;
pub mod explain;
#[cfg(feature = "laboratory")]
pub mod export;
pub mod input;
pub mod inspect;
pub mod join;
pub mod logits;
mod minima;
pub mod partition;
pub mod program;
pub mod proposer;
mod question;
pub mod radius;
pub mod range_tables;
mod ranges;
pub mod report;
pub mod reproduce;
pub mod run;
mod spelling;
pub mod study;
pub mod summary;
pub mod tally;
mod told;
pub mod train;
#[cfg(feature = "laboratory")]
pub mod validate;
mod variants;
