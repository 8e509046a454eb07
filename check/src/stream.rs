//! Checks a whole file of untrusted proofs, line by line and in bounded memory.

use std::io::{self, Read};
use std::sync::Arc;

use gcnproof_files::{GraphFile, ModelFile, SparseMatrix};
use rayon::prelude::*;

use crate::checker::{Checker, Fault, Verdict};
use crate::collective;
use crate::edges;
use crate::expect::Expectations;
use crate::format::{LONGEST_REASON, Line, NodeProof, Unproved, longest_header};
use crate::lines::{Lines, Raw};
use crate::reason::Reason;
use crate::statement::Statement;
use crate::summary::{Stated, Summary};
use crate::work::{Limits, Work, steps};

/// What else may be said to a check.
#[derive(Default)]
pub struct Options {
    /// The matrices that a `matrix:` rule may name.
    pub matrices: Vec<Arc<SparseMatrix>>,
    /// The core alone judges: slow.
    pub exact_only: bool,
    /// What the file must state and prove.
    pub expect: Expectations,
    /// What the check may cost.
    pub limits: Limits,
    /// Asked from time to time: is the check to stop?
    pub stop: Option<fn() -> bool>,
}

/// Why it makes no sense to read on.
pub(crate) enum Stop {
    /// This line is wrong.
    Wrong(u64, Reason),
    /// The system could not read this line.
    Unreadable(u64, io::Error),
    /// What is stated is not what was expected: the summary says it.
    Unmet,
}

/// Checks a file of proofs, plain or compressed with zstd. `progress` is told how many nodes are done.
///
/// Everything that is wrong is in the summary, and the verdicts in it hold whatever else is wrong with the file. Where the
/// header is not what was expected nothing else is looked at.
pub fn check(
    graph: &GraphFile,
    model: &ModelFile,
    options: &Options,
    reader: impl Read,
    mut progress: impl FnMut(u64),
) -> Summary {
    let (nodes, attributes) = (graph.attributes.rows, graph.attributes.columns);
    let mut summary = Summary { verdicts: vec![None; nodes], attributes, ..Summary::default() };
    let limits = if options.exact_only { options.limits.exact() } else { options.limits };
    let work = Arc::new(Work::new(limits, nodes, options.stop));
    match run((graph, model), options, &work, reader, &mut progress, &mut summary) {
        Ok(()) | Err(Stop::Unmet) => {}
        Err(Stop::Wrong(line, reason)) => summary.reject(line, None, reason),
        Err(Stop::Unreadable(line, error)) => {
            // Damaged zstd data is wrong, but the system has read it.
            summary.unreadable = error.raw_os_error().is_some();
            summary.reject(line, None, Reason::Unreadable(error.to_string()));
        }
    }
    summary.steps = work.spent();
    if summary.checked {
        let missing = match &summary.header {
            Some(Stated::Collective(_)) => options.expect.exceeded(summary.collective.as_ref()),
            _ => options.expect.missing(&summary.verdicts),
        };
        summary.unmet.extend(missing);
    }
    summary
}

fn run(
    (graph, model): (&GraphFile, &ModelFile),
    options: &Options,
    work: &Arc<Work>,
    reader: impl Read,
    progress: &mut dyn FnMut(u64),
    summary: &mut Summary,
) -> Result<(), Stop> {
    let mut lines = Lines::new(reader).map_err(|error| Stop::Unreadable(1, error))?;
    let header = summary.header.insert(read_header(&mut lines, graph, model)?);
    summary.unmet = match header {
        Stated::Flips(header) => options.expect.unmet(header, graph),
        Stated::Removals(header) => options.expect.unmet_removals(header, graph),
        Stated::Collective(header) => options.expect.unmet_collective(header, graph),
    };
    let wrong_header = |reason| Stop::Wrong(1, reason);
    let meter = work.line();
    match header {
        Stated::Flips(header) => {
            let statement = Statement::within(graph, model, header, &options.matrices, &meter).map_err(wrong_header)?;
            drop(meter);
            let checker = Checker::new(&statement, options.exact_only).within(work.clone());
            run_lines(lines, |line| judge(&checker, line), work, progress, summary)
        }
        Stated::Removals(header) => {
            let statement = edges::Statement::new(graph, model, header).map_err(wrong_header)?;
            let checker = edges::Checker::new(&statement, options.exact_only).within(work.clone());
            run_lines(lines, |line| judge_removals(&checker, line), work, progress, summary)
        }
        Stated::Collective(header) => {
            let statement =
                collective::Statement::new(graph, model, header, &options.matrices, &meter).map_err(wrong_header)?;
            drop(meter);
            let checker = collective::Checker::new(&statement, options.exact_only, work);
            collective::run(lines, &checker, work, progress, summary)
        }
    }
}

