//! Checks a whole file of untrusted proofs, line by line and in bounded memory.

use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use gcnproof_files::{GraphFile, ModelFile};
use rayon::prelude::*;

use super::answer::{Asked, differences, left_open, uncovered_attack};
use super::header::{Stop, read_header, require_part};
use super::options::Options;
use super::summary::{Stated, Summary};
use crate::checker::Checker;
use crate::collective::{CollectiveChecker, CollectiveStatement};
use crate::edges::{EdgeChecker, EdgeLine, EdgeNodeProof, EdgeStatement};
use crate::format::lines::{Lines, Raw};
use crate::format::{LONGEST_REASON, Line, Unproved};
use crate::joint::{JointChecker, JointStatement};
use crate::number::steps;
use crate::question::{flippable, removable};
use crate::ranges::{RangeChecker, RangeStatement};
use crate::statement::{Statement, require_digests};
use crate::verdict::{Fault, Reason, Verdict};
use crate::work::Work;

/// Checks a file of proofs, plain or compressed with zstd. `progress` is told how many nodes are done.
///
/// Everything that is wrong is in the summary, and the verdicts in it hold whatever else is wrong with the file. Where
/// the header is about something else than what was asked nothing else is looked at.
pub fn check(
    graph: &GraphFile,
    model: &ModelFile,
    options: &Options,
    reader: impl Read,
    mut progress: impl FnMut(u64),
) -> Summary {
    let (nodes, attributes) = (graph.attributes.rows, graph.attributes.columns);
    let (question, part) = (options.question.clone(), options.part.clone());
    let (verdicts, graphs) = (vec![None; graph.targets()], graph.batch.is_some());
    let categories = graph.categories.is_some();
    let answers = verdicts.clone();
    let mut summary =
        Summary { answers, verdicts, nodes, attributes, graphs, categories, question, part, ..Summary::default() };
    let limits = if options.exact_only { options.limits.exact() } else { options.limits };
    let work = Arc::new(Work::new(limits, nodes, options.stop));
    match run(graph, model, options, &work, reader, &mut progress, &mut summary) {
        Ok(()) | Err(Stop::Unmet) => {}
        Err(Stop::Wrong(line, reason)) => summary.reject(line, None, reason),
        Err(Stop::Unreadable(line, error)) => {
            // Damaged zstd data is wrong, but the system has read it.
            summary.unreadable = error.raw_os_error().is_some();
            summary.reject(line, None, Reason::Unreadable(error.to_string()));
        }
    }
    summary.steps = work.spent();
    if let (true, Some(question)) = (summary.checked, &options.question) {
        let open = left_open(question, &summary);
        summary.unmet.extend(open);
        // Nobody has asked about other nodes.
        let rows = summary.asked_rows(question);
        let answers = std::mem::replace(&mut summary.answers, vec![None; graph.targets()]);
        rows.into_iter().for_each(|row| summary.answers[row] = answers[row]);
    }
    summary
}

