//! Runs of gcnproof without a command line: a graph and a network in, rows and proofs out.
//!
//! Nothing here prints, parses arguments, or belongs to the whole process: the command line and the Python module both
//! stand on it.

pub mod ours;
pub mod sample;
