//! Proofs of a case of flips and changed edges: the program's own, tampered with, forged, and under headers with other
//! budgets. What is accepted must be true.

use std::path::Path;

use gcnproof_check::edges::format::{Header, Line, NodeProof};
use gcnproof_check::joint::{Checker, Statement};
use gcnproof_check::{EdgeAnswer, JointJudge};
use serde_json::{Value, json};

use crate::case::Way;
use crate::changes::truth::{ChangeTruth, sets};
use crate::finding::{AreaCounts, Counts, Kind};
use crate::joint::case::{JointCase, MOST};
use crate::mutate::{Sizes, leaf, split};
use crate::present::both;
use crate::random::Random;

/// What was found of a proof.
pub struct JointFound {
    pub kind: Kind,
    pub node: usize,
    pub message: String,
    /// The header that the line was under.
    pub header: Value,
    pub line: Value,
}

/// What proofs are made from, and to whom they are shown.
pub struct JointShown<'a> {
    pub case: &'a JointCase,
    pub header: &'a Header,
    /// The program's own proofs.
    pub lines: &'a [Value],
    pub own: &'a [ChangeTruth],
    /// The verified checker, where it is asked as well.
    pub verified: Option<&'a Path>,
}

/// The verified checker, told about a statement, where it is asked.
pub struct JointSecond<'a> {
    judge: Option<JointJudge>,
    counts: &'a AreaCounts,
}

/// Sets that the verified checker lists for a proof, at most.
const MOST_SETS: u64 = 2_000;

impl<'a> JointSecond<'a> {
    /// Starts it.
    ///
    /// # Errors
    /// If it cannot be run, or does not take the statement.
    pub fn start(
        verified: Option<&Path>,
        case: &JointCase,
        header: &Header,
        counts: &'a AreaCounts,
    ) -> Result<JointSecond<'a>, String> {
        let (graph, model) = (&case.changes.graph, &case.changes.model);
        let judge = verified.map(|program| JointJudge::start(program, graph, model, header)).transpose()?;
        Ok(JointSecond { judge, counts })
    }

    /// What is wrong with what it says of a proof that the other checker accepts or not.
    ///
    /// # Errors
    /// If it does not answer.
    pub fn wrong(
        &mut self,
        checker: &Checker,
        proof: &NodeProof,
        accepted: bool,
        is_true: bool,
    ) -> Result<Option<(Kind, String)>, String> {
        let Some(judge) = &mut self.judge else { return Ok(None) };
        let answer = judge.ask(checker, proof, MOST_SETS)?;
        Counts::add(&self.counts.verified, 1);
        Ok(match answer {
            EdgeAnswer::Shown(verdict) if !is_true => {
                Some((Kind::Accepted, format!("the verified checker accepts as {verdict:?} what is false")))
            }
            EdgeAnswer::Rejected if accepted => {
                Some((Kind::Unverified, "accepted, but not by the verified checker".into()))
            }
            EdgeAnswer::Shown(_) => {
                Counts::add(&self.counts.confirmed, 1);
                None
            }
            _ => None,
        })
    }
}

