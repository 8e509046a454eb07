//! Message-passing matrices: recomputed from the graph by their rule, or given and named by their digest.

use std::sync::Arc;

use gcnproof_files::{GraphFile, SparseMatrix};
use sha2::{Digest, Sha256};

use crate::directed::{reciprocal, reciprocal_root};
use crate::reason::Reason;

/// `A` of a rule. The expressions are part of the format: they fix every bit of the network.
pub(crate) fn message_passing(
    rule: &str,
    graph: &GraphFile,
    matrices: &[Arc<SparseMatrix>],
) -> Result<Arc<SparseMatrix>, Reason> {
    let nodes = graph.adjacency.rows;
    if let Some(digest) = rule.strip_prefix("matrix:") {
        let found = matrices.iter().find(|matrix| matrix_digest(matrix) == digest);
        let matrix = found.ok_or_else(|| Reason::Header(format!("no matrix with digest {digest} was given")))?;
        if (matrix.rows, matrix.columns) != (nodes, nodes) {
            return Err(Reason::Files(format!("a message-passing matrix is not {nodes} × {nodes}")));
        }
        let ascending = |row: usize| matrix.row(row).0.windows(2).all(|pair| pair[0] < pair[1]);
        if !(0..nodes).all(ascending) {
            return Err(Reason::Files("a message-passing matrix has column ids that do not ascend".into()));
        }
        return Ok(matrix.clone());
    }
    let with_self = rule != "mean" && rule != "sum";
    let mut rows: Vec<Vec<u32>> = Vec::with_capacity(nodes);
    for node in 0..nodes {
        let mut row = if rule == "identity" { Vec::new() } else { graph.adjacency.row(node).to_vec() };
        if with_self {
            row.push(node as u32);
        }
        row.sort_unstable();
        row.dedup();
        rows.push(row);
    }
    let count = |node: u32| rows[node as usize].len();
    let entry = |i: u32, j: u32| match rule {
        "gcn" => Some(reciprocal_root(count(i), count(j))),
        "mean" | "mean+self" => Some(reciprocal(count(i))),
        "sum" | "sum+self" | "identity" => Some(reciprocal(1)),
        _ => None,
    };
    let mut matrix =
        SparseMatrix { rows: nodes, columns: nodes, offsets: vec![0], indices: Vec::new(), values: Vec::new() };
    for (i, row) in rows.iter().enumerate() {
        for &j in row {
            let value =
                entry(i as u32, j).ok_or_else(|| Reason::Header(format!("unknown message passing '{rule}'")))?;
            matrix.indices.push(j);
            matrix.values.push(value);
        }
        matrix.offsets.push(matrix.indices.len());
    }
    Ok(Arc::new(matrix))
}

/// SHA-256 (lowercase hex) of a message-passing matrix. Integers are little-endian. The bytes are
/// `gcnproof-matrix-v1\n`; rows and columns as u64; the row offsets as u64; the column ids as u32; the values as f64
/// bits. Column ids ascend within a row, and zeros are not stored.
pub fn matrix_digest(matrix: &SparseMatrix) -> String {
    let mut bytes = b"gcnproof-matrix-v1\n".to_vec();
    for number in [matrix.rows, matrix.columns].iter().chain(&matrix.offsets) {
        bytes.extend((*number as u64).to_le_bytes());
    }
    bytes.extend(matrix.indices.iter().flat_map(|index| index.to_le_bytes()));
    bytes.extend(matrix.values.iter().flat_map(|value| value.to_bits().to_le_bytes()));
    Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}
