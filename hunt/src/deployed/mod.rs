//! Executions in float32, drawn from the description of a network: what `docs/guarantee.md` allows, at random and in
//! the worst direction, compared with error bounds, verdicts and accepted proofs.
//!
//! | module | what |
//! |---|---|
//! | [`sum`] | sums in float32, in every order and grouping |
//! | [`execution`] | one execution of a described network |
//! | [`program`] | a case as the program sees it |
//! | [`look`] | error bounds and verdicts, compared with executions |
//! | [`attack`] | own, tampered and forged proofs |

pub mod attack;
pub mod execution;
pub mod look;
pub mod program;
pub mod sum;
