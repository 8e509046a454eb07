//! A whole file about one attack, shown to the verified checker line by line: unlike proofs about single nodes they are
//! judged together, by one program.

use std::io::Read;
use std::path::Path;

use gcnproof_files::{GraphFile, ModelFile};
use rayon::prelude::*;

use super::program::{Judge, written};
use crate::checker::Checker;
use crate::collective::{CollectiveHeader, CollectiveLine, CollectiveStatement, Order, Placed};
use crate::file::{Options, Stated, Stop, read_header};
use crate::format::Claim;
use crate::format::lines::Lines;
use crate::verdict::{Reason, Verdict};

/// Share lines that are written at once.
const WRITTEN_AT_ONCE: usize = 64;

/// What the verified checker says of a file about one attack.
#[derive(Clone, Copy, Debug, Default)]
pub struct Told {
    /// Accepted lines about nodes that are never broken.
    pub safe: usize,
    /// Accepted share lines.
    pub shared: usize,
    /// Lines of bounds that it was given.
    pub bounds: usize,
    /// Lines that are not accepted, or may not stand where they do: what is wrong with a line is wrong with the file.
    pub refused: usize,
    /// Is the claim accepted?
    pub holds: bool,
}

impl Told {
    /// Is everything accepted?
    pub fn accepted(&self) -> bool {
        self.holds && self.refused == 0
    }
}

/// What a file is about.
pub(super) struct Asked<'a> {
    pub(super) graph: &'a GraphFile,
    pub(super) model: &'a ModelFile,
    pub(super) header: &'a CollectiveHeader,
    pub(super) options: &'a Options,
}

/// What the verified checker says of a file about one attack; `None` if the file is about something else.
///
/// # Errors
/// If the file cannot be read, or the program cannot be run.
pub fn verify_collective(
    program: &Path,
    graph: &GraphFile,
    model: &ModelFile,
    options: &Options,
    proofs: impl Read,
) -> Result<Option<Told>, String> {
    let mut lines = Lines::new(proofs).map_err(|error| error.to_string())?;
    match read_header(&mut lines, graph, model) {
        Ok(Stated::Collective(header)) => {
            ask(program, Asked { graph, model, header: &header, options }, lines).map(Some)
        }
        Ok(_) | Err(Stop::Unmet) => Ok(None),
        Err(Stop::Wrong(line, reason)) => Err(format!("line {line}: {reason}")),
        Err(Stop::Unreadable(_, error)) => Err(error.to_string()),
    }
}

/// The lines after the header, by the same rules about their order and that of their lists as for the other checker.
pub(super) fn ask(program: &Path, asked: Asked, mut lines: Lines) -> Result<Told, String> {
    let Asked { graph, model, header, options } = asked;
    let statement = CollectiveStatement::new(graph, model, header, &options.matrices);
    let statement = statement.map_err(|reason| format!("line 1: {reason}"))?;
    let (mut order, mut all) = (Order::new(graph.attributes.rows), Vec::new());
    loop {
        let (batch, failure) = lines.batch();
        if let Some(error) = failure {
            return Err(error.to_string());
        }
        if batch.is_empty() {
            break;
        }
        let read = batch.into_iter().map(|line| line.and_then(|bytes| CollectiveLine::read(&bytes, usize::MAX)));
        all.extend(read.map(|line| order.place(line)));
    }
    let about = About { program, statement: &statement, exact_only: options.exact_only, nodes: graph.attributes.rows };
    let told = about.ask(&all, false)?;
    // The other checker takes floats first as well, and exact weights where the claim needs them.
    let has_sizes = all.iter().any(|line| matches!(line, Ok(Placed::Share(share)) if share.size > 0));
    if told.holds || !has_sizes { Ok(told) } else { about.ask(&all, true) }
}

/// Who is asked, and about what.
struct About<'a> {
    program: &'a Path,
    statement: &'a CollectiveStatement<'a>,
    exact_only: bool,
    nodes: usize,
}

impl About<'_> {
    /// What a new program says of all lines, with sizes of flips from exact weights or from floats.
    fn ask(&self, lines: &[Result<Placed, Reason>], exact_sizes: bool) -> Result<Told, String> {
        let checker = &Checker::new(self.statement.of_single_nodes(), self.exact_only);
        let mut judge = Judge::of_one_attack(self.program, checker, self.statement)?;
        let mut told = Told::default();
        let is_share = |line: &Result<Placed, Reason>| matches!(line, Ok(Placed::Share(_)));
        let runs = lines.chunk_by(|a, b| is_share(a) == is_share(b));
        let mut parts = runs.flat_map(|run| run.chunks(WRITTEN_AT_ONCE));
        let text = |line: &Result<Placed, Reason>| match line {
            Ok(Placed::Share(share)) => written(checker, share, exact_sizes),
            _ => None,
        };
        let write = |part: &[Result<Placed, Reason>]| -> Vec<Option<String>> { part.par_iter().map(text).collect() };
        let mut next = parts.next();
        let mut texts = next.map(write).unwrap_or_default();
        while let Some(part) = next {
            next = parts.next();
            // Share lines are written while the program looks at those before; not before bounds are taken, though.
            let early = next.filter(|_| part.iter().all(is_share));
            let asked = || self.part(part, &texts, &mut judge, checker, &mut told);
            let (following, goes_on) = rayon::join(|| early.map(write), asked);
            if !goes_on? {
                break;
            }
            texts = following.or_else(|| next.map(write)).unwrap_or_default();
        }
        Ok(told)
    }

    /// Asks about some lines, with the texts of those with shares. Does anything follow from the lines after them?
    fn part(
        &self,
        lines: &[Result<Placed, Reason>],
        texts: &[Option<String>],
        judge: &mut Judge,
        checker: &Checker,
        told: &mut Told,
    ) -> Result<bool, String> {
        for (line, text) in lines.iter().zip(texts) {
            let accepted = match line {
                Ok(Placed::Node(proof)) if matches!(proof.claim, Claim::Robust(_)) => {
                    let (verdict, bounds) = judge.ask(checker, proof)?;
                    told.bounds += bounds;
                    told.safe += usize::from(verdict == Some(Verdict::Robust));
                    verdict == Some(Verdict::Robust)
                }
                Ok(Placed::Share(share)) => {
                    let (accepted, bounds) = judge.share(checker, share, text.as_deref())?;
                    told.bounds += bounds;
                    told.shared += usize::from(accepted);
                    accepted
                }
                Ok(Placed::Bounds(line)) => {
                    let accepted = checker.bounds(line).is_ok() && judge.bounds(line)?;
                    told.bounds += usize::from(accepted);
                    accepted
                }
                Ok(Placed::Claim(claim)) => {
                    told.holds = claim.require_prices(self.nodes).is_ok() && judge.claim(claim)?;
                    told.holds
                }
                Ok(Placed::Node(_) | Placed::Wrong(..)) => false,
                // Nothing follows from the rest.
                Err(_) => {
                    told.refused += 1;
                    return Ok(false);
                }
            };
            told.refused += usize::from(!accepted);
        }
        Ok(true)
    }
}
