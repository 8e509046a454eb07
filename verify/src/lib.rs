//! The independent programs that `gcnproof` is compared with. The crate rebuilds the robustness problem of one target
//! and one pair of classes as explicit programs, solves them with independent solvers, and enumerates all perturbations
//! when there are few. It depends on nothing of the certifier and shares no numerical code with it.
//!
//! # The problem
//!
//! A network is a chain of weight layers, and a layer is a sum of terms, each with its own message passing and its own
//! weights:
//!
//! `Ĥ(l+1) = Σ_k A_k(l) H(l) W_k(l) + b(l)`, `H(1) = X̃`, `H(l) = max(Ĥ(l), 0)`, or `Ĥ(l)` itself at *linear* units.
//!
//! One term per layer and no linear unit is a graph convolutional network. GraphSAGE has two terms (the neighbours, the
//! node itself). A skip past a layer is a linear unit that carries a number on. `b` is one number per unit, or one per
//! node and unit. The network reads binary attributes `X̃`; an attacker may flip at most `q_n` of them in row `n` and
//! at most `Q` in all. Asked is the worst margin `m = min cᵀ Ĥ(L)(X̃)` (Zügner & Günnemann, *Certifiable Robustness …
//! for Graph Convolutional Networks*, KDD 2019, for one term per layer). Linear units are passed through exactly by
//! every program: only activations are ever relaxed, and only they need a binary.
//!
//! | number | program | built by | solved by |
//! |---|---|---|---|
//! | `m̂` | LP: relaxed `X̃`, relaxed ReLU | [`relaxation::linear_program`] | all solvers |
//! | `m̃` | ILP: binary `X̃`, relaxed ReLU | [`relaxation::integer_program`] | HiGHS |
//! | `m` | MILP: the true network | [`network::mixed_program`] | HiGHS |
//! | `m` | none | | [`enumeration::minimum`] |
//!
//! Always `m̂ ≤ m̃ ≤ m`. The paper's theorem that `m̂ = m̃` is false; here is the smallest counterexample:
//!
//! ```
//! use gcnproof_verify::{Dense, Form, Instance, Layer, Sparse, enumeration, network, relaxation};
//!
//! // One node, one attribute, two hidden units: the margin is relu(x - 1/2) + relu(1/2 - x) - 1/4.
//! let row = |values: &[f64]| Dense { rows: 1, columns: values.len(), values: values.to_vec() };
//! let one = Sparse { rows: 1, columns: 1, entries: vec![(0, 0, 1.0)] };
//! let sum = Dense { rows: 2, columns: 2, values: vec![1.0, 0.0, 1.0, 0.0] };
//! let mut instance = Instance {
//!     layers: vec![
//!         Layer::convolution(one.clone(), row(&[1.0, -1.0]), vec![-0.5, 0.5]),
//!         Layer::convolution(one, sum, vec![-0.25, 0.0]),
//!     ],
//!     dimension: 1,
//!     attributes: vec![vec![]],
//!     local_budget: vec![1],
//!     global_budget: 1,
//!     may_add: true,
//!     may_remove: true,
//!     objective: vec![1.0, -1.0],
//!     ..Instance::default()
//! };
//! instance.fill_bounds()?;
//!
//! # #[cfg(feature = "solvers")] {
//! use gcnproof_verify::solver::{Highs, Limits, Solver};
//! let lp = Highs.solve(&relaxation::linear_program(&instance, Form::Appendix)?.program, &Limits::default());
//! let ilp = Highs.solve(&relaxation::integer_program(&instance, Form::Appendix)?.program, &Limits::default());
//! let milp = Highs.solve(&network::mixed_program(&instance, Form::Appendix)?.program, &Limits::default());
//! assert!((lp.optimum().unwrap() - -0.25).abs() < 1e-9); // at x = 1/2
//! assert!((ilp.optimum().unwrap() - 0.25).abs() < 1e-9);
//! assert!((milp.optimum().unwrap() - 0.25).abs() < 1e-9);
//! assert!(lp.review.safe_bound.unwrap() <= -0.25); // proved by us, whatever the solver said
//! # }
//! assert_eq!(enumeration::minimum(&instance, 1000)?.margin, 0.25);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Where edges are changed instead, [`edges`] has the problem, its brute force and its MILP; where attributes are
//! numbers that are moved within ranges, [`ranges`] has the problem and its MILP, and [`rows`] where rows are divided
//! by their sums or categories are replaced. Where one attack is chosen for all nodes, [`collective`] has brute force
//! and the programs that bound it.
//!
//! # Whom to believe
//!
//! No solver. Each [`solver::Answer`] comes with a [`safe::Review`]: residuals recomputed, and for an LP a dual bound
//! that holds in exact arithmetic for the program as given, whatever the duals are worth. The incumbent of a MILP is
//! run through the network again ([`network::incumbent`]); the MILP's dual bound is the solver's word and marked as
//! such. A program's coefficients are products of two floats, each rounded once, and sums of them where several terms
//! read the same node, so the program is the network's up to 1e-16 of the largest product.
//!
//! # Panic or error
//!
//! What a caller's data can cause is an error or a [`solver::Status`]. A panic means a broken contract: an instance
//! that was never validated, an index outside it.
//!
//! The default feature `solvers` links HiGHS (C++). `pure-solvers` alone has minilp and Clarabel, which solve LPs in
//! pure Rust; with neither the crate has everything but solvers.

mod bounds;
pub mod collective;
pub mod dual;
pub mod edges;
pub mod enumeration;
pub mod export;
pub mod formulation;
mod instance;
mod layer;
mod matrix;
mod mixed;
pub mod network;
pub mod program;
pub mod random;
pub mod ranges;
pub mod reduction;
pub mod relaxation;
pub mod rows;
pub mod safe;
pub mod solver;
mod validity;

pub use formulation::{Form, Model};
pub use instance::{Flip, Instance};
pub use layer::{Layer, Term};
pub use matrix::{Dense, Sparse};
pub use mixed::MixedModel;
pub use program::Program;
pub use validity::{InstanceError, Place};
