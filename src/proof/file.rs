//! The file of proofs of a run: whole lines only, in frames that stand alone, so that what an interrupted run has
//! written can be read and gone on with.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use gcnproof_check::format::{Header, Unproved};
use gcnproof_check::{Accepted, LONGEST_LINE};
use ruzstd::decoding::StreamingDecoder;
use ruzstd::encoding::{CompressionLevel, compress_to_vec};
use serde_json::Value;

use super::error::ProofError;
use super::line::{FileHeader, Part};
use super::missing::Missing;
use super::mode::Mode;

/// A frame is written when it has so many bytes …
pub(super) const FRAME: usize = 256 << 10;

/// … or when the last one is so long ago.
const PAUSE: Duration = Duration::from_secs(1);

/// A file of proofs that is being written: JSON lines, compressed if its name ends in `.zst`. Its header says what they
/// are about.
#[derive(Debug)]
pub struct ProofFile<H: FileHeader = Header> {
    path: PathBuf,
    file: File,
    compressed: bool,
    pending: Vec<u8>,
    last: Instant,
    done: BTreeSet<u32>,
    /// Nodes without proof, by reason.
    unproved: BTreeMap<Missing, usize>,
    bytes: u64,
    /// The header, until it is written.
    header: Option<H>,
    /// Was the file made by us, and is nothing in it yet?
    is_new: bool,
}

impl<H: FileHeader> ProofFile<H> {
    /// Opens a file of proofs. Nothing in it is changed before the first [`ProofFile::push`].
    ///
    /// # Errors
    /// If the file cannot be used, or must not be overwritten.
    pub fn open(path: &Path, header: &H, mode: Mode) -> Result<ProofFile<H>, ProofError> {
        let is_new = !path.exists();
        let mut file = locked(path)?;
        // A run that made the file, and was refused, may have removed it before we had the lock.
        if !path.exists() {
            file = locked(path)?;
        }
        let mut proofs = ProofFile {
            path: path.to_owned(),
            file,
            compressed: is_compressed(path),
            pending: Vec::new(),
            last: Instant::now(),
            done: BTreeSet::new(),
            unproved: BTreeMap::new(),
            bytes: 0,
            header: Some(header.clone()),
            is_new,
        };
        let unreadable = |source| ProofError::Unreadable { file: name(path), source };
        if !is_new && !begins(&proofs.file).map_err(unreadable)? {
            return Err(ProofError::Occupied { file: name(path) });
        }
        if mode != Mode::Force {
            proofs.inherit(header, mode)?;
        }
        Ok(proofs)
    }

    /// Cuts off what cannot be kept, and writes the header where there is none.
    fn begin(&mut self) -> Result<(), ProofError> {
        let Some(header) = self.header.take() else { return Ok(()) };
        let cut = self.file.set_len(self.bytes).and_then(|()| self.file.seek(SeekFrom::Start(self.bytes)));
        cut.map_err(|source| self.unwritable(source))?;
        if self.bytes == 0 {
            self.write(&header.line())?;
            self.flush()?;
        }
        Ok(())
    }

    fn write(&mut self, line: &H::Line) -> Result<(), ProofError> {
        H::write(line, &mut self.pending).map_err(|source| self.unwritable(source))
    }

    fn unwritable(&self, source: io::Error) -> ProofError {
        ProofError::Unwritable { file: name(&self.path), source }
    }

    /// The nodes that have a line.
    pub fn done(&self) -> &BTreeSet<u32> {
        &self.done
    }

    /// How many nodes have a line without proof, by reason.
    pub fn unproved(&self) -> &BTreeMap<Missing, usize> {
        &self.unproved
    }

