//! The certifier as a library: by hand, against brute force, on random problems, and bugs that once were.
#![allow(missing_docs)]

#[path = "../common/mod.rs"]
mod common;

mod accepted;
mod collective;
mod edges;
mod front_door;
mod hand_solved;
mod normalised;
mod one_layer;
mod proofs;
mod pyg;
mod radii;
mod ranges;
mod ranges_proofs;
mod reference;
mod regressions;
mod search_regressions;
mod selection;
mod terms;
