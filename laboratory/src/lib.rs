//! The laboratory: every number of a class pair (docs/math.md §2) by independent means, and whether they are in order.
//!
//! `measurement` computes the numbers of a target's class pairs (`gcnproof_run::ours` has those that need no solver),
//! the records `pair` hold a row of them and `chain` checks that they stand in the order `g ≤ m̂ ≤ m̃ ≤ m ≤ witness`,
//! [`report`] counts, [`validation`] does all of that for a sample of nodes, [`histogram`] and [`svg`] show the gaps,
//! and `hunt` looks for small networks on which a theorem of the paper fails. `collective` lets a solver propose
//! multipliers of one attack for the whole graph.

pub mod collective;
pub mod histogram;
pub mod hunt;
pub mod instance;
pub mod measurement;
mod mixed;
pub mod ranges;
pub mod report;
pub mod rows;
mod settings;
pub mod shrink;
pub mod svg;
pub mod validation;
