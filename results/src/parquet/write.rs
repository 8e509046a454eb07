//! Writes Parquet: from rows to columns of values and levels.

use std::sync::Arc;

use ::parquet::basic::Compression;
use ::parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use ::parquet::errors::{ParquetError, Result as ParquetResult};
use ::parquet::file::metadata::KeyValue;
use ::parquet::file::properties::WriterProperties;
use ::parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};

use super::{RUN, message, seal};
use crate::cell::Cell;
use crate::column::{Column, Kind};
use crate::disk::Put;
use crate::error::ResultError;
use crate::format::Row;

/// The rows of one row group: enough for compression, few enough for readers that take a group at a
/// time.
const GROUP: usize = 1 << 15;

/// One column of the file: values, and the levels that say where rows and lists begin and what is
/// null.
struct Leaf<V> {
    values: Vec<V>,
    definition: Vec<i16>,
    repetition: Vec<i16>,
}

impl<V> Leaf<V> {
    fn new() -> Leaf<V> {
        Leaf { values: Vec::new(), definition: Vec::new(), repetition: Vec::new() }
    }

    /// A value is defined one level deeper than the null in its place, which is at level `null`.
    fn push(&mut self, repetition: i16, null: i16, value: Option<V>) {
        self.repetition.push(repetition);
        self.definition.push(if value.is_some() { null + 1 } else { null });
        self.values.extend(value);
    }

    /// Levels that the column's maximum makes pointless are not looked at by the library.
    fn write<D: DataType<T = V>>(self, group: &mut SerializedRowGroupWriter<'_, Vec<u8>>) -> ParquetResult<()> {
        let column = group.next_column()?;
        let mut column = column.ok_or_else(|| ParquetError::General("a column too many".to_owned()))?;
        column.typed::<D>().write_batch(&self.values, Some(&self.definition), Some(&self.repetition))?;
        column.close()
    }
}

/// A column that is no list.
fn plain<V>(rows: &[Row], place: usize, value: impl Fn(&Cell) -> Option<V>) -> Leaf<V> {
    let mut leaf = Leaf::new();
    for row in rows {
        leaf.push(0, 0, value(&row[place]));
    }
    leaf
}

/// One of the three fields of the margins: list (1), its items (2), the item (3), the field (4).
fn margins<V>(rows: &[Row], place: usize, field: usize, value: impl Fn(&Cell) -> Option<V>) -> Leaf<V> {
    let mut leaf = Leaf::new();
    for row in rows {
        let Cell::List(items) = &row[place] else {
            leaf.push(0, 0, None);
            continue;
        };
        if items.is_empty() {
            leaf.push(0, 1, None);
        }
        for (index, item) in items.iter().enumerate() {
            let value = if let Cell::Group(fields) = item { value(&fields[field].1) } else { None };
            leaf.push(i16::from(index > 0), 3, value);
        }
    }
    leaf
}

/// The numbers of the flips: list (1), its items (2), the pair (3), its items (4), the number (5).
fn flips(rows: &[Row], place: usize) -> Leaf<i64> {
    let mut leaf = Leaf::new();
    for row in rows {
        let Cell::List(items) = &row[place] else {
            leaf.push(0, 0, None);
            continue;
        };
        if items.is_empty() {
            leaf.push(0, 1, None);
        }
        for (index, item) in items.iter().enumerate() {
            let pair: &[Cell] = if let Cell::List(pair) = item { pair } else { &[] };
            for (side, number) in pair.iter().enumerate() {
                let repetition = if side > 0 { 2 } else { i16::from(index > 0) };
                leaf.push(repetition, 4, integer(number));
            }
        }
    }
    leaf
}

/// The numbers of a list: list (1), its items (2), the number (3).
fn integers(rows: &[Row], place: usize) -> Leaf<i64> {
    let mut leaf = Leaf::new();
    for row in rows {
        let Cell::List(items) = &row[place] else {
            leaf.push(0, 0, None);
            continue;
        };
        if items.is_empty() {
            leaf.push(0, 1, None);
        }
        for (index, item) in items.iter().enumerate() {
            leaf.push(i16::from(index > 0), 2, integer(item));
        }
    }
    leaf
}

