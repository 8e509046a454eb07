//! The core of the checker: the rules that define what is accepted, in dyadic integers (`FORMAT.md` §4, §5).

pub mod admissible;
mod base;
pub mod forward;
pub mod leaf;
pub mod loss;
pub mod nested;
pub mod path;
pub mod range;
mod row_loss;
pub mod rows;
pub mod scope;
pub mod select;
pub mod tree;
