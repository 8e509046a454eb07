//! The three plain matrices that files are read into.

/// Sparse 0/1 pattern in CSR form: sorted, duplicate-free column ids per row.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pattern {
    /// Number of rows.
    pub rows: usize,
    /// Number of columns.
    pub columns: usize,
    /// Row `i` is `indices[offsets[i]..offsets[i + 1]]`; `rows + 1` numbers.
    pub offsets: Vec<usize>,
    /// Column ids, row after row, ascending within a row.
    pub indices: Vec<u32>,
}

impl Pattern {
    /// The columns of row `i`, ascending.
    ///
    /// # Panics
    /// If there is no row `i`: a broken contract of the caller, never of a file.
    #[must_use]
    pub fn row(&self, i: usize) -> &[u32] {
        &self.indices[self.offsets[i]..self.offsets[i + 1]]
    }

    /// Whether the entry at `row`, `column` is 1.
    #[must_use]
    pub fn contains(&self, row: usize, column: u32) -> bool {
        self.row(row).binary_search(&column).is_ok()
    }

    /// How many entries are 1.
    #[must_use]
    pub fn entries(&self) -> usize {
        self.indices.len()
    }

    /// The same pattern with rows and columns exchanged.
    ///
    /// # Panics
    /// If there are more than 2^32 rows, which no reader of this crate lets through.
    #[must_use]
    pub fn transpose(&self) -> Pattern {
        let (offsets, indices, _) = transposed(self.rows, self.columns, &self.offsets, &self.indices);
        Pattern { rows: self.columns, columns: self.rows, offsets, indices }
    }
}

/// Sparse real matrix in CSR form: sorted, duplicate-free, no stored zeros.
#[derive(Debug, Clone, PartialEq)]
pub struct SparseMatrix {
    /// Number of rows.
    pub rows: usize,
    /// Number of columns.
    pub columns: usize,
    /// Row `i` is at `offsets[i]..offsets[i + 1]`; `rows + 1` numbers.
    pub offsets: Vec<usize>,
    /// Column ids, row after row, ascending within a row.
    pub indices: Vec<u32>,
    /// The value of each entry; finite and not zero.
    pub values: Vec<f64>,
}

impl SparseMatrix {
    /// The columns and the values of row `i`.
    ///
    /// # Panics
    /// If there is no row `i`: a broken contract of the caller, never of a file.
    #[must_use]
    pub fn row(&self, i: usize) -> (&[u32], &[f64]) {
        let range = self.offsets[i]..self.offsets[i + 1];
        (&self.indices[range.clone()], &self.values[range])
    }

    /// How many entries are not zero.
    #[must_use]
    pub fn entries(&self) -> usize {
        self.indices.len()
    }

    /// The same matrix with rows and columns exchanged.
    ///
    /// # Panics
    /// If there are more than 2^32 rows, which no reader of this crate lets through.
    #[must_use]
    pub fn transpose(&self) -> SparseMatrix {
        let (offsets, indices, origin) = transposed(self.rows, self.columns, &self.offsets, &self.indices);
        let values = origin.iter().map(|&at| self.values[at]).collect();
        SparseMatrix { rows: self.columns, columns: self.rows, offsets, indices, values }
    }

    /// The same, and the values are given up.
    #[must_use]
    pub fn into_pattern(self) -> Pattern {
        Pattern { rows: self.rows, columns: self.columns, offsets: self.offsets, indices: self.indices }
    }

    /// Where the entries are, without their values.
    #[must_use]
    pub fn pattern(&self) -> Pattern {
        Pattern { rows: self.rows, columns: self.columns, offsets: self.offsets.clone(), indices: self.indices.clone() }
    }
}

/// Dense matrix, row after row.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DenseMatrix {
    /// Number of rows.
    pub rows: usize,
    /// Number of columns.
    pub columns: usize,
    /// `rows * columns` values, row after row.
    pub values: Vec<f64>,
}

impl DenseMatrix {
    /// Row `i`.
    ///
    /// # Panics
    /// If there is no row `i`: a broken contract of the caller, never of a file.
    #[must_use]
    pub fn row(&self, i: usize) -> &[f64] {
        &self.values[i * self.columns..(i + 1) * self.columns]
    }

    /// The entry in row `i` and column `j`.
    ///
    /// # Panics
    /// If there is no such entry: a broken contract of the caller, never of a file.
    #[must_use]
    pub fn get(&self, i: usize, j: usize) -> f64 {
        self.row(i)[j]
    }

    /// The same matrix with rows and columns exchanged.
    #[must_use]
    pub fn transpose(&self) -> DenseMatrix {
        let mut values = Vec::with_capacity(self.values.len());
        for j in 0..self.columns {
            values.extend((0..self.rows).map(|i| self.values[i * self.columns + j]));
        }
        DenseMatrix { rows: self.columns, columns: self.rows, values }
    }
}

/// Counting sort by column: new offsets, new indices, and where each new entry stood before.
/// Walking the rows in order leaves the new rows sorted without another sort.
fn transposed(rows: usize, columns: usize, offsets: &[usize], indices: &[u32]) -> (Vec<usize>, Vec<u32>, Vec<usize>) {
    let mut starts = vec![0usize; columns + 1];
    for &column in indices {
        starts[column as usize + 1] += 1;
    }
    for column in 0..columns {
        starts[column + 1] += starts[column];
    }
    let mut next = starts.clone();
    let mut turned = vec![0u32; indices.len()];
    let mut origin = vec![0usize; indices.len()];
    for row in 0..rows {
        let id = u32::try_from(row).expect("row ids fit in 32 bits");
        for at in offsets[row]..offsets[row + 1] {
            let slot = &mut next[indices[at] as usize];
            turned[*slot] = id;
            origin[*slot] = at;
            *slot += 1;
        }
    }
    (starts, turned, origin)
}
