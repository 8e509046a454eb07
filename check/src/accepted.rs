//! What the checker has accepted, as a type: who writes files of proofs asks for it.

use std::ops::Deref;

use crate::verdict::Fault;

/// Lines that the checker has accepted, or that claim nothing. Only a checker makes one of a proof:
///
/// ```compile_fail
/// use gcnproof_check::Accepted;
/// use gcnproof_check::format::{Claim, Line, NodeProof};
///
/// let proof = NodeProof { id: 0, class: 0, claim: Claim::Robust(Vec::new()) };
/// let line = Accepted(Line::Node(proof));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Accepted<L>(L);

impl<L> Accepted<L> {
    /// For checkers, and for lines that claim nothing.
    pub(crate) fn new(line: L) -> Accepted<L> {
        Accepted(line)
    }

    /// A copy of what was accepted elsewhere: a line of a finished file of proofs, or one that another machine has
    /// sent. It is not looked at again here, so nothing but such a line may be given.
    pub fn copied(line: L) -> Accepted<L> {
        Accepted(line)
    }

    /// The line as plain data.
    pub fn into_line(self) -> L {
        self.0
    }
}

impl<L> Deref for Accepted<L> {
    type Target = L;

    fn deref(&self) -> &L {
        &self.0
    }
}

/// A proof that the checker has not accepted, and the first thing that is wrong with it.
#[derive(Clone, Debug, PartialEq)]
pub struct Refused<P> {
    /// The proof as it was given.
    pub proof: P,
    /// What is wrong.
    pub fault: Fault,
}
