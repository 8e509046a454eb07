//! What graph files and model files contain, as plain data.

use crate::{Categories, DenseMatrix, Described, Normalisation, Pattern, SparseMatrix, Values};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What may be changed while reading; by default nothing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct GraphOptions {
    /// Read every nonzero attribute as 1.
    pub binarize: bool,
    /// Add the missing direction of every edge.
    pub symmetrize: bool,
    /// Read every nonzero weight as 1.
    pub unweight: bool,
    /// Take attributes that are neither 0 and 1 nor these divided by the sums of their rows as the numbers that they
    /// are.
    pub real: bool,
    /// Keep edges that have one direction only.
    pub directed: bool,
}

/// An attributed graph as its file has it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GraphFile {
    /// Who is linked to whom: square, self-loops kept as the file has them; symmetric unless [`GraphOptions::directed`]
    /// was said, and then row `i` holds those whom node `i` receives from.
    pub adjacency: Pattern,
    /// Which node (row) has which attribute (column).
    pub attributes: Pattern,
    /// If attributes are numbers, these; the columns are then powers of two that they are made of.
    pub values: Option<Arc<Values>>,
    /// If attributes are one-hot, their groups; the columns after those of the file are changes of categories.
    pub categories: Option<Arc<Categories>>,
    /// What the network reads of them.
    pub normalisation: Normalisation,
    /// The graph that each node belongs to, where whole graphs are classified: ascending from 0 without gaps, and no
    /// edge leads from one graph to another.
    pub batch: Option<Vec<u32>>,
    /// The class of each node, if the file has `labels`; a negative label is `None`. Where there is a `batch`, the
    /// class of each graph, and `None` in the rows that are left.
    pub labels: Option<Vec<Option<u32>>>,
    /// One name for each node.
    pub node_names: Option<Vec<String>>,
    /// One name for each attribute.
    pub attribute_names: Option<Vec<String>>,
    /// One name for each class.
    pub class_names: Option<Vec<String>>,
    /// SHA-256 (lowercase hex) over the content after [`GraphOptions`], names excluded. Integers
    /// are little-endian. The bytes are: `gcnproof-graph-v1\n`; N and D as u64; the adjacency's
    /// N + 1 row offsets as u64, then its column ids as u32; the same for the attributes; then 0
    /// as u64 without labels, or 1 as u64 and each node's label as u64 (2^64 - 1 if unlabelled).
    ///
    /// If rows are normalised, the first bytes are `gcnproof-graph-v2\n` and the bits of an entry, 32 or 64, as u64;
    /// the rest is the same. If attributes have groups, the first bytes are `gcnproof-graph-v3\n`, the number of
    /// attributes of the file, and for each of them the number of its group as u64 (2^64 - 1 if it is in none), groups
    /// being numbered in the order of their numbers in the file. Of a part of such a graph, the first bytes are
    /// `gcnproof-graph-v5\n`, and behind the numbers of groups stands for each group, as u64, 1 if some row of the
    /// whole graph has none of it, else 0.
    ///
    /// If attributes are numbers, the first bytes are `gcnproof-graph-v4\n`; D is their number, and after the offsets
    /// and column ids of those that are not 0 come the numbers as f64 bits.
    ///
    /// If there is a batch, these bytes follow all others: `batch\n`, and each node's graph as u64.
    pub digest: String,
    /// What a user should be told: what was left out, and what was changed on request.
    pub notes: Vec<String>,
}

/// One layer: a graph convolution `A H W + b` with message-passing matrix `A`, or a sum of such terms, `Σ_k A_k H W_k +
/// b`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LayerFile {
    /// The weights as [in, out], whatever the file's orientation; of a layer with several terms, the matrices of its
    /// terms one below the other: (K·in) × out.
    pub weight: DenseMatrix,
    /// One number for each output, zeros if the file has no bias; or one row of them for each node, where it differs
    /// from node to node (nodes × out).
    pub bias: Vec<f64>,
    /// The operators of the terms by rule, one each; empty in a file that names none: then the layer has one term, and
    /// whoever uses the file says which operator.
    pub operators: Vec<String>,
    /// Which outputs have no activation; empty if all have one (or the layer is the last).
    pub linear: Vec<bool>,
    /// What the file calls the weights.
    pub weight_name: String,
    /// What the file calls the bias, if it has one.
    pub bias_name: Option<String>,
}

/// In which precision the file stores its numbers. All of them are exact as `f64`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Precision {
    /// All tensors have 32 bits.
    F32,
    /// All tensors have 64 bits.
    #[default]
    F64,
    /// Some have 32, some 64.
    Mixed,
}

/// A GCN as its file has it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ModelFile {
    /// The layers from input to output; at least one, and each fits the next.
    pub layers: Vec<LayerFile>,
    /// What the file describes, where that is not just these layers: they may stand for a network with skips, and
    /// something may have been folded into their numbers.
    pub described: Option<Described>,
    /// The matrices that rules `matrix:DIGEST` name, if the file holds them.
    pub matrices: Vec<Arc<SparseMatrix>>,
    /// SHA-256 (lowercase hex) over the content, so independent of format, names, orientation and
    /// stored precision. Numbers are little-endian. The bytes are: `gcnproof-model-v1\n`; the
    /// number of layers as u64; for each layer `in` and `out` as u64, the weights as f64 bits in
    /// [in, out] order row after row, and the `out` biases as f64 bits.
    ///
    /// If any layer names operators, has linear outputs, or has more biases than outputs, the bytes are:
    /// `gcnproof-model-v2\n`; the number of layers as u64; for each layer `in` (of one term), `out` and the number of
    /// terms as u64, the weights as before, term after term; the number of biases as u64 and the biases as f64 bits;
    /// the number of operators as u64, and for each the length of its rule in bytes as u64 and the rule as UTF-8; the
    /// number of linear flags as u64, and each as one byte, 0 or 1.
    ///
    /// If `described` is given, the bytes are `gcnproof-model-v3\n`, those of the second layout after its first line,
    /// and then all numbers as u64: the number of described layers; for each its layer, its first unit, its outputs and
    /// the number of its terms; for each term the layer that it reads plus 1 (0: the attributes), its operator, layer,
    /// row and column of its weights, its roundings, and its magnitude; then the roundings and the magnitude of the
    /// bias. A magnitude is its length (0 if there is none) and its numbers as f64 bits.
    pub digest: String,
    /// Do rules and biases stand for what they are on the edges of the graph alone? Such a network says nothing about
    /// other edges. Not part of the digest.
    pub fixed_edges: bool,
    /// The precision of the stored numbers.
    pub precision: Precision,
    /// The `__metadata__` of a safetensors file.
    pub metadata: BTreeMap<String, String>,
    /// What a user should be told.
    pub notes: Vec<String>,
}
