//! Index arrays as files store them, checked and sorted into CSR order.

use crate::array::Array;
use crate::source::LARGEST_EMPTY;
use crate::{FileError, SparseMatrix};

/// A sorted matrix, and what had to be done to get it.
pub(crate) struct Sorted {
    pub matrix: SparseMatrix,
    /// Entries that shared a place with another and were added to it.
    pub merged: usize,
    /// Entries that were stored though they are zero (also zero sums).
    pub zeros: usize,
}

/// Two sides from a `shape` array, neither zero nor out of proportion to the stored entries.
pub(crate) fn sides(shape: &Array, entries: usize) -> Result<(usize, usize), FileError> {
    let sides = shape.integers()?;
    let &[rows, columns] = sides.as_slice() else {
        return Err(shape.misshapen(
            format!("has {} numbers, but a matrix has two sides", sides.len()),
            "save the matrix's `.shape`".into(),
        ));
    };
    let side = |at: usize, side: i64| {
        let problem = |text| shape.element(at, text, "save the matrix's real `.shape`".into());
        let size = usize::try_from(side).map_err(|_| problem(format!("is {side}, a negative size")))?;
        if size == 0 {
            return Err(problem("is 0: the matrix has no entries".into()));
        }
        proportion(&shape.file, &shape.name, size, entries)?;
        Ok(size)
    };
    Ok((side(0, rows)?, side(1, columns)?))
}

/// Refuses a side that nothing in the file justifies: shapes are two numbers, memory is not.
pub(crate) fn proportion(file: &str, name: &str, side: usize, entries: usize) -> Result<(), FileError> {
    if side > LARGEST_EMPTY.max(entries.saturating_mul(64)) || u32::try_from(side).is_err() {
        return Err(FileError::TooLarge {
            file: file.into(),
            entry: name.into(),
            problem: format!(
                "declares a side of {side} with only {entries} stored entries (more than \
                 {LARGEST_EMPTY} need one entry for every 64 rows or columns, and at most 2^32)"
            ),
        });
    }
    Ok(())
}

/// Checks `indptr`: as long as `lines + 1`, from 0 to `entries`, never descending.
pub(crate) fn offsets(indptr: &Array, lines: usize, entries: usize) -> Result<Vec<usize>, FileError> {
    const REMEDY: &str = "save the matrix again from scipy (`.tocsr()`), or from the tool that made it";
    indptr.flat()?;
    let numbers = indptr.integers()?;
    if numbers.len().checked_sub(1) != Some(lines) {
        return Err(indptr.misshapen(
            format!("has {} numbers, but {lines} rows or columns need one more than that", numbers.len()),
            REMEDY.into(),
        ));
    }
    let wrong = |at, text| Err(indptr.element(at, text, REMEDY.into()));
    let mut offsets = Vec::with_capacity(numbers.len());
    let mut before = 0i64;
    for (at, &number) in numbers.iter().enumerate() {
        if at == 0 && number != 0 {
            return wrong(at, format!("is {number}, but the first offset must be 0"));
        }
        if number < before {
            return wrong(at, format!("is {number}, less than {before} before it"));
        }
        match usize::try_from(number) {
            Ok(offset) if offset <= entries => offsets.push(offset),
            _ => {
                return wrong(at, format!("is {number}, but only {entries} entries are stored"));
            }
        }
        before = number;
    }
    if offsets.last() != Some(&entries) {
        let text = format!("is {before}, but {entries} entries are stored");
        return wrong(lines, text);
    }
    Ok(offsets)
}

/// Checks an index array: as long as the data, every index in `0..side`.
pub(crate) fn indices(array: &Array, side: usize, entries: usize) -> Result<Vec<u32>, FileError> {
    const REMEDY: &str = "save the matrix again from the tool that made it";
    let length = array.flat()?;
    if length != entries {
        return Err(array.misshapen(format!("has {length} numbers, but there are {entries} entries"), REMEDY.into()));
    }
    if let Some(indices) = array.indices_below(side) {
        return Ok(indices);
    }
    let mut checked = Vec::with_capacity(entries);
    for (at, index) in array.each_integer()?.enumerate() {
        let index = index?;
        match u32::try_from(index) {
            Ok(small) if (small as usize) < side => checked.push(small),
            _ => {
                let text = format!("is {index}, but indices go from 0 to {}", side - 1);
                return Err(array.element(at, text, REMEDY.into()));
            }
        }
    }
    Ok(checked)
}

/// The values, all finite.
pub(crate) fn finite(array: &Array) -> Result<Vec<f64>, FileError> {
    finite_or(array, "save the graph or the matrix again with finite numbers")
}

