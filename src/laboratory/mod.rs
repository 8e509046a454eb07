//! The laboratory: every number of a class pair (math §2) by independent means, and whether they are in order.
//!
//! [`measurement`] computes the numbers of a target's class pairs, [`pair`] is a row of them, [`chain`] checks that they
//! stand in the order `g ≤ m̂ ≤ m̃ ≤ m ≤ witness`, [`report`] counts, [`histogram`] and [`svg`] show the gaps,
//! and [`hunt`] looks for small networks on which a theorem of the paper fails.

pub mod chain;
pub mod histogram;
pub mod hunt;
pub mod measurement;
pub mod pair;
pub mod report;
pub mod shrink;
pub mod svg;
