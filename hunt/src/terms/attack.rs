//! Proofs about flips of any network, tampered with and forged: shown rounded and exactly, and what is accepted must be true.

use gcnproof_check::format::NodeProof;
use gcnproof_check::{Checker, Reason};
use serde_json::{Value, json};

use crate::case::Case;
use crate::finding::{AreaCounts, Counts, Kind};
use crate::mutate::{Sizes, change, leaf, split};
use crate::player::guard;
use crate::random::Random;
use crate::record::Record;

/// A statement with its two checkers and the truth about it.
pub struct Ring<'a> {
    /// Graph, chain and budget.
    pub case: &'a Case,
    /// Rounded, and exactly.
    pub checkers: &'a [Checker<'a>; 2],
    /// Is the claim of a line true?
    pub is_true: &'a dyn Fn(&Value) -> bool,
    /// Of every node: the reference class, and whether it is robust.
    pub robust: &'a [(Option<usize>, bool)],
    /// Makes a record of kind, node, message and line.
    pub keep: &'a dyn Fn(Kind, usize, String, &str) -> Record,
    /// Counts of the area.
    pub counts: &'a AreaCounts,
}

impl Ring<'_> {
    fn sizes(&self) -> Sizes {
        let layers = self.case.layers();
        let hidden = layers[..layers.len() - 1].iter().map(|layer| layer.weight.columns);
        Sizes {
            nodes: self.case.nodes(),
            attributes: self.case.attributes(),
            depth: layers.len() + 1,
            width: hidden.max().unwrap_or(1),
            classes: self.case.classes(),
        }
    }

    /// Shows a line; returns the bound that it was rejected for where there is one, `None` if it was accepted.
    pub fn show(&self, line: &Value, found: &mut Vec<Record>) -> Option<f64> {
        let text = line.to_string();
        let node = line["node"]["id"].as_u64().unwrap_or(0).min(self.case.nodes() as u64 - 1) as usize;
        let mut report = |kind: Kind, message: String| found.push((self.keep)(kind, node, message, &text));
        Counts::add(&self.counts.shown, 1);
        let proof = match guard(|| text.parse::<NodeProof>()) {
            Ok(Ok(proof)) => proof,
            Ok(Err(_)) => return Some(f64::NEG_INFINITY),
            Err(problem) => {
                report(Kind::Crash, format!("reader: {problem}"));
                return Some(f64::NEG_INFINITY);
            }
        };
        let [rounded, exactly] = match self.checkers.each_ref().map(|checker| guard(|| checker.check(&proof))) {
            [Ok(rounded), Ok(exactly)] => [rounded, exactly],
            [Err(problem), _] | [_, Err(problem)] => {
                report(Kind::Crash, format!("checker: {problem}"));
                return Some(f64::NEG_INFINITY);
            }
        };
        if rounded.is_ok() != exactly.is_ok() {
            report(Kind::Disagreement, format!("rounded {rounded:?}, exactly {exactly:?}"));
        }
        let truth = (self.is_true)(line);
        Counts::add(&self.counts.false_claims, usize::from(!truth));
        if (rounded.is_ok() || exactly.is_ok()) && !truth {
            report(Kind::Accepted, format!("accepted (rounded {rounded:?}, exactly {exactly:?}), which is false"));
        }
        match rounded {
            Ok(_) => {
                Counts::add(&self.counts.accepted, 1);
                None
            }
            Err(fault) => Some(match fault.reason {
                Reason::Bound(bound) => bound.upper.to_f64(),
                _ => f64::NEG_INFINITY,
            }),
        }
    }
}

/// Own proofs with random changes.
pub fn tamper(ring: &Ring, lines: &[Value], rounds: usize, random: &mut Random, found: &mut Vec<Record>) {
    if lines.is_empty() {
        return;
    }
    for _ in 0..rounds {
        let mut line = lines[random.below(lines.len())].clone();
        match random.below(8) {
            0 => line["node"]["claim"] = lines[random.below(lines.len())]["node"]["claim"].clone(),
            1 => line["node"]["id"] = json!(random.below(ring.case.nodes())),
            2 => {
                if let Some(tree) = one_tree(&mut line, random) {
                    split(tree, ring.sizes(), random);
                }
            }
            _ => {}
        }
        if random.percent(85) {
            (0..1 + random.below(3)).for_each(|_| change(&mut line["node"], random));
        }
        ring.show(&line, found);
    }
}

/// Proofs that a node is robust, made up and improved step by step; mostly of nodes that are not.
pub fn forge(ring: &Ring, lines: &[Value], rounds: usize, random: &mut Random, found: &mut Vec<Record>) {
    let fragile: Vec<usize> =
        (0..ring.robust.len()).filter(|&node| ring.robust[node].0.is_some() && !ring.robust[node].1).collect();
    let node = match fragile.as_slice() {
        [] => random.below(ring.robust.len()),
        some => some[random.below(some.len())],
    };
    let Some(reference) = ring.robust[node].0 else { return };
    let sizes = ring.sizes();
    let own = |random: &mut Random| {
        let line = lines.get(random.below(lines.len().max(1)))?;
        line["node"]["claim"]["robust"][0]["tree"].as_array().cloned()
    };
    let tree = |random: &mut Random| match own(random) {
        Some(tree) if random.percent(50) => tree,
        _ => vec![json!({ "leaf": leaf(sizes, random) })],
    };
    let claims: Vec<Value> = (0..sizes.classes)
        .filter(|&class| class != reference)
        .map(|class| json!({ "class": class, "tree": tree(random) }))
        .collect();
    let mut best = json!({ "node": { "id": node, "class": reference, "claim": { "robust": claims } } });
    let mut bound = f64::NEG_INFINITY;
    for _ in 0..rounds {
        let mut line = best.clone();
        if let Some(tree) = one_tree(&mut line, random) {
            match random.below(10) {
                0 | 1 => split(tree, sizes, random),
                2..=5 => {
                    let leaves: Vec<usize> = (0..tree.len()).filter(|&at| tree[at].get("leaf").is_some()).collect();
                    if let Some(&at) = leaves.get(random.below(leaves.len().max(1))) {
                        tree[at] = json!({ "leaf": leaf(sizes, random) });
                    }
                }
                _ => {
                    let at = random.below(tree.len());
                    change(&mut tree[at], random);
                }
            }
        }
        match ring.show(&line, found) {
            None => return,
            Some(reached) if reached >= bound => (best, bound) = (line, reached),
            Some(_) => {}
        }
    }
}

fn one_tree<'a>(line: &'a mut Value, random: &mut Random) -> Option<&'a mut Vec<Value>> {
    let trees = line["node"]["claim"].get_mut("robust")?.as_array_mut()?;
    let at = random.below(trees.len().max(1));
    trees.get_mut(at)?.get_mut("tree")?.as_array_mut().filter(|tree| !tree.is_empty())
}
