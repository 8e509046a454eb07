//! Attributes whose rows are divided by their sums: what their entries are, and how they are recognised.

use crate::{Pattern, SparseMatrix};

/// How a row of 0/1 attributes becomes what the network reads.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Normalisation {
    /// It stays as it is.
    #[default]
    None,
    /// Divided by its number of ones in float32, as PyTorch Geometric's `NormalizeFeatures` does: every entry is the
    /// float32 nearest to `1/c`.
    Float32,
    /// The same in float64.
    Float64,
}

impl Normalisation {
    /// The entries of a row with `count` ones; a row without any is divided by 1. Both divisions are rounded once, so
    /// that every framework computes the same float.
    #[must_use]
    pub fn entry(self, count: usize) -> f64 {
        let count = count.max(1);
        match self {
            Normalisation::None => 1.0,
            Normalisation::Float32 => f64::from(1.0 / count as f32),
            Normalisation::Float64 => 1.0 / count as f64,
        }
    }

    /// Are rows divided by their sums?
    #[must_use]
    pub fn is_some(self) -> bool {
        self != Normalisation::None
    }

    /// Bits of the entries: 32 or 64; 0 where rows stay as they are.
    #[must_use]
    pub fn bits(self) -> u32 {
        match self {
            Normalisation::None => 0,
            Normalisation::Float32 => 32,
            Normalisation::Float64 => 64,
        }
    }

    /// The normalisation of a matrix that is 0/1 divided by the sums of its rows, to the last bit; none if it is not,
    /// or if no row has more than one entry, so that it is 0/1 itself.
    ///
    /// Rows of 1, 2, 4, … ones are the same in both precisions: then the type of what the file stores says which is
    /// meant.
    #[must_use]
    pub fn recognise(matrix: &SparseMatrix, stored_as_doubles: bool) -> Option<Normalisation> {
        let some = (0..matrix.rows).any(|row| matrix.row(row).1.len() > 1);
        let mut ways = [Normalisation::Float32, Normalisation::Float64];
        if stored_as_doubles {
            ways.reverse();
        }
        ways.into_iter().find(|way| some && way.divides(matrix))
    }

    /// Are the entries of a matrix, zeros left out, exactly these?
    pub(crate) fn divides(self, matrix: &SparseMatrix) -> bool {
        let mut rows = (0..matrix.rows).map(|row| matrix.row(row).1);
        rows.all(|values| values.iter().all(|value| value.to_bits() == self.entry(values.len()).to_bits()))
    }

    /// The entries of a pattern, row after row.
    pub(crate) fn entries(self, pattern: &Pattern) -> impl Iterator<Item = f64> + '_ {
        (0..pattern.rows).flat_map(move |row| {
            let length = pattern.row(row).len();
            std::iter::repeat_n(self.entry(length), length)
        })
    }
}

impl std::fmt::Display for Normalisation {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.write_str(match self {
            Normalisation::None => "0/1",
            Normalisation::Float32 => "0/1, divided by the row's sum in float32",
            Normalisation::Float64 => "0/1, divided by the row's sum in float64",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matrix(rows: &[&[f64]]) -> SparseMatrix {
        let (indices, values) = (Vec::new(), Vec::new());
        let mut matrix = SparseMatrix { rows: rows.len(), columns: 4, offsets: vec![0], indices, values };
        for row in rows {
            matrix.indices.extend(0..row.len() as u32);
            matrix.values.extend_from_slice(row);
            matrix.offsets.push(matrix.values.len());
        }
        matrix
    }

    #[test]
    fn rows_divided_by_their_sums_are_recognised_to_the_last_bit() {
        let third = f64::from(1f32 / 3.0);
        let read = |rows: &[&[f64]], doubles| Normalisation::recognise(&matrix(rows), doubles);
        for doubles in [false, true] {
            assert_eq!(read(&[&[third; 3], &[], &[1.0]], doubles), Some(Normalisation::Float32));
            assert_eq!(read(&[&[1.0 / 3.0; 3]], doubles), Some(Normalisation::Float64));
            for other in [&[third, third.next_up(), third][..], &[0.5; 3], &[1.0, 1.0], &[0.5, 0.25, 0.25]] {
                assert_eq!(read(&[other], doubles), None, "{other:?}");
            }
            assert_eq!(read(&[&[third; 3], &[1.0 / 3.0; 3]], doubles), None);
            assert_eq!(read(&[&[1.0], &[]], doubles), None);
        }
        // Halves are the same in both.
        assert_eq!(read(&[&[0.5; 2]], false), Some(Normalisation::Float32));
        assert_eq!(read(&[&[0.5; 2]], true), Some(Normalisation::Float64));
    }
}
