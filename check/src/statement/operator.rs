//! Message-passing matrices: recomputed from the graph by their rule, or given and named by their digest.

use std::collections::HashMap;
use std::sync::Arc;

use gcnproof_files::{GraphFile, SparseMatrix, matrix_digest};

use super::rule::is_readout;
use crate::number::{RowSum, Stored, decimal, reciprocal, reciprocal_root};
use crate::verdict::Reason;
use crate::work::Meter;

/// Steps for a product that is added to a row.
const STEP: u64 = 4;

/// Bytes of an entry while a polynomial is computed, and of one that is kept, as an operator and among the links of a
/// layer.
const ENTRY: u64 = 12;
const KEPT: u64 = ENTRY + size_of::<super::Link>() as u64;

/// So many times the limits are for operators that the model names: a file of proofs cannot choose them.
const NAMED: u64 = 64;

/// Of the steps of a line, an operator that a file of proofs states may take one part of so many.
const STATED: u64 = 4;

/// The operators of a network, each computed once.
pub(crate) struct Operators<'a> {
    /// Is the operator asked for one that the model names?
    pub(crate) named_by_model: bool,
    graph: &'a GraphFile,
    matrices: Vec<&'a Arc<SparseMatrix>>,
    known: HashMap<String, Arc<SparseMatrix>>,
}

