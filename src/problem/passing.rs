//! The message passing of one layer: the operators of its terms, entry beside entry.

use std::sync::Arc;

use crate::problem::matrix::{MatrixRows, SparseMatrix};

/// The operators `A_1 … A_K` of a layer on one pattern: where any of them has an entry, all `K` values stand side by
/// side.
///
/// A layer of one term has one value for each entry. Operators that never meet (neighbours and the node itself) have
/// zeros in between; where they meet, what a flip changes in a unit is a sum over them.
#[derive(Clone, Debug)]
pub struct Passing {
    nodes: usize,
    terms: usize,
    offsets: Vec<usize>,
    columns: Vec<u32>,
    values: Vec<f64>,
}

impl Passing {
    /// Lays square operators of one size on each other.
    pub fn new(operators: &[Arc<SparseMatrix>]) -> Passing {
        let (nodes, terms) = (operators.first().map_or(0, |operator| operator.rows()), operators.len());
        let entries = operators.iter().map(|operator| operator.nnz()).max().unwrap_or(0);
        let mut passing = Passing {
            nodes,
            terms,
            offsets: Vec::with_capacity(nodes + 1),
            columns: Vec::with_capacity(entries),
            values: Vec::with_capacity(entries * terms),
        };
        passing.offsets.push(0);
        let mut places = vec![0; terms];
        for m in 0..nodes {
            places.fill(0);
            let rows: Vec<(&[u32], &[f64])> = operators.iter().map(|operator| operator.row(m)).collect();
            // Rows are sorted: the smallest column that is left comes next.
            while let Some(column) = rows.iter().zip(&places).filter_map(|(row, &at)| row.0.get(at)).min().copied() {
                passing.columns.push(column);
                for ((columns, values), place) in rows.iter().zip(&mut places) {
                    let here = columns.get(*place) == Some(&column);
                    passing.values.push(if here { values[*place] } else { 0.0 });
                    *place += usize::from(here);
                }
            }
            passing.offsets.push(passing.columns.len());
        }
        passing
    }

    /// Is any entry below 0?
    pub fn has_negative(&self) -> bool {
        self.values.iter().any(|&value| value < 0.0)
    }

    /// `K`: the number of terms.
    pub fn terms(&self) -> usize {
        self.terms
    }

    /// Nodes between which messages are passed.
    pub fn nodes(&self) -> usize {
        self.nodes
    }

    /// The entries of a row: column, and the value of each operator.
    #[inline]
    pub fn row(&self, m: usize) -> impl Iterator<Item = (usize, &[f64])> {
        let range = self.offsets[m]..self.offsets[m + 1];
        let values = self.values[range.start * self.terms..range.end * self.terms].chunks_exact(self.terms.max(1));
        self.columns[range].iter().map(|&n| n as usize).zip(values)
    }

    /// The columns and the values of a row, where there is one term: those of the first otherwise would be mixed with
    /// others.
    #[inline]
    pub fn single_row(&self, m: usize) -> (&[u32], &[f64]) {
        debug_assert_eq!(self.terms, 1);
        let range = self.offsets[m]..self.offsets[m + 1];
        (&self.columns[range.clone()], &self.values[range])
    }

    /// Number of entries of a row.
    pub fn row_length(&self, m: usize) -> usize {
        self.offsets[m + 1] - self.offsets[m]
    }

    /// An entry that is infinite or not a number, if there is one.
    pub fn not_finite(&self) -> Option<f64> {
        self.values.iter().copied().find(|value| !value.is_finite())
    }

    /// One of the operators, its zeros left out.
    pub fn operator(&self, term: usize) -> SparseMatrix {
        let (mut offsets, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
        for m in 0..self.nodes {
            for (n, a) in self.row(m).filter(|entry| entry.1[term] != 0.0) {
                columns.push(n as u32);
                values.push(a[term]);
            }
            offsets.push(columns.len());
        }
        SparseMatrix::new((self.nodes, self.nodes), offsets, columns, values)
    }
}
