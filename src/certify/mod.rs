//! The steps that decide a node, and what is said of it.

mod cascade;
pub mod certifier;
pub mod radius;
pub mod settings;
pub mod verdict;
