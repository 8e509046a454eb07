//! The tokens of `strict`: numbers, texts and keys as JSON writes them, each in one way.

use std::borrow::Cow;
use std::fmt;

use serde::de;

/// Bytes of a key, at most: all keys of the format are shorter, and errors repeat those that are unknown.
const LONGEST_KEY: usize = 32;

/// What is wrong.
#[derive(Debug)]
pub(crate) struct Error(pub(crate) String);

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Error {}

impl de::Error for Error {
    fn custom<T: fmt::Display>(message: T) -> Error {
        Error(message.to_string())
    }
}

/// An error without anything from the line in it.
pub(crate) fn wrong(problem: &str) -> Error {
    Error(problem.to_string())
}

/// A line, and how far it is read.
pub(crate) struct Reader<'de> {
    pub(crate) text: &'de str,
    pub(crate) at: usize,
    /// Entries of a list, at most.
    pub(crate) longest: usize,
}

impl<'de> Reader<'de> {
    /// The next byte, which stays; `None` at the end of the line.
    pub(crate) fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// Says what stands where something else should.
    pub(crate) fn expected(&self, what: &str) -> Error {
        match self.text.get(self.at..).and_then(|rest| rest.chars().next()) {
            Some(found) => Error(format!("expected {what}, found {found:?}")),
            None => Error(format!("expected {what}, but the line ends")),
        }
    }

    /// Takes this byte; another one is an error that says `what` was expected.
    pub(crate) fn take(&mut self, byte: u8, what: &str) -> Result<(), Error> {
        if self.peek() != Some(byte) {
            return Err(self.expected(what));
        }
        self.at += 1;
        Ok(())
    }

    /// Takes all bytes of a kind.
    pub(crate) fn span(&mut self, kind: impl Fn(u8) -> bool) -> &'de str {
        let start = self.at;
        while self.peek().is_some_and(&kind) {
            self.at += 1;
        }
        // Kinds are made of ASCII, so that both ends lie between characters.
        self.text.get(start..self.at).unwrap_or_default()
    }

    /// `-?(0|[1-9][0-9]*)`, the part that integers and other numbers share.
    pub(crate) fn whole(&mut self) -> Result<&'de str, Error> {
        let start = self.at;
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        let digits = self.span(|byte| byte.is_ascii_digit());
        if digits.is_empty() {
            return Err(self.expected("a digit"));
        }
        if digits.len() > 1 && digits.starts_with('0') {
            return Err(wrong("a number starts with 0"));
        }
        Ok(self.text.get(start..self.at).unwrap_or_default())
    }

    /// Any number of JSON that a float can hold.
    pub(crate) fn float(&mut self) -> Result<f64, Error> {
        let start = self.at;
        self.whole()?;
        if self.peek() == Some(b'.') {
            self.at += 1;
            if self.span(|byte| byte.is_ascii_digit()).is_empty() {
                return Err(self.expected("a digit"));
            }
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            if self.span(|byte| byte.is_ascii_digit()).is_empty() {
                return Err(self.expected("a digit"));
            }
        }
        let value = self.text.get(start..self.at).and_then(|text| text.parse::<f64>().ok());
        value.filter(|value| value.is_finite()).ok_or_else(|| wrong("a number out of range"))
    }

    /// A key, or a word where only some words may stand: as it is, without escapes.
    pub(crate) fn key(&mut self) -> Result<&'de str, Error> {
        self.take(b'"', "a key in quotation marks")?;
        let key = self.span(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        if key.len() > LONGEST_KEY {
            return Err(wrong("an unknown key"));
        }
        self.take(b'"', "a key of letters and _")?;
        Ok(key)
    }

    /// A text, which may have escapes.
    pub(crate) fn string(&mut self) -> Result<Cow<'de, str>, Error> {
        self.take(b'"', "a text")?;
        let mut text = Cow::Borrowed(self.span(is_plain));
        loop {
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(text);
                }
                Some(b'\\') => {
                    self.at += 1;
                    let escaped = self.escape()?;
                    text.to_mut().push(escaped);
                    let plain = self.span(is_plain);
                    text.to_mut().push_str(plain);
                }
                _ => return Err(self.expected("the end of a text")),
            }
        }
    }

    fn escape(&mut self) -> Result<char, Error> {
        let Some(byte) = self.peek() else { return Err(self.expected("an escape")) };
        let escaped = match byte {
            b'"' | b'\\' | b'/' => char::from(byte),
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => {
                self.at += 1;
                return self.code_point();
            }
            _ => return Err(self.expected("an escape")),
        };
        self.at += 1;
        Ok(escaped)
    }

    /// What follows `\u`: four digits, or a pair of surrogates.
    fn code_point(&mut self) -> Result<char, Error> {
        let first = self.four_digits()?;
        let unpaired = || wrong("half of a surrogate pair");
        if !(0xd800..0xdc00).contains(&first) {
            return char::from_u32(first).ok_or_else(unpaired);
        }
        if !self.text.get(self.at..).is_some_and(|rest| rest.starts_with("\\u")) {
            return Err(unpaired());
        }
        self.at += 2;
        let second = self.four_digits()?;
        let pair = (0xdc00..0xe000).contains(&second).then(|| 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00));
        pair.and_then(char::from_u32).ok_or_else(unpaired)
    }

    fn four_digits(&mut self) -> Result<u32, Error> {
        let digits = self.text.get(self.at..self.at + 4).filter(|text| text.bytes().all(|b| b.is_ascii_hexdigit()));
        let code = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok());
        let code = code.ok_or_else(|| self.expected("four hexadecimal digits"))?;
        self.at += 4;
        Ok(code)
    }
}

/// A byte of a text that stands for itself.
fn is_plain(byte: u8) -> bool {
    byte != b'"' && byte != b'\\' && byte >= 0x20
}
