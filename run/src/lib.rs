//! Runs of gcnproof without a command line: a graph and a network in, rows and proofs out.
//!
//! A [`Run`](run::Run) says where rows go, continues an interrupted run, and hands every row to its file as soon as it
//! is done. The program around it is its [`Host`](host::Host): it is told of progress and notes, and says when to stop.
//! A [`NodeQuestion`](question::NodeQuestion) asks for verdicts or radii, whatever the attacker ([`flips`], [`edges`]);
//! [`collective_run`], [`training`], [`study`] and [`page`] are the other runs. Nothing here prints, parses arguments,
//! or belongs to the whole process.

// What is said goes to the host.
#![deny(clippy::print_stdout, clippy::print_stderr)]

pub mod budgets;
mod collective_proofs;
pub mod collective_run;
pub mod deployed;
pub mod edges;
pub mod effort;
pub mod flips;
pub mod host;
pub mod ids;
pub mod input;
pub mod joint;
pub mod known_radii;
pub mod lists;
pub mod ours;
pub mod outputs;
pub mod page;
pub mod parts;
pub mod proofs;
pub mod question;
pub mod radius;
pub mod reproduction;
pub mod run;
pub mod sample;
pub mod scope;
mod side_by_side;
pub mod study;
pub mod study_run;
pub mod told;
pub mod training;

pub use collective_proofs::Folder;