/// All lines after the header, if that is as expected.
fn run_lines(
    mut lines: Lines,
    judge: impl Fn(Raw) -> Judged + Sync,
    work: &Work,
    progress: &mut dyn FnMut(u64),
    summary: &mut Summary,
) -> Result<(), Stop> {
    let wrong = |line: u64, problem: &str| Stop::Wrong(line, Reason::Order(problem.into()));
    if !summary.unmet.is_empty() {
        return Err(Stop::Unmet);
    }
    summary.checked = true;
    let mut seen = vec![false; summary.verdicts.len()];
    let (mut nodes, mut ended) = (0, false);
    loop {
        let first = lines.number + 1;
        let (batch, failure) = lines.batch();
        if batch.is_empty() && failure.is_none() {
            break;
        }
        work.read(&batch).map_err(|reason| Stop::Wrong(first, reason))?;
        let judged = in_order(batch, |line| {
            let before = steps();
            let judged = judge(line);
            let cost = steps().wrapping_sub(before);
            if !judged.is_accepted() {
                work.waste(cost);
            }
            (judged, cost)
        });
        if work.stopped() {
            return Err(Stop::Wrong(first, Reason::Interrupted));
        }
        for (line, (judged, cost)) in (first..).zip(judged) {
            if ended {
                return Err(wrong(line, "a line follows the end line"));
            }
            match judged {
                Judged::End(count) if count == nodes => ended = true,
                Judged::End(count) => {
                    let problem = format!("the end line counts {count} nodes, but {nodes} lines came before");
                    return Err(wrong(line, &problem));
                }
                judged => {
                    nodes += 1;
                    if record(line, judged, &mut seen, summary) {
                        work.waste(cost);
                    }
                }
            }
        }
        progress(nodes);
        work.go_on().map_err(|reason| Stop::Wrong(lines.number + 1, reason))?;
        if let Some(error) = failure {
            return Err(Stop::Unreadable(lines.number + 1, error));
        }
    }
    if ended { Ok(()) } else { Err(wrong(lines.number + 1, "the file ends before its end line")) }
}