/// The same with another remedy.
pub(crate) fn finite_or(array: &Array, remedy: &'static str) -> Result<Vec<f64>, FileError> {
    let values = array.reals()?;
    match values.iter().position(|value| !value.is_finite()) {
        None => Ok(values),
        Some(at) => Err(FileError::NonFinite {
            file: array.file.clone(),
            entry: array.name.clone(),
            position: array.position(at),
            value: values[at],
            remedy,
        }),
    }
}

/// A matrix whose rows are stored one after the other. What is sorted already, without zeros, is taken as it is: large
/// graphs are not held twice.
pub(crate) fn by_rows(
    [rows, columns]: [usize; 2],
    offsets: Vec<usize>,
    indices: Vec<u32>,
    values: &Array,
) -> Result<Sorted, FileError> {
    let rises = |bounds: &[usize]| indices[bounds[0]..bounds[1]].is_sorted_by(|a, b| a < b);
    if offsets.windows(2).all(rises) {
        let numbers = finite(values)?;
        if numbers.iter().all(|&number| number != 0.0) {
            let matrix = SparseMatrix { rows, columns, offsets, indices, values: numbers };
            return Ok(Sorted { matrix, merged: 0, zeros: 0 });
        }
    }
    sort([rows, columns], &offsets, (0..indices.len()).collect(), &indices, values)
}

/// Sorts rows, adds up duplicates as scipy does (exactly, or not at all), and drops zeros.
///
/// Row `i` owns the entries `order[offsets[i]..offsets[i + 1]]`, which are positions in `indices`
/// and in `values`; so complaints can name the position that the file has.
pub(crate) fn sort(
    [rows, columns]: [usize; 2],
    offsets: &[usize],
    mut order: Vec<usize>,
    indices: &[u32],
    values: &Array,
) -> Result<Sorted, FileError> {
    let numbers = finite(values)?;
    let mut matrix = SparseMatrix {
        rows,
        columns,
        offsets: vec![0],
        indices: Vec::with_capacity(indices.len()),
        values: Vec::with_capacity(indices.len()),
    };
    let (mut merged, mut zeros) = (0, 0);
    for bounds in offsets.windows(2) {
        let row = &mut order[bounds[0]..bounds[1]];
        row.sort_unstable_by_key(|&at| (indices[at], at));
        for run in row.chunk_by(|&a, &b| indices[a] == indices[b]) {
            merged += run.len() - 1;
            let mut sum = 0.0;
            for &at in run {
                sum = exact_sum(sum, numbers[at]).ok_or_else(|| {
                    values.element(
                        at,
                        "shares its place with another entry, and their sum is not exact".into(),
                        "call `.sum_duplicates()` on the matrix before saving it".into(),
                    )
                })?;
            }
            if sum == 0.0 {
                zeros += run.len();
            } else {
                matrix.indices.push(indices[run[0]]);
                matrix.values.push(sum);
            }
        }
        matrix.offsets.push(matrix.indices.len());
    }
    Ok(Sorted { matrix, merged, zeros })
}

/// The nonzero entries of a dense array.
pub(crate) fn dense(array: &Array) -> Result<SparseMatrix, FileError> {
    let &[rows, columns] = array.shape() else {
        return Err(array.misshapen(
            format!("has shape {}, but a matrix has two sides", crate::array::spell(array.shape())),
            "save a two-dimensional array".into(),
        ));
    };
    if rows == 0 || columns == 0 {
        return Err(array.misshapen(
            format!("has shape [{rows}, {columns}]: it is empty"),
            "save a matrix with at least one row and one column".into(),
        ));
    }
    proportion(&array.file, &array.name, rows.max(columns), 0)?;
    let numbers = finite(array)?;
    let mut matrix = SparseMatrix { rows, columns, offsets: vec![0], indices: vec![], values: vec![] };
    for row in numbers.chunks_exact(columns) {
        for (column, &value) in (0u32..).zip(row) {
            if value != 0.0 {
                matrix.indices.push(column);
                matrix.values.push(value);
            }
        }
        matrix.offsets.push(matrix.indices.len());
    }
    Ok(matrix)
}

/// The sum of two doubles if it is a double (Knuth's two-sum has no remainder), else nothing:
/// a rounded sum would be a matrix that nobody saved.
fn exact_sum(a: f64, b: f64) -> Option<f64> {
    let sum = a + b;
    let part = sum - a;
    let remainder = (a - (sum - part)) + (b - part);
    (remainder == 0.0).then_some(sum)
}
