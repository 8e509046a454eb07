//! Operators of a description: rules by name, and matrices that stand in the same file, which are then named by their
//! digest.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::tensors::Tensors;
use crate::{FileError, SparseMatrix, digest};

/// The matrices that a description has named so far.
#[derive(Default)]
pub(crate) struct Operators {
    /// By the name in the description: the digest and the matrix.
    known: BTreeMap<String, (String, Arc<SparseMatrix>)>,
}

/// The tensors of the matrix `name`: row offsets, column ids, values.
pub(crate) fn tensor_names(name: &str) -> [String; 3] {
    ["indptr", "indices", "data"].map(|part| format!("{name}.{part}"))
}

impl Operators {
    /// The rule as the rest of the program knows it: `matrix:NAME` becomes `matrix:DIGEST`.
    ///
    /// # Errors
    /// In words, if the matrix is not in the file or is none.
    pub(crate) fn rule(&mut self, rule: &str, tensors: &mut Tensors) -> Result<String, String> {
        let inner = rule.strip_prefix("poly(").and_then(|rest| rest.strip_suffix(')'));
        let (base, coefficients) = match inner.and_then(|inner| inner.rsplit_once(';')) {
            Some((base, coefficients)) => (base, Some(coefficients)),
            None => (rule, None),
        };
        let Some(name) = base.strip_prefix("matrix:") else { return Ok(rule.to_owned()) };
        let digest = match self.known.get(name) {
            Some((digest, _)) => digest.clone(),
            None => {
                let matrix = read(name, tensors)?;
                let digest = digest::matrix(&matrix);
                self.known.insert(name.to_owned(), (digest.clone(), Arc::new(matrix)));
                digest
            }
        };
        Ok(match coefficients {
            Some(coefficients) => format!("poly(matrix:{digest};{coefficients})"),
            None => format!("matrix:{digest}"),
        })
    }

    /// The tensors that belong to matrices.
    pub(crate) fn tensors(&self) -> impl Iterator<Item = String> {
        self.known.keys().flat_map(|name| tensor_names(name))
    }

    /// The matrices, each once.
    pub(crate) fn matrices(self) -> Vec<Arc<SparseMatrix>> {
        let by_digest: BTreeMap<String, Arc<SparseMatrix>> = self.known.into_values().collect();
        by_digest.into_values().collect()
    }
}

/// A matrix with as many rows as columns, in CSR form.
fn read(name: &str, tensors: &mut Tensors) -> Result<SparseMatrix, String> {
    let [indptr, indices, data] = tensor_names(name);
    let names = tensors.names();
    if let Some(missing) = [&indptr, &indices, &data].into_iter().find(|part| !names.contains(part)) {
        return Err(format!("the operator matrix:{name} needs the tensor `{missing}`, which is not in the file"));
    }
    let values = tensors.vector(&data).map_err(|error| error.to_string())?;
    let (offsets, columns) = (tensors.integers(&indptr)?, tensors.integers(&indices)?);
    let rows = offsets.len().checked_sub(1).filter(|&rows| rows > 0 && u32::try_from(rows).is_ok());
    let rows =
        rows.ok_or_else(|| format!("`{indptr}` has {} numbers: one more than nodes is needed", offsets.len()))?;
    if columns.len() != values.len() {
        return Err(format!("`{indices}` has {} numbers, `{data}` has {}", columns.len(), values.len()));
    }
    let ends = (offsets.first() == Some(&0), offsets.last().is_some_and(|&last| last as usize == values.len()));
    if ends != (true, true) || offsets.windows(2).any(|pair| pair[0] > pair[1]) {
        return Err(format!("`{indptr}` must rise from 0 to {}, the number of entries", values.len()));
    }
    if let Some(column) = columns.iter().find(|&&column| column as usize >= rows) {
        return Err(format!("`{indices}` has the column {column}, but the matrix has {rows} rows and columns"));
    }
    let mut matrix = SparseMatrix { rows, columns: rows, offsets: vec![0], indices: Vec::new(), values: Vec::new() };
    for (row, ends) in offsets.windows(2).enumerate() {
        let mut entries: Vec<(u64, f64)> =
            (ends[0]..ends[1]).map(|at| (columns[at as usize], values[at as usize])).collect();
        entries.sort_by_key(|entry| entry.0);
        if let Some(pair) = entries.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            return Err(format!("the operator matrix:{name} has two entries at row {row}, column {}", pair[0].0));
        }
        for (column, value) in entries.into_iter().filter(|entry| entry.1 != 0.0) {
            matrix.indices.push(column as u32);
            matrix.values.push(value);
        }
        matrix.offsets.push(matrix.indices.len());
    }
    Ok(matrix)
}

/// As an error of the file.
pub(crate) fn wrong(file: &str, entry: &str, problem: String) -> FileError {
    FileError::Description { file: file.into(), entry: entry.into(), problem: problem.into() }
}