fn run(
    graph: &GraphFile,
    model: &ModelFile,
    options: &Options,
    work: &Arc<Work>,
    reader: impl Read,
    progress: &mut dyn FnMut(u64),
    summary: &mut Summary,
) -> Result<(), Stop> {
    let mut lines = Lines::new(reader).map_err(|error| Stop::Unreadable(1, error))?;
    let header = summary.header.insert(read_header(&mut lines, graph, model)?);
    let wrong_header = |reason| Stop::Wrong(1, reason);
    let (of_graph, of_model) = header.digests();
    require_digests(graph, model, of_graph, of_model).map_err(wrong_header)?;
    if let Some(part) = &options.part {
        require_part(part, model, header).map_err(wrong_header)?;
    }
    summary.unmet = differences(header, graph, model, options);
    if !summary.unmet.is_empty() {
        return Err(Stop::Unmet);
    }
    let question = options.question.as_ref();
    let owns = |node: u32| options.part.as_ref().is_none_or(|part| part.owns(node as usize));
    work.set_weights(if chosen_by_file(header, model, options) { 0 } else { between_hidden(model) });
    let meter = work.header();
    match header {
        Stated::Flips(header) if header.ranges.is_some() => {
            let statement = RangeStatement::within(graph, model, header, &options.matrices, &meter);
            let statement = statement.map_err(wrong_header)?;
            drop(meter);
            let checker = RangeChecker::new(&statement, options.exact_only).within(work.clone());
            let asked = Asked::ranges(question, graph, statement.budget()).map_err(wrong_header)?;
            (summary.uncovered, summary.void) = (asked.uncovered.clone(), statement.budget().is_void());
            run_lines(lines, |line, before| judge_ranges(&checker, &asked, owns, line, before), work, progress, summary)
        }
        Stated::Flips(header) => {
            let statement = Statement::within(graph, model, header, &options.matrices, &meter).map_err(wrong_header)?;
            drop(meter);
            let checker = Checker::new(&statement, options.exact_only).within(work.clone());
            let asked = Asked::flips(question, graph, &statement.budget).map_err(wrong_header)?;
            (summary.uncovered, summary.void) = (asked.uncovered.clone(), !flippable(graph, &statement.budget));
            run_lines(lines, |line, before| judge(&checker, &asked, owns, line, before), work, progress, summary)
        }
        Stated::Removals(header) if header.flips.is_some() => {
            let statement = JointStatement::within(graph, model, header, &meter).map_err(wrong_header)?;
            drop(meter);
            let checker = JointChecker::new(&statement, options.exact_only).within(work.clone());
            let asked = Asked::joint(question, graph, &statement).map_err(wrong_header)?;
            let void = !flippable(graph, statement.flip_budget()) && statement.edge_budget().is_void();
            (summary.uncovered, summary.void) = (asked.uncovered.clone(), void);
            run_lines(
                lines,
                |line, before| judge_edges(|p| checker.check(p), &asked, line, before),
                work,
                progress,
                summary,
            )
        }
        Stated::Removals(header) => {
            let statement = EdgeStatement::new(graph, model, header).map_err(wrong_header)?;
            let checker = EdgeChecker::new(&statement, options.exact_only).within(work.clone());
            let asked = Asked::edges(question, graph, header, &statement).map_err(wrong_header)?;
            let void = match &statement {
                EdgeStatement::Removals(statement) => !removable(graph, statement.budget()),
                EdgeStatement::Changes(statement) => statement.budget().is_void(),
            };
            (summary.uncovered, summary.void) = (asked.uncovered.clone(), void);
            run_lines(
                lines,
                |line, before| judge_edges(|p| checker.check(p), &asked, line, before),
                work,
                progress,
                summary,
            )
        }
        Stated::Collective(header) => {
            let statement =
                CollectiveStatement::within(graph, model, header, &options.matrices, &meter).map_err(wrong_header)?;
            summary.void = !flippable(graph, &statement.nodes.budget);
            summary.unmet = uncovered_attack(question, graph, &statement.nodes.budget, header).map_err(wrong_header)?;
            if !summary.unmet.is_empty() {
                return Err(Stop::Unmet);
            }
            drop(meter);
            let checker = CollectiveChecker::new(&statement, options.exact_only, work);
            super::collective::run(lines, &checker, work, progress, summary)
        }
    }
}

