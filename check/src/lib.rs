//! Referee 2 of gcnproof: the proof format and its checker.
//!
//! A *proof* shows that no admissible perturbation of the node attributes changes the class of a node (a tree of splits
//! with a positive bound at each leaf), or that one does (a witness). This crate replays it in outward-rounded intervals,
//! and in exact integers where those do not decide; it shares no numerical code with the program that found the proof,
//! trusts no solver and searches for nothing. `FORMAT.md` defines the format and proves that what is accepted is true.
//!
//! The network is the one in exact real arithmetic whose weights, biases and message-passing entries are the stored
//! floats.
//!
//! | module | what |
//! |---|---|
//! | [`mod@format`] | the lines of a proofs file, to read and to write |
//! | `network`, `budget`, `slice` | what the files and the header mean |
//! | `number`, `interval`, `dyadic` | arithmetic |
//! | `layer2`, `reach`, `cap`, `envelope`, `activation`, `line`, `replay`, `relief`, `loss` | the bound of a leaf |
//! | `tree`, `problem` | a whole proof |
//! | `stream` | a whole file |
//!
//! A reader who wants to trust a verdict needs to trust `FORMAT.md` and these modules, `gcnproof-files`, the JSON parser
//! and the big integers of dashu.

mod checker;
mod core;
mod directed;
mod expand;
mod fast;
pub mod format;
mod operator;
mod reason;
mod short;
mod stream;

pub use checker::{Checker, Fault, Statement, Verdict};
pub use core::budget::Flip;
pub use core::dyadic::Dyadic;
pub use core::tree::{LARGEST_TREE, LONGEST_PATH};
pub use directed::{Down, Interval, Up};
pub use operator::matrix_digest;
pub use reason::Reason;
pub use stream::{LONGEST_LINE, Options, Rejection, Summary, check};
