//! Shows a proof to the checker, and judges what it says: by the truth, by the rules of the format, and by the verified
//! checker.

use std::cell::RefCell;
use std::path::Path;

use gcnproof_check::format::{Claim, Line, NodeProof, Step};
use gcnproof_check::{Checker, Judge, Reason};
use serde_json::Value;

use crate::case::Case;
use crate::claim::is_true;
use crate::evaluate::Whole;
use crate::finding::{Counts, Finding, Kind};
use crate::mutate::{Sizes, has_envelope, is_nested as is_nested_json};
use crate::present::Told;
use crate::random::Random;
use crate::rules::Rules;
use crate::tested::{How, guard};
use crate::truth::Truth;

/// A statement with its checkers and the truth about it.
pub struct Ring<'a> {
    /// The case.
    pub case: &'a Case,
    /// What is true of it.
    pub truths: &'a [Truth],
    /// `{"header":…}`.
    pub header: &'a Value,
    /// The checker that rounds first.
    pub fast: &'a Checker<'a>,
    /// The checker that does not.
    pub exact: &'a Checker<'a>,
    /// All counts.
    pub counts: &'a Counts,
    /// The rules of the format.
    pub rules: &'a Rules<'a>,
    /// The verified checker, where it is installed.
    pub judge: Option<RefCell<Judge>>,
}

impl Ring<'_> {
    /// The sizes of the case.
    pub fn sizes(&self) -> Sizes {
        let layers = self.case.layers();
        let hidden = layers[..layers.len() - 1].iter().map(|layer| layer.bias.len());
        Sizes {
            nodes: self.case.nodes(),
            attributes: self.case.entries(),
            depth: layers.len() + 1,
            width: hidden.max().unwrap_or(1),
            classes: self.case.classes(),
        }
    }

    /// Shows a line to the checker. Returns what it was rejected for, with the bound where there is one; `None` if
    /// accepted.
    pub fn show(&self, line: &Value, random: &mut Random, findings: &mut Vec<Finding>) -> Option<f64> {
        if has_envelope(line) {
            Counts::add(&self.counts.bent, 1);
        }
        Counts::add(&self.counts.bent_above, usize::from(is_nested_json(line)));
        let text = line.to_string();
        let Ok(Ok(proof)) = guard(|| text.parse::<NodeProof>()) else { return Some(f64::NEG_INFINITY) };
        let mut report = |kind: Kind, message: String| {
            findings.push(Finding {
                kind,
                message,
                case: self.case.clone(),
                how: How::Complete,
                node: proof.id as usize,
                proof: Some((self.header.to_string(), text.clone())),
            });
        };
        let rounded = match guard(|| self.fast.check(&proof)) {
            Ok(rounded) => rounded,
            Err(problem) => {
                report(Kind::Crash, format!("checker: {problem}"));
                return Some(f64::NEG_INFINITY);
            }
        };
        let accepted = rounded.is_ok();
        if accepted || random.percent(25) {
            match guard(|| self.exact.check(&proof)) {
                Ok(exactly) if exactly.is_ok() != accepted => {
                    report(Kind::Disagreement, format!("rounded {rounded:?}, exactly {exactly:?}"));
                }
                Ok(_) => {}
                Err(problem) => report(Kind::Crash, format!("exact checker: {problem}")),
            }
        }
        let truth = is_true(self.case, self.truths, line);
        Counts::add(&self.counts.false_claims, usize::from(!truth));
        if let Some(message) = self.verified(self.fast, &proof, accepted, truth) {
            report(if truth { Kind::Unverified } else { Kind::Accepted }, message);
        }
        match rounded {
            Ok(verdict) => {
                if let Some(refusal) = Counts::time(&self.counts.judging, || refusal(self.fast, &proof, self.rules)) {
                    report(Kind::Rules, format!("accepted, but by the rules {refusal}"));
                }
                Counts::add(&self.counts.upheld, 1);
                Counts::add(&self.counts.accepted, 1);
                if !truth {
                    report(Kind::Accepted, format!("accepted as {verdict:?}, which is false"));
                }
                None
            }
            Err(fault) => Some(match fault.reason {
                Reason::Bound(bound) => bound.upper.to_f64(),
                _ => f64::NEG_INFINITY,
            }),
        }
    }
}

