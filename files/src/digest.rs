//! SHA-256 over what a file means, so that recompressing it changes nothing.

use crate::{Described, GraphFile, LayerFile, Normalisation, Pattern, SparseMatrix};
use sha2::{Digest, Sha256};

/// See [`crate::GraphFile::digest`] for the byte layout.
pub(crate) fn graph(graph: &GraphFile) -> String {
    let GraphFile { adjacency, attributes, labels, batch, .. } = graph;
    if let Some(values) = &graph.values {
        let mut seal = Seal::new(b"gcnproof-graph-v4\n");
        let matrix = values.matrix();
        seal.number(adjacency.rows as u64);
        seal.number(matrix.columns as u64);
        seal.pattern(adjacency);
        matrix.offsets.iter().for_each(|&offset| seal.number(offset as u64));
        matrix.indices.iter().for_each(|index| seal.bytes(&index.to_le_bytes()));
        matrix.values.iter().for_each(|value| seal.number(value.to_bits()));
        return seal.rest(labels.as_deref(), batch.as_deref());
    }
    let mut seal = match (graph.normalisation, &graph.categories) {
        (_, Some(categories)) => {
            let lacked = categories.stated_lacked();
            let mut seal = Seal::new(if lacked.is_some() { b"gcnproof-graph-v5\n" } else { b"gcnproof-graph-v3\n" });
            seal.number(categories.attributes() as u64);
            categories.groups.iter().for_each(|group| seal.number(group.map_or(u64::MAX, u64::from)));
            // Of a part of a graph: what its rows do not say.
            lacked.unwrap_or_default().iter().for_each(|&lacked| seal.number(u64::from(lacked)));
            seal
        }
        (Normalisation::None, None) => Seal::new(b"gcnproof-graph-v1\n"),
        (normalised, None) => {
            let mut seal = Seal::new(b"gcnproof-graph-v2\n");
            seal.number(u64::from(normalised.bits()));
            seal
        }
    };
    seal.number(adjacency.rows as u64);
    seal.number(attributes.columns as u64);
    seal.pattern(adjacency);
    seal.pattern(attributes);
    seal.rest(labels.as_deref(), batch.as_deref())
}