    /// Bytes on disk.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Adds the line of a node that has none yet.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn push(&mut self, line: &Accepted<H::Line>) -> Result<(), ProofError> {
        let id = match H::part(line) {
            Part::Node(id) => id,
            Part::Unproved(unproved) => unproved.id,
            Part::Header(_) | Part::Other | Part::End => return Ok(()),
        };
        self.begin()?;
        if !self.done.insert(id) {
            return Ok(());
        }
        let start = self.pending.len();
        self.write(line)?;
        if let Part::Unproved(unproved) = H::part(line) {
            self.count(unproved);
        }
        if self.pending.len() - start > LONGEST_LINE {
            self.pending.truncate(start);
            let unproved = Unproved { id, reason: Missing::LineTooLong.to_string() };
            self.count(&unproved);
            self.write(&H::unproved(unproved))?;
        }
        if self.pending.len() >= FRAME || self.last.elapsed() >= PAUSE { self.flush() } else { Ok(()) }
    }

    /// Writes what is pending; a complete run also gets its end line, in a frame of its own.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn finish(&mut self, complete: bool) -> Result<(), ProofError> {
        self.begin()?;
        self.flush()?;
        if complete {
            self.write(&H::end(self.done.len() as u64))?;
            self.flush()?;
        }
        self.file.sync_all().map_err(|source| self.unwritable(source))
    }

    fn count(&mut self, unproved: &Unproved) {
        *self.unproved.entry(Missing::of(&unproved.reason)).or_default() += 1;
    }

    fn flush(&mut self) -> Result<(), ProofError> {
        if self.pending.is_empty() {
            return Ok(());
        }
        let frame;
        let bytes = if self.compressed {
            frame = compressed_frame(&self.pending);
            &frame
        } else {
            &self.pending
        };
        self.is_new = false;
        self.file.write_all(bytes).map_err(|source| self.unwritable(source))?;
        self.bytes += bytes.len() as u64;
        self.pending.clear();
        self.last = Instant::now();
        Ok(())
    }

    /// Takes over what is there: whole frames and lines, up to the end line or to where it was cut short.
    fn inherit(&mut self, header: &H, mode: Mode) -> Result<(), ProofError> {
        let unreadable = |source| ProofError::Unreadable { file: name(&self.path), source };
        let file = || name(&self.path);
        let mut source = Counted { inner: BufReader::new(&self.file), count: 0 };
        if source.fill_buf().map_err(unreadable)?.is_empty() {
            return Ok(());
        }
        let (mut good, mut done, mut unproved) = (0, BTreeSet::new(), Vec::new());
        let mut first = true;
        let mut complete = false;
        // A header with a budget for every node may be longer than any other line.
        let mut own = Vec::new();
        H::write(&header.clone().line(), &mut own).map_err(unreadable)?;
        let longest = LONGEST_LINE.max(own.len());
        // A frame or a line that is cut short or damaged ends what can be kept.
        while let Some(text) = next_piece(&mut source, self.compressed, longest) {
            let mut lines = text.split(|&byte| byte == b'\n').filter(|line| !line.is_empty());
            let parsed: Option<Vec<H::Line>> = lines.try_fold(Vec::new(), |mut all, line| {
                all.push(H::read(line)?);
                Some(all)
            });
            let Some(parsed) = parsed else { break };
            for line in &parsed {
                match H::part(line) {
                    Part::Header(found) if first && found == header => {}
                    Part::Header(found) if first && mode == Mode::Resume => {
                        let differences = differences(found, header);
                        return Err(ProofError::OtherRun { file: file(), differences });
                    }
                    Part::Header(_) if first => {}
                    Part::Node(id) => drop(done.insert(id)),
                    Part::Unproved(one) => {
                        done.insert(one.id);
                        unproved.push(one.clone());
                    }
                    Part::End => complete = true,
                    // Not a line of ours.
                    Part::Header(_) | Part::Other => break,
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
            Mode::Fresh if complete => return Err(ProofError::Finished { file: file(), done: done.len() }),
            Mode::Fresh => return Err(ProofError::Unfinished { file: file(), done: done.len() }),
            Mode::Resume => {
                (self.bytes, self.done) = (good, done);
                unproved.iter().for_each(|one| self.count(one));
            }
            _ => {}
        }
        Ok(())
    }
}

/// A run that is refused before its first proof leaves no file behind.
impl<H: FileHeader> Drop for ProofFile<H> {
    fn drop(&mut self) {
        if self.is_new {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// Opens a file that no other run writes to.
fn locked(path: &Path) -> Result<File, ProofError> {
    let options = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path);
    let file = options.map_err(|source| ProofError::Unwritable { file: name(path), source })?;
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => Err(ProofError::Locked { file: name(path) }),
        // Not every file system can lock.
        Ok(()) | Err(TryLockError::Error(_)) => Ok(file),
    }
}

/// What two headers differ in, in words.
fn differences<H: FileHeader>(theirs: &H, ours: &H) -> String {
    let fields = |header: &H| {
        let mut bytes = Vec::new();
        let written = H::write(&header.clone().line(), &mut bytes);
        let line: Value = written.ok().and_then(|()| serde_json::from_slice(&bytes).ok()).unwrap_or_default();
        line["header"].clone()
    };
    let (theirs, ours) = (fields(theirs), fields(ours));
    let differ = |pointer: &str| theirs.pointer(pointer) != ours.pointer(pointer);
    let number = |header: &Value| {
        header["budget"].get("global").or(header["edges"].get("global")).map(Value::to_string).unwrap_or_default()
    };
    let mut found: Vec<String> =
        FIELDS.iter().filter(|(field, _)| differ(field)).map(|(_, said)| (*said).into()).collect();
    if number(&theirs) != number(&ours) {
        found.push(format!("the budget in all was {}, and is {} now", number(&theirs), number(&ours)));
    }
    if found.is_empty() { "another budget".into() } else { found.join("; ") }
}

/// Fields of headers, and what is said where they differ.
const FIELDS: [(&str, &str); 13] = [
    ("/version", "another version of gcnproof wrote them"),
    ("/graph", "the graph is another one"),
    ("/model", "the model is another one"),
    ("/message_passing", "messages were passed by other rules (--message-passing)"),
    ("/classes", "another class was to be kept (--class)"),
    ("/deployed", "they are about another execution of the network (--deployed)"),
    ("/ranges", "attributes were moved within other ranges (--epsilon, --ranges)"),
    ("/budget/local", "the local budget was another one, or other nodes were frozen"),
    ("/budget/direction", "other flips were possible (--flips)"),
    ("/budget/frozen_attributes", "other attributes were frozen (--freeze-attributes)"),
    ("/edges/local", "the local budget was another one, or other nodes were frozen"),
    ("/edges/keep_one", "the last edge of a node was treated otherwise (--keep-one-edge)"),
    ("/edges/frozen", "other edges were frozen (--freeze-edges)"),
];

/// Is a file one of proofs, whatever they are about, or empty? Only its beginning is looked at.
///
/// # Errors
/// If it cannot be read.
pub fn is_proofs(path: &Path) -> Result<bool, ProofError> {
    let unreadable = |source| ProofError::Unreadable { file: name(path), source };
    File::open(path).and_then(|file| begins(&file)).map_err(unreadable)
}

/// The same of an open file, which stands at its start before and after.
fn begins(mut file: &File) -> io::Result<bool> {
    let mut source = BufReader::new(file);
    let mut start = source.fill_buf()?.to_vec();
    let is_empty = start.is_empty();
    if let Ok(decoder) = StreamingDecoder::new(source) {
        start.clear();
        let _ = decoder.take(64).read_to_end(&mut start);
    }
    file.seek(SeekFrom::Start(0))?;
    Ok(is_empty || HEADERS.iter().any(|header| start.starts_with(header)))
}

/// How files of proofs begin: those about nodes, and those about one attack for the whole graph.
const HEADERS: [&[u8]; 2] = [b"{\"header\"", b"{\"collective\""];

/// Does the name of a file say that it is compressed?
pub(super) fn is_compressed(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "zst")
}

/// A frame that stands alone.
pub(super) fn compressed_frame(lines: &[u8]) -> Vec<u8> {
    compress_to_vec(lines, CompressionLevel::Fastest)
}

/// The lines of one frame, or one plain line; `None` where nothing whole is left.
pub(super) fn next_piece(source: &mut impl BufRead, compressed: bool, longest: usize) -> Option<Vec<u8>> {
    let mut text = Vec::new();
    if compressed {
        if source.fill_buf().ok()?.is_empty() {
            return None;
        }
        let most = (FRAME + longest + 2) as u64;
        StreamingDecoder::new(source).ok()?.take(most).read_to_end(&mut text).ok()?;
    } else {
        source.take(longest as u64 + 1).read_until(b'\n', &mut text).ok()?;
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

pub(super) fn name(path: &Path) -> String {
    path.display().to_string()
}
