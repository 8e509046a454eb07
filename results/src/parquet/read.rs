//! Reads Parquet: from columns of values and levels to rows.

use std::borrow::Cow;
use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use ::parquet::errors::{ParquetError, Result as ParquetResult};
use ::parquet::file::reader::{ChunkReader, FileReader, SerializedFileReader};
use ::parquet::record::{Field, Row as Record};
use ::parquet::schema::types::Type;

use super::{message_of, seal};
use crate::cell::Cell;
use crate::column::{Column, Kind, place};
use crate::error::{ResultError, other_columns, unreadable};
use crate::format::{Format, Row, arrange, damaged};

/// Reads what [`encode`](super::encode) wrote.
pub(crate) fn decode(path: &Path, file: &File, schema: &[Column]) -> Result<Vec<Row>, ResultError> {
    let wrong = |place: &str, problem: String| damaged(path, Format::Parquet, place.to_owned(), problem);
    let length = file.metadata().map_err(unreadable(path))?.len();
    // One copy of the bytes is checked and read, so that nobody can change the file in between.
    let bytes = usize::try_from(length).map_err(|error| ParquetError::General(error.to_string()));
    let bytes = bytes.and_then(|length| file.get_bytes(0, length));
    let bytes = bytes.map_err(|error| wrong("the file as a whole", error.to_string()))?;
    let problem = match seal::holds(&bytes) {
        Some(true) => None,
        Some(false) => Some("the checksum does not agree with the contents"),
        None => Some("there is no checksum of gcnproof: cut off, or written by another program"),
    };
    if let Some(problem) = problem {
        return Err(wrong("the file as a whole", problem.to_owned()));
    }
    // Who forges the checksum as well gets this far. Nothing outside is changed before a panic.
    catch_unwind(AssertUnwindSafe(|| parse(path, bytes, schema)))
        .unwrap_or_else(|_| Err(wrong("the file as a whole", "the contents contradict themselves".to_owned())))
}

/// Reads a file whose checksum agrees.
fn parse<R: ChunkReader + 'static>(path: &Path, bytes: R, schema: &[Column]) -> Result<Vec<Row>, ResultError> {
    let wrong = |place: String, problem: String| damaged(path, Format::Parquet, place, problem);
    let broken = |error: ParquetError| wrong("the file as a whole".to_owned(), error.to_string());
    let reader = SerializedFileReader::new(bytes).map_err(broken)?;
    let found = reader.metadata().file_metadata().schema();
    if !is_readable(found, schema).map_err(broken)? {
        return Err(other_columns(path, schema, found.get_fields().iter().map(|field| field.name())));
    }
    let mut rows = Vec::new();
    for (number, record) in reader.get_row_iter(None).map_err(broken)?.enumerate() {
        let wrong = |problem| wrong(format!("row {}", number + 1), problem);
        let record = record.map_err(|error| wrong(error.to_string()))?;
        let fields = fields(record).ok_or_else(|| wrong("a type that is not used here".to_owned()))?;
        rows.push(arrange(schema, fields).map_err(|complaint| wrong(complaint.0))?);
    }
    Ok(rows)
}

/// Does a file have these columns, perhaps under former names and without those that earlier versions did not write?
fn is_readable(found: &Type, schema: &[Column]) -> ParquetResult<bool> {
    let mut met = vec![false; schema.len()];
    for field in found.get_fields() {
        let Some(at) = place(schema, field.name()) else { return Ok(false) };
        met[at] = true;
        let kinds: &[Kind] = match &schema[at].kind {
            Kind::Integers => &[Kind::Integers, Kind::Text],
            kind => std::slice::from_ref(kind),
        };
        let mut like = false;
        for kind in kinds {
            like |= message_of(std::iter::once((field.name(), *kind)))?.get_fields() == std::slice::from_ref(field);
        }
        if !like {
            return Ok(false);
        }
    }
    Ok(schema.iter().zip(met).all(|(column, met)| met || column.is_added()))
}

/// The named cells of a row or a group that the library read.
fn fields(row: Record) -> Option<Vec<(Cow<'static, str>, Cell)>> {
    row.into_columns().into_iter().map(|(name, field)| Some((name.into(), cell(field)?))).collect()
}

/// The cell of a value that the library read.
fn cell(field: Field) -> Option<Cell> {
    Some(match field {
        Field::Null => Cell::Null,
        Field::Bool(value) => Cell::Boolean(value),
        Field::Long(value) => Cell::Integer(value),
        Field::Double(value) => Cell::Float(value),
        Field::Str(value) => Cell::Text(value),
        Field::Group(row) => Cell::Group(fields(row)?),
        Field::ListInternal(list) => {
            Cell::List(list.elements().iter().map(|field| cell(field.clone())).collect::<Option<_>>()?)
        }
        _ => return None,
    })
}
