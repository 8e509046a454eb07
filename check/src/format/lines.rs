//! The lines of a file of proofs, plain or compressed, in bounded memory.

use std::io::{self, BufRead, BufReader, Read};

use ruzstd::decoding::StreamingDecoder;

use crate::verdict::Reason;

/// Bytes of a line after the header, at most. What a line becomes in memory is up to some 15 times as large:
/// `{"leaf":{}}` is the worst.
pub const LONGEST_LINE: usize = 8 << 20;

/// Lines that are judged together, in parallel, at most; together they have at most [`LONGEST_LINE`] bytes.
const BATCH: usize = 1024;

/// Bytes of lines that are too long, at most: whoever writes so many means no file of proofs.
const MOST_SKIPPED: u64 = 1 << 29;

/// A line without its line feed, or why it was skipped.
pub(crate) type Raw = Result<Vec<u8>, Reason>;

/// Lines of bounded length.
pub(crate) struct Lines<'a> {
    source: Box<dyn BufRead + 'a>,
    /// A line that was read and did not fit into the last batch.
    held: Option<Raw>,
    /// How many lines were handed out.
    pub(crate) number: u64,
    /// So many may be handed out, the header among them.
    most: u64,
    /// Bytes of lines that were too long.
    skipped: u64,
}

impl<'a> Lines<'a> {
    /// The lines of zstd data, or of anything else as it is.
    pub(crate) fn new(reader: impl Read + 'a) -> io::Result<Lines<'a>> {
        let mut reader = BufReader::new(reader);
        let compressed = reader.fill_buf()?.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]);
        let source: Box<dyn BufRead + 'a> = if compressed {
            Box::new(BufReader::new(Frames { source: Some(reader), frame: None }))
        } else {
            Box::new(reader)
        };
        Ok(Lines { source, held: None, number: 0, most: 1, skipped: 0 })
    }

    /// The first line, of which the graph says how long it may be and how many may follow; `None` if there is none.
    pub(crate) fn header(&mut self, longest: usize, most: u64) -> io::Result<Option<Raw>> {
        self.most = most.saturating_add(1);
        let line = self.read(longest)?;
        self.number += u64::from(line.is_some());
        Ok(line)
    }

    /// The next line without its line feed; one that is too long is skipped.
    fn read(&mut self, longest: usize) -> io::Result<Option<Raw>> {
        let mut line = Vec::new();
        let most = (longest as u64).saturating_add(1);
        let read = self.source.by_ref().take(most).read_until(b'\n', &mut line)?;
        if read == 0 {
            return Ok(None);
        }
        if line.last() == Some(&b'\n') {
            line.pop();
            return Ok(Some(Ok(line)));
        }
        if line.len() <= longest {
            // The last line, without a line feed.
            return Ok(Some(Ok(line)));
        }
        line = Vec::new();
        loop {
            line.clear();
            let read = self.source.by_ref().take(1 << 16).read_until(b'\n', &mut line)?;
            self.skipped += read as u64;
            if self.skipped > MOST_SKIPPED {
                return Err(io::Error::other(format!("lines that are too long go on for {MOST_SKIPPED} bytes")));
            }
            if read == 0 || line.last() == Some(&b'\n') {
                return Ok(Some(Err(Reason::TooLarge(format!("a line of more than {longest} bytes")))));
            }
        }
    }

    /// Some lines, none at the end of the file, and what kept us from reading more.
    pub(crate) fn batch(&mut self) -> (Vec<Raw>, Option<io::Error>) {
        let (mut batch, mut bytes) = (Vec::new(), 0);
        while batch.len() < BATCH {
            let line = match self.held.take() {
                Some(line) => line,
                None => match self.read(LONGEST_LINE) {
                    Ok(None) => break,
                    Ok(Some(_)) if self.number >= self.most => {
                        let problem = format!("a file about this graph has at most {} lines", self.most);
                        return (batch, Some(io::Error::other(problem)));
                    }
                    Ok(Some(line)) => line,
                    Err(error) => return (batch, Some(resumable(error))),
                },
            };
            bytes += line.as_ref().map_or(0, Vec::len);
            if bytes > LONGEST_LINE && !batch.is_empty() {
                self.held = Some(line);
                break;
            }
            self.number += 1;
            batch.push(line);
        }
        (batch, None)
    }
}

/// One zstd frame after another.
struct Frames<R: Read> {
    source: Option<R>,
    frame: Option<StreamingDecoder<R, ruzstd::decoding::FrameDecoder>>,
}

impl<R: BufRead> Read for Frames<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if let Some(frame) = &mut self.frame {
                let count = frame.read(buffer).map_err(cut_short)?;
                if count > 0 || buffer.is_empty() {
                    return Ok(count);
                }
                self.source = self.frame.take().map(StreamingDecoder::into_inner);
            }
            let Some(mut source) = self.source.take() else { return Ok(0) };
            if source.fill_buf()?.is_empty() {
                return Ok(0);
            }
            self.frame = Some(StreamingDecoder::new(source).map_err(|error| cut_short(io::Error::other(error)))?);
        }
    }
}

/// What is said of compressed data that end early.
const CUT: &str = "the compressed data end early: copy the file again";

/// What the decoder says of data that end early, in words.
fn cut_short(error: io::Error) -> io::Error {
    if error.to_string().contains("UnexpectedEof") { io::Error::other(CUT) } else { error }
}

/// The same behind the header, which a run needs to go on.
fn resumable(error: io::Error) -> io::Error {
    match error.to_string() == CUT {
        true => io::Error::other(format!("{CUT}, or go on with its run (--resume)")),
        false => error,
    }
}
