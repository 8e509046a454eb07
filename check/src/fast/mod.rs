//! The fast path: short leaves expanded into hints, and judged at once in outward-rounded floats.
//!
//! Its only right is to accept sooner what the core would accept from the same hints. Every number it compares carries its direction
//! in its type ([`crate::directed`]); where it does not accept, the core decides.

mod hints;
mod leaf;
mod loss;
mod network;
mod row;
mod whole;

pub(crate) use hints::UnitPrices;
pub(crate) use leaf::{Attempt, Target};
pub(crate) use whole::Fast;
