//! Proofs against removed and inserted edges (`FORMAT-EDGES.md`): reading, and the rules that define what is accepted.
//!
//! | module | what |
//! |---|---|
//! | `line` | the lines of a file; [`mod@format`] has their short names |
//! | `statement`, `budget`, `rule`, `network` | what header, graph and model mean |
//! | `ground`, `state`, `tree` | relevant edges of a target, what a path decides of them, how trees cover all sets |
//! | `number` | exact numbers, and floats rounded outward: the rules below are written once, for both |
//! | `scene`, `share`, `reach`, `anchor`, `bound` | the bound of a leaf with prices |
//! | `margin` | the true network after some removals: witnesses, and leaves that are listed |
//! | `cost` | what a leaf takes, before it is looked at |
//! | `changes` | the rules for all that is not the removal of undirected edges with one hidden layer |
//! | `checker` | which rules apply, and which of the two kinds of numbers judges |

mod anchor;
mod bound;
mod budget;
pub(crate) mod changes;
mod checker;
mod cost;
mod ground;
mod line;
mod margin;
mod network;
mod number;
mod reach;
mod rule;
mod scene;
mod share;
mod state;
mod statement;
mod tree;

pub use crate::ids::Edge;
pub(crate) use budget::{RemovalBudget, neighbours};
pub(crate) use changes::ChangeBudget;
pub use checker::EdgeChecker as Checker;
pub(crate) use checker::EdgeChecker;
pub(crate) use line::{
    CarriedPrices, EdgeAttack, EdgeClaim, EdgeClassProof, EdgeHeader, EdgeLine, EdgeNodeProof, EdgeStep, EdgeWitness,
    FlippedLeaf, Removals, longest_header, most_candidates,
};
pub use statement::EdgeStatement as Statement;
pub(crate) use statement::{EdgeStatement, require_other_edges};

/// The lines of a file by their short names, for those who have no other kind of proofs at hand.
pub mod format {
    pub use super::line::{
        CHANGES_VERSION, Candidates, CarriedPrices, ChangeKind, Changes, EdgeAttack as Attack, EdgeClaim as Claim,
        EdgeClassProof as ClassProof, EdgeHeader as Header, EdgeLine as Line, EdgeNodeProof as NodeProof,
        EdgePrices as Prices, EdgeStep as Step, EdgeWitness as Witness, FlippedAfter, FlippedLeaf, JOINT_VERSION,
        Nothing, Removals, VERSION, longest_header,
    };
}
