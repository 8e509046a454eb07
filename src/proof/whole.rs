//! Proofs about one attack for the whole graph: files that are written at once or not at all.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use gcnproof_check::Accepted;
use gcnproof_check::collective::format::{Line, Proof};

use super::file::{FRAME, compressed_frame, is_compressed};

/// Writes a whole file or none: JSON lines, compressed if its name ends in `.zst`.
///
/// # Errors
/// If it cannot be written.
pub fn write_collective(path: &Path, proof: Accepted<Proof>) -> io::Result<()> {
    let beside = path.with_extension("partial");
    let mut to = BufWriter::new(File::create(&beside)?);
    let mut pending = Vec::new();
    for line in proof.into_line().into_lines() {
        line.write(&mut pending)?;
        if pending.len() >= FRAME || matches!(line, Line::Claim(_)) {
            let frame = if is_compressed(path) { compressed_frame(&pending) } else { std::mem::take(&mut pending) };
            to.write_all(&frame)?;
            pending.clear();
        }
    }
    to.into_inner()?.sync_all()?;
    std::fs::rename(beside, path)
}
