//! What a file is by its first bytes, where it stands in the place of another.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use super::parquet::MARK;

/// What is in a file that is neither a graph nor a model: results, proofs, a training log, a page or an array.
pub fn contents_of(path: &Path) -> Option<&'static str> {
    let mut start = Vec::new();
    File::open(path).ok()?.take(START).read_to_end(&mut start).ok()?;
    let is = |text: &str| start.starts_with(text.as_bytes());
    let page = String::from_utf8_lossy(&start).trim_start().to_lowercase();
    match () {
        () if is("{\"header\"") || is("{\"collective\"") || start.starts_with(&ZSTANDARD) => Some("a file of proofs"),
        () if is("{\"gcnproof_training_log\"") => Some("a training log"),
        () if is("{\"format\":\"gcnproof training checkpoint") => {
            Some("the checkpoint of a training that is not finished")
        }
        () if is("{\"node\"") || is("{\"graph\"") || is("{\"q_global\"") => Some("a table of results (JSON lines)"),
        () if is("PAR1") => Some("a table of results (Parquet)"),
        () if is("node,") || is("graph,") || is("q_global,") => Some("a table of results (CSV)"),
        () if page.starts_with("<!doctype html") || page.starts_with("<html") => Some("a page of HTML"),
        () if start.starts_with(b"\x93NUMPY") => Some("an array (npy)"),
        () => None,
    }
}

/// Is a file a table of results of any command, as gcnproof writes them? Its beginning tells, of Parquet also its end.
pub fn is_results(path: &Path) -> bool {
    let Ok(mut file) = File::open(path) else { return false };
    let mut start = Vec::new();
    if (&mut file).take(LINE).read_to_end(&mut start).is_err() {
        return false;
    }
    if start.starts_with(b"PAR1") {
        // The checksum's mark: no other program writes it.
        let mut end = Vec::new();
        let length = file.metadata().map_or(0, |data| data.len());
        let tail = file.seek(SeekFrom::Start(length.saturating_sub(LINE))).and_then(|_| file.read_to_end(&mut end));
        return tail.is_ok() && end.windows(MARK.len()).any(|window| window == MARK.as_bytes());
    }
    let first = start.split(|&byte| byte == b'\n').next().unwrap_or_default();
    let first = String::from_utf8_lossy(first);
    let has = |name: &str| match first.starts_with('{') {
        true => first.contains(&format!("\"{name}\":")),
        false => first.trim_end().split(',').any(|column| column == name),
    };
    COLUMNS.iter().any(|names| names.iter().all(|name| has(name)))
}

/// Columns by which tables are known: of certify and radius, validate, collective, and of the paper's table.
const COLUMNS: [&[&str]; 4] = [
    &["node", "label", "predicted", "degree"],
    &["node", "class", "reference", "dual_default"],
    &["q_global", "counted", "bound"],
    &["cell", "graph", "loss", "seed"],
];

/// Bytes that are looked at.
const START: u64 = 64;

/// Bytes of a first line that are looked at, and of the end of a file: metadata of Parquet may list many nodes.
const LINE: u64 = 1 << 22;

/// How files of proofs that are compressed begin.
const ZSTANDARD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
