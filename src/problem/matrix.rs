//! Sparse 0/1 patterns and real matrices as `sprs` holds them, weights as `nalgebra` does, and their rows as slices for
//! inner loops.

use nalgebra::DMatrix;
use sprs::{CsMatI, SpIndex};
use thiserror::Error;

/// A 0/1 matrix by rows: who is linked to whom, which node has which attribute. Column ids ascend in every row.
pub type Pattern = CsMatI<u8, u32, usize>;

/// A real matrix by rows: the entries of a message-passing operator.
pub type SparseMatrix = CsMatI<f64, u32, usize>;

/// A matrix that cannot be taken as it is.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum MatrixError {
    /// A 0/1 matrix has another entry.
    #[error("{what}: the entry in row {row} and column {column} is neither 0 nor 1")]
    NotBinary {
        /// Which matrix.
        what: &'static str,
        /// From 0.
        row: usize,
        /// From 0.
        column: usize,
    },
    /// An entry is infinite or not a number.
    #[error("{what}: the entry in row {row} and column {column} is {value}: it must be finite")]
    NotFinite {
        /// Which matrix.
        what: &'static str,
        /// From 0.
        row: usize,
        /// From 0.
        column: usize,
        /// The entry.
        value: f64,
    },
    /// Column ids are out of range, unsorted or repeated, or offsets are none.
    #[error("{what}: not a sparse matrix by rows: {problem}")]
    Structure {
        /// Which matrix.
        what: &'static str,
        /// What is wrong.
        problem: String,
    },
    /// There are more rows or columns than ids.
    #[error("{what}: {count} rows or columns are more than 2^32 − 1")]
    TooLarge {
        /// Which matrix.
        what: &'static str,
        /// How many there are.
        count: usize,
    },
}

/// Rows of a 0/1 matrix.
pub trait PatternRows {
    /// The columns of row `i` that are 1, ascending.
    fn row(&self, i: usize) -> &[u32];
    /// Is this entry 1?
    fn contains(&self, row: usize, column: u32) -> bool;
}

impl PatternRows for Pattern {
    #[inline]
    fn row(&self, i: usize) -> &[u32] {
        &self.indices()[self.indptr().outer_inds_sz(i)]
    }

    #[inline]
    fn contains(&self, row: usize, column: u32) -> bool {
        self.row(row).binary_search(&column).is_ok()
    }
}

/// Rows of a real matrix.
pub trait MatrixRows {
    /// The columns and the values of row `i`.
    fn row(&self, i: usize) -> (&[u32], &[f64]);
}

impl MatrixRows for SparseMatrix {
    #[inline]
    fn row(&self, i: usize) -> (&[u32], &[f64]) {
        let range = self.indptr().outer_inds_sz(i);
        (&self.indices()[range.clone()], &self.data()[range])
    }
}

/// A pattern from sorted columns by row.
pub(crate) fn pattern(from: gcnproof_files::Pattern) -> Pattern {
    let ones = vec![1; from.indices.len()];
    // The readers hold what a pattern is: sorted ids in range, offsets that ascend.
    Pattern::try_new((from.rows, from.columns), from.offsets, from.indices, ones)
        .unwrap_or_else(|(_, _, _, error)| panic!("a pattern that is none: {error}"))
}

/// The same as plain data.
pub(crate) fn plain_pattern(matrix: &Pattern) -> gcnproof_files::Pattern {
    gcnproof_files::Pattern {
        rows: matrix.rows(),
        columns: matrix.cols(),
        offsets: matrix.indptr().to_owned().into_raw_storage(),
        indices: matrix.indices().to_vec(),
    }
}

/// The same matrix with rows and columns exchanged, again by rows.
pub fn transpose<N: Clone + Default>(matrix: &CsMatI<N, u32, usize>) -> CsMatI<N, u32, usize> {
    matrix.transpose_view().to_csr()
}

/// A matrix from plain data.
///
/// # Errors
/// If the data is none.
pub fn sparse(from: gcnproof_files::SparseMatrix) -> Result<SparseMatrix, MatrixError> {
    SparseMatrix::try_new((from.rows, from.columns), from.offsets, from.indices, from.values)
        .map_err(|(_, _, _, error)| MatrixError::Structure { what: "a matrix", problem: error.to_string() })
}

/// The same as plain data.
pub fn plain(matrix: &SparseMatrix) -> gcnproof_files::SparseMatrix {
    gcnproof_files::SparseMatrix {
        rows: matrix.rows(),
        columns: matrix.cols(),
        offsets: matrix.indptr().to_owned().into_raw_storage(),
        indices: matrix.indices().to_vec(),
        values: matrix.data().to_vec(),
    }
}

