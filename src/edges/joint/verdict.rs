//! Verdicts about joint attacks.

use gcnproof_check::edges::format::Claim;

use crate::certify::attacker::{Attacker, Words};
use crate::certify::verdict::NodeResult;
use crate::edges::budget::Edge;
use crate::edges::joint::budget::JointBudget;
use crate::edges::verdict::EdgeReason;
use crate::problem::flip::Flip;

/// The attacker that flips attributes and changes edges. Witnesses are flips; their edges are among the details.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Joint;

/// What only results about joint attacks say.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JointDetails {
    /// The edges that the witness changes, ascending.
    pub edges: Vec<Edge>,
}

impl Attacker for Joint {
    type Budget = JointBudget;
    type Change = Flip;
    type Reason = EdgeReason;
    type Evidence = Claim;
    type Details = JointDetails;
    const WORDS: Words = Words {
        change: "flip or changed edge",
        changes: "flips and changed edges",
        things: "flips and changed edges",
        global: "Q and E",
        local: "q and e",
        relevant: "relevant_edges",
        witness: "witness",
        certified: "certified",
        attacked: "attacked",
    };
}

/// Everything said of one node about joint attacks.
pub type JointResult = NodeResult<Joint>;
