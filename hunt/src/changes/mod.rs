//! Removed and inserted edges, directed or not, in networks of one to five layers: small graphs, all admissible changes
//! listed exactly.
//!
//! | module | what |
//! |---|---|
//! | [`case`] | a case as plain data, and its generator: isolated nodes, ties, zero and huge budgets |
//! | [`truth`] | the network on a changed graph in exact numbers, and the smallest margins over all admissible sets |
//! | [`keep`] | the files of a finding |
//! | [`look`] | what the program says, compared; its own proofs, and tampered and forged ones under its own and other headers |

pub mod case;
pub mod keep;
pub mod look;
pub mod truth;
