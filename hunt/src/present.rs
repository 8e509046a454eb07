//! Proofs tampered with and forged, in every area that has trees of them; and who shows them to both kinds of
//! arithmetic: what is accepted must be true.

use gcnproof_check::{EdgeAnswer, Fault, Reason, Verdict};
use serde_json::{Value, json};

use crate::finding::{AreaCounts, Counts, Kind};
use crate::mutate::{Sizes, change, leaf, split};
use crate::random::Random;
use crate::record::Record;
use crate::tested::guard;
use crate::truth::Robust;

/// How trees of proofs are made up in an area.
pub trait Trees {
    /// Puts a split into a tree.
    fn split(&self, tree: &mut Vec<Value>, random: &mut Random);
    /// A leaf for a node.
    fn leaf(&self, node: usize, random: &mut Random) -> Value;
    /// Is a step of a tree a leaf?
    fn is_leaf(&self, step: &Value) -> bool;
}

impl Trees for Sizes {
    fn split(&self, tree: &mut Vec<Value>, random: &mut Random) {
        split(tree, *self, random);
    }

    fn leaf(&self, _: usize, random: &mut Random) -> Value {
        json!({ "leaf": leaf(*self, random) })
    }

    fn is_leaf(&self, step: &Value) -> bool {
        step.get("leaf").is_some()
    }
}

/// Shows a line; returns the bound that it was rejected for where there is one, `None` if it was accepted.
pub type Show<'a> = dyn FnMut(&Value, &mut Random) -> Option<f64> + 'a;

/// Who makes false proofs of own ones.
pub struct Forger<'a> {
    /// Own lines, `{"node":…}`.
    pub lines: &'a [Value],
    /// Of every node.
    pub robust: &'a [Robust],
    /// Number of classes.
    pub classes: usize,
    /// How trees are made up.
    pub trees: &'a dyn Trees,
}

impl Forger<'_> {
    /// Own proofs with random changes.
    pub fn tamper(&self, rounds: usize, random: &mut Random, show: &mut Show) {
        if self.lines.is_empty() {
            return;
        }
        let any = |random: &mut Random| &self.lines[random.below(self.lines.len())];
        for _ in 0..rounds {
            let mut line = any(random).clone();
            match random.below(8) {
                0 => line["node"]["claim"] = any(random)["node"]["claim"].clone(),
                1 => line["node"]["id"] = json!(random.below(self.robust.len())),
                2 => {
                    if let Some(tree) = one_tree(&mut line, random) {
                        self.trees.split(tree, random);
                    }
                }
                3 => {
                    // A subtree is lost, or the tree is that of another class.
                    let lost = random.percent(40);
                    if let Some(mut tree) = one_tree(&mut line, random).cloned()
                        && let Some(other) = one_tree(&mut line, random)
                    {
                        if lost {
                            tree.remove(random.below(tree.len()));
                        }
                        *other = tree;
                    }
                }
                _ => {}
            }
            if random.percent(85) {
                (0..1 + random.below(3)).for_each(|_| change(&mut line["node"], random));
            }
            show(&line, random);
        }
    }

    /// Nodes that are not robust.
    pub fn fragile(&self) -> Vec<usize> {
        (0..self.robust.len()).filter(|&node| matches!(self.robust[node], (Some(_), false))).collect()
    }

    /// The line that a node is robust, with these trees for the other classes.
    pub fn line(&self, node: usize, reference: usize, mut tree: impl FnMut() -> Vec<Value>) -> Value {
        let claims: Vec<Value> = (0..self.classes)
            .filter(|&class| class != reference)
            .map(|class| json!({ "class": class, "tree": tree() }))
            .collect();
        json!({ "node": { "id": node, "class": reference, "claim": { "robust": claims } } })
    }

    /// Proofs that a node is robust, made up and improved step by step; mostly of nodes that are not.
    pub fn forge(&self, rounds: usize, random: &mut Random, show: &mut Show) {
        let fragile = self.fragile();
        let node = match fragile.as_slice() {
            [] => random.below(self.robust.len()),
            some => some[random.below(some.len())],
        };
        let Some(reference) = self.robust[node].0 else { return };
        let own = |random: &mut Random| {
            let line = self.lines.get(random.below(self.lines.len().max(1)))?;
            line["node"]["claim"]["robust"][0]["tree"].as_array().cloned()
        };
        let mut best = self.line(node, reference, || match own(random) {
            Some(tree) if random.percent(50) => tree,
            _ => vec![self.trees.leaf(node, random)],
        });
        let mut bound = f64::NEG_INFINITY;
        for _ in 0..rounds {
            let mut line = best.clone();
            if let Some(tree) = one_tree(&mut line, random) {
                match random.below(10) {
                    0 | 1 => self.trees.split(tree, random),
                    2..=5 => {
                        let leaves: Vec<usize> = (0..tree.len()).filter(|&at| self.trees.is_leaf(&tree[at])).collect();
                        if let Some(&at) = leaves.get(random.below(leaves.len().max(1))) {
                            tree[at] = self.trees.leaf(node, random);
                        }
                    }
                    _ => {
                        let at = random.below(tree.len());
                        change(&mut tree[at], random);
                    }
                }
            }
            match show(&line, random) {
                None => return,
                Some(reached) if reached >= bound => (best, bound) = (line, reached),
                Some(_) => {}
            }
        }
    }
}

