//! A JSON reader that accepts only what the format allows (`FORMAT.md` §2): one way to write each thing.
//!
//! A general reader takes a list for an object, `null` for what is missing, spaces and escapes anywhere. Two checkers
//! could then disagree about a file. This one knows no recursion and no memory beyond what it hands out.

use std::borrow::Cow;

use serde::de::value::BorrowedStrDeserializer;
use serde::de::{self, DeserializeOwned, DeserializeSeed, Visitor};
use serde::forward_to_deserialize_any;

use super::token::{Error, Reader, wrong};

/// Reads one value, which must be all there is. No list may have more than `longest` entries.
///
/// # Errors
/// What is wrong, and at which byte.
pub(crate) fn read<T: DeserializeOwned>(bytes: &[u8], longest: usize) -> Result<T, String> {
    let at_byte = |error: Error, at: usize| format!("{error} (byte {})", at + 1);
    let text = std::str::from_utf8(bytes).map_err(|error| at_byte(wrong("not UTF-8"), error.valid_up_to()))?;
    let mut reader = Reader { text, at: 0, longest };
    let value = T::deserialize(&mut reader).map_err(|error| at_byte(error, reader.at))?;
    match reader.peek() {
        None => Ok(value),
        Some(b'\r') => {
            Err(at_byte(wrong("the line ends in CR LF, and LF alone is needed: `dos2unix` mends the file"), reader.at))
        }
        Some(_) => Err(at_byte(reader.expected("the end of the line"), reader.at)),
    }
}

impl<'de> Reader<'de> {
    fn integer<V: Visitor<'de>>(&mut self, visitor: V) -> Result<V::Value, Error> {
        let text = self.whole()?;
        if matches!(self.peek(), Some(b'.' | b'e' | b'E')) {
            return Err(wrong("an integer has no fraction and no exponent"));
        }
        let large = |_| wrong("an integer of more than 64 bits");
        match text.strip_prefix('-') {
            Some("0") => Err(wrong("0 has no sign")),
            Some(_) => visitor.visit_i64(text.parse().map_err(large)?),
            None => visitor.visit_u64(text.parse().map_err(large)?),
        }
    }

    fn object<V: Visitor<'de>>(&mut self, visitor: V) -> Result<V::Value, Error> {
        self.take(b'{', "an object")?;
        let mut entries = Entries { reader: self, count: 0, ended: false };
        let value = visitor.visit_map(&mut entries)?;
        if entries.ended { Ok(value) } else { self.take(b'}', "the end of the object").map(|()| value) }
    }

    fn list<V: Visitor<'de>>(&mut self, visitor: V) -> Result<V::Value, Error> {
        self.take(b'[', "a list")?;
        let mut entries = Entries { reader: self, count: 0, ended: false };
        let value = visitor.visit_seq(&mut entries)?;
        if entries.ended { Ok(value) } else { self.take(b']', "the end of the list").map(|()| value) }
    }
}

impl<'de> de::Deserializer<'de> for &mut Reader<'de> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.peek() {
            Some(b'"') => match self.string()? {
                Cow::Borrowed(text) => visitor.visit_borrowed_str(text),
                Cow::Owned(text) => visitor.visit_string(text),
            },
            Some(b'[') => self.list(visitor),
            Some(b'{') => self.object(visitor),
            Some(b'-' | b'0'..=b'9') => self.integer(visitor),
            Some(b't' | b'f') => match self.span(|byte| byte.is_ascii_lowercase()) {
                "true" => visitor.visit_bool(true),
                "false" => visitor.visit_bool(false),
                _ => Err(wrong("a word that is neither true nor false")),
            },
            _ => Err(self.expected("a value")),
        }
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_f64(self.float()?)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        // What is missing is left out.
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        // Otherwise a list of its values would do.
        self.object(visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        if self.peek() == Some(b'"') {
            let word = self.key()?;
            return visitor.visit_enum(BorrowedStrDeserializer::new(word));
        }
        self.take(b'{', "an object or a word")?;
        let value = visitor.visit_enum(Tagged(self))?;
        self.take(b'}', "the end of an object with one key")?;
        Ok(value)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 char str string bytes byte_buf unit unit_struct seq tuple
        tuple_struct map identifier ignored_any
    }
}

/// The entries of a list or an object, one after the other.
struct Entries<'a, 'de> {
    reader: &'a mut Reader<'de>,
    count: usize,
    ended: bool,
}

impl Entries<'_, '_> {
    /// Is there another entry? Takes the comma before it, or the end.
    fn another(&mut self, end: u8) -> Result<bool, Error> {
        match self.reader.peek() {
            Some(byte) if byte == end => {
                self.reader.at += 1;
                self.ended = true;
                return Ok(false);
            }
            _ if self.count == 0 => {}
            Some(b',') => self.reader.at += 1,
            _ => return Err(self.reader.expected("a comma or the end")),
        }
        self.count += 1;
        Ok(true)
    }
}

impl<'de> de::SeqAccess<'de> for &mut Entries<'_, 'de> {
    type Error = Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Error> {
        if !self.another(b']')? {
            return Ok(None);
        }
        if self.count > self.reader.longest {
            return Err(Error(format!("a list of more than {} entries", self.reader.longest)));
        }
        seed.deserialize(&mut *self.reader).map(Some)
    }
}

impl<'de> de::MapAccess<'de> for &mut Entries<'_, 'de> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Error> {
        if !self.another(b'}')? {
            return Ok(None);
        }
        let key = self.reader.key()?;
        seed.deserialize(BorrowedStrDeserializer::new(key)).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Error> {
        self.reader.take(b':', "a colon")?;
        seed.deserialize(&mut *self.reader)
    }
}

/// `{"kind":…}`.
struct Tagged<'a, 'de>(&'a mut Reader<'de>);

impl<'de> de::EnumAccess<'de> for Tagged<'_, 'de> {
    type Error = Error;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Self), Error> {
        let key = self.0.key()?;
        self.0.take(b':', "a colon")?;
        Ok((seed.deserialize(BorrowedStrDeserializer::<Error>::new(key))?, self))
    }
}

impl<'de> de::VariantAccess<'de> for Tagged<'_, 'de> {
    type Error = Error;

    fn unit_variant(self) -> Result<(), Error> {
        Err(wrong("a word stands in an object"))
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, Error> {
        seed.deserialize(self.0)
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Error> {
        self.0.list(visitor)
    }

    fn struct_variant<V: Visitor<'de>>(self, _: &'static [&'static str], visitor: V) -> Result<V::Value, Error> {
        self.0.object(visitor)
    }
}
