//! Robust training: networks that can be proved robust (docs/math.md §9, `docs/training.md`).
//!
//! [`trainer`] runs the iterations of a [`schedule`]: each evaluates an [`objective`] – cross entropy through a
//! [`pass`] of the true network, certificates of a [`batch`] through [`activation`] bounds and a [`relaxation`] – and
//! its [`gradient`], and takes a step of [`adam`]. Beside plain GCNs it trains modules of PyTorch Geometric of another
//! [`kind`] or with skip connections. Networks are sums of terms with and without activation, so that the
//! same pass serves modules that are trained elsewhere. A certificate's formulas and their reverse stand side by side;
//! only layers' dense weights live in f64, written in single precision. Rounding needs no bookkeeping here: what is
//! trained is judged by the certifier afterwards.
//!
//! Every sum is reduced in an order of its own, never in that of the threads, and [`random`] has no state: one seed
//! gives one model.

pub mod activation;
pub mod adam;
pub mod batch;
mod categories;
pub mod checkpoint;
pub mod error;
pub mod evaluation;
mod first_hidden;
pub mod fit;
mod flipped_rows;
pub mod gradient;
pub mod kind;
pub mod log;
pub mod losses;
mod module;
mod normalised_rows;
pub mod objective;
pub mod pass;
pub mod published;
pub mod random;
pub mod receptive_field;
pub mod relaxation;
pub mod schedule;
pub mod settings;
pub mod split;
mod start;
mod top_flips;
pub mod trainer;
pub mod unit;