/// Shows false and damaged proofs under the own header or another one.
///
/// # Errors
/// If a checker panics or does not take a header.
pub fn tamper(shown: &JointShown, random: &mut Random, counts: &AreaCounts) -> Result<Vec<JointFound>, String> {
    let &JointShown { case, header, lines, own, verified } = shown;
    let mut found = Vec::new();
    let mut stated = serde_json::to_value(header).map_err(|error| error.to_string())?;
    let mut other = case.clone();
    let differs = random.percent(40) && enlarge(&mut other, &mut stated, random);
    let under = json!({ "header": stated });
    let stated: Header = serde_json::from_value(stated).map_err(|error| error.to_string())?;
    let (graph, model) = (&case.changes.graph, &case.changes.model);
    let statement = Statement::new(graph, model, &stated).map_err(|reason| reason.to_string())?;
    let checkers = [Checker::new(&statement, false), Checker::new(&statement, true)];
    let mut second = JointSecond::start(verified, case, &stated, counts)?;
    let truths = if differs { &other.truths() } else { own };
    for _ in 0..4 {
        let line = forged(case, lines, truths, random);
        let Ok(Line::Node(proof)) = Line::read(line.to_string().as_bytes(), usize::MAX) else { continue };
        Counts::add(&counts.shown, 1);
        let node = proof.id as usize;
        let claims_robust = line["node"]["claim"].get("robust").is_some();
        let right = |truth: &ChangeTruth| truth.predicted == proof.class as usize && claims_robust == truth.robust();
        let is_true = truths.get(node).is_some_and(right);
        Counts::add(&counts.false_claims, usize::from(!is_true));
        let answers = both(&checkers, &proof, |checker, proof| checker.check(proof))?;
        let message = format!("{answers:?} {:?} {:?}", other.changes.means, other.flips);
        if let Some((kind, wrong)) = second.wrong(&checkers[0], &proof, answers[0].is_ok(), is_true)? {
            let (header, line) = (under.clone(), line.clone());
            found.push(JointFound { kind, node, message: format!("{wrong}: {message}"), header, line });
        }
        if answers.iter().any(Result::is_ok) {
            Counts::add(&counts.accepted, 1);
            if !is_true {
                found.push(JointFound {
                    kind: Kind::Accepted,
                    node,
                    message: format!("accepted, and false: {message}"),
                    header: under.clone(),
                    line,
                });
                continue;
            }
        }
        if answers[0].is_ok() != answers[1].is_ok() {
            let message = format!("two kinds of numbers differ: {message}");
            found.push(JointFound { kind: Kind::Disagreement, node, message, header: under.clone(), line });
        }
    }
    Ok(found)
}

/// Budgets that permit more than those of the case; `false` where there would be too many sets to list.
fn enlarge(case: &mut JointCase, stated: &mut Value, random: &mut Random) -> bool {
    let before = (case.clone(), stated.clone());
    let (means, flips) = (&mut case.changes.means, &mut case.flips);
    match random.below(5) {
        0 => means.global += 1,
        1 => means.keep_one = !means.keep_one,
        2 => flips.global += 1,
        3 => flips.local.iter_mut().for_each(|q| *q = (*q).saturating_add(1)),
        _ => (flips.way, flips.frozen) = (Way::Both, Vec::new()),
    }
    stated["edges"]["global"] = json!(means.global);
    stated["edges"]["keep_one"] = json!(means.keep_one);
    stated["flips"]["global"] = json!(flips.global);
    stated["flips"]["local"] = json!(flips.local);
    if flips.way == Way::Both && flips.frozen.is_empty() {
        stated["flips"]["direction"] = json!("both");
        stated["flips"].as_object_mut().map(|flips| flips.remove("frozen_attributes"));
    }
    let few = case.flip_sets().len() * sets(&case.changes, &case.changes.means).len() <= 4 * MOST;
    if !few {
        (*case, *stated) = before;
    }
    few
}

/// A damaged line of the program's own, or one that is made up.
fn forged(case: &JointCase, lines: &[Value], truths: &[ChangeTruth], random: &mut Random) -> Value {
    if !lines.is_empty() && random.percent(60) {
        let mut line = lines[random.below(lines.len())].clone();
        match random.below(6) {
            0 => line["node"]["id"] = json!(random.below(case.changes.nodes())),
            1 => line["node"]["class"] = json!(random.below(2)),
            _ => damage(case, &mut line, random),
        }
        return line;
    }
    let node = random.below(truths.len());
    let truth = &truths[node];
    let trees: Vec<Value> = (0..truth.margins.len())
        .filter(|&class| class != truth.predicted)
        .map(|class| json!({ "class": class, "tree": random_tree(case, random) }))
        .collect();
    json!({ "node": { "id": node, "class": truth.predicted, "claim": { "robust": trees } } })
}