/// See [`crate::ModelFile::digest`] for the byte layout.
pub(crate) fn model(layers: &[LayerFile], described: Option<&Described>) -> String {
    let more = |layer: &LayerFile| {
        !layer.operators.is_empty() || !layer.linear.is_empty() || layer.bias.len() > layer.weight.columns
    };
    if let Some(described) = described {
        let mut seal = Seal::new(b"gcnproof-model-v3\n");
        seal.terms(layers);
        seal.described(described);
        return seal.finish();
    }
    if layers.iter().any(more) {
        let mut seal = Seal::new(b"gcnproof-model-v2\n");
        seal.terms(layers);
        return seal.finish();
    }
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

/// SHA-256 (lowercase hex) of a set of ids in rising order: `gcnproof-ids-v1\n`, their number, then each, as
/// little-endian u64.
#[must_use]
pub fn ids(ids: &[u64]) -> String {
    let mut seal = Seal::new(b"gcnproof-ids-v1\n");
    seal.number(ids.len() as u64);
    ids.iter().for_each(|&id| seal.number(id));
    seal.finish()
}

/// SHA-256 (lowercase hex) of a message-passing matrix. Integers are little-endian. The bytes are
/// `gcnproof-matrix-v1\n`; rows and columns as u64; the row offsets as u64; the column ids as u32; the values as f64
/// bits. Column ids ascend within a row, and zeros are not stored.
#[must_use]
pub fn matrix(matrix: &SparseMatrix) -> String {
    let mut seal = Seal::new(b"gcnproof-matrix-v1\n");
    [matrix.rows, matrix.columns].iter().chain(&matrix.offsets).for_each(|&number| seal.number(number as u64));
    matrix.indices.iter().for_each(|index| seal.bytes(&index.to_le_bytes()));
    matrix.values.iter().for_each(|value| seal.number(value.to_bits()));
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

    /// The second layout: every list with its length before it, so that no two models have the same bytes.
    fn terms(&mut self, layers: &[LayerFile]) {
        self.number(layers.len() as u64);
        for layer in layers {
            let terms = layer.operators.len().max(1);
            self.number((layer.weight.rows / terms) as u64);
            self.number(layer.weight.columns as u64);
            self.number(terms as u64);
            layer.weight.values.iter().for_each(|value| self.number(value.to_bits()));
            self.floats(&layer.bias);
            self.number(layer.operators.len() as u64);
            for rule in &layer.operators {
                self.number(rule.len() as u64);
                self.bytes(rule.as_bytes());
            }
            self.number(layer.linear.len() as u64);
            layer.linear.iter().for_each(|&linear| self.bytes(&[u8::from(linear)]));
        }
    }

    /// What the layers were described as.
    fn described(&mut self, described: &Described) {
        self.number(described.layers.len() as u64);
        for layer in &described.layers {
            let sizes = [layer.layer, layer.first, layer.outputs, layer.terms.len()];
            sizes.iter().for_each(|&size| self.number(size as u64));
            for term in &layer.terms {
                let (source, weight) = (term.source.map_or(0, |at| at + 1), term.weight);
                let places = [source, term.operator, weight.layer, weight.row, weight.column];
                places.iter().for_each(|&place| self.number(place as u64));
                self.number(u64::from(term.roundings));
                self.floats(term.magnitude.as_deref().unwrap_or_default());
            }
            self.number(u64::from(layer.bias_roundings));
            self.floats(layer.bias_magnitude.as_deref().unwrap_or_default());
        }
    }

    /// How many, and then each.
    fn floats(&mut self, values: &[f64]) {
        self.number(values.len() as u64);
        values.iter().for_each(|value| self.number(value.to_bits()));
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

    /// What follows the attributes of a graph.
    fn rest(mut self, labels: Option<&[Option<u32>]>, batch: Option<&[u32]>) -> String {
        match labels {
            None => self.number(0),
            Some(labels) => {
                self.number(1);
                for label in labels {
                    self.number(label.map_or(u64::MAX, u64::from));
                }
            }
        }
        if let Some(batch) = batch {
            self.bytes(b"batch\n");
            batch.iter().for_each(|&of| self.number(u64::from(of)));
        }
        self.finish()
    }

    fn finish(mut self) -> String {
        self.hash.update(&self.buffer);
        self.hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DenseMatrix;

    fn layer() -> LayerFile {
        LayerFile {
            weight: DenseMatrix { rows: 2, columns: 1, values: vec![0.5, -1.0] },
            bias: vec![2.0],
            weight_name: "W".into(),
            ..LayerFile::default()
        }
    }

    fn hashed(bytes: &[u8]) -> String {
        Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
    }

    #[test]
    fn a_plain_model_keeps_its_digest() {
        let mut bytes = b"gcnproof-model-v1\n".to_vec();
        for number in [1, 2, 1, 0.5f64.to_bits(), (-1f64).to_bits(), 2f64.to_bits()] {
            bytes.extend(number.to_le_bytes());
        }
        assert_eq!(model(&[layer()], None), hashed(&bytes));
    }

    #[test]
    fn terms_linear_outputs_and_biases_by_node_are_in_the_digest() {
        let terms = LayerFile {
            bias: vec![2.0, 3.0],
            operators: vec!["gcn".into(), "identity".into()],
            linear: vec![true],
            ..layer()
        };
        let mut bytes = b"gcnproof-model-v2\n".to_vec();
        let number = |bytes: &mut Vec<u8>, number: u64| bytes.extend(number.to_le_bytes());
        for x in [1, 1, 1, 2, 0.5f64.to_bits(), (-1f64).to_bits(), 2, 2f64.to_bits(), 3f64.to_bits(), 2] {
            number(&mut bytes, x);
        }
        for rule in ["gcn", "identity"] {
            number(&mut bytes, rule.len() as u64);
            bytes.extend(rule.as_bytes());
        }
        number(&mut bytes, 1);
        bytes.push(1);
        assert_eq!(model(std::slice::from_ref(&terms), None), hashed(&bytes));
        // Each of the additions alone makes another model.
        let others = [
            layer(),
            LayerFile { operators: vec!["gcn".into()], ..layer() },
            LayerFile { operators: vec!["sum".into()], ..layer() },
            LayerFile { linear: vec![true], ..layer() },
            LayerFile { linear: vec![false], ..layer() },
            LayerFile { bias: vec![2.0, 2.0], ..layer() },
            terms,
        ];
        let mut digests: Vec<String> = others.iter().map(|layer| model(std::slice::from_ref(layer), None)).collect();
        digests.sort();
        digests.dedup();
        assert_eq!(digests.len(), others.len());
    }
}
