//! The certifier: its settings, the steps that decide a node, verdicts, and the robustness radius.

mod cascade;
pub mod certifier;
mod many;
pub mod radius;
pub mod settings;
pub mod verdict;
