//! How much a check may cost: limits, and meters that compare with them what is about to be done.
//!
//! Costs are counted in elementary steps, a word of an integer or a float operation each, so that an outcome depends on
//! the files and the limits and not on the machine. Who does something that may be long says how many steps it takes
//! *before* doing it ([`Meter::spend`]); exact numbers count for themselves (`step`), and who computes with many of
//! them looks at the meter from time to time ([`Meter::look`]). What exceeds a limit ends as
//! [`crate::Reason::TooExpensive`]: neither accepted nor rejected.

mod limits;
mod meter;

pub use crate::verdict::Cost;
pub use limits::Limits;
pub use meter::{Meter, Steps, Work};
