//! The core of the checker: the rules that define what is accepted, in dyadic integers (`FORMAT.md` §4, §5).

pub mod admissible;
pub mod dyadic;
pub mod forward;
pub mod leaf;
pub mod loss;
pub mod select;
pub mod tree;
