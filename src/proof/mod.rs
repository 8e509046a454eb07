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
    /// Why some tree is not that of the bound that settled its class, if so.
    pub missing: Option<&'static str>,
}

/// Why one class stays below the reference: a tree in preorder, as in the format.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Grounds(pub(crate) Vec<Step>);

impl Grounds {
    /// One bound over everything.
    pub(crate) fn leaf(leaf: Leaf) -> Grounds {
        Grounds(vec![Step::Leaf(Box::new(leaf))])
    }
}

/// How far above its rounding error a bound must be so that the checker's own rounding of slopes, to some 46 bits, surely keeps it
/// positive. An error is at least some `2⁻⁵³` of all terms.
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
        let claim = match (result.verdict, breaks) {
            (Verdict::Robust, _) => {
                let trees = pairs.iter().map(|pair| {
                    // Where no bound was kept, the checker is asked about the capped bound, and splits are added as needed.
                    let capped = || Grounds::leaf(Leaf { cap: true, ..Leaf::default() });
                    let Grounds(tree) = pair.grounds.clone().unwrap_or_else(|_| capped());
                    ClassProof { class: pair.class as u32, tree }
                });
                Ok(Claim::Robust(trees.collect()))
            }
            (Verdict::NonRobust, Some(pair)) => {
                let flips = result.witness.iter().map(|&flip| flip.into()).collect();
                Ok(Claim::NonRobust(Witness { class: pair.class as u32, flips }))
            }
            _ => Err("the node is undecided"),
        };
        let missing = pairs.iter().find_map(|pair| pair.grounds.as_ref().err().copied());
        Evidence { claim, missing: missing.filter(|_| result.verdict == Verdict::Robust) }
    }
}