impl<'a> Operators<'a> {
    /// `matrices` are those that a `matrix:` rule may name.
    pub(crate) fn new(
        graph: &'a GraphFile,
        matrices: impl IntoIterator<Item = &'a Arc<SparseMatrix>>,
    ) -> Operators<'a> {
        let matrices = matrices.into_iter().collect();
        Operators { named_by_model: false, graph, matrices, known: HashMap::new() }
    }

    /// `A` of a rule. The expressions are part of the format: they fix every bit of the network.
    ///
    /// # Errors
    /// If the rule is unknown, its matrix was not given or does not fit, an entry is not finite, or a power takes too
    /// much.
    pub(crate) fn operator(&mut self, rule: &str, meter: &Meter) -> Result<Arc<SparseMatrix>, Reason> {
        if let Some(known) = self.known.get(rule) {
            return Ok(known.clone());
        }
        let matrix = match rule.strip_prefix("poly(").and_then(|rest| rest.strip_suffix(')')) {
            Some(inner) => self.polynomial(rule, inner, meter)?,
            None => self.plain(rule)?,
        };
        if !Stored::are_finite(&matrix.values) {
            return Err(Reason::Files(format!("an entry of message passing '{}' is not a finite number", short(rule))));
        }
        self.known.insert(rule.into(), matrix.clone());
        Ok(matrix)
    }

    /// A matrix that was given, or a rule of one word.
    fn plain(&self, rule: &str) -> Result<Arc<SparseMatrix>, Reason> {
        let nodes = self.graph.adjacency.rows;
        if is_readout(rule) {
            return self.readout(rule).map(Arc::new);
        }
        let Some(digest) = rule.strip_prefix("matrix:") else { return self.neighbours(rule).map(Arc::new) };
        let found = self.matrices.iter().find(|matrix| matrix_digest(matrix) == digest);
        let &matrix = found.ok_or_else(|| Reason::Header(format!("no matrix with digest {digest} was given")))?;
        if (matrix.rows, matrix.columns) != (nodes, nodes) {
            return Err(Reason::Files(format!("a message-passing matrix is not {nodes} × {nodes}")));
        }
        let fits = |row: usize| {
            let columns = matrix.row(row).0;
            columns.windows(2).all(|pair| pair[0] < pair[1]) && columns.iter().all(|&n| (n as usize) < nodes)
        };
        if !(0..nodes).all(fits) {
            return Err(Reason::Files("a message-passing matrix has column ids that do not ascend".into()));
        }
        Ok(matrix.clone())
    }

    /// The rules of readouts: row `g` has the nodes of graph `g`, and rows behind the last graph are empty.
    fn readout(&self, rule: &str) -> Result<SparseMatrix, Reason> {
        let batch = self.graph.batch.as_deref().ok_or_else(|| unknown(rule))?;
        let mut rows: Vec<Vec<u32>> = vec![Vec::new(); batch.len()];
        for (node, &of) in (0..).zip(batch) {
            rows.get_mut(of as usize).ok_or_else(|| unknown(rule))?.push(node);
        }
        let mut matrix = empty(batch.len());
        for row in &rows {
            let entry = reciprocal(if rule == "pool-mean" { row.len().max(1) } else { 1 });
            matrix.indices.extend(row);
            matrix.values.extend(row.iter().map(|_| entry));
            matrix.offsets.push(matrix.indices.len());
        }
        Ok(matrix)
    }

    /// The rules of one word.
    fn neighbours(&self, rule: &str) -> Result<SparseMatrix, Reason> {
        let nodes = self.graph.adjacency.rows;
        let with_self = !["mean", "sum", "gcn-self"].contains(&rule);
        let mut rows: Vec<Vec<u32>> = Vec::with_capacity(nodes);
        for node in 0..nodes {
            let mut row = if rule == "identity" { Vec::new() } else { self.graph.adjacency.row(node).to_vec() };
            if with_self {
                row.push(node as u32);
            }
            row.sort_unstable();
            row.dedup();
            rows.push(row);
        }
        let count = |node: u32| rows[node as usize].len();
        let entry = |i: u32, j: u32| match rule {
            "gcn" | "gcn-self" => Some(reciprocal_root(count(i), count(j))),
            "mean" | "mean+self" => Some(reciprocal(count(i))),
            "sum" | "sum+self" | "identity" => Some(reciprocal(1)),
            _ => None,
        };
        let mut matrix = empty(nodes);
        for (i, row) in rows.iter().enumerate() {
            for &j in row {
                let value = entry(i as u32, j).ok_or_else(|| unknown(rule))?;
                matrix.indices.push(j);
                matrix.values.push(value);
            }
            matrix.offsets.push(matrix.indices.len());
        }
        Ok(matrix)
    }

    /// `poly(RULE;c0,c1,…)`: the sum of `c_k` times the `k`-th power of another rule.
    fn polynomial(&mut self, rule: &str, inner: &str, meter: &Meter) -> Result<Arc<SparseMatrix>, Reason> {
        let (base, list) = inner.rsplit_once(';').ok_or_else(|| unknown(rule))?;
        if base.starts_with("poly(") {
            return Err(Reason::Header(format!("message passing '{}': a poly of a poly", short(rule))));
        }
        if is_readout(base) {
            return Err(Reason::Header(format!("message passing '{}': a poly of a readout", short(rule))));
        }
        let mut coefficients = Vec::new();
        for text in list.split(',') {
            let problem = || format!("message passing '{}': '{}' is no finite number", short(rule), short(text));
            coefficients.push(decimal(text).ok_or_else(|| Reason::Header(problem()))?);
        }
        // What has no weight need not be computed.
        while coefficients.pop_if(|last| last.is_zero()).is_some() {}
        let base = self.operator(base, meter)?;
        let nodes = base.rows;
        // Every power takes a look at all entries of the rule at least.
        let least = (coefficients.len() as u64).saturating_mul(STEP * (base.indices.len() + nodes) as u64);
        meter.ahead(self.steps(least))?;
        let mut sums = RowSum::new(nodes);
        // Of the power before, and of the sum so far.
        let (mut power, mut total) = (empty(nodes), empty(nodes));
        total.offsets = vec![0; nodes + 1];
        for (k, coefficient) in coefficients.iter().enumerate() {
            let last = k + 1 == coefficients.len();
            let products = |i: usize| match k {
                0 => 1,
                _ => base.row(i).0.iter().map(|&j| power.row(j as usize).0.len()).sum::<usize>(),
            };
            let all = (0..nodes).map(products).sum::<usize>();
            // Powers fill up: those to come hardly cost less than a part of this one.
            let to_come = (all as u64 / 4).saturating_mul((coefficients.len() - k - 1) as u64);
            meter.ahead(self.steps(STEP.saturating_mul(to_come)))?;
            meter.spend(self.steps(STEP * (all + nodes) as u64))?;
            // What is in memory at the end of this power, if it has so many entries.
            let require = |entries: usize| {
                let sum = total.indices.len().saturating_add(entries).min(nodes.saturating_mul(nodes));
                let parts = [power.indices.len(), total.indices.len(), if last { 0 } else { entries }, sum];
                let entries = parts.iter().fold(0u64, |sum, &part| sum.saturating_add(part as u64));
                meter.while_held(|| meter.hold(self.bytes(ENTRY.saturating_mul(entries))))
            };
            // A row has at most as many entries as products; where that is too much they are counted.
            if require((0..nodes).map(|i| products(i).min(nodes)).sum()).is_err() {
                meter.spend(self.steps(STEP * all as u64))?;
                require(if k == 0 { nodes } else { count_entries(&base, &power) })?;
            }
            let (mut next, mut next_total) = (empty(nodes), empty(nodes));
            for i in 0..nodes {
                let mut row = SparseMatrix { rows: 1, ..empty(nodes) };
                if k == 0 {
                    sums.add(Stored::ONE, i as u32, reciprocal(1));
                } else {
                    let (columns, entries) = base.row(i);
                    for (&j, &entry) in columns.iter().zip(entries) {
                        sums.add_row(Stored::new(entry), &power, j as usize);
                    }
                }
                sums.finish(&mut row);
                if !Stored::are_finite(&row.values) {
                    let problem = format!("power {k} has an entry that is not finite");
                    return Err(Reason::Files(format!("message passing '{}': {problem}", short(rule))));
                }
                if !coefficient.is_zero() {
                    sums.add_row(Stored::ONE, &total, i);
                    sums.add_row(*coefficient, &row, 0);
                    // What has come out as 0 so far is 0 plus what is to come.
                    sums.finish(&mut next_total);
                }
                if !last {
                    next.indices.append(&mut row.indices);
                    next.values.append(&mut row.values);
                    next.offsets.push(next.indices.len());
                }
            }
            power = next;
            if !coefficient.is_zero() {
                total = next_total;
            }
        }
        meter.keep(self.bytes(KEPT * total.indices.len() as u64))?;
        Ok(Arc::new(total))
    }

    /// What counts of some bytes: an operator that the model names is the user's, and may be larger.
    fn bytes(&self, bytes: u64) -> u64 {
        if self.named_by_model { bytes / NAMED } else { bytes }
    }

    /// The same of steps.
    fn steps(&self, steps: u64) -> u64 {
        if self.named_by_model { steps / NAMED } else { steps.saturating_mul(STATED) }
    }
}

/// How many entries the product of two square matrices has at most: those that do not cancel.
fn count_entries(left: &SparseMatrix, right: &SparseMatrix) -> usize {
    let mut seen_by = vec![usize::MAX; right.columns];
    let mut count = 0;
    for i in 0..left.rows {
        for &j in left.row(i).0.iter().flat_map(|&j| right.row(j as usize).0) {
            count += usize::from(std::mem::replace(&mut seen_by[j as usize], i) != i);
        }
    }
    count
}

/// A square matrix without rows so far.
fn empty(nodes: usize) -> SparseMatrix {
    SparseMatrix { rows: nodes, columns: nodes, offsets: vec![0], indices: Vec::new(), values: Vec::new() }
}

fn unknown(rule: &str) -> Reason {
    Reason::Header(format!("unknown message passing '{}'", short(rule)))
}

/// The beginning of a text of an untrusted file.
pub(crate) fn short(text: &str) -> String {
    text.chars().take(100).collect()
}

#[cfg(test)]
mod tests;
