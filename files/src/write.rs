//! Writers of graphs and models, in the forms that this crate reads.

use crate::{
    DenseMatrix, FileError, GraphFile, LayerFile, Normalisation, Observed, PartFile, Pattern, Precision, SparseMatrix,
    description,
};
use safetensors::Dtype;
use safetensors::tensor::TensorView;
use std::collections::BTreeMap;
use std::io::{Cursor, Write};
use std::path::Path;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

/// Writes a graph as a deflated npz file. `digest` and `notes` are not written: reading the file
/// gives the digest again.
///
/// # Errors
/// If the file cannot be written, or a name contains a NUL, which numpy could not give back.
pub fn write_graph_npz(path: &Path, graph: &GraphFile) -> Result<(), FileError> {
    let file = path.display().to_string();
    save(path, &graph_npz(&file, graph)?)
}

/// Writes a part of a graph, as [`crate::read_graph_or_part`] reads it.
///
/// # Errors
/// As [`write_graph_npz`].
pub fn write_part_npz(path: &Path, graph: &GraphFile, part: &PartFile) -> Result<(), FileError> {
    let file = path.display().to_string();
    save(path, &npz(&file, graph, Some(part))?)
}

/// Writes a model as safetensors with PyTorch Geometric's names: `convs.0.lin.weight` as
/// [out, in], `convs.0.bias`. `Precision::F32` is refused where it would round; `Mixed` writes
/// 64 bits.
///
/// # Errors
/// If the file cannot be written, or a number does not fit into 32 bits.
pub fn write_model_safetensors(
    path: &Path,
    layers: &[LayerFile],
    precision: Precision,
    metadata: &BTreeMap<String, String>,
) -> Result<(), FileError> {
    let file = path.display().to_string();
    save(path, &model_safetensors(&file, layers, precision, metadata)?)
}

/// The bytes that [`write_graph_npz`] writes; `name` is what errors call them.
///
/// # Errors
/// As [`write_graph_npz`].
pub fn graph_npz(name: &str, graph: &GraphFile) -> Result<Vec<u8>, FileError> {
    npz(name, graph, None)
}

fn npz(name: &str, graph: &GraphFile, part: Option<&PartFile>) -> Result<Vec<u8>, FileError> {
    let mut npz = Npz { file: name.into(), zip: ZipWriter::new(Cursor::new(Vec::new())) };
    npz.pattern("adj", &graph.adjacency, Normalisation::None)?;
    let plain;
    let graph = match &graph.categories {
        None => graph,
        Some(categories) => {
            let numbers = categories.groups.iter().map(|group| group.map_or(-1, i64::from));
            npz.array("attr_groups", "<i8", categories.attributes(), numbers.flat_map(i64::to_le_bytes))?;
            if part.is_some() {
                npz.integers("attr_lacked", categories.lacked().into_iter().map(u64::from))?;
            }
            plain = graph.clone().ungrouped();
            &plain
        }
    };
    match &graph.values {
        Some(values) => {
            npz.matrix("attr", values.matrix())?;
            npz.integers("attr_real", std::iter::once(1))?;
        }
        None => npz.pattern("attr", &graph.attributes, graph.normalisation)?,
    }
    if graph.normalisation.is_some() {
        npz.integers("attr_normalised", std::iter::once(u64::from(graph.normalisation.bits())))?;
    }
    if let Some(batch) = &graph.batch {
        npz.integers("batch", batch.iter().map(|&of| u64::from(of)))?;
    }
    if let Some(labels) = &graph.labels {
        // Of a batch only the first rows are those of graphs.
        let labels = labels.get(..graph.targets()).unwrap_or(labels);
        let numbers = labels.iter().map(|label| label.map_or(-1, i64::from));
        npz.array("labels", "<i8", labels.len(), numbers.flat_map(i64::to_le_bytes))?;
    }
    npz.names("node_names", graph.node_names.as_deref())?;
    npz.names("attr_names", graph.attribute_names.as_deref())?;
    npz.names("class_names", graph.class_names.as_deref())?;
    if let Some(part) = part {
        npz.integers("part_nodes", part.nodes.iter().map(|&node| u64::from(node)))?;
        npz.integers("part_own", part.own.iter().map(|&row| u64::from(row)))?;
        let longest = part.longest.map(|longest| [longest.neighbours, longest.with_self]);
        let mut facts = vec![part.number, part.parts, part.of, part.hops];
        facts.extend(longest.into_iter().flatten());
        npz.integers("part_facts", facts.iter().map(|&fact| fact as u64))?;
        if let Some(Observed { low, high }) = &part.observed {
            for (name, limits) in [("part_low", low), ("part_high", high)] {
                npz.array(name, "<f8", limits.len(), limits.iter().flat_map(|limit| limit.to_le_bytes()))?;
            }
        }
        npz.names("part_whole", Some(std::slice::from_ref(&part.whole)))?;
    }
    let done = npz.zip.finish();
    done.map(Cursor::into_inner).map_err(|error| unwritable(name, error.to_string()))
}

