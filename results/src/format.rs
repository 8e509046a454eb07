//! The three formats of a table, and a row as they see it.

use std::borrow::Cow;
use std::path::Path;

use super::cell::{Cell, Complaint};
use super::column::{self, Column};
use super::error::{ResultError, name};

/// The three formats of a results file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Apache Parquet, `.parquet`.
    Parquet,
    /// One JSON object per line, `.jsonl`.
    JsonLines,
    /// Comma-separated values with a header, `.csv`.
    Csv,
}

impl Format {
    /// The format that the extension of `path` names.
    pub fn from_path(path: &Path) -> Result<Format, ResultError> {
        let extension = path.extension().unwrap_or_default().to_ascii_lowercase();
        match extension.to_str() {
            Some("parquet") => Ok(Format::Parquet),
            Some("jsonl") => Ok(Format::JsonLines),
            Some("csv") => Ok(Format::Csv),
            _ => Err(ResultError::UnknownFormat { file: name(path) }),
        }
    }
}

/// A row as the formats see it: one cell per column, in the order of the columns.
pub(super) type Row = Vec<Cell>;

/// The complaint about a place in a file of the given format.
pub(super) fn damaged(path: &Path, format: Format, place: String, problem: String) -> ResultError {
    let remedy = match format {
        Format::Parquet => {
            "the file was cut off or changed since gcnproof wrote it: restore it from a copy, or run the command that \
             wrote it again with `--force` or another `--out`"
        }
        Format::JsonLines | Format::Csv => {
            "mend or delete that row, or restore the file from a copy; the command that wrote it computes deleted \
             rows again with `--resume`, or starts over with `--force` or another `--out`"
        }
    };
    ResultError::Damaged { file: name(path), place, problem, remedy }
}

/// Puts named fields into the order of the columns. Fields that may be null may be missing.
pub(super) fn arrange(schema: &[Column], fields: Vec<(Cow<'static, str>, Cell)>) -> Result<Row, Complaint> {
    let mut row: Vec<Option<Cell>> = vec![None; schema.len()];
    for (field, cell) in fields {
        let place = column::place(schema, &field);
        let place = place.ok_or_else(|| Complaint(format!("there is no column `{field:.60}`")))?;
        row[place] = Some(cell);
    }
    let cells = row.into_iter().zip(schema);
    cells.map(|(cell, column)| column.fit(cell.unwrap_or(Cell::Null))).collect()
}
