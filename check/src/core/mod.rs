//! The core: it alone defines what is accepted (`FORMAT.md` §1, §3 to §5).
//!
//! Every number is a dyadic integer. Hints come from a file or from the expansion and are not trusted: each rule holds for
//! any of them.

pub mod budget;
pub mod dyadic;
pub mod forward;
pub mod hints;
pub mod leaf;
pub mod loss;
pub mod network;
pub mod select;
pub mod slice;
pub mod tree;
