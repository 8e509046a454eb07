//! placeholder front page
pub mod anchored;
pub mod attribute;
pub mod bounds;
pub mod budget;
pub mod certifier;
pub mod dual;
pub mod dyadic;
pub mod exact;
pub mod forward;
pub mod graph;
pub mod model;
pub mod rounding;
pub mod selection;
pub mod slice;
pub mod verdict;
pub mod witness;
