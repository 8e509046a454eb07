//! One attack for the whole graph: how many predictions a single perturbation can break at most, and one that breaks
//! many (docs/math.md §20).
//!
//! ```no_run
//! use gcnproof::collective::{Collective, Settings, bases};
//! use gcnproof::{Budget, Certifier, Effort, Limits, Problem};
//!
//! let (graph, network) = gcnproof::embedded::cora();
//! let budget = Budget::uniform(&graph, 0, 14); // q = 14 per node; Q is said below
//! let nodes: Vec<usize> = (0..graph.node_count()).collect();
//! let limits = Limits { nodes: 100, ..Limits::default() };
//! let certifier = Certifier::builder(Problem::new(graph, network, budget)?).effort(Effort::Complete(limits)).build();
//! // What each node withstands by itself, up to 100 flips, and the class that it is to keep.
//! let known = bases(&certifier, &nodes, 100, || false, |_| ())?.expect("nobody stops it");
//! let known: Vec<_> = known.into_iter().map(|base| (base.clone(), certifier.predicted(base.node))).collect();
//! let outcome = Collective::new(&certifier, &known, Settings::default())?.at(100).expect("nobody stops it");
//! println!("100 flips break {} predictions, and no 100 flips more than {}", outcome.broken.len(), outcome.bound);
//! # Ok::<(), gcnproof::ProblemError>(())
//! ```

mod attack;
#[doc(hidden)]
pub mod base;
mod columns;
mod components;
mod cover;
#[doc(hidden)]
pub mod curve;
mod descent;
#[doc(hidden)]
pub mod dual;
#[doc(hidden)]
pub mod families;
mod generation;
mod kernel;
mod listing;
mod named;
mod polytope;
#[doc(hidden)]
pub mod program;
mod proof;
#[doc(hidden)]
pub mod replay;
#[doc(hidden)]
pub mod row;
#[doc(hidden)]
pub mod solver;
mod state;
mod sums;
mod weights;

pub use base::{Base, bases};
pub use curve::{Collective, CoverShare, Outcome, Settings, Share};
pub use families::{RowKind, Rows};
pub use proof::{ProofSubject, Proved};
