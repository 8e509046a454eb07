//! What becomes of a proof: a verdict, or a fault with its reason.

mod cost;
mod reason;

pub use cost::Cost;
pub use reason::Reason;

/// What an accepted proof shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// No admissible perturbation makes another class as large.
    Robust,
    /// An admissible perturbation makes another class larger.
    NonRobust,
    /// An admissible perturbation makes another class exactly as large.
    Tie,
}

/// Where a proof is wrong, and why.
#[derive(Clone, Debug, PartialEq)]
pub struct Fault {
    /// The class whose proof is wrong, if it is about one.
    pub class: Option<u32>,
    /// The node of that class's tree, counted from 0, if it is about one.
    pub step: Option<usize>,
    /// The first thing that is wrong there.
    pub reason: Reason,
}

impl From<Reason> for Fault {
    fn from(reason: Reason) -> Fault {
        Fault { class: None, step: None, reason }
    }
}
