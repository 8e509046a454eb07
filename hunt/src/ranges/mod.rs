//! Attributes that are moved within ranges.
//!
//! | module | what |
//! |---|---|
//! | [`case`] | a case of changed edges without changes, numbers as attributes, and their ranges |
//! | [`generate`] | cases by chance |
//! | [`truth`] | least margins over all admissible perturbations, exactly |
//! | [`look`] | what the program says, compared |
//! | [`proof`] | proofs tampered with and forged |

pub mod case;
pub mod generate;
pub mod look;
pub mod proof;
pub mod truth;
