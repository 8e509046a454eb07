//! Npy headers: what they declare (element type, order, shape), parsed by hand.
//!
//! Why by hand: npyz 0.9 allocates whatever length the header declares, parses it with a
//! recursive grammar, and multiplies the shape without overflow checks. A header is one flat
//! Python dictionary with three known keys; the fifty lines that read just that cannot be made
//! to recurse or to allocate.

/// Longer headers than this are refused; real ones have 118 bytes.
const LONGEST_HEADER: usize = 1 << 16;

/// The type of one element.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Element {
    Bool,
    /// Signed integer of so many bytes.
    Signed(usize),
    /// Unsigned integer of so many bytes.
    Unsigned(usize),
    /// IEEE float of 2, 4 or 8 bytes.
    Float(usize),
    /// UTF-32 of so many characters.
    Unicode(usize),
    /// So many bytes, padded with zeros.
    Bytes(usize),
    /// A pickle.
    Object,
    /// Anything else numpy can say; its size is nobody's business here.
    Other,
}

/// A parsed npy header.
#[derive(Debug, Clone)]
pub(crate) struct Header {
    pub element: Element,
    pub big_endian: bool,
    pub fortran: bool,
    pub shape: Vec<usize>,
    /// The type as numpy spells it, for messages.
    pub spelling: String,
    /// How many bytes the header took, so where the data begins.
    pub length: usize,
}

impl Header {
    /// How many bytes the header at the start of `bytes` takes, if `bytes` suffice to tell.
    pub fn needed(bytes: &[u8]) -> Result<usize, String> {
        if bytes.len() < 12 || !bytes.starts_with(b"\x93NUMPY") {
            return Err("it does not start with an npy header".into());
        }
        let needed = match (bytes[6], bytes[7]) {
            (1, 0) => 10 + usize::from(u16::from_le_bytes([bytes[8], bytes[9]])),
            (2 | 3, 0) => {
                let length = u32::from_le_bytes([bytes[8], bytes[9], bytes[10], bytes[11]]);
                12 + length as usize
            }
            (major, minor) => return Err(format!("npy version {major}.{minor} is unknown")),
        };
        if needed > LONGEST_HEADER {
            return Err(format!("its npy header claims {needed} bytes, more than {LONGEST_HEADER}"));
        }
        Ok(needed)
    }

    /// Parses a complete header; `bytes` is exactly as long as [`Header::needed`] said.
    pub fn parse(bytes: &[u8]) -> Result<Header, String> {
        let text_start = if bytes[6] == 1 { 10 } else { 12 };
        let text = bytes.get(text_start..).ok_or("its npy header is cut short")?;
        let text = std::str::from_utf8(text).map_err(|_| "its npy header is not text")?;
        let mut cursor = Cursor { rest: text };
        let (mut descr, mut fortran, mut shape) = (None, None, None);
        cursor.expect('{')?;
        while !cursor.eat('}') {
            let key = cursor.string()?;
            cursor.expect(':')?;
            let repeated = match key {
                "descr" => descr.replace(cursor.descr()?).is_some(),
                "fortran_order" => fortran.replace(cursor.truth()?).is_some(),
                "shape" => shape.replace(cursor.shape()?).is_some(),
                other => return Err(format!("its npy header has the unknown key `{other}`")),
            };
            if repeated {
                return Err(format!("its npy header has the key `{key}` twice"));
            }
            if !cursor.eat(',') {
                cursor.expect('}')?;
                break;
            }
        }
        if !cursor.rest.trim().is_empty() {
            return Err("its npy header has text after the dictionary".into());
        }
        let missing = |key: &str| format!("its npy header has no `{key}`");
        let spelling = descr.ok_or_else(|| missing("descr"))?;
        let (element, big_endian) = element(&spelling);
        Ok(Header {
            element,
            big_endian,
            fortran: fortran.ok_or_else(|| missing("fortran_order"))?,
            shape: shape.ok_or_else(|| missing("shape"))?,
            spelling,
            length: bytes.len(),
        })
    }

    /// Bytes of one element, if that is known.
    pub fn width(&self) -> Option<usize> {
        match self.element {
            Element::Bool => Some(1),
            Element::Signed(width) | Element::Unsigned(width) | Element::Float(width) => Some(width),
            Element::Unicode(characters) => characters.checked_mul(4),
            Element::Bytes(width) => Some(width),
            Element::Object | Element::Other => None,
        }
    }

