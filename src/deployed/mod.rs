//! The network as it runs: what an execution in float32 is, and how far its margins are from those of the exact
//! network.

mod attributes;
pub mod error_table;
pub mod execution;
mod row;
mod term;
mod units;
