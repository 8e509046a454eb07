//! The cells of a table: the values between the rows of the program and the three file formats.
//!
//! `serde_json::Value` cannot serve as the cell, since it has no infinities and no NaN, and Parquet
//! has.

use std::borrow::Cow;
use std::fmt::{self, Display};

use serde::{Serialize, Serializer, de, ser};

/// What the three formats can hold.
#[derive(Clone, Debug)]
pub(super) enum Cell {
    Null,
    Boolean(bool),
    /// Parquet's 64-bit integer, which NumPy and pandas share.
    Integer(i64),
    Float(f64),
    Text(String),
    List(Vec<Cell>),
    /// Borrowed names, as those of a derived `Serialize`, cost no allocation.
    Group(Vec<(Cow<'static, str>, Cell)>),
}

/// Why a value is no cell, or a cell not the value that is wanted.
#[derive(Debug)]
pub(super) struct Complaint(pub String);

impl Display for Complaint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Complaint {}

impl ser::Error for Complaint {
    fn custom<M: Display>(message: M) -> Complaint {
        Complaint(message.to_string())
    }
}

impl de::Error for Complaint {
    fn custom<M: Display>(message: M) -> Complaint {
        Complaint(message.to_string())
    }
}

/// A short rendering for complaints.
impl Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            Cell::Float(value) => format!("{value:?}"),
            other => serde_json::to_string(other).unwrap_or_default(),
        };
        write!(f, "{:.60}{}", text, if text.chars().count() > 60 { "..." } else { "" })
    }
}

/// To JSON, where serde_json writes what is not finite as `null`.
impl Serialize for Cell {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Cell::Null => serializer.serialize_unit(),
            Cell::Boolean(value) => serializer.serialize_bool(*value),
            Cell::Integer(value) => serializer.serialize_i64(*value),
            Cell::Float(value) => serializer.serialize_f64(*value),
            Cell::Text(value) => serializer.serialize_str(value),
            Cell::List(items) => serializer.collect_seq(items),
            Cell::Group(fields) => serializer.collect_map(fields.iter().map(|(name, cell)| (name, cell))),
        }
    }
}

impl From<serde_json::Value> for Cell {
    fn from(value: serde_json::Value) -> Cell {
        use serde_json::Value;
        match value {
            Value::Null => Cell::Null,
            Value::Bool(value) => Cell::Boolean(value),
            Value::Number(value) => match value.as_i64() {
                Some(value) => Cell::Integer(value),
                None => value.as_f64().map_or(Cell::Null, Cell::Float),
            },
            Value::String(value) => Cell::Text(value),
            Value::Array(items) => Cell::List(items.into_iter().map(Cell::from).collect()),
            Value::Object(fields) => {
                Cell::Group(fields.into_iter().map(|(name, value)| (Cow::Owned(name), value.into())).collect())
            }
        }
    }
}
