//! Npy, npz and safetensors files built by hand, byte by byte, for the tests.
//!
//! Nothing here uses the crate's own writers, so that a mistake in them cannot hide one in the
//! readers.
#![allow(dead_code)] // Each test binary uses its own part of the bench.

use std::io::{Cursor, Write};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

/// An npy file with any header text and any data.
pub fn npy(descr: &str, fortran: bool, shape: &[usize], data: &[u8]) -> Vec<u8> {
    let sides: String = shape.iter().map(|side| format!("{side},")).collect();
    let order = if fortran { "True" } else { "False" };
    raw_npy(&format!("{{'descr': {descr}, 'fortran_order': {order}, 'shape': ({sides}), }}\n"), data)
}

/// An npy file with exactly this header text.
pub fn raw_npy(header: &str, data: &[u8]) -> Vec<u8> {
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes.extend(data);
    bytes
}

/// One-dimensional arrays of the usual types.
pub fn f32s(values: &[f32]) -> Vec<u8> {
    npy("'<f4'", false, &[values.len()], &values.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<_>>())
}
pub fn f64s(values: &[f64]) -> Vec<u8> {
    npy("'<f8'", false, &[values.len()], &values.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<_>>())
}
pub fn i64s(values: &[i64]) -> Vec<u8> {
    npy("'<i8'", false, &[values.len()], &values.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<_>>())
}
pub fn i32s(values: &[i32]) -> Vec<u8> {
    npy("'<i4'", false, &[values.len()], &values.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<_>>())
}
/// A dense float32 matrix.
pub fn dense32(rows: usize, columns: usize, values: &[f32]) -> Vec<u8> {
    assert_eq!(values.len(), rows * columns);
    npy("'<f4'", false, &[rows, columns], &values.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<_>>())
}
/// A pickled array, as far as its header goes.
pub fn pickled() -> Vec<u8> {
    npy("'|O'", false, &[3], b"\x80\x04\x95nonsense.")
}
/// Names as numpy's unicode.
pub fn unicode(names: &[&str], width: usize) -> Vec<u8> {
    let data: Vec<u8> = names
        .iter()
        .flat_map(|name| name.chars().map(u32::from).chain(std::iter::repeat(0)).take(width))
        .flat_map(u32::to_le_bytes)
        .collect();
    npy(&format!("'<U{width}'"), false, &[names.len()], &data)
}

/// An npz file as a list of named entries, which tests change before building it.
#[derive(Clone)]
pub struct Npz {
    pub entries: Vec<(String, Vec<u8>)>,
    pub deflated: bool,
}

impl Npz {
    pub fn new() -> Self {
        Npz { entries: vec![], deflated: true }
    }
    /// Adds or replaces an array.
    pub fn with(mut self, name: &str, npy: Vec<u8>) -> Self {
        self.entries.retain(|(other, _)| other != name);
        self.entries.push((name.into(), npy));
        self
    }
    pub fn without(mut self, name: &str) -> Self {
        let before = self.entries.len();
        self.entries.retain(|(other, _)| other != name);
        assert_ne!(before, self.entries.len(), "there was no {name}");
        self
    }
    pub fn stored(mut self) -> Self {
        self.deflated = false;
        self
    }
    pub fn bytes(&self) -> Vec<u8> {
        let method = if self.deflated { CompressionMethod::Deflated } else { CompressionMethod::Stored };
        let options = SimpleFileOptions::default().compression_method(method);
        let mut zip = ZipWriter::new(Cursor::new(vec![]));
        for (name, data) in &self.entries {
            zip.start_file(format!("{name}.npy"), options).unwrap();
            zip.write_all(data).unwrap();
        }
        zip.finish().unwrap().into_inner()
    }
}

/// A path of three nodes 0 - 1 - 2 with four attributes; the graph that most tests start from.
///
/// Attributes: node 0 has {1, 3}, node 1 has none, node 2 has {0}.
pub fn small_graph() -> Npz {
    Npz::new()
        .with("adj_data", f32s(&[1.0; 4]))
        .with("adj_indices", i32s(&[1, 0, 2, 1]))
        .with("adj_indptr", i32s(&[0, 1, 3, 4]))
        .with("adj_shape", i64s(&[3, 3]))
        .with("attr_data", f32s(&[1.0; 3]))
        .with("attr_indices", i32s(&[1, 3, 0]))
        .with("attr_indptr", i32s(&[0, 2, 2, 3]))
        .with("attr_shape", i64s(&[3, 4]))
        .with("labels", i64s(&[0, -1, 1]))
}

/// A tensor for [`safetensors`]: name, type, shape, data.
pub type Raw<'a> = (&'a str, &'a str, Vec<usize>, Vec<u8>);

