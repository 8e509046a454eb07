//! Questions about removed edges.

use gcnproof_check::edges::format::{Line, Removals};
use gcnproof_check::edges::{Checker, Statement};
use gcnproof_check::{Attack, Options, Question};
use serde_json::{Value, json};

use crate::edges::case::EdgeCase;
use crate::edges::generate::generate;
use crate::edges::keep;
use crate::edges::program::EdgeProgram;
use crate::edges::truth::{EdgeOracle, EdgeTruth, count};
use crate::finding::{AreaCounts, Counts, Kind};
use crate::questions::{OwnFile, ask, false_answers, near, near_locals, some_nodes, stated, tampered};
use crate::random::Random;
use crate::record::{Record, Wrong, text};
use crate::tested::{How, convention, guard};

/// Questions about one file.
const QUESTIONS: usize = 12;

/// Looks at one case.
pub fn look(seed: u64, number: u64, random: &mut Random, counts: &AreaCounts) -> Vec<Record> {
    let components = 1 + random.below(3);
    let case = generate(seed ^ 0x9e57, number, components);
    Counts::add(&counts.problems, components);
    let mut found = Vec::new();
    let Some(own) = own_file(&case) else { return found };
    for _ in 0..QUESTIONS {
        question(&case, &own, random, counts, &mut found);
    }
    found
}

/// The file that the program writes about a case.
fn own_file(case: &EdgeCase) -> Option<OwnFile> {
    let program = EdgeProgram::new(case, How::Complete).ok()?;
    let statement = guard(|| Statement::new(&case.graph, &case.model, &program.header)).ok()?.ok()?;
    let checker = Checker::new(&statement, false);
    let truths = EdgeOracle::new(case).all();
    let mut lines = Vec::new();
    for (node, truth) in truths.iter().enumerate() {
        let Some(reference) = truth.of.reference else { continue };
        let Ok(Ok(result)) = guard(|| program.certifier.for_class(node, reference)) else { continue };
        if let Ok(line @ Line::Node(_)) = guard(|| program.certifier.proof_line(&result, &checker).into_line()) {
            lines.extend(serde_json::to_value(&line));
        }
    }
    Some(OwnFile { header: json!({ "header": program.header }), lines })
}

fn question(case: &EdgeCase, own_file: &OwnFile, random: &mut Random, counts: &AreaCounts, found: &mut Vec<Record>) {
    let mut asked = case.clone();
    let own = random.percent(25);
    if !own {
        asked.budget.global = near(case.budget.global, random);
        asked.budget.local = near_locals(&case.budget.local, random);
        if random.percent(25) {
            asked.budget.keep_one = !case.budget.keep_one;
        }
        if random.percent(30) {
            let share = random.pick(&[0, 20, 60]);
            asked.budget.frozen = case.edges(0..case.nodes()).into_iter().filter(|_| random.percent(share)).collect();
        }
        if random.percent(10) {
            asked.labels = !case.labels;
        }
    }
    let named = case.model.layers.iter().any(|layer| !layer.operators.is_empty());
    let mut options = Options { exact_only: random.percent(20), ..Options::default() };
    let mut same_rules = true;
    if !named {
        match random.below(10) {
            0 => asked.rules = vec!["gcn".into(); 2],
            1 => {
                let other = random.pick(&["mean", "sum", "gcn"]);
                asked.rules = vec![other.into(); 2];
                options.message_passing = vec![other.into()];
            }
            _ => options.message_passing = case.rules.clone(),
        }
        same_rules = asked.rules == case.rules;
    }
    let budget = &asked.budget;
    let removals = Removals {
        global: budget.global,
        local: stated(&budget.local),
        keep_one: budget.keep_one,
        frozen: budget.frozen.iter().copied().collect(),
        changes: None,
    };
    let question = Question {
        classes: convention(asked.labels),
        nodes: if own { None } else { some_nodes(case.nodes(), random) },
        ..Question::new(Attack::Removals(removals))
    };
    if case.components.iter().any(|range| count(&asked, range.clone(), 1500) >= 1500) {
        return;
    }
    let mut file = own_file.whole();
    let changed = tampered(&mut file, random);
    let robust: Vec<Option<bool>> = EdgeOracle::new(&asked).all().iter().map(EdgeTruth::robust).collect();
    options.question = Some(question.clone());
    Counts::add(&counts.shown, 1);
    Counts::add(&counts.nodes, case.nodes());
    Counts::add(&counts.false_claims, usize::from(robust.contains(&Some(false))));
    let text = text(&file);
    let mut report = |kind: Kind, node: usize, message: String| {
        let message = format!("{message}; question {question:?}, message passing {:?}", options.message_passing);
        let line = file[1..].iter().map(Value::to_string).collect::<Vec<_>>().join("\n");
        found.push(keep::record(&asked, How::Complete, Wrong::new(kind, node, message), Some((&file[0], &line))));
    };
    let summary = match ask(&case.graph, &case.model, &options, &text) {
        Ok(summary) => summary,
        Err(problem) => return report(Kind::Crash, 0, problem),
    };
    Counts::add(&counts.accepted, usize::from(summary.answered() == Some(true)));
    for (kind, node, message) in false_answers(&summary, &question, &robust) {
        report(kind, node, message);
    }
    if own && same_rules && !changed && own_file.lines.len() == case.nodes() && summary.answered() != Some(true) {
        report(Kind::Rejected, 0, format!("the file's own question is not proved: {:?}", summary.unmet));
    }
}
