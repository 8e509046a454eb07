//! The numbers of the checker: dyadic integers, which are exact, and floats that carry their direction in their type.
//!
//! Exact numbers count for themselves what they cost (`steps`): it depends on their length, which only they know.

mod directed;
mod dyadic;
mod steps;

pub use directed::*;
pub use dyadic::Dyadic;
pub(crate) use steps::{set_steps, step, steps};
