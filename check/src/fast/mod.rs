//! The fast path of the checker: short leaves are expanded into hints and checked at once, in floats rounded outward.
//!
//! Its only right is to accept sooner what the core would accept from the same hints. Every number it compares carries
//! its direction in its type (`number::directed`); where it does not accept, the core decides.

mod hints;
mod leaf;
mod loss;
mod network;
mod prices;
mod row;
mod shared;
mod whole;

pub(crate) use leaf::{Attempt, FastTarget};
pub(crate) use shared::Fast;