pub fn tensor32<'a>(name: &'a str, shape: &[usize], values: &[f32]) -> Raw<'a> {
    assert_eq!(values.len(), shape.iter().product::<usize>());
    (name, "F32", shape.to_vec(), values.iter().flat_map(|v| v.to_le_bytes()).collect())
}
pub fn tensor64<'a>(name: &'a str, shape: &[usize], values: &[f64]) -> Raw<'a> {
    assert_eq!(values.len(), shape.iter().product::<usize>());
    (name, "F64", shape.to_vec(), values.iter().flat_map(|v| v.to_le_bytes()).collect())
}

/// A safetensors file.
pub fn safetensors(metadata: &str, tensors: &[Raw]) -> Vec<u8> {
    let mut members = vec![];
    if !metadata.is_empty() {
        members.push(format!("\"__metadata__\":{metadata}"));
    }
    let mut data = vec![];
    for (name, dtype, shape, bytes) in tensors {
        let (start, end) = (data.len(), data.len() + bytes.len());
        members
            .push(format!("\"{name}\":{{\"dtype\":\"{dtype}\",\"shape\":{shape:?},\"data_offsets\":[{start},{end}]}}"));
        data.extend(bytes);
    }
    raw_safetensors(&format!("{{{}}}", members.join(",")), &data)
}

/// A safetensors file with exactly this header text.
pub fn raw_safetensors(header: &str, data: &[u8]) -> Vec<u8> {
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend(header.as_bytes());
    bytes.extend(data);
    bytes
}

/// Two layers 3 -> 2 -> 2 with PyTorch Geometric's names.
///
/// First weight as [in, out]: [[1, 4], [2, 5], [3, 6]].
pub fn small_model() -> Vec<Raw<'static>> {
    vec![
        tensor32("convs.0.bias", &[2], &[0.5, -0.5]),
        tensor32("convs.0.lin.weight", &[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]),
        tensor32("convs.1.bias", &[2], &[0.25, 0.75]),
        tensor32("convs.1.lin.weight", &[2, 2], &[7.0, 8.0, 9.0, 10.0]),
    ]
}

/// Checks what every error must do: name the file and the entry, and offer a remedy.
pub fn complete(error: &gcnproof_files::FileError, file: &str, mentions: &[&str]) {
    let message = error.to_string();
    assert!(message.contains(file), "the file is not named: {message}");
    let help = miette::Diagnostic::help(error).map(|help| help.to_string()).unwrap_or_default();
    assert!(help.len() > 10, "no remedy: {message}");
    for mention in mentions {
        assert!(
            message.contains(mention) || help.contains(mention),
            "`{mention}` is not mentioned: {message} / {help}"
        );
    }
}

/// A small generator with a fixed seed (splitmix64): tests must fail the same way twice.
pub struct Dice(pub u64);

impl Dice {
    pub fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
    pub fn below(&mut self, limit: usize) -> usize {
        (self.roll() % limit as u64) as usize
    }
}

/// A tensor of indices.
pub fn indices64<'a>(name: &'a str, values: &[i64]) -> Raw<'a> {
    (name, "I64", vec![values.len()], values.iter().flat_map(|v| v.to_le_bytes()).collect())
}

/// A network of three attributes with a matrix of its own, a skip and biases by node.
pub const DESCRIPTION: &str = r#"{
  "version": 1, "output": "logits", "layers": [
    { "name": "hidden", "activation": "relu", "bias": "b1",
      "terms": [ { "from": "x", "operator": "matrix:P", "weight": "W1" },
                 { "from": "x", "operator": "identity", "weight": "V1" } ] },
    { "name": "logits", "activation": "none", "bias": "b2",
      "terms": [ { "from": "hidden", "operator": "poly(matrix:P;0,0,1)", "weight": "W2", "transposed": true },
                 { "from": "x", "operator": "mean", "weight": "V2" } ] } ] }"#;

/// The tensors of [`DESCRIPTION`].
pub fn tensors_described() -> Vec<Raw<'static>> {
    vec![
        tensor64("W1", &[3, 2], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]),
        tensor64("V1", &[3, 2], &[-1.0, 0.0, 0.5, 0.0, 1.0, -2.0]),
        tensor64("b1", &[2], &[0.25, -0.25]),
        tensor64("W2", &[3, 2], &[1.0, 0.0, 0.0, 1.0, -1.0, 1.0]),
        tensor64("V2", &[3, 3], &[1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0]),
        tensor64("b2", &[4, 3], &[0.0; 12]),
        indices64("P.indptr", &[0, 2, 2, 3, 4]),
        indices64("P.indices", &[1, 0, 2, 0]),
        tensor64("P.data", &[4], &[0.5, -1.0, 2.0, 0.25]),
    ]
}

/// A file that describes its network.
pub fn described(text: &str, tensors: &[Raw]) -> Vec<u8> {
    let quoted = text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    safetensors(&format!("{{\"gcnproof.network\":\"{quoted}\"}}"), tensors)
}
