//! The file of proofs of a run about removed edges: whole lines in frames that stand alone.

use std::fmt;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard};

use gcnproof::edges::{EdgeHeader, EdgeResult, end_line, header_line, node_line};
use gcnproof::results::Mode;
use miette::{Result, miette};
use ruzstd::encoding::{CompressionLevel, compress_to_vec};
use serde::Serialize;

use super::run::stop;

/// A frame is written when it has so many bytes.
const FRAME: usize = 256 << 10;

/// A file of proofs, shared by all threads.
pub struct EdgeProofs {
    path: PathBuf,
    compressed: bool,
    state: Mutex<State>,
}

struct State {
    file: std::fs::File,
    pending: Vec<u8>,
    lines: usize,
    proofs: usize,
    bytes: u64,
    outcome: std::io::Result<()>,
}

/// What was written.
#[derive(Debug, Serialize)]
pub struct Written {
    file: PathBuf,
    proofs: usize,
    without_proof: usize,
    bytes: u64,
}

impl EdgeProofs {
    /// Opens the file and writes the header.
    ///
    /// # Errors
    /// If it is there already, or cannot be written.
    pub fn open(path: &Path, header: &EdgeHeader, mode: Mode) -> Result<EdgeProofs> {
        if mode == Mode::Resume {
            return Err(miette!(
                help = "start again with --force, or resume without --proofs",
                "--proofs {}: a file of edge proofs cannot be gone on with",
                path.display()
            ));
        }
        if mode != Mode::Force && path.metadata().is_ok_and(|data| data.len() > 0) {
            return Err(miette!(
                help = "give another name, or --force to replace it",
                "--proofs {}: the file is there already",
                path.display()
            ));
        }
        let unwritable = |error| {
            miette!(
                help = "choose a place where you may write",
                "--proofs {}: cannot be written: {error}",
                path.display()
            )
        };
        let file = OpenOptions::new().write(true).create(true).truncate(true).open(path).map_err(unwritable)?;
        let state = State { file, pending: Vec::new(), lines: 0, proofs: 0, bytes: 0, outcome: Ok(()) };
        let compressed = path.extension().is_some_and(|extension| extension == "zst");
        let proofs = EdgeProofs { path: path.to_owned(), compressed, state: Mutex::new(state) };
        proofs.state().pending.extend(header_line(header).into_bytes());
        proofs.flush(&mut proofs.state());
        Ok(proofs)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn flush(&self, state: &mut State) {
        if state.pending.is_empty() || state.outcome.is_err() {
            return;
        }
        let frame = match self.compressed {
            true => compress_to_vec(state.pending.as_slice(), CompressionLevel::Fastest),
            false => std::mem::take(&mut state.pending),
        };
        state.pending.clear();
        state.bytes += frame.len() as u64;
        state.outcome = state.file.write_all(&frame);
        // A disk that is full does not get better: stop, and say so at the end.
        if state.outcome.is_err() {
            stop();
        }
    }

    /// Writes the line of a node.
    pub fn push(&self, result: &EdgeResult) {
        let line = node_line(result);
        let state = &mut *self.state();
        state.lines += 1;
        state.proofs += usize::from(line.starts_with("{\"node\""));
        state.pending.extend(line.into_bytes());
        if state.pending.len() >= FRAME {
            self.flush(state);
        }
    }

    /// Writes what is left, and the end of a complete run.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn finish(self, complete: bool) -> Result<Written> {
        let mut state = self.state();
        self.flush(&mut state);
        if complete {
            let end = end_line(state.lines);
            state.pending.extend(end.into_bytes());
            self.flush(&mut state);
        }
        let (proofs, lines, bytes) = (state.proofs, state.lines, state.bytes);
        if let Err(error) = &state.outcome {
            return Err(miette!(
                help = "make room, and start again with --force",
                "--proofs {}: cannot be written: {error}",
                self.path.display()
            ));
        }
        Ok(Written { file: self.path.clone(), proofs, without_proof: lines - proofs, bytes })
    }
}

impl fmt::Display for Written {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        writeln!(f, "{} proofs, {} bytes: {}", self.proofs, self.bytes, self.file.display())?;
        match self.without_proof {
            0 => Ok(()),
            count => writeln!(f, "{count} nodes without proof"),
        }
    }
}
