//! Rows as a table of Arrow.

use std::sync::Arc;

use arrow_array::builder::{
    ArrayBuilder, BooleanBuilder, Float64Builder, Int64Builder, ListBuilder, StringBuilder, StructBuilder,
};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{ArrowError, DataType, Field, Fields, Schema};
use gcnproof_results::{Column, Kind};
use serde_json::Value;

/// One column while it is filled.
enum Builder {
    Integers(Int64Builder),
    Floats(Float64Builder),
    Texts(StringBuilder),
    Booleans(BooleanBuilder),
    Lists(ListBuilder<Int64Builder>),
    /// Lists of groups; the names of the fields, and whether each is a float.
    Groups(Box<ListBuilder<StructBuilder>>, &'static [(&'static str, bool)]),
}

const MARGIN: &[(&str, bool)] = &[("class", false), ("lower", true), ("upper", true)];
const FLIP: &[(&str, bool)] = &[("node", false), ("attribute", false)];

fn groups(fields: &'static [(&'static str, bool)]) -> Builder {
    let kind = |float: bool| if float { DataType::Float64 } else { DataType::Int64 };
    let described: Fields = fields.iter().map(|&(name, float)| Field::new(name, kind(float), true)).collect();
    let builders = fields.iter().map(|&(_, float)| -> Box<dyn ArrayBuilder> {
        if float { Box::new(Float64Builder::new()) } else { Box::new(Int64Builder::new()) }
    });
    Builder::Groups(Box::new(ListBuilder::new(StructBuilder::new(described, builders.collect()))), fields)
}

impl Builder {
    fn new(kind: Kind) -> Builder {
        match kind {
            Kind::Integer | Kind::OptionalInteger => Builder::Integers(Int64Builder::new()),
            Kind::Float | Kind::OptionalFloat => Builder::Floats(Float64Builder::new()),
            Kind::Text | Kind::OptionalText => Builder::Texts(StringBuilder::new()),
            Kind::Boolean | Kind::OptionalBoolean => Builder::Booleans(BooleanBuilder::new()),
            Kind::Margins => groups(MARGIN),
            Kind::Flips => groups(FLIP),
            Kind::Integers => Builder::Lists(ListBuilder::new(Int64Builder::new())),
        }
    }

    fn push(&mut self, cell: &Value) {
        match self {
            Builder::Integers(builder) => builder.append_option(cell.as_i64()),
            Builder::Floats(builder) => builder.append_option(cell.as_f64()),
            Builder::Texts(builder) => builder.append_option(cell.as_str()),
            Builder::Booleans(builder) => builder.append_option(cell.as_bool()),
            Builder::Lists(builder) => {
                builder.append_value(cell.as_array().into_iter().flatten().map(Value::as_i64));
            }
            Builder::Groups(builder, fields) => {
                for item in cell.as_array().into_iter().flatten() {
                    let group = builder.values();
                    for (at, (name, float)) in fields.iter().enumerate() {
                        // A flip is written as a pair, a margin by names.
                        let value = if item.is_array() { &item[at] } else { &item[name] };
                        if *float {
                            if let Some(field) = group.field_builder::<Float64Builder>(at) {
                                field.append_option(value.as_f64());
                            }
                        } else if let Some(field) = group.field_builder::<Int64Builder>(at) {
                            field.append_option(value.as_i64());
                        }
                    }
                    group.append(true);
                }
                builder.append(true);
            }
        }
    }

    fn finish(self) -> ArrayRef {
        match self {
            Builder::Integers(mut builder) => Arc::new(builder.finish()),
            Builder::Floats(mut builder) => Arc::new(builder.finish()),
            Builder::Texts(mut builder) => Arc::new(builder.finish()),
            Builder::Booleans(mut builder) => Arc::new(builder.finish()),
            Builder::Lists(mut builder) => Arc::new(builder.finish()),
            Builder::Groups(mut builder, _) => Arc::new(builder.finish()),
        }
    }
}

/// All rows as one batch.
pub fn batch(schema: &[Column], rows: impl Iterator<Item = Value>) -> Result<RecordBatch, ArrowError> {
    let mut builders: Vec<Builder> = schema.iter().map(|column| Builder::new(column.kind)).collect();
    for row in rows {
        for (builder, column) in builders.iter_mut().zip(schema) {
            builder.push(&row[column.name]);
        }
    }
    let arrays: Vec<ArrayRef> = builders.into_iter().map(Builder::finish).collect();
    let field = |(column, array): (&Column, &ArrayRef)| Field::new(column.name, array.data_type().clone(), true);
    let fields: Fields = schema.iter().zip(&arrays).map(field).collect();
    RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays)
}
