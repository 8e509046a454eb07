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
//! | [`mod@format`], `header` | the lines of a proofs file, to read and to write |
//! | `network`, `budget`, `slice` | what the files and the header mean |
//! | `number`, `interval`, `dyadic` | arithmetic |
//! | `layer2`, `reach`, `cap`, `envelope`, `activation`, `line`, `replay`, `relief`, `loss` | the bound of a leaf |
//! | `tree`, `problem` | a whole proof |
//! | `token`, `strict`, `lines` | JSON as the format allows it, and the lines of a file |
//! | `expect` | what a file must state and prove |
//! | `stream`, `summary`, `report` | a whole file, and what became of it |
//!
//! A reader who wants to trust a verdict needs to trust `FORMAT.md` and these modules, `gcnproof-files`, serde
//! and the big integers of dashu.

mod checker;
mod core;
mod directed;
mod expand;
mod expect;
mod fast;
pub mod format;
mod header;
mod lines;
mod operator;
mod reason;
mod report;
mod rewrite;
mod short;
mod stream;
mod strict;
mod summary;
mod token;

pub use checker::{Checker, Fault, Session, Statement, Verdict};
pub use core::budget::{Decided, Flip};
pub use core::dyadic::Dyadic;
pub use core::leaf::Path;
pub use core::tree::{LARGEST_TREE, LONGEST_PATH};
pub use directed::{Down, Interval, Up};
pub use expect::{Expectations, Nodes};
pub use lines::LONGEST_LINE;
pub use operator::matrix_digest;
pub use reason::Reason;
pub use report::visible;
pub use rewrite::{Expanded, expand, expand_file};
pub use stream::{Options, check};
pub use summary::{Rejection, Summary};
