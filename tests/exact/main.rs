//! The certifier against brute force in exact numbers, on tiny networks with nasty weights: overflow, underflow,
//! cancellation, worst cases a rounding error away from zero.
//!
//! Nothing here shares code with what it judges. A mistake in the certifier's own exact arithmetic, its slices or its
//! order of summation would be repeated by a test that used them, and stay unseen. So the numbers are big integers of a
//! crate's making ([`number`]), the network is evaluated on the whole graph by its definition ([`truth`]), and every
//! admissible perturbation is tried. All names of the certifier that are put to the test stand in [`certifier`].
//!
//! | module | what |
//! |---|---|
//! | [`number`], [`truth`] | exact numbers, and the network in them at every admissible perturbation |
//! | [`case`], [`nasty`], [`scaled`], [`plain`], [`quantised`], [`knife_edge`] | the problems, by seed |
//! | [`verdicts`], [`radius`], [`minima`], [`branches`], [`prices`], [`proofs`], [`upper`] | what is judged |
//! | [`tally`] | counts, failures, and which seeds are run |
//!
//! `GCNPROOF_COUNT` and `GCNPROOF_FROM` choose the seeds.
#![allow(missing_docs)]

#[path = "../common/mod.rs"]
mod common;

mod branches;
mod case;
mod certifier;
mod knife_edge;
mod minima;
mod nasty;
mod number;
mod plain;
mod prices;
mod proofs;
mod quantised;
mod radius;
mod scaled;
mod tally;
mod truth;
mod upper;
mod verdicts;
