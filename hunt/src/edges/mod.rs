//! Removed edges: many small components with one network of two layers, all admissible removals listed exactly.
//!
//! | module | what |
//! |---|---|
//! | [`case`] | a case as plain data |
//! | [`generate`] | makes cases in which rounding, zeros and ties occur often |
//! | [`network`] | the network after removals, in one kind of number |
//! | [`truth`] | the smallest margin of every node over all admissible removals |
//! | [`program`] | a case as the program sees it |
//! | [`look`] | what the program says, compared; its own proofs, shown to both kinds of arithmetic |
//! | [`attack`] | proofs of false things |
//! | [`keep`] | files of a finding |

pub mod attack;
pub mod case;
pub mod generate;
pub mod keep;
pub mod look;
pub mod network;
pub mod program;
pub mod truth;
