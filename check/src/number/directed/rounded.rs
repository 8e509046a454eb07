//! Sums of rows of message-passing matrices, rounded to nearest: the powers of a rule.

use gcnproof_files::SparseMatrix;

use super::Stored;

/// A row in the making, in arithmetic that is part of the format: every product and every sum is rounded to nearest.
pub(crate) struct RowSum {
    sums: Vec<f64>,
    touched: Vec<u32>,
    is_touched: Vec<bool>,
}

impl RowSum {
    /// A row without entries.
    pub(crate) fn new(columns: usize) -> RowSum {
        RowSum { sums: vec![0.0; columns], touched: Vec::new(), is_touched: vec![false; columns] }
    }

    /// Adds `factor` times an entry.
    pub(crate) fn add(&mut self, factor: Stored, column: u32, value: f64) {
        let at = column as usize;
        if !std::mem::replace(&mut self.is_touched[at], true) {
            self.touched.push(column);
        }
        self.sums[at] += factor.0 * value;
    }

    /// Adds `factor` times a row of a matrix.
    pub(crate) fn add_row(&mut self, factor: Stored, matrix: &SparseMatrix, row: usize) {
        let (columns, values) = matrix.row(row);
        columns.iter().zip(values).for_each(|(&column, &value)| self.add(factor, column, value));
    }

    /// Appends the row without its zeros, and begins the next.
    pub(crate) fn finish(&mut self, to: &mut SparseMatrix) {
        self.touched.sort_unstable();
        for &column in &self.touched {
            let at = column as usize;
            self.is_touched[at] = false;
            let sum = std::mem::take(&mut self.sums[at]);
            if sum != 0.0 {
                to.indices.push(column);
                to.values.push(sum);
            }
        }
        self.touched.clear();
        to.offsets.push(to.indices.len());
    }
}
