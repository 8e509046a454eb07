//! Executions on attributes that are moved within ranges: what [`crate::deployed`] allows, on the moves of
//! [`crate::ranges`], compared with error bounds, verdicts, witnesses and accepted proofs.
//!
//! | module | what |
//! |---|---|
//! | [`case`] | a network, how it runs, attributes and their ranges |
//! | [`generate`] | cases by chance |
//! | [`moves`] | admissible moves by chance |
//! | [`runs`] | exact logits and executions on moves |
//! | [`known`] | what is true of a case, as far as it is known |
//! | [`program`] | a case as the program sees it |
//! | [`look`] | verdicts, witnesses and error bounds, compared with executions |
//! | [`near`] | the same network with a margin near its error bound |
//! | [`claim`] | whether the claim of a proof may be true |
//! | [`attack`] | own, tampered and forged proofs |
//! | [`keep`] | the files of a finding |

pub mod attack;
pub mod case;
pub mod claim;
pub mod generate;
pub mod keep;
pub mod known;
pub mod look;
pub mod moves;
pub mod near;
pub mod program;
pub mod runs;
