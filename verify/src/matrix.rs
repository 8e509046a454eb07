//! `Sparse` and `Dense`: the two kinds of matrices, as plain data.

/// A matrix kept as a list of its non-zero entries.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sparse {
    /// Number of rows.
    pub rows: usize,
    /// Number of columns.
    pub columns: usize,
    /// `(row, column, value)`, each position at most once, in any order.
    pub entries: Vec<(usize, usize, f64)>,
}

/// A matrix kept whole, row after row.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Dense {
    /// Number of rows.
    pub rows: usize,
    /// Number of columns.
    pub columns: usize,
    /// `rows × columns` values, row-major.
    pub values: Vec<f64>,
}

impl Dense {
    /// A matrix of zeros.
    pub fn zeros(rows: usize, columns: usize) -> Self {
        let values = vec![0.0; rows * columns];
        Self { rows, columns, values }
    }

    /// The value at `(row, column)`. Panics outside the matrix.
    pub fn at(&self, row: usize, column: usize) -> f64 {
        self.row(row)[column]
    }

    /// The value at `(row, column)`, to be written. Panics outside the matrix.
    pub fn at_mut(&mut self, row: usize, column: usize) -> &mut f64 {
        &mut self.values[row * self.columns..(row + 1) * self.columns][column]
    }

    /// One row. Panics outside the matrix.
    pub fn row(&self, row: usize) -> &[f64] {
        &self.values[row * self.columns..(row + 1) * self.columns]
    }
}
