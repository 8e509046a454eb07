//! Executions in floating point, drawn from the description of a network: what `docs/guarantee.md` allows, at random and in
//! the worst direction, compared with error bounds, verdicts and accepted proofs.
//!
//! | module | what |
//! |---|---|
//! | [`mod@format`] | numbers with significands of so many bits |
//! | [`sum`] | sums, in every order and grouping |
//! | [`execution`] | one execution of a described network |
//! | [`program`] | a case as the program sees it |
//! | [`compare`] | what an execution shows to be wrong |
//! | [`look`] | error bounds and verdicts, compared with executions |
//! | [`attack`] | own, tampered and forged proofs |

pub mod attack;
pub mod compare;
pub mod execution;
pub mod format;
pub mod look;
pub mod program;
pub mod sum;
