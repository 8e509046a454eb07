//! Flips of attributes and changes of edges at once: small graphs, all admissible pairs of both listed exactly.
//!
//! | module | what |
//! |---|---|
//! | [`case`] | a case of changed edges, and what may be flipped |
//! | [`look`] | what the program says, compared; zero budgets against each attacker alone |
//! | [`proof`] | proofs tampered with and forged |

pub mod case;
pub mod look;
pub mod proof;