fn one_tree<'a>(line: &'a mut Value, random: &mut Random) -> Option<&'a mut Vec<Value>> {
    let trees = line["node"]["claim"].get_mut("robust")?.as_array_mut()?;
    let at = random.below(trees.len().max(1));
    trees.get_mut(at)?.get_mut("tree")?.as_array_mut().filter(|tree| !tree.is_empty())
}

/// What a checker says of a proof.
pub type Answer = Result<Verdict, Fault>;

/// What two checkers say of a proof.
///
/// # Errors
/// If one panics.
pub fn both<C, P>(checkers: &[C; 2], proof: &P, check: impl Fn(&C, &P) -> Answer) -> Result<[Answer; 2], String> {
    match checkers.each_ref().map(|checker| guard(|| check(checker, proof))) {
        [Ok(rounded), Ok(exactly)] => Ok([rounded, exactly]),
        [Err(problem), _] | [_, Err(problem)] => Err(format!("checker: {problem}")),
    }
}

/// What two checkers say of a text; `None` where it cannot be read, an error where reading or checking panics.
pub type Answers = Result<Option<[Answer; 2]>, String>;

/// Reads a text and shows it to two checkers.
///
/// # Errors
/// If reading or checking panics.
pub fn answers<P>(read: impl FnOnce() -> Option<P>, check: impl FnOnce(&P) -> Result<[Answer; 2], String>) -> Answers {
    match guard(read).map_err(|problem| format!("reader: {problem}"))? {
        Some(proof) => check(&proof).map(Some),
        None => Ok(None),
    }
}

/// What the verified checker says of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    /// It is true.
    Shown(Verdict),
    /// Nothing follows from it.
    Rejected,
    /// Nothing: it would take too long.
    Left,
}

impl From<Option<Verdict>> for Told {
    fn from(verdict: Option<Verdict>) -> Told {
        verdict.map_or(Told::Rejected, Told::Shown)
    }
}

impl From<EdgeAnswer> for Told {
    fn from(answer: EdgeAnswer) -> Told {
        match answer {
            EdgeAnswer::Shown(verdict) => Told::Shown(verdict),
            EdgeAnswer::Rejected => Told::Rejected,
            EdgeAnswer::TooMany => Told::Left,
        }
    }
}

impl Told {
    /// What is wrong with it, if the other checker accepts the text or does not, and its claim is true or not.
    pub fn wrong(self, accepted: bool, truth: bool) -> Option<(Kind, String)> {
        match self {
            Told::Shown(verdict) if !truth => {
                Some((Kind::Accepted, format!("the verified checker accepts as {verdict:?} what is false")))
            }
            Told::Rejected if accepted => Some((Kind::Unverified, "accepted, but not by the verified checker".into())),
            _ => None,
        }
    }
}

/// Asks the verified checker; an error where it does not answer.
pub type Asked<'a> = dyn Fn(&str) -> Result<Told, String> + 'a;

/// A statement with its two checkers and the truth about it.
pub struct Presenter<'a> {
    /// What rounded and exact arithmetic say of a line; `None` where it cannot be read.
    pub check: &'a dyn Fn(&str) -> Answers,
    /// Is the claim of a line true?
    pub is_true: &'a dyn Fn(&Value) -> bool,
    /// Of every node.
    pub robust: &'a [Robust],
    /// Makes a record of kind, node, message and line.
    pub keep: &'a dyn Fn(Kind, usize, String, &str) -> Record,
    /// The verified checker, where it is asked as well.
    pub verified: Option<&'a Asked<'a>>,
    /// Counts of the area.
    pub counts: &'a AreaCounts,
}

impl Presenter<'_> {
    /// Shows a line; returns the bound that it was rejected for where there is one, `None` if it was accepted.
    pub fn show(&self, line: &Value, found: &mut Vec<Record>) -> Option<f64> {
        let text = line.to_string();
        let stated = ["node", "ranged"].iter().find_map(|kind| line[kind]["id"].as_u64()).unwrap_or(0);
        let node = stated.min((self.robust.len() as u64).saturating_sub(1)) as usize;
        let mut report = |kind: Kind, message: String| found.push((self.keep)(kind, node, message, &text));
        Counts::add(&self.counts.shown, 1);
        let [rounded, exactly] = match (self.check)(&text) {
            Ok(Some(answers)) => answers,
            Ok(None) => return Some(f64::NEG_INFINITY),
            Err(problem) => {
                report(Kind::Crash, problem);
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
        if let Some(ask) = self.verified {
            let answer = ask(&text);
            Counts::add(&self.counts.verified, 1);
            Counts::add(&self.counts.confirmed, usize::from(matches!(answer, Ok(Told::Shown(_)))));
            match answer {
                Ok(told) => {
                    if let Some((kind, wrong)) = told.wrong(rounded.is_ok(), truth) {
                        report(kind, format!("{wrong}: rounded {rounded:?}, exactly {exactly:?}, verified {told:?}"));
                    }
                }
                Err(problem) => report(Kind::Crash, format!("verified checker: {problem}")),
            }
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

    /// Shows own lines tampered with, and forged ones, so many of each.
    pub fn attack(
        &self,
        lines: &[Value],
        trees: &dyn Trees,
        classes: usize,
        [tampered, forged]: [usize; 2],
        random: &mut Random,
        found: &mut Vec<Record>,
    ) {
        let forger = Forger { lines, robust: self.robust, classes, trees };
        forger.tamper(tampered, random, &mut |line, _| self.show(line, found));
        forger.forge(forged, random, &mut |line, _| self.show(line, found));
    }
}
