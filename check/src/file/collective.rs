//! Checks a whole file about one attack, line by line.

use rayon::prelude::*;

use super::header::Stop;
use super::summary::{Collective, Summary};
use crate::collective::{CollectiveChecker, CollectiveLine, Order, Placed, Share};
use crate::format::NodeProof;
use crate::format::lines::Lines;
use crate::number::steps;
use crate::verdict::{Fault, Reason, Verdict};
use crate::work::Work;

/// A line that can be judged beside others.
enum Task {
    Node(NodeProof),
    Share(Share),
    Wrong(Option<u32>, Reason),
}

/// What became of it.
enum Judged {
    Node(u32, Result<Verdict, Fault>),
    Share(u32, Result<(), Fault>),
    Wrong(Option<u32>, Reason),
}

/// What came before.
struct Progress {
    order: Order,
    /// Lines that wait to be judged together, with their numbers.
    waiting: Vec<(u64, Task)>,
}

/// All lines after the header.
pub(crate) fn run(
    mut lines: Lines,
    checker: &CollectiveChecker,
    work: &Work,
    progress: &mut dyn FnMut(u64),
    summary: &mut Summary,
) -> Result<(), Stop> {
    summary.checked = true;
    let mut state = Progress { order: Order::new(summary.verdicts.len()), waiting: Vec::new() };
    loop {
        let first = lines.number + 1;
        let (batch, failure) = lines.batch();
        if batch.is_empty() && failure.is_none() {
            break;
        }
        work.read(&batch).map_err(|reason| Stop::Wrong(first, reason))?;
        let read: Vec<Result<CollectiveLine, Reason>> =
            batch.into_par_iter().map(|raw| raw.and_then(|bytes| CollectiveLine::read(&bytes, usize::MAX))).collect();
        for (number, line) in (first..).zip(read) {
            let placed = state.order.place(line).map_err(|reason| {
                finish(checker, &mut state.waiting, summary);
                Stop::Wrong(number, reason)
            })?;
            state.take(checker, number, placed, summary);
        }
        finish(checker, &mut state.waiting, summary);
        progress(state.order.lines);
        work.go_on().map_err(|reason| Stop::Wrong(lines.number + 1, reason))?;
        if let Some(error) = failure {
            return Err(Stop::Unreadable(lines.number + 1, error));
        }
    }
    state.order.end().map_err(|reason| Stop::Wrong(lines.number + 1, reason))
}

impl Progress {
    /// A line waits, or is dealt with at once where others depend on it.
    fn take(&mut self, checker: &CollectiveChecker, number: u64, line: Placed, summary: &mut Summary) {
        let task = match line {
            Placed::Node(proof) => Task::Node(proof),
            Placed::Share(share) => Task::Share(share),
            Placed::Bounds(line) => {
                // It counts for the lines after it and not for those before.
                finish(checker, &mut self.waiting, summary);
                match checker.bounds(&line) {
                    Ok(()) => return,
                    Err(reason) => Task::Wrong(None, reason),
                }
            }
            Placed::Claim(claim) => {
                finish(checker, &mut self.waiting, summary);
                let (outcome, judged) = checker.claim(&claim, &summary.verdicts);
                summary.collective = Some(Collective {
                    counted: outcome.counted,
                    safe: outcome.safe,
                    shared: outcome.shared,
                    claimed: claim.bound,
                    shown: outcome.shown,
                    proved: judged.is_ok(),
                });
                return judged.unwrap_or_else(|reason| summary.reject(number, None, reason));
            }
            Placed::Wrong(node, reason) => Task::Wrong(node, reason),
        };
        self.waiting.push((number, task));
    }
}

/// Judges all lines that wait, in parallel, and enters what became of them in their order.
fn finish(checker: &CollectiveChecker, waiting: &mut Vec<(u64, Task)>, summary: &mut Summary) {
    let judge = |(number, task): (u64, Task)| {
        let before = steps();
        let judged = match task {
            Task::Node(proof) => Judged::Node(proof.id, checker.node(&proof)),
            Task::Share(share) => Judged::Share(share.id, checker.share(&share)),
            Task::Wrong(node, reason) => Judged::Wrong(node, reason),
        };
        if !matches!(judged, Judged::Node(_, Ok(_)) | Judged::Share(_, Ok(()))) {
            checker.work().waste(steps().wrapping_sub(before));
        }
        (number, judged)
    };
    let judged: Vec<(u64, Judged)> = std::mem::take(waiting).into_par_iter().map(judge).collect();
    for (number, judged) in judged {
        match judged {
            Judged::Node(node, Ok(verdict)) => summary.verdicts[node as usize] = Some(verdict),
            Judged::Share(_, Ok(())) => {}
            Judged::Node(node, Err(fault)) | Judged::Share(node, Err(fault)) => {
                summary.refuse(number, node, fault);
            }
            Judged::Wrong(node, reason) => summary.reject(number, node, reason),
        }
    }
}
