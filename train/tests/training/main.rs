//! Robust training: gradients against differences, and training as a whole.
#![allow(missing_docs)]

#[path = "../../../tests/common/mod.rs"]
mod common;

mod gradients;
mod trainer;
