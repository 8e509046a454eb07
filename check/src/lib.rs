//! The proof format of gcnproof, and its checker.
//!
//! A *proof* shows that no admissible perturbation of the node attributes changes the class of a node (a tree of splits
//! with a positive bound at each leaf), or that one does (a witness). The bound of a leaf comes from hints, to which a
//! few rules are applied that hold for any hints. This crate shares no numerical code with the program that found the
//! proof, trusts no solver and searches for nothing. `FORMAT.md` defines the format and proves that what is accepted is
//! true.
//!
//! The network is the one in exact real arithmetic whose weights, biases and message-passing entries are the stored
//! floats; or, where the header says so, every execution of it in floating point.
//!
//! | module | what | to be trusted |
//! |---|---|---|
//! | `ids` | how flips, edges and units are written | yes |
//! | `number` | dyadic integers; floats with their direction in the type (these only without `--exact`) | yes |
//! | `verdict` | what becomes of a proof: a verdict, or a reason | yes |
//! | `accepted` | what the checker has accepted, as a type | no |
//! | [`work`] | what a check may cost, and meters that compare what is about to be done | no |
//! | [`mod@format`] | the lines of a file, read as the format allows them | yes |
//! | `statement` | what graph, model and header mean: network, operators, budget, slice | yes |
//! | `rounding` | errors of the network as it runs: what a margin must exceed for every execution | yes |
//! | `core` | the rules in dyadic integers: it alone defines what is accepted | yes |
//! | [`edges`] | proofs against removed edges: their lines, and the rules in both kinds of numbers | yes |
//! | [`ranges`] | proofs about attributes that are numbers and are moved within ranges: the rules | yes |
//! | `expand` | short leaves, and how they become hints | no |
//! | `fast` | the rules in floats rounded outward: accepts sooner what the core would accept | without `--exact` |
//! | `checker` | which leaf is judged by what | yes |
//! | [`joint`] | proofs against flips and changed edges at once: the rules | yes |
//! | [`collective`] | proofs about one attack for the whole graph: their lines, and the rules | yes |
//! | `question` | what is asked | where something is asked |
//! | `file` | a whole file: its lines one by one, what became of it, and what of it answers the question | yes |
//! | `report` | how results are shown | no |
//! | `verified` | hands statement and proofs to the checker that is proved correct | where that is used |
//!
//! A module imports only from modules above it in this table (`tests/rooms.rs` of the workspace).
//!
//! With `--exact` a reader needs to trust `FORMAT.md`, the modules marked "yes", `gcnproof-files`, serde and the big
//! integers of dashu.

mod accepted;
mod checker;
pub mod collective;
mod core;
pub mod edges;
mod expand;
mod fast;
mod file;
pub mod format;
mod ids;
pub mod joint;
mod number;
mod question;
pub mod ranges;
mod report;
mod rounding;
mod statement;
mod verdict;
mod verified;
pub mod work;

pub use accepted::{Accepted, Refused};
pub use checker::{Checker, Session};
pub use core::path::Path;
pub use file::{Collective, Expanded, Options, Rejection, Stated, Summary, check, expand, expand_file, open_proofs};
pub use format::lines::LONGEST_LINE;
pub use format::{LARGEST_TREE, LONGEST_PATH};
pub use ids::Flip;
pub use number::{Down, Dyadic, Interval, Up};
pub use question::text::visible;
pub use question::{Attack, Execution, Question, RULES, Value, WORDS, Word, Words, read_rules};
pub use rounding::usual_error;
pub use statement::{Decided, Statement, matrix_digest};
pub use verdict::{Fault, Reason, Verdict};
pub use verified::{
    ClaimSide, EdgeAnswer, EdgeJudge, JointJudge, Judge, RangeJudge, SideBySide, Told, find_program, verify,
    verify_collective,
};
