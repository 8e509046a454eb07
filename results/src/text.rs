//! JSON lines and CSV, written and read.

use std::borrow::Cow;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use serde::{Serialize, Serializer};

use super::cell::{Cell, Complaint};
use super::column::{Column, Kind, place};
use super::disk::Put;
use super::error::{ResultError, name, other_columns, unreadable};
use super::format::{Format, Row, arrange, damaged};

/// One line of JSON lines.
struct Line<'a>(&'a [Column], &'a Row);

impl Serialize for Line<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|column| column.name).zip(self.1))
    }
}

/// One object per line, its fields in the order of the columns.
pub(super) fn encode_json_lines(
    schema: &[Column],
    rows: impl Iterator<Item = Result<Row, ResultError>>,
    wrong: impl Fn(String) -> ResultError,
    put: Put,
) -> Result<(), ResultError> {
    let mut bytes = Vec::new();
    for row in rows {
        bytes.clear();
        serde_json::to_writer(&mut bytes, &Line(schema, &row?)).map_err(|error| wrong(error.to_string()))?;
        bytes.push(b'\n');
        put(&bytes)?;
    }
    Ok(())
}

/// Reads what [`encode_json_lines`] wrote; the order of the fields does not matter, nor do blank
/// lines.
pub(super) fn decode_json_lines(path: &Path, file: &File, schema: &[Column]) -> Result<Vec<Row>, ResultError> {
    let bytes = contents(path, file)?;
    let mut rows = Vec::new();
    for (number, line) in bytes.split(|&byte| byte == b'\n').enumerate() {
        if line.trim_ascii().is_empty() {
            continue;
        }
        let wrong = |problem| damaged(path, Format::JsonLines, format!("line {}", number + 1), problem);
        let fields: serde_json::Map<String, serde_json::Value> =
            serde_json::from_slice(line).map_err(|error| wrong(in_line(&error)))?;
        let fields = fields.into_iter().map(|(name, value)| (Cow::Owned(name), value.into())).collect();
        rows.push(arrange(schema, fields).map_err(|complaint| wrong(complaint.0))?);
    }
    Ok(rows)
}

/// serde_json counts lines as well, but sees only one of them.
fn in_line(error: &serde_json::Error) -> String {
    error.to_string().replace("at line 1 column", "at byte")
}

/// A header and one line per row. Null is an empty cell, lists are JSON.
pub(super) fn encode_csv(
    schema: &[Column],
    rows: impl Iterator<Item = Result<Row, ResultError>>,
    wrong: impl Fn(String) -> ResultError,
    put: Put,
) -> Result<(), ResultError> {
    put(&csv_line(schema.iter().map(|column| Ok(column.name.as_bytes().to_vec()))).map_err(&wrong)?)?;
    for row in rows {
        put(&csv_line(row?.iter().map(csv_field)).map_err(&wrong)?)?;
    }
    Ok(())
}

/// What stands in a cell.
fn csv_field(cell: &Cell) -> Result<Vec<u8>, serde_json::Error> {
    Ok(match cell {
        Cell::Null => Vec::new(),
        // The shortest digits that read back as the same double; `inf` and `NaN` as pandas spells them.
        Cell::Float(value) => format!("{value:?}").into_bytes(),
        Cell::Text(value) => value.clone().into_bytes(),
        other => serde_json::to_vec(other)?,
    })
}

fn csv_line(fields: impl Iterator<Item = Result<Vec<u8>, serde_json::Error>>) -> Result<Vec<u8>, String> {
    let fields = fields.collect::<Result<Vec<_>, _>>().map_err(|error| error.to_string())?;
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(fields).map_err(|error| error.to_string())?;
    writer.into_inner().map_err(|error| error.to_string())
}

/// What other programs make of a CSV file, by its first line, and what is to be done about it.
fn no_table(bytes: &[u8]) -> Option<(&'static str, &'static str)> {
    let first = bytes.split(|&byte| byte == b'\n').next().unwrap_or_default();
    match () {
        () if bytes.trim_ascii().is_empty() => Some(("is empty", "restore it from a copy, or run the command again")),
        () if first.contains(&b';') && !first.contains(&b',') => {
            let remedy = "save it again with commas, or take the file as gcnproof wrote it";
            Some(("its columns are separated by semicolons, as some spreadsheets write them", remedy))
        }
        () if first.first().is_some_and(u8::is_ascii_digit) => Some((
            "the line with the names of the columns is missing",
            "restore the first line of the file as gcnproof wrote it",
        )),
        () => None,
    }
}

/// Reads what [`encode_csv`] wrote.
pub(super) fn decode_csv(path: &Path, file: &File, schema: &[Column]) -> Result<Vec<Row>, ResultError> {
    let bytes = contents(path, file)?;
    if let Some((problem, remedy)) = no_table(&bytes) {
        return Err(ResultError::NoTable { file: name(path), problem, remedy });
    }
    let wrong = |line: u64, problem| damaged(path, Format::Csv, format!("line {line}"), problem);
    let broken = |error: csv::Error| {
        let line = error.position().map_or(1, csv::Position::line);
        wrong(line, error.to_string())
    };
    let mut reader = csv::Reader::from_reader(bytes.as_slice());
    let header = reader.headers().map_err(broken)?;
    let places: Option<Vec<usize>> = header.iter().map(|name| place(schema, name)).collect();
    let whole = |places: &Vec<usize>| {
        let met = |at: usize| places.iter().filter(|&&place| place == at).count();
        let columns = || schema.iter().enumerate();
        columns().all(|(at, column)| met(at) == 1 || met(at) == 0 && column.is_added())
    };
    let Some(places) = places.filter(whole) else {
        return Err(other_columns(path, schema, header.iter()));
    };
    // A cut in the last cell would go unnoticed, as 12.5 is as good a number as 12.53.
    if bytes.last() != Some(&b'\n') {
        let lines = bytes.iter().filter(|&&byte| byte == b'\n').count() as u64;
        return Err(wrong(lines + 1, "the file breaks off within the line".to_owned()));
    }
    let mut rows = Vec::new();
    for record in reader.records() {
        let record = record.map_err(broken)?;
        let line = record.position().map_or(1, csv::Position::line);
        let mut cells: Row = vec![Cell::Null; schema.len()];
        for (&at, text) in places.iter().zip(&record) {
            cells[at] = parse(&schema[at], text).map_err(|complaint| wrong(line, complaint.0))?;
        }
        rows.push(cells);
    }
    Ok(rows)
}

/// The cell behind the text of a CSV cell.
fn parse(column: &Column, text: &str) -> Result<Cell, Complaint> {
    let cell = match column.kind {
        Kind::Text => Some(Cell::Text(text.to_owned())),
        _ if text.is_empty() => Some(Cell::Null),
        Kind::OptionalText => Some(Cell::Text(text.to_owned())),
        Kind::Integer | Kind::OptionalInteger => text.parse().ok().map(Cell::Integer),
        Kind::Float | Kind::OptionalFloat => text.parse().ok().map(Cell::Float),
        Kind::Boolean | Kind::OptionalBoolean => text.parse().ok().map(Cell::Boolean),
        Kind::Margins | Kind::Flips | Kind::Integers => {
            serde_json::from_str::<serde_json::Value>(text).ok().map(Cell::from)
        }
    };
    // What cannot be parsed is a text, which the column then turns down in its own words.
    column.fit(cell.unwrap_or_else(|| Cell::Text(text.to_owned())))
}

/// The whole file.
fn contents(path: &Path, mut file: &File) -> Result<Vec<u8>, ResultError> {
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).map_err(unreadable(path))?;
    Ok(bytes)
}
