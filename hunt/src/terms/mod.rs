//! Networks that a model file describes: sums of terms with skips, linear units, polynomials; flipped attributes, all admissible sets listed
//! exactly, from the description and not from the chain that the program computes with.
//!
//! | module | what |
//! |---|---|
//! | [`description`], [`case`] | a described network, and a case with one |
//! | [`generate`] | makes cases |
//! | [`operator`], [`network`], [`truth`] | brute force |
//! | [`look`] | what the program says, compared; its own proofs |
//! | [`attack`] | proofs tampered with and forged, for all who have a statement about flips |
//! | [`keep`] | files of a finding |

pub mod attack;
pub mod case;
pub mod description;
pub mod generate;
pub mod keep;
pub mod look;
pub mod network;
pub mod operator;
pub mod truth;
