//! Bytes from a path, in a bounded amount, and what their first bytes say about the format.

use crate::FileError;
use std::fs::File;
use std::io::{BufReader, Read, Seek};
use std::path::Path;
use std::sync::OnceLock;

/// The bytes that a file may have and that its arrays may take on every machine: 4 GiB.
pub const USUAL_INPUT: u64 = 4 << 30;

/// Bytes of numbers that each byte of a file beyond [`USUAL_INPUT`] may inflate to. A deflated byte can grow a
/// thousandfold, so a small file could otherwise ask for all memory there is.
const INFLATION: u64 = 32;

/// The largest file that is read, and the most that its arrays may take together once they are read (8 bytes for each
/// number, however short it is stored, and 32 for each name): half of the machine's memory, but no less than
/// [`USUAL_INPUT`]; or what the variable `GCNPROOF_INPUT_LIMIT` says in GiB.
pub fn largest_input() -> u64 {
    static LARGEST: OnceLock<u64> = OnceLock::new();
    *LARGEST.get_or_init(|| {
        let asked = std::env::var("GCNPROOF_INPUT_LIMIT").ok().and_then(|text| text.trim().parse::<u64>().ok());
        asked.map_or_else(|| (memory() / 2).max(USUAL_INPUT), |gib| gib.saturating_mul(1 << 30))
    })
}

/// What the arrays of a file of this length may take.
pub(crate) fn largest_inflated(length: u64) -> u64 {
    length.saturating_mul(INFLATION).max(USUAL_INPUT).min(largest_input())
}

/// The machine's memory in bytes, where the system tells.
fn memory() -> u64 {
    let told = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = told.lines().find_map(|line| line.strip_prefix("MemTotal:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok()).unwrap_or(0).saturating_mul(1024)
}

/// Where an archive is read from.
pub(crate) trait Source: Read + Seek {}
impl<T: Read + Seek> Source for T {}

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
    let (file, largest) = (path.display().to_string(), largest_input());
    let unreadable = |source| FileError::Unreadable { file: file.clone(), source };
    let opened = File::open(path).map_err(unreadable)?;
    // The length is known before anything is read; `take` bounds what has none, such as a device or a pipe.
    let length = opened.metadata().map_or(0, |data| data.len());
    let mut bytes = Vec::new();
    if length <= largest {
        opened.take(largest.saturating_add(1)).read_to_end(&mut bytes).map_err(unreadable)?;
    }
    if length.max(bytes.len() as u64) > largest {
        return Err(FileError::TooLarge {
            file,
            entry: "the file".into(),
            problem: format!("is longer than {largest} bytes"),
        });
    }
    Ok(bytes)
}

/// A zip archive that is read array by array, so that its bytes are not in memory beside what they become; `None` for
/// anything else.
pub(crate) fn archive(path: &Path) -> Option<BufReader<File>> {
    let file = File::open(path).ok().filter(|file| file.metadata().is_ok_and(|data| data.is_file()))?;
    let mut reader = BufReader::with_capacity(1 << 20, file);
    let mut first = [0; 4];
    reader.read_exact(&mut first).ok()?;
    reader.rewind().ok()?;
    (kind(&first) == Kind::Zip).then_some(reader)
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
