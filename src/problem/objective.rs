//! The objective that is minimised: a linear function of the target's units.

/// A linear objective over the units of the target: pairs of unit and coefficient.
pub type Objective<'a> = &'a [(usize, f64)];
