//! Lists of integers for nodes, attributes and budgets, from text, npy or npz.

use crate::FileError;
use crate::archive::Archive;
use crate::array::Array;
use crate::source::{self, Kind};
use std::path::Path;

/// Reads integers: one in each line of a text (with `#` comments and empty lines), or a
/// one-dimensional integer array in an npy file or alone in an npz file.
///
/// # Errors
/// If the file cannot be read or holds anything else.
pub fn read_integers(path: &Path) -> Result<Vec<i64>, FileError> {
    parse_integers(&path.display().to_string(), &source::read(path)?)
}

/// Reads integers from the bytes of a file; see [`read_integers`].
///
/// # Errors
/// If the bytes hold anything else.
pub fn parse_integers(name: &str, bytes: &[u8]) -> Result<Vec<i64>, FileError> {
    let array = match source::kind(bytes) {
        Kind::Npy => Array::from_npy(name, bytes)?,
        Kind::Zip => Archive::open(name, bytes)?.only(
            "name the array after the file, as in `graph.npz:train_mask`, or save the list alone with \
             `np.save(path, integers)`",
        )?,
        Kind::Safetensors | Kind::Pickle | Kind::Other => return text(name, bytes),
    };
    array.flat()?;
    array.integers()
}

pub(crate) fn text(file: &str, bytes: &[u8]) -> Result<Vec<i64>, FileError> {
    let mut integers = Vec::new();
    for (line, content) in (1..).zip(bytes.split(|&byte| byte == b'\n')) {
        let wrong = |problem| FileError::Line { file: file.into(), line, problem };
        let content = std::str::from_utf8(content).map_err(|_| wrong("is not text".into()))?;
        let number = content.split('#').next().unwrap_or_default().trim();
        if number.is_empty() {
            continue;
        }
        let parsed = number.parse().map_err(|_| {
            let shown: String = number.chars().take(40).collect();
            wrong(format!("`{}` is not an integer of 64 bits", shown.escape_debug()))
        })?;
        integers.push(parsed);
    }
    if integers.is_empty() {
        // An empty list is more often a failed download than a wish; an npy array can say it.
        return Err(FileError::Line {
            file: file.into(),
            line: 1,
            problem: "the text ends without any integer".into(),
        });
    }
    Ok(integers)
}
