//! The bytes of one npy array, read as numbers or names.

use crate::FileError;
use crate::header::{Element, Header};
use crate::source::largest_inflated;

/// One array: its header and exactly the bytes that the header promises.
#[derive(Debug)]
pub(crate) struct Array {
    pub file: String,
    pub name: String,
    pub header: Header,
    pub data: Vec<u8>,
}

impl Array {
    /// Reads a bare `.npy` file.
    pub fn from_npy(file: &str, bytes: &[u8]) -> Result<Array, FileError> {
        let damaged = |problem: String| FileError::Damaged { file: file.into(), entry: "the array".into(), problem };
        let needed = Header::needed(bytes).map_err(damaged)?;
        let head = bytes.get(..needed).ok_or_else(|| damaged("its npy header is cut short".into()))?;
        let header = Header::parse(head).map_err(damaged)?;
        let expected = size(file, "the array", &header)?;
        let largest = largest_inflated(bytes.len() as u64);
        if cost(&header, expected as u64) > largest {
            return Err(FileError::TooLarge {
                file: file.into(),
                entry: "the array".into(),
                problem: format!("would take more than {largest} bytes of numbers"),
            });
        }
        let data = &bytes[needed..];
        if data.len() != expected {
            return Err(damaged(format!("its header declares {expected} bytes of data, but {} follow", data.len())));
        }
        Ok(Array { file: file.into(), name: "the array".into(), header, data: data.to_vec() })
    }

    pub fn shape(&self) -> &[usize] {
        &self.header.shape
    }

    /// The array as one dimension, or an error with a remedy.
    pub fn flat(&self) -> Result<usize, FileError> {
        match self.shape() {
            [length] => Ok(*length),
            shape => Err(self.misshapen(
                format!("has shape {}, but must have one dimension", spell(shape)),
                format!("save `{}` with `.ravel()` if that is what it means", self.name),
            )),
        }
    }

    /// The values in C order, exactly.
    pub fn reals(&self) -> Result<Vec<f64>, FileError> {
        let wanted = "numbers are needed (integers, booleans or floats of 16, 32 or 64 bits)";
        if matches!(self.header.element, Element::Unicode(_) | Element::Bytes(_)) {
            return Err(self.mistyped(wanted));
        }
        match self.header.element {
            Element::Float(4) if self.is_plain() => {
                return Ok(self
                    .data
                    .as_chunks::<4>()
                    .0
                    .iter()
                    .map(|&bytes| f64::from(f32::from_le_bytes(bytes)))
                    .collect());
            }
            Element::Float(8) if self.is_plain() => {
                return Ok(self.data.as_chunks::<8>().0.iter().map(|&bytes| f64::from_le_bytes(bytes)).collect());
            }
            _ => {}
        }
        let mut values = Vec::with_capacity(self.header.count().unwrap_or(0));
        for (at, bytes) in self.elements(wanted)? {
            let value = match self.header.element {
                Element::Float(2) => half(self.bits(bytes) as u16),
                Element::Float(4) => f64::from(f32::from_bits(self.bits(bytes) as u32)),
                Element::Float(8) => f64::from_bits(self.bits(bytes)),
                _ => {
                    let integer = self.integer(at, bytes)?;
                    let value = integer as f64;
                    if value as i128 != integer {
                        return Err(self.element(
                            at,
                            format!("is {integer}, which no 64-bit float equals"),
                            "save it as a smaller number".into(),
                        ));
                    }
                    value
                }
            };
            values.push(value);
        }
        Ok(values)
    }

    /// Are the elements floats of 64 bits?
    pub fn holds_doubles(&self) -> bool {
        self.header.element == Element::Float(8)
    }

    /// The values in C order, if the elements are integers.
    pub fn integers(&self) -> Result<Vec<i64>, FileError> {
        self.each_integer()?.collect()
    }

