//! The ids of what a proof speaks of, as its lines write them. All count from 0, except layers, which count from 1.

/// `[node, attribute]`.
pub type Flip = (u32, u32);

/// `[i, j]` with `i < j`.
pub type Edge = (u32, u32);

/// `(layer, node, unit)`.
pub type Unit = (u32, u32, u32);

/// `(node, unit)` of layer 2.
pub type Cell = (u32, u32);
