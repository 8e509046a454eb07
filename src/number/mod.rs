//! Numbers and their errors: a-priori bounds on rounding, and exact dyadic integers.

pub mod dyadic;
pub(crate) mod random;
pub mod rounding;
pub(crate) mod span;