    /// The same, one by one.
    pub fn each_integer(&self) -> Result<impl Iterator<Item = Result<i64, FileError>>, FileError> {
        let wanted = "integers are needed";
        if let Element::Float(_) = self.header.element {
            // A cast would cut off what is behind the point.
            return Err(match self.reals()?.into_iter().enumerate().find(|(_, value)| value.fract() != 0.0) {
                Some((at, value)) => {
                    let remedy = format!("correct `{}`: no rounding of it is sure to be what was meant", self.name);
                    self.element(at, format!("is {value}, but {wanted}"), remedy)
                }
                None => self.mistyped(wanted),
            });
        }
        Ok(self.elements(wanted)?.map(|(at, bytes)| {
            let integer = self.integer(at, bytes)?;
            let too_large = |_| self.element(at, format!("is {integer}, too large"), "save smaller integers".into());
            i64::try_from(integer).map_err(too_large)
        }))
    }

    /// The integers as indices below `side`, if they are stored as nearly all files have them and none is out of range;
    /// else whoever reads them one by one can say what is wrong.
    pub fn indices_below(&self, side: usize) -> Option<Vec<u32>> {
        let mut indices = Vec::with_capacity(self.header.count().unwrap_or(0));
        // A negative number is a large one without its sign.
        let largest = match self.header.element {
            Element::Signed(4) if self.is_plain() && side <= i32::MAX as usize => {
                indices.extend(self.data.as_chunks::<4>().0.iter().map(|&bytes| u32::from_le_bytes(bytes)));
                indices.iter().copied().max().map(u64::from)
            }
            Element::Signed(8) if self.is_plain() && side <= u32::MAX as usize => {
                let numbers = || self.data.as_chunks::<8>().0.iter().map(|&bytes| u64::from_le_bytes(bytes));
                indices.extend(numbers().map(|number| number as u32));
                numbers().max()
            }
            _ => return None,
        };
        largest.is_none_or(|largest| largest < side as u64).then_some(indices)
    }

    /// Is it stored in C order, the lowest byte of each element first?
    fn is_plain(&self) -> bool {
        !(self.header.big_endian || self.header.fortran && self.shape().len() > 1)
    }

    /// The names in C order: unicode, bytes, or integers spelt in decimal.
    pub fn strings(&self) -> Result<Vec<String>, FileError> {
        let wanted = "names are needed (unicode, bytes or integers)";
        let broken = |at, what: &str| self.element(at, format!("is not {what}"), "save it with `.astype(str)`".into());
        let mut names = Vec::new();
        match self.header.element {
            Element::Unicode(_) => {
                for (at, bytes) in self.elements(wanted)? {
                    let mut name = String::new();
                    for four in bytes.chunks_exact(4) {
                        let code = char::from_u32(self.bits(four) as u32);
                        name.push(code.ok_or_else(|| broken(at, "unicode"))?);
                    }
                    name.truncate(name.trim_end_matches('\0').len());
                    names.push(name);
                }
            }
            Element::Bytes(_) => {
                for (at, bytes) in self.elements(wanted)? {
                    let name = String::from_utf8(bytes.to_vec()).map_err(|_| broken(at, "UTF-8"))?;
                    names.push(name.trim_end_matches('\0').to_owned());
                }
            }
            Element::Signed(_) | Element::Unsigned(_) => {
                for (at, bytes) in self.elements(wanted)? {
                    names.push(self.integer(at, bytes)?.to_string());
                }
            }
            _ => return Err(self.mistyped(wanted)),
        }
        Ok(names)
    }

    /// Where in the array element number `at` (in C order) stands.
    pub fn position(&self, at: usize) -> String {
        match self.shape() {
            [_, columns] if *columns > 0 => format!("{}, {}", at / columns, at % columns),
            _ => at.to_string(),
        }
    }

