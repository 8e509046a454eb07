//! The network: stored weights, message-passing matrices recomputed from the graph, and the weights in useful orders.

use std::sync::Arc;

use gcnproof_files::{DenseMatrix, GraphFile, ModelFile, SparseMatrix};
use sha2::{Digest, Sha256};

use crate::format::Header;
use crate::reason::Reason;

/// One weight layer: `Ĥ(l+1) = A(l) H(l) W(l) + b(l)`.
pub struct Layer<'a> {
    /// `A(l)`.
    pub passing: Arc<SparseMatrix>,
    /// `W(l)`, inputs × outputs.
    pub weight: &'a DenseMatrix,
    /// `b(l)`.
    pub bias: &'a [f64],
}

/// The network of stored floats on a graph, in exact real arithmetic.
pub struct Network<'a> {
    /// The graph.
    pub graph: &'a GraphFile,
    /// Weight layers; layer `l` of the formulas is `layers[l − 1]`.
    pub layers: Vec<Layer<'a>>,
    /// For every unit of representation 2, the attributes by falling weight, and their weights.
    pub columns: Vec<(Vec<u32>, Vec<f64>)>,
    /// The attributes by falling norm of their weights, with a float not below that norm.
    pub by_norm: Vec<(u32, f64)>,
    /// The weights in that order, one attribute after the other.
    pub by_norm_weights: Vec<f64>,
}

impl<'a> Network<'a> {
    /// The network that a header speaks of. `matrices` are those that a `matrix:` rule may name.
    ///
    /// # Errors
    /// If header, graph and model do not fit together.
    pub fn new(
        graph: &'a GraphFile,
        model: &'a ModelFile,
        header: &Header,
        matrices: &[Arc<SparseMatrix>],
    ) -> Result<Network<'a>, Reason> {
        let rules = &header.message_passing;
        if rules.len() != model.layers.len() || rules.is_empty() {
            return Err(Reason::Header(format!(
                "{} message-passing rules, {} layers",
                rules.len(),
                model.layers.len()
            )));
        }
        let first = &model.layers[0].weight;
        if first.rows != graph.attributes.columns {
            let found = graph.attributes.columns;
            return Err(Reason::Files(format!("the model takes {} attributes, the graph has {found}", first.rows)));
        }
        if model.layers[model.layers.len() - 1].weight.columns < 2 {
            return Err(Reason::Files("the model has fewer than two classes".into()));
        }
        let mut layers: Vec<Layer> = Vec::new();
        for (at, (layer, rule)) in model.layers.iter().zip(rules).enumerate() {
            let passing = match rules[..at].iter().position(|earlier| earlier == rule) {
                Some(earlier) => layers[earlier].passing.clone(),
                None => message_passing(rule, graph, matrices)?,
            };
            layers.push(Layer { passing, weight: &layer.weight, bias: &layer.bias });
        }
        let columns = (0..first.columns).map(|unit| {
            let column: Vec<f64> = (0..first.rows).map(|d| first.get(d, unit)).collect();
            let mut order: Vec<u32> = (0..first.rows as u32).collect();
            order.sort_by(|&a, &b| column[b as usize].total_cmp(&column[a as usize]));
            (order, column)
        });
        let mut by_norm: Vec<_> = (0..first.rows).map(|d| (d as u32, norm_above(first.row(d)))).collect();
        by_norm.sort_by(|a, b| b.1.total_cmp(&a.1));
        let by_norm_weights = by_norm.iter().flat_map(|&(d, _)| first.row(d as usize)).copied().collect();
        Ok(Network { graph, layers, columns: columns.collect(), by_norm, by_norm_weights })
    }

    /// `L`: the number of representations, one more than weight layers.
    pub fn depth(&self) -> usize {
        self.layers.len() + 1
    }

    /// Units of representation `l ≥ 2`.
    pub fn width(&self, l: usize) -> usize {
        self.layers[l - 2].weight.columns
    }

    /// The largest size of a weight to a unit of representation 2.
    pub fn largest_weight(&self, unit: usize) -> f64 {
        let (falling, column) = &self.columns[unit];
        let ends = falling.first().into_iter().chain(falling.last());
        ends.fold(0.0, |largest, &d| f64::max(largest, column[d as usize].abs()))
    }

    /// `K`.
    pub fn classes(&self) -> usize {
        self.width(self.depth())
    }
}

/// A float not below the Euclidean norm; 0 for zeros only, infinite where squares overflow.
pub(crate) fn norm_above(values: &[f64]) -> f64 {
    let count = values.len() as f64;
    if values.iter().all(|&value| value == 0.0) {
        return 0.0;
    }
    // Each square and each sum has a relative error of at most 2⁻⁵³, or loses at most 2⁻¹⁰⁷⁴ by underflow.
    let squares = values.iter().map(|v| v * v).sum::<f64>() + count * f64::MIN_POSITIVE;
    (squares.sqrt() * (1.0 + (count + 8.0) * f64::EPSILON)).next_up()
}

/// `A` of a rule. The very expressions below are part of the format: they fix every bit of the network.
fn message_passing(rule: &str, graph: &GraphFile, matrices: &[Arc<SparseMatrix>]) -> Result<Arc<SparseMatrix>, Reason> {
    let nodes = graph.adjacency.rows;
    if let Some(digest) = rule.strip_prefix("matrix:") {
        let found = matrices.iter().find(|matrix| matrix_digest(matrix) == digest);
        let matrix = found.ok_or_else(|| Reason::Header(format!("no matrix with digest {digest} was given")))?;
        if (matrix.rows, matrix.columns) != (nodes, nodes) {
            return Err(Reason::Files(format!("a message-passing matrix is not {nodes} × {nodes}")));
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
    let count = |node: u32| rows[node as usize].len() as f64;
    let entry = |i: u32, j: u32| match rule {
        "gcn" => Some(1.0 / (count(i) * count(j)).sqrt()),
        "mean" | "mean+self" => Some(1.0 / count(i)),
        "sum" | "sum+self" | "identity" => Some(1.0),
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
