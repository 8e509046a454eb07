//! Results files: tables of rows, one per node or pair, as Parquet, JSON lines or CSV; [`record`] has the rows that
//! gcnproof writes.
//!
//! The three formats have the same columns under the same names; [`Format::from_path`] chooses by
//! extension. A row is any `T: Serialize + DeserializeOwned` whose fields are the columns of a
//! schema (a slice of [`Column`]). Long runs write through a [`Journal`], which survives `kill -9`
//! and can be resumed.
//!
//! Every finite float comes back with the same bits in all three formats. What else a format cannot
//! hold:
//!
//! * JSON has no infinities and no NaN: in JSON lines, and in the JSON cells of CSV, they are
//!   `null`, and `null` is what is read back: `None` in an `Option<f64>`, NaN (no number is known)
//!   in an `f64`, never a guessed infinity. Plain CSV cells hold `inf`, `-inf` and `NaN`; Parquet
//!   holds all of them.
//! * In Parquet a [`Kind::Float`] column has no nulls: a null becomes NaN there.
//! * CSV cannot tell an empty [`Kind::OptionalText`] from a null: both are an empty cell, which is
//!   read as null.
//!
//! (An `f64` under `#[serde(flatten)]` cannot take a null: serde buffers such fields without asking
//! for their type.)

mod cell;
mod column;
pub mod contents;
mod disk;
mod error;
mod format;
mod from_cell;
mod into_cell;
mod journal;
mod parquet;
pub mod record;
mod sidecar;
mod table;
#[cfg(test)]
mod tests;
mod text;

pub use column::{Column, Kind, of_graphs};
pub use disk::replace;
pub use error::ResultError;
#[doc(hidden)]
pub use error::unwritable;
pub use format::Format;
pub use gcnproof::proof::Mode;
pub use journal::Journal;
pub use sidecar::{Sidecar, is_being_written};
pub use table::{read, write};
