//! The certifier: its settings, the steps that decide a node, verdicts, and the robustness radius.

pub mod attacker;
mod cascade;
pub mod certifier;
pub mod contradiction;
pub mod decide;
mod deployed_verdict;
pub mod deployment;
mod many;
pub(crate) mod minimal;
pub mod radius;
mod ranged;
pub mod settings;
mod shifted;
mod small_witness;
pub mod verdict;