/// All lines after the header.
fn run_lines(
    mut lines: Lines,
    judge: impl Fn(Raw, Before) -> JudgedLine + Sync,
    work: &Work,
    progress: &mut dyn FnMut(u64),
    summary: &mut Summary,
) -> Result<(), Stop> {
    let wrong = |line: u64, problem: &str| Stop::Wrong(line, Reason::Order(problem.into()));
    summary.checked = true;
    let mut seen = vec![false; summary.verdicts.len()];
    let begun: Vec<AtomicU64> = seen.iter().map(|_| AtomicU64::new(u64::MAX)).collect();
    let (mut nodes, mut ended) = (0, false);
    loop {
        let first = lines.number + 1;
        let (batch, failure) = lines.batch();
        if batch.is_empty() && failure.is_none() {
            break;
        }
        work.read(&batch).map_err(|reason| Stop::Wrong(first, reason))?;
        let judged = in_order(batch, |at, line| {
            let before = steps();
            let judged = judge(line, Before { begun: &begun, line: first + at as u64 });
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
                JudgedLine::End(count) if count == nodes => ended = true,
                JudgedLine::End(count) => {
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
    let interrupted = "the file ends before its end line: its run was interrupted, and goes on by the same command with --resume (and --out, where it had none)";
    if ended { Ok(()) } else { Err(wrong(lines.number + 1, interrupted)) }
}

/// Enters what became of a line between the header and the end, and says whether it was accepted in vain. `seen` are
/// the nodes of earlier lines.
fn record(line: u64, judged: JudgedLine, seen: &mut [bool], summary: &mut Summary) -> bool {
    let mut repeated = |node: u32| seen.get_mut(node as usize).map(|seen| std::mem::replace(seen, true));
    let accepted = judged.is_accepted();
    match judged {
        JudgedLine::Node(node, result) => match (repeated(node), result) {
            (Some(true), _) if accepted => {
                summary.reject(line, Some(node), Reason::Repeated);
                return true;
            }
            (Some(true), _) => summary.reject(line, Some(node), Reason::Repeated),
            (Some(false), Ok((verdict, answers))) => {
                summary.verdicts[node as usize] = Some(verdict);
                summary.answers[node as usize] = Some(verdict).filter(|_| answers);
            }
            (Some(false), Err(fault)) => {
                summary.refuse(line, node, fault);
            }
            (None, result) => summary.reject(line, Some(node), result.err().unwrap_or(Reason::Node.into())),
        },
        JudgedLine::Unproved(unproved) => match repeated(unproved.id) {
            None => summary.reject(line, Some(unproved.id), Reason::Node),
            Some(true) => summary.reject(line, Some(unproved.id), Reason::Repeated),
            Some(false) => summary.leave(unproved),
        },
        JudgedLine::Other(reason) => summary.reject(line, None, reason),
        // Dealt with where lines are counted; bounds say nothing of a node.
        JudgedLine::End(_) | JudgedLine::Bounds => {}
    }
    false
}

enum JudgedLine {
    /// A verdict, and whether it answers what was asked.
    Node(u32, Result<(Verdict, bool), Fault>),
    Unproved(Unproved),
    Bounds,
    End(u64),
    Other(Reason),
}

impl JudgedLine {
    fn is_accepted(&self) -> bool {
        !matches!(self, JudgedLine::Node(_, Err(_)) | JudgedLine::Other(_))
    }
}

/// The first lines of all nodes that were begun, and the line at hand.
struct Before<'a> {
    begun: &'a [AtomicU64],
    line: u64,
}

impl Before<'_> {
    /// Was an earlier line about this node begun? Then nothing is spent on this one: in a batch the same expensive line
    /// may stand a thousand times.
    fn spoke_of(&self, node: u32) -> bool {
        let first = |first: &AtomicU64| first.fetch_min(self.line, Ordering::Relaxed);
        self.begun.get(node as usize).is_some_and(|begun| first(begun) < self.line)
    }
}

/// Does something with every line, of which it is told the place in the batch: in parallel between two lines of bounds,
/// and with those one by one, because a line of bounds counts for the lines after it and not for those before.
pub(crate) fn in_order<T: Send>(batch: Vec<Raw>, each: impl Fn(usize, Raw) -> T + Sync) -> Vec<T> {
    let is_bounds = |line: &Raw| line.as_ref().is_ok_and(|bytes| bytes.starts_with(br#"{"bounds":"#));
    let together = |lines: &mut Vec<(usize, Raw)>| -> Vec<T> {
        std::mem::take(lines).into_par_iter().map(|(at, line)| each(at, line)).collect()
    };
    let (mut done, mut waiting) = (Vec::with_capacity(batch.len()), Vec::new());
    for (at, line) in batch.into_iter().enumerate() {
        if is_bounds(&line) {
            done.extend(together(&mut waiting));
            done.push(each(at, line));
        } else {
            waiting.push((at, line));
        }
    }
    done.extend(together(&mut waiting));
    done
}

fn judge(checker: &Checker, asked: &Asked, owns: impl Fn(u32) -> bool, line: Raw, before: Before) -> JudgedLine {
    match line.and_then(|bytes| Line::read(&bytes, usize::MAX)) {
        Ok(Line::Node(proof)) if !owns(proof.id) => JudgedLine::Node(proof.id, Err(Reason::NotOwn.into())),
        Ok(Line::Node(proof)) if before.spoke_of(proof.id) => JudgedLine::Node(proof.id, Err(Reason::Repeated.into())),
        Ok(Line::Node(proof)) => {
            let judged = checker.check(&proof).map(|verdict| (verdict, asked.is_answered_by(&proof.claim)));
            JudgedLine::Node(proof.id, judged)
        }
        Ok(Line::Unproved(unproved)) => without_proof(unproved),
        Ok(Line::End(count)) => JudgedLine::End(count),
        Ok(Line::Bounds(line)) => match checker.bounds(&line) {
            Ok(()) => JudgedLine::Bounds,
            Err(reason) => JudgedLine::Other(reason),
        },
        Ok(Line::Header(_)) => JudgedLine::Other(Reason::Order("a second header".into())),
        Ok(Line::Ranged(_)) => JudgedLine::Other(Reason::Order(OTHER_KIND.into())),
        Err(reason) => JudgedLine::Other(reason),
    }
}

fn judge_ranges(
    checker: &RangeChecker,
    asked: &Asked,
    owns: impl Fn(u32) -> bool,
    line: Raw,
    before: Before,
) -> JudgedLine {
    match line.and_then(|bytes| Line::read(&bytes, usize::MAX)) {
        Ok(Line::Ranged(proof)) if !owns(proof.id) => JudgedLine::Node(proof.id, Err(Reason::NotOwn.into())),
        Ok(Line::Ranged(proof)) if before.spoke_of(proof.id) => {
            JudgedLine::Node(proof.id, Err(Reason::Repeated.into()))
        }
        Ok(Line::Ranged(proof)) => {
            let judged = checker.check(&proof).map(|verdict| (verdict, asked.is_answered_by_ranges(&proof.claim)));
            JudgedLine::Node(proof.id, judged)
        }
        Ok(Line::Unproved(unproved)) => without_proof(unproved),
        Ok(Line::End(count)) => JudgedLine::End(count),
        Ok(Line::Header(_)) => JudgedLine::Other(Reason::Order("a second header".into())),
        Ok(Line::Node(_) | Line::Bounds(_)) => JudgedLine::Other(Reason::Order(OTHER_KIND.into())),
        Err(reason) => JudgedLine::Other(reason),
    }
}

/// A line about flips where attributes are moved within ranges, or the other way round.
const OTHER_KIND: &str = "a line of another kind of proof than the header states";

fn judge_edges(
    check: impl Fn(&EdgeNodeProof) -> Result<Verdict, Fault>,
    asked: &Asked,
    line: Raw,
    before: Before,
) -> JudgedLine {
    match line.and_then(|bytes| EdgeLine::read(&bytes, usize::MAX)) {
        Ok(EdgeLine::Node(proof)) if before.spoke_of(proof.id) => {
            JudgedLine::Node(proof.id, Err(Reason::Repeated.into()))
        }
        Ok(EdgeLine::Node(proof)) => {
            let judged = check(&proof).map(|verdict| (verdict, asked.is_answered_by_removals(&proof.claim)));
            JudgedLine::Node(proof.id, judged)
        }
        Ok(EdgeLine::Unproved(unproved)) => without_proof(unproved),
        Ok(EdgeLine::End(count)) => JudgedLine::End(count),
        Ok(EdgeLine::Header(_)) => JudgedLine::Other(Reason::Order("a second header".into())),
        Err(reason) => JudgedLine::Other(reason),
    }
}

fn without_proof(unproved: Unproved) -> JudgedLine {
    if unproved.reason.len() > LONGEST_REASON {
        return JudgedLine::Other(Reason::TooLarge(format!("a reason of more than {LONGEST_REASON} bytes")));
    }
    JudgedLine::Unproved(unproved)
}

/// Does the file alone say along which powers of an operator messages pass? Then it may make any graph dense.
fn chosen_by_file(header: &Stated, model: &ModelFile, options: &Options) -> bool {
    let named = model.layers.iter().any(|layer| !layer.operators.is_empty());
    let asked = !options.message_passing.is_empty();
    !named && !asked && header.message_passing().iter().any(|rule| rule.starts_with("poly"))
}

/// The weights between hidden layers.
fn between_hidden(model: &ModelFile) -> usize {
    let between = model.layers.get(1..model.layers.len() - 1).unwrap_or(&[]);
    between.iter().map(|layer| layer.weight.values.len()).sum()
}
