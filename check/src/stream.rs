//! A whole file of proofs: a stranger's data, read line by line in bounded memory.

use std::fmt;
use std::io::{self, BufRead, BufReader, Read};
use std::sync::Arc;

use gcnproof_files::{GraphFile, ModelFile, SparseMatrix};
use rayon::prelude::*;
use ruzstd::decoding::StreamingDecoder;

use crate::checker::{Checker, Fault, Statement, Verdict};
use crate::format::{Header, LONGEST_REASON, Line, NodeProof, Unproved};
use crate::reason::Reason;

/// Bytes of a line, at most.
pub const LONGEST_LINE: usize = 64 << 20;

/// Lines and bytes that are judged together, in parallel. A batch is cut when either is reached.
const BATCH: (usize, usize) = (1024, 16 << 20);

/// Rejections that a summary keeps; more are only counted.
const KEPT: usize = 1000;

/// What else may be said to a check.
#[derive(Default)]
pub struct Options {
    /// The matrices that a `matrix:` rule may name.
    pub matrices: Vec<Arc<SparseMatrix>>,
    /// Leave the intervals out: slow, and for tests.
    pub exact_only: bool,
}

/// A rejected line.
#[derive(Clone, Debug, PartialEq)]
pub struct Rejection {
    /// The line, counted from 1.
    pub line: u64,
    /// The node it is about, if that could be read.
    pub node: Option<u32>,
    /// What is wrong.
    pub fault: Fault,
}

impl fmt::Display for Rejection {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "line {}", self.line)?;
        if let Some(node) = self.node {
            write!(f, ", node {node}")?;
        }
        if let Some(class) = self.fault.class {
            write!(f, ", class {class}")?;
        }
        if let Some(step) = self.fault.step {
            write!(f, ", tree node {step}")?;
        }
        write!(f, ": {}", self.fault.reason)
    }
}

/// What became of a file.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// What is proved about what; `None` if not even that was readable.
    pub header: Option<Header>,
    /// The verdict of each node of the graph; `None` where the file has no accepted proof.
    pub verdicts: Vec<Option<Verdict>>,
    /// Number of nodes that the file says it does not prove.
    pub unproved: u64,
    /// The first of them, with the reasons that the file gives.
    pub unproved_reasons: Vec<Unproved>,
    /// Number of rejected lines (and 1 for a file that ends early).
    pub rejected: u64,
    /// The first of them, in the order of the file.
    pub rejections: Vec<Rejection>,
}

impl Summary {
    /// Is everything in the file accepted?
    pub fn accepted(&self) -> bool {
        self.rejected == 0
    }

    /// How many nodes got this verdict.
    pub fn count(&self, verdict: Verdict) -> usize {
        self.verdicts.iter().filter(|&&found| found == Some(verdict)).count()
    }

    fn leave(&mut self, unproved: Unproved) {
        self.unproved += 1;
        if self.unproved_reasons.len() < KEPT {
            self.unproved_reasons.push(unproved);
        }
    }

    fn reject(&mut self, line: u64, node: Option<u32>, fault: impl Into<Fault>) {
        self.rejected += 1;
        if self.rejections.len() < KEPT {
            self.rejections.push(Rejection { line, node, fault: fault.into() });
        }
    }
}

/// Checks a file of proofs, plain or compressed with zstd. `progress` is told how many nodes are done.
///
/// Everything that is wrong is in the summary, and the verdicts in it hold whatever else is wrong with the file.
pub fn check(
    graph: &GraphFile,
    model: &ModelFile,
    options: &Options,
    reader: impl Read,
    mut progress: impl FnMut(u64),
) -> Summary {
    let mut summary = Summary { verdicts: vec![None; graph.attributes.rows], ..Summary::default() };
    if let Err((line, reason)) = run(graph, model, options, reader, &mut progress, &mut summary) {
        summary.reject(line, None, reason);
    }
    summary
}

/// Fails where it makes no sense to read on.
fn run(
    graph: &GraphFile,
    model: &ModelFile,
    options: &Options,
    reader: impl Read,
    progress: &mut dyn FnMut(u64),
    summary: &mut Summary,
) -> Result<(), (u64, Reason)> {
    let order = |problem: &str| Reason::Order(problem.into());
    let first = |reason| (1, reason);
    let mut lines = Lines { source: inflate(reader).map_err(unreadable).map_err(first)?, number: 0 };
    let line = lines.next().map_err(unreadable).map_err(first)?.unwrap_or_else(|| Err(order("the file is empty")));
    let header = match line.and_then(|bytes| parse(&bytes)).map_err(first)? {
        Line::Header(header) => header,
        _ => return Err((1, order("the first line is not a header"))),
    };
    let header = summary.header.insert(header);
    let statement = Statement::new(graph, model, header, &options.matrices).map_err(first)?;
    let checker = Checker::new(&statement, options.exact_only);
    let mut seen = vec![false; summary.verdicts.len()];
    let (mut nodes, mut ended) = (0, false);
    loop {
        let first = lines.number + 1;
        let (batch, failure) = lines.batch();
        if batch.is_empty() && failure.is_none() {
            break;
        }
        let judged: Vec<Judged> = batch.into_par_iter().map(|line| judge(&checker, line)).collect();
        for (line, judged) in (first..).zip(judged) {
            if ended {
                return Err((line, order("a line follows the end line")));
            }
            match judged {
                Judged::End(count) if count == nodes => ended = true,
                Judged::End(count) => {
                    let problem = format!("the end line counts {count} nodes, but {nodes} lines came before");
                    return Err((line, Reason::Order(problem)));
                }
                Judged::Node(node, result) => {
                    nodes += 1;
                    let repeated = seen.get_mut(node as usize).is_some_and(|seen| std::mem::replace(seen, true));
                    match result {
                        _ if repeated => summary.reject(line, Some(node), Reason::Repeated),
                        Ok(verdict) => summary.verdicts[node as usize] = Some(verdict),
                        Err(fault) => summary.reject(line, Some(node), fault),
                    }
                }
                Judged::Unproved(unproved) => {
                    nodes += 1;
                    match seen.get_mut(unproved.id as usize).map(|seen| std::mem::replace(seen, true)) {
                        None => summary.reject(line, Some(unproved.id), Reason::Node),
                        Some(true) => summary.reject(line, Some(unproved.id), Reason::Repeated),
                        Some(false) => summary.leave(unproved),
                    }
                }
                Judged::Bounds => nodes += 1,
                Judged::Other(reason) => {
                    nodes += 1;
                    summary.reject(line, None, reason);
                }
            }
        }
        progress(nodes);
        if let Some(error) = failure {
            return Err((lines.number + 1, unreadable(error)));
        }
    }
    if ended { Ok(()) } else { Err((lines.number + 1, order("the file ends before its end line"))) }
}