    pub fn element(&self, at: usize, problem: String, remedy: String) -> FileError {
        FileError::Element {
            file: self.file.clone(),
            entry: self.name.clone(),
            position: self.position(at),
            problem,
            remedy: remedy.into(),
        }
    }

    pub fn misshapen(&self, problem: String, remedy: String) -> FileError {
        FileError::Shape { file: self.file.clone(), entry: self.name.clone(), problem, remedy }
    }

    pub fn mistyped(&self, wanted: &str) -> FileError {
        if self.header.element == Element::Object {
            return pickled(&self.file, &self.name, &self.header);
        }
        let text = matches!(self.header.spelling.as_bytes(), [_, b'U' | b'S', ..]);
        let remedy = match (wanted.split_whitespace().next(), self.name.as_str()) {
            (Some("integers"), "edge_index" | "edges") if text => format!(
                "save for each end of an edge the row of its node in the attributes: `ids = {{name: row for row, name in \
                 enumerate(names)}}` of the names in the order of these rows, then `np.vectorize(ids.get)({})`",
                self.name
            ),
            (Some("integers"), "attr_groups") if text => {
                "number the groups: `np.unique(attr_groups, return_inverse=True)[1]`".into()
            }
            (Some("integers"), "labels" | "y" | "target" | "node_labels") if text => format!(
                "save the numbers of the classes, as in training: `ids = {{name: number for number, name in \
                 enumerate(names)}}` of their names in the order of the model's outputs, then `np.vectorize(ids.get)({})`",
                self.name
            ),
            (Some("integers"), _) if text => format!("save `{}` as whole numbers", self.name),
            (Some("numbers"), _) if text => format!(
                "save numbers: `{}.astype(np.float64)` if the texts are numbers, else one column of 0 and 1 for each word or \
                 category",
                self.name
            ),
            (Some("integers"), _) => format!("save `{}` with `.astype(np.int64)`", self.name),
            (Some("names"), _) => format!("save `{}` with `.astype(str)`", self.name),
            _ => format!("save `{}` with `.astype(np.float64)`", self.name),
        };
        FileError::ElementType {
            file: self.file.clone(),
            entry: self.name.clone(),
            dtype: self.header.spelling.clone(),
            wanted: wanted.into(),
            remedy: remedy.into(),
        }
    }

    /// Is it an array of floats?
    pub fn is_float(&self) -> bool {
        matches!(self.header.element, Element::Float(_))
    }

    /// Is it an array of booleans?
    pub fn is_boolean(&self) -> bool {
        self.header.element == Element::Bool
    }

    /// The bytes of each element in C order.
    fn elements<'a>(&'a self, wanted: &str) -> Result<impl Iterator<Item = (usize, &'a [u8])>, FileError> {
        let width = self.header.width().filter(|&width| width > 0);
        let width = width.ok_or_else(|| self.mistyped(wanted))?;
        let count = self.data.len() / width;
        let turned = match (self.header.fortran, self.shape()) {
            (true, &[rows, columns]) => Some((rows, columns)),
            (true, shape) if shape.len() > 2 => {
                return Err(self.misshapen(
                    format!("has shape {}, but at most two dimensions are read", spell(shape)),
                    "save it with two dimensions".into(),
                ));
            }
            _ => None,
        };
        Ok((0..count).map(move |at| {
            let stored = match turned {
                Some((rows, columns)) => (at % columns) * rows + at / columns,
                None => at,
            };
            (at, &self.data[stored * width..(stored + 1) * width])
        }))
    }

    fn integer(&self, at: usize, bytes: &[u8]) -> Result<i128, FileError> {
        let bits = self.bits(bytes);
        match self.header.element {
            Element::Bool if bits > 1 => Err(self.element(
                at,
                format!("is the byte {bits}, but a boolean is 0 or 1"),
                "save it with `.astype(bool)`".into(),
            )),
            Element::Bool | Element::Unsigned(_) => Ok(i128::from(bits)),
            Element::Signed(width) => {
                let unused = 64 - 8 * width as u32;
                Ok(i128::from((bits << unused) as i64 >> unused))
            }
            _ => Err(self.mistyped("integers are needed")),
        }
    }

    /// Up to eight bytes as a number, in the array's byte order.
    fn bits(&self, bytes: &[u8]) -> u64 {
        let shift = |bits: u64, byte: &u8| bits << 8 | u64::from(*byte);
        if self.header.big_endian { bytes.iter().fold(0, shift) } else { bytes.iter().rev().fold(0, shift) }
    }
}

