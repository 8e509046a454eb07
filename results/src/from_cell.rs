//! Deserialisation: from cells to a row of any serde type.

use std::borrow::Cow;

use serde::de::value::{SeqDeserializer, StringDeserializer};
use serde::de::{self, DeserializeSeed, IntoDeserializer, Visitor};
use serde::{Deserializer, forward_to_deserialize_any};

use super::cell::{Cell, Complaint};

impl<'de> Deserializer<'de> for Cell {
    type Error = Complaint;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Complaint> {
        match self {
            Cell::Null => visitor.visit_unit(),
            Cell::Boolean(value) => visitor.visit_bool(value),
            Cell::Integer(value) => visitor.visit_i64(value),
            Cell::Float(value) => visitor.visit_f64(value),
            Cell::Text(value) => visitor.visit_string(value),
            Cell::List(items) => {
                let mut items = SeqDeserializer::new(items.into_iter());
                let value = visitor.visit_seq(&mut items)?;
                items.end()?; // a pair must not take three items
                Ok(value)
            }
            Cell::Group(fields) => visitor.visit_map(Fields { left: fields.into_iter(), next: None }),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Complaint> {
        match self {
            Cell::Null => visitor.visit_none(),
            other => visitor.visit_some(other),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Complaint> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Complaint> {
        match self {
            Cell::Text(variant) => visitor.visit_enum(StringDeserializer::new(variant)),
            other => Err(Complaint(format!("a name was expected, not {other}"))),
        }
    }

    /// The number that JSON could not write is not known any more, which is what NaN says.
    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Complaint> {
        match self {
            Cell::Null => visitor.visit_f64(f64::NAN),
            other => other.deserialize_any(visitor),
        }
    }

    fn deserialize_f32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Complaint> {
        self.deserialize_f64(visitor)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 char str string bytes byte_buf unit
        unit_struct seq tuple tuple_struct map struct identifier ignored_any
    }
}

impl IntoDeserializer<'_, Complaint> for Cell {
    type Deserializer = Cell;

    fn into_deserializer(self) -> Cell {
        self
    }
}

/// The fields of a group on their way into a struct; a complaint about one of them names it.
struct Fields {
    left: std::vec::IntoIter<(Cow<'static, str>, Cell)>,
    next: Option<(Cow<'static, str>, Cell)>,
}

impl<'de> de::MapAccess<'de> for Fields {
    type Error = Complaint;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Complaint> {
        self.next = self.left.next();
        let Some((name, _)) = &self.next else {
            return Ok(None);
        };
        seed.deserialize(name.as_ref().into_deserializer()).map(Some)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Complaint> {
        let Some((name, cell)) = self.next.take() else {
            return Err(Complaint("a value was asked for before its name".to_owned()));
        };
        seed.deserialize(cell).map_err(|complaint| Complaint(format!("`{name}`: {complaint}")))
    }
}
