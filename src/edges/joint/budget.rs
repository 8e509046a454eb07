//! Both budgets of a joint attack.

use crate::edges::budget::EdgeBudget;
use crate::problem::budget::Budget;

/// Flips of attributes and changes of edges that an attacker may make at the same time.
#[derive(Clone, Debug)]
pub struct JointBudget {
    /// `Q` and `q`.
    pub flips: Budget,
    /// `E` and `e`.
    pub edges: EdgeBudget,
}