/// Changes one thing of a claim.
fn damage(case: &JointCase, line: &mut Value, random: &mut Random) {
    let claim = &mut line["node"]["claim"];
    if let Some(witness) = claim.get_mut("non_robust") {
        let part = if random.percent(50) { "edges" } else { "flips" };
        witness.get_mut(part).and_then(Value::as_array_mut).map(Vec::pop);
        return;
    }
    let Some(trees) = claim["robust"].as_array_mut().filter(|trees| !trees.is_empty()) else { return };
    let at = random.below(trees.len());
    let Some(steps) = trees[at]["tree"].as_array_mut() else { return };
    let place = random.below(steps.len());
    let Some(found) = steps[place].get_mut("flips") else {
        // A split: both subtrees change their places, or another edge is split on.
        let pairs = case.changes.pairs();
        if let Some(&(i, j)) = pairs.get(random.below(pairs.len().max(1))) {
            steps[place] = json!({ "edge": [i, j] });
        }
        return;
    };
    match random.below(6) {
        0 => found["carried"]["mu"] = json!(random.below(3)),
        1 => {
            found.as_object_mut().map(|found| found.remove("carried"));
        }
        2 => {
            found.get_mut("after").and_then(Value::as_array_mut).map(Vec::pop);
        }
        3 => {
            let after = found.get_mut("after").and_then(Value::as_array_mut);
            if let Some(after) = after.filter(|after| !after.is_empty()) {
                let at = random.below(after.len());
                after.remove(at);
            }
        }
        4 => found["tree"] = flips_tree(case, random),
        _ => trees[at]["tree"] = random_tree(case, random),
    }
}

fn sizes(case: &JointCase) -> Sizes {
    let layers = &case.changes.model.layers;
    let hidden = layers[..layers.len() - 1].iter().map(|layer| layer.weight.columns);
    Sizes {
        nodes: case.changes.nodes(),
        attributes: case.changes.graph.attributes.columns,
        depth: layers.len() + 1,
        width: hidden.max().unwrap_or(1),
        classes: layers.last().map_or(0, |layer| layer.weight.columns),
    }
}

/// A tree over flips.
fn flips_tree(case: &JointCase, random: &mut Random) -> Value {
    let sizes = sizes(case);
    let leaf = if random.percent(50) { json!({ "cap": true }) } else { leaf(sizes, random) };
    let mut tree = vec![json!({ "leaf": leaf })];
    while random.percent(30) {
        split(&mut tree, sizes, random);
    }
    Value::Array(tree)
}

/// A tree over edges.
fn random_tree(case: &JointCase, random: &mut Random) -> Value {
    fn grow(case: &JointCase, depth: usize, random: &mut Random, tree: &mut Vec<Value>) {
        let pairs = case.changes.pairs();
        if depth > 0 && !pairs.is_empty() && random.percent(45) {
            let (i, j) = pairs[random.below(pairs.len())];
            tree.push(json!({ "edge": [i, j] }));
            grow(case, depth - 1, random, tree);
            grow(case, depth - 1, random, tree);
            return;
        }
        let mut leaf = json!({ "tree": flips_tree(case, random) });
        if random.percent(60) {
            leaf["carried"] = json!({ "mu": random.below(4), "back": random.percent(50) });
        }
        let mut edges: Vec<_> = pairs.into_iter().filter(|_| random.percent(25)).collect();
        edges.sort_unstable();
        if random.percent(40) {
            let after = edges.iter().map(|(i, j)| json!({ "edge": [i, j], "tree": flips_tree(case, random) }));
            leaf["after"] = after.collect();
        }
        tree.push(json!({ "flips": leaf }));
    }
    let mut tree = Vec::new();
    grow(case, 3, random, &mut tree);
    Value::Array(tree)
}
