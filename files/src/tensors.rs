//! Named tensors from safetensors or npz, with the precision they were stored in.

use crate::archive::Archive;
use crate::array::spell;
use crate::header::Element;
use crate::source::{self, Kind};
use crate::{DenseMatrix, FileError, Precision};
use safetensors::{Dtype, SafeTensors};
use serde::de::{Deserializer, MapAccess, Visitor};
use std::collections::{BTreeMap, BTreeSet};

/// One tensor, finite, in C order.
#[derive(Clone)]
pub(crate) struct Tensor {
    pub name: String,
    pub shape: Vec<usize>,
    pub values: Vec<f64>,
    pub precision: Precision,
}

/// Tensors that are in memory already, in whatever form somebody else holds them.
pub trait TensorSource {
    /// Their names.
    fn names(&self) -> Vec<String>;
    /// The sides of a tensor.
    fn shape(&self, name: &str) -> Vec<usize>;
    /// The numbers of a tensor in C order; `turned`, with its sides in reverse order.
    ///
    /// # Errors
    /// With the name of its type, if that is not one of 32 or 64 bits.
    fn values(&self, name: &str, turned: bool) -> Result<(Vec<f64>, Precision), String>;
    /// The whole numbers of a tensor.
    ///
    /// # Errors
    /// In words, if they are none, or one is negative.
    fn integers(&self, name: &str) -> Result<Vec<u64>, String>;
}

