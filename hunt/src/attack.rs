//! Proofs of false things: own proofs tampered with, proofs forged by climbing on the bound that the checker reports,
//! own proofs under other headers and on other graphs and models. What is accepted must be true.

use std::path::Path;

use gcnproof_check::Checker;
use gcnproof_check::format::Header;
use serde_json::{Value, json};

use crate::case::Case;
use crate::claim::under;
use crate::finding::{Counts, Finding, Kind};
use crate::made;
use crate::mutate::change;
use crate::present::Forger;
use crate::random::Random;
use crate::ring::{Ring, start};
use crate::rules::Rules;
use crate::solve::solve;
use crate::tested::{How, Tested, guard};
use crate::truth::{Robust, Truth};
use crate::variant;

/// Tampered proofs, forged proofs, headers and variants tried for one component.
const ROUNDS: [usize; 4] = [12, 16, 3, 2];

/// Attacks the checker with proofs about one component.
pub fn attack(
    case: &Case,
    truths: &[Truth],
    verified: Option<&Path>,
    random: &mut Random,
    counts: &Counts,
) -> Vec<Finding> {
    let Ok(tested) = Tested::new(case) else { return Vec::new() };
    let mut findings = Vec::new();
    let Ok(statement) = tested.statement(&tested.header) else { return findings };
    let Ok(fast) = guard(|| Checker::new(&statement, false)) else { return findings };
    let Ok(exact) = guard(|| Checker::new(&statement, true)) else { return findings };
    let mut lines = Vec::new();
    let how = random.pick(&[How::Complete, How::Complete, How::Optimal, How::Best]);
    let seen = tested.certify(case, how, Some(&fast), |_, answer| {
        if let Ok((_, Some(line))) = answer
            && let Ok(value) = serde_json::to_value(&line)
            && value.get("node").is_some()
        {
            lines.push(value);
        }
    });
    if seen.is_err() {
        return findings;
    }
    let header = json!({ "header": tested.header });
    let rules = Rules::new(case);
    let judge = match start(verified, &fast) {
        Ok(judge) => judge,
        Err(problem) => {
            let (kind, how, proof) = (Kind::Crash, How::Complete, None);
            findings.push(Finding { kind, message: problem, case: case.clone(), how, node: 0, proof });
            None
        }
    };
    let ring = Ring { case, truths, header: &header, fast: &fast, exact: &exact, counts, rules: &rules, judge };
    for line in &lines {
        ring.show(line, random, &mut findings);
    }
    let robust: Vec<Robust> = truths.iter().map(Truth::known).collect();
    let forger = Forger { lines: &lines, robust: &robust, classes: case.classes(), trees: &ring.sizes() };
    forger.tamper(ROUNDS[0], random, &mut |line, random| {
        Counts::add(&counts.tampered, 1);
        ring.show(line, random, &mut findings)
    });
    let mut show = |line: &Value, random: &mut Random| {
        Counts::add(&counts.forged, 1);
        ring.show(line, random, &mut findings)
    };
    // The shortest leaves for nodes that are not robust; then longer ones.
    let mut leaves = vec![json!({}), json!({ "cap": true }), json!({ "dual": 2 })];
    if ring.sizes().depth > 3 {
        leaves.extend([json!({ "nested": true }), json!({ "nested": true, "cap": true })]);
    }
    for node in forger.fragile() {
        let Some(reference) = truths[node].reference else { continue };
        for leaf in &leaves {
            show(&forger.line(node, reference, || vec![json!({ "leaf": leaf })]), random);
        }
    }
    forger.forge(ROUNDS[1], random, &mut show);
    headers(&tested, &ring, &lines, verified, random, &mut findings);
    variants(&ring, &lines, verified, random, &mut findings);
    Counts::time(&counts.judging, || made::made_up(&tested, &ring, verified, random, &mut findings));
    findings
}

/// Own proofs under headers that say something else.
fn headers(
    tested: &Tested,
    ring: &Ring,
    lines: &[Value],
    verified: Option<&Path>,
    random: &mut Random,
    findings: &mut Vec<Finding>,
) {
    for _ in 0..ROUNDS[2] {
        if lines.is_empty() {
            return;
        }
        let mut header = ring.header.clone();
        match random.below(3) {
            0 => header["header"]["budget"]["global"] = json!(random.below(5)),
            1 => header["header"]["budget"]["local"] = json!(random.below(4)),
            _ => change(&mut header["header"], random),
        }
        let Ok(parsed) = serde_json::from_value::<Header>(header["header"].clone()) else { continue };
        let Ok(statement) = tested.statement(&parsed) else { continue };
        let Some(case) = under(ring.case, &header) else {
            findings.push(Finding {
                kind: Kind::Accepted,
                message: "the checker takes a header that does not fit the files".into(),
                case: ring.case.clone(),
                how: How::Complete,
                node: 0,
                proof: Some((header.to_string(), lines[0].to_string())),
            });
            continue;
        };
        if crate::network::Flips::new(&case, 0..case.nodes()).count(3000) >= 3000 {
            continue;
        }
        transplant(&case, verified, &header, &statement, lines, ring.counts, random, findings);
    }
}

/// Own proofs on a graph or a model that is a little different.
fn variants(ring: &Ring, lines: &[Value], verified: Option<&Path>, random: &mut Random, findings: &mut Vec<Finding>) {
    for _ in 0..ROUNDS[3] {
        if lines.is_empty() {
            return;
        }
        let case = variant::vary(ring.case, random);
        let Ok(tested) = Tested::new(&case) else { continue };
        let Ok(statement) = tested.statement(&tested.header) else { continue };
        let header = json!({ "header": tested.header });
        transplant(&case, verified, &header, &statement, lines, ring.counts, random, findings);
    }
}

#[allow(clippy::too_many_arguments)]
fn transplant(
    case: &Case,
    verified: Option<&Path>,
    header: &Value,
    statement: &gcnproof_check::Statement,
    lines: &[Value],
    counts: &Counts,
    random: &mut Random,
    findings: &mut Vec<Finding>,
) {
    let Ok(fast) = guard(|| Checker::new(statement, false)) else { return };
    let Ok(exact) = guard(|| Checker::new(statement, true)) else { return };
    let truths = solve(case, counts);
    let rules = Rules::new(case);
    let judge = start(verified, &fast).unwrap_or_default();
    let ring = Ring { case, truths: &truths, header, fast: &fast, exact: &exact, counts, rules: &rules, judge };
    for line in lines {
        Counts::add(&counts.tampered, 1);
        ring.show(line, random, findings);
    }
}