impl Ring<'_> {
    /// What is wrong with what the verified checker says of a proof: it must accept what the other one accepts, and
    /// nothing false.
    pub fn verified(&self, checker: &Checker, proof: &NodeProof, accepted: bool, truth: bool) -> Option<String> {
        let judge = self.judge.as_ref()?;
        let answer = Counts::time(&self.counts.verifying, || guard(|| judge.borrow_mut().ask(checker, proof)));
        let verdict = match answer {
            Ok(Ok((verdict, _))) => verdict,
            Ok(Err(problem)) | Err(problem) => return Some(format!("verified checker: {problem}")),
        };
        Counts::add(&self.counts.verified, 1);
        Counts::add(&self.counts.confirmed, usize::from(verdict.is_some()));
        let split = |step: &Step| matches!(step, Step::Unit(..) | Step::Flip(..) | Step::Row(..));
        if let (Claim::Robust(trees), Some(_)) = (&proof.claim, verdict) {
            Counts::add(&self.counts.confirmed_splits, usize::from(trees.iter().any(|one| one.tree.iter().any(split))));
        }
        match verdict {
            Some(verdict) if !truth => Some(format!("the verified checker accepts as {verdict:?} what is false")),
            None if accepted => Some("accepted, but not by the verified checker".into()),
            _ => None,
        }
    }
}

/// Has a leaf bends of layer 3?
pub fn is_nested(proof: &NodeProof) -> bool {
    let nested = |step: &Step| match step {
        Step::Leaf(leaf) => leaf.nested,
        Step::Hints(hints) => !hints.nested.is_empty(),
        Step::Unit(..) | Step::Flip(..) | Step::Row(..) => false,
    };
    matches!(&proof.claim, Claim::Robust(trees) if trees.iter().flat_map(|one| &one.tree).any(nested))
}

/// Why the rules of the format do not accept what a checker has accepted, after short leaves are written out; `None` if
/// they do.
pub fn refusal(checker: &Checker, proof: &NodeProof, rules: &Rules) -> Option<String> {
    if !matches!(proof.claim, Claim::Robust(_)) {
        return None;
    }
    let (expanded, lines) = match guard(|| (checker.expand(proof), checker.expanded_bounds(proof.id))) {
        Ok((Ok(expanded), lines)) => (expanded, lines),
        Ok((Err(fault), _)) => return Some(format!("it cannot be expanded: {fault:?}")),
        Err(problem) => return Some(problem),
    };
    let mut known = Whole::new();
    for line in lines {
        let line = serde_json::to_value(Line::Bounds(line)).unwrap_or_default();
        if let Err(refusal) = rules.bounds(&line, &mut known) {
            return Some(format!("a line of bounds: {refusal}: {line}"));
        }
    }
    let line = serde_json::to_value(Line::Node(expanded)).unwrap_or_default();
    rules.robust(&line, &known).err()
}

/// The verified checker, told about a statement.
pub(crate) fn start(program: Option<&Path>, checker: &Checker) -> Result<Option<RefCell<Judge>>, String> {
    program.map(|program| Judge::start(program, checker).map(RefCell::new)).transpose()
}

/// What it says of the text of a proof.
///
/// # Errors
/// If it does not answer.
pub(crate) fn ask(judge: &RefCell<Judge>, checker: &Checker, text: &str) -> Result<Told, String> {
    let Ok(proof) = text.parse::<NodeProof>() else { return Ok(Told::Rejected) };
    guard(|| judge.borrow_mut().ask(checker, &proof))?.map(|(verdict, _)| Told::from(verdict))
}
