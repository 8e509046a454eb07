//! Checks a whole file about one attack, line by line.

use rayon::prelude::*;

use super::header::Stop;
use super::summary::{Collective, Summary};
use crate::collective::{CollectiveChecker, CollectiveLine, MOST_SHARES, Share};
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
    /// By node: did an earlier line speak of it?
    seen: Vec<bool>,
    /// Lines with shares, wrong ones among them.
    shares: usize,
    /// Lines after the header.
    lines: u64,
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
    let wrong = |line: u64, problem: &str| Stop::Wrong(line, Reason::Order(problem.into()));
    summary.checked = true;
    let seen = vec![false; summary.verdicts.len()];
    let mut state = Progress { seen, shares: 0, lines: 0, waiting: Vec::new() };
    let mut ended = false;
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
            if ended {
                return Err(wrong(number, "a line follows the claim"));
            }
            if let Ok(CollectiveLine::Claim(claim)) = &line {
                finish(checker, &mut state.waiting, summary);
                if claim.lines != state.lines {
                    let (stated, found) = (claim.lines, state.lines);
                    let problem = format!("the claim counts {stated} lines, but {found} came before");
                    return Err(wrong(number, &problem));
                }
                let (outcome, judged) = checker.claim(claim, &summary.verdicts);
                summary.collective = Some(Collective {
                    counted: outcome.counted,
                    safe: outcome.safe,
                    shared: outcome.shared,
                    claimed: claim.bound,
                    shown: outcome.shown,
                    proved: judged.is_ok(),
                });
                if let Err(reason) = judged {
                    summary.reject(number, None, reason);
                }
                ended = true;
                continue;
            }
            state.lines += 1;
            state.take(checker, number, line, summary);
        }
        finish(checker, &mut state.waiting, summary);
        progress(state.lines);
        work.go_on().map_err(|reason| Stop::Wrong(lines.number + 1, reason))?;
        if let Some(error) = failure {
            return Err(Stop::Unreadable(lines.number + 1, error));
        }
    }
    if ended { Ok(()) } else { Err(wrong(lines.number + 1, "the file ends before its claim")) }
}

impl Progress {
    /// A line before the claim: it waits, or is dealt with at once where others depend on it.
    fn take(
        &mut self,
        checker: &CollectiveChecker,
        number: u64,
        line: Result<CollectiveLine, Reason>,
        summary: &mut Summary,
    ) {
        let task = match line {
            Ok(CollectiveLine::Node(proof)) => match self.first_of(proof.id) {
                Ok(()) => Task::Node(proof),
                Err(reason) => Task::Wrong(Some(proof.id), reason),
            },
            Ok(CollectiveLine::Share(share)) => {
                self.shares += 1;
                let too_many = || Reason::TooLarge(format!("more than {MOST_SHARES} lines with shares"));
                let fine = self.first_of(share.id);
                match fine.and_then(|()| if self.shares > MOST_SHARES { Err(too_many()) } else { Ok(()) }) {
                    Ok(()) => Task::Share(share),
                    Err(reason) => Task::Wrong(Some(share.id), reason),
                }
            }
            Ok(CollectiveLine::Bounds(_)) if self.shares > 0 => {
                Task::Wrong(None, Reason::Order("bounds stand before the first share".into()))
            }
            Ok(CollectiveLine::Bounds(line)) => {
                // It counts for the lines after it and not for those before.
                finish(checker, &mut self.waiting, summary);
                match checker.bounds(&line) {
                    Ok(()) => return,
                    Err(reason) => Task::Wrong(None, reason),
                }
            }
            Ok(CollectiveLine::Collective(_)) => Task::Wrong(None, Reason::Order("a second header".into())),
            // The claim is dealt with where lines are counted.
            Ok(CollectiveLine::Claim(_)) => Task::Wrong(None, Reason::Order("a second claim".into())),
            Err(reason) => Task::Wrong(None, reason),
        };
        self.waiting.push((number, task));
    }

    /// Refuses a node that does not exist, or that an earlier line speaks of.
    fn first_of(&mut self, node: u32) -> Result<(), Reason> {
        let seen = self.seen.get_mut(node as usize).ok_or(Reason::Node)?;
        if std::mem::replace(seen, true) { Err(Reason::Repeated) } else { Ok(()) }
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
