//! Questions put to the checker about files that state something else: what it calls proved must be true of the
//! question, whatever the file states.
//!
//! | module | what |
//! |---|---|
//! | [`flips`] | flipped attributes in exact arithmetic |
//! | [`executions`] | the same for every execution |
//! | [`edges`] | removed edges |
//! | [`collective`] | one attack for the whole graph |

pub mod collective;
pub mod edges;
pub mod executions;
pub mod flips;

use gcnproof_check::format::Local;
use gcnproof_check::{Options, Question, Summary, Verdict, check};
use gcnproof_files::{GraphFile, ModelFile};
use serde_json::{Value, json};

use crate::finding::Kind;
use crate::mutate::change;
use crate::random::Random;
use crate::tested::guard;

/// A number near another, or anything.
fn near(x: u64, random: &mut Random) -> u64 {
    match random.below(8) {
        0..=2 => x,
        3 => x.saturating_add(1),
        4 => x.saturating_sub(1),
        5 => 0,
        6 => random.below(4) as u64,
        _ => random.pick(&[1_000_000, u64::MAX, 1]),
    }
}

/// Local budgets near others.
fn near_locals(locals: &[u64], random: &mut Random) -> Vec<u64> {
    match random.below(4) {
        0 | 1 => locals.to_vec(),
        2 => {
            let one = near(locals[random.below(locals.len())], random);
            vec![one; locals.len()]
        }
        _ => locals.iter().map(|&x| near(x, random)).collect(),
    }
}

/// Some of the nodes, or none: all of them.
fn some_nodes(count: usize, random: &mut Random) -> Option<Vec<u32>> {
    random.percent(40).then(|| {
        let some: Vec<u32> = (0..count as u32).filter(|_| random.percent(50)).collect();
        if some.is_empty() { vec![random.below(count) as u32] } else { some }
    })
}

/// Changes lines of a file, now and then.
fn tampered(lines: &mut [Value], random: &mut Random) -> bool {
    if random.percent(60) {
        return false;
    }
    for _ in 0..1 + random.below(2) {
        let at = random.below(lines.len());
        change(&mut lines[at], random);
    }
    true
}

/// What the program writes about a case.
struct OwnFile {
    /// `{"header":…}`.
    header: Value,
    /// Lines of nodes.
    lines: Vec<Value>,
}

impl OwnFile {
    /// All lines of the file.
    fn whole(&self) -> Vec<Value> {
        let end = json!({ "end": self.lines.len() });
        std::iter::once(&self.header).chain(&self.lines).chain([&end]).cloned().collect()
    }
}

/// Local budgets as questions have them.
fn stated(local: &[u64]) -> Local {
    match local.windows(2).all(|pair| pair[0] == pair[1]) {
        true => Local::Uniform(local.first().copied().unwrap_or(0)),
        false => Local::PerNode(local.to_vec()),
    }
}

/// Asks; a panic is an error.
fn ask(graph: &GraphFile, model: &ModelFile, options: &Options, text: &str) -> Result<Summary, String> {
    guard(|| check(graph, model, options, text.as_bytes(), |_| ()))
}

/// Everything that is false in the answers of a check: `robust` tells of a node whether it is, under the question;
/// `None` where it has no class to keep.
fn false_answers(summary: &Summary, question: &Question, robust: &[Option<bool>]) -> Vec<(Kind, usize, String)> {
    let mut wrong = Vec::new();
    for (node, answer) in summary.answers.iter().enumerate() {
        let Some(answer) = answer else { continue };
        let said = *answer == Verdict::Robust;
        if robust[node] != Some(said) {
            wrong.push((Kind::Accepted, node, format!("{answer:?} as asked, but robust is {:?}", robust[node])));
        }
    }
    let asked: Vec<usize> = match &question.nodes {
        Some(nodes) => nodes.iter().map(|&node| node as usize).collect(),
        None => (0..summary.answers.len()).collect(),
    };
    if summary.answered() == Some(true)
        && let Some(&open) = asked.iter().find(|&&node| summary.answers[node].is_none())
    {
        wrong.push((Kind::Accepted, open, "the question is proved, but this node has no answer".into()));
    }
    wrong
}
