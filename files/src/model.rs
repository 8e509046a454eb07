//! Model files: the layers of a GCN, from safetensors or npz.

use crate::description::Said;
use crate::tensors::{TensorSource, Tensors};
use crate::{FileError, ModelFile, chosen, description, digest, layers, names, source};
use std::collections::BTreeMap;
use std::path::Path;

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
        let Said { layers, described, fixed_edges, precision, matrices } =
            description::read(name, &text, &mut tensors)?;
        let (digest, metadata) = (digest::model(&layers, described.as_ref()), tensors.metadata());
        return Ok(ModelFile {
            digest,
            layers,
            described,
            matrices,
            fixed_edges,
            precision,
            metadata,
            notes: Vec::new(),
        });
    }
    let shaped = tensors.shapes();
    let order = match options.layers.as_slice() {
        [] => names::sort(name, &shaped)?,
        prefixes => chosen::layers(name, &shaped, prefixes).map_err(|error| match error {
            // Names of the usual kinds say themselves what they are.
            FileError::NoSuchLayer { file, prefix, found, .. } if names::sort(name, &shaped).is_ok() => {
                let remedy = "leave `--layers` out: the names of these tensors are known".into();
                FileError::NoSuchLayer { file, prefix, found, remedy }
            }
            error => error,
        })?,
    };
    let mut notes = Vec::new();
    let (layers, precision) = layers::assemble(name, &mut tensors, &order, &mut notes)?;
    let (digest, metadata) = (digest::model(&layers, None), tensors.metadata());
    Ok(ModelFile {
        digest,
        layers,
        described: None,
        matrices: Vec::new(),
        fixed_edges: false,
        precision,
        metadata,
        notes,
    })
}

/// A model that is in memory already: what its file would say of it under `gcnproof.network`, and its tensors. `name`
/// is what errors call it.
///
/// # Errors
/// If the description is none, or does not fit the tensors.
pub fn describe_model(name: &str, description: &str, tensors: &dyn TensorSource) -> Result<ModelFile, FileError> {
    let mut tensors = Tensors::Given(name.into(), tensors);
    let Said { layers, described, fixed_edges, precision, matrices } =
        description::read(name, description, &mut tensors)?;
    let (digest, metadata) = (digest::model(&layers, described.as_ref()), BTreeMap::new());
    Ok(ModelFile { digest, layers, described, matrices, fixed_edges, precision, metadata, notes: Vec::new() })
}
