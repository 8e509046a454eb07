//! Exact robustness verification of graph convolutional networks.
//!
//! # The problem
//!
//! A graph convolutional network with weight layers `l = 1 … L−1` computes, from binary node attributes
//! `X ∈ {0,1}^{N×D}`,
//!
//! ```text
//! Ĥ(l+1) = A(l) H(l) W(l) + b(l),     H(l) = max(Ĥ(l), 0) for l = 2 … L−1,     H(1) = X
//! ```
//!
//! and predicts for node `t` the class with the largest logit `Ĥ(L)_t`. An attacker may flip entries of `X`: at most
//! `Q` in all and at most `q_n` in the row of node `n`. For the class `y*` and every other class `y` we ask for
//!
//! ```text
//! m(y*, y) = min over admissible X̃ of Ĥ(L)_{t,y*}(X̃) − Ĥ(L)_{t,y}(X̃)
//! ```
//!
//! A node is **robust** if `m(y*, y) > 0` for every `y ≠ y*`, and a perturbation with margin `≤ 0` (`= 0` is a tie) is
//! a **witness** that it is not.
//!
//! # A program
//!
//! ```
//! use gcnproof::{Budget, Certifier, Problem, Verdict};
//!
//! let (graph, network) = gcnproof::embedded::cora();
//! let budget = Budget::uniform(&graph, 12, 14); // Q = 12 flips in all, q = 14 per node
//! let certifier = Certifier::builder(Problem::new(graph, network, budget)?).build();
//! let results: Vec<_> = certifier.certify([163, 306])?.collect();
//! assert_eq!(results[0].verdict, Verdict::Robust);
//! assert_eq!(results[1].verdict, Verdict::NonRobust);
//! println!("flip these {} entries: {:?}", results[1].witness.len(), results[1].witness);
//! # Ok::<(), gcnproof::ProblemError>(())
//! ```
//!
//! # Which network is certified, and what a verdict rests on
//!
//! The network in **exact real arithmetic** whose weights, biases and message-passing entries are the stored floats
//! (every float is a dyadic rational). All work is done in f64 with a proven bound on the rounding error; what lies
//! inside its error is evaluated in dyadic integers before anything is said. `docs/math.md` has the formulas with their
//! proofs, and the code cites them by number.
//!
//! # The parts
//!
//! [`Problem`] puts a [`Graph`], a [`Network`] and a [`Budget`] together. [`Certifier`] decides nodes: [`Bound`] says
//! which bounds are evaluated, [`Effort`] how far it goes, [`Limits`] when a search gives up. A [`NodeResult`] has the
//! [`Verdict`], its [`Reason`], the [`Margin`] of every class pair and the flips of a witness. [`radii`] finds the
//! largest certified `Q` of each node, and [`explain()`] says what a verdict rests on, and [`collective`] asks for one
//! attack on all nodes. [`proof`] writes proofs that `gcnproof-check` checks. Other crates stand on this one:
//! `gcnproof-results` has tables of rows, `gcnproof-report` a page of figures, `gcnproof-train` robust training,
//! `gcnproof-laboratory` measurements by independent solvers, `gcnproof-run` whole runs and `gcnproof-cli` the program.
//! `ARCHITECTURE.md` says where to find what.
//!
//! # Panics and errors
//!
//! What a user can cause is a `Result`. A panic is a broken contract inside this crate, and a bug.

mod bound;
mod certify;
pub mod collective;
mod deployed;
pub mod edges;
mod explain;
mod number;
mod problem;
pub mod proof;
mod ranges;
mod search;

pub use certify::attacker::{Attacker, Grounded, Grounds, Words};
pub use certify::certifier::{Certifier, CertifierBuilder, Results};
pub use certify::contradiction::{Contradiction, Subject};
pub use certify::decide::Decide;
pub use certify::deployment::{Deployed, DeployedVerdict};
pub use certify::radius::{Radius, radii};
pub use certify::settings::{Bound, Effort, Margins};
pub use certify::verdict::{FlipDetails, Flips, Margin, Minimum, NodeResult, Reason, Verdict};
pub use deployed::execution::Execution;
pub use explain::{Explanation, explain};
pub use nalgebra;
pub use problem::budget::{Budget, BudgetError, Direction, LocalBudget};
pub use problem::embedded;
pub use problem::flip::Flip;
pub use problem::graph::{Graph, GraphError};
pub use problem::matrix::{MatrixError, Weights};
pub use problem::network::{Layer, Network, NetworkError, Operator};
pub use problem::ranges::{RangeError, Ranges};
pub use problem::{Problem, ProblemError};
pub use search::limits::{Limits, Stop};
pub use sprs;

/// The folders of this crate ("rooms"), for the crates above it and for tests. Nothing here is promised to stay.
#[doc(hidden)]
pub mod internals {
    macro_rules! rooms {
        ($($room:ident)*) => { $(pub mod $room { pub use crate::$room::*; })* };
    }
    rooms!(bound certify collective deployed explain number problem search);
}
