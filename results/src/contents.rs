//! What a file is by its first bytes, where it stands in the place of another.

use std::fs::File;
use std::io::Read;
use std::path::Path;

/// What is in a file that is neither a graph nor a model: results, proofs, a training log, a page or an array.
pub fn contents_of(path: &Path) -> Option<&'static str> {
    let mut start = Vec::new();
    File::open(path).ok()?.take(START).read_to_end(&mut start).ok()?;
    let is = |text: &str| start.starts_with(text.as_bytes());
    let page = String::from_utf8_lossy(&start).trim_start().to_lowercase();
    match () {
        () if is("{\"header\"") || start.starts_with(&ZSTANDARD) => Some("a file of proofs"),
        () if is("{\"gcnproof_training_log\"") => Some("a training log"),
        () if is("{\"format\":\"gcnproof training checkpoint") => {
            Some("the checkpoint of a training that is not finished")
        }
        () if is("{\"node\"") || is("{\"q_global\"") => Some("a table of results (JSON lines)"),
        () if is("PAR1") => Some("a table of results (Parquet)"),
        () if is("node,") || is("q_global,") => Some("a table of results (CSV)"),
        () if page.starts_with("<!doctype html") || page.starts_with("<html") => Some("a page of HTML"),
        () if start.starts_with(b"\x93NUMPY") => Some("an array (npy)"),
        () => None,
    }
}

/// Bytes that are looked at.
const START: u64 = 64;

/// How files of proofs that are compressed begin.
const ZSTANDARD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