fn unreadable(error: io::Error) -> Reason {
    Reason::Unreadable(error.to_string())
}

enum Judged {
    Node(u32, Result<Verdict, Fault>),
    Unproved(Unproved),
    Bounds,
    End(u64),
    Other(Reason),
}

fn judge(checker: &Checker, line: Result<Vec<u8>, Reason>) -> Judged {
    match line.and_then(|bytes| parse(&bytes)) {
        Ok(Line::Node(proof)) => Judged::Node(proof.id, checker.check(&proof)),
        Ok(Line::Unproved(unproved)) if unproved.reason.len() > LONGEST_REASON => {
            Judged::Other(Reason::TooLarge(format!("a reason of more than {LONGEST_REASON} bytes")))
        }
        Ok(Line::Unproved(unproved)) => Judged::Unproved(unproved),
        Ok(Line::End(count)) => Judged::End(count),
        Ok(Line::Bounds(line)) => match checker.bounds(&line) {
            Ok(()) => Judged::Bounds,
            Err(reason) => Judged::Other(reason),
        },
        Ok(Line::Header(_)) => Judged::Other(Reason::Order("a second header".into())),
        Err(reason) => Judged::Other(reason),
    }
}

fn parse(bytes: &[u8]) -> Result<Line, Reason> {
    // An error repeats what it does not know, and a stranger's key may be as long as a line.
    serde_json::from_slice(bytes).map_err(|error| Reason::Syntax(error.to_string().chars().take(200).collect()))
}

/// Reads one proof from one line, for those who want to look at it.
impl std::str::FromStr for NodeProof {
    type Err = Reason;
    fn from_str(line: &str) -> Result<NodeProof, Reason> {
        match parse(line.as_bytes())? {
            Line::Node(proof) => Ok(proof),
            _ => Err(Reason::Order("not the proof of a node".into())),
        }
    }
}

/// Lines of bounded length.
struct Lines<R> {
    source: R,
    number: u64,
}

impl<R: BufRead> Lines<R> {
    /// The next line without its line feed; one that is too long is skipped.
    fn next(&mut self) -> io::Result<Option<Result<Vec<u8>, Reason>>> {
        let mut line = Vec::new();
        let read = self.source.by_ref().take(LONGEST_LINE as u64 + 1).read_until(b'\n', &mut line)?;
        if read == 0 {
            return Ok(None);
        }
        self.number += 1;
        if line.last() == Some(&b'\n') {
            line.pop();
            return Ok(Some(Ok(line)));
        }
        if line.len() <= LONGEST_LINE {
            // The last line, without a line feed.
            return Ok(Some(Ok(line)));
        }
        loop {
            line.clear();
            let read = self.source.by_ref().take(1 << 16).read_until(b'\n', &mut line)?;
            if read == 0 || line.last() == Some(&b'\n') {
                return Ok(Some(Err(Reason::TooLarge(format!("a line of more than {LONGEST_LINE} bytes")))));
            }
        }
    }

    /// Some lines, and what kept us from reading more.
    fn batch(&mut self) -> (Vec<Result<Vec<u8>, Reason>>, Option<io::Error>) {
        let (mut batch, mut bytes) = (Vec::new(), 0);
        while batch.len() < BATCH.0 && bytes < BATCH.1 {
            match self.next() {
                Ok(None) => break,
                Ok(Some(line)) => {
                    bytes += line.as_ref().map_or(0, Vec::len);
                    batch.push(line);
                }
                Err(error) => return (batch, Some(error)),
            }
        }
        (batch, None)
    }
}

/// Zstd data inflated, anything else as it is.
fn inflate<'a>(reader: impl Read + 'a) -> io::Result<Box<dyn BufRead + 'a>> {
    let mut reader = BufReader::new(reader);
    let compressed = reader.fill_buf()?.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]);
    Ok(if compressed {
        Box::new(BufReader::new(Frames { source: Some(reader), frame: None }))
    } else {
        Box::new(reader)
    })
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
                let count = frame.read(buffer)?;
                if count > 0 || buffer.is_empty() {
                    return Ok(count);
                }
                self.source = self.frame.take().map(StreamingDecoder::into_inner);
            }
            let Some(mut source) = self.source.take() else { return Ok(0) };
            if source.fill_buf()?.is_empty() {
                return Ok(0);
            }
            self.frame = Some(StreamingDecoder::new(source).map_err(io::Error::other)?);
        }
    }
}
