//! Referee 2 of gcnproof: the proof format and its checker.
//!
//! A *proof* shows that no admissible perturbation of the node attributes changes the class of a node (a tree of splits
//! with a positive bound at each leaf), or that one does (a witness). The bound of a leaf comes from hints, to which a few rules are
//! applied that hold for any hints. This crate shares no numerical code with the program that found the proof, trusts no solver and
//! searches for nothing. `FORMAT.md` defines the format and proves that what is accepted is true.
//!
//! The network is the one in exact real arithmetic whose weights, biases and message-passing entries are the stored
//! floats; or, where the header says so, every execution of it in floating point.
//!
//! | module | what | to be trusted |
//! |---|---|---|
//! | [`collective`] | proofs about one attack for the whole graph: their lines, the rules, and a whole file | yes |
//! | [`edges`] | proofs against removed edges: their lines, and the rules in both kinds of numbers | yes |
//! | `core` | the rules in dyadic integers: it alone defines what is accepted | yes |
//! | `rounding` | errors of the network as it runs, in dyadic integers: what a margin must exceed where the statement is about executions | yes |
//! | `statement` | what graph, model and header mean: network, operators, budget, slice | yes |
//! | [`mod@format`], `header`, `hints`, `token`, `strict`, `lines` | the lines of a file, read as the format allows them | yes |
//! | `directed` | floats with their direction in the type | without `--exact` |
//! | `fast` | the rules on hints from floats, rounded outward: accepts sooner what the core would accept | without `--exact` |
//! | `short`, `expand` | short leaves, and how they become hints | no |
//! | `checker`, `stream`, `summary` | which leaf is judged by what, a whole file, and what became of it | yes |
//! | [`work`] | what a check may cost, and meters that compare what is about to be done | no |
//! | `verified` | hands proofs to the checker that is proved correct (`verified/`), and the statement with them | where that is used |
//! | `question` | what is asked, and which claims of a file answer it | where something is asked |
//! | `report`, `rewrite`, `source` | how results are shown, files written out as hints, files that are none of proofs | no |
//!
//! With `--exact` a reader needs to trust `FORMAT.md`, the modules marked "yes", `gcnproof-files`, serde and the big integers of dashu.

mod checker;
pub mod collective;
mod core;
mod directed;
pub mod edges;
mod expand;
mod fast;
pub mod format;
mod header;
mod hints;
mod lines;
mod question;
mod reason;
mod report;
mod rewrite;
mod rounding;
mod short;
mod source;
mod statement;
mod stream;
mod strict;
mod summary;
mod token;
mod verified;
pub mod work;

pub use checker::{Checker, Fault, Session, Verdict};
pub use core::dyadic::Dyadic;
pub use core::leaf::Path;
pub use core::tree::{LARGEST_TREE, LONGEST_PATH};
pub use directed::{Down, Interval, Up};
pub use lines::LONGEST_LINE;
pub use question::{Attack, Execution, Question, RULES, Value, WORDS, Word, Words, read_rules};
pub use reason::Reason;
pub use report::visible;
pub use rewrite::{Expanded, expand, expand_file};
pub use rounding::usual_error;
pub use source::open_proofs;
pub use statement::{Decided, Flip, Statement, matrix_digest};
pub use stream::{Options, check};
pub use summary::{Collective, Rejection, Stated, Summary};
pub use verified::{Judge, SideBySide, find_program, verify};
