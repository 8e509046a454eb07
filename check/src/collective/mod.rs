//! Proofs about one attack for the whole graph (`FORMAT-COLLECTIVE.md`): reading, and the rules that define what is accepted.
//!
//! | module | what |
//! |---|---|
//! | [`mod@format`] | the lines of a file |
//! | `statement` | what header, graph and model mean, and which predictions count |
//! | `weights` | the weights of flips by a share line: exactly, or not below that from floats rounded outward |
//! | `limit` | which flips need a closer look than Cauchy and Schwarz |
//! | `size` | the sizes of flips, from their weights |
//! | `worth` | what all share lines add up to for every flip, and the sum that bounds the number of broken predictions |
//! | `checker` | one line, and the claim |

mod checker;
pub mod format;
mod limit;
mod size;
mod statement;
mod weights;
mod worth;

pub(crate) use checker::Checker;
pub use checker::{Shown, show};
pub use statement::Statement;

/// Shares are integers in units of 2⁻²⁴; this is 1.
pub const ONE: u32 = 1 << 24;