/// The first line. No list in it is longer than what it counts, so that its size is bounded by that of the graph.
pub(crate) fn read_header(lines: &mut Lines, graph: &GraphFile, model: &ModelFile) -> Result<Stated, Stop> {
    let wrong = |reason| Stop::Wrong(1, reason);
    let order = |problem: &str| Reason::Order(problem.into());
    let (nodes, attributes, layers) = (graph.attributes.rows, graph.attributes.columns, model.layers.len());
    let rules = model.layers.iter().flat_map(|layer| &layer.operators).map(|rule| rule.len() + 3);
    let (rules, edges) = (rules.sum(), graph.adjacency.indices.len() / 2);
    let longest = longest_header(nodes, attributes, layers).saturating_add(rules);
    let longest =
        longest.max(edges::format::longest_header(nodes, edges, layers.saturating_mul(80).saturating_add(rules)));
    // A file about one attack may name all nodes besides.
    let longest = longest.saturating_add(nodes.saturating_mul(11));
    // A node has one line, and one with bounds for each layer; some more may be wrong.
    let most = (nodes as u64).saturating_mul(layers as u64).saturating_add(SUPERFLUOUS);
    let line = lines.header(longest, most).map_err(|error| Stop::Unreadable(1, error))?;
    let bytes = line.unwrap_or_else(|| Err(order("the file is empty"))).map_err(wrong)?;
    let others = [r#"{"node":"#, r#"{"unproved":"#, r#"{"bounds":"#, r#"{"end":"#, r#"{"share":"#, r#"{"claim":"#];
    if others.iter().any(|other| bytes.starts_with(other.as_bytes())) {
        return Err(wrong(order("the first line is not a header")));
    }
    // A line with an attack is never about attributes, nor one without about edges: each refuses what the other requires.
    let most = nodes.max(layers);
    if bytes.starts_with(br#"{"collective":"#) {
        return match collective::format::Line::read(&bytes, most.max(attributes)).map_err(wrong)? {
            collective::format::Line::Collective(header) => Ok(Stated::Collective(header)),
            _ => Err(wrong(order("the first line is not a header"))),
        };
    }
    if bytes.windows(ATTACK.len()).any(|part| part == ATTACK) {
        return match edges::format::Line::read(&bytes, most.max(edges)).map_err(wrong)? {
            edges::format::Line::Header(header) => Ok(Stated::Removals(header)),
            _ => Err(wrong(order("the first line is not a header"))),
        };
    }
    match Line::read(&bytes, most.max(attributes)).map_err(wrong)? {
        Line::Header(header) => Ok(Stated::Flips(header)),
        _ => Err(wrong(order("the first line is not a header"))),
    }
}

/// Lines that a file may have besides those that its graph has room for.
const SUPERFLUOUS: u64 = 1024;

/// How a header that is not about attributes names what it is about.
const ATTACK: &[u8] = br#""attack":"#;

/// Enters what became of a line between the header and the end, and says whether it was accepted in vain. `seen` are the nodes of earlier lines.
fn record(line: u64, judged: Judged, seen: &mut [bool], summary: &mut Summary) -> bool {
    let mut repeated = |node: u32| seen.get_mut(node as usize).map(|seen| std::mem::replace(seen, true));
    let accepted = judged.is_accepted();
    match judged {
        Judged::Node(node, result) => match (repeated(node), result) {
            (Some(true), _) if accepted => {
                summary.reject(line, Some(node), Reason::Repeated);
                return true;
            }
            (Some(true), _) => summary.reject(line, Some(node), Reason::Repeated),
            (Some(false), Ok(verdict)) => summary.verdicts[node as usize] = Some(verdict),
            (Some(false), Err(fault)) => {
                summary.refuse(line, node, fault);
            }
            (None, result) => summary.reject(line, Some(node), result.err().unwrap_or(Reason::Node.into())),
        },
        Judged::Unproved(unproved) => match repeated(unproved.id) {
            None => summary.reject(line, Some(unproved.id), Reason::Node),
            Some(true) => summary.reject(line, Some(unproved.id), Reason::Repeated),
            Some(false) => summary.leave(unproved),
        },
        Judged::Other(reason) => summary.reject(line, None, reason),
        // Dealt with where lines are counted; bounds say nothing of a node.
        Judged::End(_) | Judged::Bounds => {}
    }
    false
}

enum Judged {
    Node(u32, Result<Verdict, Fault>),
    Unproved(Unproved),
    Bounds,
    End(u64),
    Other(Reason),
}

impl Judged {
    fn is_accepted(&self) -> bool {
        !matches!(self, Judged::Node(_, Err(_)) | Judged::Other(_))
    }
}

/// Does something with every line: in parallel between two lines of bounds, and with those one by one, because a line of bounds counts for the lines
/// after it and not for those before.
pub(crate) fn in_order<T: Send>(batch: Vec<Raw>, each: impl Fn(Raw) -> T + Sync) -> Vec<T> {
    let is_bounds = |line: &Raw| line.as_ref().is_ok_and(|bytes| bytes.starts_with(br#"{"bounds":"#));
    let (mut done, mut waiting) = (Vec::with_capacity(batch.len()), Vec::new());
    for line in batch {
        if is_bounds(&line) {
            done.extend(std::mem::take(&mut waiting).into_par_iter().map(&each).collect::<Vec<T>>());
            done.push(each(line));
        } else {
            waiting.push(line);
        }
    }
    done.extend(waiting.into_par_iter().map(&each).collect::<Vec<T>>());
    done
}

fn judge(checker: &Checker, line: Raw) -> Judged {
    match line.and_then(|bytes| Line::read(&bytes, usize::MAX)) {
        Ok(Line::Node(proof)) => Judged::Node(proof.id, checker.check(&proof)),
        Ok(Line::Unproved(unproved)) => without_proof(unproved),
        Ok(Line::End(count)) => Judged::End(count),
        Ok(Line::Bounds(line)) => match checker.bounds(&line) {
            Ok(()) => Judged::Bounds,
            Err(reason) => Judged::Other(reason),
        },
        Ok(Line::Header(_)) => Judged::Other(Reason::Order("a second header".into())),
        Err(reason) => Judged::Other(reason),
    }
}

fn judge_removals(checker: &edges::Checker, line: Raw) -> Judged {
    use edges::format::Line;
    match line.and_then(|bytes| Line::read(&bytes, usize::MAX)) {
        Ok(Line::Node(proof)) => Judged::Node(proof.id, checker.check(&proof)),
        Ok(Line::Unproved(unproved)) => without_proof(unproved),
        Ok(Line::End(count)) => Judged::End(count),
        Ok(Line::Header(_)) => Judged::Other(Reason::Order("a second header".into())),
        Err(reason) => Judged::Other(reason),
    }
}

fn without_proof(unproved: Unproved) -> Judged {
    if unproved.reason.len() > LONGEST_REASON {
        return Judged::Other(Reason::TooLarge(format!("a reason of more than {LONGEST_REASON} bytes")));
    }
    Judged::Unproved(unproved)
}

/// Reads one proof from one line, for those who want to look at it.
impl std::str::FromStr for NodeProof {
    type Err = Reason;
    fn from_str(line: &str) -> Result<NodeProof, Reason> {
        match Line::read(line.as_bytes(), usize::MAX)? {
            Line::Node(proof) => Ok(proof),
            _ => Err(Reason::Order("not the proof of a node".into())),
        }
    }
}
