//! The fast path of the checker: short leaves are expanded into hints and checked at once, in floats rounded outward.
//!
//! Its only right is to accept sooner what the core would accept from the same hints. Every number it compares carries
//! its direction in its type (`number::directed`); where it does not accept, the core decides.
//!
//! The rules of `edges` are written once for both kinds of numbers, these are not. Rules 1, 2 and 6 are other
//! algorithms here, by sorted lists and norms; what is left in common is some eighty lines, and the core is easier to
//! read without a trait between it and its numbers.

mod hints;
mod leaf;
mod loss;
mod menu;
mod nested;
mod nested_loss;
mod network;
mod prices;
mod rising_price;
mod row;
mod row_bound;
mod row_loss;
mod row_menus;
mod shared;
mod shares;
mod whole;

pub(crate) use leaf::{Attempt, FastTarget};
pub(crate) use network::FastWeights;
pub(crate) use row_bound::RowBound;
pub(crate) use shared::Fast;