/// A tensor to be written.
#[derive(Debug, Clone, PartialEq)]
pub struct NamedTensor {
    /// What it is called.
    pub name: String,
    /// Its sides.
    pub shape: Vec<usize>,
    /// Its numbers in C order.
    pub values: Vec<f64>,
}

/// The bytes that [`write_model_safetensors`] writes; `name` is what errors call them.
///
/// # Errors
/// As [`write_model_safetensors`].
pub fn model_safetensors(
    name: &str,
    layers: &[LayerFile],
    precision: Precision,
    metadata: &BTreeMap<String, String>,
) -> Result<Vec<u8>, FileError> {
    let mut tensors = Vec::new();
    let described = layers.iter().any(|layer| !layer.operators.is_empty());
    for (number, layer) in layers.iter().enumerate() {
        if described {
            let DenseMatrix { rows, columns, values } = &layer.weight;
            let inputs = rows / layer.operators.len().max(1);
            for (term, values) in values.chunks(inputs * columns).enumerate() {
                let weight = description::weight_name(number, term);
                tensors.push(NamedTensor { name: weight, shape: vec![inputs, *columns], values: values.to_vec() });
            }
            let shape =
                if layer.bias.len() == *columns { vec![*columns] } else { vec![layer.bias.len() / columns, *columns] };
            tensors.push(NamedTensor { name: description::bias_name(number), shape, values: layer.bias.clone() });
            continue;
        }
        let DenseMatrix { rows, columns, values } = layer.weight.transpose();
        tensors.push(NamedTensor { name: format!("convs.{number}.lin.weight"), shape: vec![rows, columns], values });
        let shape = vec![layer.bias.len()];
        tensors.push(NamedTensor { name: format!("convs.{number}.bias"), shape, values: layer.bias.clone() });
    }
    match described {
        true => described_safetensors(name, &description::write(layers), &tensors, precision, metadata),
        false => tensors_safetensors(name, &tensors, precision, metadata),
    }
}

/// The bytes of a model whose network is described otherwise than by the names of its tensors: `description` is what
/// its metadata say of it under `gcnproof.network` (docs/model-format.md).
///
/// # Errors
/// As [`write_model_safetensors`].
pub fn described_safetensors(
    name: &str,
    description: &str,
    tensors: &[NamedTensor],
    precision: Precision,
    metadata: &BTreeMap<String, String>,
) -> Result<Vec<u8>, FileError> {
    let mut metadata = metadata.clone();
    metadata.insert(description::KEY.into(), description.into());
    tensors_safetensors(name, tensors, precision, &metadata)
}

fn tensors_safetensors(
    name: &str,
    tensors: &[NamedTensor],
    precision: Precision,
    metadata: &BTreeMap<String, String>,
) -> Result<Vec<u8>, FileError> {
    let dtype = if precision == Precision::F32 { Dtype::F32 } else { Dtype::F64 };
    let encoded = tensors.iter().map(|tensor| encode(name, &tensor.name, &tensor.values, dtype));
    let encoded: Vec<Vec<u8>> = encoded.collect::<Result<_, _>>()?;
    let mut views = Vec::new();
    for (tensor, bytes) in tensors.iter().zip(&encoded) {
        let view = TensorView::new(dtype, tensor.shape.clone(), bytes);
        views.push((&tensor.name, view.map_err(|error| unwritable(name, format!("{}: {error}", tensor.name)))?));
    }
    let metadata =
        (!metadata.is_empty()).then(|| metadata.iter().map(|(key, value)| (key.clone(), value.clone())).collect());
    let bytes = safetensors::serialize(views, metadata).map_err(|error| unwritable(name, error.to_string()))?;
    in_order(&bytes).ok_or_else(|| unwritable(name, "its header cannot be put in order".into()))
}

/// The same file with its metadata in the order of their names: the library keeps them in an order of chance, and the
/// same model would be another file every time.
fn in_order(bytes: &[u8]) -> Option<Vec<u8>> {
    let (length, rest) = bytes.split_first_chunk::<8>()?;
    let (header, data) = rest.split_at_checked(usize::try_from(u64::from_le_bytes(*length)).ok()?)?;
    let mut header: serde_json::Map<String, serde_json::Value> = serde_json::from_slice(header).ok()?;
    if let Some(serde_json::Value::Object(metadata)) = header.get_mut("__metadata__") {
        metadata.sort_keys();
    }
    let mut text = serde_json::to_vec(&header).ok()?;
    text.resize(text.len().next_multiple_of(8), b' ');
    let length = u64::try_from(text.len()).ok()?.to_le_bytes();
    Some([&length[..], &text, data].concat())
}

