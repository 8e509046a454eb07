//! Model files: the layers of a GCN, from safetensors or npz.

use crate::description::Said;
use crate::tensors::{TensorSource, Tensors};
use crate::{DenseMatrix, Described, FileError, SparseMatrix, chosen, description, digest, layers, names, source};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// One layer: a graph convolution `A H W + b` with message-passing matrix `A`, or a sum of such terms, `Σ_k A_k H W_k + b`.
#[derive(Debug, Clone, PartialEq)]
pub struct LayerFile {
    /// The weights as [in, out], whatever the file's orientation; of a layer with several terms, the matrices of its terms one
    /// below the other: (K·in) × out.
    pub weight: DenseMatrix,
    /// One number for each output, zeros if the file has no bias; or one row of them for each node, where it differs from node
    /// to node (nodes × out).
    pub bias: Vec<f64>,
    /// The operators of the terms by rule, one each; empty in a file that names none: then the layer has one term, and whoever
    /// uses the file says which operator.
    pub operators: Vec<String>,
    /// Which outputs have no activation; empty if all have one (or the layer is the last).
    pub linear: Vec<bool>,
    /// What the file calls the weights.
    pub weight_name: String,
    /// What the file calls the bias, if it has one.
    pub bias_name: Option<String>,
}

/// In which precision the file stores its numbers. All of them are exact as `f64`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Precision {
    /// All tensors have 32 bits.
    F32,
    /// All tensors have 64 bits.
    F64,
    /// Some have 32, some 64.
    Mixed,
}

/// A GCN as its file has it.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelFile {
    /// The layers from input to output; at least one, and each fits the next.
    pub layers: Vec<LayerFile>,
    /// What the file describes, where that is not just these layers: they may stand for a network with skips, and something may have
    /// been folded into their numbers.
    pub described: Option<Described>,
    /// The matrices that rules `matrix:DIGEST` name, if the file holds them.
    pub matrices: Vec<Arc<SparseMatrix>>,
    /// SHA-256 (lowercase hex) over the content, so independent of format, names, orientation and
    /// stored precision. Numbers are little-endian. The bytes are: `gcnproof-model-v1\n`; the
    /// number of layers as u64; for each layer `in` and `out` as u64, the weights as f64 bits in
    /// [in, out] order row after row, and the `out` biases as f64 bits.
    ///
    /// If any layer names operators, has linear outputs, or has more biases than outputs, the bytes are:
    /// `gcnproof-model-v2\n`; the number of layers as u64; for each layer `in` (of one term), `out` and the number of terms as
    /// u64, the weights as before, term after term; the number of biases as u64 and the biases as f64 bits; the number of
    /// operators as u64, and for each the length of its rule in bytes as u64 and the rule as UTF-8; the number of linear flags
    /// as u64, and each as one byte, 0 or 1.
    ///
    /// If `described` is given, the bytes are `gcnproof-model-v3\n`, those of the second layout after its first line, and then all numbers as
    /// u64: the number of described layers; for each its layer, its first unit, its outputs and the number of its terms; for each term the
    /// layer that it reads plus 1 (0: the attributes), its operator, layer, row and column of its weights, its roundings, and its magnitude;
    /// then the roundings and the magnitude of the bias. A magnitude is its length (0 if there is none) and its numbers as f64 bits.
    pub digest: String,
    /// The precision of the stored numbers.
    pub precision: Precision,
    /// The `__metadata__` of a safetensors file.
    pub metadata: BTreeMap<String, String>,
    /// What a user should be told.
    pub notes: Vec<String>,
}

/// How tensors are taken for layers; by default their names must say it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ModelOptions {
    /// The beginnings of the tensors' names, first layer first; empty: the usual names are expected.
    pub layers: Vec<String>,
}

/// Reads a model from a safetensors or npz file; the content decides which, not the extension.
///
/// # Errors
/// If the file cannot be read or is not a plain GCN.
pub fn read_model(path: &Path) -> Result<ModelFile, FileError> {
    parse_model(&path.display().to_string(), &source::read(path)?)
}

/// The same with tensors that are named otherwise.
///
/// # Errors
/// As [`read_model`], or if the options do not fit the file.
pub fn read_model_with(path: &Path, options: &ModelOptions) -> Result<ModelFile, FileError> {
    parse_model_with(&path.display().to_string(), &source::read(path)?, options)
}

/// Reads a model from the bytes of a file; `name` is what errors call it.
///
/// # Errors
/// If the bytes are not a plain GCN.
pub fn parse_model(name: &str, bytes: &[u8]) -> Result<ModelFile, FileError> {
    parse_model_with(name, bytes, &ModelOptions::default())
}

/// The same with tensors that are named otherwise.
///
/// # Errors
/// As [`parse_model`], or if the options do not fit the bytes.
pub fn parse_model_with(name: &str, bytes: &[u8], options: &ModelOptions) -> Result<ModelFile, FileError> {
    let mut tensors = Tensors::open(name, bytes)?;
    if let Some(text) = tensors.metadata().get(description::KEY).cloned() {
        if !options.layers.is_empty() {
            return Err(FileError::Description {
                file: name.into(),
                entry: description::KEY.into(),
                problem: "the file describes its layers itself: leave --layers out".into(),
            });
        }
        let Said { layers, described, precision, matrices } = description::read(name, &text, &mut tensors)?;
        let (digest, metadata) = (digest::model(&layers, described.as_ref()), tensors.metadata());
        return Ok(ModelFile { digest, layers, described, matrices, precision, metadata, notes: Vec::new() });
    }
    let shaped = tensors.shapes();
    let order = match options.layers.as_slice() {
        [] => names::sort(name, &shaped)?,
        prefixes => chosen::layers(name, &shaped, prefixes)?,
    };
    let mut notes = Vec::new();
    let (layers, precision) = layers::assemble(name, &mut tensors, &order, &mut notes)?;
    let (digest, metadata) = (digest::model(&layers, None), tensors.metadata());
    Ok(ModelFile { digest, layers, described: None, matrices: Vec::new(), precision, metadata, notes })
}

/// A model that is in memory already: what its file would say of it under `gcnproof.network`, and its tensors. `name` is what
/// errors call it.
///
/// # Errors
/// If the description is none, or does not fit the tensors.
pub fn describe_model(name: &str, description: &str, tensors: &dyn TensorSource) -> Result<ModelFile, FileError> {
    let mut tensors = Tensors::Given(name.into(), tensors);
    let Said { layers, described, precision, matrices } = description::read(name, description, &mut tensors)?;
    let (digest, metadata) = (digest::model(&layers, described.as_ref()), BTreeMap::new());
    Ok(ModelFile { digest, layers, described, matrices, precision, metadata, notes: Vec::new() })
}
