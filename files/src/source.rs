//! Bytes from a path, in a bounded amount, and what their first bytes say about the format.

use crate::FileError;
use std::io::Read;
use std::path::Path;

/// The largest file that is read: 4 GiB.
pub const LARGEST_FILE: u64 = 4 << 30;

/// How many bytes all arrays of one npz file may take together once they are inflated and read (8 for
/// each number, however short it is stored, and 32 for each name): 4 GiB. A deflated byte can grow
/// a thousandfold, so a small file could otherwise ask for all memory there is.
pub const LARGEST_INFLATED: u64 = 4 << 30;

/// Dimensions up to this are taken at their word; larger ones need at least one stored entry for
/// every 64 rows or columns. A shape is two numbers, and an empty row still costs memory.
pub const LARGEST_EMPTY: usize = 1 << 24;

/// What the first bytes say a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Zip,
    Npy,
    Safetensors,
    /// A bare pickle, as Python and older versions of `torch.save` write it.
    Pickle,
    Other,
}

/// The whole file, read (not mapped: a mapped file can change while it is being judged).
pub(crate) fn read(path: &Path) -> Result<Vec<u8>, FileError> {
    let file = path.display().to_string();
    let unreadable = |source| FileError::Unreadable { file: file.clone(), source };
    // `take` also bounds what has no length, such as a device or a pipe.
    let mut bytes = Vec::new();
    std::fs::File::open(path)
        .map_err(unreadable)?
        .take(LARGEST_FILE + 1)
        .read_to_end(&mut bytes)
        .map_err(unreadable)?;
    if bytes.len() as u64 > LARGEST_FILE {
        return Err(FileError::TooLarge {
            file,
            entry: "the file".into(),
            problem: format!("is longer than {LARGEST_FILE} bytes"),
        });
    }
    Ok(bytes)
}

/// Looks at content only: extensions lie, and embedded files have none.
pub(crate) fn kind(bytes: &[u8]) -> Kind {
    if bytes.starts_with(b"PK\x03\x04") || bytes.starts_with(b"PK\x05\x06") {
        return Kind::Zip;
    }
    if bytes.starts_with(b"\x93NUMPY") {
        return Kind::Npy;
    }
    // A safetensors file is a little-endian length and then a JSON object.
    if bytes.len() >= 9 && bytes[8] == b'{' {
        return Kind::Safetensors;
    }
    if bytes.len() >= 2 && bytes[0] == 0x80 && (2..=5).contains(&bytes[1]) {
        return Kind::Pickle;
    }
    Kind::Other
}

/// The first bytes in a form fit for a message.
pub(crate) fn start(bytes: &[u8]) -> String {
    if bytes.is_empty() {
        return "nothing: it is empty".into();
    }
    let first = &bytes[..bytes.len().min(8)];
    format!("the bytes \"{}\"", first.escape_ascii())
}
