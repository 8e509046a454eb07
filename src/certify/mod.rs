//! The certifier: its settings, the steps that decide a node, verdicts, and the robustness radius.

mod cascade;
pub mod certifier;
pub mod radius;
pub mod settings;
pub mod verdict;