fn integer(cell: &Cell) -> Option<i64> {
    if let Cell::Integer(value) = cell { Some(*value) } else { None }
}

fn float(cell: &Cell) -> Option<f64> {
    if let Cell::Float(value) = cell { Some(*value) } else { None }
}

fn boolean(cell: &Cell) -> Option<bool> {
    if let Cell::Boolean(value) = cell { Some(*value) } else { None }
}

fn text(cell: &Cell) -> Option<ByteArray> {
    if let Cell::Text(value) = cell { Some(value.as_str().into()) } else { None }
}

/// The whole file, made row group by row group.
pub(crate) fn encode(
    schema: &[Column],
    mut rows: impl Iterator<Item = Result<Row, ResultError>>,
    run: Option<&serde_json::Value>,
    wrong: impl Fn(String) -> ResultError,
    put: Put,
) -> Result<(), ResultError> {
    let mut misfit = None;
    let mut next = || {
        let group = rows.by_ref().take(GROUP).collect::<Result<Vec<Row>, ResultError>>();
        group.map_err(|error| misfit = Some(error)).ok().filter(|rows| !rows.is_empty())
    };
    let bytes = encode_groups(schema, run, &mut next).map_err(|problem| wrong(problem.to_string()));
    match misfit {
        Some(error) => Err(error),
        None => put(&bytes?),
    }
}

fn encode_groups(
    schema: &[Column],
    run: Option<&serde_json::Value>,
    next: &mut dyn FnMut() -> Option<Vec<Row>>,
) -> ParquetResult<Vec<u8>> {
    let run = run.map(|run| KeyValue::new(RUN.to_owned(), run.to_string()));
    // The checksum comes last: the last mark in the file is its own.
    let blank = KeyValue::new("gcnproof-checksum".to_owned(), seal::blank());
    let metadata = run.into_iter().chain([blank]).collect();
    let properties = WriterProperties::builder()
        .set_created_by(concat!("gcnproof ", env!("CARGO_PKG_VERSION")).to_owned())
        .set_key_value_metadata(Some(metadata))
        .set_compression(Compression::SNAPPY)
        .build();
    let mut file = SerializedFileWriter::new(Vec::new(), Arc::new(message(schema)?), Arc::new(properties))?;
    while let Some(rows) = next() {
        let rows = rows.as_slice();
        let mut group = file.next_row_group()?;
        for (place, column) in schema.iter().enumerate() {
            match column.kind {
                Kind::Integer | Kind::OptionalInteger => plain(rows, place, integer).write::<Int64Type>(&mut group),
                // A required column has no nulls; NaN is the double that says as little.
                Kind::Float => {
                    let known = |cell: &Cell| Some(float(cell).unwrap_or(f64::NAN));
                    plain(rows, place, known).write::<DoubleType>(&mut group)
                }
                Kind::OptionalFloat => plain(rows, place, float).write::<DoubleType>(&mut group),
                Kind::Text | Kind::OptionalText => plain(rows, place, text).write::<ByteArrayType>(&mut group),
                Kind::Boolean | Kind::OptionalBoolean => plain(rows, place, boolean).write::<BoolType>(&mut group),
                Kind::Margins => margins(rows, place, 0, integer)
                    .write::<Int64Type>(&mut group)
                    .and_then(|()| margins(rows, place, 1, float).write::<DoubleType>(&mut group))
                    .and_then(|()| margins(rows, place, 2, float).write::<DoubleType>(&mut group)),
                Kind::Flips => flips(rows, place).write::<Int64Type>(&mut group),
                Kind::Integers => integers(rows, place).write::<Int64Type>(&mut group),
            }?;
        }
        group.close()?;
    }
    let mut bytes = file.into_inner()?;
    seal::seal(&mut bytes).ok_or_else(|| ParquetError::General("the checksum has no place".to_owned()))?;
    Ok(bytes)
}