/// How many bytes of data the header promises, or why it cannot promise any.
pub(crate) fn size(file: &str, name: &str, header: &Header) -> Result<usize, FileError> {
    let Some(width) = header.width().filter(|&width| width > 0) else {
        if header.element == Element::Object {
            return Err(pickled(file, name, header));
        }
        return Err(FileError::ElementType {
            file: file.into(),
            entry: name.into(),
            dtype: header.spelling.clone(),
            wanted: "only booleans, integers, floats and names are read".into(),
            remedy: match header.spelling.contains('c') {
                true => format!("save real numbers: `{name}.real`, if its imaginary part means nothing").into(),
                false => format!("save `{name}` with `.astype(np.float64)`, or names with `.astype(str)`").into(),
            },
        });
    };
    header.count().and_then(|count| count.checked_mul(width)).ok_or_else(|| FileError::TooLarge {
        file: file.into(),
        entry: name.into(),
        problem: format!("declares the shape {}, which no memory holds", spell(&header.shape)),
    })
}

/// The complaint about a pickle. One object alone is most often a scipy matrix, which `np.asarray` does not turn into
/// numbers.
fn pickled(file: &str, name: &str, header: &Header) -> FileError {
    let remedy = if header.shape.is_empty() {
        let prefix = if name.to_lowercase().contains("adj") { "adj" } else { "attr" };
        format!(
            "`{name}` is one Python object, most likely a scipy matrix: take it out with \
             `m = np.load(path, allow_pickle=True)[\"{name}\"].item().tocsr()` and save its parts, \
             `np.savez(new, {prefix}_data=m.data, {prefix}_indices=m.indices, {prefix}_indptr=m.indptr, \
             {prefix}_shape=m.shape, …)`"
        )
    } else {
        format!(
            "save `{name}` again as a plain array: load the file with `np.load(path, allow_pickle=True)`, \
             convert it with `np.array(list(...))` to numbers (or `.astype(str)` for names), and `np.savez` \
             everything again"
        )
    };
    FileError::ObjectArray { file: file.into(), entry: name.into(), remedy: remedy.into() }
}

/// What an array costs once it is read: a byte of booleans becomes eight bytes of number, and a byte
/// of name a string, so counting stored bytes alone would let a file grow in memory after all.
pub(crate) fn cost(header: &Header, stored: u64) -> u64 {
    let each = if matches!(header.element, Element::Unicode(_) | Element::Bytes(_)) { 32 } else { 8 };
    stored.max((header.count().unwrap_or(usize::MAX) as u64).saturating_mul(each))
}

/// A shape as numpy prints it, with brackets: `[2708, 1433]`.
pub(crate) fn spell(shape: &[usize]) -> String {
    format!("{shape:?}")
}

/// IEEE half precision to double, exactly: every half is a double.
fn half(bits: u16) -> f64 {
    let sign = if bits >> 15 == 1 { -1.0 } else { 1.0 };
    let exponent = i32::from(bits >> 10 & 0x1f);
    let fraction = f64::from(bits & 0x3ff);
    match exponent {
        0 => sign * fraction * 2f64.powi(-24),
        31 if fraction == 0.0 => sign * f64::INFINITY,
        31 => f64::NAN,
        _ => sign * (1024.0 + fraction) * 2f64.powi(exponent - 25),
    }
}
