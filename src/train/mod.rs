//! Robust training: networks that can be proved robust (math §9).

pub mod activation;
pub mod adam;
pub mod checkpoint;
pub mod error;
pub mod evaluation;
mod falling;
pub mod gradient;
pub mod log;
pub mod losses;
pub mod objective;
pub mod pass;
pub mod published;
pub mod random;
pub mod reach;
pub mod relaxation;
pub mod schedule;
pub mod settings;
pub mod split;
pub mod trainer;
pub mod unit;
