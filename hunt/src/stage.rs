//! One case from beginning to end: truth, certifier, own proofs, tampered and forged ones.

use std::ops::Range;
use std::path::Path;

use gcnproof::Verdict;
use gcnproof_check::Checker;
use gcnproof_check::format::{Claim, Line};

use crate::attack;
use crate::case::Case;
use crate::compare::compare;
use crate::finding::{Counts, Finding, Kind};
use crate::player::{How, Player, guard, stopped};
use crate::random::Random;
use crate::ring::is_nested;
use crate::solve::solve;
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
        findings.push(Finding { kind, message, case: case.clone_shallow(node), how, node, proof: None });
    };
    let player = match Player::new(case) {
        Ok(player) => player,
        Err(problem) => {
            report(Kind::Crash, 0, problem);
            return findings;
        }
    };
    let statement = match player.statement(&player.header) {
        Ok(statement) => statement,
        Err(problem) => {
            report(Kind::Crash, 0, format!("the checker refuses the statement: {problem}"));
            return findings;
        }
    };
    let (fast, exact) = match guard(|| (Checker::new(&statement, false), Checker::new(&statement, true))) {
        Ok(checkers) => checkers,
        Err(problem) => {
            report(Kind::Crash, 0, problem);
            return findings;
        }
    };
    let mut answers = Vec::with_capacity(case.nodes());
    let certified = Counts::time(&counts.certifying, || {
        player.certify(case, how, Some(&fast), |node, answer| answers.push((node, answer)))
    });
    if let Err(problem) = certified {
        report(Kind::Crash, 0, problem);
    }
    Counts::add(&counts.nodes, answers.len());
    for (node, answer) in answers {
        if stopped() {
            break;
        }
        let (result, line) = match answer {
            Ok(answer) => answer,
            Err(problem) => {
                report(Kind::Crash, node, problem);
                continue;
            }
        };
        for (kind, message) in compare(case, how, &result, &truths[node], &oracle, counts) {
            report(kind, node, message);
        }
        match line {
            Some(Line::Node(proof)) => {
                Counts::add(&counts.proofs, 1);
                Counts::add(&counts.enveloped, usize::from(attack::has_envelope(&proof)));
                Counts::add(&counts.nested, usize::from(is_nested(&proof)));
                let verdicts = Counts::time(&counts.checking, || {
                    let rounded = guard(|| fast.check(&proof));
                    // Exactly as well; of a large graph, every fourth.
                    let again = case.components.len() <= 1000 || node % 4 == 0;
                    let exactly = if again { guard(|| exact.check(&proof)) } else { rounded.clone() };
                    [rounded, exactly]
                });
                let [rounded, exactly] = match verdicts {
                    [Ok(rounded), Ok(exactly)] => [rounded, exactly],
                    [Err(problem), _] | [_, Err(problem)] => {
                        report(Kind::Crash, node, format!("checker: {problem}"));
                        continue;
                    }
                };
                if rounded.is_ok() != exactly.is_ok() {
                    report(Kind::Disagreement, node, format!("rounded {rounded:?}, exactly {exactly:?}"));
                }
                let robust = matches!(proof.claim, Claim::Robust(_));
                match rounded {
                    Err(fault) => report(Kind::Rejected, node, format!("{fault:?}")),
                    Ok(_) if truths[node].robust() != Some(robust) => {
                        report(Kind::Accepted, node, "the program's own proof is accepted and false".into());
                    }
                    Ok(_) => {}
                }
            }
            Some(Line::Unproved(unproved)) if result.verdict != Verdict::Undecided && !stopped() => {
                report(Kind::Unproved, node, format!("{}: {}", result.verdict.name(), unproved.reason));
            }
            _ => {}
        }
    }
    findings
}

impl Case {
    /// The component of a node, and where it begins.
    pub fn component_of(&self, node: usize) -> Range<usize> {
        self.components[self.components.partition_point(|range| range.end <= node)].clone()
    }

    fn clone_shallow(&self, node: usize) -> Case {
        self.part(self.component_of(node))
    }
}
