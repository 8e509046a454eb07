//! Proofs: what a verdict rests on, written down so that anyone can check it (docs/math.md §8, `check/FORMAT.md`).
//!
//! The certifier keeps, for every class pair that it settles, the multipliers of the bound that settled it, or the tree
//! of a search with the multipliers of its leaves. Multipliers are rounded to the coarsest grid on which the bound
//! stays positive by our own evaluation: any admissible multipliers give a valid bound, so that costs tightness only.

mod error;
mod file;
mod join;
pub(crate) mod leaf;
mod line;
mod mend;
mod missing;
mod mode;
mod statement;
mod whole;

pub use error::ProofError;
pub use file::{ProofFile, is_proofs};
pub(crate) use join::renamed;
pub use join::{Member, join_proofs, read_header};
pub use line::{FileHeader, Part};
pub(crate) use mend::mended;
pub use missing::Missing;
pub use mode::Mode;
pub(crate) use statement::{Shown, line, local, passing, ranged_line, short};
pub use statement::{header, model_file, rule_name, rule_names};
pub use whole::write_collective;

use gcnproof_check::format::{Claim, Leaf, Step};

use crate::number::rounding::Enclosure;

/// What a verdict rests on.
#[derive(Clone, Debug, PartialEq)]
pub struct Evidence {
    /// The claim with its proof, or why there is none.
    pub claim: Result<Claim, Missing>,
    /// Why some tree is not that of the bound that settled its class, if so.
    pub missing: Option<Missing>,
}

/// Why one class stays below the reference: a tree in preorder, as in the format.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PairProof(pub(crate) Vec<Step>);

impl PairProof {
    /// One bound over everything.
    pub(crate) fn leaf(leaf: Leaf) -> PairProof {
        PairProof(vec![Step::Leaf(Box::new(leaf))])
    }
}

/// By how many rounding errors a bound must exceed what is to be proved so that the checker's own rounding of slopes,
/// to some 46 bits, surely keeps it there. An error is at least some `2⁻⁵³` of all terms.
const CLEAR: f64 = 1e5;

/// Is a bound so near what it is to exceed that another rounding may lose it?
pub(crate) fn is_doubtful(bound: Enclosure, enough: f64) -> bool {
    // Where rounding left no number, a comparison is false.
    let clear = bound.value - enough > CLEAR * bound.error;
    !clear
}
