//! Proofs of false things: own proofs tampered with, proofs forged by climbing on the bound that the checker reports, own
//! proofs under other headers and on other graphs and models. What is accepted must be true.

use std::path::Path;

use gcnproof_check::Checker;
use gcnproof_check::format::{Header, NodeProof};
use serde_json::{Value, json};

use crate::case::Case;
use crate::claim::under;
use crate::finding::{Counts, Finding, Kind};
use crate::made;
use crate::mutate::{change, has_envelope as has_envelope_json, leaf, split};
use crate::player::{How, Player, guard};
use crate::random::Random;
use crate::ring::{Ring, start};
use crate::rules::Rules;
use crate::solve::solve;
use crate::truth::Truth;
use crate::variant;

/// Tampered proofs, forged proofs, headers and variants tried for one component.
const ROUNDS: [usize; 4] = [12, 16, 3, 2];

/// Has a proof an envelope?
pub fn has_envelope(proof: &NodeProof) -> bool {
    serde_json::to_value(proof).is_ok_and(|value| has_envelope_json(&value))
}

/// Attacks the checker with proofs about one component.
pub fn attack(
    case: &Case,
    truths: &[Truth],
    verified: Option<&Path>,
    random: &mut Random,
    counts: &Counts,
) -> Vec<Finding> {
    let Ok(player) = Player::new(case) else { return Vec::new() };
    let mut findings = Vec::new();
    let Ok(statement) = player.statement(&player.header) else { return findings };
    let Ok(fast) = guard(|| Checker::new(&statement, false)) else { return findings };
    let Ok(exact) = guard(|| Checker::new(&statement, true)) else { return findings };
    let mut lines = Vec::new();
    let how = random.pick(&[How::Complete, How::Complete, How::Optimal, How::Best]);
    let seen = player.certify(case, how, Some(&fast), |_, answer| {
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
    let header = json!({ "header": player.header });
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
    tamper(&ring, &lines, random, &mut findings);
    forge(&ring, &lines, random, &mut findings);
    headers(&player, &ring, &lines, verified, random, &mut findings);
    variants(&ring, &lines, verified, random, &mut findings);
    Counts::time(&counts.judging, || made::made_up(&player, &ring, verified, random, &mut findings));
    findings
}

/// Own proofs with random changes.
fn tamper(ring: &Ring, lines: &[Value], random: &mut Random, findings: &mut Vec<Finding>) {
    if lines.is_empty() {
        return;
    }
    for _ in 0..ROUNDS[0] {
        let mut line = lines[random.below(lines.len())].clone();
        match random.below(8) {
            0 => {
                // The claim of another node.
                let other = &lines[random.below(lines.len())];
                line["node"]["claim"] = other["node"]["claim"].clone();
            }
            1 => {
                if let Some(trees) = trees(&mut line)
                    && trees.len() > 1
                {
                    let (first, second) = (random.below(trees.len()), random.below(trees.len()));
                    let tree = trees[first]["tree"].clone();
                    trees[second]["tree"] = tree;
                }
            }
            2 => {
                let sizes = ring.sizes();
                if let Some(tree) = one_tree(&mut line, random) {
                    split(tree, sizes, random);
                }
            }
            _ => {}
        }
        for _ in 0..1 + random.below(3) {
            change(&mut line["node"], random);
        }
        Counts::add(&ring.counts.tampered, 1);
        ring.show(&line, random, findings);
    }
}

/// Proofs that a node is robust, made up and improved step by step; mostly of nodes that are not robust.
fn forge(ring: &Ring, lines: &[Value], random: &mut Random, findings: &mut Vec<Finding>) {
    let sizes = ring.sizes();
    let fragile: Vec<usize> =
        (0..ring.truths.len()).filter(|&node| ring.truths[node].robust() == Some(false)).collect();
    let node = if fragile.is_empty() || random.percent(10) {
        random.below(ring.truths.len())
    } else {
        fragile[random.below(fragile.len())]
    };
    for &node in &fragile {
        simple(ring, node, random, findings);
    }
    let Some(reference) = ring.truths[node].reference else { return };
    let other: Option<&Value> = (!lines.is_empty()).then(|| &lines[random.below(lines.len())]);
    let tree = |random: &mut Random| match other.and_then(|line| line["node"]["claim"]["robust"][0]["tree"].as_array())
    {
        Some(tree) if random.percent(50) => tree.clone(),
        _ => vec![json!({ "leaf": leaf(sizes, random) })],
    };
    let claims: Vec<Value> = (0..sizes.classes)
        .filter(|&class| class != reference)
        .map(|class| json!({ "class": class, "tree": tree(random) }))
        .collect();
    let mut best = json!({ "node": { "id": node, "class": reference, "claim": { "robust": claims } } });
    let mut bound = f64::NEG_INFINITY;
    for _ in 0..ROUNDS[1] {
        let mut line = best.clone();
        match random.below(10) {
            0 | 1 => {
                if let Some(tree) = one_tree(&mut line, random) {
                    split(tree, sizes, random);
                }
            }
            2..=5 => {
                if let Some(tree) = one_tree(&mut line, random) {
                    let leaves: Vec<usize> = (0..tree.len()).filter(|&at| tree[at].get("leaf").is_some()).collect();
                    if !leaves.is_empty() {
                        tree[leaves[random.below(leaves.len())]] = json!({ "leaf": leaf(sizes, random) });
                    }
                }
            }
            _ => {
                if let Some(tree) = one_tree(&mut line, random) {
                    let at = random.below(tree.len());
                    change(&mut tree[at], random);
                }
            }
        }
        Counts::add(&ring.counts.forged, 1);
        match ring.show(&line, random, findings) {
            None => return,
            Some(reached) if reached >= bound => (best, bound) = (line, reached),
            Some(_) => {}
        }
    }
}

/// The shortest leaves for a node that is not robust.
fn simple(ring: &Ring, node: usize, random: &mut Random, findings: &mut Vec<Finding>) {
    let Some(reference) = ring.truths[node].reference else { return };
    let mut leaves = vec![json!({}), json!({ "cap": true }), json!({ "dual": 2 })];
    if ring.sizes().depth > 3 {
        leaves.extend([json!({ "nested": true }), json!({ "nested": true, "cap": true })]);
    }
    for leaf in leaves {
        let claim = |class: usize| json!({ "class": class, "tree": [{ "leaf": leaf }] });
        let claims: Vec<Value> = (0..ring.case.classes()).filter(|&class| class != reference).map(claim).collect();
        Counts::add(&ring.counts.forged, 1);
        ring.show(
            &json!({ "node": { "id": node, "class": reference, "claim": { "robust": claims } } }),
            random,
            findings,
        );
    }
}

/// Own proofs under headers that say something else.
fn headers(
    player: &Player,
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
        let Ok(statement) = player.statement(&parsed) else { continue };
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
        transplant((&case, verified), &header, &statement, lines, ring.counts, random, findings);
    }
}

/// Own proofs on a graph or a model that is a little different.
fn variants(ring: &Ring, lines: &[Value], verified: Option<&Path>, random: &mut Random, findings: &mut Vec<Finding>) {
    for _ in 0..ROUNDS[3] {
        if lines.is_empty() {
            return;
        }
        let case = variant::vary(ring.case, random);
        let Ok(player) = Player::new(&case) else { continue };
        let Ok(statement) = player.statement(&player.header) else { continue };
        let header = json!({ "header": player.header });
        transplant((&case, verified), &header, &statement, lines, ring.counts, random, findings);
    }
}

fn transplant(
    (case, verified): (&Case, Option<&Path>),
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

fn trees(line: &mut Value) -> Option<&mut Vec<Value>> {
    line["node"]["claim"].get_mut("robust")?.as_array_mut()
}

fn one_tree<'a>(line: &'a mut Value, random: &mut Random) -> Option<&'a mut Vec<Value>> {
    let trees = trees(line)?;
    if trees.is_empty() {
        return None;
    }
    let at = random.below(trees.len());
    trees[at].get_mut("tree")?.as_array_mut().filter(|tree| !tree.is_empty())
}
