//! The program `gcnproof` from the outside, as a user runs it.
#![allow(missing_docs)]

#[path = "../../../tests/common/mod.rs"]
mod common;

mod collective;
mod collective_laboratory;
mod collective_report;
mod command_line;
mod deployed;
mod errors;
mod graphs;
mod laboratory;
mod numbers;
mod parts;
mod proofs;
mod report;
mod statements;
mod training;
mod verified;
mod words;

use std::process::{Command, Output};

/// Runs the program in the folder of this crate.
fn gcnproof(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_gcnproof")).args(arguments).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
