//! One attack for the whole graph: all admissible perturbations of tiny graphs are listed, and bounds, attacks and
//! proofs compared with the worst.
//!
//! | module | what |
//! |---|---|
//! | [`truth`] | how many predictions the worst perturbation breaks |
//! | [`program`] | a case as the program sees it |
//! | [`look`] | bound and attack of the program, with all ways to bound |
//! | [`attack`] | own, tampered and forged files |
//! | [`keep`] | files of a finding |

pub mod attack;
pub mod keep;
pub mod look;
pub mod program;
pub mod truth;
