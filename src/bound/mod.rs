//! Lower bounds of one class pair: valid for every admissible perturbation, rounding included.

pub mod activation;
pub mod attributes;
pub mod backward;
pub mod exact;
pub mod hidden;
pub mod layer_bounds;
pub mod line;
pub mod losses;
pub mod menu;
pub mod mixture;
pub mod nested;
pub(crate) mod path;
pub mod prepared;
pub mod relaxed;
mod row_selection;
pub mod row_sums;
pub mod selection;
pub(crate) mod threads;
pub mod workspace;
