//! How far the entries of an operator may be from the stored ones where a framework computes them in float32
//! (`docs/guarantee.md`).

use std::sync::Arc;

use gcnproof_files::{GraphFile, SparseMatrix, matrix_digest};

use crate::number::{Stored, decimal};

/// Units of a rule: a degree, its root, and two products.
const RULE: u64 = 8;

/// Bits of a float32 number.
const BITS: usize = 24;

/// The least `operator_error` that covers what a framework does, in units of `2⁻²⁴`; none if the rule is unknown, its
/// matrix is not given, or no relative error covers it, because entries of a polynomial with negative numbers may
/// cancel.
///
/// Rules are as a header names them, those of a layer's terms split at ` & `; `matrices` are those that were given and
/// those of the model. A statement of `p < 24` bits covers float32 with `⌈usual · 2^(p − 24)⌉` units or more, because
/// its units are larger.
pub fn usual_error(rule: &str, graph: &GraphFile, matrices: &[Arc<SparseMatrix>]) -> Option<u64> {
    let Some(inner) = rule.strip_prefix("poly(").and_then(|rest| rest.strip_suffix(')')) else {
        return Some(Base::new(rule, graph, matrices)?.error);
    };
    let (rule, list) = inner.rsplit_once(';')?;
    let base = Base::new(rule, graph, matrices)?;
    let coefficients = list.split(',').map(decimal).collect::<Option<Vec<Stored>>>()?;
    if base.negative || coefficients.iter().any(|c| c.exact().is_negative()) {
        return None;
    }
    // Hop by hop: a product with an entry, the sum of a row, a product with a coefficient, and a sum with the power
    // before.
    let hops = coefficients.iter().rposition(|c| !c.is_zero()).unwrap_or(0) as u64;
    Some(hops * (base.error + base.longest + 4) + 4)
}

/// What is said of a rule that is no polynomial.
struct Base {
    error: u64,
    /// Entries of the longest row.
    longest: u64,
    negative: bool,
}

impl Base {
    fn new(rule: &str, graph: &GraphFile, matrices: &[Arc<SparseMatrix>]) -> Option<Base> {
        if let Some(digest) = rule.strip_prefix("matrix:") {
            let matrix = matrices.iter().find(|matrix| matrix_digest(matrix) == digest)?;
            let entries: Vec<_> = Stored::all(&matrix.values).into_iter().map(Stored::exact).collect();
            let rounded = entries.iter().any(|entry| entry.reduced().bits() > BITS);
            let longest = (0..matrix.rows).map(|i| matrix.row(i).0.len() as u64).max().unwrap_or(0);
            let negative = entries.iter().any(|entry| entry.is_negative());
            return Some(Base { error: if rounded { RULE } else { 0 }, longest, negative });
        }
        let adjacency = &graph.adjacency;
        let neighbours = |with_self: bool| {
            let missing = |i: usize| with_self && !adjacency.contains(i, i as u32);
            let row = |i: usize| adjacency.row(i).len() as u64 + u64::from(missing(i));
            (0..adjacency.rows).map(row).max().unwrap_or(0)
        };
        let of_graphs = || {
            let runs = graph.batch.as_deref().unwrap_or_default().chunk_by(|a, b| a == b);
            runs.map(|run| run.len() as u64).max().unwrap_or(0)
        };
        let (error, longest) = match rule {
            "identity" => (0, 1),
            "pool-sum" => (0, of_graphs()),
            "pool-mean" => (RULE, of_graphs()),
            "sum" => (0, neighbours(false)),
            "sum+self" => (0, neighbours(true)),
            "mean" | "gcn-self" => (RULE, neighbours(false)),
            "mean+self" | "gcn" => (RULE, neighbours(true)),
            _ => return None,
        };
        Some(Base { error, longest, negative: false })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gcnproof_files::Pattern;

    #[test]
    fn a_polynomial_pays_for_every_hop() {
        // A star of five: the node in the middle has four neighbours.
        let adjacency =
            Pattern { rows: 5, columns: 5, offsets: vec![0, 4, 5, 6, 7, 8], indices: vec![1, 2, 3, 4, 0, 0, 0, 0] };
        let attributes = Pattern { rows: 5, columns: 1, offsets: vec![0; 6], indices: Vec::new() };
        let graph = GraphFile::new(adjacency, attributes, None);
        let usual = |rule: &str| usual_error(rule, &graph, &[]);
        for (rule, least) in [("sum", 0), ("identity", 0), ("sum+self", 0), ("gcn", 8), ("mean", 8), ("gcn-self", 8)] {
            assert_eq!(usual(rule), Some(least), "{rule}");
        }
        assert_eq!(usual("poly(sum;0,0,1)"), Some(2 * (4 + 4) + 4));
        assert_eq!(usual("poly(gcn;0,0,1)"), Some(2 * (8 + 5 + 4) + 4));
        assert_eq!(usual("poly(sum+self;0,1)"), Some(5 + 4 + 4));
        assert_eq!(usual("poly(mean;1,0.5,0)"), Some(8 + 4 + 4 + 4));
        assert_eq!(usual("poly(identity;2)"), Some(4));
        for none in ["poly(gcn;1,-1)", "poly(gcn;x)", "poly(poly(gcn;1);1)", "matrix:0", "gat", ""] {
            assert_eq!(usual(none), None, "{none}");
        }
        let matrix = |value: f64| {
            Arc::new(SparseMatrix {
                rows: 5,
                columns: 5,
                offsets: vec![0, 2, 2, 2, 2, 2],
                indices: vec![0, 1],
                values: vec![1.0, value],
            })
        };
        let of = |text: &str, matrix: &Arc<SparseMatrix>| {
            usual_error(
                &text.replace("M", &format!("matrix:{}", matrix_digest(matrix))),
                &graph,
                std::slice::from_ref(matrix),
            )
        };
        assert_eq!((of("M", &matrix(0.5)), of("M", &matrix(0.1))), (Some(0), Some(8)));
        // As many bits as float32 has, and one more.
        let of_bits = |bits: i32| of("M", &matrix(1.0 + 0.5f64.powi(bits - 1)));
        assert_eq!((of_bits(24), of_bits(25)), (Some(0), Some(8)));
        assert_eq!((of("poly(M;0,1)", &matrix(0.5)), of("poly(M;0,1)", &matrix(0.1))), (Some(10), Some(18)));
        assert_eq!(of("poly(M;0,1)", &matrix(-0.5)), None);
    }
}
