//! The rules of `FORMAT-EDGES.md` §8: edges that are removed or inserted, directed or not, in networks of any depth.
//!
//! | module | what |
//! |---|---|
//! | `budget` | which sets of changes are admissible |
//! | `network`, `graph` | the network, and a graph after some changes |
//! | `margin` | the true network on a changed graph |
//! | `path`, `tree` | what a path decides, which changes it leaves open, how trees cover all sets |
//! | `sizes`, `moved`, `carried`, `lists` | what each change can do to each unit, and the bound of a leaf |
//! | `flipped` | what flips of attributes can do at the same time |
//! | `checker` | what is accepted |

mod budget;
mod carried;
mod checker;
mod flipped;
mod graph;
mod lists;
mod margin;
mod moved;
mod network;
mod path;
mod sizes;
mod tree;

pub(crate) use budget::ChangeBudget;
pub(crate) use carried::{Beside, effects, paid};
pub(super) use checker::ChangeChecker;
pub(crate) use checker::ChangeStatement;
pub(crate) use flipped::FlipMoves;
pub(crate) use graph::ChangedGraph;
pub(crate) use path::{ChangePath, OpenChange};
pub(crate) use sizes::Sizes;
pub(crate) use tree::walk;
