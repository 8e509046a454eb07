//! Parquet: rows as columns of values and levels, written and read.
//!
//! Lists have the three levels that the format's specification asks for, so that pyarrow, pandas
//! and polars see `list<struct<class, lower, upper>>` and `list<list<int64>>`.

mod read;
mod seal;
mod write;

use std::fmt::Write;

use ::parquet::errors::{ParquetError, Result as ParquetResult};
use ::parquet::schema::parser::parse_message_type;
use ::parquet::schema::types::Type;

use super::column::{Column, Kind};

pub(super) use read::decode;
pub(super) use seal::MARK;
#[cfg(test)]
pub(super) use seal::seal;
pub(super) use write::encode;

/// The key of the file's metadata that has the description of the run: command, budget, graph and model, as in
/// `….run.json`.
const RUN: &str = "gcnproof-run";

/// The Parquet schema of a table.
fn message(schema: &[Column]) -> ParquetResult<Type> {
    message_of(schema.iter().map(|column| (column.name, column.kind)))
}

/// The same of names and kinds.
fn message_of<'a>(columns: impl Iterator<Item = (&'a str, Kind)>) -> ParquetResult<Type> {
    let mut text = String::from("message results {\n");
    for (name, kind) in columns {
        let written = match kind {
            Kind::Integer => writeln!(text, "REQUIRED INT64 {name};"),
            Kind::OptionalInteger => writeln!(text, "OPTIONAL INT64 {name};"),
            Kind::Float => writeln!(text, "REQUIRED DOUBLE {name};"),
            Kind::OptionalFloat => writeln!(text, "OPTIONAL DOUBLE {name};"),
            Kind::Text => writeln!(text, "REQUIRED BYTE_ARRAY {name} (STRING);"),
            Kind::OptionalText => writeln!(text, "OPTIONAL BYTE_ARRAY {name} (STRING);"),
            Kind::Boolean => writeln!(text, "REQUIRED BOOLEAN {name};"),
            Kind::OptionalBoolean => writeln!(text, "OPTIONAL BOOLEAN {name};"),
            Kind::Margins => writeln!(
                text,
                "OPTIONAL group {name} (LIST) {{ REPEATED group list {{ OPTIONAL group element {{
                    OPTIONAL INT64 class; OPTIONAL DOUBLE lower; OPTIONAL DOUBLE upper; }} }} }}"
            ),
            Kind::Flips => writeln!(
                text,
                "OPTIONAL group {name} (LIST) {{ REPEATED group list {{
                    OPTIONAL group element (LIST) {{
                    REPEATED group list {{ OPTIONAL INT64 element; }} }} }} }}"
            ),
            Kind::Integers => {
                writeln!(text, "OPTIONAL group {name} (LIST) {{ REPEATED group list {{ OPTIONAL INT64 element; }} }}")
            }
        };
        written.map_err(|error| ParquetError::External(Box::new(error)))?;
    }
    text.push('}');
    parse_message_type(&text)
}
