//! Attributes that are numbers and are moved within ranges: the problem of one target and one pair of classes, its
//! MILP, and the LP that relaxes it.
//!
//! The attacker moves at most `q_n` entries of row `n` and at most `Q` in all, each to any value of its range. Asked is
//! the smallest margin (docs/math.md §25).

mod instance;
mod program;

pub use instance::RangeInstance;
pub use program::{RangeModel, mixed_program};
