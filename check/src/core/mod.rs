//! The core: it alone defines what is accepted, in dyadic integers, by rules that hold for any hints (`FORMAT.md` §4, §5).

pub mod admissible;
pub mod dyadic;
pub mod forward;
pub mod leaf;
pub mod loss;
pub mod select;
pub mod tree;
