//! Questions about flipped attributes.

use gcnproof_check::format::{BudgetStatement, Direction, Line};
use gcnproof_check::{Attack, Checker, Execution, Options, Question};
use serde_json::json;

use crate::area::Area;
use crate::case::{Case, Rule, Way};
use crate::finding::{AreaCounts, Counts, Kind};
use crate::generate::generate;
use crate::keep::describe;
use crate::network::Flips;
use crate::questions::{OwnFile, ask, false_answers, near, near_locals, some_nodes, stated, tampered};
use crate::random::Random;
use crate::record::{Record, Wrong, text};
use crate::tested::{How, Tested, convention, guard};
use crate::truth::{Oracle, Truth};

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
fn own_file(case: &Case) -> Option<OwnFile> {
    let tested = Tested::new(case).ok()?;
    let statement = tested.statement(&tested.header).ok()?;
    let checker = guard(|| Checker::new(&statement, false)).ok()?;
    let mut lines = Vec::new();
    let seen = tested.certify(case, How::Complete, Some(&checker), |_, answer| {
        if let Ok((_, Some(line @ Line::Node(_)))) = answer {
            lines.extend(serde_json::to_value(&line));
        }
    });
    seen.ok()?;
    Some(OwnFile { header: json!({ "header": tested.header }), lines })
}

/// One question about a file, perhaps tampered with.
fn question(case: &Case, own_file: &OwnFile, random: &mut Random, counts: &AreaCounts, found: &mut Vec<Record>) {
    let mut asked = case.clone();
    let own = random.percent(25);
    if !own {
        asked.budget.global = near(case.budget.global, random);
        asked.budget.local = near_locals(&case.budget.local, random);
        if random.percent(20) {
            asked.budget.way = random.pick(&[Way::Both, Way::Add, Way::Remove]);
        }
        if random.percent(25) {
            asked.budget.frozen = case.budget.frozen.iter().map(|_| random.percent(30)).collect();
        }
        if random.percent(10) {
            asked.labels = !case.labels;
        }
    }
    // The rules asked about: the file's, none (then gcn), or others.
    let mut options = Options { exact_only: random.percent(20), ..Options::default() };
    options.matrices = case.rules.iter().filter_map(matrix).collect();
    match random.below(10) {
        0 => asked.rules = vec![Rule::Named("gcn"); case.rules.len()],
        1 => {
            let other = random.pick(&["mean", "sum", "identity", "gcn"]);
            asked.rules = vec![Rule::Named(other); case.rules.len()];
            options.message_passing = vec![other.to_string()];
        }
        _ => options.message_passing = case.rules.iter().map(name).collect(),
    }
    let nodes = if own { None } else { some_nodes(case.nodes(), random) };
    let budget = statement(&asked);
    let question = Question {
        classes: convention(asked.labels),
        nodes,
        ..Question::new(Attack::Flips(budget, random.percent(8).then(Execution::default)))
    };
    let mut file = own_file.whole();
    let changed = tampered(&mut file, random);
    if case.components.iter().any(|range| Flips::new(&asked, range.clone()).count(1500) >= 1500) {
        return;
    }
    let robust: Vec<Option<bool>> = Oracle::new(&asked).all().iter().map(Truth::robust).collect();
    options.question = Some(question.clone());
    Counts::add(&counts.shown, 1);
    Counts::add(&counts.nodes, case.nodes());
    let text = text(&file);
    let mut report = |kind: Kind, node: usize, message: String| {
        let wrong = Wrong::new(kind, node, message);
        found.push(record(&asked, &question, &options.message_passing, wrong, &text));
    };
    let summary = match ask(&case.graph, &case.model, &options, &text) {
        Ok(summary) => summary,
        Err(problem) => return report(Kind::Crash, 0, problem),
    };
    Counts::add(&counts.accepted, usize::from(summary.answered() == Some(true)));
    let executions = matches!(question.attack, Attack::Flips(_, Some(_)));
    if executions && summary.answers.iter().any(Option::is_some) {
        report(Kind::Accepted, 0, "executions are asked about, and a file about exact arithmetic answers".into());
    }
    let wrong = false_answers(&summary, &question, &robust);
    Counts::add(&counts.false_claims, usize::from(robust.contains(&Some(false))));
    for (kind, node, message) in wrong {
        report(kind, node, message);
    }
    // The file's own question is answered, if it answers for all nodes.
    let whole =
        own_file.lines.len() == case.nodes() && asked.rules.iter().zip(&case.rules).all(|(a, b)| name(a) == name(b));
    if own && whole && !changed && !executions && summary.answered() != Some(true) {
        report(Kind::Rejected, 0, format!("the file's own question is not proved: {:?}", summary.unmet));
    }
}

fn matrix(rule: &Rule) -> Option<std::sync::Arc<gcnproof_files::SparseMatrix>> {
    match rule {
        Rule::Matrix(matrix) => Some(matrix.clone()),
        Rule::Named(_) => None,
    }
}

/// A rule as files and options name it.
pub fn name(rule: &Rule) -> String {
    match rule {
        Rule::Named(name) => name.to_string(),
        Rule::Matrix(matrix) => format!("matrix:{}", gcnproof_check::matrix_digest(matrix)),
    }
}

/// The budget of a case as a question has it.
pub fn statement(case: &Case) -> BudgetStatement {
    let budget = &case.budget;
    BudgetStatement {
        global: budget.global,
        local: stated(&budget.local),
        direction: match budget.way {
            Way::Both => Direction::Both,
            Way::Add => Direction::Add,
            Way::Remove => Direction::Remove,
        },
        frozen_attributes: (0..).zip(&budget.frozen).filter(|(_, frozen)| **frozen).map(|(d, _)| d).collect(),
    }
}

fn record(case: &Case, question: &Question, rules: &[String], wrong: Wrong, proof: &str) -> Record {
    let Wrong { kind, node, message } = wrong;
    let graph = gcnproof_files::write::graph_npz("g.npz", &case.graph).unwrap_or_default();
    let text = format!(
        "Node {node}. The file is false.jsonl (digests are `graph` and `model`), the question {question:?} with message passing {rules:?}.\n\n{}",
        describe(case)
    );
    let files = vec![("g.npz".to_string(), graph), ("false.jsonl".to_string(), proof.as_bytes().to_vec())];
    Record { area: Area::Questions, kind, message, files, text }
}
