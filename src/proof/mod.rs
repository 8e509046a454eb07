//! Proofs: what a verdict rests on, written down so that anyone can check it (math §8, `check/FORMAT.md`).
//!
//! The certifier keeps, for every class pair that it settles, the multipliers of the bound that settled it, or the tree of a
//! search with the multipliers of its leaves. Multipliers are rounded to the coarsest grid on which the bound stays
//! positive by our own evaluation: any admissible multipliers give a valid bound, so that costs tightness only.

mod error;
mod file;
mod leaf;
mod mend;
mod statement;

pub use error::ProofError;
pub use file::ProofFile;
pub use statement::{header, line, model_file};

use gcnproof_check::format::{Claim, ClassProof, Leaf, Step, Witness};

use crate::cascade::Pair;
use crate::rounding::Enclosure;
use crate::verdict::{NodeResult, Verdict};

/// What a verdict rests on.
#[derive(Clone, Debug, PartialEq)]
pub struct Evidence {
    /// The claim with its proof, or why there is none.
    pub claim: Result<Claim, &'static str>,
    /// Is some bound within reach of rounding, so that a checker with grids of its own may not reproduce it? Then the
    /// checker is asked before the proof is written.
    pub doubtful: bool,
}

/// Why one class stays below the reference.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Grounds {
    /// Preorder, as in the format.
    pub(crate) tree: Vec<Step>,
    /// See [`Evidence::doubtful`].
    pub(crate) doubtful: bool,
}

impl Grounds {
    /// One bound over everything.
    pub(crate) fn leaf(leaf: Leaf, doubtful: bool) -> Grounds {
        Grounds { tree: vec![Step::Leaf(Box::new(leaf))], doubtful }
    }

    /// Both relaxations at their default multipliers: the defaults of the format, or those of the dual from a layer up.
    pub(crate) fn default_from(dual: Option<u32>, doubtful: bool) -> Grounds {
        Grounds::leaf(Leaf { dual, ..Leaf::default() }, doubtful)
    }
}

/// How far above its rounding error a bound must be so that the checker's slopes, multiples of `2⁻⁴⁰`, surely keep it
/// positive. An error is at least some `2⁻⁵³` of all terms, and `2⁻⁴⁰/2⁻⁵³ ≈ 10⁴`.
const CLEAR: f64 = 1e5;

/// Is a bound so near zero that another rounding may lose it?
pub(crate) fn is_doubtful(bound: Enclosure) -> bool {
    // Where rounding left no number, a comparison is false.
    let clear = bound.value > CLEAR * bound.error;
    !clear
}

impl Evidence {
    /// What the pairs of a node show.
    pub(crate) fn new(result: &NodeResult, pairs: &[Pair], breaks: Option<&Pair>) -> Evidence {
        match (result.verdict, breaks) {
            (Verdict::Robust, _) => {
                let grounds = pairs.iter().map(|pair| {
                    let grounds = pair.grounds.clone()?;
                    Ok((ClassProof { class: pair.class as u32, tree: grounds.tree }, grounds.doubtful))
                });
                match grounds.collect::<Result<Vec<_>, &'static str>>() {
                    Ok(grounds) => {
                        let doubtful = grounds.iter().any(|one| one.1);
                        let trees = grounds.into_iter().map(|one| one.0).collect();
                        Evidence { claim: Ok(Claim::Robust(trees)), doubtful }
                    }
                    Err(missing) => Evidence { claim: Err(missing), doubtful: false },
                }
            }
            (Verdict::NonRobust, Some(pair)) => {
                let flips = result.witness.iter().map(|&flip| flip.into()).collect();
                let witness = Witness { class: pair.class as u32, flips };
                Evidence { claim: Ok(Claim::NonRobust(witness)), doubtful: false }
            }
            _ => Evidence { claim: Err("the node is undecided"), doubtful: false },
        }
    }
}
