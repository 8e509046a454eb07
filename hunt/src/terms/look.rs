//! One case with a described network: verdicts, margins, witnesses and own proofs, compared with the truth.

use gcnproof::Verdict;
use gcnproof_check::format::{Claim, Line};
use gcnproof_check::{Checker, Statement};
use serde_json::{Value, json};

use crate::area::Area;
use crate::claim::is_true_by;
use crate::compare::compare;
use crate::finding::{AreaCounts, Counts, Kind};
use crate::player::{How, Player, guard, stopped};
use crate::random::Random;
use crate::record::Record;
use crate::terms::attack::{Ring, forge, tamper};
use crate::terms::case::TermCase;
use crate::terms::keep;
use crate::terms::truth::TermOracle;
use crate::truth::Truth;

/// Looks at a whole case; `attacks` components are taken for tampering and forging.
pub fn look(case: &TermCase, attacks: usize, random: &mut Random, counts: &AreaCounts) -> Vec<Record> {
    let finite = case.operators().iter().flatten().flatten().flatten().all(|entry| entry.1.is_finite());
    if !finite {
        return Vec::new();
    }
    Counts::add(&counts.cases, 1);
    Counts::add(&counts.problems, case.base.components.len());
    let how = random.pick(&[
        How::Complete,
        How::Complete,
        How::Complete,
        How::Minimize,
        How::Optimal,
        How::Best,
        How::Anchored,
    ]);
    let truths = TermOracle::new(case).all();
    let mut found = certify(case, how, &truths, counts);
    for _ in 0..attacks {
        if stopped() {
            break;
        }
        let range = case.base.components[random.below(case.base.components.len())].clone();
        match case.part(range.clone()) {
            Ok(part) => attack(&part, &truths[range], random, counts, &mut found),
            Err(problem) => found.push(keep::record(Area::Terms, case, (Kind::Crash, 0, problem), "", None)),
        }
    }
    found
}

/// Certifies all nodes, compares, and checks the proofs.
fn certify(case: &TermCase, how: How, truths: &[Truth], counts: &AreaCounts) -> Vec<Record> {
    let details = Counts::default();
    let oracle = TermOracle::new(case);
    let mut found = Vec::new();
    let mut report = |kind: Kind, node: usize, message: String, proof: Option<(&Value, &str)>| {
        found.push(keep::record(Area::Terms, case, (kind, node, message), how.options(), proof));
    };
    let player = match Player::new(&case.base) {
        Ok(player) => player,
        Err(problem) => {
            report(Kind::Crash, 0, problem, None);
            return found;
        }
    };
    let header = json!({ "header": player.header });
    let model = &case.base.model;
    let statement = guard(|| Statement::new(&case.base.graph, model, &player.header, &model.matrices));
    let statement = match statement {
        Ok(Ok(statement)) => statement,
        Ok(Err(reason)) => {
            report(Kind::Rejected, 0, format!("the checker refuses the statement: {reason}"), None);
            return found;
        }
        Err(problem) => {
            report(Kind::Crash, 0, problem, None);
            return found;
        }
    };
    let checkers = [Checker::new(&statement, false), Checker::new(&statement, true)];
    let mut answers = Vec::with_capacity(case.base.nodes());
    let certified = player.certify(&case.base, how, Some(&checkers[0]), |node, answer| answers.push((node, answer)));
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
        for (kind, message) in compare(&case.base, how, &result, &truths[node], &oracle, &details) {
            report(kind, node, message, None);
        }
        let proof = match line {
            Some(Line::Node(proof)) => proof,
            Some(Line::Unproved(unproved)) if result.verdict != Verdict::Undecided && !stopped() => {
                report(Kind::Unproved, node, format!("{}: {}", result.verdict.name(), unproved.reason), None);
                continue;
            }
            _ => continue,
        };
        Counts::add(&counts.own, 1);
        let text = json!({ "node": proof }).to_string();
        let shown = Some((&header, text.as_str()));
        let [rounded, exactly] = match checkers.each_ref().map(|checker| guard(|| checker.check(&proof))) {
            [Ok(rounded), Ok(exactly)] => [rounded, exactly],
            [Err(problem), _] | [_, Err(problem)] => {
                report(Kind::Crash, node, format!("checker: {problem}"), shown);
                continue;
            }
        };
        if rounded.is_ok() != exactly.is_ok() {
            report(Kind::Disagreement, node, format!("rounded {rounded:?}, exactly {exactly:?}"), shown);
        }
        match rounded {
            Err(fault) => report(Kind::Rejected, node, format!("{fault:?}"), shown),
            Ok(_) if truths[node].robust() != Some(matches!(proof.claim, Claim::Robust(_))) => {
                report(Kind::Accepted, node, "the program's own proof is accepted and false".into(), shown);
            }
            Ok(_) => {}
        }
    }
    found
}

/// Attacks the checker with proofs about one component.
fn attack(case: &TermCase, truths: &[Truth], random: &mut Random, counts: &AreaCounts, found: &mut Vec<Record>) {
    let Ok(player) = Player::new(&case.base) else { return };
    let model = &case.base.model;
    let statement = guard(|| Statement::new(&case.base.graph, model, &player.header, &model.matrices));
    let Ok(Ok(statement)) = statement else { return };
    let checkers = [Checker::new(&statement, false), Checker::new(&statement, true)];
    let mut lines = Vec::new();
    let how = random.pick(&[How::Complete, How::Complete, How::Optimal, How::Best]);
    let seen = player.certify(&case.base, how, Some(&checkers[0]), |_, answer| {
        if let Ok((_, Some(Line::Node(proof)))) = answer {
            lines.push(json!({ "node": proof }));
        }
    });
    if seen.is_err() {
        return;
    }
    let oracle = TermOracle::new(case);
    let is_true = |line: &Value| is_true_by(&case.base, truths, line, &oracle);
    let robust: Vec<(Option<usize>, bool)> =
        truths.iter().map(|truth| (truth.reference, truth.robust() == Some(true))).collect();
    let header = json!({ "header": player.header });
    let keep = |kind: Kind, node: usize, message: String, line: &str| {
        keep::record(Area::Terms, case, (kind, node, message), "--complete", Some((&header, line)))
    };
    let ring = Ring { case: &case.base, checkers: &checkers, is_true: &is_true, robust: &robust, keep: &keep, counts };
    tamper(&ring, &lines, 12, random, found);
    forge(&ring, &lines, 16, random, found);
}
