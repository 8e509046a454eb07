//! Reading and writing of whole tables.

use std::borrow::Cow;
use std::fs::File;
use std::path::Path;

use serde::Serialize;
use serde::de::{DeserializeOwned, IntoDeserializer};

use super::cell::{Cell, Complaint};
use super::column::Column;
use super::contents::contents_of;
use super::error::{ResultError, name, unreadable};
use super::format::{Format, Row, arrange, damaged};
use super::into_cell::ToCell;
use super::{disk, parquet, text};

/// Reads a whole table. The format is that of the extension.
pub fn read<T: DeserializeOwned>(path: &Path, schema: &[Column]) -> Result<Vec<T>, ResultError> {
    let format = Format::from_path(path)?;
    let rows = read_rows(path, schema)?;
    rows.into_iter().enumerate().map(|(row, cells)| from_row(path, format, schema, row, cells)).collect()
}

/// Writes a whole table. The format is that of the extension. The file is replaced as a whole:
/// it holds either what it held before or all of the new rows.
pub fn write<'a, T: Serialize + 'a>(
    path: &Path,
    schema: &[Column],
    rows: impl IntoIterator<Item = &'a T>,
) -> Result<(), ResultError> {
    write_of(path, schema, rows, None)
}

/// The same, with the description of the run where the format has a place for it: Parquet's metadata.
pub(super) fn write_of<'a, T: Serialize + 'a>(
    path: &Path,
    schema: &[Column],
    rows: impl IntoIterator<Item = &'a T>,
    run: Option<&serde_json::Value>,
) -> Result<(), ResultError> {
    let format = Format::from_path(path)?;
    // Cells take several times the memory of rows: they are made on the way, part by part.
    let rows = rows.into_iter().enumerate().map(|(row, value)| to_row(path, schema, row, value));
    let wrong = |problem: String| ResultError::Unencodable { file: name(path), problem };
    disk::replace_with(path, |put| match format {
        Format::Parquet => parquet::encode(schema, rows, run, wrong, put),
        Format::JsonLines => text::encode_json_lines(schema, rows, wrong, put),
        Format::Csv => text::encode_csv(schema, rows, wrong, put),
    })
}

/// Reads a whole table and leaves its rows as cells.
pub(super) fn read_rows(path: &Path, schema: &[Column]) -> Result<Vec<Row>, ResultError> {
    let format = Format::from_path(path)?;
    let file = File::open(path).map_err(unreadable(path))?;
    if let Some((problem, remedy)) = misnamed(path, format) {
        return Err(ResultError::NoTable { file: name(path), problem, remedy });
    }
    match format {
        Format::Parquet => parquet::decode(path, &file, schema),
        Format::JsonLines => text::decode_json_lines(path, &file, schema),
        Format::Csv => text::decode_csv(path, &file, schema),
    }
}

/// What a table is whose name says something else, and what is to be done about it.
fn misnamed(path: &Path, format: Format) -> Option<(&'static str, &'static str)> {
    let (found, problem, remedy) = match contents_of(path)? {
        "a table of results (Parquet)" => (
            Format::Parquet,
            "is a table of results in Parquet, and its name says something else",
            "rename it so that it ends in .parquet, and its .run.json in the same way",
        ),
        "a table of results (JSON lines)" => (
            Format::JsonLines,
            "is a table of results in JSON lines, and its name says something else",
            "rename it so that it ends in .jsonl, and its .run.json in the same way",
        ),
        "a table of results (CSV)" => (
            Format::Csv,
            "is a table of results in CSV, and its name says something else",
            "rename it so that it ends in .csv, and its .run.json in the same way",
        ),
        _ => return None,
    };
    (found != format).then_some((problem, remedy))
}

/// The cells of a row; `row` counts from 0 and serves the complaint.
pub(super) fn to_row<T: Serialize>(path: &Path, schema: &[Column], row: usize, value: &T) -> Result<Row, ResultError> {
    let cells = value.serialize(ToCell).and_then(|cell| match cell {
        Cell::Group(fields) => arrange(schema, fields),
        other => Err(Complaint(format!("a row is a group of fields, not {other}"))),
    });
    cells.map_err(|complaint| ResultError::Misfit {
        file: name(path),
        place: format!("row {}", row + 1),
        problem: complaint.0,
    })
}

/// The row that the cells describe.
fn from_row<T: DeserializeOwned>(
    path: &Path,
    format: Format,
    schema: &[Column],
    row: usize,
    cells: Row,
) -> Result<T, ResultError> {
    let names = schema.iter().map(|column| Cow::Borrowed(column.name));
    let group = Cell::Group(names.zip(cells).collect());
    T::deserialize(group.into_deserializer())
        .map_err(|complaint| damaged(path, format, format!("row {}", row + 1), complaint.0))
}