fn encode(file: &str, tensor: &str, values: &[f64], dtype: Dtype) -> Result<Vec<u8>, FileError> {
    if dtype == Dtype::F64 {
        return Ok(values.iter().flat_map(|value| value.to_le_bytes()).collect());
    }
    let mut bytes = Vec::with_capacity(4 * values.len());
    for (at, &value) in values.iter().enumerate() {
        let single = value as f32;
        if f64::from(single) != value {
            return Err(FileError::Unwritable {
                file: file.into(),
                problem: format!("`{tensor}[{at}]` is {value}, which 32 bits do not hold exactly"),
                remedy: "write 64 bits, or round the weights before they are judged".into(),
            });
        }
        bytes.extend_from_slice(&single.to_le_bytes());
    }
    Ok(bytes)
}

fn save(path: &Path, bytes: &[u8]) -> Result<(), FileError> {
    let file = path.display().to_string();
    std::fs::write(path, bytes).map_err(|error| unwritable(&file, error.to_string()))
}

fn unwritable(file: &str, problem: String) -> FileError {
    let remedy = "check that the folder exists, that you may write there, and that the disk has room";
    FileError::Unwritable { file: file.into(), problem, remedy: remedy.into() }
}

/// An npz file in the making.
struct Npz {
    file: String,
    zip: ZipWriter<Cursor<Vec<u8>>>,
}

impl Npz {
    fn matrix(&mut self, prefix: &str, matrix: &SparseMatrix) -> Result<(), FileError> {
        let values = matrix.values.iter().flat_map(|value| value.to_le_bytes());
        self.array(&format!("{prefix}_data"), "<f8", matrix.values.len(), values)?;
        self.places(prefix, &matrix.pattern())
    }

    fn pattern(&mut self, prefix: &str, pattern: &Pattern, normalisation: Normalisation) -> Result<(), FileError> {
        let (entries, data) = (pattern.entries(), format!("{prefix}_data"));
        let values = normalisation.entries(pattern);
        match normalisation {
            Normalisation::Float64 => self.array(&data, "<f8", entries, values.flat_map(f64::to_le_bytes))?,
            _ => self.array(&data, "<f4", entries, values.flat_map(|value| (value as f32).to_le_bytes()))?,
        }
        self.places(prefix, pattern)
    }

    /// Where entries are.
    fn places(&mut self, prefix: &str, pattern: &Pattern) -> Result<(), FileError> {
        let indices = pattern.indices.iter().flat_map(|&index| i64::from(index).to_le_bytes());
        self.array(&format!("{prefix}_indices"), "<i8", pattern.entries(), indices)?;
        let offsets = pattern.offsets.iter().flat_map(|&offset| (offset as u64).to_le_bytes());
        self.array(&format!("{prefix}_indptr"), "<i8", pattern.offsets.len(), offsets)?;
        let shape = [pattern.rows, pattern.columns].map(|side| (side as u64).to_le_bytes());
        self.array(&format!("{prefix}_shape"), "<i8", 2, shape.into_iter().flatten())
    }

    fn integers(&mut self, name: &str, numbers: impl ExactSizeIterator<Item = u64>) -> Result<(), FileError> {
        self.array(name, "<i8", numbers.len(), numbers.flat_map(u64::to_le_bytes))
    }

    fn names(&mut self, name: &str, names: Option<&[String]>) -> Result<(), FileError> {
        let Some(names) = names else { return Ok(()) };
        if let Some(broken) = names.iter().find(|text| text.contains('\0')) {
            return Err(FileError::Unwritable {
                file: self.file.clone(),
                problem: format!("`{name}` has the name {broken:?}, and numpy cannot hold a NUL"),
                remedy: "rename it: take the NUL character out".into(),
            });
        }
        let width = names.iter().map(|text| text.chars().count()).max().unwrap_or(0).max(1);
        let padded = names.iter().flat_map(|text| {
            text.chars().map(u32::from).chain(std::iter::repeat(0)).take(width).flat_map(u32::to_le_bytes)
        });
        self.array(name, &format!("<U{width}"), names.len(), padded)
    }

    fn array(
        &mut self,
        name: &str,
        dtype: &str,
        length: usize,
        data: impl Iterator<Item = u8>,
    ) -> Result<(), FileError> {
        let mut head = format!("{{'descr': '{dtype}', 'fortran_order': False, 'shape': ({length},), }}");
        // numpy wants the data to start at a multiple of 64, and the header to end with a newline.
        while (10 + head.len() + 1) % 64 != 0 {
            head.push(' ');
        }
        head.push('\n');
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend_from_slice(&(head.len() as u16).to_le_bytes());
        bytes.extend_from_slice(head.as_bytes());
        bytes.extend(data);
        let options = SimpleFileOptions::default().compression_method(CompressionMethod::Deflated);
        let started = self.zip.start_file(format!("{name}.npy"), options);
        let file = &self.file;
        started.map_err(|error| unwritable(file, error.to_string()))?;
        self.zip.write_all(&bytes).map_err(|error| unwritable(file, error.to_string()))
    }
}
