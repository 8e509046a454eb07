//! The file of proofs of a run: whole lines only, in frames that stand alone, so that what an interrupted run has written
//! can be read and gone on with.

use std::collections::BTreeSet;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use gcnproof_check::LONGEST_LINE;
use gcnproof_check::format::{Header, Line, Unproved};
use ruzstd::decoding::StreamingDecoder;
use ruzstd::encoding::{CompressionLevel, compress_to_vec};

use super::error::ProofError;

/// A frame is written when it has so many bytes …
const FRAME: usize = 256 << 10;

/// … or when the last one is so long ago.
const PAUSE: Duration = Duration::from_secs(1);

/// What to do with a file that is there already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProofMode {
    /// Start anew; refuse to overwrite an unfinished run or a foreign file.
    Fresh,
    /// Go on with the proofs that are there.
    Resume,
    /// Start anew, whatever is there.
    Force,
}

/// A file of proofs that is being written: JSON lines, compressed if its name ends in `.zst`.
#[derive(Debug)]
pub struct ProofFile {
    path: PathBuf,
    file: File,
    compressed: bool,
    pending: Vec<u8>,
    last: Instant,
    done: BTreeSet<u32>,
    bytes: u64,
}

impl ProofFile {
    /// Opens a file of proofs and writes its header, unless it goes on with one that has the same.
    ///
    /// # Errors
    /// If the file cannot be used, or must not be overwritten.
    pub fn open(path: &Path, header: &Header, mode: ProofMode) -> Result<ProofFile, ProofError> {
        let unwritable = |source| ProofError::Unwritable { file: name(path), source };
        let options = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path);
        let file = options.map_err(unwritable)?;
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => return Err(ProofError::Locked { file: name(path) }),
            // Not every file system can lock.
            Ok(()) | Err(TryLockError::Error(_)) => {}
        }
        let mut proofs = ProofFile {
            path: path.to_owned(),
            file,
            compressed: path.extension().is_some_and(|extension| extension == "zst"),
            pending: Vec::new(),
            last: Instant::now(),
            done: BTreeSet::new(),
            bytes: 0,
        };
        if mode != ProofMode::Force {
            proofs.inherit(header, mode)?;
        }
        proofs.file.set_len(proofs.bytes).map_err(unwritable)?;
        proofs.file.seek(SeekFrom::Start(proofs.bytes)).map_err(unwritable)?;
        if proofs.bytes == 0 {
            Line::Header(header.clone()).write(&mut proofs.pending).map_err(unwritable)?;
            proofs.flush()?;
        }
        Ok(proofs)
    }

    /// The nodes that have a line.
    pub fn done(&self) -> &BTreeSet<u32> {
        &self.done
    }

    /// Bytes on disk.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Adds the line of a node that has none yet.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn push(&mut self, line: &Line) -> Result<(), ProofError> {
        let id = match line {
            Line::Node(proof) => proof.id,
            Line::Unproved(unproved) => unproved.id,
            Line::Header(_) | Line::End(_) => return Ok(()),
        };
        if !self.done.insert(id) {
            return Ok(());
        }
        let start = self.pending.len();
        line.write(&mut self.pending).map_err(|source| ProofError::Unwritable { file: name(&self.path), source })?;
        if self.pending.len() - start > LONGEST_LINE {
            self.pending.truncate(start);
            let reason = format!("the proof is longer than {LONGEST_LINE} bytes");
            let line = Line::Unproved(Unproved { id, reason });
            line.write(&mut self.pending).map_err(|source| ProofError::Unwritable { file: name(&self.path), source })?;
        }
        if self.pending.len() >= FRAME || self.last.elapsed() >= PAUSE { self.flush() } else { Ok(()) }
    }

    /// Writes what is pending; a complete run also gets its end line, in a frame of its own.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn finish(mut self, complete: bool) -> Result<ProofFile, ProofError> {
        self.flush()?;
        let unwritable = |source| ProofError::Unwritable { file: name(&self.path), source };
        if complete {
            Line::End(self.done.len() as u64).write(&mut self.pending).map_err(unwritable)?;
            self.flush()?;
        }
        self.file.sync_all().map_err(|source| ProofError::Unwritable { file: name(&self.path), source })?;
        Ok(self)
    }

    fn flush(&mut self) -> Result<(), ProofError> {
        if self.pending.is_empty() {
            return Ok(());
        }
        let frame;
        let bytes = if self.compressed {
            frame = compress_to_vec(self.pending.as_slice(), CompressionLevel::Fastest);
            &frame
        } else {
            &self.pending
        };
        self.file
            .write_all(bytes)
            .map_err(|source| ProofError::Unwritable { file: name(&self.path), source })?;
        self.bytes += bytes.len() as u64;
        self.pending.clear();
        self.last = Instant::now();
        Ok(())
    }

    /// Takes over what is there: whole frames and lines, up to the end line or to where it was cut short.
    fn inherit(&mut self, header: &Header, mode: ProofMode) -> Result<(), ProofError> {
        let unreadable = |source| ProofError::Unreadable { file: name(&self.path), source };
        let file = || name(&self.path);
        let mut source = Counted { inner: BufReader::new(&self.file), count: 0 };
        if source.fill_buf().map_err(unreadable)?.is_empty() {
            return Ok(());
        }
        let (mut good, mut done) = (0, BTreeSet::new());
        let mut first = true;
        let mut complete = false;
        loop {
            // A frame or a line that is cut short or damaged ends what can be kept.
            let Some(text) = next_piece(&mut source, self.compressed) else { break };
            let mut lines = text.split(|&byte| byte == b'\n').filter(|line| !line.is_empty());
            let parsed: Option<Vec<Line>> = lines.try_fold(Vec::new(), |mut all, line| {
                all.push(serde_json::from_slice(line).ok()?);
                Some(all)
            });
            let Some(parsed) = parsed else { break };
            for line in parsed {
                match line {
                    Line::Header(found) if first && found == *header => {}
                    Line::Header(_) if first && mode == ProofMode::Resume => {
                        return Err(ProofError::OtherRun { file: file() });
                    }
                    Line::Header(_) if first => {}
                    Line::Node(proof) => drop(done.insert(proof.id)),
                    Line::Unproved(unproved) => drop(done.insert(unproved.id)),
                    Line::End(_) => complete = true,
                    Line::Header(_) => break,
                }
                first = false;
            }
            if complete {
                break;
            }
            good = source.count;
        }
        match mode {
            _ if first => {
                let problem = "its first line is no header".to_string();
                return Err(ProofError::Foreign { file: file(), problem });
            }
            ProofMode::Fresh if !complete => return Err(ProofError::Unfinished { file: file(), done: done.len() }),
            ProofMode::Resume => (self.bytes, self.done) = (good, done),
            _ => {}
        }
        Ok(())
    }
}

/// The lines of one frame, or one plain line; `None` where nothing whole is left.
fn next_piece(source: &mut impl BufRead, compressed: bool) -> Option<Vec<u8>> {
    let mut text = Vec::new();
    if compressed {
        if source.fill_buf().ok()?.is_empty() {
            return None;
        }
        let longest = (FRAME + LONGEST_LINE + 2) as u64;
        StreamingDecoder::new(source).ok()?.take(longest).read_to_end(&mut text).ok()?;
    } else {
        source.take(LONGEST_LINE as u64 + 1).read_until(b'\n', &mut text).ok()?;
    }
    (text.last() == Some(&b'\n')).then_some(text)
}

/// Counts the bytes that were taken.
struct Counted<R> {
    inner: R,
    count: u64,
}

impl<R: BufRead> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.count += count as u64;
        Ok(count)
    }
}

impl<R: BufRead> BufRead for Counted<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.inner.fill_buf()
    }

    fn consume(&mut self, amount: usize) {
        self.count += amount as u64;
        self.inner.consume(amount);
    }
}

fn name(path: &Path) -> String {
    path.display().to_string()
}