/// A file with named tensors.
pub(crate) enum Tensors<'bytes> {
    Safe(String, SafeTensors<'bytes>, BTreeMap<String, String>),
    Npz(String, Archive<'bytes>),
    /// No file: the tensors are there.
    Given(String, &'bytes dyn TensorSource),
}

impl<'bytes> Tensors<'bytes> {
    pub fn open(file: &str, bytes: &'bytes [u8]) -> Result<Self, FileError> {
        match source::kind(bytes) {
            Kind::Zip => Ok(Tensors::Npz(file.into(), Archive::open(file, bytes)?)),
            Kind::Safetensors => {
                let damaged = |problem: String| FileError::Damaged {
                    file: file.into(),
                    entry: "the safetensors header".into(),
                    problem,
                };
                let metadata = inspect(bytes).map_err(damaged)?;
                let tensors = SafeTensors::deserialize(bytes).map_err(|e| damaged(e.to_string()))?;
                Ok(Tensors::Safe(file.into(), tensors, metadata))
            }
            Kind::Npy | Kind::Pickle | Kind::Other => Err(FileError::UnknownFormat {
                file: file.into(),
                wanted: "a safetensors or npz file",
                start: source::start(bytes),
                remedy: "save the model with `safetensors.torch.save_file(model.state_dict(), path)`, or \
                         with `np.savez(path, W1=..., b1=..., W2=..., b2=...)`; what `torch.save` writes \
                         (`.pt`, `.pth`) is a pickle and is never loaded",
            }),
        }
    }

    pub fn metadata(&self) -> BTreeMap<String, String> {
        match self {
            Tensors::Safe(_, _, metadata) => metadata.clone(),
            Tensors::Npz(..) | Tensors::Given(..) => BTreeMap::new(),
        }
    }

    /// All names, sorted; also of entries that are no tensors, since nothing is ignored.
    pub fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = match self {
            Tensors::Safe(_, tensors, _) => tensors.names().into_iter().map(str::to_owned).collect(),
            Tensors::Npz(_, archive) => {
                archive.names().map(str::to_owned).chain(archive.strangers.iter().cloned()).collect()
            }
            Tensors::Given(_, source) => source.names(),
        };
        names.sort();
        names
    }

    /// The sides of every tensor, without its numbers; an entry that is no tensor has none.
    pub fn shapes(&mut self) -> Vec<(String, Vec<usize>)> {
        let names = self.names();
        let mut shape = |name: &str| match self {
            Tensors::Safe(_, tensors, _) => tensors.tensor(name).map(|view| view.shape().to_vec()).unwrap_or_default(),
            Tensors::Npz(_, archive) => archive.header(name).map(|header| header.shape).unwrap_or_default(),
            Tensors::Given(_, source) => source.shape(name),
        };
        names.into_iter().map(|name| (name.clone(), shape(&name))).collect()
    }

    /// Whole numbers from 0 of one side, as indices are stored.
    pub fn integers(&mut self, name: &str) -> Result<Vec<u64>, String> {
        let tensors = match self {
            Tensors::Safe(_, tensors, _) => tensors,
            Tensors::Given(_, source) => return source.integers(name),
            Tensors::Npz(..) => return Err(format!("`{name}` is not in a safetensors file")),
        };
        let view = tensors.tensor(name).map_err(|error| error.to_string())?;
        let (data, kind) = (view.data(), view.dtype());
        let signed: Vec<i64> = match kind {
            Dtype::I64 => data.as_chunks().0.iter().map(|&part| i64::from_le_bytes(part)).collect(),
            Dtype::I32 => data.as_chunks().0.iter().map(|&part| i32::from_le_bytes(part).into()).collect(),
            _ => return Err(format!("`{name}` is stored as {kind:?}: indices are read as int32 or int64")),
        };
        let natural = |number: i64| u64::try_from(number).map_err(|_| format!("`{name}` has the number {number}"));
        signed.into_iter().map(natural).collect()
    }

    /// The numbers of a tensor with one side, which may be empty.
    pub fn vector(&mut self, name: &str) -> Result<Vec<f64>, FileError> {
        let empty = |tensors: &SafeTensors| tensors.tensor(name).is_ok_and(|view| view.shape() == [0]);
        match self {
            Tensors::Safe(_, tensors, _) if empty(tensors) => Ok(Vec::new()),
            Tensors::Given(_, source) if source.shape(name) == [0] => Ok(Vec::new()),
            _ => self.tensor(name).map(|tensor| tensor.values),
        }
    }

    pub fn tensor(&mut self, name: &str) -> Result<Tensor, FileError> {
        let (file, tensor) = match self {
            Tensors::Safe(file, tensors, _) => (file.clone(), safe_tensor(file, tensors, name)?),
            Tensors::Npz(file, archive) => (file.clone(), npz_tensor(file, archive, name)?),
            Tensors::Given(file, source) => {
                let (values, precision) = source.values(name, false).map_err(|dtype| mistyped(file, name, dtype))?;
                (file.clone(), Tensor { name: name.into(), shape: source.shape(name), values, precision })
            }
        };
        sound(file, tensor)
    }

    /// The same with its sides in reverse order, if there are two.
    pub fn turned(&mut self, name: &str) -> Result<Tensor, FileError> {
        // What is in memory already is turned while it is copied.
        if let Tensors::Given(file, source) = self {
            let (values, precision) = source.values(name, true).map_err(|dtype| mistyped(file, name, dtype))?;
            let shape = source.shape(name).into_iter().rev().collect();
            return sound(file.clone(), Tensor { name: name.into(), shape, values, precision });
        }
        let tensor = self.tensor(name)?;
        match tensor.shape.as_slice() {
            &[rows, columns] => {
                let turned = DenseMatrix { rows, columns, values: tensor.values }.transpose();
                Ok(Tensor { shape: vec![columns, rows], values: turned.values, ..tensor })
            }
            _ => Ok(tensor),
        }
    }
}

/// A tensor that is not empty, and finite.
fn sound(file: String, tensor: Tensor) -> Result<Tensor, FileError> {
    let name = tensor.name.as_str();
    if tensor.shape.contains(&0) {
        return Err(FileError::Shape {
            file,
            entry: name.into(),
            problem: format!("has shape {}: it is empty", spell(&tensor.shape)),
            remedy: "save the trained weights: every side must be at least 1".into(),
        });
    }
    if let Some(at) = tensor.values.iter().position(|value| !value.is_finite()) {
        let position = match tensor.shape.as_slice() {
            [_, columns] => format!("{}, {}", at / columns, at % columns),
            _ => at.to_string(),
        };
        let value = tensor.values[at];
        let remedy = "repair the tool that wrote it, or train again";
        return Err(FileError::NonFinite { file, entry: name.into(), position, value, remedy });
    }
    Ok(tensor)
}

fn safe_tensor(file: &str, tensors: &SafeTensors, name: &str) -> Result<Tensor, FileError> {
    let view = tensors.tensor(name).map_err(|error| FileError::Damaged {
        file: file.into(),
        entry: name.into(),
        problem: error.to_string(),
    })?;
    let data = view.data();
    let (precision, values) = match view.dtype() {
        Dtype::F32 => {
            let parts = data.as_chunks().0.iter();
            (Precision::F32, parts.map(|&part| f64::from(f32::from_le_bytes(part))).collect())
        }
        Dtype::F64 => {
            let parts = data.as_chunks().0.iter();
            (Precision::F64, parts.map(|&part| f64::from_le_bytes(part)).collect())
        }
        other => return Err(mistyped(file, name, format!("{other:?}"))),
    };
    Ok(Tensor { name: name.into(), shape: view.shape().to_vec(), values, precision })
}

fn npz_tensor(file: &str, archive: &mut Archive, name: &str) -> Result<Tensor, FileError> {
    let array = archive.array(name)?;
    let precision = match array.header.element {
        Element::Float(4) => Precision::F32,
        Element::Float(8) => Precision::F64,
        _ => return Err(mistyped(file, name, array.header.spelling.clone())),
    };
    let (shape, values) = (array.shape().to_vec(), array.reals()?);
    Ok(Tensor { name: name.into(), shape, values, precision })
}

fn mistyped(file: &str, name: &str, dtype: String) -> FileError {
    let remedy = format!("save `{name}` after `.float()` (torch) or `.astype(np.float32)` (numpy)");
    // F16, BF16, F8_E4M3 and <f2, as they are spelled.
    let is_float = dtype.trim_start_matches(['B', '<', '>']).starts_with(['F', 'f']);
    let (wanted, remedy) = match is_float {
        true => (
            "weights and biases are read in 32 or 64 bits only",
            remedy
                + "; a network that computes in 16 bits rounds so coarsely that a verdict about exact arithmetic says little about it",
        ),
        false => ("weights and biases are floats of 32 or 64 bits", remedy),
    };
    FileError::ElementType {
        file: file.into(),
        entry: name.into(),
        dtype,
        wanted: wanted.into(),
        remedy: remedy.into(),
    }
}

/// Looks through a safetensors header before the `safetensors` crate does, for two things that the
/// crate lets through: names that occur twice (the last would win silently), and offsets so large
/// that its sums overflow. Gives back `__metadata__`.
fn inspect(bytes: &[u8]) -> Result<BTreeMap<String, String>, String> {
    let (length, rest) = bytes.split_first_chunk().ok_or("it is cut short")?;
    let length = usize::try_from(u64::from_le_bytes(*length)).map_err(|_| "it is too long")?;
    let text = rest.get(..length).ok_or_else(|| format!("it claims {length} bytes, but only {} follow", rest.len()))?;
    let room = (rest.len() - length) as u64;
    let mut json = serde_json::Deserializer::from_slice(text);
    let entries = json.deserialize_map(Entries).map_err(|error| error.to_string())?;
    let mut seen = BTreeSet::new();
    let mut metadata = BTreeMap::new();
    for (name, value) in entries {
        if !seen.insert(name.clone()) {
            return Err(format!("tensor `{name}` occurs twice"));
        }
        if name == "__metadata__" {
            for (key, text) in value.as_object().into_iter().flatten() {
                metadata.insert(key.clone(), text.as_str().unwrap_or_default().to_owned());
            }
        } else if value["data_offsets"][1].as_u64().is_none_or(|end| end > room) {
            return Err(format!("tensor `{name}` ends beyond the {room} bytes of data"));
        }
    }
    Ok(metadata)
}

/// Collects a JSON object's members as they come, repetitions included.
struct Entries;

impl<'de> Visitor<'de> for Entries {
    type Value = Vec<(String, serde_json::Value)>;

    fn expecting(&self, formatter: &mut std::fmt::Formatter) -> std::fmt::Result {
        formatter.write_str("an object of tensors")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = map.next_entry()? {
            entries.push(entry);
        }
        Ok(entries)
    }
}
