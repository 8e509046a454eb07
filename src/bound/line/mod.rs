//! Lines and other functions under the contribution of one hidden unit.

pub mod anchored;
pub mod capped;
pub mod chord;
pub mod envelope;
