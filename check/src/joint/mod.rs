//! Proofs against flips of attributes and changes of edges at once (`FORMAT-EDGES.md` §9): a tree over changes of
//! edges, as in `edges`, whose leaves hold trees over flips, which `checker` judges.
//!
//! | module | what |
//! |---|---|
//! | `statement` | what header, graph and model mean |
//! | `checker` | what is accepted |
//! | `shown` | the same written out for the verified checker |
//! | `fit` | trees over flips that suit a changed graph, for `shown` |

mod checker;
mod fit;
mod shown;
mod statement;

pub use checker::JointChecker as Checker;
pub(crate) use checker::JointChecker;
pub(crate) use shown::{MOST_SETS, ShownGroup, ShownStep};
pub(crate) use statement::JointStatement;
pub use statement::JointStatement as Statement;
