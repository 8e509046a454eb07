//! Serialisation: from a row of any serde type to cells.

use std::borrow::Cow;

use serde::ser::{self, Impossible};
use serde::{Serialize, Serializer};

use super::cell::{Cell, Complaint};

/// Makes a cell of anything that serde can describe.
pub(super) struct ToCell;

/// A list in the making.
#[derive(Default)]
pub(super) struct ToList(Vec<Cell>);

/// A group in the making; a map tells the name of a field before its value.
#[derive(Default)]
pub(super) struct ToGroup(Vec<(Cow<'static, str>, Cell)>, Cow<'static, str>);

/// Numbers go through the conversion that loses nothing.
macro_rules! number {
    ($($method:ident($source:ty) => $variant:ident($target:ty),)*) => {$(
        fn $method(self, value: $source) -> Result<Cell, Complaint> {
            Ok(Cell::$variant(<$target>::from(value)))
        }
    )*};
}

/// What has no place in a table.
fn nested(what: &str) -> Complaint {
    Complaint(format!("{what} cannot be a cell"))
}

impl Serializer for ToCell {
    type Ok = Cell;
    type Error = Complaint;
    type SerializeSeq = ToList;
    type SerializeTuple = ToList;
    type SerializeTupleStruct = ToList;
    type SerializeTupleVariant = Impossible<Cell, Complaint>;
    type SerializeMap = ToGroup;
    type SerializeStruct = ToGroup;
    type SerializeStructVariant = Impossible<Cell, Complaint>;

    number! {
        serialize_bool(bool) => Boolean(bool),
        serialize_i8(i8) => Integer(i64),
        serialize_i16(i16) => Integer(i64),
        serialize_i32(i32) => Integer(i64),
        serialize_i64(i64) => Integer(i64),
        serialize_u8(u8) => Integer(i64),
        serialize_u16(u16) => Integer(i64),
        serialize_u32(u32) => Integer(i64),
        serialize_f32(f32) => Float(f64),
        serialize_f64(f64) => Float(f64),
        serialize_char(char) => Text(String),
        serialize_str(&str) => Text(String),
    }

    fn serialize_u64(self, value: u64) -> Result<Cell, Complaint> {
        let value = i64::try_from(value).map_err(|_| Complaint(format!("{value} does not fit in 63 bits")))?;
        Ok(Cell::Integer(value))
    }

    fn serialize_bytes(self, _: &[u8]) -> Result<Cell, Complaint> {
        Err(nested("a string of bytes"))
    }

    fn serialize_none(self) -> Result<Cell, Complaint> {
        Ok(Cell::Null)
    }

    fn serialize_some<V: Serialize + ?Sized>(self, value: &V) -> Result<Cell, Complaint> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<Cell, Complaint> {
        Ok(Cell::Null)
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<Cell, Complaint> {
        Ok(Cell::Null)
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Result<Cell, Complaint> {
        Ok(Cell::Text(variant.to_owned()))
    }

    fn serialize_newtype_struct<V: Serialize + ?Sized>(self, _: &'static str, value: &V) -> Result<Cell, Complaint> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<V: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: &V,
    ) -> Result<Cell, Complaint> {
        Err(nested(variant))
    }

    fn serialize_seq(self, length: Option<usize>) -> Result<ToList, Complaint> {
        Ok(ToList(Vec::with_capacity(length.unwrap_or(0))))
    }

    fn serialize_tuple(self, length: usize) -> Result<ToList, Complaint> {
        self.serialize_seq(Some(length))
    }

    fn serialize_tuple_struct(self, _: &'static str, length: usize) -> Result<ToList, Complaint> {
        self.serialize_seq(Some(length))
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Impossible<Cell, Complaint>, Complaint> {
        Err(nested(variant))
    }

    fn serialize_map(self, _: Option<usize>) -> Result<ToGroup, Complaint> {
        Ok(ToGroup::default())
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<ToGroup, Complaint> {
        Ok(ToGroup::default())
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Impossible<Cell, Complaint>, Complaint> {
        Err(nested(variant))
    }
}

/// The three kinds of list differ in the name of one method only.
macro_rules! list {
    ($($part:ident::$method:ident,)*) => {$(
        impl ser::$part for ToList {
            type Ok = Cell;
            type Error = Complaint;

            fn $method<V: Serialize + ?Sized>(&mut self, value: &V) -> Result<(), Complaint> {
                self.0.push(value.serialize(ToCell)?);
                Ok(())
            }

            fn end(self) -> Result<Cell, Complaint> {
                Ok(Cell::List(self.0))
            }
        }
    )*};
}

list! {
    SerializeSeq::serialize_element,
    SerializeTuple::serialize_element,
    SerializeTupleStruct::serialize_field,
}

impl ser::SerializeMap for ToGroup {
    type Ok = Cell;
    type Error = Complaint;

    fn serialize_key<K: Serialize + ?Sized>(&mut self, key: &K) -> Result<(), Complaint> {
        let Cell::Text(name) = key.serialize(ToCell)? else {
            return Err(Complaint("the name of a field must be text".to_owned()));
        };
        self.1 = Cow::Owned(name);
        Ok(())
    }

    fn serialize_value<V: Serialize + ?Sized>(&mut self, value: &V) -> Result<(), Complaint> {
        self.0.push((std::mem::take(&mut self.1), value.serialize(ToCell)?));
        Ok(())
    }

    fn end(self) -> Result<Cell, Complaint> {
        Ok(Cell::Group(self.0))
    }
}

impl ser::SerializeStruct for ToGroup {
    type Ok = Cell;
    type Error = Complaint;

    fn serialize_field<V: Serialize + ?Sized>(&mut self, name: &'static str, value: &V) -> Result<(), Complaint> {
        let cell = value.serialize(ToCell).map_err(|complaint| Complaint(format!("`{name}`: {complaint}")))?;
        self.0.push((Cow::Borrowed(name), cell));
        Ok(())
    }

    fn end(self) -> Result<Cell, Complaint> {
        Ok(Cell::Group(self.0))
    }
}
