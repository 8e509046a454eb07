//! Rows of 0/1 attributes that are divided by their sums, and one-hot attributes whose categories are replaced: the
//! problem of one target and one pair of classes, its MILP, and the ILP and the LP that relax it.
//!
//! The attacker makes at most `q_n` changes in row `n` and at most `Q` in all; the entries of a row may depend on how
//! many ones it has then (docs/math.md §21). Asked is the smallest margin.

mod instance;
mod program;

pub use instance::{RowChange, RowInstance};
pub use program::{RowModel, mixed_program};
