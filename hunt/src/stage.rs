//! One case from beginning to end: truth, certifier, own proofs, tampered and forged ones.

use std::path::Path;

use gcnproof::Verdict;
use gcnproof_check::format::{Claim, Line, NodeProof};
use gcnproof_check::{Checker, Statement};

use crate::attack;
use crate::case::Case;
use crate::compare::compare;
use crate::finding::{Counts, Finding, Kind};
use crate::mutate::has_envelope;
use crate::present::both;
use crate::random::Random;
use crate::ring::is_nested;
use crate::solve::solve;
use crate::tested::{How, Tested, guard, stopped};
use crate::truth::{Oracle, Truth};

/// Looks at a whole case; returns what is wrong with it. `attacks` is how many components are taken for tampering and
/// forging; `verified` is the verified checker, to which all these proofs are shown as well.
pub fn look(
    case: &Case,
    how: How,
    attacks: usize,
    verified: Option<&Path>,
    random: &mut Random,
    counts: &Counts,
) -> Vec<Finding> {
    Counts::add(&counts.cases, 1);
    Counts::add(&counts.problems, case.components.len());
    let truths = solve(case, counts);
    if truths.len() < case.nodes() {
        return Vec::new();
    }
    let mut findings = certify(case, how, &truths, counts);
    for _ in 0..attacks {
        if stopped() {
            break;
        }
        let range = case.components[random.below(case.components.len())].clone();
        let part = case.part(range.clone());
        findings.extend(Counts::time(&counts.attacking, || {
            attack::attack(&part, &truths[range], verified, random, counts)
        }));
    }
    findings
}

/// Certifies all nodes, compares, and checks the proofs.
pub fn certify(case: &Case, how: How, truths: &[Truth], counts: &Counts) -> Vec<Finding> {
    let oracle = Oracle::new(case);
    let mut findings = Vec::new();
    let mut report = |kind: Kind, node: usize, message: String| {
        findings.push(Finding { kind, message, case: case.part(case.component_of(node)), how, node, proof: None });
    };
    match Tested::new(case) {
        Err(problem) => report(Kind::Crash, 0, problem),
        Ok(tested) => match tested.statement(&tested.header) {
            Err(problem) => report(Kind::Crash, 0, format!("the checker refuses the statement: {problem}")),
            Ok(statement) => {
                let stage = Examined { case, how, truths, oracle: &oracle, counts };
                stage.certify(&tested, &statement, &mut |kind, node, message, _| report(kind, node, message));
            }
        },
    }
    findings
}

/// Is told what is wrong: kind, node, message, and the line of a proof.
pub type Report<'a> = dyn FnMut(Kind, usize, String, Option<&str>) + 'a;

/// A case, and what is true of it.
pub struct Examined<'a> {
    pub case: &'a Case,
    /// The effort that is asked for.
    pub how: How,
    /// The truth of every node.
    pub truths: &'a [Truth],
    /// Exact margins.
    pub oracle: &'a Oracle<'a>,
    pub counts: &'a Counts,
}

impl Examined<'_> {
    /// Certifies all nodes, compares, and checks the proofs of a statement.
    pub fn certify(&self, tested: &Tested, statement: &Statement, report: &mut Report) {
        let Examined { case, how, truths, oracle, counts } = *self;
        let checkers = match guard(|| [Checker::new(statement, false), Checker::new(statement, true)]) {
            Ok(checkers) => checkers,
            Err(problem) => return report(Kind::Crash, 0, problem, None),
        };
        let mut answers = Vec::with_capacity(case.nodes());
        let certified = Counts::time(&counts.certifying, || {
            tested.certify(case, how, Some(&checkers[0]), |node, answer| answers.push((node, answer)))
        });
        if let Err(problem) = certified {
            report(Kind::Crash, 0, problem, None);
        }
        Counts::add(&counts.nodes, answers.len());
        for (node, answer) in answers {
            if stopped() {
                break;
            }
            let (result, line) = match answer {
                Ok(answer) => answer,
                Err(problem) => {
                    report(Kind::Crash, node, problem, None);
                    continue;
                }
            };
            for (kind, message) in compare(case, how, &result, &truths[node], oracle, counts) {
                report(kind, node, message, None);
            }
            match line {
                Some(Line::Node(proof)) => self.own_proof(node, &proof, &checkers, report),
                Some(Line::Unproved(unproved)) if result.verdict != Verdict::Undecided && !stopped() => {
                    report(Kind::Unproved, node, format!("{}: {}", result.verdict.name(), unproved.reason), None);
                }
                _ => {}
            }
        }
    }

    /// Checks the program's own proof.
    fn own_proof(&self, node: usize, proof: &NodeProof, checkers: &[Checker; 2], report: &mut Report) {
        let line = serde_json::json!({ "node": proof });
        let text = line.to_string();
        Counts::add(&self.counts.proofs, 1);
        Counts::add(&self.counts.enveloped, usize::from(has_envelope(&line)));
        Counts::add(&self.counts.nested, usize::from(is_nested(proof)));
        // Exactly as well; of a large graph, every fourth.
        let again = self.case.components.len() <= 1000 || node.is_multiple_of(4);
        let shown = [&checkers[0], &checkers[usize::from(again)]];
        let verdicts =
            Counts::time(&self.counts.checking, || both(&shown, proof, |checker, proof| checker.check(proof)));
        let [rounded, exactly] = match verdicts {
            Ok(verdicts) => verdicts,
            Err(problem) => return report(Kind::Crash, node, problem, Some(&text)),
        };
        if rounded.is_ok() != exactly.is_ok() {
            report(Kind::Disagreement, node, format!("rounded {rounded:?}, exactly {exactly:?}"), Some(&text));
        }
        match rounded {
            Err(fault) => report(Kind::Rejected, node, format!("{fault:?}"), Some(&text)),
            Ok(_) if self.truths[node].robust() != Some(matches!(proof.claim, Claim::Robust(_))) => {
                report(Kind::Accepted, node, "the program's own proof is accepted and false".into(), Some(&text));
            }
            Ok(_) => {}
        }
    }
}
