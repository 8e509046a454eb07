//! A file of proofs written again with every short leaf expanded into hints.

use std::collections::HashSet;
use std::fmt;
use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::path::Path;

use gcnproof_files::{GraphFile, ModelFile};

use super::answer::differences;
use super::header::{Stop, read_header};
use super::options::Options;
use super::stream::in_order;
use super::summary::Stated;
use crate::checker::Checker;
use crate::format::lines::{LONGEST_LINE, Lines, Raw};
use crate::format::{BoundsLine, Header, Line, NodeProof, Unproved, VERSION};
use crate::statement::Statement;
use crate::verdict::Fault;

/// What became of a file that was written again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Expanded {
    /// Nodes whose proof was accepted and written out.
    pub written: u64,
    /// Nodes that have no proof in the new file: without one before, rejected, or too long once written out.
    pub unproved: u64,
}

impl fmt::Display for Expanded {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{} proofs, {} nodes without", self.written, self.unproved)
    }
}

/// The same from file to file; the new file must not exist yet.
///
/// # Errors
/// A message that names the file.
pub fn expand_file(
    graph: &GraphFile,
    model: &ModelFile,
    options: &Options,
    from: &Path,
    to: &Path,
) -> Result<Expanded, String> {
    let at = |path: &Path, error: io::Error| format!("{}: {error}", path.display());
    let reader = File::open(from).map_err(|error| at(from, error))?;
    let new = File::options().write(true).create_new(true).open(to).map_err(|error| at(to, error))?;
    let mut writer = BufWriter::new(new);
    let expanded = expand(graph, model, options, reader, &mut writer).and_then(|found| writer.flush().map(|()| found));
    expanded.map_err(|error| {
        // What is incomplete is of no use.
        let _ = std::fs::remove_file(to);
        format!("{} cannot be written out: {error}", from.display())
    })
}

/// Writes a file of proofs again, in the present version: bounds where leaves need them, hints for short leaves. A
/// proof that is rejected becomes a node without proof, with the reason.
///
/// # Errors
/// If a file cannot be read or written, or is not a file of proofs about this graph and model.
pub fn expand(
    graph: &GraphFile,
    model: &ModelFile,
    options: &Options,
    reader: impl Read,
    mut to: impl Write,
) -> io::Result<Expanded> {
    let invalid = |problem: String| io::Error::new(io::ErrorKind::InvalidData, problem);
    let mut lines = Lines::new(reader)?;
    let header = read_header(&mut lines, graph, model).map_err(|stop| match stop {
        Stop::Wrong(line, reason) => invalid(format!("line {line}: {reason}")),
        Stop::Unreadable(_, error) => error,
        Stop::Unmet => invalid("the header is not about what was asked".into()),
    })?;
    // What is not about the question is not worth the work.
    let unmet = differences(&header, graph, model, options);
    if !unmet.is_empty() {
        return Err(invalid(unmet.join("; ")));
    }
    let header = match header {
        Stated::Flips(header) => header,
        Stated::Removals(_) => {
            let problem = "proofs against removed edges have no short leaves: there is nothing to write out";
            return Err(invalid(problem.into()));
        }
        Stated::Collective(_) => {
            return Err(invalid("proofs about one attack for the whole graph are not written out".into()));
        }
    };
    let statement = Statement::new(graph, model, &header, &options.matrices);
    let statement = statement.map_err(|reason| invalid(format!("line 1: {reason}")))?;
    let checker = Checker::new(&statement, options.exact_only);
    Line::Header(Header { version: VERSION, ..header }).write(&mut to)?;
    let (mut known, mut count, mut found) = (HashSet::new(), 0, Expanded::default());
    loop {
        let (batch, failure) = lines.batch();
        if let Some(error) = failure {
            return Err(error);
        }
        if batch.is_empty() {
            break;
        }
        let rewritten = in_order(batch, |_, line| rewrite(&checker, line));
        for line in rewritten {
            match line {
                Rewritten::Node(bounds, proof) => {
                    for line in bounds.into_iter().filter(|line| known.insert((line.layer, line.node))) {
                        count += 1;
                        Line::Bounds(line).write(&mut to)?;
                    }
                    to.write_all(&proof)?;
                    found.written += 1;
                }
                Rewritten::Unproved(unproved) => {
                    Line::Unproved(unproved).write(&mut to)?;
                    found.unproved += 1;
                }
                Rewritten::Bounds(line) => {
                    known.insert((line.layer, line.node));
                    Line::Bounds(*line).write(&mut to)?;
                }
                Rewritten::Nothing => continue,
                Rewritten::Wrong(problem) => return Err(invalid(problem)),
            }
            count += 1;
        }
    }
    Line::End(count).write(&mut to)?;
    Ok(found)
}

/// A line, written again.
enum Rewritten {
    Node(Vec<BoundsLine>, Vec<u8>),
    Unproved(Unproved),
    Bounds(Box<BoundsLine>),
    Nothing,
    Wrong(String),
}

fn rewrite(checker: &Checker, line: Raw) -> Rewritten {
    match line.and_then(|bytes| Line::read(&bytes, usize::MAX)) {
        Ok(Line::Node(proof)) => match written(checker, &proof) {
            Ok(found) => found,
            Err(fault) => {
                let reason = format!("rejected: {}", fault.reason).chars().take(300).collect();
                Rewritten::Unproved(Unproved { id: proof.id, reason })
            }
        },
        Ok(Line::Unproved(unproved)) => Rewritten::Unproved(unproved),
        Ok(Line::Bounds(line)) => match checker.bounds(&line) {
            Ok(()) => Rewritten::Bounds(Box::new(line)),
            Err(reason) => Rewritten::Wrong(format!("bounds of layer {}, node {}: {reason}", line.layer, line.node)),
        },
        Ok(Line::End(_)) => Rewritten::Nothing,
        Ok(Line::Header(_)) => Rewritten::Wrong("a second header".into()),
        Ok(Line::Ranged(_)) => Rewritten::Wrong("a proof about ranges".into()),
        Err(reason) => Rewritten::Wrong(reason.to_string()),
    }
}

fn written(checker: &Checker, proof: &NodeProof) -> Result<Rewritten, Fault> {
    let expanded = checker.expand(proof)?;
    let mut bytes = Vec::new();
    let long = Line::Node(expanded).write(&mut bytes).is_err() || bytes.len() > LONGEST_LINE;
    if long {
        let reason = format!("written out, the proof is longer than {LONGEST_LINE} bytes");
        return Ok(Rewritten::Unproved(Unproved { id: proof.id, reason }));
    }
    Ok(Rewritten::Node(checker.expanded_bounds(proof.id), bytes))
}
