//! The certifier against brute force and independent solvers.
#![allow(missing_docs)]

#[path = "../../../tests/common/mod.rs"]
mod common;

mod brute_force;
mod collective;
mod complete;
mod deep;
mod errata;
mod histograms;
mod measurement;
mod medium;
mod ranges;
mod rows;
mod terms;
mod theorems;
mod tightness;
