//! SHA-256 over what a file means, so that recompressing it changes nothing.

use crate::{LayerFile, Pattern};
use sha2::{Digest, Sha256};

/// See [`crate::GraphFile::digest`] for the byte layout.
pub(crate) fn graph(adjacency: &Pattern, attributes: &Pattern, labels: Option<&[Option<u32>]>) -> String {
    let mut seal = Seal::new(b"gcnproof-graph-v1\n");
    seal.number(adjacency.rows as u64);
    seal.number(attributes.columns as u64);
    seal.pattern(adjacency);
    seal.pattern(attributes);
    match labels {
        None => seal.number(0),
        Some(labels) => {
            seal.number(1);
            for label in labels {
                seal.number(label.map_or(u64::MAX, u64::from));
            }
        }
    }
    seal.finish()
}

/// See [`crate::ModelFile::digest`] for the byte layout.
pub(crate) fn model(layers: &[LayerFile]) -> String {
    let mut seal = Seal::new(b"gcnproof-model-v1\n");
    seal.number(layers.len() as u64);
    for layer in layers {
        seal.number(layer.weight.rows as u64);
        seal.number(layer.weight.columns as u64);
        for value in layer.weight.values.iter().chain(&layer.bias) {
            seal.number(value.to_bits());
        }
    }
    seal.finish()
}

/// SHA-256 (lowercase hex) of a set of ids in rising order: `gcnproof-ids-v1\n`, their number, then each, as little-endian u64.
#[must_use]
pub fn ids(ids: &[u64]) -> String {
    let mut seal = Seal::new(b"gcnproof-ids-v1\n");
    seal.number(ids.len() as u64);
    ids.iter().for_each(|&id| seal.number(id));
    seal.finish()
}

/// A hash that swallows numbers; buffered, because hashing eight bytes at a time is slow.
struct Seal {
    hash: Sha256,
    buffer: Vec<u8>,
}

impl Seal {
    fn new(purpose: &[u8]) -> Self {
        Seal { hash: Sha256::new(), buffer: purpose.to_vec() }
    }

    fn number(&mut self, number: u64) {
        self.bytes(&number.to_le_bytes());
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
        if self.buffer.len() >= 1 << 16 {
            self.hash.update(&self.buffer);
            self.buffer.clear();
        }
    }

    /// Row offsets and then column ids: together with the dimensions, unambiguous.
    fn pattern(&mut self, pattern: &Pattern) {
        for &offset in &pattern.offsets {
            self.number(offset as u64);
        }
        for index in &pattern.indices {
            self.bytes(&index.to_le_bytes());
        }
    }

    fn finish(mut self) -> String {
        self.hash.update(&self.buffer);
        self.hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }
}
