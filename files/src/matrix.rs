//! Message-passing matrices: real matrices from scipy's npz, from `adj_*` parts, or dense.

use crate::archive::{Archive, listed};
use crate::array::Array;
use crate::source::{self, Kind};
use crate::{DenseMatrix, FileError, SparseMatrix, triplets};
use std::path::Path;

/// How to get a file of the right form.
const REMEDY: &str = "save the matrix with `scipy.sparse.save_npz(path, matrix.tocsr())`, or a dense one \
     with `np.save(path, matrix)`";

/// Reads a matrix: `scipy.sparse.save_npz` in CSR, CSC or COO form, an npz file with `adj_*` CSR
/// parts or with a single dense array, or a dense npy file. Entries may have either sign and must
/// be finite; duplicates are added up and zeros dropped.
///
/// # Errors
/// If the file cannot be read or is no such matrix.
pub fn read_matrix(path: &Path) -> Result<SparseMatrix, FileError> {
    parse_matrix(&path.display().to_string(), &source::read(path)?)
}

/// Reads a matrix from the bytes of a file; see [`read_matrix`].
///
/// # Errors
/// If the bytes are no such matrix.
pub fn parse_matrix(name: &str, bytes: &[u8]) -> Result<SparseMatrix, FileError> {
    match source::kind(bytes) {
        Kind::Npy => triplets::dense(&Array::from_npy(name, bytes)?),
        Kind::Zip => from_archive(name, &mut Archive::open(name, bytes)?),
        Kind::Safetensors | Kind::Pickle | Kind::Other => Err(FileError::UnknownFormat {
            file: name.into(),
            wanted: "an npz or npy file",
            start: source::start(bytes),
            remedy: REMEDY,
        }),
    }
}

/// Reads one named array of an npz file as a dense matrix; one dimension becomes one column.
///
/// # Errors
/// If the file cannot be read, has no such array, or the array is no such matrix.
pub fn read_array(path: &Path, entry: &str) -> Result<DenseMatrix, FileError> {
    let (name, bytes) = (path.display().to_string(), source::read(path)?);
    let array = Archive::open(&name, &bytes)?.required(entry, "name one of the arrays that the file has")?;
    let (rows, columns) = match array.shape() {
        [rows] => (*rows, 1),
        [rows, columns] => (*rows, *columns),
        shape => {
            let problem = format!("has {} dimensions, but one or two are needed", shape.len());
            return Err(array.misshapen(problem, "save a vector or a matrix".into()));
        }
    };
    Ok(DenseMatrix { rows, columns, values: array.reals()? })
}

fn from_archive(file: &str, archive: &mut Archive) -> Result<SparseMatrix, FileError> {
    if archive.has("format") {
        let format = archive.array("format")?;
        let spelling = format.strings()?;
        return match spelling.first().map(String::as_str) {
            Some("csr") => compressed(archive, "", false),
            Some("csc") => compressed(archive, "", true),
            Some("coo") => coordinates(archive),
            other => Err(format.element(
                0,
                format!("is `{}`, but only csr, csc and coo are read", other.unwrap_or_default()),
                REMEDY.into(),
            )),
        };
    }
    if archive.has("row") && archive.has("col") {
        return coordinates(archive);
    }
    let with_attributes = ["attr_data", "attr_matrix", "x"].into_iter().any(|name| archive.has(name));
    if archive.has("edge_index") || archive.has("adj_indptr") && with_attributes {
        return Err(FileError::GraphForMatrix { file: file.into() });
    }
    if archive.has("adj_indptr") {
        return compressed(archive, "adj_", false);
    }
    if archive.has("indptr") {
        // Rows or columns? For a square matrix nothing but `format` can tell.
        let found = listed(archive.names());
        let (file, entry) = (file.into(), "format".into());
        return Err(FileError::MissingArray { file, entry, found, remedy: REMEDY.into() });
    }
    let names: Vec<String> = archive.names().map(str::to_owned).collect();
    match names.as_slice() {
        [only] => triplets::dense(&archive.array(only)?),
        _ => Err(FileError::MissingArray {
            file: file.into(),
            entry: "indptr".into(),
            found: listed(archive.names()),
            remedy: REMEDY.into(),
        }),
    }
}

/// CSR parts, or CSC parts, which are the CSR parts of the transpose.
fn compressed(archive: &mut Archive, prefix: &str, by_column: bool) -> Result<SparseMatrix, FileError> {
    let mut part = |name: &str| archive.required(&format!("{prefix}{name}"), REMEDY);
    let data = part("data")?;
    let entries = data.flat()?;
    let (rows, columns) = triplets::sides(&part("shape")?, entries)?;
    let (lines, across) = if by_column { (columns, rows) } else { (rows, columns) };
    let offsets = triplets::offsets(&part("indptr")?, lines, entries)?;
    let indices = triplets::indices(&part("indices")?, across, entries)?;
    let matrix = triplets::by_rows([lines, across], offsets, indices, &data)?.matrix;
    Ok(if by_column { matrix.transpose() } else { matrix })
}

/// COO parts: bucketed by row, then sorted like CSR.
fn coordinates(archive: &mut Archive) -> Result<SparseMatrix, FileError> {
    let mut part = |name: &str| archive.required(name, REMEDY);
    let data = part("data")?;
    let entries = data.flat()?;
    let (rows, columns) = triplets::sides(&part("shape")?, entries)?;
    let row_ids = triplets::indices(&part("row")?, rows, entries)?;
    let column_ids = triplets::indices(&part("col")?, columns, entries)?;
    let mut order: Vec<usize> = (0..entries).collect();
    order.sort_by_key(|&at| row_ids[at]);
    let mut offsets = vec![0usize; rows + 1];
    for &row in &row_ids {
        offsets[row as usize + 1] += 1;
    }
    for row in 0..rows {
        offsets[row + 1] += offsets[row];
    }
    let sorted = triplets::sort([rows, columns], &offsets, order, &column_ids, &data)?;
    Ok(sorted.matrix)
}
