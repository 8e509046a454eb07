//! Networks that a model file describes: sums of terms with skips, linear units, polynomials; flipped attributes, all
//! admissible sets listed exactly, from the description and not from the chain that the program computes with.
//!
//! | module | what |
//! |---|---|
//! | [`description`], [`case`] | a described network, and a case with one |
//! | [`generate`] | makes cases; [`graphs`]: those in which whole graphs are classified |
//! | [`operator`] | entries of operators; brute force is that of [`crate::truth`] |
//! | [`look`] | what the program says, compared; its own proofs |
//! | [`keep`] | files of a finding |

pub mod case;
pub mod description;
pub mod generate;
pub mod graphs;
pub mod keep;
pub mod look;
pub mod operator;
