//! Proofs with explicit hints, made up by climbing on the rules: what the rules accept must be true, and the checker
//! must say the same as the rules about them and about changed ones.

use std::cmp::Ordering;
use std::path::Path;

use gcnproof_check::Checker;
use gcnproof_check::format::{Line, NodeProof};
use serde_json::{Value, json};

use crate::evaluate::Whole;
use crate::finding::{Counts, Finding, Kind};
use crate::forge;
use crate::mutate::{change, has_envelope, is_nested};
use crate::random::Random;
use crate::ring::{Ring, start};
use crate::tested::{How, Tested, guard};

/// Changed proofs for each that is made up.
const CHANGED: usize = 6;

/// Makes up a proof for one node and shows it, and changed ones, to the rules and to the checker.
pub fn made_up(
    tested: &Tested,
    ring: &Ring,
    verified: Option<&Path>,
    random: &mut Random,
    findings: &mut Vec<Finding>,
) {
    let rules = ring.rules;
    let fragile: Vec<usize> =
        (0..ring.truths.len()).filter(|&node| ring.truths[node].robust() == Some(false)).collect();
    let node = match fragile.as_slice() {
        [] => random.below(ring.truths.len()),
        fragile if random.percent(60) => fragile[random.below(fragile.len())],
        _ => random.below(ring.truths.len()),
    };
    let Some(reference) = ring.truths[node].reference else { return };
    let mut known = Whole::new();
    let mut lines = Vec::new();
    let mut report = |kind: Kind, message: String, lines: &[Value], proof: &Value| {
        let text = lines.iter().chain([proof]).map(Value::to_string).collect::<Vec<_>>().join("\n");
        let proof = Some((ring.header.to_string(), text));
        findings.push(Finding { kind, message, case: ring.case.clone(), how: How::Complete, node, proof });
    };
    if rules.depth() > 3 && random.percent(60) {
        match forge::bounds(rules, node, &mut known, random) {
            Ok(made) => lines = made,
            Err(refusal) => report(Kind::Rules, format!("made-up bounds are refused: {refusal}"), &[], &Value::Null),
        }
    }
    let mut claims = Vec::new();
    for (class, margin) in ring.truths[node].margins.iter().enumerate() {
        let Some(margin) = margin else { continue };
        let (tree, proved) = forge::tree(rules, node, reference, class, &known, random);
        Counts::add(&ring.counts.judged, 1);
        Counts::add(&ring.counts.proved, usize::from(proved));
        let claim = json!({ "class": class, "tree": tree });
        if proved && margin.sign() != Ordering::Greater {
            let text = format!("the rules prove class {class}, whose margin is {:e}", margin.approximate());
            report(Kind::Rules, text, &lines, &claim);
        }
        claims.push(claim);
    }
    // Both checkers learn the bounds first; then the proof, and changed ones.
    let Ok(statement) = tested.statement(&tested.header) else { return };
    let checkers = [false, true].map(|exact| guard(|| Checker::new(&statement, exact)));
    let [Ok(fast), Ok(exact)] = checkers else { return };
    // A program of its own, because the bounds are.
    let judge = start(verified, &fast).unwrap_or_default();
    for line in &lines {
        let Ok(Line::Bounds(bounds)) = serde_json::from_value::<Line>(line.clone()) else {
            report(Kind::Disagreement, "a line of bounds cannot be read".into(), &lines, line);
            return;
        };
        for checker in [&fast, &exact] {
            if let Err(problem) =
                guard(|| checker.bounds(&bounds)).and_then(|done| done.map_err(|reason| reason.to_string()))
            {
                report(Kind::Disagreement, format!("a line of bounds is refused: {problem}"), &lines, line);
                return;
            }
        }
        if let Some(judge) = &judge {
            let answer = judge.borrow_mut().bounds(&bounds);
            if answer != Ok(true) {
                let text = format!("the verified checker refuses a line of bounds: {answer:?}");
                report(Kind::Disagreement, text, &lines, line);
                return;
            }
        }
    }
    let ring = &Ring { judge, ..*ring };
    let first = json!({ "node": { "id": node, "class": reference, "claim": { "robust": claims } } });
    for round in 0..=CHANGED {
        let mut line = first.clone();
        if round > 0 {
            let claim = &mut line["node"]["claim"];
            for _ in 0..1 + random.below(2) {
                change(claim, random);
            }
        }
        Counts::add(&ring.counts.forged, 1);
        Counts::add(&ring.counts.bent, usize::from(has_envelope(&line)));
        Counts::add(&ring.counts.bent_above, usize::from(is_nested(&line)));
        let by_rules = rules.robust(&line, &known);
        if by_rules.is_ok() && ring.truths[node].robust() != Some(true) {
            report(Kind::Rules, "the rules accept what is false".into(), &lines, &line);
        }
        let proof = match guard(|| line.to_string().parse::<NodeProof>()) {
            Ok(Ok(proof)) => proof,
            Ok(Err(reason)) => {
                if by_rules.is_ok() {
                    report(Kind::Disagreement, format!("accepted by the rules, but not read: {reason}"), &lines, &line);
                }
                continue;
            }
            Err(problem) => {
                report(Kind::Crash, problem, &lines, &line);
                continue;
            }
        };
        let truth = ring.truths[node].robust() == Some(true);
        if let Some(message) = ring.verified(&fast, &proof, by_rules.is_ok(), truth) {
            report(if truth { Kind::Unverified } else { Kind::Accepted }, message, &lines, &line);
        }
        for (name, checker) in [("rounded", &fast), ("exactly", &exact)] {
            match (guard(|| checker.check(&proof)), &by_rules) {
                (Err(problem), _) => report(Kind::Crash, format!("checker: {problem}"), &lines, &line),
                (Ok(Ok(_)), Err(refusal)) => {
                    report(Kind::Rules, format!("accepted {name}, but by the rules {refusal}"), &lines, &line);
                }
                (Ok(Err(fault)), Ok(())) => {
                    report(Kind::Disagreement, format!("accepted by the rules, but {name} {fault:?}"), &lines, &line);
                }
                (Ok(Ok(_)), Ok(())) => Counts::add(&ring.counts.accepted, 1),
                _ => {}
            }
        }
    }
}
