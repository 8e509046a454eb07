//! What graph, model and matrix files contain, as plain data.
//!
//! The certifier and the independent proof checker both read their inputs through this crate, so
//! it knows file formats and nothing else: no normalisation, no forward pass, no arithmetic
//! beyond "is this entry a one". Every public type is plain data with public fields.
//!
//! ```
//! use gcnproof_files::{GraphOptions, parse_graph, write};
//! # use gcnproof_files::{GraphFile, Pattern};
//! # fn main() -> Result<(), gcnproof_files::FileError> {
//! # let two_nodes = GraphFile {
//! #     adjacency: Pattern { rows: 2, columns: 2, offsets: vec![0, 1, 2], indices: vec![1, 0] },
//! #     attributes: Pattern { rows: 2, columns: 3, offsets: vec![0, 1, 3], indices: vec![2, 0, 1] },
//! #     ..GraphFile::default()
//! # };
//! let bytes = write::graph_npz("two_nodes.npz", &two_nodes)?;
//! let graph = parse_graph("two_nodes.npz", &bytes, &GraphOptions::default())?;
//! assert_eq!(graph.adjacency.row(0), [1]);
//! assert!(graph.attributes.contains(1, 0));
//! # Ok(()) }
//! ```
//!
//! # What a file may cost
//!
//! A file is data from a stranger. It is read once (never mapped into memory, so it cannot change under a proof),
//! archives array by array, and its arrays inflate to at most [`largest_input`] bytes together, those of small files to
//! at most [`USUAL_INPUT`]. No buffer is allocated from a size that a header merely declares: buffers grow with the
//! bytes that really arrive. Rows and columns that hold nothing cost memory too, so dimensions beyond [`LARGEST_EMPTY`]
//! need entries to justify them.
//!
//! # When it fails
//!
//! Everything a file can do wrong is a [`FileError`], which names the file, the entry and the
//! remedy. Nothing panics, nothing is guessed and nothing is repaired silently: what was left out
//! or changed on request is told in `notes`.

mod archive;
mod array;
mod batch;
mod categories;
mod chain;
mod chosen;
mod content;
mod described;
mod description;
mod digest;
mod error;
mod graph;
mod header;
mod integers;
mod layers;
mod levels;
mod logits;
mod matrix;
mod model;
mod names;
mod normalisation;
mod operators;
mod part;
mod parts;
mod selection;
mod source;
mod sparse;
mod tensors;
mod triplets;
mod values;
pub mod write;

pub use categories::{Categories, CategoryChange};
pub use content::{GraphFile, GraphOptions, LayerFile, ModelFile, Precision};
pub use described::{Described, DescribedLayer, DescribedTerm, Place};
pub use digest::ids as digest_ids;
pub use digest::matrix as matrix_digest;
pub use error::FileError;
pub use graph::{parse_graph, parse_graph_or_part, read_graph, read_graph_or_part};
pub use integers::{parse_integers, read_ends, read_integers};
pub use logits::read_logits;
pub use matrix::{parse_matrix, read_array, read_matrix};
pub use model::{ModelOptions, describe_model, parse_model, parse_model_with, read_model, read_model_with};
pub use normalisation::Normalisation;
pub use part::{GraphOrPart, LongestRows, Observed, PartFile, is_part};
pub use selection::{parse_selection, read_selection};
pub use source::{LARGEST_EMPTY, USUAL_INPUT, largest_input};
pub use sparse::{DenseMatrix, Pattern, SparseMatrix};
pub use tensors::TensorSource;
pub use values::Values;