    /// Number of elements, if it fits.
    pub fn count(&self) -> Option<usize> {
        self.shape.iter().try_fold(1usize, |product, &side| product.checked_mul(side))
    }
}

/// Reads a numpy type string such as `<f4`, `|b1` or `>U7`.
fn element(spelling: &str) -> (Element, bool) {
    let mut characters = spelling.chars();
    let (order, kind) = (characters.next(), characters.next());
    let big_endian = order == Some('>');
    let width = characters.as_str();
    let number = width.bytes().all(|byte| byte.is_ascii_digit()).then(|| width.parse().ok());
    let known = match (order, kind, number.flatten()) {
        (Some('|'), Some('O'), _) => Element::Object,
        (Some('<' | '>' | '|'), Some('b'), Some(1)) => Element::Bool,
        (Some('<' | '>' | '|'), Some('i'), Some(1)) => Element::Signed(1),
        (Some('<' | '>' | '|'), Some('u'), Some(1)) => Element::Unsigned(1),
        (Some('<' | '>'), Some('i'), Some(width @ (2 | 4 | 8))) => Element::Signed(width),
        (Some('<' | '>'), Some('u'), Some(width @ (2 | 4 | 8))) => Element::Unsigned(width),
        (Some('<' | '>'), Some('f'), Some(width @ (2 | 4 | 8))) => Element::Float(width),
        (Some('<' | '>'), Some('U'), Some(characters)) => Element::Unicode(characters),
        (Some('|'), Some('S'), Some(width)) => Element::Bytes(width),
        _ => Element::Other,
    };
    (known, big_endian)
}

/// What is left of the header text.
struct Cursor<'text> {
    rest: &'text str,
}

impl<'text> Cursor<'text> {
    fn eat(&mut self, character: char) -> bool {
        let trimmed = self.rest.trim_start();
        match trimmed.strip_prefix(character) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => {
                self.rest = trimmed;
                false
            }
        }
    }

    fn expect(&mut self, character: char) -> Result<(), String> {
        if self.eat(character) {
            return Ok(());
        }
        Err(format!("its npy header lacks a `{character}`"))
    }

    fn string(&mut self) -> Result<&'text str, String> {
        let quote = if self.eat('\'') {
            '\''
        } else if self.eat('"') {
            '"'
        } else {
            return Err("its npy header lacks a quoted name".into());
        };
        let (text, rest) = self.rest.split_once(quote).ok_or("its npy header has an open quote")?;
        self.rest = rest;
        Ok(text)
    }

    /// A type string, or the list that describes a record; a record is only named, never read.
    fn descr(&mut self) -> Result<String, String> {
        if !self.eat('[') {
            return self.string().map(str::to_owned);
        }
        let mut depth = 1usize;
        let mut pickled = false;
        for (at, byte) in self.rest.bytes().enumerate() {
            match byte {
                b'[' | b'(' => depth += 1,
                b']' | b')' => depth -= 1,
                b'O' => pickled = true,
                _ => {}
            }
            if depth == 0 {
                self.rest = &self.rest[at + 1..];
                let spelling = if pickled { "a record, perhaps of objects" } else { "a record" };
                return Ok(spelling.into());
            }
        }
        Err("its npy header has an open bracket".into())
    }

    fn truth(&mut self) -> Result<bool, String> {
        self.eat(' ');
        for (word, value) in [("True", true), ("False", false)] {
            if let Some(rest) = self.rest.strip_prefix(word) {
                self.rest = rest;
                return Ok(value);
            }
        }
        Err("its npy header lacks True or False".into())
    }

    fn shape(&mut self) -> Result<Vec<usize>, String> {
        let mut sides = Vec::new();
        self.expect('(')?;
        while !self.eat(')') {
            let end = self.rest.bytes().take_while(u8::is_ascii_digit).count();
            let (digits, rest) = self.rest.split_at(end);
            let side = digits.parse().map_err(|_| "its npy header has a side that is no size")?;
            sides.push(side);
            // numpy on Python 2 wrote long integers as `2708L`.
            self.rest = rest.strip_prefix('L').unwrap_or(rest);
            if !self.eat(',') {
                self.expect(')')?;
                break;
            }
        }
        // numpy itself stops at 64 dimensions.
        if sides.len() > 64 {
            return Err("its npy header has more than 64 dimensions".into());
        }
        Ok(sides)
    }
}