/// Any sparse matrix by rows, with entries that are not 0 and ids of our own type.
///
/// # Errors
/// If it is too large.
pub(crate) fn by_rows<N, I: SpIndex, P: SpIndex>(
    what: &'static str,
    matrix: &CsMatI<N, I, P>,
) -> Result<CsMatI<N, u32, usize>, MatrixError>
where
    N: Clone + Default + PartialEq,
{
    let count = matrix.rows().max(matrix.cols());
    if count >= u32::MAX as usize {
        return Err(MatrixError::TooLarge { what, count });
    }
    let matrix = matrix.to_csr();
    let (mut offsets, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
    for row in matrix.outer_iterator() {
        for (column, value) in row.iter().filter(|(_, value)| **value != N::default()) {
            indices.push(column as u32);
            values.push(value.clone());
        }
        offsets.push(indices.len());
    }
    CsMatI::try_new((matrix.rows(), matrix.cols()), offsets, indices, values)
        .map_err(|(_, _, _, error)| MatrixError::Structure { what, problem: error.to_string() })
}

/// Any 0/1 matrix as a pattern.
///
/// # Errors
/// If an entry is neither 0 nor 1, or the matrix is too large.
pub(crate) fn binary<N, I: SpIndex, P: SpIndex>(
    what: &'static str,
    matrix: &CsMatI<N, I, P>,
) -> Result<Pattern, MatrixError>
where
    N: Clone + Default + PartialEq + num_traits::One,
{
    let matrix = by_rows(what, matrix)?;
    for (row, entries) in matrix.outer_iterator().enumerate() {
        if let Some((column, _)) = entries.iter().find(|(_, value)| **value != N::one()) {
            return Err(MatrixError::NotBinary { what, row, column });
        }
    }
    Ok(matrix.map(|_| 1))
}

/// Are all entries finite?
///
/// # Errors
/// With the first that is not.
pub(crate) fn check_finite(what: &'static str, matrix: &SparseMatrix) -> Result<(), MatrixError> {
    for (row, entries) in matrix.outer_iterator().enumerate() {
        if let Some((column, &value)) = entries.iter().find(|(_, value)| !value.is_finite()) {
            return Err(MatrixError::NotFinite { what, row, column, value });
        }
    }
    Ok(())
}

/// The weights of a layer. Kept with one column per input, because inner loops go over the weights of one input.
#[derive(Clone, Debug, PartialEq)]
pub struct Weights {
    by_input: DMatrix<f64>,
}

impl Weights {
    /// From a matrix of inputs × outputs.
    pub fn new(matrix: &DMatrix<f64>) -> Weights {
        Weights { by_input: matrix.transpose() }
    }

    /// From `inputs × outputs` values, one input after the other.
    ///
    /// # Panics
    /// If that is not how many there are.
    #[doc(hidden)]
    pub fn from_rows(inputs: usize, outputs: usize, values: Vec<f64>) -> Weights {
        Weights { by_input: DMatrix::from_vec(outputs, inputs, values) }
    }

    /// The matrix `W`, inputs × outputs.
    pub fn matrix(&self) -> DMatrix<f64> {
        self.by_input.transpose()
    }

    /// How many inputs there are.
    #[inline]
    pub fn rows(&self) -> usize {
        self.by_input.ncols()
    }

    /// How many outputs there are.
    #[inline]
    pub fn columns(&self) -> usize {
        self.by_input.nrows()
    }

    /// The weights of input `i`.
    #[inline]
    pub fn row(&self, i: usize) -> &[f64] {
        let width = self.columns();
        &self.by_input.as_slice()[i * width..][..width]
    }

    /// The weight from input `i` to output `j`.
    #[inline]
    pub fn get(&self, i: usize, j: usize) -> f64 {
        self.row(i)[j]
    }

    /// All weights, one input after the other.
    pub fn values(&self) -> &[f64] {
        self.by_input.as_slice()
    }

    /// The same as plain data.
    pub fn plain(&self) -> gcnproof_files::DenseMatrix {
        let (rows, columns) = (self.rows(), self.columns());
        gcnproof_files::DenseMatrix { rows, columns, values: self.values().to_vec() }
    }

    /// The same, to be trained.
    #[doc(hidden)]
    pub fn values_mut(&mut self) -> &mut [f64] {
        self.by_input.as_mut_slice()
    }
}
