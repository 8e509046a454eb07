//! The checker against brute force, exact arithmetic, forged and hostile files; one program, so that it is linked once.

#![allow(missing_docs)]

#[path = "collective/world.rs"]
mod collective_world;
mod common;
#[path = "edges/world.rs"]
mod edge_world;
mod hostile;

mod bounds;
mod bytes;
mod collective;
mod deployed;
mod described;
mod edges;
mod edges_agree;
mod edges_dense;
mod envelope;
mod floats;
mod handmade;
mod joint;
mod large;
mod questions;
mod resources;
mod rows;
mod rules;
mod spelling;
mod statements;
mod tamper;
mod terms;
mod truth;
mod verified;
mod verified_collective;
mod verified_edges;
mod verified_ranges;
