//! Searches for small problems on which gcnproof or its checker is wrong.
//!
//! | module | what |
//! |---|---|
//! | [`random`], [`numbers`], [`shapes`], [`ties`], [`generate`] | makes cases: many small components with one model |
//! | [`case`], [`operator`], [`variant`] | a case as plain data |
//! | [`exact`], [`network`], [`scale`], [`truth`], [`solve`] | what is true, by brute force |
//! | [`tested`], [`compare`], [`stage`], [`binary`] | what the program says, compared |
//! | [`claim`], [`mutate`], [`present`], [`ring`], [`attack`], [`made`] | proofs of false things |
//! | [`hints`], [`rules`], `bends`, [`evaluate`], [`judge`], [`climb`], [`forge`] | the rules of the format, evaluated independently |
//! | [`finding`], [`shrink`], [`keep`] | what was found, made small and kept |
//! | [`area`], [`record`] | what is attacked, its counts, and findings kept as they were found |
//! | [`terms`], [`edges`], [`changes`], [`joint`], [`ranges`], [`collective`], [`deployed`], [`moved`], [`questions`] | the other areas, each with a generator, a brute force and attacks |
//! | [`resources`] | small files with large costs |
//! | [`hunt`] | all of it, until stopped |

// Fields whose names say all need no sentence that repeats them.
#![allow(missing_docs)]

pub mod area;
pub mod attack;
mod bends;
pub mod binary;
pub mod case;
pub mod changes;
pub mod claim;
pub mod climb;
pub mod collective;
pub mod compare;
pub mod deployed;
pub mod edges;
pub mod evaluate;
pub mod exact;
pub mod finding;
pub mod forge;
pub mod generate;
pub mod hints;
pub mod hunt;
pub mod joint;
pub mod judge;
pub mod keep;
pub mod made;
pub mod moved;
pub mod mutate;
mod nested;
pub mod network;
pub mod numbers;
pub mod operator;
pub mod present;
pub mod questions;
pub mod random;
pub mod ranges;
pub mod record;
pub mod resources;
pub mod ring;
pub mod rules;
pub mod scale;
pub mod shapes;
pub mod shrink;
pub mod solve;
pub mod stage;
pub mod terms;
pub mod tested;
pub mod ties;
pub mod tight;
pub mod truth;
pub mod variant;
